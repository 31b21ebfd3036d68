"""A hidden shell that somebody looks at from outside: its bytes, its screen, keys, its size."""

from __future__ import annotations

import shlex
import sys
import threading

import pytest

from efr.shell.contract import Size
from efr.shell.errors import CommandRuns, NoSuchCall, PtyClosed
from efr.shell.feeder import Feeder
from efr.shell.process import ShellProcess
from efr.shell.screen import TerminalScreen
from efr.shell.shells import LOOK_S
from efr.shell.snapshot import snapshot
from efr.wire import codec
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.framing import MAX_FRAME
from tests.shell.rig import LIMIT_S, LateClock, Rig, World

TELLS_SIZE = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})
print("go" + "?", flush=True)
signal.sigwait({signal.SIGWINCH})
columns, rows = os.get_terminal_size()
print("got", input(f"{rows} {columns}: "))
"""


class Collected:
    """A tap that keeps what it hears."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.start = 0
        self.data = b""
        self.sizes: list[tuple[int, Size]] = []
        self.ended = False

    def printed(self, offset: int, data: bytes) -> None:
        with self._changed:
            assert offset == self.start + len(self.data)
            self.data += data
            self._changed.notify_all()

    def resized(self, offset: int, size: Size) -> None:
        with self._changed:
            self.sizes.append((offset, size))

    def over(self) -> None:
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def wait(self, wanted: bytes) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: wanted in self.data, LIMIT_S), self.data

    def wait_over(self) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.ended, LIMIT_S)


def terminal_of(rig: Rig) -> ShellProcess:
    found = rig.shell.terminal
    assert found is not None
    return found


def follow(rig: Rig) -> Collected:
    tap = Collected()
    tap.start = terminal_of(rig).tap(tap)
    return tap


def texts(rows: tuple[t.RowCells, ...]) -> list[str]:
    return ["".join(cell.text or " " for cell in row.cells).rstrip() for row in rows]


def test_a_tap_hears_every_byte_after_its_offset_once(rig: Rig) -> None:
    rig.run("echo before")
    tap = follow(rig)
    rig.run("seq 2000")
    terminal_of(rig).untap(tap)
    rig.run("echo after")

    assert tap.data == rig.recorded[tap.start :][: len(tap.data)]
    assert b"before" not in tap.data
    assert b"1999\r\n2000\r\n" in tap.data
    assert b"after" not in tap.data


def test_keys_and_a_new_size_reach_the_program_in_front(rig: Rig) -> None:
    rig.run("true")
    tap, terminal = follow(rig), terminal_of(rig)
    call = rig.start(f"{sys.executable} -c {shlex.quote(TELLS_SIZE)}")
    tap.wait(b"go?")
    terminal.resize(Size(70, 20))
    tap.wait(b"20 70: ")
    terminal.type_for_user(b"it\r")
    end = call.result(LIMIT_S)

    assert "got it" in end.output
    assert [size for _, size in tap.sizes] == [(70, 20)]
    assert rig.recorders[-1].sizes == [(160, 48), (70, 20)]
    assert terminal.snapshot(0)[1].size == t.Size(cols=70, rows=20)


def test_output_is_read_at_the_width_that_it_was_printed_for(rig: Rig) -> None:
    rig.run("true")
    tap, terminal = follow(rig), terminal_of(rig)
    terminal.resize(Size(20, 10))
    # 19 letters and one more column, then up: only a screen of 20 columns reads it right.
    end = rig.run("print -n ${(l:21::x:)}; print -n '\\e[A\\rY\\n\\n'")

    assert end.output.splitlines()[0].startswith("Y")
    assert end.output.count("x") == 20
    terminal.untap(tap)
    assert rig.run("stty size").output == "48 160\n"


def test_an_unwatched_shell_gets_its_own_size_back_before_the_next_line(rig: Rig) -> None:
    rig.run("true")
    tap, terminal = follow(rig), terminal_of(rig)
    terminal.resize(Size(40, 10))
    assert rig.run("stty size").output == "10 40\n"
    terminal.untap(tap)

    assert rig.run("stty size").output == "48 160\n"


def test_keys_at_the_prompt_do_nothing(rig: Rig) -> None:
    rig.run("true")
    terminal = terminal_of(rig)
    for keys in (b"touch typed\r", b"\x1b[200~touch pasted\x1b[201~\r", b"\x03", b"\x04", b"\x1b"):
        terminal.type_for_user(keys)
    end = rig.run("echo fine; ls")

    assert end.output == "fine\n"


def test_no_key_stops_the_output(rig: Rig) -> None:
    rig.run("true")
    terminal_of(rig).type_for_user(b"\x13")
    assert "-ixon" in rig.run("stty -a").output.split()

    tap, call = follow(rig), rig.start("echo ready; cat")
    tap.wait(b"ready\r\n")
    terminal_of(rig).type_for_user(b"\x13more\n\x04")
    assert "more" in call.result(LIMIT_S).output


def test_a_tap_hears_of_the_end_and_then_nobody_can_look(rig: Rig) -> None:
    rig.run("true")
    tap, terminal = follow(rig), terminal_of(rig)
    rig.shells.close("c1")
    tap.wait_over()

    with pytest.raises(PtyClosed):
        terminal.tap(Collected())
    with pytest.raises(PtyClosed):
        terminal.resize(Size(40, 10))


def test_a_shell_that_somebody_looks_at_is_not_idle(rig: Rig) -> None:
    rig.run("true")
    later = rig.shell._clock.monotonic() + 9999
    tap = follow(rig)
    assert rig.shell.idle_for(later) == 0
    terminal_of(rig).untap(tap)

    assert 9000 < rig.shell.idle_for(later) < 9999 + 1


