"""A command left running, in words."""

from __future__ import annotations

import pytest

from efr.cli.render.left import changed_text, ended_text, left_text
from efr.wire import events as ev
from efr.wire import types as t

CALL = "0190f2a4-7a63-7cc0-8a51-2f6d3b9c4e01"
WAYS = "answer it in efr attach, or efr shell stop, or efr shell close"


def busy(**members: object) -> t.ShellBusy:
    told = {
        "call_id": CALL,
        "command": "make\x1b[2J\nserve",
        "since": "2026-01-02T10:20:30.5Z",
        "contained": False,
        "input": t.InputWait.NONE,
        **members,
    }
    return t.ShellBusy(**told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("members", "end"),
    [
        ({}, "(outside of the sandbox)"),
        ({"contained": True}, "(in the sandbox)"),
        ({"approved_by": t.ApprovedBy.YOU}, "(outside of the sandbox; you allowed it)"),
        ({"approved_by": t.ApprovedBy.YOUR_RULE}, "sandbox; a rule of yours allowed it)"),
        ({"approved_by": t.ApprovedBy.REVIEWER}, "sandbox; the reviewer allowed it)"),
        ({"approved_by": t.ApprovedBy.FULL_MODE}, "sandbox; full mode ran it)"),
        ({"approved_by": t.ApprovedBy.UNKNOWN}, "(outside of the sandbox)"),
        (
            {"input": t.InputWait.VISIBLE, "prompt": "Go on\x07? [y/N]"},
            f"sandbox), waits for a line: Go on␇? [y/N]; {WAYS}",
        ),
        ({"input": t.InputWait.HIDDEN}, f"waits for a line that is not shown; {WAYS}"),
        (
            {"input": t.InputWait.VISIBLE, "looks_secret": True, "prompt": "PIN:"},
            f"waits for a line that is not shown: PIN:; {WAYS}",
        ),
    ],
)
def test_the_row_of_a_command_that_was_left(members: dict[str, object], end: str) -> None:
    text = left_text(busy(**members))
    assert text.startswith("left running since ")
    assert ":30: make␛[2J serve (" in text
    assert text.endswith(end)


def test_the_rows_of_its_waits_and_of_its_end() -> None:
    asks = ev.ShellCommandInputChanged(CALL, t.InputWait.VISIBLE, contained=False, prompt="Name:")
    assert changed_text(asks, "make") == f"make waits for a line: Name:; {WAYS}"
    quiet = ev.ShellCommandInputChanged(CALL, t.InputWait.NONE, contained=False)
    assert changed_text(quiet, "make") == ""
    ends = {
        t.ShellCommandEnd.ENDED: "make ended with 3",
        t.ShellCommandEnd.STOPPED: "make was stopped with 3",
        t.ShellCommandEnd.LIMIT: "make was stopped at its time limit with 3",
        t.ShellCommandEnd.UNKNOWN: "make ended with 3",
    }
    for how, text in ends.items():
        assert ended_text(ev.ShellCommandEnded(CALL, how, 3), "make") == text
    for how, text in (
        (t.ShellCommandEnd.CLOSED, "make ended with its shell, which was closed"),
        (t.ShellCommandEnd.SHELL_EXITED, "make ended with its shell"),
        (t.ShellCommandEnd.MOVED, "make is a background job now"),
    ):
        assert ended_text(ev.ShellCommandEnded(CALL, how), "make") == text
