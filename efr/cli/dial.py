"""The fast path: connect, and send hello and the first request in one write.

Nothing large is loaded before the frames are out; the daemon answers hello before it reads the
next frame, so both can go together. A test compares the frames with those of `efr.wire`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from efr.base.version import VERSION
from efr.client.address import socket_path
from efr.client.link import Link

PROTOCOL = 1  # efr.wire's PROTOCOL_VERSION, without loading it
HELLO, REQUEST = 1, 2  # ids of the two requests


class Dialled(NamedTuple):
    """A link with two requests under way."""

    link: Link
    path: str
    hello: dict[str, Any]
    params: Mapping[str, Any]


def hello_params(origin: str, tty: str) -> dict[str, Any]:
    """The members of `hello` in their order."""
    members = {
        "protocol": PROTOCOL,
        "origin": origin,
        "client": f"efr {VERSION}",
        "capabilities": {},
        "tty": tty,
        "pid": os.getpid(),
    }
    return {name: value for name, value in members.items() if value != ""}


def frame(request: int, method: str, params: Mapping[str, Any]) -> bytes:
    """A request as one compact JSON object."""
    value = {"id": request, "method": method, "params": params}
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def reach(env: Mapping[str, str]) -> tuple[Link, str]:
    """Connects; the link and its path. Raises NoAddress, NoDaemon."""
    path = socket_path(env)
    return Link.open(path), path


def send_first(
    link: Link, path: str, hello: dict[str, Any], method: str, params: Mapping[str, Any]
) -> Dialled:
    """Sends both frames in one write. Raises ConnectionLost, NoAnswer."""
    link.send(frame(HELLO, "hello", hello), frame(REQUEST, method, params))
    return Dialled(link, path, hello, params)
