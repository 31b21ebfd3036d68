"""Programs that wait for input: how it is seen, who may answer, and what never happens to a secret.

The programs are small real ones on the shell's terminal; the secret must not be in the recording.
"""

from __future__ import annotations

import contextlib
import os
import threading
from concurrent.futures import Future

import pytest

from efr.shell.contract import CallEnd
from efr.shell.errors import BadAnswer, NoSuchCall, NotWaiting
from tests.shell.rig import LIMIT_S, Rig, World

SECRET = "correct horse 9"

# Reads a line without echo, as sudo does: twice when the first is wrong.
ASK = """
import getpass, sys
for _ in range(2):
    if getpass.getpass('[sudo] password for tester: ') == 'correct horse 9':
        print('accepted'); sys.exit(0)
    print('Sorry, try again.')
sys.exit(1)
"""


@pytest.fixture
def quick(world: World) -> Rig:
    """A rig that looks ten times as often."""
    return world.rig(look_s=0.1, hidden_quiet_s=0.1, visible_quiet_s=0.3)


def python(rig: Rig, program: str, name: str = "program.py") -> str:
    """A line that runs a Python program from a file."""
    (rig.home / name).write_text(program)
    return f"python3 -I {name}"


def test_a_hidden_answer_reaches_the_program_and_nothing_else(quick: Rig) -> None:
    call = quick.start("bash -c 'read -s -p \"Secret: \" x; echo; echo ${#x}'", answers=True)
    wait = quick.heard.wait_for("input", "hidden")
    quick.shell.answer("call1", SECRET, hidden=True, manual=False)
    end = call.result(LIMIT_S)

    assert wait == ("input", "hidden", False, "Secret:")
    assert (end.exit_code, end.output) == (0, f"Secret: \n{len(SECRET)}\n")
    assert SECRET.encode() not in quick.recorded
    assert SECRET not in repr(quick.heard.all)


def test_a_second_prompt_is_a_new_change(quick: Rig) -> None:
    call = quick.start(python(quick, ASK), answers=True)
    quick.heard.wait_for("input", "hidden")
    quick.shell.answer("call1", "wrong", hidden=True, manual=False)
    quick.heard.wait_for("input", "none")
    quick.heard.wait_for("input", "hidden", count=2)
    quick.shell.answer("call1", SECRET, hidden=True, manual=False)
    end = call.result(LIMIT_S)

    waits = [what[1] for what in quick.heard.all if what[0] == "input"]
    assert waits[:3] == ["hidden", "none", "hidden"]
    assert end.exit_code == 0
    assert "accepted" in end.output
    assert SECRET.encode() not in quick.recorded
    assert b"wrong" not in quick.recorded


def test_the_prompt_of_an_install_is_visible_and_takes_enter(quick: Rig) -> None:
    call = quick.start('bash -c \'read -p "Go on? [Y/n] " x; echo "got<$x>"\'', answers=True)
    wait = quick.heard.wait_for("input", "visible")
    quick.shell.answer("call1", "", hidden=False, manual=False)

    assert wait == ("input", "visible", False, "Go on? [Y/n]")
    assert call.result(LIMIT_S).output == "Go on? [Y/n] \ngot<>\n"


def test_a_password_behind_a_pty_of_its_own_looks_secret(quick: Rig) -> None:
    line = f"script -qec '{python(quick, ASK)}' /dev/null"
    call = quick.start(line, answers=True)
    wait = quick.heard.wait_for("input", "visible")
    quick.shell.answer("call1", SECRET, hidden=False, manual=False)
    end = call.result(LIMIT_S)

    assert wait == ("input", "visible", True, "[sudo] password for tester:")
    assert "accepted" in end.output
    assert SECRET.encode() not in quick.recorded


