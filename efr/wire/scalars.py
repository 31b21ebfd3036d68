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

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct


class Wire(Struct, frozen=True, omit_defaults=True, repr_omit_defaults=True):
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

UUID = Meta(extra={"form": "uuid"})

ConversationId: TypeAlias = Annotated[str, UUID]
TurnId: TypeAlias = Annotated[str, UUID]
CommandId: TypeAlias = Annotated[str, UUID]
CallId: TypeAlias = Annotated[str, UUID]
PtyId: TypeAlias = Annotated[str, UUID]
DeviceId: TypeAlias = Annotated[str, UUID]
QuestionId: TypeAlias = Annotated[str, UUID]
CompactionId: TypeAlias = Annotated[str, UUID]
DaemonId: TypeAlias = Annotated[str, UUID]
ProjectId: TypeAlias = Annotated[str, UUID]
PairingId: TypeAlias = Annotated[str, UUID]
UndoId: TypeAlias = Annotated[str, UUID]

JobId: TypeAlias = Annotated[str, Meta(extra={"form": "job"})]
Seq: TypeAlias = U64
Cursor: TypeAlias = str
Path: TypeAlias = str
Time: TypeAlias = Annotated[str, Meta(extra={"form": "time"})]
Bytes: TypeAlias = Annotated[bytes, Meta(extra={"form": "base64"})]
# A typed line or a key: plain text on the wire, hidden in every repr (`SecretRepr`).
Secret: TypeAlias = Annotated[str, Meta(extra={"secret": True})]

PROTOCOL_VERSION = 1
