"""What the text after `,resume` asks for: a row of a list, a conversation's id, or words."""

from __future__ import annotations

import re
from typing import NamedTuple

from efr.cli.conversations import LEAST

_ROW = re.compile(r"[0-9]{1,3}")  # lists have at most 200 rows
_START = re.compile(rf"[0-9a-f-]{{{LEAST},36}}")


class Choice(NamedTuple):
    """`row` from 1, `start` of an id; words are a search. All empty: the list itself."""

    row: int | None = None
    start: str = ""
    words: str = ""
    take: bool = False


def choice(text: str, *, take: bool = False) -> Choice:
    """Reads the text. `--take` may stand first; behind `--` everything is words or a row.

    A start may also be a word: the caller takes it as one when no id, or more than one, fits.
    """
    rest = text.strip()
    if _first(rest) == "--take":
        take, rest = True, rest[len("--take") :].lstrip()
    if _first(rest) == "--":
        rest = rest[2:].lstrip()
    if _ROW.fullmatch(rest):
        return Choice(row=int(rest), take=take)
    start = rest.lower() if _START.fullmatch(rest.lower()) else ""
    return Choice(start=start, words=rest, take=take)


def _first(text: str) -> str:
    return text.split(maxsplit=1)[0] if text else ""
