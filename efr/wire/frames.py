"""Frames by their shape: what a client sends and what the daemon answers. Pure; any thread.

A frame's bytes on a stream are `framing`; what stands in `params` and `item` is `table`.
Facts: protocol, client frames and server frames.
"""

from typing import Annotated, Any, Final, NoReturn, TypeAlias, TypeVar

from msgspec import Meta, field

from efr.wire.codec import encode, from_builtins, read_json, read_own_json
from efr.wire.errors import BadFrame, BadValue, ErrorBody
from efr.wire.framing import MAX_FRAME
from efr.wire.scalars import U64, Wire


class Request(Wire, frozen=True):
    """A client asks."""

    id: U64
    method: str
    params: dict[str, Any]


class CancelFrame(Wire, frozen=True):
    """A client no longer wants the answer of that request."""

    cancel: U64


class ItemFrame(Wire, frozen=True):
    """The result of a unary method, or one item of a stream."""

    id: U64
    item: Any


def _always() -> bool:
    return True


class EndFrame(Wire, frozen=True):
    """The request is finished."""

    id: U64
    end: Annotated[bool, Meta(extra={"const": True})] = field(default_factory=_always)


class ErrorFrame(Wire, frozen=True, kw_only=True):
    """The request failed; without an id the connection is of no use any more."""

    id: U64 | None = None
    error: ErrorBody


class AckFrame(Wire, frozen=True):
    """A streaming request was accepted."""

    ack: U64


ClientFrame: TypeAlias = Request | CancelFrame
ServerFrame: TypeAlias = ItemFrame | EndFrame | ErrorFrame | AckFrame

F = TypeVar("F")

_MAX_ID: Final = 2**64 - 1
_ID_DIGITS: Final = 20
_NO_OBJECT: Final = "a frame is an object"
# Of a client's frame. 16 MiB of `[]` would take the daemon's one reader seconds, and all others
# would wait; the largest frame that a client means has some hundred values and one long text.
MAX_VALUES: Final = 100_000
MAX_MESSAGE: Final = 1000  # characters of an error's: one sentence, and a path that it names
_STARTS: Final = (b",", b"[", b"{")  # each value but the first stands behind one

_ANSWERS: Final[dict[str, Any]] = {
    "item": ItemFrame,
    "end": EndFrame,
    "error": ErrorFrame,
    "ack": AckFrame,
}


def read_client_frame(body: bytes) -> ClientFrame:
    """What a client sent. Raises BadFrame, with the request's id where one can be read."""
    if holds_more(body, MAX_VALUES):
        raise BadFrame(None, f"a frame holds at most {MAX_VALUES} values")
    try:
        frame = read_json(body)
    except BadValue as bad:
        raise BadFrame(_id_said(body), bad.why) from bad
    if type(frame) is not dict:
        raise BadFrame(None, _NO_OBJECT)
    if "cancel" not in frame:
        return _as(Request, frame)
    if "method" in frame:
        raise BadFrame(_id_of(frame), "a frame is a request or a cancel, not both")
    return _as(CancelFrame, frame)


def read_server_frame(body: bytes) -> ServerFrame:
    """What the daemon sent. Raises BadFrame, with the request's id where one can be read."""
    try:
        frame = read_own_json(body)
    except BadValue as bad:
        raise BadFrame(None, bad.why) from bad
    if type(frame) is not dict:
        raise BadFrame(None, _NO_OBJECT)
    id = frame.get("id")
    if "item" in frame and len(frame) == 2 and type(id) is int and 0 <= id <= _MAX_ID:
        return ItemFrame(id, frame["item"])  # nearly every frame, and nothing left to judge
    for name in ("id", "ack"):
        if type(frame.get(name)) is int and frame[name] > _MAX_ID:  # as `read_own_json` reads it
            raise BadFrame(None, f"$.{name}: more than 64 bits")
    shapes = _ANSWERS.keys() & frame
    if len(shapes) != 1:
        raise BadFrame(_id_of(frame), "a frame has exactly one of item, end, error and ack")
    if "end" in frame and frame["end"] is not True:
        raise BadFrame(_id_of(frame), "end is always true")
    answer: ServerFrame = _as(_ANSWERS[shapes.pop()], frame)
    return answer


def request_frame(id: int, method: str, params: bytes) -> bytes:
    """A request whose params are encoded already."""
    return b'{"id":%d,"method":%b,"params":%b}' % (id, encode(method), params)


def cancel_frame(id: int) -> bytes:
    """A cancel of that request."""
    return b'{"cancel":%d}' % id


def item_frame(id: int, item: bytes) -> bytes:
    """An item that is encoded already."""
    return b'{"id":%d,"item":%b}' % (id, item)


def end_frame(id: int) -> bytes:
    """The end of that request."""
    return b'{"id":%d,"end":true}' % id


def error_frame(id: int | None, error: ErrorBody) -> bytes:
    """The failure of that request, or of the connection without an id.

    Always a frame: what it says may quote a peer, so a long message is cut, what is no Unicode in
    it is replaced, and `data` that cannot be sent is left out.
    """
    message = error.message
    if len(message) > MAX_MESSAGE:
        message = f"{message[:MAX_MESSAGE]}…"
    message = message.encode(errors="replace").decode()
    try:
        frame = encode(ErrorFrame(id=id, error=ErrorBody(error.code, message, error.data)))
    except BadValue:
        frame = b""
    if 0 < len(frame) <= MAX_FRAME:
        return frame
    return encode(ErrorFrame(id=id, error=ErrorBody(error.code, message)))


def ack_frame(id: int) -> bytes:
    """The acknowledgement of a stream; no method of this version documents one."""
    return b'{"ack":%d}' % id


def holds_more(body: bytes, most: int) -> bool:
    """Whether JSON has more objects, lists and commas than that, told without reading it.

    Only what stands outside of texts counts: a text may be as long as it likes.
    """
    if len(body) <= most or sum(map(body.count, _STARTS)) <= most:
        return False
    bare = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # now every quote begins or ends a text
    if bare.count(b'"') > 4 * most + 4:  # a name and a value have two each
        return True
    outside = b"".join(bare.split(b'"')[::2])
    return sum(map(outside.count, _STARTS)) > most


def _id_said(body: bytes) -> int | None:
    """The id of a frame that holds a value which nobody can take, so that it alone is refused.

    Such as a fraction out of range, half a character, a value too deep. None: it is no JSON.
    """
    import json  # for what is wrong; a frame that is right never comes here

    try:
        frame = json.loads(body.decode(), parse_int=_short_int, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return _id_of(frame) if type(frame) is dict else None


def _short_int(digits: str) -> int:
    return int(digits) if len(digits) <= _ID_DIGITS else _MAX_ID + 1


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _id_of(frame: dict[str, Any]) -> int | None:
    """The frame's id, when that is an unsigned integer."""
    id = frame.get("id")
    return id if type(id) is int and 0 <= id <= _MAX_ID else None


def _as(kind: type[F], frame: dict[str, Any]) -> F:
    try:
        return from_builtins(frame, kind)
    except BadValue as bad:
        raise BadFrame(_id_of(frame), str(bad)) from bad
