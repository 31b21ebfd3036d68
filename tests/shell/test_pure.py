"""The pure parts: what the marks mean for the state, what is typed, which words start a shell."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.shell.contract import InputState, ShellCall
from efr.shell.environment import hidden_environment
from efr.shell.limits import LIMITS
from efr.shell.marks import Mark
from efr.shell.queries import answer
from efr.shell.scanner import Query
from efr.shell.state import Phase, Run, ShellState
from efr.shell.terminal import Modes
from efr.shell.typed import (
    KEY_ACCEPT,
    KEY_CANCEL,
    KEY_CLEAR,
    KEY_FORGET,
    Sentinel,
    refusal,
    typed_line,
)
from efr.shell.waits import InputTracker, decide
from efr.shell.words import split_words, starts_shell

NONCE = "n" * 32


TAKEN = Mark("P", 101, 105, None, NONCE, "r")  # zsh took the typed line


def run_of(nonce: str | None = None, forgets: bool = False, typed_at: int = 100) -> Run:
    return Run(
        ShellCall("c", "line", nonce=nonce),
        typed_at,
        0,
        InputTracker(False),
        False,
        forgets=forgets,
    )


def came_to(run: Run) -> tuple[int | None, int | None, int | None]:
    """Where its output began and ended, and its status."""
    return run.began, run.ended, run.status


def phase_of(state: ShellState) -> Phase:
    return state.phase


def ready() -> ShellState:
    state = ShellState(NONCE)
    for action in "AB":
        state.apply(mark(action, 0), True)
    return state


def mark(action: str, at: int, status: int | None = None, text: str | None = None) -> Mark:
    return Mark(action, at, at + 9, status, NONCE, None, text)


def test_a_command_goes_from_ready_over_running_to_its_end() -> None:
    state, run = ready(), run_of()
    phases = [state.phase]
    state.typed(run)
    phases.append(state.phase)
    for one in (mark("C", 110), mark("cwd", 200, text="/x"), mark("D", 211, 3), mark("A", 230)):
        assert state.apply(one, True) == b""
        phases.append(state.phase)
    state.apply(mark("B", 240), True)

    assert phases == [
        Phase.READY,
        Phase.TYPED,
        Phase.RUNNING,
        Phase.RUNNING,
        Phase.PROMPTING,
        Phase.PROMPTING,
    ]
    assert state.phase is Phase.READY
    assert (run.began, run.ended, run.status, state.cwd) == (120, 200, 3, "/x")


def test_marks_of_others_and_of_before_do_not_count() -> None:
    state, run = ready(), run_of()
    state.typed(run)
    foreign = Mark("C", 120, 129, None, "m" * 32)
    for one in (mark("C", 99), foreign):
        state.apply(one, True)
    assert (run.began, state.phase) == (None, Phase.RUNNING)  # an earlier C is not the run's


def test_an_end_counts_only_while_the_shell_is_in_front() -> None:
    state, run = ready(), run_of()
    state.typed(run)
    state.apply(mark("C", 110), True)
    state.apply(mark("D", 200, 7), False)
    assert came_to(run) == (120, None, None)
    state.apply(mark("D", 300, 0), True)
    assert came_to(run) == (120, 300, 0)


def test_a_contained_call_ends_only_after_its_own_nonce() -> None:
    state, run = ready(), run_of(nonce="0" * 32)
    state.typed(run)
    state.apply(mark("C", 110), True)
    state.apply(mark("D", 200, 0), True)
    state.apply(Mark("sbx", 210, 219, text="1" * 32), True)
    state.apply(mark("D", 220, 0), True)
    assert came_to(run) == (120, None, None)
    state.apply(Mark("sbx", 230, 239, text="0" * 32), True)
    state.apply(mark("D", 240, 5), True)
    assert came_to(run) == (120, 240, 5)


def test_a_prompt_drawn_anew_says_nothing_about_a_line_that_was_not_taken() -> None:
    state, run = ready(), run_of()
    state.typed(run)
    for action in "DAB":
        state.apply(mark(action, 110), True)
    assert (run.ended, state.phase) == (None, Phase.TYPED)
    state.apply(TAKEN, True)
    state.apply(mark("D", 120), True)
    assert came_to(run) == (None, 120, None)


def test_an_open_line_is_cancelled_at_its_continuation_prompt() -> None:
    state, run = ready(), run_of()
    state.typed(run)
    state.apply(TAKEN, True)
    keys = [state.apply(mark(action, 110), True) for action in "PBPBD"]

    assert keys == [b"", KEY_CANCEL, b"", b"", b""]
    assert (run.open_quote, run.began, run.ended) == (True, None, 110)


def test_sudo_is_forgotten_at_the_next_prompt_and_before_it_is_ready() -> None:
    state, run = ready(), run_of(forgets=True)
    state.typed(run)
    for one in (mark("C", 110), mark("D", 120, 0), mark("A", 130)):
        state.apply(one, True)

    assert state.apply(mark("B", 140), True) == KEY_FORGET
    assert phase_of(state) is Phase.PROMPTING
    assert state.apply(mark("A", 150), True) == b""
    assert state.apply(mark("B", 160), True) == b""
    assert phase_of(state) is Phase.READY


def test_a_directory_counts_only_right_before_the_end() -> None:
    state, run = ready(), run_of()
    state.typed(run)
    state.apply(mark("C", 110), True)
    state.apply(mark("cwd", 120, text="/fake"), True)
    state.apply(mark("D", 200, 0), False)
    state.apply(mark("cwd", 300, text="/real"), True)
    state.apply(mark("D", 311, 0), True)
    assert (state.cwd, run.ended) == ("/real", 300)


def test_a_line_is_typed_as_one_paste_between_private_keys() -> None:
    assert typed_line("a\r\nb") == KEY_CLEAR + b"\x1b[200~a\nb\x1b[201~" + KEY_ACCEPT
    assert b"eval $'x\\x03\\\\ \\'y\\''" in typed_line("x\x03\\ 'y'")


@pytest.mark.parametrize(
    ("line", "word"),
    [("", "blank"), (" \n", "blank"), ("a\0", "NUL"), ("\x1b[201~", "paste"), ("x" * 11, "longer")],
)
def test_lines_that_cannot_be_typed_say_why(line: str, word: str) -> None:
    assert word in (refusal(line, 10) or "")


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh"])
@pytest.mark.parametrize(
    "line", ["echo hi", "echo 'it'\"'\"'s' \\\\ %s %%", "echo a\necho b\tc; (exit 3)"]
)
def test_a_sentinel_run_works_in_any_shell(shell: str, line: str) -> None:
    sentinel = Sentinel(line, "0123456789abcdef")
    typed = sentinel.keys.replace(b"\r", b"\n")
    done = subprocess.run([shell, "-c", typed], capture_output=True, cwd="/usr", timeout=20)
    wanted = subprocess.run([shell, "-c", line], capture_output=True, cwd="/usr", timeout=20)

    assert not sentinel.feed(typed, 0)
    assert sentinel.feed(done.stdout, 1000)
    assert sentinel.began is not None
    assert sentinel.end is not None
    output = done.stdout[sentinel.began - 1000 : sentinel.end.start - 1000]
    assert output == wanted.stdout
    assert (sentinel.end.status, sentinel.end.directory) == (wanted.returncode, "/usr")


def test_sentinel_markers_are_found_across_any_split() -> None:
    word, token = b"efr-call:", b"0123456789abcdef"
    stream = (
        b"echo\r\n" + word + token + b":begin\r\nout\r\n\r\n" + word + token + b":end:7:/a b\r\n$ "
    )
    for at in range(len(stream)):
        sentinel = Sentinel("x", token.decode())
        sentinel.feed(stream[:at], 0)
        sentinel.feed(stream[at:], at)
        assert sentinel.began is not None
        assert sentinel.end is not None
        assert stream[sentinel.began : sentinel.end.start] == b"out\r\n"
        assert (sentinel.end.status, sentinel.end.directory) == (7, "/a b")


STARTS = [
    "bash", "zsh -l", "FOO=1 sh", "cd x && fish", "make; dash", "bash -i < /dev/null" , "/bin/bash",
    "sudo -i", "sudo -s", "sudo -u me bash", "sudo su", "su", "su - root", "doas -s", "ssh host",
    "ssh -p 22 me@host", "ssh -t host bash", "python3", "python3 -i x.py", "node", "sqlite3 db",
    "psql -h x db", "mysql", "lua5.4", "irb", "ghci", "script", "script -c bash", "env A=1 bash",
    "exec zsh", "nohup bash", "timeout 5 bash", "timeout -s INT 5 bash", "nice -n 3 python3",
    "bash -c 'exec bash'", "eval 'bash'", "docker exec -it c bash", "podman exec -i -t c",
    "kubectl exec -it pod -- sh", "command bash", "if true; then bash; fi", "stdbuf -o L python3",
]  # fmt: skip
STARTS_NOT = [
    "ls", "bash x.sh", "bash -c ls", "echo bash", "bash < file", "ls | bash", "cat x | python3",
    "python3 x.py", "python3 -c 1", "python3 -m http.server", "node x.js", "sqlite3 db .tables",
    "psql -c 'select 1'", "ssh host ls", "ssh -N host", "ssh host bash", "su -c ls", "sudo ls",
    "sudo", "script -c ls", "docker exec c bash", "docker exec -d c sh", "docker run -it x",
    "bash --version", "env", "timeout 5 ls", "sh -x script", "'unclosed", "",
    "bash <<< 'echo 1'", "exec bash script", "echo 'a; bash'",
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "starts"),
    [
        *((line, True) for line in STARTS if "<" not in line),
        *((line, False) for line in STARTS_NOT),
    ],
)
def test_words_that_start_a_shell(line: str, starts: bool) -> None:
    assert starts_shell(line) is starts


def test_wrappers_are_followed_to_a_depth() -> None:
    assert starts_shell("env " * 7 + "bash")
    assert not starts_shell("env " * 9 + "bash")


def _shlex(line: str) -> list[str] | None:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return None


@given(st.text(st.sampled_from("ab \t\n'\"\\;&|()<>#=$\x0b\xa0é"), max_size=12))
def test_words_are_those_of_the_standard_library(line: str) -> None:
    assert split_words(line) == _shlex(line)


@pytest.mark.parametrize("line", ["x" * 900_000, "echo '" + "a b " * 200_000 + "'"])
def test_a_line_as_long_as_one_may_be_is_read_in_time(line: str) -> None:
    assert split_words(line) == [part.strip("'") for part in line.split(" ", 1)]
    assert not starts_shell(line)


COOKED, HIDDEN, RAW = Modes(True, True), Modes(True, False), Modes(False, False)
WAITS: list[tuple[Modes | None, float, bool, str, int, InputState]] = [
    (HIDDEN, 1.0, False, "Password: ", 10, InputState("hidden", False, "Password:")),
    (HIDDEN, 0.9, False, "Password: ", 10, InputState()),
    (HIDDEN, 1.0, True, "Password: ", 10, InputState()),
    (HIDDEN, 1.0, False, "", 0, InputState("hidden", False, None)),
    (COOKED, 3.0, False, "Go on? [Y/n] ", 13, InputState("visible", False, "Go on? [Y/n]")),
    (COOKED, 2.9, False, "Go on? [Y/n] ", 13, InputState()),
    (COOKED, 3.0, False, "Go on? [Y/n] ", 0, InputState()),
    (COOKED, 3.0, False, "   ", 3, InputState()),
    (COOKED, 3.0, False, "Password: ", 10, InputState("visible", False, "Password:")),
    (RAW, 3.0, False, "Password: ", 10, InputState("visible", True, "Password:")),
    (RAW, 3.0, False, "Passwords for x ", 16, InputState("visible", True, "Passwords for x")),
    (RAW, 3.0, False, "Enter PIN: ", 11, InputState("visible", True, "Enter PIN:")),
    (RAW, 3.0, False, "One-time code ", 14, InputState("visible", True, "One-time code")),
    (RAW, 3.0, False, "verification code: ", 19, InputState("visible", True, "verification code:")),
    (RAW, 3.0, False, "mypassword ", 11, InputState("visible", False, "mypassword")),
    (RAW, 3.0, False, "ping: spinning ", 15, InputState("visible", False, "ping: spinning")),
    (RAW, 3.0, True, "Password: ", 10, InputState()),
    (RAW, 3.0, False, "x" * 300 + " ", 301, InputState("visible", False, "x" * 200)),
    (None, 9.0, False, "Password: ", 10, InputState()),
]


@pytest.mark.parametrize(("modes", "quiet_s", "alternate", "row", "column", "wanted"), WAITS)
def test_waits_of_the_table(
    modes: Modes | None, quiet_s: float, alternate: bool, row: str, column: int, wanted: InputState
) -> None:
    assert decide(modes, quiet_s, alternate, lambda: (row, column), LIMITS) == wanted


def test_a_change_is_reported_once_and_again_after_an_answer() -> None:
    tracker, hidden = InputTracker(False), InputState("hidden", False, "P:")
    told = [tracker.look(5, 1, lambda: hidden) for _ in range(3)]
    tracker.look_now = True
    after = [tracker.look(5, 1, lambda: hidden) for _ in range(2)]
    other = [tracker.look(6, 1, lambda: hidden) for _ in range(2)]
    shell = tracker.look(1, 1, lambda: hidden)

    assert told == [True, False, False]
    assert after == [True, True]  # nothing waits, then it waits again
    assert other == [True, True]
    assert (shell, tracker.reported) == (True, InputState())


def test_a_call_that_types_into_a_shell_reports_hidden_waits_alone() -> None:
    tracker = InputTracker(True)

    assert not tracker.look(5, 1, lambda: InputState("visible", True, "x"))
    assert tracker.look(5, 1, lambda: InputState("hidden", False, "x"))


ANSWERS = [
    (Query("device", 0), b"\x1b[?62;22c"),
    (Query("device2", 0), b"\x1b[>1;10;0c"),
    (Query("status", 0), b"\x1b[0n"),
    (Query("cursor", 0), b"\x1b[5;3R"),
    (Query("cursor_dec", 0), b"\x1b[?5;3R"),
    (Query("mode", 0, 2004), b"\x1b[?2004;1$y"),
    (Query("mode", 0, 25), b"\x1b[?25;2$y"),
    (Query("mode", 0, 9999), b"\x1b[?9999;0$y"),
    (Query("colour", 0, 10, True), b"\x1b]10;rgb:cccc/cccc/cccc\x07"),
    (Query("colour", 0, 11), b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"),
]


@pytest.mark.parametrize(("query", "wanted"), ANSWERS)
def test_the_terminal_answers_for_itself(query: Query, wanted: bytes) -> None:
    assert answer(query, {2004}, (2, 4)) == wanted


def test_the_environment_keeps_the_users_and_drops_other_terminals() -> None:
    user = {
        "A": "1",
        "TMUX": "x",
        "EFR_MODE": "auto",
        "_": "/bin/x",
        "LISTEN_FDS": "1",
        "LESS": "-R",
    }

    made = hidden_environment(user, directory="/d", scratch=None, zdotdir="/z", no_editor="/e")

    assert {name: made[name] for name in ("A", "LESS", "PWD", "ZDOTDIR", "EDITOR", "PAGER")} == {
        "A": "1", "LESS": "-R", "PWD": "/d", "ZDOTDIR": "/z", "EDITOR": "/e", "PAGER": "cat",
    }  # fmt: skip
    assert {"TMUX", "EFR_MODE", "_", "LISTEN_FDS", "SCRATCH"}.isdisjoint(made)
    assert made["GIT_CONFIG_COUNT"] == "1"
    assert (made["GIT_CONFIG_KEY_0"], made["GIT_CONFIG_VALUE_0"]) == (
        "safe.bareRepository",
        "explicit",
    )
    more = hidden_environment(
        {"GIT_CONFIG_COUNT": "2"}, directory="/d", scratch=None, zdotdir=None, no_editor="/e"
    )
    assert (more["GIT_CONFIG_COUNT"], more["GIT_CONFIG_KEY_2"]) == ("3", "safe.bareRepository")
