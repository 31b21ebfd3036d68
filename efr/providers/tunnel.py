"""Asks a proxy for a tunnel to a server: CONNECT (RFC 9110 section 9.3.6). Blocks on the socket."""

from __future__ import annotations

import socket
from typing import Final

from efr.providers.proxies import Proxy

_HEAD_MAX_BYTES: Final = 16 * 1024  # of the proxy's answer; a few hundred bytes are usual
_STATUS_MAX_CHARS: Final = 100


class TunnelRefused(OSError):
    """The proxy answered something else; the message holds its words."""


def open_tunnel(sock: socket.socket, proxy: Proxy, host: str, port: int) -> None:
    """Returns when the next byte on the socket is the server's. Raises OSError."""
    name = f"[{host}]" if ":" in host else host
    lines = [f"CONNECT {name}:{port} HTTP/1.1", f"Host: {name}:{port}"]
    if proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    sock.sendall("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))
    head = b""
    while not head.endswith((b"\r\n\r\n", b"\n\n")):
        byte = sock.recv(1)  # not one byte of what comes behind
        if not byte or len(head) > _HEAD_MAX_BYTES:
            raise TunnelRefused("the proxy gave no answer")
        head += byte
    _, _, status = head.partition(b"\n")[0].decode("latin-1").partition(" ")
    if not status.startswith("2"):
        raise TunnelRefused(f"the proxy answered {status.strip()[:_STATUS_MAX_CHARS]}")
