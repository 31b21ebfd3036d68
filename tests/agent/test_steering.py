from __future__ import annotations

import random
import threading

import pytest

from efr.config.schema import Conversation, Settings
from efr.providers.canonical import Done, TextDelta
from efr.store import queries
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.scripted import LIMIT_S
from tests.agent.scripted_model import Hold, calls, said, texts_of, usage
from tests.agent.scripted_tools import HeldTool
from tests.agent.world import CALLER, World

ONE = ("look", "{}")
QUEUE = t.LateSteerQueue()


def code_of(world: World, conversation_id: str, text: str, **more: object) -> t.ErrorCode:
    with pytest.raises(Refusal) as caught:
        world.steer(conversation_id, text, **more)
    return caught.value.body.code


def test_a_steer_during_a_tool_call_is_read_by_the_next_model_call(world: World) -> None:
    held = HeldTool()
    world.tools.look.do = held
    world.provider.answers(calls(ONE), said("faster then"))
    sent = world.send("go")
    held.wait()
    steered = world.steer(sent.conversation_id, "faster")
    assert (steered.turn_id, steered.queued) == (sent.turn_id, False)
    held.go()
    world.wait_end(sent.turn_id)
    delivered = world.wait(ev.SteeringDelivered)
    assert delivered.steers == (steered.seq,)
    assert texts_of(world.provider.requests[1])[-1] == ("user", "faster")
    kinds = world.kinds(sent.conversation_id)
    assert kinds.index("turn_steered") < kinds.index("tool_call_completed")
    assert kinds.index("tool_call_completed") < kinds.index("steering_delivered")


def test_a_turn_about_to_end_with_a_steer_makes_one_more_call(world: World) -> None:
    held = Hold()
    world.provider.answers([held, *said("done")], said("and faster"))
    sent = world.send("go")
    held.wait()
    world.steer(sent.conversation_id, "faster")
    held.go()
    world.wait_end(sent.turn_id)
    assert texts_of(world.provider.requests[1]) == [
        ("user", "<live_state>|go"),
        ("assistant", "done"),
        ("user", "faster"),
    ]


