"""The messages of the turns before this one.

Read in one read transaction: the newest summary, and of each ended turn that it does not cover the
exact messages, else a rebuild from its events. Every turn that started and ended counts, in the
order they ended; there is no limit of turns, only a net of bytes far above any window. Blocks on a
reader.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from efr.agent.context import Context, Missing, Piece, head_of, stubs
from efr.agent.frame import Frame
from efr.agent.rebuild import rebuild_turn, repaired, unread_steers
from efr.providers.canonical import Message, decode_message, encode_message
from efr.store import queries
from efr.store.rows import StoredCompaction, TurnRow
from efr.store.turn_messages import SavedMessage
from efr.text.title import title_of
from efr.wire import codec
from efr.wire import events as ev
from efr.wire import types as t
from efr.wire.errors import BadValue

log = logging.getLogger("efr.agent")

_ENDED = frozenset({"completed", "failed", "interrupted", "cancelled"})
# Above any window at 4 bytes per token: it keeps a request of a broken conversation in memory.
_NET_BYTES = 512 * 1024
_NET_WINDOWS = 2 * 4
_STOPPED = 10  # turns that a summary is told of: older ones are in the summary before it
_STOPPED_WORDS: Final = {
    "failed": "failed",
    "interrupted": "interrupted by the user",
    "cancelled": "stopped by a restart of efrd",
}
_ANSWERS: Final = (ev.AssistantMessageCompleted, ev.ToolCallStarted)


class PastTurn(Struct, frozen=True):
    """One turn of the past; `source` is who wrote its messages (None: rebuilt from events)."""

    turn_id: str
    messages: tuple[Message, ...]
    source: tuple[str, str] | None = None  # provider and model
    first: int = 0  # the messages before this place are in the summary
    pruned: int = 0  # the outputs before this place gave way to stubs
    stopped: str | None = None  # how it ended and what it was about, when not by itself


class Newest(Struct, frozen=True):
    """How the newest started turn ended: where the next estimate begins."""

    model: str | None
    cwd: str
    context_tokens: int | None  # None: no real count, or it did not end in the usual way
    effort: str | None
    turn_id: str
    end: int  # the number of the event that ended it


class History(Struct, frozen=True):
    """The turns of a conversation that no summary covers whole, and the summary before them."""

    turns: tuple[PastTurn, ...] = ()
    newest: Newest | None = None
    summary: t.Compaction | None = None

    @property
    def stopped(self) -> list[str]:
        """The newest turns that did not end by themselves, in words for a summary."""
        return [turn.stopped for turn in self.turns if turn.stopped is not None][-_STOPPED:]


def read_history(conn: Any, conversation_id: str, *, running: bool = False) -> History:
    """All of it, in the caller's read transaction. `running`: with the turn that runs now, as far
    as the log has it."""
    wanted = _ENDED | {"running"} if running else _ENDED
    rows = [row for row in queries.turns(conn, conversation_id) if row.started_at is not None]
    log_of = _Log(conn, conversation_id)
    summary = log_of.cut(queries.newest_compaction(conn, conversation_id, with_summary=True))
    pruning = log_of.cut(queries.newest_pruning(conn, conversation_id))
    turns = []
    for row in rows:
        if row.status not in wanted or (summary is not None and summary.covers(row, log_of)):
            continue
        turn = log_of.turn(row)
        if summary is not None and row.id == summary.turn_id:
            turn = replace(turn, first=summary.first)
        if pruning is not None and (row.id == pruning.turn_id or pruning.covers(row, log_of)):
            whole = row.id != pruning.turn_id or pruning.message is None
            turn = replace(turn, pruned=len(turn.messages) if whole else pruning.first)
        turns.append((log_of.place(row), turn))
    newest = None
    if rows:
        last = log_of.newest(rows)
        events, compacted = log_of.events(last.id), max(_seq(summary), _seq(pruning))
        newest = _newest(last.id, log_of.place(last), events, compacted)
    ordered = tuple(turn for _, turn in sorted(turns, key=lambda one: one[0]))
    return History(ordered, newest, None if summary is None else summary.compaction)


def context_of(history: History, frame: Frame, turn_id: str = "") -> Context:
    """What a request of that frame begins with. `turn_id`: of the turn that will add to it."""
    writer = (frame.resolved.provider.id, frame.resolved.model.id)
    turns = [_pieces(turn, same=turn.source == writer) for turn in history.turns]
    kept = _within_net(turns, max(_NET_BYTES, _NET_WINDOWS * frame.limits.window))
    gone = [one for one in turns[: len(turns) - len(kept)] if one]
    missing = Missing(len(gone), sum(len(one) for one in gone))
    past = [piece for turn in kept for piece in turn]
    return Context(head_of(history.summary), past, missing, turn_id)


def _pieces(turn: PastTurn, *, same: bool) -> list[Piece]:
    """The turn for a request. `same`: its provider and model read their own items again."""
    messages = [one if same else one.without_raw() for one in turn.messages]
    pieces = [Piece(turn.turn_id, place, message) for place, message in enumerate(messages)]
    return [*stubs(pieces[: turn.pruned]), *pieces[turn.pruned :]][turn.first :]


class _Cut(Struct, frozen=True):
    """Where a compaction cut the log."""

    compaction: t.Compaction
    seq: int
    end: int  # turns that ended up to this event are covered whole

    @property
    def turn_id(self) -> str:
        return self.compaction.through_turn

    @property
    def message(self) -> int | None:
        return self.compaction.through_message

    @property
    def first(self) -> int:
        """The first message of that turn that stays."""
        return self.message or 0

    def covers(self, row: TurnRow, log_of: _Log) -> bool:
        """Whether the whole turn is before the cut."""
        if row.id == self.turn_id:
            return self.message is None
        if row.queued_seq > self.seq:
            return False
        return row.last_seq <= self.end or log_of.place(row) <= self.end


class _Log:
    """What is read of one conversation, each thing once. Inside one read transaction."""

    def __init__(self, conn: Any, conversation_id: str) -> None:
        self._conn = conn
        self._conversation_id = conversation_id
        self._saved = _saved(conn, conversation_id)
        self._places: dict[str, int] = {}

    def cut(self, stored: StoredCompaction | None) -> _Cut | None:
        if stored is None:
            return None
        done = codec.decode(stored.compaction, t.Compaction)
        bound = queries.turn_end if done.through_message is None else queries.turn_start
        end = bound(self._conn, self._conversation_id, done.through_turn)
        return _Cut(done, stored.seq, end or 0)

    def place(self, row: TurnRow) -> int:
        """Orders the turns: the number of the event that ended it. Turns run one after another,
        and later events of a turn do not move it."""
        if row.status not in _ENDED:
            return row.last_seq
        if row.id not in self._places:
            saved = self._saved.get(row.id)
            whole = saved is not None and saved.seq == row.last_seq
            end = None if whole else queries.turn_end(self._conn, self._conversation_id, row.id)
            self._places[row.id] = row.last_seq if end is None else end
        return self._places[row.id]

    def newest(self, rows: Sequence[TurnRow]) -> TurnRow:
        """The turn that ran last. A turn's last event is never before its end, so few are asked."""
        best: TurnRow | None = None
        for row in sorted(rows, key=lambda row: row.last_seq, reverse=True):
            if best is not None and row.last_seq <= self.place(best):
                break
            if best is None or self.place(row) > self.place(best):
                best = row
        assert best is not None  # only asked when there is one
        return best

    def turn(self, row: TurnRow) -> PastTurn:
        """Its exact messages, as far as they are saved; the rest from its events."""
        saved = self._saved.get(row.id)
        messages: tuple[Message, ...] = () if saved is None else saved.messages
        if saved is None or saved.seq < self.place(row):
            after = 0 if saved is None else saved.seq
            events = self.events(row.id)
            resent: set[int] = set()
            if unread_steers(events):
                resent = queries.resent_steers(self._conn, self._conversation_id, row.queued_seq)
            messages += tuple(rebuild_turn(events, after, resent))
        stopped = None
        if row.status in _STOPPED_WORDS:
            stopped = f'"{title_of(row.prompt)}" ({_STOPPED_WORDS[row.status]})'
        source = None if saved is None else saved.source
        return PastTurn(row.id, tuple(repaired(messages)), source, stopped=stopped)

    def events(self, turn_id: str) -> list[tuple[int, ev.Event]]:
        return _events(self._conn, self._conversation_id, turn_id)


