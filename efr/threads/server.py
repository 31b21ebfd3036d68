"""The `socket-server` thread: the listening Unix socket and every client's connection.

One epoll owns the listener, all sockets and all buffers. Other threads never touch a socket:
they put an answer, or the news that a stream has something, into the inbox and send one wake-up
byte. The inbox is bounded by what it holds: one answer for a request in flight (at most 64 * 32)
and about one wake-up per stream. Methods run elsewhere (`handlers.py`); what they mean is the
`Dispatch`'s business.
"""

from __future__ import annotations

import errno
import logging
import os
import select
import socket
import struct
from collections import deque
from threading import Thread

from efr.base.clock import Clock
from efr.threads.connection import Connection, InFlight, Limits
from efr.threads.handlers import Handlers
from efr.threads.listener import Listener
from efr.threads.requests import Answer, Dispatch
from efr.wire.errors import ErrorBody

_log = logging.getLogger("efr.daemon")

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: unix(7), SO_PEERCRED
_OUT_OF_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class SocketServer(Thread):
    """Serves one listener until it is stopped."""

    def __init__(
        self,
        listener: Listener,
        dispatch: Dispatch,
        handlers: Handlers,
        clock: Clock,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(name="socket-server")
        self._listener = listener
        self._dispatch = dispatch
        self._handlers = handlers
        self._clock = clock
        self._limits = limits or Limits()
        # No selector of Python's: it cannot watch a socket for its hang-up alone.
        self._epoll = select.epoll()
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)
        self._inbox: deque[tuple[Connection, InFlight, Answer | None]] = deque()
        self._connections: dict[int, Connection] = {}  # by descriptor
        self._next_id = 1
        self._accepting = True
        self._accepted: socket.socket | None = None  # one that nobody could be asked about yet
        self._accept_again: float | None = None  # monotonic; None: the listener is watched
        self._short = False  # of descriptors; said in the log
        self._close_by: float | None = None  # monotonic; set by begin_stop
        self._ended = False

    # From any thread.

    def begin_stop(self, close_by: float) -> None:
        """Stops accepting, cancels every request, flushes until `close_by`. Returns at once."""
        self._close_by = close_by if self._close_by is None else min(self._close_by, close_by)
        self.wake()

    def stop(self, deadline: float) -> bool:
        """Stops and joins; False when the thread missed `deadline`. May be called twice."""
        self.begin_stop(deadline)
        if self.is_alive():
            self.join(max(0.0, deadline - self._clock.monotonic()) + 0.1)  # the last close itself
        elif not self._ended:
            self._end()  # it never ran
        return not self.is_alive()

    def wake(self) -> None:
        """Ends the wait of the epoll. Never blocks."""
        try:
            self._wake_writer.send(b"\0")
        except OSError:
            return  # the pipe is full of wake-ups, or the server has ended

    def _post(self, connection: Connection, request: InFlight, answer: Answer | None) -> None:
        if self._ended:
            _close_unused(answer)
            return
        self._inbox.append((connection, request, answer))
        self.wake()

    # The loop.

    def run(self) -> None:
        try:
            self._epoll.register(self._wake_reader, select.EPOLLIN)
            self._epoll.register(self._listener.socket, select.EPOLLIN)
            busy: set[Connection] = set()
            while not self._done():
                now = self._clock.monotonic()
                timeout = 0.0 if busy else self._timeout(now)
                busy |= self._take_events(self._epoll.poll(timeout))
                busy |= self._take_inbox()
                busy |= self._take_deadlines(self._clock.monotonic())
                busy = self._advance(busy)
        finally:
            self._end()

    def _take_events(self, events: list[tuple[int, int]]) -> set[Connection]:
        touched: set[Connection] = set()
        for handle, mask in events:
            if handle == self._wake_reader.fileno():
                self._drain_wake_ups()
            elif handle == self._listener.socket.fileno():
                touched |= self._accept()
            else:
                connection = self._connections[handle]
                hung_up = bool(mask & (select.EPOLLHUP | select.EPOLLERR))
                if hung_up or mask & select.EPOLLIN:
                    connection.readable(self._clock.monotonic(), hung_up=hung_up)
                touched.add(connection)
        return touched

    def _take_inbox(self) -> set[Connection]:
        touched: set[Connection] = set()
        for _ in range(len(self._inbox)):
            connection, request, answer = self._inbox.popleft()
            connection.deliver(request, answer)
            touched.add(connection)
        return touched

    def _take_deadlines(self, now: float) -> set[Connection]:
        fresh: set[Connection] = set()
        if self._close_by is not None:
            self._stop_accepting()
            for connection in self._connections.values():
                connection.begin_close(self._close_by)
        if self._accept_again is not None and now >= self._accept_again:
            self._accept_again = None
            self._epoll.register(self._listener.socket, select.EPOLLIN)
            fresh = self._accept()
        for connection in list(self._connections.values()):
            if connection.close_by is not None and now >= connection.close_by:
                self._drop(connection)
        return fresh

    def _advance(self, touched: set[Connection]) -> set[Connection]:
        """One turn for each; returns those that can go on at once."""
        busy: set[Connection] = set()
        closing = self._connections.values() if self._close_by is not None else ()
        for connection in touched.union(closing):
            if connection.socket.fileno() < 0:
                continue  # dropped meanwhile
            connection.advance(self._clock.monotonic())
            if connection.over:
                self._drop(connection)
                continue
            self._watch(connection)
            if connection.has_more:
                busy.add(connection)
        return busy

    def _timeout(self, now: float) -> float | None:
        due = [c.close_by for c in self._connections.values() if c.close_by is not None]
        if self._accept_again is not None:
            due.append(self._accept_again)
        if self._inbox:
            return 0.0
        return max(0.0, min(due) - now) if due else None

    def _watch(self, connection: Connection) -> None:
        mask = select.EPOLLIN if connection.wants_read else 0
        mask |= select.EPOLLOUT if connection.wants_write else 0
        self._epoll.modify(connection.socket, mask)  # and its hang-up always

    def _drop(self, connection: Connection) -> None:
        now = self._clock.monotonic()
        connection.lose(now)
        del self._connections[connection.socket.fileno()]
        self._epoll.unregister(connection.socket)
        connection.socket.close()

    # Accepting.

    def _accept(self) -> set[Connection]:
        fresh: set[Connection] = set()
        while True:
            try:
                if self._accepted is None:
                    self._accepted, _ = self._listener.socket.accept()
                connection = self._admit(self._accepted)
            except BlockingIOError:
                return fresh
            except OSError as exc:
                if exc.errno in _OUT_OF_ROOM:
                    self._pause_accepting(exc)
                    return fresh
                connection = None  # the client hung up while it waited
            self._short = False
            if connection is not None:
                fresh.add(connection)
            elif self._accepted is not None:
                self._accepted.close()
            self._accepted = None

    def _admit(self, sock: socket.socket) -> Connection | None:
        """The connection of a fresh socket; None: it is refused. Raises OSError."""
        sock.setblocking(False)
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(credentials)
        if uid != os.geteuid():
            _log.warning("closed a connection of user id %d", uid)
            return None
        if len(self._connections) >= self._limits.connections:
            _log.warning("closed a connection: %d are open", self._limits.connections)
            return None
        peer = self._dispatch.connected(self._next_id, pid)
        self._next_id += 1
        connection = Connection(
            sock, peer, self._dispatch, self._handlers.submit, self._post, self._limits
        )
        self._connections[sock.fileno()] = connection
        self._epoll.register(sock, select.EPOLLIN)
        return connection

    def _pause_accepting(self, exc: OSError) -> None:
        if not self._short:
            _log.warning("cannot accept a connection now: %s", exc.strerror)
            self._short = True
        if self._accept_again is None:
            self._epoll.unregister(self._listener.socket)
        self._accept_again = self._clock.monotonic() + self._limits.accept_pause_s

    # The end.

    def _stop_accepting(self) -> None:
        if self._accepting:
            self._accepting = False
            if self._accept_again is None:
                self._epoll.unregister(self._listener.socket)
            self._accept_again = None
            self._close_listener()

    def _close_listener(self) -> None:
        self._listener.close()
        if self._accepted is not None:
            self._accepted.close()
            self._accepted = None

    def _done(self) -> bool:
        return self._close_by is not None and not self._accepting and not self._connections

    def _drain_wake_ups(self) -> None:
        try:
            while self._wake_reader.recv(4096):
                pass
        except BlockingIOError:
            return

    def _end(self) -> None:
        self._ended = True
        for connection in list(self._connections.values()):
            self._drop(connection)
        while self._inbox:
            _close_unused(self._inbox.popleft()[2])
        self._close_listener()
        self._epoll.close()
        self._wake_writer.close()
        self._wake_reader.close()


def _close_unused(answer: Answer | None) -> None:
    """Lets go of a stream that no connection will ever pull."""
    if answer is not None and not isinstance(answer, bytes | ErrorBody):
        answer.close()
