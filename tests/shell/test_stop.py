"""Limits, interrupts and commands left running, in a real shell."""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from efr.shell import strays, terminal
from efr.shell.contract import BusyCommand, CallEnd, InputState, ShellSettings
from efr.shell.errors import NoSuchCall
from efr.shell.strays import end_started_below, unit_of
from tests.shell.rig import LIMIT_S, LateClock, Rig, World


@pytest.fixture
def quick(world: World) -> Rig:
    """A rig whose steps come five times as fast."""
    return world.rig(
        term_after_s=0.2, kill_after_s=0.6, give_up_after_s=1.2, look_s=0.2, redrawn_s=0.1
    )


def stop_when_running(rig: Rig, line: str) -> CallEnd:
    """Starts a line, interrupts it once it has printed `go`, and waits for its end."""
    rig.heard.forget()
    call = rig.start(line)
    rig.heard.wait_for("output", "go\n")
    rig.cancels[f"call{rig.count}"].cancel()
    return call.result(LIMIT_S)


def test_an_interrupt_ends_the_command_as_ctrl_c_does(quick: Rig) -> None:
    end = stop_when_running(quick, "echo go; sleep 60; echo after")

    assert (end.kind, end.exit_code, end.output.strip()) == ("interrupted", 130, "go")
    assert quick.run("echo next").output == "next\n"


def test_a_program_that_ignores_the_interrupt_is_ended_harder(quick: Rig) -> None:
    quick.run("true")
    pid = quick.shell.pid
    term = stop_when_running(quick, "sh -c \"trap '' INT; echo go; exec sleep 60\"")
    kill = stop_when_running(quick, "sh -c \"trap '' INT TERM; echo go; exec sleep 60\"")

    assert (term.kind, term.exit_code) == ("interrupted", 143)
    assert (kill.kind, kill.exit_code) == ("interrupted", 137)
    assert "sleep" not in quick.run("jobs; ps -o args= --ppid $$").output
    assert quick.shell.pid == pid


def test_a_loop_of_the_shell_that_ignores_the_interrupt_is_left_running(quick: Rig) -> None:
    quick.run("true")
    pid = quick.shell.pid
    end = stop_when_running(
        quick, "trap '' INT; echo go; while [[ ! -e stop ]]; do :; done; echo o"
    )

    assert (end.kind, end.left_running) == ("interrupted", True)
    assert quick.shell.pid == pid
    assert quick.run("true", timeout_s=0.2).kind == "busy"
    (quick.home / "stop").touch()
    quick.heard.wait_for("left_ended")
    assert quick.run("trap - INT; echo next").output == "next\n"
    assert quick.shell.pid == pid


def test_a_loop_of_the_shell_stops_at_the_interrupt(quick: Rig) -> None:
    end = stop_when_running(quick, "echo go; while :; do :; done")

    assert (end.kind, end.output.strip()) == ("interrupted", "go")
    assert quick.run("echo next").output == "next\n"


@pytest.mark.parametrize(
    "trap",
    [
        "trap '' INT",
        "trap 'echo trapped' INT DEBUG ZERR",
        "TRAPINT() { return 0 }; TRAPDEBUG() { echo trapped }",
    ],
)
def test_a_trap_of_an_earlier_line_is_gone(quick: Rig, trap: str) -> None:
    quick.run(trap)

    assert quick.run("echo next; false").output == "next\n"
    end = stop_when_running(quick, "echo go; while :; do :; done")
    assert (end.kind, end.left_running) == ("interrupted", False)


def test_a_raw_program_gets_the_interrupt_too(quick: Rig) -> None:
    end = stop_when_running(quick, "sh -c 'stty raw -echo; echo go; sleep 60'; echo after")

    assert end.kind == "interrupted"
    assert quick.run("stty -a | grep -o ' icanon '").output == " icanon \n"


def test_a_cancelled_call_is_not_typed(quick: Rig) -> None:
    quick.run("true")
    first = quick.start("sleep 0.3")
    second = quick.start("touch ran")
    quick.cancels["call3"].cancel()

    assert second.result(LIMIT_S).kind == "interrupted"
    assert first.result(LIMIT_S).kind == "exited"
    assert not (quick.home / "ran").exists()


