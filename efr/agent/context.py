"""What the model reads of a conversation: the head that stands for what is gone, and the rest.

A piece is one message with its place in the log, which is what a compaction records as its cut.
The head is what a summary left: the fresh block, the summary, and a note of what no summary ever
saw. A request starts with the messages of the one before it, unless a compaction came between.
Pure; one caller at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from msgspec import Struct

from efr.agent.accounting import estimate
from efr.agent.rebuild import user_text
from efr.providers.canonical import Message, ToolResultBlock
from efr.wire import types as t

STUB = "[efr: this output is left out to make room; call the tool again if you need it]"
SUMMARY_HEAD = "<conversation-summary>"
_SUMMARY = (
    f"{SUMMARY_HEAD}\n[efr: this stands for the earlier messages of the conversation]\n{{}}\n"
    "</conversation-summary>"
)


class Piece(Struct, frozen=True, dict=True):  # a dict for what is cached
    """One message and its place: 0 is the prompt of its turn."""

    turn_id: str
    place: int
    message: Message

    @cached_property
    def tokens(self) -> int:
        """The estimate."""
        return estimate([self.message])

    @property
    def has_results(self) -> bool:
        """It answers calls, so it can never come first."""
        return any(isinstance(block, ToolResultBlock) for block in self.message.content)

    @property
    def calls(self) -> bool:
        """It asks for tools, so it can never come last."""
        return bool(self.message.calls)

    @property
    def is_said(self) -> bool:
        """A prompt or a steer: the user's own words."""
        return self.message.role == "user" and not self.has_results


class Missing(Struct, frozen=True):
    """What is in the log and neither in a summary nor in the request."""

    turns: int = 0
    messages: int = 0

    def __bool__(self) -> bool:
        return bool(self.turns or self.messages)


class Head(Struct, frozen=True):
    """What stands before the pieces; empty before the first summary."""

    fresh: str | None = None
    summary: str | None = None
    unseen: Missing = Missing()  # what the summary never saw

    def messages(self) -> list[Message]:
        parts = [self.fresh, None if self.summary is None else _SUMMARY.format(self.summary)]
        if self.unseen:
            parts.append(gap_note(self.unseen))
        return [user_text(part) for part in parts if part]


def head_of(done: t.Compaction | None) -> Head:
    """The head that a recorded summary left."""
    if done is None or done.summary is None:
        return Head()
    return Head(done.fresh, done.summary, Missing(done.omitted_turns, done.omitted_messages))


def gap_note(missing: Missing) -> str:
    """Never silently: how much of the conversation nobody read."""
    counts = ((missing.turns, "earlier turn"), (missing.messages, "message"))
    told = [f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts if count]
    what = told[0] if len(told) == 1 else f"{told[0]} ({told[1]})"
    return f"[efr: {what} of this conversation did not fit and are left out here.]"


def stubbed(message: Message) -> Message:
    """The message with every output that is longer than the stub replaced by it."""
    if not any(_is_long(block) for block in message.content):
        return message
    blocks = tuple(
        ToolResultBlock(block.call_id, STUB, block.is_error)
        if isinstance(block, ToolResultBlock) and _is_long(block)
        else block
        for block in message.content
    )
    return Message(message.role, blocks)


def _is_long(block: object) -> bool:
    return isinstance(block, ToolResultBlock) and len(block.output) > len(STUB)


class Context:
    """The messages of the next request. The running turn adds to it; a compaction cuts it."""

    def __init__(self, head: Head, past: Sequence[Piece], missing: Missing, turn_id: str) -> None:
        """`missing`: older turns that no summary covers and that are not among `past`."""
        self.head = head
        self.missing = missing
        self.pieces: list[Piece] = list(past)
        self.own: list[Message] = []  # every message of the running turn, also those cut off
        self._turn_id = turn_id

    def add(self, message: Message) -> None:
        """The running turn goes on."""
        self.pieces.append(Piece(self._turn_id, len(self.own), message))
        self.own.append(message)

    def replace_last(self, message: Message) -> None:
        """The newest message of the running turn, which no request held yet, is another."""
        self.own[-1] = message
        self.pieces[-1] = Piece(self._turn_id, len(self.own) - 1, message)

    def messages(self) -> list[Message]:
        return [*self.before(), *(piece.message for piece in self.pieces)]

    def before(self) -> list[Message]:
        """What stands before the pieces."""
        gap = [user_text(gap_note(self.missing))] if self.missing else []
        return [*self.head.messages(), *gap]

    def head_tokens(self) -> list[tuple[int, bool]]:
        """The estimate of each message before the pieces, and whether it is the fresh block."""
        fresh = self.head.fresh
        return [(estimate([one]), bool(fresh) and one.text == fresh) for one in self.before()]

    def summarised(self, head: Head, start: int) -> None:
        """The pieces before `start` are in the summary of the new head."""
        self.head, self.missing = head, Missing()
        self.pieces = self.pieces[start:]

    def pruned(self, end: int) -> None:
        """The outputs before `end` are replaced."""
        self.pieces = [*stubs(self.pieces[:end]), *self.pieces[end:]]


def stubs(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces with their outputs replaced."""
    return [Piece(one.turn_id, one.place, stubbed(one.message)) for one in pieces]
