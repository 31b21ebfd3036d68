"""`conversation.delete`: the checks, the stop of what runs, the tombstone, and what comes after it.

A stop of efrd at any point shows all of the conversation or nothing: everything that can be seen
goes with one commit, the tombstone's, which also holds the answer. What is left after that is
finished here, or by the next start before its socket opens. Blocks for as long as the work takes
to stop; an errand of its own runs it.

The stored answer has no title: it outlives the conversation, and nothing of its text may.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from msgspec.structs import replace

from efr.agent.ports import Caller, Readers
from efr.agent.receipts import Form, Receipts
from efr.agent.refusals import refusing, shown_path
from efr.store import queries
from efr.store.batch import Batch, NewEvent
from efr.store.db import Connection
from efr.store.deletes import Deletes, open_delete
from efr.store.errors import StoreError, StoreFault
from efr.store.rows import ConversationRow
from efr.text.redact import redact_title
from efr.threads.writer import StoreWriter
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import refuse

log = logging.getLogger("efr.daemon")

T = TypeVar("T")

# A union of results is no type to mypy; the codec reads it all the same. It holds no number.
_FORM: Final[Form[m.ConversationDeleteResult]] = Form(
    "conversation.delete", cast(Any, m.ConversationDeleteResult), lambda result, base: result
)


class Work(Protocol):
    """What goes on in conversations."""

    def runs(self, conversation_id: str) -> bool:
        """A turn runs, a prompt waits, or a compaction works."""
        ...

    def undo_runs(self, conversation_id: str) -> bool:
        """An undo writes files; nothing ever stops it."""
        ...

    def is_held(self, row: ConversationRow) -> bool:
        """The terminal of its slot is open."""
        ...

    def stop(self, conversation_id: str, caller: Caller) -> int:
        """Ends the turn and the waiting prompts, the jobs, and then the hidden shell, in this
        order; returns how many jobs it stopped. Blocks for their ends. Raises StoreError."""
        ...

    def forget(self, row: ConversationRow) -> None:
        """The conversation is deleted: nothing of it stays in memory, and the next prompt of its
        terminal starts a new one."""
        ...


class Deleter:
    """Deletes conversations. Any thread."""

    def __init__(
        self,
        readers: Readers,
        writer: StoreWriter,
        receipts: Receipts,
        deletes: Deletes,
        work: Work,
    ) -> None:
        self._readers = readers
        self._writer = writer
        self._receipts = receipts
        self._deletes = deletes
        self._work = work

    def delete(
        self, params: m.ConversationDeleteParams, caller: Caller
    ) -> m.ConversationDeleteResult:
        """The whole delete, or who holds the conversation. Blocks. Raises Refusal."""
        with refusing():
            return self._receipts.with_receipt(
                params.command_id, _FORM, lambda: self._delete(params, caller)
            )

    def _delete(
        self, params: m.ConversationDeleteParams, caller: Caller
    ) -> m.ConversationDeleteResult:
        conversation_id = params.conversation_id
        row = self._readers.read(lambda conn: queries.conversation(conn, conversation_id))
        if row is None:
            raise refuse(t.ErrorCode.NOT_FOUND, f"there is no conversation {conversation_id}")
        if self._work.undo_runs(conversation_id):
            raise _busy("undo", "an undo runs in the conversation; wait until it ends")
        title = None if row.title is None else redact_title(row.title)
        if not params.force and (tty := self._holder(row, caller)) is not None:
            held = m.ConversationDeleteHeld(tty=tty, title=title)
            receipt = _FORM.receipt(params.command_id, held, seq_of=0)
            self._writer.append(Batch(receipt=receipt)).result()
            return held
        if not params.stop and self._work.runs(conversation_id):
            raise _busy("turn", "a turn runs in the conversation, or a prompt waits")
        jobs_stopped = self._work.stop(conversation_id, caller)
        result = m.ConversationDeleted(conversation_id=conversation_id, jobs_stopped=jobs_stopped)
        event = NewEvent(conversation_id, ev.ConversationDeleted(caller.origin))
        receipt = _FORM.receipt(params.command_id, result, seq_of=0)
        self._writer.append(Batch((event,), receipt)).result()
        self._work.forget(row)
        left = tuple(map(shown_path, self._finish(conversation_id)))
        return replace(result, title=title, not_removed=left)

    def _holder(self, row: ConversationRow, caller: Caller) -> str | None:
        """Another open terminal that holds it."""
        if row.tty is None or row.tty == caller.tty or not self._work.is_held(row):
            return None
        return row.tty

    def _finish(self, conversation_id: str) -> list[Path]:
        """What could not be removed, the database's file among it when rows stay in it. The next
        start tries again."""

        def run(job: Callable[[Connection], T], /) -> T:
            return self._writer.run(job).result()

        try:
            delete = self._readers.read(lambda conn: open_delete(conn, conversation_id))
            return [] if delete is None else self._deletes.finish(run, delete)
        except StoreError as exc:
            log.error("a delete is left to the next start: %s", exc)
            return [exc.path] if isinstance(exc, StoreFault) else []


def _busy(what: str, why: str) -> Exception:
    return refuse(t.ErrorCode.BUSY, why, {"busy": what})
