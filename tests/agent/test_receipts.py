from __future__ import annotations

import threading

import pytest

from efr.config.schema import Conversation, Settings
from efr.store import queries
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.scripted import LIMIT_S
from tests.agent.scripted_model import Hold, calls, said
from tests.agent.world import CALLER, World


def code(caught: pytest.ExceptionInfo[Refusal]) -> t.ErrorCode:
    return caught.value.body.code


def test_the_same_command_id_gives_the_same_answer_also_after_a_restart(world: World) -> None:
    world.provider.answers(said("a"))
    params = m.PromptSendParams(
        command_id=world.ids.new(), text="go", context=world.context(), last_command="ls"
    )
    first = world.agent.prompt_send(params, CALLER)
    world.wait_end(first.turn_id)
    assert world.agent.prompt_send(params, CALLER) == first
    world.restart()
    assert world.agent.prompt_send(params, CALLER) == first
    assert world.kinds(first.conversation_id).count("prompt_queued") == 1


def test_an_id_of_another_method_is_a_conflict(world: World) -> None:
    world.provider.answers(said("a"))
    command_id = world.ids.new()
    sent = world.send("go", command_id=command_id)
    world.wait_end(sent.turn_id)
    with pytest.raises(Refusal) as caught:
        world.steer(sent.conversation_id, "x", command_id=command_id)
    assert code(caught) is t.ErrorCode.CONFLICT


def test_a_refusal_that_a_retry_cannot_change_is_kept(world: World) -> None:
    command_id = world.ids.new()
    with pytest.raises(Refusal) as first:
        world.send("go", command_id=command_id, settings=t.TurnSettings(model="nope"))
    world.provider.facts = (*world.provider.facts, type(world.provider.facts[0])("nope"))
    with pytest.raises(Refusal) as second:
        world.send("go", command_id=command_id, settings=t.TurnSettings(model="nope"))
    assert first.value.body == second.value.body
    receipt = world.readers.read(lambda conn: queries.receipt(conn, command_id))
    assert receipt is not None
    assert receipt.outcome == "refused"


def test_a_refusal_of_a_late_steer_stays_a_refusal(world: World) -> None:
    world.provider.answers(said("a"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    command_id = world.ids.new()
    with pytest.raises(Refusal):
        world.steer(sent.conversation_id, "late", command_id=command_id)
    held = Hold()
    world.provider.answers([held, *said("b")])
    again = world.send("again")
    held.wait()
    with pytest.raises(Refusal) as caught:
        world.steer(sent.conversation_id, "late", command_id=command_id)
    assert code(caught) is t.ErrorCode.CONFLICT
    held.go()
    world.wait_end(again.turn_id)


def test_a_full_queue_is_busy_without_a_receipt_and_the_same_id_works_later(world: World) -> None:
    held = Hold()
    world.provider.answers([held, *said("a")], *[said("b") for _ in range(17)])
    world.send("running")
    held.wait()
    waiting = [world.send(f"waits {n}") for n in range(16)]
    command_id = world.ids.new()
    with pytest.raises(Refusal) as caught:
        world.send("one too many", command_id=command_id)
    assert code(caught) is t.ErrorCode.BUSY
    assert world.readers.read(lambda conn: queries.receipt(conn, command_id)) is None
    held.go()
    world.wait_end(waiting[-1].turn_id)
    again = world.send("one too many", command_id=command_id)
    world.wait_end(again.turn_id)


def test_two_requests_with_one_id_at_once_get_one_answer(world: World) -> None:
    for _ in range(20):
        world.provider.answers(said("a"))
        params = m.PromptSendParams(command_id=world.ids.new(), text="go")
        barrier = threading.Barrier(3)
        answers: list[m.PromptSendResult] = []

        def send(barrier: threading.Barrier = barrier, params: m.PromptSendParams = params) -> None:
            barrier.wait(LIMIT_S)
            answers.append(world.agent.prompt_send(params, CALLER))  # noqa: B023 - joined below

        threads = [threading.Thread(target=send) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT_S)
        assert len(answers) == 3
        assert answers[0] == answers[1] == answers[2]
        world.wait_end(answers[0].turn_id)
        assert world.kinds(answers[0].conversation_id).count("prompt_queued") == 1
    created = [one for one in world.log.all if one.kind == "conversation_created"]
    assert len(created) == 20


def test_an_answer_to_a_question_is_kept_too(world: World) -> None:
    world.provider.answers(calls(("write", "{}")), said("done"))
    sent = world.send("go")
    question = world.wait(ev.ApprovalRequested)
    params = m.ApprovalRespondParams(
        command_id=world.ids.new(),
        conversation_id=sent.conversation_id,
        call_id=question.call_id,
        decision=t.ApprovalDecision.ALLOW,
    )
    first = world.agent.approval_respond(params, CALLER)
    world.wait_end(sent.turn_id)
    assert world.agent.approval_respond(params, CALLER) == first


def test_a_receipt_holds_no_number_and_no_command_line(world: World) -> None:
    world.settings = Settings(conversation=Conversation(max_queued=2))
    world.provider.answers(said("a"))
    command_id = world.ids.new()
    recent = (t.RecentCommand("curl -u me:geheim http://x"),)
    sent = world.send(
        "go",
        command_id=command_id,
        last_command="export API_TOKEN=abc123secret",
        recent_commands=recent,
    )
    world.wait_end(sent.turn_id)
    receipt = world.readers.read(lambda conn: queries.receipt(conn, command_id))
    assert receipt is not None
    assert b'"seq":0' in receipt.result
    assert receipt.seq == sent.seq
    for row in world.stored(sent.conversation_id):
        assert "API_TOKEN" not in repr(row)
    data = world.database_bytes()
    for secret in (b"abc123secret", b"geheim"):
        assert secret not in data
    assert b"[redacted]" in data