def test_a_steer_nobody_can_read_any_more_is_a_conflict(world: World) -> None:
    world.provider.answers(said("a"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    assert code_of(world, sent.conversation_id, "late") is t.ErrorCode.CONFLICT
    assert "turn_steered" not in world.kinds(sent.conversation_id)


def test_a_steer_for_another_turn_is_late(world: World) -> None:
    held = Hold()
    world.provider.answers([held, *said("a")])
    sent = world.send("go")
    held.wait()
    assert code_of(world, sent.conversation_id, "x", turn_id=world.ids.new()) is (
        t.ErrorCode.CONFLICT
    )
    held.go()
    world.wait_end(sent.turn_id)


def test_a_late_steer_with_if_late_becomes_a_prompt_with_its_own_context(world: World) -> None:
    world.provider.answers(said("a"), said("b"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    command_id = world.ids.new()
    late = t.LateSteerQueue(
        context=world.context("/tmp"),
        last_command="TOKEN=very-secret make",
        settings=t.TurnSettings(effort="high"),
    )
    steered = world.steer(sent.conversation_id, "and now?", if_late=late, command_id=command_id)
    assert steered.queued
    assert steered.turn_id != sent.turn_id
    world.wait_end(steered.turn_id)
    queued = world.wait(ev.PromptQueued, 2)
    assert queued.command_id == command_id
    assert world.seq_of(queued) == steered.seq
    assert world.wait(ev.TurnStarted, 2).cwd == "/tmp"
    assert world.provider.requests[1].effort == "high"
    assert "turn_steered" not in world.kinds(sent.conversation_id)
    assert b"very-secret" not in world.database_bytes()


def test_a_late_steer_keeps_the_queues_limit(world: World) -> None:
    world.settings = Settings(conversation=Conversation(max_queued=1))
    held = Hold()
    world.provider.answers([held, *said("a")], said("b"))
    sent = world.send("go")
    held.wait()
    world.send("waits")
    late = {"if_late": QUEUE, "turn_id": world.ids.new()}
    assert code_of(world, sent.conversation_id, "one more", **late) is t.ErrorCode.BUSY
    held.go()
    world.wait(ev.TurnCompleted, 2)


def test_an_empty_steer_is_invalid(world: World) -> None:
    world.provider.answers(said("a"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    assert code_of(world, sent.conversation_id, " \n") is t.ErrorCode.INVALID


def test_texts_of_any_size_leave_a_conversation_that_can_be_read(world: World) -> None:
    held = HeldTool()
    world.tools.look.do = held
    world.provider.answers(calls(ONE), said("a summary of what fits"), said("read"))
    with pytest.raises(Refusal, match="at most 4194304 are taken"):
        world.send("ü" * 2_097_153)
    with pytest.raises(Refusal, match="context has"):
        world.send("go", context=t.ShellContext(pwd="/" + "x" * 70_000))
    sent = world.send("go")
    held.wait()
    assert code_of(world, sent.conversation_id, "x" * 4_194_305) is t.ErrorCode.INVALID
    world.steer(sent.conversation_id, "x" * 4_000_000)
    assert code_of(world, sent.conversation_id, "x" * 200_000) is t.ErrorCode.BUSY
    world.steer(sent.conversation_id, "x" * 1000)
    held.go()
    world.wait_end(sent.turn_id)


def test_steers_at_any_moment_are_read_or_late_never_lost_never_both(world: World) -> None:
    """Steers race the end of a turn again and again; each ends in exactly one place."""
    rounds, dice = 120, random.Random(7)
    steered: list[m.TurnSteerResult] = []
    late = 0
    for number in range(rounds):
        barrier = threading.Barrier(2)
        spin = dice.randrange(40_000)  # about 0 to 2 ms
        world.provider.answers(
            [lambda _cancel, b=barrier: b.wait(LIMIT_S), *said("a")],  # type: ignore[misc]
            said("b"),
            said("c"),
        )
        sent = world.send(f"round {number}")
        barrier.wait(LIMIT_S)
        for _ in range(spin):
            pass
        try:
            result = world.steer(sent.conversation_id, f"steer {number}", turn_id=sent.turn_id)
            steered.append(result)
            assert not result.queued
        except Refusal as exc:
            late += exc.body.code is t.ErrorCode.CONFLICT
        world.wait_end(sent.turn_id)
        world.provider.forget()
    delivered = [
        seq
        for e in (one.event for one in world.log.all)
        if isinstance(e, ev.SteeringDelivered)
        for seq in e.steers
    ]
    assert sorted(delivered) == sorted(one.seq for one in steered)
    assert len(steered) + late == rounds


def test_steers_of_a_turn_that_failed_are_read_by_the_next_one(world: World) -> None:
    held = Hold()
    world.provider.answers([held, RuntimeError("a bug of the provider")], said("b"))
    sent = world.send("go")
    held.wait()
    world.steer(sent.conversation_id, "do not lose me")
    held.go()
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnFailed)
    again = world.send("again")
    world.wait_end(again.turn_id)
    assert ("user", "do not lose me") in texts_of(world.provider.requests[1])


# prompt.withdraw


def withdraw(
    world: World, conversation_id: str, target: t.WithdrawTarget
) -> m.PromptWithdrawResult:
    params = m.PromptWithdrawParams(
        command_id=world.ids.new(), conversation_id=conversation_id, target=target
    )
    return world.agent.prompt_withdraw(params, CALLER)


def test_a_waiting_prompt_is_taken_back_and_never_starts(world: World) -> None:
    held = Hold()
    world.provider.answers([held, *said("a")], said("c"))
    first = world.send("one")
    held.wait()
    second = world.send("two")
    third = world.send("three")
    result = withdraw(world, first.conversation_id, t.WithdrawTurn(turn_id=second.turn_id))
    assert (result.withdrawn.turn_id, result.withdrawn.text) == (second.turn_id, "two")
    held.go()
    world.wait_end(third.turn_id)
    started = [
        e.turn_id for e in world.stored(first.conversation_id) if isinstance(e, ev.TurnStarted)
    ]
    assert started == [first.turn_id, third.turn_id]
    row = world.readers.read(lambda conn: queries.turn(conn, second.turn_id))
    assert row is not None
    assert row.status == "withdrawn"


def test_the_newest_waiting_prompt_of_a_terminal_is_taken_back(world: World) -> None:
    held = Hold()
    world.provider.answers([held, *said("a")], said("b"))
    first = world.send("one")
    held.wait()
    world.send("two")
    newest = world.send("three")
    target = t.WithdrawNewestFromTty(tty="/dev/pts/3")
    assert withdraw(world, first.conversation_id, target).withdrawn.turn_id == newest.turn_id
    with pytest.raises(Refusal) as caught:
        withdraw(world, first.conversation_id, t.WithdrawNewestFromTty(tty="/dev/pts/7"))
    assert caught.value.body.code is t.ErrorCode.NOT_FOUND
    held.go()
    world.wait(ev.TurnCompleted, 2)


def test_what_started_or_never_was_cannot_be_taken_back(world: World) -> None:
    world.provider.answers(said("a"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    for turn_id, code in (
        (sent.turn_id, t.ErrorCode.CONFLICT),
        (world.ids.new(), t.ErrorCode.NOT_FOUND),
    ):
        with pytest.raises(Refusal) as caught:
            withdraw(world, sent.conversation_id, t.WithdrawTurn(turn_id=turn_id))
        assert caught.value.body.code is code


def test_a_withdraw_in_the_instant_of_the_start_gives_exactly_one_of_the_two(world: World) -> None:
    for number in range(40):
        barrier = threading.Barrier(2)
        world.provider.answers([lambda _c, b=barrier: b.wait(LIMIT_S), *said("a")], said("b"))  # type: ignore[misc]
        first = world.send(f"first {number}")
        second = world.send(f"second {number}")
        barrier.wait(LIMIT_S)
        try:
            withdraw(world, first.conversation_id, t.WithdrawTurn(turn_id=second.turn_id))
            withdrawn = True
        except Refusal as exc:
            withdrawn = exc.body.code is not t.ErrorCode.CONFLICT
        end = world.wait_end(second.turn_id)
        assert isinstance(end, ev.PromptWithdrawn) == withdrawn
        world.wait_end(first.turn_id)
        world.provider.forget()


def test_a_steer_that_no_call_read_counts_for_the_next_turn(world: World) -> None:
    held = Hold()
    world.provider.answers([TextDelta("I begin"), held, usage(), Done("end_turn")])
    sent = world.send("go")
    held.wait()
    world.steer(sent.conversation_id, "x" * 4000)
    world.interrupt(sent.conversation_id)
    ended = world.wait_end(sent.turn_id)
    assert isinstance(ended, ev.TurnInterrupted)
    assert ended.context is not None
    assert ended.context.tokens > 1000
