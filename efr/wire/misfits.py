"""How a plain value does not fit its type, whoever found out, as one BadValue. Pure; any thread.

msgspec, the forms of ids and times, and the codec itself each raise an exception of their own; on
the way out of nested values each level puts its step in front of the path.
"""

from __future__ import annotations

from typing import Final

from msgspec import ValidationError

from efr.wire.errors import BadValue


class NotKnown(Exception):
    """A member makes the whole object of a union unknown; outside a union it is a fault."""


MISFITS: Final = (ValidationError, BadValue, ValueError, NotKnown)


def bad_value(misfit: Exception, step: str = "") -> BadValue:
    """The BadValue of one of MISFITS, at that step below `$`, such as `.limit` or `[2]`."""
    if isinstance(misfit, BadValue):
        return BadValue(f"${step}{misfit.where[1:]}", misfit.why)  # never its own cause
    if isinstance(misfit, ValidationError):
        where, why = _told(str(misfit))
        return BadValue(f"${step}{where}", why)
    return BadValue(f"${step}", str(misfit) or "an unknown value outside a union")


def _told(said: str) -> tuple[str, str]:
    """The path below `$` and the reason: msgspec may quote text of the value before its path."""
    why, has_path, where = said.rpartition(" - at `$")
    if has_path and where.endswith("`") and "`" not in where[:-1]:
        return where[:-1], why
    return "", said