class _Saved(Struct, frozen=True):
    """The exact messages of a turn, up to the event of that number."""

    messages: tuple[Message, ...]
    source: tuple[str, str]
    seq: int


def _seq(cut: _Cut | None) -> int:
    return 0 if cut is None else cut.seq


def _saved(conn: Any, conversation_id: str) -> dict[str, _Saved]:
    """The turns whose exact messages are whole."""
    rows: dict[str, list[SavedMessage]] = {}
    for row in queries.turn_messages(conn, conversation_id):
        rows.setdefault(row.turn_id, []).append(row)
    saved = {}
    for turn_id, parts in rows.items():
        parts.sort(key=lambda row: row.position)
        try:
            messages = tuple(decode_message(row.message) for row in parts)
        except BadValue as exc:
            log.warning("the saved messages of a turn are damaged, it is rebuilt: %s", exc)
            continue
        if [row.position for row in parts] == list(range(len(parts))):
            source = (parts[0].provider, parts[0].model)
            saved[turn_id] = _Saved(messages, source, max(row.turn_seq for row in parts))
    return saved


def _events(conn: Any, conversation_id: str, turn_id: str) -> list[tuple[int, ev.Event]]:
    """The turn's events; one that cannot be read is left out, as every reader does."""
    found = []
    for row in queries.turn_events(conn, conversation_id, turn_id):
        try:
            found.append((row.seq, ev.decode_event(row.kind, row.payload)))
        except BadValue as exc:
            log.warning("event %d cannot be read: %s", row.seq, exc)
    return found


