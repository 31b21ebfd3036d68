"""One typed line for a running command: every check, the last of them right before the write.

The text lives in the caller's frame and the kernel's queue alone: not in an error, a log, an event
or, since echo is off for a hidden one, the recording.
"""

from __future__ import annotations

import os
import re
import threading
from typing import Final

from efr.shell import terminal
from efr.shell.errors import BadAnswer, NoSuchCall, NotWaiting, PtyClosed
from efr.shell.limits import Limits
from efr.shell.process import ShellProcess
from efr.shell.state import Run

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def check_text(text: str, limits: Limits) -> None:
    """Raises BadAnswer when it is not one plain line of at most `answer_bytes`."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise BadAnswer("an answer is text") from None
    if size > limits.answer_bytes:
        raise BadAnswer(f"an answer is at most {limits.answer_bytes} bytes")
    if _CONTROL.search(text):
        raise BadAnswer("an answer is one line without control characters")


def type_answer(process: ShellProcess, run: Run, text: str, hidden: bool, manual: bool) -> None:
    """Writes text and Enter in one go, on pty-reader. Raises NotWaiting, NoSuchCall."""
    data = text.encode() + b"\r"
    given_up = threading.Event()

    def job(master: int) -> str | None:
        """Writes, or says why not."""
        if given_up.is_set():
            return "it was too late"
        with process.changed:
            why = _why_not(run, master, process.pid, hidden, manual)
            if why is None:
                run.tracker.look_now = True
                process.changed.notify_all()
        if why is None:
            try:
                written = os.write(master, data)
            except OSError:
                written = 0
            if written < len(data):
                why = "its terminal takes no more input"
        return why

    try:
        why = process.ask(job)
    except PtyClosed:
        raise NoSuchCall(run.call.call_id) from None
    except TimeoutError:
        given_up.set()
        why = "its terminal does not react"
    if why is not None:
        raise NotWaiting(run.call.call_id, why)


def _why_not(run: Run, master: int, shell: int, hidden: bool, manual: bool) -> str | None:
    if not run.runs:
        return "its command does not run"
    group = terminal.foreground(master)
    if group is None or group == shell:
        return "no program of it has the terminal"
    if group != run.tracker.group:
        return "another program has come to the front"
    if manual:
        return "it types into a shell" if run.types_into_shell else None
    if run.tracker.reported.wait != ("hidden" if hidden else "visible"):
        return "it waits for no such input"
    if run.tracker.look_now:
        return "it was just answered"
    if hidden:
        modes = terminal.modes(master)
        if modes is None or not modes.canonical or modes.echo:
            return "its terminal would show the text"
    return None
