"""One request whose text must leave no copy behind: a typed answer.

The frame is built in one buffer, sent from it and overwritten; no string or bytes object of the
text is made. The text has no control character, so only two signs need an escape (RFC 8259, 7).
"""

from __future__ import annotations

import json

from efr.client.connection import Connection

_ESCAPED = frozenset(b'"\\')


def respond(
    connection: Connection,
    conversation_id: str,
    call_id: str,
    secret: memoryview,
    *,
    hidden: bool,
    manual: bool = False,
) -> int:
    """Sends `input.respond` and returns the request's id. Wipes its own buffer, not `secret`."""
    members = {"conversation_id": conversation_id, "call_id": call_id}
    head = json.dumps(members, separators=(",", ":"))[:-1] + ',"text":"'
    tail = f'","hidden":{json.dumps(hidden)}' + (',"manual":true}' if manual else "}")
    params = bytearray(len(head) + 2 * len(secret) + len(tail))
    size = _put(params, 0, head.encode())
    for byte in secret:
        if byte in _ESCAPED:
            params[size] = 0x5C
            size += 1
        params[size] = byte
        size += 1
    size = _put(params, size, tail.encode())
    try:
        return connection.start_buffer("input.respond", memoryview(params)[:size])
    finally:
        params[:] = bytes(len(params))


def _put(buffer: bytearray, at: int, text: bytes) -> int:
    """Writes `text` at `at`; returns where it ends."""
    buffer[at : at + len(text)] = text
    return at + len(text)