# What programs ask, whether they hide what is typed, and what the look calls it.
PROMPTS = [
    ("Are you sure you want to continue connecting (yes/no/[fingerprint])? ", False, "visible"),
    ("Enter passphrase for key '/home/u/.ssh/id_ed25519': ", True, "hidden"),
    ("me@host's password: ", True, "hidden"),
    ("Do you want to continue? [Y/n] ", False, "visible"),
    ("Ok to proceed? (y) ", False, "visible"),
    ("Username for 'https://example.org': ", False, "visible"),
    ("Password for 'https://me@example.org': ", True, "hidden"),
    ("Enter PEM pass phrase:", True, "hidden"),
    ("[sudo] password for me: ", True, "hidden"),
    ("Verification code: ", True, "hidden"),
    ("Proceed with installation? [y/N]: ", False, "visible"),
    ("New password: ", True, "hidden"),
]


@pytest.mark.parametrize(("prompt", "hides", "wait"), PROMPTS, ids=[p[:24] for p, _, _ in PROMPTS])
def test_prompts_of_programs_are_seen(quick: Rig, prompt: str, hides: bool, wait: str) -> None:
    (quick.home / "prompt").write_text(prompt)
    quick_read = "read -s x" if hides else "read x"
    call = quick.start(
        f"bash -c 'printf %s \"$(< prompt)\"; {quick_read}; echo; echo ok $x'", answers=True
    )
    seen = quick.heard.wait_for("input", wait)
    quick.shell.answer("call1", "yes", hidden=hides, manual=False)

    assert seen == ("input", wait, False, prompt.strip())
    assert call.result(LIMIT_S).output.endswith("\nok yes\n")


def test_words_that_only_look_like_a_secret_do_not(quick: Rig) -> None:
    call = quick.start("script -qec \"printf 'ping: '; sleep 1.5\" /dev/null", answers=True)
    wait = quick.heard.wait_for("input", "visible")

    assert wait == ("input", "visible", False, "ping:")
    assert call.result(LIMIT_S).exit_code == 0


def test_a_hidden_wait_that_nobody_can_answer_is_stopped(quick: Rig) -> None:
    end = quick.run(python(quick, ASK))

    assert end.kind == "needs_input"
    assert end.note is not None
    assert "hidden input" in end.note
    assert "password for tester" in end.output
    assert quick.run("stty -a | grep -o ' echo '").output == " echo \n"


def test_a_hidden_wait_in_a_contained_call_is_always_stopped(quick: Rig) -> None:
    nonce = os.urandom(16).hex()
    mark = f"printf '\\033]133;efr-sbx;{nonce}\\007'"

    line = f"{{ {python(quick, ASK)} }} always {{ trap '' INT; {mark} }}"
    end = quick.run(line, nonce=nonce, answers=True)

    assert end.kind == "needs_input"
    assert end.note is not None
    assert "sandbox" in end.note


def test_a_silent_program_without_a_prompt_waits_for_nothing(quick: Rig) -> None:
    call = quick.start("sleep 1; echo done", answers=True)

    assert call.result(LIMIT_S).output == "done\n"
    assert [what for what in quick.heard.all if what[0] == "input"] == []


def test_the_shells_own_read_is_no_wait(quick: Rig) -> None:
    call = quick.start("read -t 1 -s 'x?Own: '; echo $?", answers=True)

    assert call.result(LIMIT_S).output.endswith("1\n")
    assert [what for what in quick.heard.all if what[0] == "input"] == []


def test_a_manual_line_reaches_a_program_that_asks_for_nothing(quick: Rig) -> None:
    call = quick.start("head -2 > got; cat got", answers=True)
    _manual(quick, "call1", "typed by hand")
    _manual(quick, "call1", "again")
    call.result(LIMIT_S)

    assert (quick.home / "got").read_text() == "typed by hand\nagain\n"


