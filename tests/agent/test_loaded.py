"""Conversations that rest are let go when many came after them, and nobody notices."""

from __future__ import annotations

import random
import threading
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from efr.agent import loaded
from efr.agent.gate import Gate, GateShut
from efr.agent.presence import AWAY_AFTER_S, Presence
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from tests.agent.scripted import LIMIT_S, ScriptedTimer
from tests.agent.scripted_model import Hold, calls, said
from tests.agent.world import CALLER, World
from tests.harness.clock import FakeClock

FEW = 3


@pytest.fixture(name="world")
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(loaded.Loaded.__init__, "__defaults__", (FEW,))
    with World(tmp_path) as world:
        yield world


def one_more(world: World) -> str:
    """A conversation with one turn that ended."""
    world.provider.answers(said("ok"))
    sent = world.send("go", context=None)
    world.wait_end(sent.turn_id)
    return sent.conversation_id


def present(world: World, presence: t.Presence, conversation_id: str | None = None) -> Any:
    params = m.PresenceSetParams(
        command_id=world.ids.new(), presence=presence, conversation_id=conversation_id
    )
    return world.agent.presence_set(params, CALLER)


def kept(world: World) -> list[str]:
    """The ids of those that are loaded, when the workers of all have ended."""
    table = world.agent._loaded
    for one in table.all():
        with one.gate.enter(always=True):
            pass
    return [one.id for one in table.all()]


def test_those_that_rest_go_and_come_back(world: World) -> None:
    old = [one_more(world) for _ in range(2 * FEW)]
    assert set(old) <= set(kept(world)), "ten minutes without input have not passed"
    present(world, t.Presence.AWAY)
    new = [one_more(world) for _ in range(2 * FEW)]
    assert set(old).isdisjoint(kept(world))
    world.provider.answers(said("again"))
    again = world.send("again", conversation_id=old[0], context=None)
    world.wait_end(again.turn_id)
    back = [e for e in world.stored(old[0]) if isinstance(e, ev.PresenceChanged)]
    assert [one.presence for one in back] == [t.Presence.AWAY, t.Presence.PRESENT]
    assert [m.role for m in world.provider.requests[-1].messages] == ["user", "assistant", "user"]
    assert set(present(world, t.Presence.PRESENT).changed) == set(old[1:])
    assert set(new) <= set(kept(world))


def test_what_runs_waits_or_is_asked_stays(world: World) -> None:
    world.provider.answers(calls(("write", "{}")))
    asks = world.send("write", context=None)
    question = world.wait(ev.ApprovalRequested)
    held = Hold()
    world.provider.answers([held, *said("done")], said("done"))
    runs = world.send("one", context=None)
    held.wait()
    waits = world.send("two", conversation_id=runs.conversation_id, context=None)
    for _ in range(3 * FEW):
        present(world, t.Presence.AWAY)
        one_more(world)
    assert {asks.conversation_id, runs.conversation_id} <= set(kept(world))
    held.go()
    world.wait_end(waits.turn_id)
    for _ in range(3 * FEW):
        one_more(world)
        present(world, t.Presence.AWAY)
    assert asks.conversation_id in kept(world)
    assert runs.conversation_id not in kept(world)
    world.provider.answers(said("done"))
    world.answer(asks.conversation_id, question.call_id)
    world.wait_end(asks.turn_id)


def test_the_end_of_the_ten_minutes_is_timed_until_it_is_told() -> None:
    """Between the two the conversation is not let go: nobody would tell that the user left."""
    clock = FakeClock()
    timer = ScriptedTimer(clock)
    told: list[bool] = []

    def leaves() -> bool:
        told.append(presence.is_timed)
        if len(told) == 2:  # a key, while the gate was taken
            presence.input()
        elif len(told) == 3:
            presence.go_away()
        return len(told) > 1

    presence = Presence(clock, timer, False, leaves)
    presence.input()
    timer.advance(AWAY_AFTER_S + 1)
    assert (told, presence.is_timed, presence.away) == ([True, True], True, False)
    timer.advance(AWAY_AFTER_S)
    assert (told, presence.is_timed, presence.away) == ([True] * 3, False, True)


def test_a_shut_gate_lets_nobody_in_and_does_not_shut_on_who_waits() -> None:
    gate, inside = Gate(), threading.Event()
    with gate.enter():
        other = threading.Thread(target=lambda: enter_and_tell(gate, inside))
        other.start()
        while gate.shut():  # the other one does not wait yet
            gate._shut = False
    assert inside.wait(LIMIT_S)
    other.join()
    with gate.enter():
        assert gate.shut()
    assert gate.is_shut
    with pytest.raises(GateShut), gate.enter(always=True):
        pass
    with gate.try_enter() as entered:
        assert not entered


def enter_and_tell(gate: Gate, inside: threading.Event) -> None:
    with gate.enter():
        inside.set()


def test_requests_at_any_moment_find_one_owner(world: World) -> None:
    """Four people in six conversations, while all of them are let go again and again."""
    ids = [one_more(world) for _ in range(6)]
    answers = [said(f"answer {n}") for n in range(400)]
    world.provider.answers(*answers)
    sent: list[tuple[str, str]] = []
    faults: list[BaseException] = []

    def person(seed: int) -> None:
        dice = random.Random(seed)
        try:
            for _ in range(25):
                conversation_id = dice.choice(ids)
                found = world.send("go", conversation_id=conversation_id, context=None)
                sent.append((conversation_id, found.turn_id))
                world.wait_end(found.turn_id)
                present(world, t.Presence.AWAY, conversation_id)
                present(world, dice.choice(list(t.Presence)[:2]))
        except BaseException as exc:
            faults.append(exc)

    people = [threading.Thread(target=person, args=(seed,)) for seed in range(4)]
    for one in people:
        one.start()
    for one in people:
        one.join(4 * LIMIT_S)
    assert faults == []
    for conversation_id in ids:
        stored = world.stored(conversation_id)
        turns = [e for e in stored if isinstance(e, ev.TurnStarted | ev.TurnCompleted)]
        pairs = list(zip(turns[::2], turns[1::2], strict=True))
        assert all(first.turn_id == last.turn_id for first, last in pairs), "one after the other"
        ended = Counter(last.turn_id for _, last in pairs)
        assert {turn for where, turn in sent if where == conversation_id} <= set(ended)
        assert max(ended.values()) == 1
        states = [e.presence for e in stored if isinstance(e, ev.PresenceChanged)]
        assert all(one != other for one, other in pairwise(states))
