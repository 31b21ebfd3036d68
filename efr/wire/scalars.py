"""The base of all wire types and the scalars they are made of. Pure declarations.

How a member's presence (protocol, notation) is declared, and `codec` reads it:

    R     no default
    O     `X | None = None`
    F     `bool = False`        L  `tuple[X, ...] = ()`      Z, Z1  `U32 = 0`, `U32 = 1`
    E     `X = X()`: left out when equal to it
    D(x)  `field(default_factory=...)`: always written

Members stand in the order they are written. `msgspec` checks types and ranges; what it cannot
say (ids, times, base64) is a `form` that the codec looks up.
"""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct


class Wire(Struct, frozen=True, omit_defaults=True, repr_omit_defaults=True, gc=False):
    """A frozen value of the protocol."""


class Tagged(Wire, frozen=True, tag_field="kind"):
    """One kind of a union: `kind` comes first and says which."""


class Params(Wire, frozen=True):
    """Params of a method. In them an unknown value of an open set is refused, not kept."""


U8: TypeAlias = Annotated[int, Meta(ge=0, le=2**8 - 1)]
U16: TypeAlias = Annotated[int, Meta(ge=0, le=2**16 - 1)]
U32: TypeAlias = Annotated[int, Meta(ge=0, le=2**32 - 1)]
# The JSON reader and writer hold no integer above 2**64 - 1, and msgspec takes no such bound.
U64: TypeAlias = Annotated[int, Meta(ge=0, extra={"bits": 64})]
I32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


def _named(name: str, about: str, **extra: object) -> Meta:
    """A scalar with a name of its own: the docs page and the schema call it so."""
    return Meta(description=about, extra={"name": name, **extra})


def _id(name: str, about: str) -> Meta:
    return _named(name, about, form="uuid")


ConversationId: TypeAlias = Annotated[str, _id("ConversationId", "A conversation.")]
TurnId: TypeAlias = Annotated[str, _id("TurnId", "A prompt and everything done for it.")]
CommandId: TypeAlias = Annotated[str, _id("CommandId", "One write; its client mints it.")]
CallId: TypeAlias = Annotated[str, _id("CallId", "A tool call of a turn.")]
PtyId: TypeAlias = Annotated[str, _id("PtyId", "The terminal of a hidden shell.")]
DeviceId: TypeAlias = Annotated[str, _id("DeviceId", "An enrolled device.")]
QuestionId: TypeAlias = Annotated[str, _id("QuestionId", "A question that is no approval.")]
CompactionId: TypeAlias = Annotated[str, _id("CompactionId", "A compaction.")]
DaemonId: TypeAlias = Annotated[str, _id("DaemonId", "One installation; clients pin it.")]
ProjectId: TypeAlias = Annotated[str, _id("ProjectId", "A registered project.")]
PairingId: TypeAlias = Annotated[str, _id("PairingId", "A pairing in progress.")]
UndoId: TypeAlias = Annotated[str, _id("UndoId", "One undo.")]

_JOB = _named("JobId", "A job of a conversation: `j1`, `j2` and so on.", form="job")
JobId: TypeAlias = Annotated[str, _JOB]
# As a U64, with a name.
_SEQ = Meta(
    ge=0, description="A place in the event log, from 1.", extra={"name": "Seq", "bits": 64}
)
Seq: TypeAlias = Annotated[int, _SEQ]
Cursor: TypeAlias = Annotated[str, _named("Cursor", "A place in a paged list; opaque.")]
Path: TypeAlias = Annotated[str, _named("Path", "A path of a file or folder.")]
_TIME = _named("Time", "An instant, RFC 3339 in UTC.", form="time")
Time: TypeAlias = Annotated[str, _TIME]
_BYTES = _named("Bytes", "Bytes as standard base64 with padding.", form="base64")
Bytes: TypeAlias = Annotated[bytes, _BYTES]
# A typed line or a key: plain text on the wire, left out of every repr.
Secret: TypeAlias = Annotated[str, _named("Secret", "Plain text that is never logged.")]

PROTOCOL_VERSION = 1
