from __future__ import annotations

import pytest

from efr.agent.calls import STOPPED
from efr.config.schema import Conversation, Settings
from efr.providers.canonical import (
    Done,
    TextDelta,
    ToolCallEnd,
    ToolCallStart,
)
from efr.providers.errors import TransportFailed
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.scripted_model import Hold, calls, said, texts_of, usage
from tests.agent.scripted_tools import HeldTool
from tests.agent.world import CALLER, World

ONE = ("look", "{}")


def test_an_interrupt_mid_stream_cuts_the_provider_first_and_keeps_the_text(world: World) -> None:
    held = Hold()
    world.provider.answers([TextDelta("half of it"), held], said("next"))
    sent = world.send("go")
    held.wait()
    seen: list[str] = []
    world.feed.listen(
        lambda batch: seen.extend(
            f"{one.kind} {held.cancelled.is_set()}" for one in batch if "interrupt" in one.kind
        )
    )
    result = world.interrupt(sent.conversation_id)
    end = world.wait_end(sent.turn_id)

    assert isinstance(end, ev.TurnInterrupted)
    assert result.turn_id == sent.turn_id
    assert result.seq == world.seq_of(world.wait(ev.TurnInterruptRequested))
    assert seen == ["turn_interrupt_requested False", "turn_interrupted True"]
    assert world.provider.closed == 1
    assert world.wait(ev.AssistantMessageCompleted).text == "half of it"
    again = world.send("again")
    world.wait_end(again.turn_id)
    assert texts_of(world.provider.requests[1])[:3] == [
        ("user", "<live_state>|go"),
        ("assistant", "half of it"),
        ("user", "<live_state>|again"),
    ]


def test_a_tool_call_that_was_streaming_is_not_run(world: World) -> None:
    held = Hold()
    world.provider.answers([ToolCallStart("a", "look"), ToolCallEnd("a", "{}"), held])
    sent = world.send("go")
    held.wait()
    world.interrupt(sent.conversation_id)
    world.wait_end(sent.turn_id)
    assert world.tools.look.runs == []
    assert "tool_call_started" not in world.kinds(sent.conversation_id)


def test_an_interrupt_during_a_tool_stops_it_and_the_rest_is_not_run(world: World) -> None:
    held = HeldTool()
    world.tools.look.do = held
    world.provider.answers(calls(ONE, ONE, ONE), said("next"))
    sent = world.send("go")
    held.wait()
    world.interrupt(sent.conversation_id)
    end = world.wait_end(sent.turn_id)
    assert isinstance(end, ev.TurnInterrupted)
    assert end.usage is not None
    outputs = [
        e.output for e in world.stored(sent.conversation_id) if isinstance(e, ev.ToolCallCompleted)
    ]
    assert outputs == ["stopped by SIGINT", STOPPED, STOPPED]
    assert len(world.tools.look.runs) == 1
    again = world.send("again")
    world.wait_end(again.turn_id)
    assert texts_of(world.provider.requests[1])[2] == (
        "user",
        f"result! stopped by SIGINT|result! {STOPPED}|result! {STOPPED}",
    )


def test_an_interrupt_while_a_question_waits_expires_it(world: World) -> None:
    world.provider.answers(calls(("write", "{}")))
    sent = world.send("go")
    asked = world.wait(ev.ApprovalRequested)
    world.interrupt(sent.conversation_id)
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnInterrupted)
    expired = world.wait(ev.ApprovalExpired)
    assert (expired.call_id, expired.away) == (asked.call_id, False)
    assert world.tools.write.runs == []
    with pytest.raises(Refusal) as caught:
        world.answer(sent.conversation_id, asked.call_id)
    assert caught.value.body.code is t.ErrorCode.NOT_FOUND


