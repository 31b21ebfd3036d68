from __future__ import annotations

import threading
from pathlib import Path

import pytest

import efr.agent
from efr.agent.calls import AWAY, DENIED, EXPIRED
from efr.config.schema import Conversation, Settings
from efr.policy.needs import CallNeeds, PathUse
from efr.tools.contract import ToolContext, ToolResult
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.scripted import LIMIT_S
from tests.agent.scripted_model import Hold, calls, said, texts_of
from tests.agent.world import CALLER, PHONE, World

WRITE = ("write", '{"text": "x"}')


def asked(world: World, *more: tuple[str, str]) -> tuple[m.PromptSendResult, ev.ApprovalRequested]:
    """A turn whose first call asks and waits."""
    world.provider.answers(calls(WRITE, *more), said("done"))
    sent = world.send("write it")
    return sent, world.wait(ev.ApprovalRequested)


def test_a_question_is_recorded_between_start_and_end_of_its_call(world: World) -> None:
    sent, question = asked(world)
    assert question.diff_preview == "--- a\n+++ b\n"
    assert "/etc/example.conf" in question.summary
    assert question.reason
    result = world.answer(sent.conversation_id, question.call_id)
    world.wait_end(sent.turn_id)
    assert world.kinds(sent.conversation_id)[3:] == [
        "tool_call_started",
        "approval_requested",
        "approval_resolved",
        "tool_call_completed",
        "assistant_message_completed",
        "turn_completed",
    ]
    resolved = world.wait(ev.ApprovalResolved)
    assert result.seq == world.seq_of(resolved)
    assert (resolved.decision, resolved.origin) == (t.ApprovalDecision.ALLOW, t.Origin.SHELL)
    assert world.tools.write.runs == [{"text": "x"}]


def test_a_line_that_starts_elsewhere_says_where(world: World) -> None:
    home, other = world.home, world.home / "other"
    other.mkdir()
    (home / "link").symlink_to(other)

    def summary(start: Path, pwd: Path) -> str:
        needs = CallNeeds("look", command="make", command_dir=str(start))
        world.tools.look.needs = needs
        world.provider.answers(calls(("look", "{}")), said("done"))
        seen = sum(one.kind == "approval_requested" for one in world.log.all)
        sent = world.send("go", pwd=pwd)
        question = world.wait(ev.ApprovalRequested, seen + 1)
        world.answer(sent.conversation_id, question.call_id, t.ApprovalDecision.DENY)
        world.wait_end(sent.turn_id)
        return question.summary

    assert summary(home, home) == "look: command make"
    assert summary(other, home) == "look: command make\nruns in ~/other"
    assert summary(Path("/"), other) == "look: command make\nruns in /"
    assert summary(other, home / "link") == "look: command make", "it is the same directory"


def test_a_call_knows_what_the_user_was_shown(world: World) -> None:
    shown: list[str | None] = []

    def note(_: object, ctx: ToolContext) -> ToolResult:
        shown.append(ctx.shown)
        return ToolResult(output="noted")

    world.tools.write.do = world.tools.look.do = note
    sent, question = asked(world, ("look", "{}"))
    world.answer(sent.conversation_id, question.call_id)
    world.wait_end(sent.turn_id)
    assert shown == [question.diff_preview, None]


def test_a_no_tells_the_model_and_the_turn_goes_on(world: World) -> None:
    sent, question = asked(world)
    world.answer(sent.conversation_id, question.call_id, t.ApprovalDecision.DENY)
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnCompleted)
    assert world.tools.write.runs == []
    completed = world.wait(ev.ToolCallCompleted)
    assert (completed.output, completed.refusal) == (DENIED, None)
    assert texts_of(world.provider.requests[1])[-1] == ("user", f"result! {DENIED}")


