"""Answers with counts that a test chooses, and turns that run to their end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from efr.providers.canonical import (
    Done,
    Request,
    StopReason,
    TextDelta,
    ToolCallEnd,
    ToolCallStart,
    encode_message,
)
from efr.wire import events as ev
from tests.agent.scripted_model import Step, usage
from tests.agent.world import World

FULL = 210_000  # tokens: above the trigger of a window of 272,000


def answer(text: str, tokens: int = 100) -> list[Step]:
    """An answer after which the context holds so many tokens."""
    return [TextDelta(text), usage(tokens - 10, 10), Done("end_turn")]


def summary(
    text: str = "## Task and state\nall of it", stop: StopReason = "end_turn"
) -> list[Step]:
    return [TextDelta(text), usage(5000, 50), Done(stop)]


def call(*arguments: str, tokens: int = 100) -> list[Step]:
    """An answer that calls `look` once per argument."""
    steps: list[Step] = []
    for number, text in enumerate(arguments):
        steps += [ToolCallStart(f"c{number}", "look"), ToolCallEnd(f"c{number}", text)]
    return [*steps, usage(tokens - 10, 10), Done("tool_use")]


def whole(request: Request) -> list[bytes]:
    return [encode_message(message) for message in request.messages]


def run(world: World, text: str, *answers: Sequence[Step], **more: Any) -> ev.Event:
    world.provider.answers(*answers)
    return world.wait_end(world.send(text, **more).turn_id)


def compactions(world: World) -> list[ev.ConversationCompacted]:
    """Those of the log so far."""
    return [one.event for one in world.log.all if isinstance(one.event, ev.ConversationCompacted)]
