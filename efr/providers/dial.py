"""Opens one TCP or TLS connection that another thread can cut at any moment.

The calling thread blocks; a Breaker holds a second handle of the socket, so that a cancel ends
connect, handshake, write and read alike. A `close()` from another thread would wake none of
them, and shutting the TLS object itself down would pull it away under its reader. A name lookup
cannot be cut, as getaddrinfo(3) has no such way: who cannot wait for it passes another Resolve.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import ssl
import threading
from typing import Any, Final, Protocol

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.providers.errors import TransportFailed
from efr.providers.proxies import Proxy
from efr.providers.tunnel import open_tunnel

CONNECT_LIMIT_S: Final = 10.0  # name, TCP and TLS together; a live server needs well under 1 s
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
_TRUST: Final = "efrd trusts the system's authorities, and those of a file that SSL_CERT_FILE names"


class Breaker:
    """Cuts one exchange when its Cancel fires. cut() may come from any thread."""

    def __init__(self, cancel: Cancel) -> None:
        self._lock = threading.Lock()
        self._handle: socket.socket | None = None
        self._fired = False
        self.cancel = cancel
        self._forget = cancel.on_cancel(self.cut)

    def hold(self, sock: socket.socket) -> None:
        """Watches this socket from now on, in place of the one before."""
        handle = socket.socket(fileno=os.dup(sock.fileno()))
        with self._lock:
            before, self._handle = self._handle, handle
            if self._fired:
                _shut_down(handle)
        if before is not None:
            before.close()

    def cut(self) -> None:
        """Ends every blocked call on the socket; never blocks."""
        with self._lock:  # over one immediate system call, so that let_go cannot close it inside
            self._fired = True
            if self._handle is not None:
                _shut_down(self._handle)

    def let_go(self) -> None:
        """From here on the socket is safe, even from a cut that is on its way."""
        self._forget()
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()


class Resolve(Protocol):
    """The addresses of a host, as getaddrinfo returns them, within limit_s.

    Raises OSError, UnicodeError, Cancelled.
    """

    def __call__(self, host: str, port: int, cancel: Cancel, limit_s: float) -> list[Any]: ...


def resolve_here(host: str, port: int, cancel: Cancel, limit_s: float) -> list[Any]:
    """On this thread, however long it takes."""
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


class Target(Struct, frozen=True):
    """Where to: a server, in TLS with a context; its proxy when there is one on the way."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    proxy: Proxy | None = None


def dial(
    target: Target, breaker: Breaker, clock: Clock, resolve: Resolve = resolve_here
) -> socket.socket:
    """A connected socket; for a proxy and no TLS, one of the proxy itself.

    Raises TransportFailed(sent=False), Cancelled.
    """
    deadline = clock.monotonic() + CONNECT_LIMIT_S
    first = target if target.proxy is None else target.proxy
    try:
        addresses = resolve(first.host, first.port, breaker.cancel, CONNECT_LIMIT_S)
    except (OSError, UnicodeError) as exc:
        told = f"no address of {first.host}{_way(target)}: {_reason(exc)}"
        raise TransportFailed(told, sent=False) from exc
    failure = "no address"
    for index, (family, kind, protocol, _, address) in enumerate(addresses):
        # One silent address may not use up the time of those behind it.
        share_s = (deadline - clock.monotonic()) / (len(addresses) - index)
        sock = socket.socket(family, kind, protocol)
        try:
            _connect(sock, address, max(share_s, 0.0), breaker)
            return _secure(sock, target, deadline - clock.monotonic())
        except (OSError, ValueError) as exc:  # ValueError: no name that TLS could ask for
            sock.close()
            failure = _reason(exc)
    name = f"[{target.host}]" if ":" in target.host else target.host
    told = f"no connection to {name}:{target.port}{_way(target)}: {failure}"
    raise TransportFailed(told, sent=False)


def _way(target: Target) -> str:
    return "" if target.proxy is None else f" through the proxy of {target.proxy.variable}"


def _connect(
    sock: socket.socket, address: tuple[object, ...], limit_s: float, breaker: Breaker
) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        sock.connect(address)
    breaker.hold(sock)  # after connect began: a shutdown of a fresh socket would do nothing
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_WRITE)
        if not selector.select(limit_s):
            raise TimeoutError("no answer in time")
    error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))


def _secure(sock: socket.socket, target: Target, limit_s: float) -> socket.socket:
    sock.settimeout(max(limit_s, 0.001))
    if target.tls is None:
        return sock
    if target.proxy is not None:
        open_tunnel(sock, target.proxy, target.host, target.port)
    return target.tls.wrap_socket(sock, server_hostname=target.host)


def _shut_down(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the peer was faster
        sock.shutdown(socket.SHUT_RDWR)


def _reason(exc: Exception) -> str:
    """The system's words for it, without host or address."""
    if isinstance(exc, ssl.SSLCertVerificationError):
        return f"the certificate was refused ({exc.verify_message}): {_TRUST}"
    if isinstance(exc, ssl.SSLError) and exc.reason in _NO_TLS:
        return "the server speaks no TLS: is it an http:// address?"
    if isinstance(exc, ssl.SSLError):
        return f"no TLS connection ({exc.reason or 'closed'})"
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror
    return str(exc) or type(exc).__name__