def test_a_call_cancelled_at_once_never_runs_later(quick: Rig) -> None:
    quick.run("true")
    for number in range(12):
        call = quick.start(f"touch began{number}; sleep 0.3; touch late{number}", call_id="now")
        if number % 2:
            quick.shells.peek("c1")
        quick.cancels["now"].cancel()
        assert call.result(LIMIT_S).kind == "interrupted"
        assert quick.run(f"echo {number}").output == f"{number}\n"

    assert not list(quick.home.glob("late*"))


def test_an_interrupt_at_the_prompt_does_not_touch_the_next_call(quick: Rig) -> None:
    quick.run("true")
    process = quick.shell._process
    assert process is not None
    outputs = []
    for number in range(8):
        process.post(terminal.press_interrupt)
        outputs.append(quick.run(f"echo {number}").output)

    assert outputs == [f"{number}\n" for number in range(8)]


def test_the_live_tail_is_the_commands_own_output(quick: Rig) -> None:
    quick.run("echo earlier; mkfifo go")
    call = quick.start("printf 'a 1\nb 1\n'; <go; printf '\033[2A\033[Ka 2\n'; <go")
    quick.heard.wait_for("output", "a 1\nb 1\n")
    (quick.home / "go").write_text("")
    quick.heard.wait_for("output", "a 2\nb 1")
    (quick.home / "go").write_text("")
    call.result(LIMIT_S)


def test_at_its_limit_a_command_is_left_running(quick: Rig) -> None:
    end = quick.run("echo one; sleep 60", timeout_s=0.3)
    command = quick.heard.wait_for("left", "call1")[2]
    blocked = quick.run("echo two", timeout_s=0.3)
    quick.shell.interrupt("call1")
    ended = quick.heard.wait_for("left_ended")

    assert (end.kind, end.exit_code, end.left_running) == ("timed_out", None, True)
    assert end.output == "one"
    assert end.note is not None
    assert "still running" in end.note
    assert isinstance(command, BusyCommand)
    assert (command.line, command.left, command.contained) == ("echo one; sleep 60", True, False)
    assert blocked.kind == "busy"
    assert blocked.note is not None
    assert "echo one; sleep 60" in blocked.note
    assert ended == ("left_ended", "call1", "stopped", 130)
    assert quick.run("echo three").output == "three\n"
    with pytest.raises(NoSuchCall):
        quick.shell.interrupt("call1")


def test_the_next_call_waits_for_a_command_left_running(quick: Rig) -> None:
    quick.run("sleep 0.6; cd /usr", timeout_s=0.1)
    end = quick.run("pwd")

    assert end.output == "/usr\n"
    assert quick.heard.wait_for("left_ended") == ("left_ended", "call1", "ended", 0)
    assert not quick.shell.busy


def test_a_command_left_running_that_ends_with_the_shell_is_told(quick: Rig) -> None:
    quick.run("sleep 60", timeout_s=0.1)
    quick.shells.close("c1")

    assert quick.heard.wait_for("left_ended") == ("left_ended", "call1", "closed", None)


class Ends:
    """Processes whose pids a command printed."""

    def __init__(self, printed: str) -> None:
        self._handles = [os.pidfd_open(int(pid)) for pid in printed.split()]

    def __enter__(self) -> Ends:
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            os.close(handle)

    def there(self) -> list[int]:
        """Which of them have not ended."""
        ended, _, _ = select.select(self._handles, [], [], 0)
        return [at for at, handle in enumerate(self._handles) if handle not in ended]

    def wait(self, at: int) -> None:
        """Blocks until that one ended."""
        assert select.select([self._handles[at]], [], [], LIMIT_S)[0]


IGNORES = (
    "nohup sleep 1000 >/dev/null 2>&1 &! echo $!;"  # into the background: stays
    " sh -c 'trap : HUP INT TERM; setsid -w sleep 1000 & echo $$ $!; wait; wait; wait; sleep 99'"
)


