"""The messages of the turns before this one.

Read in one read transaction: the exact messages of each ended turn, else a rebuild from its
events. Every turn that started and ended counts, in the order they ended; there is no limit of
turns, only a net of bytes far above any window. Blocks on a reader.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from efr.agent.rebuild import rebuild_turn, repaired, shown_as_text, user_text
from efr.providers.canonical import Message, decode_message, encode_message
from efr.store import queries
from efr.wire import events as ev
from efr.wire import types as t
from efr.wire.errors import BadValue

log = logging.getLogger("efr.agent")

_ENDED = frozenset({"completed", "failed", "interrupted", "cancelled"})
# Above any window at 4 bytes per token: it keeps a request of a broken conversation in memory.
_NET_BYTES = 512 * 1024
_NET_WINDOWS = 2 * 4


@dataclass(frozen=True)
class PastTurn:
    """One ended turn; `source` is who wrote its messages (None: rebuilt from events)."""

    turn_id: str
    messages: tuple[Message, ...]
    source: tuple[str, str] | None  # provider and model


@dataclass(frozen=True)
class Newest:
    """How the newest started turn ended: where the next estimate begins."""

    model: str | None
    cwd: str
    context_tokens: int | None  # None: no real count, or it did not end in the usual way


@dataclass(frozen=True)
class History:
    """The turns of a conversation before the one that starts."""

    turns: tuple[PastTurn, ...] = ()
    newest: Newest | None = None


def read_history(conn: Any, conversation_id: str) -> History:
    """All of it, in the caller's read transaction."""
    rows = [row for row in queries.turns(conn, conversation_id) if row.started_at is not None]
    ended = sorted((row for row in rows if row.status in _ENDED), key=lambda row: row.last_seq)
    saved = _saved(conn, conversation_id)
    turns = []
    for row in ended:
        past = saved.get(row.id)
        if past is None:
            messages = tuple(rebuild_turn(_events(conn, conversation_id, row.id)))
            past = PastTurn(row.id, messages, None)
        turns.append(past)
    newest = None
    if rows:
        last = max(rows, key=lambda row: row.last_seq)
        newest = _newest(_events(conn, conversation_id, last.id))
    return History(tuple(turns), newest)


def messages_for(
    history: History, provider: str, model: str, tools: Collection[str], window: int
) -> list[Message]:
    """What a request of that provider and model begins with."""
    turns: list[list[Message]] = []
    for turn in history.turns:
        same = turn.source == (provider, model)
        messages = [one if same else one.without_raw() for one in turn.messages]
        turns.append(shown_as_text(repaired(messages), tools))
    kept = _within_net(turns, max(_NET_BYTES, _NET_WINDOWS * window))
    missing = len(turns) - len(kept)
    gap = [user_text(_gap_note(missing))] if missing else []
    return gap + [message for turn in kept for message in turn]


def _saved(conn: Any, conversation_id: str) -> dict[str, PastTurn]:
    """The turns whose exact messages are whole."""
    rows: dict[str, list[Any]] = {}
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
            saved[turn_id] = PastTurn(turn_id, messages, (parts[0].provider, parts[0].model))
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


def _newest(events: Sequence[tuple[int, ev.Event]]) -> Newest | None:
    started = next((e for _, e in events if isinstance(e, ev.TurnStarted)), None)
    if started is None:
        return None
    tokens = None
    for _, event in events:
        if isinstance(event, ev.TurnCompleted | ev.TurnFailed | ev.TurnInterrupted):
            counted = event.usage is not None and event.usage.context_tokens > 0
            tokens = event.context.tokens if counted and event.context is not None else None
    model = started.settings.model if started.settings is not None else None
    return Newest(model, started.cwd, tokens)


def _within_net(turns: list[list[Message]], limit_bytes: int) -> list[list[Message]]:
    """The newest turns that fit; the newest of all always."""
    kept: list[list[Message]] = []
    size = 0
    for turn in reversed(turns):
        size += sum(len(encode_message(message)) for message in turn)
        if kept and size > limit_bytes:
            break
        kept.append(turn)
    return kept[::-1]


def _gap_note(missing: int) -> str:
    turns = "1 earlier turn" if missing == 1 else f"{missing} earlier turns"
    return f"[efr: {turns} of this conversation did not fit and are left out here.]"


def is_away(conn: Any, conversation_id: str) -> bool:
    """Whether the newest change of presence in the log was to go away."""
    others = [kind for kind in ev.EVENTS if kind != "presence_changed"]
    newest, _ = queries.newest_events(conn, conversation_id, None, 1, _NET_BYTES, without=others)
    for row in newest:
        event = ev.decode_event(row.kind, row.payload)
        return isinstance(event, ev.PresenceChanged) and event.presence is t.Presence.AWAY
    return False
