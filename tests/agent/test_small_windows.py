"""Messages of any size at any time in windows that are far too small: every request is one that a
provider takes, no turn fails by a fault, and the conversation goes on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from efr.agent.accounting import estimate_request
from efr.base.cancel import Cancel
from efr.providers.canonical import (
    CallUsage,
    Done,
    Message,
    ModelFacts,
    Request,
    TextDelta,
    ToolResultBlock,
    UsageEvent,
)
from efr.providers.errors import ContextOverflow, Overloaded, ProviderError
from efr.providers.provider import EventStream
from efr.tools.contract import ToolResult
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire.errors import Refusal
from tests.agent.scripted_model import ScriptedModels
from tests.agent.test_messages_at_any_time import Sender, Stepping, kill
from tests.agent.world import World

MESSAGES = 80


class Small(Stepping):
    """A model that counts `ratio` tokens for each estimated one and refuses what is too long."""

    def __init__(self, dice: random.Random, window: int, ratio: float) -> None:
        super().__init__(dice)
        self.facts = (ModelFacts("small", context_window=window, edit_tool="edit"),)
        self.faults: list[str] = []
        self._window = window
        self._ratio = ratio

    def stream(self, request: Request, cancel: Cancel) -> EventStream:
        self.requests.append(request)
        self.faults += _faults(request.messages)
        tokens = int(estimate_request(request) * self._ratio)
        if self._ratio <= 1 and tokens > self._window * 95 // 100:
            self.faults.append(f"a request of {tokens} tokens")
        if tokens > self._window:
            raise ContextOverflow("too long")
        if request.side_call:
            if not self._free and self._dice.random() < 0.1:
                raise Overloaded
            yield TextDelta("## Task and state\n" + "s" * self._dice.randrange(10, 1000))
            yield UsageEvent(CallUsage(tokens, 20))
            yield Done("end_turn")
            return
        for event in self._answer():
            self._pass(cancel)
            if isinstance(event, ProviderError):
                raise event
            yield UsageEvent(CallUsage(tokens, 20)) if isinstance(event, UsageEvent) else event


def _faults(messages: tuple[Message, ...]) -> list[str]:
    """What no provider takes: results without calls, calls without results."""
    found = []
    calls: set[str] = set()
    for message in messages:
        results = {b.call_id for b in message.content if isinstance(b, ToolResultBlock)}
        if results != calls:
            found.append(f"{calls} answered by {results}")
        calls = {call.call_id for call in message.calls}
    return found + ([f"{calls} never answered"] if calls else [])


class Writer(Sender):
    """Somebody who pastes long texts now and then."""

    def _text(self) -> str:
        long = self.dice.choice((1500, 6000, 40_000)) if self.dice.random() < 0.2 else 50
        return super()._text() + " " + "w" * long


@pytest.mark.parametrize(("seed", "window", "ratio"), [(1, 6000, 1.8), (2, 8000, 1.0)])
def test_a_conversation_goes_on_in_any_window(
    tmp_path: Path, seed: int, window: int, ratio: float
) -> None:
    dice = random.Random(seed)
    world = World(tmp_path)
    world.provider = model = Small(random.Random(-seed), window, ratio)
    world.models = ScriptedModels(model, lambda: world.settings)
    sizes = random.Random(seed)
    world.tools.look.do = lambda input, ctx: ToolResult("o" * sizes.choice((50, 4000, 30_000)))
    with world:
        model.give(0, free=True)
        first = world.send("begin")
        world.wait_end(first.turn_id)
        writer = Writer(world, dice, first.conversation_id)
        model.give(0)
        for number in range(MESSAGES):
            if number == MESSAGES // 2:
                kill(world, tmp_path / "kill")
            writer.act()
            model.give(dice.randrange(5))
        model.give(0, free=True)
        world.log.wait(lambda _: not world.agent.runs(first.conversation_id), "the queue's end")
        _compact(world, first.conversation_id)
        last = world.send("the end", conversation_id=first.conversation_id)
        assert isinstance(world.wait_end(last.turn_id), ev.TurnCompleted)
        events = world.stored(first.conversation_id)
    assert model.faults == []
    failed = [event.error.message for event in events if isinstance(event, ev.TurnFailed)]
    assert not [message for message in failed if "a fault of efrd" in message]
    assert any(isinstance(event, ev.ConversationCompacted) for event in events)


def _compact(world: World, conversation_id: str) -> None:
    """By hand, as the message of a full conversation says; a summary may need a second try."""
    for _ in range(4):
        params = m.ConversationCompactParams(
            command_id=world.ids.new(), conversation_id=conversation_id
        )
        try:
            world.agent.conversation_compact(params, Cancel())
        except Refusal as refusal:
            if refusal.body.code.value != "busy":
                return
        else:
            return
