"""The view of a turn on a real terminal, against a scripted daemon."""

from __future__ import annotations

import os
import re
import signal
from typing import Any

import pytest

from tests.cli.conftest import Start
from tests.cli.fake_daemon import (
    CALL,
    CONVERSATION,
    OTHER_TURN,
    TURN,
    FakeDaemon,
    Frame,
    Peer,
    envelope,
)
from tests.cli.programs import echoes
from tests.harness.terminal import Terminal

NOTES: Frame = {"scope": {"scope": {"kind": "outside"}, "dir": "/nonexistent-home/notes"}}
COLOUR = re.compile(rb"\x1b\[[0-9;]*3[0-9]m|\x1b\[[0-9;]*9[0-7]m|\x1b\[38")


def begin(fake: FakeDaemon, start: Start, **members: Any) -> tuple[Terminal, Peer]:
    """A prompt whose turn runs."""
    terminal = start("send", "hi", **members)
    peer = fake.accept()
    peer.start(route=NOTES)
    return terminal, peer


def test_a_whole_turn_leaves_only_what_is_final(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    text = "Why:\n\n- a\n- b\n\n```py\nx = 1\n```\n\nThe *end* of it."
    for place, char in enumerate(text):
        peer.text(char, offset=place)
    terminal.wait_for("The end of it.")
    peer.say(text)
    peer.call("make -j8")
    peer.event("tool_call_output_updated", call_id=CALL, tail="cc a.c\ncc b.c\n", bytes=14)
    terminal.wait_for("cc b.c")
    peer.call_done("all good")
    peer.complete(context={"tokens": 100, "limit": 230, "window": 300})

    assert terminal.read_to_end() == 0
    assert terminal.everything.split("\n")[:-1] == [
        *("○ no project · ~/notes", "", "Why:", "", "• a", "• b", "", "py", "x = 1", ""),
        *("The end of it.", "", "· $ make -j8", "  ✓", ""),
    ]
    assert re.fullmatch(
        r"[\d.]+s · ctx 43% \(100 of 230\) · 34 out", terminal.everything.split("\n")[-1]
    )


def test_the_terminal_is_left_as_it_was(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.text("hello")
    terminal.wait_for("hello")
    peer.complete()

    assert terminal.read_to_end() == 0
    raw = terminal.raw
    assert raw.rindex(b"\x1b[?25h") > raw.rindex(b"\x1b[?25l") if b"\x1b[?25l" in raw else True
    assert raw.count(b"\x1b[?2004h") == raw.count(b"\x1b[?2004l") > 0
    assert raw.count(b"\x1b[?2026h") == raw.count(b"\x1b[?2026l")
    assert not any(sign in terminal.everything for sign in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏›")
    assert echoes(terminal)


def test_the_status_row_ends_with_the_scope(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.draft(kind="context", tokens=100, limit=230, window=300)
    terminal.wait_for("ctx 43%  ○")
    peer.event(
        "presence_changed",
        turn=None,
        conversation_id="019a9b1c-3d00-7a10-8b20-000000000001",
        presence="away",
        source="user",
    )

    terminal.wait_for("ctx 43%  away  ○")


def test_a_failed_turn_names_the_fix_and_ends_with_1(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    error = {"code": "unauthorized", "message": "no key", "data": {"provider": "openai-api"}}
    peer.event("turn_failed", error=error)

    assert terminal.read_to_end() == 1
    assert terminal.text.endswith("no key\nlog in: efr login openai-api")


def test_model_text_cannot_drive_the_terminal(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.say("a\x1b]52;c;aGk=\x07b \x1b[2J &#27;[31m `\x1b[5m`")
    peer.complete()

    assert terminal.read_to_end() == 0
    assert "a␛]52;c;aGk=␇b ␛[2J" in terminal.everything
    assert b"\x1b]52" not in terminal.raw
    assert b"\x1b[2J" not in terminal.raw


def test_no_color_keeps_marks_and_structure(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start, env={"NO_COLOR": "1"})
    peer.say("# Title\n\nrun `ls`")
    peer.call("false")
    peer.call_done("x", is_error=True, exit_code=1)
    peer.complete()

    assert terminal.read_to_end() == 0
    assert "run `ls`" in terminal.everything
    assert "  ✗ exit 1" in terminal.everything
    assert not COLOUR.search(terminal.raw)
    assert b"\x1b[1;4mTitle" in terminal.raw


def test_twenty_columns_fit_everything(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start, columns=20)
    peer.draft(kind="context", tokens=100, limit=230, window=300)
    peer.say("| header | other |\n|---|---|\n| a rather long cell | b |\n\n- " + "word " * 9)
    peer.call("rsync --archive --verbose source target")
    peer.event("approval_requested", call_id=CALL, summary="shell: command rsync; write /etc/x")
    terminal.wait_for("y allow  n deny")
    terminal.type("y")
    peer.expect("approval.respond")
    peer.event("approval_resolved", call_id=CALL, decision="allow", origin="cli")
    peer.call_done("")
    peer.complete()

    assert terminal.read_to_end() == 0
    assert "header: a rather\n  long cell" in terminal.everything
    assert "Traceback" not in terminal.everything


def test_a_long_command_is_whole_in_the_scrollback(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start, columns=40)
    command = "convert " + " ".join(f"--option-{n}=value{n}" for n in range(9))
    peer.call(command)
    peer.call_done("")
    peer.complete()

    assert terminal.read_to_end() == 0
    rows = [row for row in terminal.everything.split("\n") if "option" in row]
    assert "".join(re.sub(r"^ {8}|^· \$ |\\$", "", row) for row in rows) == command


def test_other_settings_of_the_view(fake: FakeDaemon, start: Start) -> None:
    config = fake.folder / "home" / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(
        "[render]\nturn_summary = false\nmotion = false\nturn_input = false\ndiff_lines = 1\n"
    )
    terminal, peer = begin(fake, start)
    terminal.wait_for("• waiting for the model")
    assert "›" not in terminal.text
    peer.call("edit")
    peer.call_done("", diff="--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    peer.complete()

    assert terminal.read_to_end() == 0
    assert terminal.text.endswith("  @@ -1 +1 @@\n  2 more lines\n  ✓")


def test_a_broken_config_is_one_line_and_the_defaults(fake: FakeDaemon, start: Start) -> None:
    config = fake.folder / "home" / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[render]\nmotoin = false\n")
    terminal, peer = begin(fake, start)
    peer.complete()

    assert terminal.read_to_end() == 0
    assert "config.toml: line 2, column 1: render.motoin" in terminal.text


# --- questions ----------------------------------------------------------------------------------


def ask(peer: Peer, **members: Any) -> None:
    peer.event("approval_requested", call_id=CALL, summary="shell: command make", **members)


def test_keys_from_before_the_card_do_not_answer(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.call("make")
    terminal.wait_for("$ make")
    terminal.type("y")
    terminal.wait_for("› y")
    ask(peer)
    terminal.wait_for("y allow  n deny")
    terminal.type("x")
    terminal.type("n")

    assert peer.expect("approval.respond")["decision"] == "deny"
    peer.event("approval_resolved", call_id=CALL, decision="deny", origin="cli")
    peer.call_done("the user said no", is_error=True)
    peer.complete()
    terminal.wait_for("✗ denied\n· $ make\n")
    assert terminal.read_to_end() == 0
    assert "not sent: y" in terminal.everything


def test_always_is_a_key_only_where_a_rule_is_offered(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.call("make")
    ask(peer)
    terminal.wait_for("n deny")
    terminal.type("a")
    terminal.type("y")
    assert peer.expect("approval.respond")["decision"] == "allow"
    peer.event("approval_resolved", call_id=CALL, decision="allow", origin="cli")
    peer.call_done("")

    second = CALL.replace("c1", "c2")
    peer.call("make install", second)
    exit_info = {"kinds": ["write"], "launch": {"kind": "contained"}, "always": "make install"}
    peer.event("approval_requested", call_id=second, summary="shell: x", exit=exit_info)
    terminal.wait_for("a always")
    terminal.type("a")
    assert peer.expect("approval.respond")["decision"] == "allow_always"
    peer.event("approval_resolved", call_id=second, decision="allow", origin="cli")
    outcome = {"kind": "saved", "index": 2, "rule": "make install"}
    peer.event("always_rule_saved", call_id=second, outcome=outcome)
    terminal.wait_for("rule 2 saved: make install")


def test_a_question_counts_its_time_down(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.call("rm -rf build")
    ask(peer, expires_in_secs=119)
    terminal.wait_for("118s left")
    peer.event("approval_expired", call_id=CALL)
    peer.call_done("expired", is_error=True)

    terminal.wait_for("✗ expired\n· $ rm -rf build")


def test_a_tall_card_is_whole_in_the_scrollback(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    command = "\n".join(f"echo line {n}" for n in range(60))
    peer.call(command)
    ask(peer)
    terminal.wait_for("y allow")
    shown = [row for row in terminal.everything.split("\n") if "echo line" in row]
    assert [row.strip("│ ").removeprefix("$ ") for row in shown] == command.split("\n")
    terminal.type("n")

    assert peer.expect("approval.respond")["decision"] == "deny"


def test_another_client_may_answer(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.call("make")
    ask(peer)
    terminal.wait_for("y allow")
    peer.event("approval_resolved", call_id=CALL, decision="allow", origin="phone")

    terminal.wait_for("✓ allowed on phone")
    assert "y allow" not in terminal.text


def test_an_answer_that_came_too_late_names_who_was_faster(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.call("make")
    ask(peer)
    terminal.wait_for("y allow")
    terminal.type("y")
    peer.expect("approval.respond")
    peer.event("approval_resolved", call_id=CALL, decision="deny", origin="phone")
    peer.refuse("approval.respond", "not_found", "the question is not open any more")

    terminal.wait_for("✗ denied on phone")
    peer.call_done("", is_error=True)
    peer.say("then not")
    peer.complete()
    assert terminal.read_to_end() == 0
    assert "was not taken" not in terminal.everything


def test_the_question_of_the_turn_in_front_is_asked_here_too(
    fake: FakeDaemon, start: Start
) -> None:
    terminal = start("send", "hi")
    peer = fake.accept()
    shell = {"call_id": CALL, "tool": "shell", "input": {"command": "ls"}}
    asked = {"call_id": CALL, "summary": "shell: command ls", "expires_in_secs": 120}
    front = [
        envelope(1, "tool_call_started", OTHER_TURN, **shell),
        envelope(2, "approval_requested", OTHER_TURN, **asked),
    ]
    peer.start(route=NOTES, queued=True, started=False, front=front)
    terminal.wait_for("? run this command (the running turn asks)")
    terminal.wait_for("y allow  n deny  0s left")  # it was asked long ago
    terminal.type("y")

    assert peer.expect("approval.respond")["call_id"] == CALL
    members = {"call_id": CALL, "decision": "allow", "origin": "cli"}
    peer.event("approval_resolved", OTHER_TURN, **members)
    terminal.wait_for("✓ allowed")
    peer.turn_started()
    peer.say("mine")
    peer.complete()
    assert terminal.read_to_end() == 0


# --- input for a running command ----------------------------------------------------------------


def wait(peer: Peer, kind: str, **members: Any) -> None:
    peer.event("tool_call_input_changed", call_id=CALL, input=kind, **members)


def output(peer: Peer, tail: str) -> None:
    peer.event("tool_call_output_updated", call_id=CALL, tail=tail, bytes=len(tail))


def test_a_secret_is_sent_and_shown_nowhere(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.call("sudo true")
    terminal.wait_for("$ sudo true")
    output(peer, "[sudo] password for me: ")
    terminal.wait_for("password for me:")
    terminal.type("typed too early\r")
    wait(peer, "hidden")
    terminal.wait_for("what you type is not shown")
    terminal.type('hunter"2\\é\r')

    assert peer.expect("input.respond") == {
        "conversation_id": "019a9b1c-3d00-7a10-8b20-000000000001",
        "call_id": CALL,
        "text": 'hunter"2\\é',
        "hidden": True,
    }
    wait(peer, "none")
    terminal.type("late\r")
    peer.call_done("")
    peer.complete()
    assert terminal.read_to_end() == 0
    for typed in (b"hunter", b"typed too early", b"late"):
        assert typed not in terminal.raw


def test_a_visible_answer_echoes_and_its_note_says_who_sees_it(
    fake: FakeDaemon, start: Start
) -> None:
    terminal, peer = begin(fake, start)
    peer.call("npm init")
    output(peer, "package name: ")
    wait(peer, "visible")
    terminal.wait_for("the agent sees what the program shows")
    terminal.type("appx\x7f")
    terminal.wait_for("package name: app")
    terminal.type("\r")

    answer = peer.expect("input.respond")
    assert (answer["text"], answer["hidden"]) == ("app", False)
    peer.refuse("input.respond", "conflict", "it does not wait")
    terminal.wait_for("the command no longer waits; nothing was sent")


def test_what_looks_like_a_password_behind_a_program_is_not_shown(
    fake: FakeDaemon, start: Start
) -> None:
    terminal, peer = begin(fake, start)
    peer.call("ssh host sudo true")
    output(peer, "password: ")
    wait(peer, "visible", looks_secret=True)
    terminal.wait_for("this looks like a password")
    terminal.type("hunter2\r")

    answer = peer.expect("input.respond")
    assert (answer["text"], answer["hidden"]) == ("hunter2", False)
    assert b"hunter2" not in terminal.raw


def test_keys_after_a_yes_are_kept_for_the_answer(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.call("apt upgrade")
    ask(peer, interactive=True)
    terminal.wait_for("y allow")
    terminal.type("y")
    peer.expect("approval.respond")
    terminal.type("ab")
    peer.event("approval_resolved", call_id=CALL, decision="allow", origin="cli")
    output(peer, "go on? ")
    terminal.wait_for("go on?")
    wait(peer, "visible")
    terminal.wait_for("go on? ab")
    terminal.type("c\r")

    assert peer.expect("input.respond")["text"] == "abc"


def test_ctrl_c_on_an_answer_line_interrupts_and_wipes(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.call("sudo true")
    wait(peer, "hidden")
    terminal.wait_for("what you type is not shown")
    terminal.type("hunt\x03")

    assert "turn_id" in peer.expect("turn.interrupt")
    peer.answer("turn.interrupt", {"turn_id": CALL, "seq": 1})
    peer.event("turn_interrupted")
    assert terminal.read_to_end() == 130
    assert b"hunt" not in terminal.raw


# --- interrupts and signals ---------------------------------------------------------------------


def test_ctrl_c_interrupts_the_turn(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.text("half an ans")
    terminal.wait_for("half an ans")
    terminal.type("\x03")
    params = peer.expect("turn.interrupt")
    peer.answer("turn.interrupt", {"turn_id": params["turn_id"], "seq": 1})
    peer.event("turn_interrupt_requested", origin="cli")
    peer.say("half an answer")
    peer.event("turn_interrupted")

    assert terminal.read_to_end() == 130
    assert re.search(r"half an answer\n\ninterrupted after [\d.]+s$", terminal.everything)


def test_ctrl_c_before_the_prompt_was_taken(fake: FakeDaemon, start: Start) -> None:
    terminal = start("send", "hi")
    peer = fake.accept()
    peer.hello()
    peer.expect("prompt.send")
    terminal.wait_for("sending")
    terminal.type("\x03")
    terminal.wait_for("interrupting")
    peer.answer(
        "prompt.send", {"conversation_id": CALL, "turn_id": CALL, "seq": 1, "queued": False}
    )

    assert peer.expect("prompt.withdraw")["target"] == {"kind": "turn", "turn_id": CALL}


def test_without_the_row_a_waiting_prompt_stays(fake: FakeDaemon, start: Start) -> None:
    config = fake.folder / "home" / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[render]\nturn_input = false\n")
    terminal = start("send", "hi")
    peer = fake.accept()
    peer.start(route=NOTES, queued=True, started=False)
    terminal.wait_for("queued")
    terminal.type("\x03")

    assert terminal.read_to_end() == 130
    assert "the prompt still waits behind the running turn" in terminal.everything


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_deadly_signal_restores_the_terminal_first(
    fake: FakeDaemon, start: Start, number: signal.Signals
) -> None:
    terminal, peer = begin(fake, start)
    peer.text("hello")
    terminal.wait_for("hello")
    terminal.process.send_signal(number)

    assert terminal.read_to_end() == -number
    assert terminal.raw.endswith(b"\x1b[?2004l")
    assert echoes(terminal)
    assert "›" not in terminal.text


def test_ctrl_z_stops_and_the_view_goes_on_below(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    terminal.wait_for("waiting for the model")
    terminal.type("\x1a")
    stopped = os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED)
    assert stopped is not None
    terminal.wait_for(lambda t: "waiting for the model" not in t.text)
    assert echoes(terminal)
    terminal.process.send_signal(signal.SIGCONT)
    terminal.wait_for("waiting for the model")
    peer.say("done")
    peer.complete()

    assert terminal.read_to_end() == 0
    assert terminal.everything.count("done") == 1


def test_a_new_width_counts_from_the_next_frame_on(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    terminal.wait_for("waiting for the model")
    terminal.resize(30, 24)
    terminal.process.send_signal(signal.SIGWINCH)
    peer.call("echo " + "x" * 60)
    terminal.wait_for(lambda t: "$ echo xxxxxxxxxxx…" in t.text or "…" in t.text)
    peer.call_done("")
    peer.complete()

    assert terminal.read_to_end() == 0
    assert "  ✓" in terminal.everything


def test_a_dumb_terminal_gets_plain_text_that_cannot_drive_it(
    fake: FakeDaemon, start: Start
) -> None:
    terminal, peer = begin(fake, start, env={"TERM": "dumb"})
    peer.say("a\x1b[2J *b*")
    peer.complete()

    assert terminal.read_to_end() == 0
    assert "a␛[2J *b*" in terminal.text
    assert b"\x1b" not in terminal.raw


def test_ctrl_c_while_the_view_loads_is_not_lost(fake: FakeDaemon, start: Start) -> None:
    terminal = start("send", "hi")
    peer = fake.accept()
    peer.hello()
    peer.expect("prompt.send")  # the frames are out, the view is loading
    os.kill(terminal.process.pid, signal.SIGINT)
    sent = {"conversation_id": CONVERSATION, "turn_id": TURN, "seq": 1, "queued": False}
    peer.answer("prompt.send", sent)

    assert peer.expect("prompt.withdraw")["target"] == {"kind": "turn", "turn_id": TURN}
    peer.refuse("prompt.withdraw", "conflict", "it runs")
    peer.subscribed()
    assert peer.expect("turn.interrupt")["turn_id"] == TURN
