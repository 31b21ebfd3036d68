"""HTTP for model calls: one exchange at a time, cut by a Cancel, connections kept for 90 s.

Blocks the calling thread; any thread may call. Owns the pool of idle connections, the limits of
silence and size, and the translation of library errors into TransportFailed. Sends each request
exactly once: whether to send again is retry.py's question. Redirects are never followed, since
every request carries a credential. A proxy of the environment is used. Built on urllib3's
connection class (`connections.py`); its own pools have no idle limit and no way to cut a connect.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.base.version import VERSION
from efr.providers.dial import Breaker, Resolve, Target, dial, resolve_here
from efr.providers.errors import DecodeFailed, TransportFailed
from efr.providers.proxies import Proxies, Proxy

if TYPE_CHECKING:  # loaded with the first exchange
    from urllib3.connection import HTTPConnection
    from urllib3.response import HTTPResponse

SILENCE_LIMIT_S: Final = 300.0  # a reasoning model may say nothing for minutes
IDLE_LIMIT_S: Final = 90.0  # below what load balancers keep, so a reused connection is alive
BODY_LIMIT_BYTES: Final = 16 * 2**20  # of an answer held in memory
_IDLE_MAX: Final = 8  # idle connections per server; more conversations than that rarely pause
_READ_BYTES: Final = 64 * 1024
_DRAIN_S: Final = 0.1  # how long the end of a finished answer may take before we close instead
_DRAIN_READS: Final = 4  # and in how many pieces it may come


@dataclass(frozen=True)
class HttpCall:
    """One request. deadline_s limits the whole exchange; None: only silence ends it.

    record: whether a transcript may hold it, when there is one.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)
    deadline_s: float | None = None
    record: bool = False


class _Origin(Struct, frozen=True):
    scheme: str
    host: str
    port: int


def join_url(base: str, path: str, query: str = "") -> str:
    """The base URL with a path behind its own; a query of the base stays in front."""
    parts = urlsplit(base)
    queries = "&".join(text for text in (parts.query, query) if text)
    return parts._replace(path=parts.path.rstrip("/") + path, query=queries, fragment="").geturl()


class _Line(Struct):
    """One exchange's connection and what may end it."""

    origin: _Origin
    connection: HTTPConnection
    sock: socket.socket  # kept apart: the library lets go of its own when the server will close
    breaker: Breaker
    cancel: Cancel
    deadline: float | None


class HttpAnswer:
    """Status, headers and body of one exchange; owns its connection until it is closed."""

    def __init__(self, client: HttpClient, line: _Line, response: HTTPResponse) -> None:
        self._client = client
        self._line = line
        self._response = response
        self._finished = False
        self._closed = False

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def reason(self) -> str:
        return self._response.reason or ""

    @property
    def headers(self) -> Mapping[str, str]:
        return dict(self._response.headers)

    def header(self, name: str) -> str | None:
        return self._response.headers.get(name)

    def chunks(self) -> Iterator[bytes]:
        """The body as it arrives. Raises TransportFailed, Cancelled."""
        while chunk := self._read(self._client.wait_s(self._line.deadline)):
            yield chunk

    def read_all(
        self, limit_bytes: int = BODY_LIMIT_BYTES, patience_s: float | None = None
    ) -> bytes:
        """The whole body, then closed.

        Raises DecodeFailed above the limit, TransportFailed when it takes longer than patience_s.
        """
        if patience_s is not None:
            ends = self._client.now() + patience_s
            self._line.deadline = min(ends, self._line.deadline or ends)
        body = bytearray()
        with self:
            for chunk in self.chunks():
                body += chunk
                if len(body) > limit_bytes:
                    raise DecodeFailed(f"an answer of more than {limit_bytes} bytes")
        return bytes(body)

    def finish(self) -> None:
        """Closes; the connection is kept when the body's end is already on its way."""
        try:
            for _ in range(_DRAIN_READS):
                if self._closed or not self._read(_DRAIN_S):
                    break
        except TransportFailed:
            pass  # the answer itself was whole: only this connection is lost
        finally:
            self.close()

    def close(self) -> None:
        """Gives the connection back, or closes it when the body was not read to its end."""
        if self._closed:
            return
        self._closed = True
        self._line.breaker.let_go()
        if self._finished:
            self._client.keep(self._line.origin, self._line.connection)
        else:
            self._line.connection.close()
        self._response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, limit_s: float) -> bytes:
        from efr.providers import connections

        if self._finished:
            return b""
        try:
            if self._line.sock.fileno() >= 0:  # the library closes it at the end of a last answer
                self._line.sock.settimeout(limit_s)
            chunk = self._response.read1(_READ_BYTES)
        except connections.ERRORS as exc:
            self._line.cancel.raise_if_cancelled()
            raise TransportFailed(connections.failure(exc)) from exc
        self._line.cancel.raise_if_cancelled()  # a cut connection reads like an end
        self._finished = not chunk
        return chunk