def test_a_stop_grows_harder_while_the_command_ignores_it(world: World) -> None:
    clock = LateClock()
    rig = world.rig(clock=clock)
    line = "sh -c \"trap '' INT; trap 'echo term' TERM; echo go; while :; do sleep 9; done\""
    assert rig.run(line, timeout_s=0.5).left_running
    rig.shell.check_stop("call1", close=False)
    tap = follow(rig)
    rig.shell.interrupt("call1")
    terminal_of(rig).front()  # it was sent
    clock.late_s = 1.5
    assert rig.shells.tend() == LOOK_S
    tap.wait(b"term")
    clock.late_s = 3.2
    rig.shells.tend()

    assert rig.heard.wait_for("left_ended") == ("left_ended", "call1", "stopped", 137)


def test_a_command_that_cannot_be_stopped_ends_by_itself(world: World) -> None:
    clock = LateClock()
    rig = world.rig(clock=clock)
    line = "trap '' INT; while [[ ! -e stop ]]; do :; done"
    assert rig.run(line, timeout_s=0.3).left_running
    rig.shell.interrupt("call1")
    terminal_of(rig).front()  # it was sent
    clock.late_s = 4
    rig.shells.tend()
    terminal_of(rig).front()  # and given up
    (rig.home / "stop").touch()

    assert rig.heard.wait_for("left_ended") == ("left_ended", "call1", "ended", 0)


def test_only_what_was_left_is_stopped_and_only_a_shell_that_is_free_is_closed(rig: Rig) -> None:
    rig.shell.check_stop("any", close=True)
    call = rig.start("echo go; sleep 60", call_id="front")
    rig.heard.wait_for("output", "go\n")
    for close in (False, True):
        with pytest.raises(CommandRuns):
            rig.shell.check_stop("front", close)
        with pytest.raises(NoSuchCall):
            rig.shell.check_stop("other", close)
    rig.cancels["front"].cancel()
    call.result(LIMIT_S)

    rig.shell.check_stop("front", close=True)
    with pytest.raises(NoSuchCall):
        rig.shell.check_stop("front", close=False)


def test_a_snapshot_tells_cells_colours_and_the_cursor() -> None:
    screen = TerminalScreen(12, 3, scrollback=5)
    Feeder(screen).feed(
        "1漢\r\n2\r\n\x1b[1;31mab\x1b[0m \x1b[7m\x1b[38;2;1;2;3mc\x1b[0m漢\x1b[?25l\r\n"
        "\x1b[105mm\x1b[0m".encode()
    )
    found = snapshot(screen, 200, (1, 7, 2004))

    assert found.size == t.Size(cols=12, rows=3)
    assert found.cursor == t.CursorPos(row=2, col=1, hidden=True)
    assert texts(found.scrollback) == ["1漢"]
    assert found.scrollback[0].cells[1:] == (t.Cell(text="漢", wide=True), t.Cell(text=""))
    red = t.Color(indexed=1)
    assert found.rows[1].cells == (
        t.Cell(text="a", fg=red, bold=True),
        t.Cell(text="b", fg=red, bold=True),
        t.Cell(text=""),
        t.Cell(text="c", fg=t.Color(rgb=(1, 2, 3)), inverse=True),
        t.Cell(text="漢", wide=True),
        t.Cell(text=""),
    )
    assert found.rows[2].cells == (t.Cell(text="m", bg=t.Color(indexed=13)),)
    assert not found.alternate_screen
    assert found.modes == (1, 2004)
    assert snapshot(screen, 0, ()).scrollback == ()


@pytest.mark.parametrize(
    ("printed", "title"),
    [
        (b"\x1b]0;one\x07", "one"),
        ("\x1b]0;one\x07\x1b]2;größe; two\x1b\\".encode(), "größe; two"),
        (b"\x1b]2;" + b"x" * 300 + b"\x07", "x" * 256),
        (b"\x1b]2;one\x07\x1b]2;\x07", None),
        (b"\x1b]2;one\x07\x1b]2;cut\x18\x1b]1;icon\x07\x1b]52;c;eA==\x07", "one"),
        (b"\x1b]2;one\x07\x1bc", None),
    ],
)
def test_a_snapshot_tells_the_title(printed: bytes, title: str | None) -> None:
    screen = TerminalScreen(4, 2)
    Feeder(screen).feed(printed)
    assert snapshot(screen, 0, ()).title == title


def test_the_largest_snapshot_fits_into_a_frame() -> None:
    screen = TerminalScreen(500, 200, scrollback=5000)
    colours = "\x1b[1;3;4;7;38;2;255;254;253;48;2;252;251;250m"
    feeder = Feeder(screen)
    feeder.feed((("x" * 500 + "\r\n") * 800).encode())
    feeder.feed((colours + "漢" * 250 * 200).encode())
    found = snapshot(screen, 5000, ())

    assert 400 < len(found.scrollback) <= 500
    assert len(codec.encode(m.PtySnapshot(seq=1 << 40, snapshot=found))) < MAX_FRAME - 1000


def test_a_snapshot_leaves_blank_ends_out_and_marks_wrapped_rows() -> None:
    screen = TerminalScreen(4, 2)
    Feeder(screen).feed(b"abcdef\x1b[K")
    found = snapshot(screen, 0, ())

    assert [row.wrapped for row in found.rows] == [True, False]
    assert texts(found.rows) == ["abcd", "ef"]
