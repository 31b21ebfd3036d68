"""A turn's messages from its events, and the repairs before any request.

Pure. Used when the exact messages of a turn are missing or damaged: text, calls and results are
the same, the provider's own items and the preamble are gone. No request ever holds a call without
its result or a result without its call.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct, field

from efr.providers.canonical import (
    Block,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from efr.wire import events as ev

log = logging.getLogger("efr.agent")

UNFINISHED = "This call did not finish; it may or may not have run."


def user_text(text: str) -> Message:
    """A user message of one text."""
    return Message("user", (TextBlock(text),))


class _Story(Struct):
    """The messages so far, and the one that is still open."""

    messages: list[Message] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    results: list[Block] = field(default_factory=list)

    def assistant(self, block: Block, *, new: bool) -> None:
        if self.results or new:
            self.close()
        self.blocks.append(block)

    def result(self, block: Block) -> None:
        if self.blocks:
            self.messages.append(Message("assistant", tuple(self.blocks)))
            self.blocks = []
        self.results.append(block)

    def user(self, text: str) -> None:
        self.close()
        self.messages.append(user_text(text))

    def close(self) -> None:
        if self.blocks:
            self.messages.append(Message("assistant", tuple(self.blocks)))
        if self.results:
            self.messages.append(Message("user", tuple(self.results)))
        self.blocks, self.results = [], []


def rebuild_turn(
    events: Sequence[tuple[int, ev.Event]], after: int = 0, resent: Collection[int] = ()
) -> list[Message]:
    """The messages of one turn from its (seq, event) pairs in order; empty: no prompt, no turn.

    `after`: those of the events up to that number are known already. `resent`: steers that became
    a prompt. Steers that no call read stand at the end, as they do when the turn records its end.
    """
    steers = {seq: e.text for seq, e in events if isinstance(e, ev.TurnSteered)}
    in_place = _old_log(events)
    story = _Story()
    streamed: dict[int, list[str]] = {}
    for event in (event for seq, event in events if seq > after):
        match event:
            case ev.PromptQueued(text=text):
                story.user(text)
            case ev.AssistantMessageUpdated(index=index, delta=delta):
                streamed.setdefault(index, []).append(delta)
            case ev.AssistantMessageCompleted(index=index, text=text):
                streamed.pop(index, None)
                story.assistant(TextBlock(text), new=True)
            case ev.ToolCallStarted():
                block = ToolCallBlock(event.call_id, event.tool, event.input, event.freeform)
                story.assistant(block, new=False)
            case ev.ToolCallCompleted():
                story.result(ToolResultBlock(event.call_id, event.output, event.is_error))
            case ev.SteeringDelivered(steers=read):
                for one in read:
                    if one in steers:
                        story.user(steers[one])
            case ev.TurnSteered(text=text) if in_place:
                story.user(text)
            case _:
                pass
    for parts in streamed.values():
        story.assistant(TextBlock("".join(parts)), new=True)
    for seq in unread_steers(events):
        if seq not in resent:
            story.user(steers[seq])
    story.close()
    return repaired(story.messages)


def unread_steers(events: Sequence[tuple[int, ev.Event]]) -> list[int]:
    """The numbers of the steers that no call read and nobody took back; a turn that completed by
    itself has none."""
    unread: dict[int, None] = {}
    for seq, event in events:
        match event:
            case ev.TurnSteered():
                unread[seq] = None
            case ev.SteeringDelivered(steers=gone) | ev.SteeringWithdrawn(steers=gone):
                for one in gone:
                    unread.pop(one, None)
            case ev.TurnCompleted():
                return []
            case _:
                pass
    return list(unread)


def _old_log(events: Sequence[tuple[int, ev.Event]]) -> bool:
    """A completed turn from before steers were named when they were read."""
    kinds = [type(event) for _, event in events]
    return ev.TurnCompleted in kinds and ev.SteeringDelivered not in kinds


def repaired(messages: Iterable[Message]) -> list[Message]:
    """Every call answered right after its message, every result without a call dropped."""
    done: list[Message] = []
    open_calls: list[ToolCallBlock] = []
    for message in messages:
        if message.role == "assistant":
            done += _answers(open_calls)
            open_calls = list(message.calls)
            done.append(message)
            continue
        kept, missing = _matched(message, open_calls)
        open_calls = []
        if missing and not _has_result(kept):
            done += _answers(missing)
        elif missing:
            kept = Message("user", (*_results(missing), *kept.content))
        if kept.content:
            done.append(kept)
    return done + _answers(open_calls)


def _matched(
    message: Message, open_calls: Sequence[ToolCallBlock]
) -> tuple[Message, list[ToolCallBlock]]:
    """The message without stray results, and the open calls it does not answer."""
    wanted = {call.call_id for call in open_calls}
    kept: list[Block] = []
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            if block.call_id not in wanted:
                log.warning("a tool result without its call is left out of the history")
                continue
            wanted.discard(block.call_id)
        kept.append(block)
    missing = [call for call in open_calls if call.call_id in wanted]
    if len(kept) == len(message.content):
        return message, missing
    return Message("user", tuple(kept)), missing


def _has_result(message: Message) -> bool:
    return any(isinstance(block, ToolResultBlock) for block in message.content)


def _results(calls: Iterable[ToolCallBlock]) -> list[Block]:
    return [ToolResultBlock(call.call_id, UNFINISHED, is_error=True) for call in calls]


def _answers(calls: Sequence[ToolCallBlock]) -> list[Message]:
    return [Message("user", tuple(_results(calls)))] if calls else []
