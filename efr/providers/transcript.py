"""Records model calls to a file of JSON lines, for whoever debugs a provider.

Off unless EFR_RECORD_TRANSCRIPT names a file. Any thread; each line is one append. Only calls
that ask for it are recorded: token exchanges, key checks and model lists never are. Headers that
hold a credential or name an account are hidden, and a URL loses user info and query values. A file
that cannot be written ends the recording, never a call.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from efr.providers.canonical import Json, StreamEvent, encode_event
from efr.providers.provider_json import NotJson, compact, parse
from efr.providers.server_values import HIDDEN, safe_url

log = logging.getLogger("efr.providers")

_HIDDEN_HEADERS: Final = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
        "x-api-key",
        "chatgpt-account-id",
        "openai-organization",
        "openai-project",
        "anthropic-workspace-id",
        "anthropic-organization-id",
    }
)


class Transcript:
    """The file; lines of several calls may interleave."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._broken = False

    def request(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """A call that is about to be sent."""
        text = body.decode("utf-8", "replace")
        try:
            value: Json = parse(text)
        except NotJson:
            value = text
        data = {"method": method, "url": safe_url(url), "headers": _shown(headers), "body": value}
        self._append(compact({"kind": "request", "data": data}).encode())

    def response(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of its answer."""
        data = {"status": status, "headers": _shown(headers)}
        self._append(compact({"kind": "response", "data": data}).encode())

    def event(self, event: StreamEvent) -> None:
        """One canonical event of the answer."""
        self._append(encode_event(event))

    def _append(self, line: bytes) -> None:
        with self._lock:  # a line is written whole, whatever its length
            if self._broken:
                return
            try:
                self._write(line + b"\n")
            except OSError as exc:
                self._broken = True
                failure = exc.strerror
            else:
                return
        log.warning("model calls are not recorded any more: %s: %s", self._path, failure)

    def _write(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        with os.fdopen(os.open(self._path, flags, 0o600), "wb") as file:
            file.write(line)


def _shown(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name.lower(): HIDDEN if name.lower() in _HIDDEN_HEADERS else value
        for name, value in headers.items()
    }
