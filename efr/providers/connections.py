"""The HTTP library, as far as `efr.providers.http` uses it: a connection, its answer, its errors.

Loaded with the first exchange, and not with efrd: urllib3 and what it brings would be a seventh of
its start. Pure construction; `http.py` dials, reads and closes.
"""

from __future__ import annotations

import http
import http.client
from typing import Final

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.exceptions import TimeoutError as LibraryTimeout

ERRORS: Final = (OSError, http.client.HTTPException, HTTPError)
_INTERIM_MAX: Final = 32  # servers send one, or one for every some seconds of work


class _FinalResponse(http.client.HTTPResponse):
    """Skips every interim answer (RFC 9110 section 15.2); the library skips status 100 alone."""

    def begin(self) -> None:
        super().begin()
        for _ in range(_INTERIM_MAX):
            if not 100 <= self.status < 200 or self.status == http.HTTPStatus.SWITCHING_PROTOCOLS:
                return
            self.headers = self.msg = None  # type: ignore[assignment]  # nothing was read yet
            super().begin()
        raise http.client.HTTPException("an endless row of interim answers")


def connection_to(host: str, port: int, secure: bool) -> HTTPConnection:
    """One without a socket."""
    connection = (HTTPSConnection if secure else HTTPConnection)(host, port)
    connection.response_class = _FinalResponse
    return connection


def failure(exc: Exception) -> str:
    """What broke, without URL or header."""
    if isinstance(exc, TimeoutError | LibraryTimeout):
        return "the server was silent for too long"
    if isinstance(exc, http.client.BadStatusLine) and not isinstance(exc, ConnectionError):
        return "the server does not speak HTTP"
    return "the connection broke"
