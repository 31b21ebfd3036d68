"""Writes batches: the only code that adds to the log.

`Appender` belongs to the thread of the read-write connection. Batches that wait are written
together under one commit; when any of them fails, all of it is rolled back and each is written
alone under a commit of its own, so a batch that fails takes no other with it, also when SQLite
itself rolled the transaction back (a full disk). Nothing is answered before the commit: `append`
returns after it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, TypeAlias

import apsw
from msgspec import Struct

from efr.base.clock import Clock
from efr.store import db, receipts, turn_messages
from efr.store.batch import Batch, Committed, Entry
from efr.store.db import Connection
from efr.store.errors import DeletedConversation, StoreBusy, StoreCorrupt
from efr.store.outbox import enqueue
from efr.store.projections import project
from efr.store.refusals import Refusing
from efr.wire import events as ev

log = logging.getLogger("efr.store")

Outcome: TypeAlias = Committed | Exception

_INSERT_EVENT: Final = (
    "INSERT INTO events (seq, conversation_id, turn_id, kind, payload, created_at)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)


class Appended(Struct, frozen=True):
    """What a call of `append` did: an outcome for each batch, and the events it committed."""

    outcomes: list[Outcome]
    entries: list[Entry]


class Appender:
    """Numbers and writes events on one connection. One thread; nobody else may write events."""

    def __init__(self, conn: Connection, clock: Clock) -> None:
        self._conn = conn
        self._clock = clock
        self._path = db.path_of(conn)
        self._guard = Refusing()
        self._last_seq = int(conn.execute("SELECT coalesce(max(seq), 0) FROM events").get)

    def append(self, batches: Sequence[Batch]) -> Appended:
        """Commits the batches, in their order; blocks for as long as the disk takes.

        A batch that was refused or could not be written has its exception as outcome: a refusal
        or a fault of `efr.store.errors`, or what its encoding raised.
        """
        if len(batches) > 1:
            try:
                return self._commit(batches)
            except StoreBusy as busy:  # a stranger's lock: each alone would wait as long again
                return Appended([busy] * len(batches), [])
            except Exception as exc:  # noqa: BLE001 - whose fault it is shows when each is alone
                log.debug("batches are written one by one after %r", exc)
        done = [self._alone(batch) for batch in batches]
        return Appended(
            [outcome for one in done for outcome in one.outcomes],
            [entry for one in done for entry in one.entries],
        )

    def _alone(self, batch: Batch) -> Appended:
        try:
            return self._commit((batch,))
        except StoreCorrupt as exc:
            log.error("a batch of %s hit a damaged page: %s", _kinds(batch), exc)
            return Appended([exc], [])
        except Exception as exc:  # noqa: BLE001 - it is the batch's answer, not this thread's end
            return Appended([exc], [])

    def _commit(self, batches: Sequence[Batch]) -> Appended:
        at_us = self._clock.now_us()
        conn = self._conn
        entries = self._number(batches, at_us)
        try:
            conn.execute("BEGIN IMMEDIATE")
            try:
                outcomes = self._write(batches, entries, at_us)
                conn.execute("COMMIT")
            except BaseException as exc:
                db.roll_back(conn, exc)
                raise
        except apsw.Error as exc:
            raise db.translate(exc, self._path, conn) from exc
        self._last_seq += len(entries)
        return Appended(outcomes, entries)

    def _number(self, batches: Sequence[Batch], at_us: int) -> list[Entry]:
        """Every event with its number and its bytes. Raises DeletedConversation for an event
        behind the delete of its conversation."""
        seq = self._last_seq
        entries: list[Entry] = []
        gone: set[str | None] = set()
        for batch in batches:
            for new in batch.events:
                event, conversation_id = new.event, new.conversation_id
                if gone and conversation_id in gone:
                    raise DeletedConversation(str(conversation_id))
                seq += 1
                entries.append(
                    Entry(
                        seq,
                        conversation_id,
                        ev.turn_of(event),
                        ev.kind_of(event),
                        ev.encode_event(event),
                        at_us,
                        event,
                    )
                )
                if isinstance(event, ev.ConversationDeleted):
                    gone.add(conversation_id)
        return entries

    def _write(
        self, batches: Sequence[Batch], entries: Sequence[Entry], at_us: int
    ) -> list[Outcome]:
        conn = self._conn
        rows = [
            (e.seq, e.conversation_id, e.turn_id, e.kind, e.payload.decode(), e.at_us)
            for e in entries
        ]
        conn.executemany(_INSERT_EVENT, rows)
        project(conn, entries, self._guard)
        for entry in entries:
            if isinstance(entry.event, ev.ConversationCompacted):
                turn_messages.drop_covered(conn, entry, entry.event)
        outcomes: list[Outcome] = []
        first = self._last_seq + 1
        for batch in batches:
            last = first + len(batch.events) - 1
            outcomes.append(self._write_rest(batch, first, last, at_us))
            first = last + 1
        return outcomes

    def _write_rest(self, batch: Batch, first: int, last: int, at_us: int) -> Committed:
        """What a batch holds beside its events."""
        receipt_seq = None
        if batch.receipt is not None:
            if batch.events:
                receipt_seq = range(first, last + 1)[batch.receipt.seq_of]
            receipts.store(self._conn, batch.receipt, receipt_seq, at_us)
        if batch.messages:
            turn_messages.save(self._conn, batch, first)
        if batch.outbox:
            enqueue(self._conn, batch.outbox, at_us)
        return Committed(first, last, at_us, receipt_seq)


def _kinds(batch: Batch) -> str:
    return ", ".join(sorted({ev.kind_of(new.event) for new in batch.events})) or "no events"
