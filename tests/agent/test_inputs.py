"""Typed answers, what a call shows while it runs, shells' reports, and notices of whole turns."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from efr.policy.needs import CallNeeds
from efr.shell.contract import BusyCommand, InputState
from efr.shell.errors import BadAnswer, NoSuchCall, NotWaiting, ShellError
from efr.tools.contract import ToolContext, ToolResult
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.scripted_model import Hold, calls, said
from tests.agent.scripted_tools import HeldTool, ScriptedTool
from tests.agent.world import CALLER, PHONE, World

ONE = ("look", "{}")
SECRET = "hunter2-typed-secret"


def respond(world: World, conversation_id: str, call_id: str, caller: Any = CALLER) -> None:
    params = m.InputRespondParams(
        conversation_id=conversation_id, call_id=call_id, text=SECRET, hidden=True
    )
    world.agent.input_respond(params, caller)


def running_call(world: World) -> tuple[m.PromptSendResult, str, HeldTool]:
    held = HeldTool()

    def with_shell(input: Any, ctx: ToolContext) -> ToolResult:
        ctx.shell()
        return held(input, ctx)

    world.tools.look.do = with_shell
    world.provider.answers(calls(ONE), said("done"))
    sent = world.send("go")
    held.wait()
    return sent, world.wait(ev.ToolCallStarted).call_id, held


def test_a_typed_line_goes_to_the_shell_and_nowhere_else(world: World) -> None:
    sent, call_id, held = running_call(world)
    respond(world, sent.conversation_id, call_id)
    shell = world.shells.peek(sent.conversation_id)
    assert shell is not None
    assert shell.answers == [(call_id, SECRET, True, False)]
    held.go()
    world.wait_end(sent.turn_id)
    assert SECRET.encode() not in world.database_bytes()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NoSuchCall("c"), t.ErrorCode.NOT_FOUND),
        (NotWaiting("c", "it waits for nothing"), t.ErrorCode.CONFLICT),
        (BadAnswer("more than one line"), t.ErrorCode.INVALID),
    ],
)
def test_what_the_shell_does_not_take_is_refused(
    world: World, error: ShellError, code: t.ErrorCode
) -> None:
    sent, call_id, held = running_call(world)
    shell = world.shells.peek(sent.conversation_id)
    assert shell is not None
    shell.refuses = error
    with pytest.raises(Refusal) as caught:
        respond(world, sent.conversation_id, call_id)
    assert caught.value.body.code is code
    assert SECRET not in caught.value.body.message
    held.go()
    world.wait_end(sent.turn_id)


def test_only_the_running_call_takes_answers_and_never_from_a_phone(world: World) -> None:
    sent, call_id, held = running_call(world)
    for other, caller, code in (
        (world.ids.new(), CALLER, t.ErrorCode.CONFLICT),
        (call_id, PHONE, t.ErrorCode.FORBIDDEN),
    ):
        with pytest.raises(Refusal) as caught:
            respond(world, sent.conversation_id, other, caller)
        assert caught.value.body.code is code
    held.go()
    world.wait_end(sent.turn_id)
    with pytest.raises(Refusal) as caught:
        respond(world, sent.conversation_id, call_id)
    assert caught.value.body.code is t.ErrorCode.NOT_FOUND


def test_a_line_is_offered_for_a_command_and_not_for_a_shell(world: World) -> None:
    shell = ScriptedTool("shell")
    world.tools.all.append(shell)
    offered: list[bool] = []
    for line in ("cat", "python3", "sudo -i", "python3 x.py", "ssh host"):
        shell.needs = CallNeeds("shell", command=line, command_dir="/")
        world.provider.answers(calls(("shell", "{}")), said("done"))
        sent = world.send("go", settings=t.TurnSettings(mode=t.Mode.MANUAL))
        question = world.wait(ev.ApprovalRequested, len(offered) + 1)
        world.answer(sent.conversation_id, question.call_id)
        world.wait_end(sent.turn_id)
        offered.append(world.wait(ev.ToolCallStarted, len(offered) + 1).manual_input)
    assert offered == [True, False, False, True, False]
    world.provider.answers(calls(ONE), said("done"))
    world.wait_end(world.send("go").turn_id)
    assert not world.wait(ev.ToolCallStarted, 6).manual_input


def test_keys_are_input(world: World) -> None:
    sent, call_id, held = running_call(world)
    world.timer.advance(599)
    respond(world, sent.conversation_id, call_id)
    world.timer.advance(599)
    world.agent.typed(sent.conversation_id)
    world.timer.advance(599)
    assert "presence_changed" not in world.kinds(sent.conversation_id)
    world.timer.advance(1)
    world.wait(ev.PresenceChanged)
    world.agent.typed(sent.conversation_id)
    assert world.wait(ev.PresenceChanged, 2).presence is t.Presence.PRESENT
    held.go()
    world.wait_end(sent.turn_id)


def test_output_is_recorded_once_per_interval_and_waits_never_merge(world: World) -> None:
    def chatty(input: Any, ctx: ToolContext) -> ToolResult:
        ctx.watcher.output("a", 1)
        ctx.watcher.output("ab", 2)
        ctx.watcher.output("abc", 3)
        ctx.watcher.input_changed("visible", True, "Password:")
        world.clock.advance(0.2)
        ctx.watcher.output("abcd", 4)
        ctx.watcher.input_changed("none", False, None)
        ctx.watcher.output("abcde", 5)
        return ToolResult("abcde", exit_code=0)

    world.tools.look.do = chatty
    world.provider.answers(calls(ONE), said("done"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    shown = [
        (e.tail, e.bytes)
        if isinstance(e, ev.ToolCallOutputUpdated)
        else (e.input.value, e.looks_secret)
        for e in world.stored(sent.conversation_id)
        if isinstance(e, ev.ToolCallOutputUpdated | ev.ToolCallInputChanged)
    ]
    assert shown == [
        ("a", 1),
        ("abc", 3),
        ("visible", True),
        ("abcd", 4),
        ("none", False),
        ("abcde", 5),
    ]
    assert world.wait(ev.ToolCallCompleted).exit_code == 0


def test_a_call_knows_whether_somebody_can_answer(world: World) -> None:
    seen: list[bool] = []

    def look(input: Any, ctx: ToolContext) -> ToolResult:
        seen.append(ctx.watcher.someone_can_answer())
        return ToolResult("")

    world.tools.look.do = look
    world.provider.answers(calls(ONE), said("a"), calls(ONE), said("b"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    world.agent.followers.join(sent.conversation_id, True, "/dev/pts/3")
    world.wait_end(world.send("go").turn_id)
    assert seen == [False, True]


def test_a_result_keeps_its_diff_and_its_changes(world: World) -> None:
    changes = t.FileChanges((t.FileChange(path="a", kind=t.ChangeKind.ADDED, added=1, removed=0),))
    world.tools.look.do = lambda input, ctx: ToolResult(
        "Success.", diff="--- /dev/null\n+++ a\n", changes=changes, truncated=True
    )
    world.provider.answers(calls(ONE), said("a"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    completed = world.wait(ev.ToolCallCompleted)
    assert (completed.diff, completed.changes) == ("--- /dev/null\n+++ a\n", changes)
    assert completed.truncated


def test_shells_report_into_their_conversation(world: World) -> None:
    world.provider.answers(said("a"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    pty, call = world.ids.new(), world.ids.new()
    report = world.shell_events
    report.started(sent.conversation_id, pty, "/", 77)
    report.cwd_changed(sent.conversation_id, pty, "/tmp")
    started = world.clock.now_us()
    command = BusyCommand(call, "x" * 300, started, True, True, InputState(), False, "you")
    report.left_behind(sent.conversation_id, command)
    asks = replace(command, input=InputState("visible", prompt="y" * 300))
    report.left_input_changed(sent.conversation_id, asks)
    report.left_ended(sent.conversation_id, call, "ended", 0)
    report.exited(sent.conversation_id, pty, None)
    world.wait(ev.ShellExited)
    left = world.wait(ev.ShellCommandDetached)
    assert (len(left.command), left.since) == (200, t.time_from_us(started))
    assert (left.contained, left.approved_by) == (True, t.ApprovedBy.YOU)
    changed = world.wait(ev.ShellCommandInputChanged)
    assert (changed.input, changed.contained) == (t.InputWait.VISIBLE, True)
    assert changed.prompt == "y" * 200
    assert world.kinds(sent.conversation_id)[-6:] == [
        "shell_started",
        "cwd_changed",
        "shell_command_detached",
        "shell_command_input_changed",
        "shell_command_ended",
        "shell_exited",
    ]


# Notices


def notices(world: World) -> list[str]:
    file = world.roots.notices / "pts-3"
    return file.read_text().splitlines() if file.exists() else []


def test_a_turn_that_nobody_followed_leaves_a_line(world: World) -> None:
    held = Hold()
    world.provider.answers([held, *said("a")])
    sent = world.send("fix the tests")
    held.wait()
    world.agent.followers.connection_closed(CALLER.connection_id)
    held.go()
    world.wait_end(sent.turn_id)
    world.workers.stop(world.clock.monotonic() + 20)
    assert notices(world) == ['efr: "fix the tests" is done; efr history shows the answer']


def test_a_turn_that_the_terminal_follows_leaves_none(world: World) -> None:
    world.provider.answers(said("a"))
    sent = world.send("fix the tests")
    following = world.agent.followers.join(sent.conversation_id, True, "/dev/pts/3")
    end = world.wait_end(sent.turn_id)
    following.handed(world.seq_of(end))
    following.leave()
    world.agent.followers.connection_closed(CALLER.connection_id)
    world.workers.stop(world.clock.monotonic() + 20)
    world.timer.advance(0)
    assert notices(world) == []


def test_a_question_nobody_sees_leaves_a_line_and_titles_hide_secrets(world: World) -> None:
    world.provider.answers(calls(("write", "{}")), said("done"))
    sent = world.send("use ghp_" + "a" * 36)
    question = world.wait(ev.ApprovalRequested)
    world.agent.followers.connection_closed(CALLER.connection_id)
    world.timer.advance(0)
    world.answer(sent.conversation_id, question.call_id)
    world.wait_end(sent.turn_id)
    world.workers.stop(world.clock.monotonic() + 20)
    asked, done = notices(world)
    assert asked.startswith("efr asks: ")
    assert "ghp_" not in done
    assert "[***]" in done
