"""Which line starts which Markdown block (spec.commonmark.org 0.31, chapters 4 and 5).

Pure: patterns and small questions about one line. Tabs are blanks already.
"""

from __future__ import annotations

import re

from msgspec import Struct

from efr.cli.render import fence

HEADING = r"^ {0,3}(#{1,6})(?: +(.*?))?(?: +#+)? *$"
RULE = r"^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$"
UNDERLINE = r"^ {0,3}(=+|-+) *$"
QUOTE = r"^ {0,3}> ?"
_MARKER = r"^(?P<indent> *)(?:[-*+]|(?P<number>\d{1,9})[.)])(?P<blanks> +|$)"
_CODE_INDENT = 4  # so many blanks behind a marker are code, not the marker's own


class Marker(Struct, frozen=True):
    """The start of a list item. `content`: the column where its text begins."""

    indent: int
    number: int | None
    content: int


def marker_of(line: str) -> Marker | None:
    """The item that `line` starts, or None. A rule such as `* * *` is none."""
    found = re.match(_MARKER, line)
    if not found or re.match(RULE, line):
        return None
    blanks = found["blanks"]
    behind = 1 if not blanks or len(blanks) > _CODE_INDENT else len(blanks)
    number = int(found["number"]) if found["number"] else None
    return Marker(len(found["indent"]), number, found.end() - len(blanks) + behind)


def starts_block(line: str) -> bool:
    """Whether `line` starts a fence, a heading, a rule or a quote."""
    return bool(
        fence.opening(line)
        or re.match(HEADING, line)
        or re.match(RULE, line)
        or re.match(QUOTE, line)
    )


def interrupts(line: str) -> bool:
    """Whether `line` ends the paragraph above it.

    An item does so unless it is empty or has a number other than 1: such a number goes on with
    the sentence.
    """
    if line[:1].isalpha():
        return False
    if starts_block(line):
        return True
    marker = marker_of(line)
    if marker is None or marker.indent > 3 or marker.number not in {None, 1}:
        return False
    return bool(line[marker.content :].strip())