@pytest.mark.parametrize("how", ["closed", "shell_exited"])
def test_a_command_that_ignores_the_end_of_its_shell_is_killed(world: World, how: str) -> None:
    clock = LateClock()
    rig = world.rig(clock=clock)
    end = rig.run(IGNORES, timeout_s=0.5)
    assert end.left_running
    rig.shells.tend()
    with Ends(end.output) as pids:
        assert rig.shell.pid is not None
        if how == "closed":
            rig.shell.hang_up()
        else:
            assert rig.shell.terminal is not None
            rig.shell.terminal.front()  # the look is over
            os.kill(rig.shell.pid, 9)
        assert rig.heard.wait_for("left_ended")[2] == how
        assert rig.shells.tend() == 1
        assert pids.there() == [0, 1, 2]
        clock.late_s = 6
        rig.shells.tend()
        pids.wait(1)
        pids.wait(2)
        assert pids.there() == [0], "what was started into the background stays"
        assert rig.shells.tend() is None
        assert rig.shells.stop_all(clock.monotonic() + 9) == []
        pids.wait(0)


def test_only_what_shells_of_a_directory_started_is_ended(tmp_path: Path) -> None:
    mark = {"EDITOR": f"{tmp_path}/zsh/1/no-editor"}
    other = {"EDITOR": f"{tmp_path}/zsh-other/1/no-editor"}
    parent = (
        "import subprocess; child = subprocess.Popen(['sleep', '1000'], env={});"
        "print('started', flush=True); child.wait()"
    )
    ours = subprocess.Popen([sys.executable, "-c", parent], env=mark, stdout=subprocess.PIPE)
    theirs = subprocess.Popen(["sleep", "1000"], env=other)
    # One that is itself below such a shell ends neither itself nor what is above it.
    script = (
        "import sys; from pathlib import Path; from efr.shell.strays import started_below;"
        "print(started_below(Path(sys.argv[1])))"
    )
    argv = ["sh", "-c", '"$@"; :', "sh", sys.executable, "-c", script, f"{tmp_path}/own"]
    env = {"X": f"{tmp_path}/own/x", "PYTHONPATH": str(Path(__file__).parents[2])}
    try:
        assert ours.stdout is not None
        assert ours.stdout.readline() == b"started\n"
        assert end_started_below(tmp_path / "zsh", 0) == 2
        assert ours.wait(LIMIT_S) == -9
        assert theirs.poll() is None
        assert end_started_below(tmp_path / "zsh", 0) == 0
        assert subprocess.check_output(argv, env=env, text=True) == "[]\n"
    finally:
        for process in (ours, theirs):
            process.kill()
            process.communicate()


def test_what_is_in_another_unit_is_not_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scope of `systemd-run`, or a service that got the shell's environment from its manager."""
    mark = {"EDITOR": f"{tmp_path}/1/no-editor"}
    programs = [subprocess.Popen(["sleep", "1000"], env=mark) for _ in range(2)]
    told = {programs[0].pid: b"0::/user.slice/run-u7.scope\n"}
    read = strays._told

    def with_units(pid: int, name: str) -> bytes:
        return (
            told.get(pid, b"0::/user.slice/efrd.service\n") if name == "cgroup" else read(pid, name)
        )

    monkeypatch.setattr(strays, "_told", with_units)
    try:
        assert end_started_below(tmp_path, 0) == 1
        assert programs[1].wait(LIMIT_S) == -9
        assert programs[0].poll() is None
    finally:
        for program in programs:
            program.kill()
            program.wait()


def test_a_server_in_the_background_may_put_itself_away(world: World) -> None:
    rig = world.rig(stray_grace_s=LIMIT_S)
    saved = rig.home / "saved"
    server = f"trap '' HUP; trap 'echo all > {saved}; exit' TERM; echo up > r;"
    server += "while :; do sleep 99 & wait; done"  # whichever of the two is asked first
    end = rig.run(f"mkfifo r; sh -c {shlex.quote(server)} &! cat r")
    assert end.output == "up\n"
    assert rig.shells.stop_all(LateClock().monotonic() + LIMIT_S) == []
    assert saved.read_text() == "all\n"


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        (b"0::/\n", b""),
        (b"", b""),
        (b"0::/docker/0123\n", b""),
        (b"0::/user.slice/user-1.slice/user@1.service/app.slice/efrd.service\n", b"efrd.service"),
        (b"0::/user.slice/user@1.service/app.slice/efrd.service/calls/7\n", b"efrd.service"),
        (b"0::/user.slice/user@1.service/app.slice/run-u7.scope\n", b"run-u7.scope"),
        (b"4:memory:/x.service\n1:name=systemd:/a/session-2.scope\n0::/\n", b"session-2.scope"),
    ],
)
def test_the_unit_of_a_process(cgroup: bytes, unit: bytes) -> None:
    assert unit_of(cgroup).rpartition(b"/")[2] == unit