def test_a_repl_takes_no_manual_line_and_shows_no_visible_wait(quick: Rig) -> None:
    call = quick.start("python3 -I -q", timeout_s=1.5, answers=True)
    quick.heard.wait_for("output")
    with pytest.raises(NotWaiting, match="types into a shell"):
        _manual(quick, "call1", "import os")

    assert call.result(LIMIT_S).kind == "timed_out"
    assert [what for what in quick.heard.all if what[0] == "input"] == []
    quick.shell.interrupt("call1")


def test_answers_that_are_not_waited_for_are_refused(quick: Rig) -> None:
    call = quick.start("bash -c 'read -p \"Name: \" x; echo hi $x'", answers=True)
    quick.heard.wait_for("input", "visible")

    with pytest.raises(NoSuchCall):
        quick.shell.answer("other", "x", hidden=False, manual=False)
    with pytest.raises(NotWaiting):
        quick.shell.answer("call1", "x", hidden=True, manual=False)
    for bad in ("x" * 1025, "a\nb", "a\rb", "\x1b[A", "\x7f", "\x85", "é" * 513):
        with pytest.raises(BadAnswer):
            quick.shell.answer("call1", bad, hidden=False, manual=False)
    quick.shell.answer("call1", "é" * 512, hidden=False, manual=False)

    assert call.result(LIMIT_S).output.endswith(f"hi {'é' * 512}\n")
    with pytest.raises(NoSuchCall):
        quick.shell.answer("call1", "late", hidden=False, manual=False)


def test_a_call_that_waits_for_the_shell_takes_no_answer(quick: Rig) -> None:
    first = quick.start("bash -c 'read -p \"A: \" x'", answers=True)
    second = quick.start("true", answers=True)
    quick.heard.wait_for("input", "visible")

    with pytest.raises(NotWaiting):
        quick.shell.answer("call2", "x", hidden=False, manual=False)
    quick.shell.answer("call1", "x", hidden=False, manual=False)
    assert [call.result(LIMIT_S).kind for call in (first, second)] == ["exited", "exited"]


def test_a_secret_too_late_neither_runs_nor_shows(quick: Rig) -> None:
    """Typed into the terminal in the moment the program is killed, past every check."""
    quick.run("true")
    line = "bash -c 'read -s -p P: x & sleep 0.01; kill -9 $$'"
    for round_ in range(5):
        call = quick.start(line)
        _type_until_over(quick, call, f"touch {quick.home}/ran{round_}; echo leaked\r")
        call.result(LIMIT_S)
        end = quick.run("echo fine")
        assert end.output == "fine\n"

    assert not list(quick.home.glob("ran*"))


def test_an_interactive_call_runs_on_while_somebody_can_answer(quick: Rig) -> None:
    program = "bash -c 'read -p \"Name: \" x; echo hi $x'"

    call = quick.start(program, timeout_s=0.2, interactive=True, answers=True)
    quick.heard.wait_for("input", "visible")
    quick.shell.answer("call1", "me", hidden=False, manual=False)
    assert call.result(LIMIT_S).output.endswith("hi me\n")

    alone = quick.run(program, timeout_s=0.2, interactive=True)
    assert alone.kind == "timed_out"
    quick.shell.interrupt("call2")


def _manual(rig: Rig, call_id: str, text: str) -> None:
    """Types by hand, once a look has seen the program in front."""
    reached = threading.Event()
    for _ in range(200):
        try:
            return rig.shell.answer(call_id, text, hidden=False, manual=True)
        except (NotWaiting, NoSuchCall) as exc:
            if "types into a shell" in str(exc):
                raise
        reached.wait(0.02)
    raise AssertionError("no look saw the program")


def _type_until_over(rig: Rig, call: Future[CallEnd], keys: str) -> None:
    """Types past every check, as an answer that lost the race would."""
    process = rig.shell._process
    assert process is not None
    for _ in range(400):
        if call.done():
            return
        with contextlib.suppress(BlockingIOError):  # the terminal takes no more
            process.ask(lambda master: os.write(master, keys.encode()))
