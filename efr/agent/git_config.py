"""A git repository's own configuration file, as far as efr needs it. Pure.

`read_config` gives the last value of each key of the sections without a subsection. What git itself
reads of a repository before it knows its work tree comes from this one file: includes do not count
there. Source: git-config(1), "Syntax".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_SECTION: Final = re.compile(r"\[\s*([A-Za-z0-9.-]+)\s*(\"(?:[^\"\\\n]|\\.)*\")?\s*\]")
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_ESCAPES: Final = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}
_TRUE: Final = frozenset({"true", "yes", "on", "1"})


def read_config(text: str) -> dict[str, str]:
    """`section.key` in lower case to its value; a key without one is `true`. What cannot be read
    ends the look: git would refuse the file there."""
    found: dict[str, str] = {}
    for name, value in _entries(text):
        found[name] = value
    return found


def is_true(value: str | None) -> bool:
    """Whether git takes the value as true."""
    return value is not None and value.lower() in _TRUE


def _entries(text: str) -> Iterator[tuple[str, str]]:
    text = text.replace("\r\n", "\n")
    section: str | None = None
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] in "#;":
            at = _line_end(text, at)
        elif head := _SECTION.match(text, at):
            section = None if head[2] is not None else head[1].lower()
            at = head.end()
        elif key := _KEY.match(text, at):
            value, at = _value(text, key.end())
            if value is None:
                return
            if section is not None:
                yield f"{section}.{key[0].lower()}", value
        else:
            return


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value(text: str, at: int) -> tuple[str | None, int]:
    """The value behind a key and where it ends; None for one that git refuses."""
    while at < len(text) and text[at] in " \t":
        at += 1
    if at == len(text) or text[at] in "\n#;":
        return "true", _line_end(text, at)
    if text[at] != "=":
        return None, at
    return _words(text, at + 1)


def _words(text: str, at: int) -> tuple[str | None, int]:
    parts: list[str] = []
    kept = 0  # parts up to the last one that is no blank outside of quotes
    quoted = False
    while at < len(text) and text[at] != "\n":
        sign = text[at]
        at += 1
        if sign == '"':
            quoted = not quoted
            kept = len(parts)
        elif sign == "\\":
            follower = text[at : at + 1]
            at += 1
            if follower == "\n":
                continue
            if follower not in _ESCAPES:
                return None, at
            parts.append(_ESCAPES[follower])
            kept = len(parts)
        elif sign in "#;" and not quoted:
            at = _line_end(text, at)
        elif quoted or not sign.isspace():
            parts.append(sign)
            kept = len(parts)
        elif parts:
            parts.append(sign)
    return (None if quoted else "".join(parts[:kept])), at
