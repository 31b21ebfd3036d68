"""How large what a person sends may be: an event must fit into a frame with room to spare.

Pure. Otherwise the conversation that holds it could never be read again (docs/protocol.md, "Size
limits").
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from efr.wire import codec
from efr.wire import types as t
from efr.wire.errors import refuse

TEXT_LIMIT: Final = 4 * 1024 * 1024  # bytes; more than the window of any model holds
CONTEXT_LIMIT: Final = 64 * 1024  # bytes of the encoded form; some paths and names


def check_text(text: str, what: str, waiting: Iterable[str] = ()) -> None:
    """Raises `invalid` for a text that is empty or too long together with those that wait."""
    if not text.strip():
        raise refuse(t.ErrorCode.INVALID, f"{what} is empty")
    size = len(text.encode())
    if size > TEXT_LIMIT:
        raise refuse(
            t.ErrorCode.INVALID, f"{what} has {size} bytes; at most {TEXT_LIMIT} are taken"
        )
    held = sum(len(one.encode()) + 1 for one in waiting)
    if held + size > TEXT_LIMIT:
        raise refuse(t.ErrorCode.BUSY, f"texts of {held} bytes wait to be read by the model")


def check_context(context: t.ShellContext | None) -> None:
    """Raises `invalid` for a context that no shell has."""
    if context is None:
        return
    size = len(codec.encode(context))
    if size > CONTEXT_LIMIT:
        raise refuse(
            t.ErrorCode.INVALID, f"the context has {size} bytes; at most {CONTEXT_LIMIT} are taken"
        )