def test_no_running_turn_is_a_conflict_and_nothing_happens(world: World) -> None:
    world.provider.answers(said("a"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    for more in ({}, {"turn_id": sent.turn_id}):
        with pytest.raises(Refusal) as caught:
            world.interrupt(sent.conversation_id, **more)
        assert caught.value.body.code is t.ErrorCode.CONFLICT
    assert "turn_interrupt_requested" not in world.kinds(sent.conversation_id)


def test_an_interrupt_of_another_turn_is_a_conflict(world: World) -> None:
    held = Hold()
    world.provider.answers([held, *said("a")])
    sent = world.send("go")
    held.wait()
    with pytest.raises(Refusal) as caught:
        world.interrupt(sent.conversation_id, turn_id=world.ids.new())
    assert caught.value.body.code is t.ErrorCode.CONFLICT
    held.go()
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnCompleted)


def test_its_lists_are_done_in_one_batch_and_the_resend_runs_next(world: World) -> None:
    held = Hold()
    world.provider.answers([held], said("resent"), said("other"))
    first = world.send("one")
    held.wait()
    gone_1, other, gone_2 = (world.send(text) for text in ("gone 1", "other", "gone 2"))
    again = world.steer(first.conversation_id, "read me")
    again_2 = world.steer(first.conversation_id, "and me")
    back = world.steer(first.conversation_id, "never mind")
    stays = world.steer(first.conversation_id, "unlisted")
    params = m.TurnInterruptParams(
        command_id=world.ids.new(),
        conversation_id=first.conversation_id,
        resend_steers=(again.seq, again_2.seq, 999_999),
        withdraw_steers=(back.seq, again.seq),
        withdraw=(gone_2.turn_id, gone_1.turn_id, world.ids.new()),
    )
    result = world.agent.turn_interrupt(params, CALLER)
    world.wait_end(other.turn_id)

    batch = [one for one in world.log.all if result.seq <= one.seq <= result.seq + 4]
    assert [one.kind for one in batch] == [
        "turn_interrupt_requested",
        "prompt_withdrawn",
        "prompt_withdrawn",
        "steering_withdrawn",
        "prompt_queued",
    ]
    assert len({one.at_us for one in batch}) == 1
    assert result.withdrawn == (
        t.WithdrawnPrompt(gone_1.turn_id, result.seq + 1, "gone 1"),
        t.WithdrawnPrompt(gone_2.turn_id, result.seq + 2, "gone 2"),
    )
    assert result.withdrawn_steers == (t.WithdrawnSteer(back.seq, "never mind"),)
    assert result.resent is not None
    assert result.resent.seq == result.seq + 4
    assert result.resent.steers == (again.seq, again_2.seq)
    queued = batch[-1].event
    assert isinstance(queued, ev.PromptQueued)
    assert (queued.text, queued.command_id) == ("read me\nand me", params.command_id)
    started = [
        e.turn_id for e in world.stored(first.conversation_id) if isinstance(e, ev.TurnStarted)
    ]
    assert started == [first.turn_id, result.resent.turn_id, other.turn_id]
    assert ("user", "unlisted") in texts_of(world.provider.requests[1])
    assert ("user", "never mind") not in texts_of(world.provider.requests[2])
    assert stays.seq not in result.resent.steers

    assert world.agent.turn_interrupt(params, CALLER) == result
    world.restart()
    assert world.agent.turn_interrupt(params, CALLER) == result


def test_a_resend_is_taken_with_a_full_queue_and_bad_settings(world: World) -> None:
    world.settings = Settings(conversation=Conversation(max_queued=1))
    held = Hold()
    world.provider.answers([held], said("resent"), said("waited"))
    first = world.send("one", settings=t.TurnSettings(effort="low"), last_command="ls -l")
    held.wait()
    waits = world.send("waits")
    steered = world.steer(first.conversation_id, "read me")
    bad = t.LateSteerQueue(
        context=world.context("/tmp"), settings=t.TurnSettings(effort="ultra"), last_command="pwd"
    )
    result = world.interrupt(first.conversation_id, resend_steers=(steered.seq,), resend_as=bad)
    world.wait_end(waits.turn_id)
    assert result.resent is not None
    assert world.provider.requests[1].effort == "low"
    assert world.wait(ev.TurnStarted, 2).cwd == "/tmp"
    block = world.provider.requests[1].messages[-1].content[0].text  # type: ignore[union-attr]
    assert "`pwd`" in block


def test_a_resend_without_resend_as_uses_the_interrupted_turns_context(world: World) -> None:
    held = Hold()
    world.provider.answers([held], said("resent"))
    first = world.send("one", last_command="make test")
    held.wait()
    steered = world.steer(first.conversation_id, "read me")
    result = world.interrupt(first.conversation_id, resend_steers=(steered.seq,))
    assert result.resent is not None
    world.wait_end(result.resent.turn_id)
    block = world.provider.requests[1].messages[-1].content[0].text  # type: ignore[union-attr]
    assert "`make test`" in block


def test_a_steer_is_late_once_an_interrupt_was_asked_for(world: World) -> None:
    held = HeldTool(stubborn=True)
    world.tools.look.do = held
    world.provider.answers(calls(ONE))
    sent = world.send("go")
    held.wait()
    world.interrupt(sent.conversation_id)
    with pytest.raises(Refusal) as caught:
        world.steer(sent.conversation_id, "too late")
    assert caught.value.body.code is t.ErrorCode.CONFLICT
    second = world.interrupt(sent.conversation_id)
    assert second.turn_id == sent.turn_id
    held.go()
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnInterrupted)
    kinds = world.kinds(sent.conversation_id)
    assert kinds.count("turn_interrupt_requested") == 2
    assert kinds.count("turn_interrupted") == 1


