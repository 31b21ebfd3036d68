"""The page of this machine that a browser comes back to after a login.

Blocks the calling thread in `wait`; owns the port from `open` to `close`. It listens on 127.0.0.1
alone and serves one thing: `GET /auth/callback`. Its pages are fixed texts, so nothing of a request
comes back, and each is written before the login goes on.
"""

from __future__ import annotations

import os
import selectors
import socket
from collections.abc import Callable
from typing import Final, Self
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from efr.base.cancel import Cancel, Cancelled
from efr.base.clock import Clock

PATH: Final = "/auth/callback"
_HEAD_LIMIT_BYTES: Final = 16 * 1024
_OPEN_MAX: Final = 16  # a browser opens a few connections ahead of time
_WRITE_LIMIT_S: Final = 2.0  # for a page of some hundred bytes to this machine

_DONE: Final = "Login received. You can close this page and go back to the terminal."
_REFUSED: Final = "The login was refused. The terminal says more."
_STRANGE: Final = "This page belongs to another login. Nothing was changed."
_NO_PAGE: Final = "There is no such page."
_WRONG_METHOD: Final = "This page takes no such request."
_REASONS: Final = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}


class LoginRefused(Exception):
    """The provider's page ended the login. The message is its error code, cut."""


class NoAnswer(Exception):
    """The time was over."""


class _Reply(Struct, frozen=True):
    """A page, and how the login goes on: a code, a refusal, or neither."""

    status: int
    page: str
    code: str | None = None
    refused: str | None = None

    def __repr__(self) -> str:
        return f"_Reply({self.status})"


class Callback:
    """The listening socket of one login."""

    def __init__(self, listener: socket.socket, clock: Clock) -> None:
        self._listener = listener
        self._clock = clock

    @classmethod
    def open(cls, port: int, clock: Clock) -> Self:
        """Takes the port. Raises OSError when another process has it."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
            listener.listen(_OPEN_MAX)
            listener.setblocking(False)
        except OSError:
            listener.close()
            raise
        return cls(listener, clock)

    def close(self) -> None:
        """Frees the port. May be called twice."""
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self, is_state: Callable[[str], bool], limit_s: float, cancel: Cancel) -> str:
        """The code that came with the right state. Raises LoginRefused, NoAnswer, Cancelled."""
        deadline = self._clock.monotonic() + limit_s
        wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        forget = cancel.on_cancel(lambda: os.eventfd_write(wake, 1))
        heads: dict[socket.socket, bytes] = {}
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(wake, selectors.EVENT_READ)
            try:
                while (left := deadline - self._clock.monotonic()) > 0:
                    for key, _ in selector.select(left):
                        if key.fileobj is self._listener:
                            self._accept(selector, heads)
                        elif isinstance(key.fileobj, socket.socket):
                            reply = _served(key.fileobj, selector, heads, is_state)
                            if reply is not None and reply.refused is not None:
                                raise LoginRefused(reply.refused)
                            if reply is not None and reply.code is not None:
                                return reply.code
                    if cancel.cancelled:
                        raise Cancelled
                raise NoAnswer
            finally:
                forget()
                for connection in heads:
                    connection.close()
                os.close(wake)

    def _accept(self, selector: selectors.BaseSelector, heads: dict[socket.socket, bytes]) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # it went away, or there is no descriptor: the next one may work
            return
        if len(heads) == _OPEN_MAX:  # the oldest has had its time
            _drop(next(iter(heads)), selector, heads)
        connection.setblocking(False)
        heads[connection] = b""
        selector.register(connection, selectors.EVENT_READ)


def _served(
    connection: socket.socket,
    selector: selectors.BaseSelector,
    heads: dict[socket.socket, bytes],
    is_state: Callable[[str], bool],
) -> _Reply | None:
    """Reads on; answers and closes once the head of the request is whole."""
    if connection not in heads:  # dropped in this very round
        return None
    try:
        more = connection.recv(_HEAD_LIMIT_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        more = b""
    heads[connection] += more
    whole = b"\r\n\r\n" in heads[connection]
    if more and not whole and len(heads[connection]) <= _HEAD_LIMIT_BYTES:
        return None
    head = heads[connection]
    reply = None
    if whole:
        reply = _reply(head.partition(b"\r\n")[0].decode("latin-1"), is_state)
        _write(connection, reply)
    _drop(connection, selector, heads)
    return reply


def _drop(
    connection: socket.socket,
    selector: selectors.BaseSelector,
    heads: dict[socket.socket, bytes],
) -> None:
    selector.unregister(connection)
    del heads[connection]
    connection.close()


def _reply(request_line: str, is_state: Callable[[str], bool]) -> _Reply:
    """What a request line gets. The first occurrence of a parameter counts."""
    method, _, rest = request_line.partition(" ")
    try:
        target = urlsplit(rest.partition(" ")[0])
        pairs = parse_qsl(target.query, keep_blank_values=True, max_num_fields=64)
    except ValueError:
        return _Reply(404, _NO_PAGE)
    if target.path != PATH:
        return _Reply(404, _NO_PAGE)
    if method != "GET":
        return _Reply(405, _WRONG_METHOD)
    query = dict(reversed(pairs))
    if not is_state(query.get("state", "")):
        return _Reply(400, _STRANGE)
    if error := query.get("error"):
        return _Reply(200, _REFUSED, refused=_plain(error))
    if code := query.get("code"):
        return _Reply(200, _DONE, code=code)
    return _Reply(400, _REFUSED, refused="no code came back")


def _plain(error: str) -> str:
    """An error code of the page as one short printable word or line."""
    return "".join(c if c.isprintable() else "?" for c in error[:100])


def _write(connection: socket.socket, reply: _Reply) -> None:
    page = f"<!doctype html><meta charset=utf-8><title>efr</title><p>{reply.page}</p>\n".encode()
    head = (
        f"HTTP/1.1 {reply.status} {_REASONS[reply.status]}\r\n"
        "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n"
        "Referrer-Policy: no-referrer\r\n"
        f"Content-Length: {len(page)}\r\nConnection: close\r\n\r\n"
    )
    try:
        connection.settimeout(_WRITE_LIMIT_S)
        connection.sendall(head.encode() + page)
    except OSError:
        pass  # the browser is gone; what it brought counts