def _newest(
    turn_id: str, end: int, events: Sequence[tuple[int, ev.Event]], compacted_seq: int
) -> Newest | None:
    """`compacted_seq`: of the newest compaction. A count from before it counts no more."""
    started = next((e for _, e in events if isinstance(e, ev.TurnStarted)), None)
    if started is None:
        return None
    tokens, answered = None, False
    for seq, event in events:
        if seq > compacted_seq and isinstance(event, _ANSWERS):
            answered = True
        if isinstance(event, ev.TurnCompleted | ev.TurnFailed | ev.TurnInterrupted):
            counted = answered and event.usage is not None and event.usage.context_tokens > 0
            tokens = event.context.tokens if counted and event.context is not None else None
    settings = started.settings
    model = None if settings is None else settings.model
    effort = None if settings is None else settings.effort
    return Newest(model, started.cwd, tokens, effort, turn_id, end)


def base_tokens(history: History, model: str) -> int | None:
    """The newest real count, when the next estimate of that model may start from it."""
    newest = history.newest
    return newest.context_tokens if newest is not None and newest.model == model else None


def _within_net(turns: list[list[Piece]], limit_bytes: int) -> list[list[Piece]]:
    """The newest turns that fit; the newest of all always."""
    kept: list[list[Piece]] = []
    size = 0
    for turn in reversed(turns):
        size += sum(len(encode_message(piece.message)) for piece in turn)
        if kept and size > limit_bytes:
            break
        kept.append(turn)
    return kept[::-1]


def is_away(conn: Any, conversation_id: str) -> bool:
    """Whether the newest change of presence in the log was to go away."""
    others = [kind for kind in ev.EVENTS if kind != "presence_changed"]
    newest, _ = queries.newest_events(conn, conversation_id, None, 1, _NET_BYTES, without=others)
    for row in newest:
        event = ev.decode_event(row.kind, row.payload)
        return isinstance(event, ev.PresenceChanged) and event.presence is t.Presence.AWAY
    return False