def test_a_steer_that_a_call_took_counts_as_read(world: World) -> None:
    first_call, second_call = HeldTool(), Hold()
    world.tools.look.do = first_call
    world.provider.answers(calls(ONE), [second_call, usage(), Done("end_turn")], said("next"))
    sent = world.send("go")
    first_call.wait()
    steered = world.steer(sent.conversation_id, "read me")
    first_call.go()
    second_call.wait()
    result = world.interrupt(sent.conversation_id, resend_steers=(steered.seq,))
    world.wait_end(sent.turn_id)
    assert result.resent is None
    again = world.send("again")
    world.wait_end(again.turn_id)
    assert ("user", "read me") in texts_of(world.provider.requests[2])


def test_a_provider_that_fails_because_it_was_cut_is_an_interrupt(world: World) -> None:
    held = Hold()

    def cut(cancel: object) -> None:
        try:
            held(cancel)  # type: ignore[arg-type]
        except BaseException as exc:
            raise TransportFailed("the socket was shut down") from exc

    world.provider.answers([TextDelta("half"), cut])
    sent = world.send("go")
    held.wait()
    world.interrupt(sent.conversation_id)
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnInterrupted)


def test_stop_ends_running_turns_and_leaves_waiting_prompts_to_the_next_start(
    world: World,
) -> None:
    held = Hold()
    world.provider.answers([TextDelta("half"), held])
    first = world.send("one")
    held.wait()
    second = world.send("two")
    world.restart()
    stored = {
        e.turn_id: e
        for e in world.stored(first.conversation_id)
        if isinstance(e, ev.TurnInterrupted | ev.TurnCancelled)
    }
    assert isinstance(stored[first.turn_id], ev.TurnInterrupted)
    assert isinstance(stored[second.turn_id], ev.TurnCancelled)
    assert [one.prompt for one in world.not_run] == ["two"]
    world.provider.answers(said("back"))
    again = world.send("again")
    assert again.conversation_id == first.conversation_id
    world.wait_end(again.turn_id)


def test_after_stop_nothing_is_taken(world: World) -> None:
    world.provider.answers(said("a"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    assert world.agent.stop(world.clock.monotonic() + 20) == []
    assert world.agent.stop(world.clock.monotonic() + 20) == []
    for conversation_id in (sent.conversation_id, None):
        with pytest.raises(Refusal) as caught:
            world.send("go", conversation_id=conversation_id)
        assert caught.value.body.code is t.ErrorCode.CANCELLED