class HttpClient:
    """The pool. close() ends the idle connections; it does not touch running exchanges."""

    def __init__(
        self,
        clock: Clock,
        tls: Callable[[], ssl.SSLContext] = ssl.create_default_context,
        silence_s: float = SILENCE_LIMIT_S,
        proxies: Proxies | None = None,
        resolve: Resolve = resolve_here,
    ) -> None:
        self._clock = clock
        self._make_tls = tls
        self._silence_s = silence_s
        self._proxies = proxies or Proxies({})
        self._resolve = resolve
        self._lock = threading.Lock()
        self._tls: ssl.SSLContext | None = None
        self._idle: dict[_Origin, list[tuple[float, HTTPConnection]]] = {}

    def send(self, call: HttpCall, cancel: Cancel) -> HttpAnswer:
        """Sends once and waits for the answer's head.

        Raises TransportFailed (sent is False when no connection was made), Cancelled.
        """
        cancel.raise_if_cancelled()
        origin, target = _split(call.url)
        deadline = None if call.deadline_s is None else self._clock.monotonic() + call.deadline_s
        breaker = Breaker(cancel)
        connection = self._take(origin)
        try:
            if connection is None:
                connection = self._open(origin, breaker)
            else:
                breaker.hold(connection.sock)
            line = _Line(origin, connection, connection.sock, breaker, cancel, deadline)
            return HttpAnswer(self, line, self._exchange(call, target, line))
        except BaseException as exc:
            breaker.let_go()
            if connection is not None:
                connection.close()
            if isinstance(exc, TransportFailed):
                cancel.raise_if_cancelled()
            raise

    def keep(self, origin: _Origin, connection: HTTPConnection) -> None:
        """Takes back a connection whose answer was read to its end."""
        if connection.sock is None:  # the server said that it closes
            return
        now = self._clock.monotonic()
        with self._lock:
            entries = [*self._idle.get(origin, ()), (now, connection)]
            fresh = [entry for entry in entries if now - entry[0] <= IDLE_LIMIT_S][-_IDLE_MAX:]
            gone = [entry for entry in entries if entry not in fresh]  # others take from it soon
            self._idle[origin] = fresh
        for _, old in gone:
            old.close()

    def now(self) -> float:
        """The monotonic clock of its deadlines."""
        return self._clock.monotonic()

    def wait_s(self, deadline: float | None) -> float:
        """How long the next read may block."""
        if deadline is None:
            return self._silence_s
        return min(self._silence_s, max(deadline - self._clock.monotonic(), 0.001))

    def close(self) -> None:
        """Closes every idle connection."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for entries in idle.values():
            for _, connection in entries:
                connection.close()

    def _exchange(self, call: HttpCall, target: str, line: _Line) -> HTTPResponse:
        from efr.providers import connections

        headers = {"User-Agent": f"efr/{VERSION}", **call.headers}
        proxy = None if line.origin.scheme == "https" else self._proxy(line.origin)
        if proxy is not None:  # asked for the whole address, as there is no tunnel
            target = f"http://{_authority(line.origin)}{target}"
            headers |= {"Host": _authority(line.origin)}
            if proxy.authorization is not None:
                headers |= {"Proxy-Authorization": proxy.authorization}
        line.connection.timeout = self.wait_s(line.deadline)
        try:
            line.connection.request(
                call.method, target, body=call.body, headers=headers, preload_content=False
            )
            return line.connection.getresponse()
        except connections.ERRORS as exc:
            raise TransportFailed(connections.failure(exc)) from exc
        except ValueError as exc:  # not one that a second try would change
            raise TransportFailed("a header of the request cannot be sent") from exc

    def _open(self, origin: _Origin, breaker: Breaker) -> HTTPConnection:
        from efr.providers.connections import connection_to

        secure = origin.scheme == "https"
        tls = self._tls_context() if secure else None
        connection = connection_to(origin.host, origin.port, secure)
        target = Target(origin.host, origin.port, tls, self._proxy(origin))
        connection.sock = dial(target, breaker, self._clock, self._resolve)
        return connection

    def _proxy(self, origin: _Origin) -> Proxy | None:
        return self._proxies.of(origin.scheme, origin.host, origin.port)

    def _take(self, origin: _Origin) -> HTTPConnection | None:
        now = self._clock.monotonic()
        while True:
            with self._lock:
                entries = self._idle.get(origin)
                if not entries:
                    return None
                since, connection = entries.pop()
            if now - since <= IDLE_LIMIT_S and connection.is_connected:
                return connection
            connection.close()

    def _tls_context(self) -> ssl.SSLContext:
        with self._lock:
            tls = self._tls
        if tls is None:
            tls = self._make_tls()  # reads the trust store; twice at worst
            with self._lock:
                self._tls = tls
        return tls


def _authority(origin: _Origin) -> str:
    name = f"[{origin.host}]" if ":" in origin.host else origin.host
    return name if origin.port == 80 else f"{name}:{origin.port}"


def _split(url: str) -> tuple[_Origin, str]:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if not host or any(character <= " " or character == "\x7f" for character in host):
            raise ValueError("no host")
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as exc:
        raise TransportFailed("the base URL has no valid host and port") from exc
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Origin(parts.scheme, host, port), target
