"""A full disk under a running turn: SQLite's own page limit plays the disk."""

from __future__ import annotations

from typing import Any

import pytest

from efr.providers.canonical import Done, TextDelta
from efr.providers.errors import ApiError
from efr.store.batch import Batch, NewEvent
from efr.store.errors import StoreFull
from efr.wire import events as ev
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.scripted_model import Hold, calls, said, usage
from tests.agent.scripted_tools import HeldTool
from tests.agent.world import World

BIG = "x" * 200_000  # more than any free page of the test's database holds


def fill(world: World) -> None:
    """From now on the database cannot grow."""

    def limit(conn: Any) -> None:
        pages = conn.pragma("page_count")
        conn.pragma("max_page_count", pages)

    world.writer.run(limit).result(20)


def free(world: World) -> None:
    world.writer.run(lambda conn: conn.pragma("max_page_count", 1 << 30)).result(20)


def test_a_prompt_on_a_full_disk_is_internal_and_the_same_id_works_later(world: World) -> None:
    fill(world)
    command_id = world.ids.new()
    with pytest.raises(Refusal) as caught:
        world.send(BIG, command_id=command_id)
    assert caught.value.body.code is t.ErrorCode.INTERNAL
    assert "disk is full" in caught.value.body.message
    free(world)
    world.provider.answers(said("a"))
    sent = world.send("smaller", command_id=command_id)
    world.wait_end(sent.turn_id)


def test_a_running_turn_fails_as_soon_as_an_append_works_again(world: World) -> None:
    held = Hold()
    world.provider.answers([held, TextDelta(BIG), usage(), Done("end_turn")], said("next"))
    sent = world.send("go")
    held.wait()
    fill(world)
    held.go()
    for _ in range(3):
        world.timer.wait_for(5)
        world.timer.advance(5)
    world.timer.wait_for(5)
    free(world)
    world.timer.advance(5)
    end = world.wait_end(sent.turn_id)
    assert isinstance(end, ev.TurnFailed)
    assert "disk is full" in end.error.message
    again = world.send("again")
    assert isinstance(world.wait_end(again.turn_id), ev.TurnCompleted)


def test_after_a_minute_the_worker_gives_up_and_the_end_comes_before_the_next_turn(
    world: World,
) -> None:
    held = Hold()
    world.provider.answers([held, TextDelta(BIG), usage(), Done("end_turn")], said("next"))
    sent = world.send("go")
    held.wait()
    fill(world)
    held.go()
    for _ in range(12):
        world.timer.wait_for(5)
        world.timer.advance(5)
    assert world.workers.stop(world.clock.monotonic() + 20) == []
    free(world)
    world.workers._stopping = False  # the daemon itself did not stop
    again = world.send("again")
    assert isinstance(world.wait_end(again.turn_id), ev.TurnCompleted)
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnFailed)
    kinds = world.kinds(sent.conversation_id)
    assert kinds.index("turn_failed") < kinds.index("turn_completed")


def test_an_interrupt_stops_the_turn_even_when_it_cannot_be_recorded(world: World) -> None:
    held = HeldTool()
    world.tools.look.do = held
    world.provider.answers(calls(("look", "{}")))
    sent = world.send("go")
    held.wait()
    fill(world)
    same = ev.TurnInterruptRequested(turn_id=sent.turn_id, origin=t.Origin.SHELL)
    batch = Batch(events=(NewEvent(sent.conversation_id, same),))
    while not isinstance(world.writer.append(batch).exception(20), StoreFull):
        pass
    with pytest.raises(Refusal) as caught:
        world.interrupt(sent.conversation_id)
    assert caught.value.body.code is t.ErrorCode.INTERNAL
    world.timer.wait_for(5)
    free(world)
    world.timer.advance(5)
    end = world.wait_end(sent.turn_id)
    assert isinstance(end, ev.TurnFailed | ev.TurnInterrupted)


def test_an_end_that_cannot_be_written_is_a_plain_failure(world: World) -> None:
    world.provider.answers([ApiError(400, None, "a lone surrogate \ud800")], said("next"))
    sent = world.send("go")
    end = world.wait_end(sent.turn_id)
    assert isinstance(end, ev.TurnFailed)
    assert end.error.message == "the end of the turn could not be written down"
    again = world.send("again")
    assert isinstance(world.wait_end(again.turn_id), ev.TurnCompleted)