def test_of_two_answers_at_once_one_commits(world: World) -> None:
    sent, question = asked(world)
    barrier = threading.Barrier(2)
    outcomes: list[str] = []

    def answer(decision: t.ApprovalDecision) -> None:
        barrier.wait(LIMIT_S)
        try:
            world.answer(sent.conversation_id, question.call_id, decision)
            outcomes.append(decision.value)
        except Refusal as exc:
            outcomes.append(exc.body.code.value)

    threads = [
        threading.Thread(target=answer, args=(one,))
        for one in (t.ApprovalDecision.ALLOW, t.ApprovalDecision.DENY)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    world.wait_end(sent.turn_id)
    assert "not_found" in outcomes
    stood = world.wait(ev.ApprovalResolved).decision
    assert sorted(outcomes) == sorted(["not_found", stood.value])
    assert world.kinds(sent.conversation_id).count("approval_resolved") == 1
    assert bool(world.tools.write.runs) == (stood is t.ApprovalDecision.ALLOW)


def test_an_answer_after_the_end_finds_nothing(world: World) -> None:
    sent, question = asked(world)
    world.answer(sent.conversation_id, question.call_id)
    world.wait_end(sent.turn_id)
    for call_id in (question.call_id, world.ids.new()):
        with pytest.raises(Refusal) as caught:
            world.answer(sent.conversation_id, call_id)
        assert caught.value.body.code is t.ErrorCode.NOT_FOUND


def test_the_same_answer_again_is_told_what_it_was_told(world: World) -> None:
    sent, question = asked(world)
    params = m.ApprovalRespondParams(
        command_id=world.ids.new(),
        conversation_id=sent.conversation_id,
        call_id=question.call_id,
        decision=t.ApprovalDecision.ALLOW,
    )
    first = world.agent.approval_respond(params, CALLER)
    assert world.agent.approval_respond(params, CALLER) == first
    world.wait_end(sent.turn_id)
    assert world.agent.approval_respond(params, CALLER) == first
    world.restart()
    assert world.agent.approval_respond(params, CALLER) == first, "a receipt outlives efrd"
    assert len(world.tools.write.runs) == 1


def test_a_question_does_not_outlive_the_daemon(world: World) -> None:
    sent, question = asked(world)
    world.restart()
    assert world.kinds(sent.conversation_id)[-3:] == [
        "approval_expired",
        "tool_call_completed",
        "turn_interrupted",
    ]
    for decision in t.ApprovalDecision:
        with pytest.raises(Refusal) as caught:
            world.answer(sent.conversation_id, question.call_id, decision)
        assert caught.value.body.code is t.ErrorCode.NOT_FOUND
    assert world.tools.write.runs == []


def test_an_answer_in_another_conversation_finds_nothing(world: World) -> None:
    world.provider.answers(said("elsewhere"))
    other = world.send("hi", context=world.context(tty="/dev/pts/9", shell_pid=9))
    world.wait_end(other.turn_id)
    sent, question = asked(world)
    with pytest.raises(Refusal) as caught:
        world.answer(other.conversation_id, question.call_id)
    assert caught.value.body.code is t.ErrorCode.NOT_FOUND
    world.answer(sent.conversation_id, question.call_id)
    world.wait_end(sent.turn_id)


def test_without_a_limit_a_question_waits_for_ever(world: World) -> None:
    sent, question = asked(world)
    assert question.expires_in_secs is None
    world.timer.advance(599)
    world.answer(sent.conversation_id, question.call_id)
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnCompleted)


def test_the_configured_limit_expires_it_and_the_turn_goes_on(world: World) -> None:
    world.settings = Settings(conversation=Conversation(approval_timeout_secs=60))
    sent, question = asked(world)
    assert question.expires_in_secs == 60, "clients count it down"
    world.timer.wait_for(60)
    world.timer.advance(59)
    assert "approval_expired" not in world.kinds(sent.conversation_id)
    world.timer.advance(1)
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnCompleted)
    expired = world.wait(ev.ApprovalExpired)
    assert (expired.call_id, expired.away) == (question.call_id, False)
    assert world.tools.write.runs == []
    assert world.wait(ev.ToolCallCompleted).output == EXPIRED
    with pytest.raises(Refusal) as caught:
        world.answer(sent.conversation_id, question.call_id)
    assert caught.value.body.code is t.ErrorCode.NOT_FOUND


@pytest.mark.parametrize("hours", [-1, 13])
def test_a_wall_clock_that_jumps_moves_no_limit_of_a_question(world: World, hours: int) -> None:
    world.settings = Settings(conversation=Conversation(approval_timeout_secs=60))
    sent, question = asked(world)
    world.timer.wait_for(60)
    world.clock.set_wall(world.clock.now_us() + hours * 3_600_000_000)
    world.timer.advance(59)
    assert "approval_expired" not in world.kinds(sent.conversation_id)
    world.timer.advance(1)
    assert world.wait(ev.ApprovalExpired).call_id == question.call_id
    world.wait_end(sent.turn_id)
    seqs = [one.seq for one in world.log.all]
    assert seqs == sorted(seqs)


