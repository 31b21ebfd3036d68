"""A command that its call left running, in words. Pure but for the time zone.

Rules: docs/efr.md, "Commands left running".
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from efr.text.visible import visible_line
from efr.wire import events as ev
from efr.wire import types as t

_ALLOWED: Final = {
    t.ApprovedBy.YOU: "you allowed it",
    t.ApprovedBy.YOUR_RULE: "a rule of yours allowed it",
    t.ApprovedBy.REVIEWER: "the reviewer allowed it",
    t.ApprovedBy.FULL_MODE: "full mode ran it",
}
_ENDS: Final = {
    t.ShellCommandEnd.ENDED: "ended",
    t.ShellCommandEnd.STOPPED: "was stopped",
    t.ShellCommandEnd.LIMIT: "was stopped at its time limit",
    t.ShellCommandEnd.CLOSED: "ended with its shell, which was closed",
    t.ShellCommandEnd.SHELL_EXITED: "ended with its shell",
    t.ShellCommandEnd.MOVED: "is a background job now",
}


def line_text(command: str) -> str:
    """The command on one line."""
    return visible_line(command)


def facts_text(busy: t.ShellBusy) -> str:
    """Where it runs, and who let it."""
    place = "in the sandbox" if busy.contained else "outside of the sandbox"
    allowed = _ALLOWED.get(busy.approved_by) if busy.approved_by is not None else None
    return f"{place}; {allowed}" if allowed else place


def asks_text(wait: t.InputWait, prompt: str | None, *, looks_secret: bool) -> str:
    """What it waits for; empty when it waits for nothing."""
    if wait is t.InputWait.NONE:
        return ""
    secret = wait is t.InputWait.HIDDEN or looks_secret
    what = "a line that is not shown" if secret else "a line"
    return f"waits for {what}: {visible_line(prompt)}" if prompt else f"waits for {what}"


def left_text(busy: t.ShellBusy) -> str:
    """The row of a command that was left."""
    asks = asks_text(busy.input, busy.prompt, looks_secret=busy.looks_secret)
    since = datetime.fromtimestamp(t.time_to_us(busy.since) / 1_000_000).strftime("%H:%M:%S")
    text = f"left running since {since}: {line_text(busy.command)}"
    return f"{text} ({facts_text(busy)})" + (f", {asks}; {_ways()}" if asks else "")


def changed_text(event: ev.ShellCommandInputChanged, command: str) -> str:
    """The row of a change of what it waits for; empty for one that needs nothing."""
    asks = asks_text(event.input, event.prompt, looks_secret=event.looks_secret)
    return f"{command} {asks}; {_ways()}" if asks else ""


def ended_text(event: ev.ShellCommandEnded, command: str) -> str:
    """The row of its end."""
    code = f" with {event.exit_code}" if event.exit_code is not None else ""
    return f"{command} {_ENDS.get(event.how, 'ended')}{code}"


def _ways() -> str:
    return "answer it in efr attach, or efr shell stop, or efr shell close"
