"""One attached terminal: keys, signals and the daemon's items, in one loop on the main thread.

Requests of one kind are sent one after the other, because efrd may take up two at once in any
order: one write, one change of size and one stream are in flight. It ends when the user detaches,
the shell or the terminal goes, a signal asks for it, or the connection is lost.
"""

from __future__ import annotations

import select
import signal
from typing import Any, Final

from msgspec import Struct

from efr.base.clock import Clock
from efr.cli.attach.paint import paint
from efr.cli.attach.passing import Passing
from efr.cli.attach.typed import Typed
from efr.cli.attach.window import Window
from efr.cli.view.signals import Signals, stop_here
from efr.client.connection import Connection, Reply
from efr.client.errors import Refused
from efr.wire import methods as m
from efr.wire import types as t

_MOST_KEYS: Final = 64 << 10  # bytes that wait for efrd; more stay in the terminal
_ONE_WRITE: Final = 32 << 10
_REPAINT_S: Final = 0.1  # between two paints of a screen that is larger than the window


class End(Struct, frozen=True):
    """Why it is over: `signal` when one asked for it, `refused` when the daemon ended it."""

    why: str  # detached, shell, signal, refused
    signal: int = 0
    refused: Refused | None = None


class Session:
    """A terminal that shows one PTY."""

    def __init__(self, connection: Connection, pty_id: str, window: Window, clock: Clock) -> None:
        self._connection = connection
        self._pty_id = pty_id
        self._window = window
        self._clock = clock
        self._passing = Passing()
        self._drawn = 0  # the offset behind what the terminal shows
        self._size: tuple[int, int] = (0, 0)  # of the PTY, as last told
        self._own_size: tuple[int, int] = (0, 0)  # what efrd made of the window's
        self._wants_size = True  # the window has another one than it asked for last
        self._repaint_at: float | None = None  # monotonic
        self._typed = Typed()
        self._keys = bytearray()
        self._leaving = False
        self._stream = 0  # the ids of the requests in flight; 0: none
        self._write = 0
        self._resize = 0

    def run(self, signals: Signals) -> End:
        """Blocks until it is over. Raises ClientError."""
        self._send()
        while not self._leaving or self._keys or self._write:
            waits = [signals.fileno(), self._connection.fileno()]
            if len(self._keys) < _MOST_KEYS:
                waits.append(self._window.keys)
            ready, _, _ = select.select(waits, [], [], self._wait_s())
            if signals.fileno() in ready and (end := self._take_signals(signals)):
                return end
            if self._connection.fileno() in ready:
                for reply in self._connection.receive():
                    if end := self._take(reply):
                        return end
            if self._window.keys in ready and (end := self._take_keys()):
                return end
            self._send()
        return End("detached")

    def _wait_s(self) -> float | None:
        """How long until something is due by itself."""
        return (
            None if self._repaint_at is None else max(0, self._repaint_at - self._clock.monotonic())
        )

    # Keys and signals.

    def _take_keys(self) -> End | None:
        typed = self._window.read()
        if not typed:
            return End("signal", signal.SIGHUP)
        if self._leaving:  # what was typed before waits for an efrd that does not answer
            return End("detached")
        keys, self._leaving = self._typed.take(typed)
        self._keys += keys
        if keys and self._size != self._own_size:
            self._wants_size = True  # another window changed it; who types decides
        return None

    def _take_signals(self, signals: Signals) -> End | None:
        for number in signals.read():
            if number == signal.SIGWINCH:
                self._wants_size = True
            elif number == signal.SIGTSTP:
                self._window.leave()
                stop_here()
                self._window.enter()
                self._wants_size = True
            else:
                return End("signal", number)
        return None

    # Requests.

    def _attach(self, since: int | None) -> None:
        """Follows the terminal from an offset on, or from a new snapshot; drops an older stream."""
        older, self._stream = self._stream, 0
        params = self._connection.params(
            "pty.attach", pty_id=self._pty_id, since_seq=since, scrollback_rows=0
        )
        self._passing.restart()
        self._repaint_at = None
        self._stream = self._connection.start("pty.attach", params)
        if older:
            self._connection.cancel(older)

    def _send(self) -> None:
        """What waits and may go."""
        if self._repaint_at is not None and self._clock.monotonic() >= self._repaint_at:
            self._attach(None)
        if self._wants_size and not self._resize:
            self._wants_size = False
            self._size = columns, rows = self._window.size
            size = t.Size(cols=columns, rows=rows)
            params = self._connection.params("pty.resize", pty_id=self._pty_id, size=size)
            self._resize = self._connection.start("pty.resize", params)
        if self._keys and not self._write:
            keys = bytes(self._keys[:_ONE_WRITE])
            del self._keys[:_ONE_WRITE]
            params = self._connection.params("pty.write", pty_id=self._pty_id, data=keys)
            self._write = self._connection.start("pty.write", params)

    # Replies.

    def _take(self, reply: Reply) -> End | None:
        if reply.id == self._write and (reply.ended or reply.error):
            self._write = 0
        elif reply.id == self._resize and not (reply.ended or reply.error):
            given = self._connection.typed("pty.resize", reply.item).size
            self._own_size = (given.cols, given.rows)
        elif reply.id == self._resize:
            self._resize = 0
            self._attach(None)  # the terminal and efrd may cut their screens differently
        elif reply.id == self._stream:
            return self._take_stream(reply)
        return None  # a write to a shell that is gone: its stream ends too

    def _take_stream(self, reply: Reply) -> End | None:
        error = reply.error
        if error is None and not reply.ended:
            self._show(self._connection.typed("pty.attach", reply.item))
            return None
        self._stream = 0
        if error is None:
            return End("shell")
        if error.code != "overflow":
            return End("refused", refused=error)
        self._attach(self._drawn)
        return None

    def _show(self, item: Any) -> None:
        if isinstance(item, m.PtySnapshot):
            shown = item.snapshot
            self._size = (shown.size.cols, shown.size.rows)
            self._drawn = item.seq
            self._window.draw(paint(shown, *self._window.size))
            self._passing.painted(shown.alternate_screen)
        elif isinstance(item, m.PtyOutput):
            self._drawn = item.seq + len(item.data)
            if self._is_larger:
                if self._repaint_at is None:
                    self._repaint_at = self._clock.monotonic() + _REPAINT_S
                return
            was_stale = self._passing.is_stale
            self._window.draw(self._passing.feed(item.data))
            if self._passing.is_stale and not was_stale:
                self._attach(None)
        elif self._size != (item.size.cols, item.size.rows) and not self._resize:
            self._attach(None)

    @property
    def _is_larger(self) -> bool:
        """Whether the window shows a part of the screen: output would be drawn at its edges."""
        columns, rows = self._window.size
        return self._size[0] > columns or self._size[1] > rows
