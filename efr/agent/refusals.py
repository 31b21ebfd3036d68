"""What a client hears when something below says no. One table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from efr.agent.gate import GateFull
from efr.store.errors import (
    DeletedConversation,
    StoreBusy,
    StoreError,
    StoreFull,
    UnknownConversation,
)
from efr.wire.errors import ErrorCode, refuse

_ANSWERS: tuple[tuple[type[Exception], ErrorCode, str], ...] = (
    (GateFull, ErrorCode.BUSY, "too many requests wait for this conversation"),
    (UnknownConversation, ErrorCode.NOT_FOUND, "there is no such conversation"),
    (DeletedConversation, ErrorCode.NOT_FOUND, "the conversation was deleted"),
    (StoreBusy, ErrorCode.BUSY, "another program holds the database"),
    (StoreFull, ErrorCode.INTERNAL, "the disk is full, so nothing could be recorded"),
    (StoreError, ErrorCode.INTERNAL, "the database could not be read or written"),
)


@contextmanager
def refusing() -> Iterator[None]:
    """Turns faults of the store and full gates into refusals; everything else passes through."""
    try:
        yield
    except (GateFull, StoreError) as exc:
        for kind, code, message in _ANSWERS:
            if isinstance(exc, kind):
                raise refuse(code, message) from exc
        raise