def test_the_limit_of_a_command_left_running_stops_it(world: World) -> None:
    clock = LateClock()
    rig = world.rig(clock=clock, settings=ShellSettings(interactive_timeout_minutes=1))
    assert rig.run("sleep 60", timeout_s=0.2).left_running

    rig.shells.tend()
    assert rig.shell.busy
    clock.late_s = 61
    rig.shells.tend()
    assert rig.heard.wait_for("left_ended") == ("left_ended", "call1", "limit", 130)


def test_an_idle_shell_is_closed(world: World) -> None:
    clock = LateClock()
    rig = world.rig(clock=clock, settings=ShellSettings(idle_minutes=1))
    rig.run("cd /usr")
    rig.shells.tend()
    assert rig.shells.count == 1
    clock.late_s = 61
    rig.shells.tend()
    rig.heard.wait_for("exited")

    assert rig.shells.count == 0
    assert rig.run("pwd").output == f"{rig.home}\n"


def test_an_idle_shell_that_does_not_go_is_killed(world: World) -> None:
    clock = LateClock()
    rig = world.rig(clock=clock, settings=ShellSettings(idle_minutes=1))
    rig.run("trap '' HUP")
    clock.late_s = 61
    for _ in range(7):
        rig.shells.tend()
        clock.late_s += 1
    rig.heard.wait_for("exited")


def test_the_shells_say_when_to_look_again(world: World) -> None:
    clock = LateClock()
    rig = world.rig(clock=clock, settings=ShellSettings(idle_minutes=1))
    assert rig.shells.tend() is None
    rig.run("sleep 60", timeout_s=0.2)
    assert rig.shells.tend() == 1
    rig.shell.interrupt("call1")
    rig.heard.wait_for("left_ended")
    assert rig.shells.tend() == 60
    clock.late_s = 61
    rig.run("trap '' HUP")
    clock.late_s = 122
    assert rig.shells.tend() == 1, "it is told to go, and may not"
    clock.late_s += 6
    rig.shells.tend()
    rig.heard.wait_for("exited")
    assert rig.shells.tend() is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("bash -c 'read -p \"Name: \" x'", InputState("visible", False, "Name:")),
        ("bash -c 'read -s -p \"Key: \" x'", InputState("hidden", False, "Key:")),
        ("bash -c 'printf \"PIN: \"; stty raw -echo; read x'", InputState("visible", True, "PIN:")),
    ],
)
def test_input_waits_of_a_command_left_running_are_told(
    world: World, line: str, told: InputState
) -> None:
    rig = world.rig(look_s=0.1, hidden_quiet_s=0.1, visible_quiet_s=0.2)
    rig.run(line, timeout_s=0.1)
    tick = threading.Event()
    for _ in range(100):
        rig.shells.tend()
        if any(what[0] == "left_input" for what in rig.heard.all):
            break
        tick.wait(0.05)
    assert rig.heard.wait_for("left_input", "call1")[2] == told
    with pytest.raises(NoSuchCall):
        rig.shell.answer("call1", "x", hidden=False, manual=False)
    rig.shell.interrupt("call1")
    rig.heard.wait_for("left_ended")


def test_a_full_screen_program_at_its_limit_shows_its_last_rows(quick: Rig) -> None:
    (quick.home / "f").write_text("text of the file\n")
    end = quick.run("vim -u NONE -n f", timeout_s=1)

    assert end.left_running
    assert end.note is not None
    assert "full-screen" in end.note
    assert "text of the file" in end.output or "1,1" in end.output
    assert len(end.output.splitlines()) <= 20
    quick.shells.close("c1")
