"""Lines for a terminal that did not see something happen: runtime `notices/<tty>`.

A line is written only when nobody shows the event: no subscription of that terminal was handed
it, no live lease names the conversation, and no open connection may still show it. While one may,
the line is held and decided when the last such connection ends. The plugin prints the file before
the next prompt and removes it. A full disk costs the line and a warning.

Files are written on the thread that tells, or (held lines) on the timer's, one short append each.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from pathlib import Path

from msgspec import Struct

from efr.agent.followers import Followers
from efr.agent.ports import Timers
from efr.base.clock import Clock
from efr.base.files import make_private_dir
from efr.text.notice import NOTICE_LIMIT, one_line

log = logging.getLogger("efr.agent")

_SAFE_NAME = re.compile(r"[A-Za-z0-9._-]+\Z")
_HELD = 256  # lines held at most for all terminals; a connection that long open shows them itself


class Line(Struct, frozen=True):
    """One line about an event of a conversation, for the terminal of its prompt."""

    conversation_id: str
    tty: str
    seq: int
    text: str


def file_name(tty: str) -> str | None:
    """`/dev/pts/3` → `pts-3`; None for a name that could leave the directory."""
    parts = tty.removeprefix("/dev/").split("/")
    name = "-".join(parts)
    safe = _SAFE_NAME.match(name) and not any(part in ("", ".", "..") for part in parts)
    return name if safe else None


def notice_line(text: str, end: str = "") -> str:
    """One line of at most 200 characters; `end` (how to log in) is never cut off."""
    tail = one_line(end)
    room = NOTICE_LIMIT - len(tail) - 1
    return one_line(text, room) + " " + tail if tail else one_line(text)


def write_notice(folder: Path, tty: str, text: str) -> None:
    """Appends one line to the terminal's file in that folder."""
    name = file_name(tty)
    if name is None:
        return
    try:
        make_private_dir(folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(folder / name, flags, 0o600)
        with os.fdopen(handle, "ab", buffering=0) as file:
            file.write(one_line(text).encode() + b"\n")
    except OSError as exc:
        log.warning("a notice for %s could not be written: %s", name, exc)


class Notices:
    """Decides and writes. Any thread may tell; the lock "notices" guards the held lines."""

    def __init__(self, folder: Path, clock: Clock, timer: Timers, followers: Followers) -> None:
        self._folder = folder
        self._clock = clock
        self._timer = timer
        self._followers = followers
        self._lock = threading.Lock()
        self._held: list[Line] = []
        followers.tell_left(self._viewer_left)

    def tell(self, conversation_id: str, tty: str | None, seq: int, text: str) -> None:
        """A line about the event `seq`, unless the terminal shows (or may still show) it."""
        if tty is None:
            return
        line = Line(conversation_id, tty, seq, text)
        if not self._followers.may_still_show(conversation_id, tty):
            self._decide(line)
            return
        with self._lock:
            self._held.append(line)
            del self._held[:-_HELD]
        if not self._followers.may_still_show(conversation_id, tty):
            self._settle(conversation_id)  # it ended between the two looks

    def write(self, tty: str, text: str) -> None:
        """Appends one line to the terminal's file, whoever follows what."""
        write_notice(self._folder, tty, text)

    def _viewer_left(self, conversation_id: str) -> None:
        """On the thread of a connection that ended: the files are the timer's work."""
        with self._lock:
            waits = any(line.conversation_id == conversation_id for line in self._held)
        if waits:
            now = self._clock.monotonic()
            self._timer.at(now, lambda: self._settle(conversation_id))

    def _settle(self, conversation_id: str) -> None:
        """Decides the held lines that no open connection may show any more."""
        with self._lock:
            due = [
                line
                for line in self._held
                if line.conversation_id == conversation_id
                and not self._followers.may_still_show(conversation_id, line.tty)
            ]
            self._held = [line for line in self._held if line not in due]
        for line in due:
            self._decide(line)

    def _decide(self, line: Line) -> None:
        if not self._followers.was_shown(line.conversation_id, line.tty, line.seq):
            self.write(line.tty, line.text)
