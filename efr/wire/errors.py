"""Errors of the wire: the body a peer sends, and what goes wrong while reading. Pure.

`Refusal` is how any room above says no to a request; the daemon turns it into an error frame.
"""

from enum import StrEnum
from typing import Any

from msgspec.structs import force_setattr

from efr.wire.scalars import Wire


class ErrorCode(StrEnum):
    """Every code of an error body. A new one bumps the protocol version."""

    PROTOCOL_MISMATCH = "protocol_mismatch"  # the hello names another version of the protocol
    UNAUTHORIZED = "unauthorized"  # no hello yet, no proof yet, or a credential that is refused
    FORBIDDEN = "forbidden"  # the scope is missing, or this kind of peer may never do it
    NOT_FOUND = "not_found"  # a named thing does not exist or is not pending
    CONFLICT = "conflict"  # the request contradicts the present state
    BUSY = "busy"  # not now; a retry may work
    OVERFLOW = "overflow"  # a stream's reader fell behind and the stream was closed
    CANCELLED = "cancelled"  # stopped by its client, or the daemon stops
    INVALID = "invalid"  # a malformed frame or params, or a value that breaks a rule
    INTERNAL = "internal"  # a fault of the daemon


class ErrorBody(Wire, frozen=True):
    """Why a request or a turn failed."""

    code: ErrorCode  # what to act on
    message: str  # one sentence for a person; never parsed
    data: Any = None  # details; the section on errors lists them by case

    def __post_init__(self) -> None:
        force_setattr(self, "data", key_sorted(self.data))


def key_sorted(value: Any) -> Any:
    """Free JSON with the keys of every object sorted by name."""
    if isinstance(value, dict):
        return {key: key_sorted(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [key_sorted(element) for element in value]
    return value


class Refusal(Exception):
    """A request is answered with this error body."""

    def __init__(self, body: ErrorBody) -> None:
        super().__init__(f"{body.code}: {body.message}")
        self.body = body


def refuse(code: ErrorCode, message: str, data: Any = None) -> Refusal:
    """The refusal to raise: a code, one sentence for a person, and details if any."""
    return Refusal(ErrorBody(code, message, data))


class WireError(Exception):
    """Bytes of a peer, or a value of ours, do not fit the protocol."""


class BadValue(WireError):
    """A value does not fit its type. `where` is its path, such as `$.params.limit`."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where = where
        self.why = why


class BadFrame(WireError):
    """A payload is no valid frame. `id` is its request when that much could be read."""

    def __init__(self, id: int | None, why: str) -> None:
        super().__init__(why)
        self.id = id
        self.why = why


def no_method(name: str) -> str:
    """What an unknown method is answered; a client knows by it that the daemon is older."""
    return f"there is no method {name!r}"


class FrameTooLarge(WireError):
    """A length above the limit: the stream is out of step. `frames` came complete before it."""

    def __init__(self, length: int, frames: list[bytes]) -> None:
        super().__init__(f"a frame of {length} bytes")
        self.length = length
        self.frames = frames


class TornFrame(WireError):
    """The stream ended inside a frame, `missing` bytes early (at least)."""

    def __init__(self, missing: int) -> None:
        super().__init__(f"the stream ended {missing} bytes early")
        self.missing = missing
