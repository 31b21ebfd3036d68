"""JSON as providers write it and as they want it back.

Pure. The standard library's parser, because it reads lone surrogate escapes (which become
U+FFFD here) where the wire's codec refuses the whole document. What `parse` returns can always
be stored: finite numbers, integers of 64 bits, bounded depth, valid Unicode.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn

_DEPTH_MAX: Final = 100  # far above any real answer, below what the wire's encoder takes (254)
_INT_MIN: Final = -(2**63)
_INT_MAX: Final = 2**64 - 1  # the range that the wire's encoder takes


class NotJson(ValueError):
    """The text is not JSON, or holds a value that could not be stored again."""


def parse(text: str) -> Any:
    """The value of one JSON document. Raises NotJson."""
    try:
        return _checked(json.loads(text, parse_constant=_refuse_constant), 0)
    except (ValueError, RecursionError) as exc:
        raise NotJson(str(exc)) from exc


def compact(value: Any) -> str:
    """JSON without spaces, members in their own order, non-ASCII as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def clean_text(text: str) -> str:
    """The text with U+FFFD in place of each lone surrogate."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _refuse_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is not a JSON number")


def _checked(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and not _INT_MIN <= value <= _INT_MAX:
        raise NotJson("an integer of more than 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise NotJson("a number without a finite value")
    if depth >= _DEPTH_MAX and isinstance(value, dict | list):
        raise NotJson("nested too deeply")
    if isinstance(value, dict):
        return {clean_text(k): _checked(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [_checked(v, depth + 1) for v in value]
    return value
