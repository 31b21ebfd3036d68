"""What a client hears when something below says no. One table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from efr.agent.gate import GateFull
from efr.store.errors import (
    DeletedConversation,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFault,
    StoreFull,
    UnknownConversation,
)
from efr.wire.errors import ErrorCode, refuse

_ANSWERS: tuple[tuple[type[Exception], ErrorCode, str], ...] = (
    (GateFull, ErrorCode.BUSY, "too many requests wait for this conversation"),
    (UnknownConversation, ErrorCode.NOT_FOUND, "there is no such conversation"),
    (DeletedConversation, ErrorCode.NOT_FOUND, "the conversation was deleted"),
    (StoreBusy, ErrorCode.BUSY, "another program holds the database"),
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
        if isinstance(exc, StoreError):
            raise refuse(ErrorCode.INTERNAL, store_sentence(exc)) from exc
        raise


def store_sentence(exc: StoreError) -> str:
    """What is wrong with the database, by the name of its file."""
    match exc:
        case StoreFull():
            return "the disk is full, so nothing could be recorded"
        case StoreCorrupt():
            file = shown_path(exc.path)
            return f"{file} is damaged; efrd's log says where, docs/operations.md what to do"
        case StoreFault():
            file = shown_path(exc.path)
            return f"{file} could not be read or written: {exc.detail}"
        case _:
            return "the database could not be read or written"


def shown_path(path: Path) -> str:
    """A path of the protocol is text: other bytes become question marks."""
    return os.fsencode(path).decode("utf-8", "replace")