def test_ten_minutes_without_input_and_five_more_expire_it_as_away(world: World) -> None:
    sent, _ = asked(world)
    world.timer.advance(600)
    went = world.wait(ev.PresenceChanged)
    assert (went.presence, went.source) == (t.Presence.AWAY, t.PresenceSource.TIMEOUT)
    world.timer.advance(299)
    assert "approval_expired" not in world.kinds(sent.conversation_id)
    world.timer.advance(1)
    world.wait_end(sent.turn_id)
    assert world.wait(ev.ApprovalExpired).away
    assert world.wait(ev.ToolCallCompleted).output == AWAY
    assert texts_of(world.provider.requests[1])[-1] == ("user", f"result! {AWAY}")

    world.provider.answers(said("welcome back"))
    again = world.send("I am back")
    world.wait_end(again.turn_id)
    back = world.wait(ev.PresenceChanged, 2)
    assert (back.presence, back.source) == (t.Presence.PRESENT, t.PresenceSource.INPUT)
    assert world.seq_of(back) == again.seq + 1


def test_a_new_question_while_away_waits_five_minutes(world: World) -> None:
    world.provider.answers(said("first"))
    first = world.send("one")
    world.wait_end(first.turn_id)
    params = m.PresenceSetParams(command_id=world.ids.new(), presence=t.Presence.AWAY)
    held = Hold()
    world.provider.answers([held, *calls(WRITE)], said("done"))
    sent = world.send("two")
    held.wait()
    world.agent.presence_set(params, CALLER)
    held.go()
    world.wait(ev.ApprovalRequested)
    world.timer.wait_for(300)
    world.timer.advance(300)
    world.wait_end(sent.turn_id)
    assert world.wait(ev.ApprovalExpired).away


def test_coming_back_takes_the_five_minutes_away(world: World) -> None:
    sent, question = asked(world)
    world.timer.advance(600)
    world.wait(ev.PresenceChanged)
    world.agent.presence_set(
        m.PresenceSetParams(
            command_id=world.ids.new(),
            conversation_id=sent.conversation_id,
            presence=t.Presence.PRESENT,
        ),
        CALLER,
    )
    world.timer.advance(599)
    assert "approval_expired" not in world.kinds(sent.conversation_id)
    world.answer(sent.conversation_id, question.call_id)
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnCompleted)


def test_input_within_ten_minutes_keeps_the_user_present(world: World) -> None:
    sent, question = asked(world)
    world.timer.advance(599)
    world.steer(sent.conversation_id, "still here")
    world.timer.advance(599)
    assert "presence_changed" not in world.kinds(sent.conversation_id)
    world.timer.advance(1)
    world.wait(ev.PresenceChanged)
    world.answer(sent.conversation_id, question.call_id)
    world.wait(ev.PresenceChanged, 2)
    world.provider.answers(said("and done"))
    world.wait_end(sent.turn_id)


def test_presence_by_word_is_recorded_once_for_all_with_input(world: World) -> None:
    world.provider.answers(said("a"), said("b"))
    one = world.send("one")
    world.wait_end(one.turn_id)
    two = world.send("two", context=world.context(tty="/dev/pts/9", shell_pid=9))
    world.wait_end(two.turn_id)
    params = m.PresenceSetParams(command_id=world.ids.new(), presence=t.Presence.AWAY)
    result = world.agent.presence_set(params, CALLER)
    assert set(result.changed) == {one.conversation_id, two.conversation_id}
    assert result.seq == world.seq_of(world.wait(ev.PresenceChanged, 2))
    assert world.agent.presence_set(params, CALLER) == result
    again = m.PresenceSetParams(command_id=world.ids.new(), presence=t.Presence.AWAY)
    assert world.agent.presence_set(again, CALLER) == m.PresenceSetResult(presence=t.Presence.AWAY)


