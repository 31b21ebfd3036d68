"""The `pty-reader` thread: reads, and writes, every PTY master of the hidden shells.

One selector owns all masters and waits for the shells' ends (a pidfd each). What a PTY prints goes
to its sink in order, in pieces of up to 256 KiB, so that a busy PTY costs few calls and the others
get their turn. Other threads leave work in the inbox and wake the selector; the inbox holds at most
one typed line and a few answers per shell. A sink must be quick: a long replay comes back through
`again`, a slice at a time.

Stops with `stop()`, after the shells were closed; one that is still there is killed. An exception
of a sink ends the thread, and with it the daemon.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

from efr.shell.contract import Sink
from efr.shell.errors import PtyClosed
from efr.threads.reply import Reply

log = logging.getLogger("efr.threads")

T = TypeVar("T")

_PIECE: Final = 256 << 10  # bytes given to a sink at once
_READ: Final = 64 << 10  # bytes asked for by one read; a PTY gives 4 to 64 KiB
_WRITE: Final = 4096  # a terminal's input buffer
_MOST_LEFT: Final = 64  # pieces that are still read after the end; a terminal holds less than one
_OUTBOX: Final = 4 << 20  # bytes that wait for a program which does not read; what is more is lost


class PtyReader(threading.Thread):
    """Owns every PTY master. `attach` and `stop` may be called by any thread."""

    def __init__(self) -> None:
        super().__init__(name="pty-reader")
        self._selector = selectors.DefaultSelector()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._selector.register(self._wake, selectors.EVENT_READ, self._woken)
        self._lock = threading.Lock()  # the wake-up's descriptor is open while it is written to
        self._inbox: deque[Callable[[], None]] = deque()
        self._again: dict[PtyLink, None] = {}
        self._links: set[PtyLink] = set()
        self.view = memoryview(bytearray(_PIECE))
        self._stopping = False
        self._closed = False  # under the lock

    def attach(self, master: int, pid: int, sink: Sink) -> PtyLink:
        """Owns `master` (which must not block) and waits for the child `pid`. Raises PtyClosed, and
        ends the child, when the thread has stopped."""
        link = PtyLink(self, master, pid, sink)
        if not self.post(lambda: self._add(link)):
            link.end()
            raise PtyClosed
        return link

    def stop(self) -> None:
        """Ends the thread and joins it; may be called twice."""
        self._stopping = True
        if self.is_alive():
            self.post(lambda: None)
            self.join()
        self._end()

    def post(self, job: Callable[[], None]) -> bool:
        """Runs `job` on the thread, soon; False when the thread has stopped."""
        with self._lock:
            if not self._closed:
                self._inbox.append(job)
                os.eventfd_write(self._wake, 1)
            return not self._closed

    def run(self) -> None:
        """Waits for output, room, ends and jobs, and serves them."""
        try:
            while not self._stopping:
                self.step(0 if self._again else None)
        finally:
            self._end()

    def step(self, timeout_s: float | None) -> None:
        """One turn of the loop."""
        again, self._again = self._again, {}
        for key, events in self._selector.select(timeout_s):
            key.data(events)
        for link in again:
            if link in self._links:
                link.sink.more()

    def once_more(self, link: PtyLink) -> None:
        """Has the sink's `more` called in the next turn."""
        self._again[link] = None

    def _woken(self, _events: int) -> None:
        os.eventfd_read(self._wake)
        for _ in range(len(self._inbox)):
            self._inbox.popleft()()

    def _add(self, link: PtyLink) -> None:
        self._links.add(link)
        self._selector.register(link.master, selectors.EVENT_READ, link.ready)
        self._selector.register(link.process, selectors.EVENT_READ, lambda _: self._exited(link))

    def watch(self, link: PtyLink, events: int) -> None:
        """Waits for these events of the master; 0 for none."""
        registered = link.master in self._selector.get_map()
        if not events:
            if registered:
                self._selector.unregister(link.master)
        elif registered:
            self._selector.modify(link.master, events, link.ready)
        else:
            self._selector.register(link.master, events, link.ready)

    def _exited(self, link: PtyLink) -> None:
        self._selector.unregister(link.process)
        _, status = os.waitpid(link.pid, 0)
        link.over = True
        for _ in range(_MOST_LEFT):
            if not link.read(self.view):
                break
        self.watch(link, 0)
        code = os.waitstatus_to_exitcode(status)
        link.sink.ended(code if code >= 0 else 128 - code)

    def let_go(self, link: PtyLink) -> None:
        """Closes a PTY; kills a process that is still there."""
        if link not in self._links:
            return
        self._links.discard(link)
        self._again.pop(link, None)
        self.watch(link, 0)
        if not link.over:
            self._selector.unregister(link.process)
        link.end()

    def _end(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        while self._inbox:
            self._inbox.popleft()()
        for link in list(self._links):
            self._cut_off(link)
        self._selector.close()
        os.close(self._wake)

    def _cut_off(self, link: PtyLink) -> None:
        """Ends a PTY whose shell was not closed, and tells those who wait for it."""
        was_over = link.over
        self.let_go(link)
        if not was_over:
            try:
                link.sink.ended(None)
            except Exception:
                log.exception("the end of a shell could not be told")


class PtyLink:
    """One PTY; see `efr.shell.contract.Link`. The attributes belong to the reader's thread."""

    def __init__(self, reader: PtyReader, master: int, pid: int, sink: Sink) -> None:
        self.master = master
        self.pid = pid
        self.process = os.pidfd_open(pid)
        self.sink = sink
        self.over = False  # the process was waited for
        self._reader = reader
        self._outbox = bytearray()
        self._hung_up = False
        self._watched: int = selectors.EVENT_READ

    def send(self, data: bytes) -> None:
        """Types `data`, after what was sent before."""
        self._reader.post(lambda: self._send(data))

    def ask(self, job: Callable[[int], T]) -> Future[T]:
        """Runs `job(master)` on the reader's thread, between two pieces of output."""
        reply: Reply[T] = Reply()
        if not self._reader.post(lambda: self._settle(reply, job)):
            reply.set_exception(PtyClosed())
        return reply

    def again(self) -> None:
        """Has the sink's `more` called in the next turn of the loop."""
        self._reader.once_more(self)

    def close(self) -> None:
        """Closes the PTY."""
        self._reader.post(lambda: self._reader.let_go(self))

    def end(self) -> None:
        """Closes the descriptors, after the process ended or was killed."""
        if not self.over:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.over = True
        os.close(self.master)
        os.close(self.process)

    def ready(self, events: int) -> None:
        """The master has output, or room."""
        if self.over:
            return
        if events & selectors.EVENT_WRITE:
            self._flush()
        if events & selectors.EVENT_READ:
            self.read(self._reader.view)

    def read(self, view: memoryview) -> bool:
        """Gives the sink what there is, at most one piece. Says whether there was any."""
        size = 0
        while size <= _PIECE - _READ and not self._hung_up:
            try:
                count = os.readv(self.master, [view[size : size + _READ]])
            except BlockingIOError:
                break
            except OSError:  # EIO: nobody has the terminal open any more
                count = 0
            size += count
            if not count:
                self._hung_up = True
                self._watch()
        if size:
            self.sink.fed(bytes(view[:size]))
        return size > 0

    def _send(self, data: bytes) -> None:
        if not self.over and len(self._outbox) + len(data) <= _OUTBOX:
            self._outbox += data
            self._flush()

    def _flush(self) -> None:
        try:
            while self._outbox:
                del self._outbox[: os.write(self.master, self._outbox[:_WRITE])]
        except BlockingIOError:
            pass
        except OSError:  # EIO: the terminal hung up
            self._outbox.clear()
        self._watch()

    def _watch(self) -> None:
        if self.over:
            return
        reads = 0 if self._hung_up else selectors.EVENT_READ
        writes = selectors.EVENT_WRITE if self._outbox else 0
        if reads | writes != self._watched:
            self._watched = reads | writes
            self._reader.watch(self, self._watched)

    def _settle(self, reply: Reply[T], job: Callable[[int], T]) -> None:
        if self.over:
            reply.set_exception(PtyClosed())
            return
        try:
            reply.set_result(job(self.master))
        except Exception as exc:  # noqa: BLE001  # the asking thread gets it
            reply.set_exception(exc)
