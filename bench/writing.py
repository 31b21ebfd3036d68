"""The store-writer with a conversation whose turn runs: what the measurements commit to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from efr.base.clock import SystemClock
from efr.store.batch import Batch, NewEvent
from efr.store.feed import Feed
from efr.threads.writer import StoreWriter
from efr.wire import events as ev
from efr.wire import types as t

CONVERSATION: Final = "0198f000-0000-7000-8000-0000000000aa"
TURN: Final = "0198f000-0000-7000-8000-0000000000ab"

_OPENING: Final[tuple[ev.Event, ...]] = (
    ev.ConversationCreated(t.Origin.CLI),
    ev.PromptQueued(turn_id=TURN, command_id=TURN, text="hi", origin=t.Origin.CLI),
    ev.TurnStarted(turn_id=TURN, cwd="/", scope=t.ScopeMachine()),
)


@contextmanager
def a_writer(path: Path) -> Iterator[StoreWriter]:
    """The writer of a store; one that was written to before has the conversation already."""
    writer = StoreWriter(path, SystemClock(), Feed(), print)
    writer.start()
    try:
        writer.append(Batch(tuple(NewEvent(CONVERSATION, one) for one in _OPENING))).exception()
        yield writer
    finally:
        writer.stop()