def test_who_was_away_before_a_restart_is_away_after_it(world: World) -> None:
    world.provider.answers(said("a"), said("b"))
    sent = world.send("one")
    world.wait_end(sent.turn_id)
    world.timer.advance(600)
    world.wait(ev.PresenceChanged)
    world.restart()
    again = world.send("two")
    world.wait_end(again.turn_id)
    assert world.wait(ev.PresenceChanged).presence is t.Presence.PRESENT


def test_an_interactive_call_is_for_the_users_own_machine(world: World) -> None:
    world.provider.answers(calls(("keys", "{}")), said("done"))
    sent = world.send("go")
    question = world.wait(ev.ApprovalRequested)
    assert question.interactive
    assert question.local_only
    with pytest.raises(Refusal) as caught:
        world.answer(sent.conversation_id, question.call_id, caller=PHONE)
    assert caught.value.body.code is t.ErrorCode.FORBIDDEN
    world.answer(sent.conversation_id, question.call_id)
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnCompleted)


def test_a_phone_may_answer_an_ordinary_question(world: World) -> None:
    sent, question = asked(world)
    world.answer(sent.conversation_id, question.call_id, caller=PHONE)
    world.wait_end(sent.turn_id)
    assert world.wait(ev.ApprovalResolved).origin is t.Origin.PHONE


@pytest.mark.parametrize(
    ("caller", "code"), [(CALLER, t.ErrorCode.INVALID), (PHONE, t.ErrorCode.FORBIDDEN)]
)
def test_allow_always_needs_an_offer_and_leaves_the_question_open(
    world: World, caller: object, code: t.ErrorCode
) -> None:
    sent, question = asked(world)
    with pytest.raises(Refusal) as caught:
        world.answer(
            sent.conversation_id,
            question.call_id,
            t.ApprovalDecision.ALLOW_ALWAYS,
            caller,  # type: ignore[arg-type]
        )
    assert caught.value.body.code is code
    world.answer(sent.conversation_id, question.call_id)
    world.wait_end(sent.turn_id)


def test_a_refusal_by_a_floor_asks_nobody_and_names_every_path(world: World) -> None:
    world.provider.answers(calls(("forbidden", "{}")), said("sorry"))
    sent = world.send("read my key")
    world.wait_end(sent.turn_id)
    kinds = world.kinds(sent.conversation_id)
    assert "approval_requested" not in kinds
    completed = world.wait(ev.ToolCallCompleted)
    assert completed.is_error
    assert completed.refusal
    assert "- ~/.ssh (secrets)" in completed.output
    assert world.tools.forbidden.runs == []


def test_a_link_is_judged_by_where_it_leads(world: World) -> None:
    (world.home / ".ssh").mkdir()
    link = world.home / "innocent"
    link.symlink_to(world.home / ".ssh")
    world.tools.look.needs = CallNeeds("look", paths=(PathUse(str(link / "id"), "read"),))
    world.provider.answers(calls(("look", "{}")), said("sorry"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    assert world.wait(ev.ToolCallCompleted).refusal
    assert world.tools.look.runs == []


def test_manual_asks_before_what_cautious_allows(world: World) -> None:
    world.tools.look.needs = CallNeeds("look", paths=(PathUse("/etc/hostname", "read"),))
    world.provider.answers(calls(("look", "{}")), said("a"), calls(("look", "{}")), said("b"))
    world.wait_end(world.send("go").turn_id)
    assert len(world.tools.look.runs) == 1
    sent = world.send("go", settings=t.TurnSettings(mode=t.Mode.MANUAL))
    question = world.wait(ev.ApprovalRequested)
    world.answer(sent.conversation_id, question.call_id)
    world.wait_end(sent.turn_id)
    assert len(world.tools.look.runs) == 2


def test_no_timer_is_left_waiting_for_an_answered_question(world: World) -> None:
    world.settings = Settings(conversation=Conversation(approval_timeout_secs=60))
    sent, question = asked(world)
    world.timer.wait_for(60)
    world.answer(sent.conversation_id, question.call_id)
    world.wait_end(sent.turn_id)
    assert world.timer.live == 1  # the user's ten minutes


def test_the_engine_is_asked_in_one_function() -> None:
    room = Path(efr.agent.__file__).parent
    users = [p.name for p in room.glob("*.py") if "policy import engine" in p.read_text()]
    assert users == ["permission.py"]
    assert (room / "permission.py").read_text().count("engine.decide(") == 1
