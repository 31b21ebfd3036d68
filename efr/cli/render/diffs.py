"""Unified diffs to rows: a call's diff with its limit per file, a question's diff whole.

Pure. Hunk headers say how many lines belong to a hunk (POSIX diff, "unified"), so a removed line
that starts with `--` is never taken for a header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from efr.cli.render.fence import diff_style
from efr.cli.render.spans import MUTED, Line, Span, Style, row
from efr.text.visible import visible_text

_HUNK = r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@"
_CUT = r"^\.\.\. (\d+) more lines$"
_SIDES = ("a/", "b/")
_STYLES = {"+": Style("diff.add"), "-": Style("diff.remove")}


class FileDiff(Struct, frozen=True):
    """One file of a diff. `lines` start at the first hunk; `more` is what the daemon cut."""

    path: str
    word: str  # new, deleted, or empty
    lines: tuple[str, ...]
    more: int


def files_of(diff: str) -> list[FileDiff]:
    """The files of a diff, in its order."""
    found: list[FileDiff] = []
    for old, new, lines, more in _split(diff.split("\n")):
        word = "new" if old == "/dev/null" else "deleted" if new == "/dev/null" else ""
        path = _path(old if new == "/dev/null" else new)
        found.append(FileDiff(path, word, tuple(lines), more))
    return found


def _split(lines: list[str]) -> Iterator[tuple[str, str, list[str], int]]:
    """(old name, new name, lines from the first hunk, lines cut) of each file."""
    old, new, body, more = "", "", [], 0
    left_old = left_new = 0  # lines that the open hunk still has on either side
    for index, line in enumerate(lines):
        inside = left_old > 0 or left_new > 0
        if inside and not re.match(_CUT, line):
            body.append(line)
            left_old -= line[:1] in {"-", " ", ""}
            left_new -= line[:1] in {"+", " ", ""}
        elif hunk := re.match(_HUNK, line):
            body.append(line)
            left_old, left_new = int(hunk[1] or 1), int(hunk[2] or 1)
        elif cut := re.match(_CUT, line):
            more += int(cut[1])
            left_old = left_new = 0
        elif line.startswith("--- ") and lines[index + 1 : index + 2]:
            if body or more:
                yield old, new, body, more
            old, new, body, more = _name(line), _name(lines[index + 1]), [], 0
        elif line.startswith("\\"):  # "\ No newline at end of file"
            body.append(line)
    if body or more:
        yield old, new, body, more


def _name(header: str) -> str:
    return header[4:].partition("\t")[0]


def _path(name: str) -> str:
    return name[2:] if name.startswith(_SIDES) else name


def diff_rows(diff: str, limit: int) -> list[Line]:
    """A call's diff: `limit` lines of each file, then how many more; paths when it has several."""
    if limit == 0:
        return []
    files = files_of(diff)
    rows: list[Line] = []
    for file in files:
        if len(files) > 1:
            rows.append(_path_row(file))
        rows.extend(_line(text) for text in file.lines[:limit])
        if more := max(len(file.lines) - limit, 0) + file.more:
            rows.append(row(f"{more} more {'line' if more == 1 else 'lines'}", MUTED))
    return rows


def whole_rows(diff: str) -> list[Line]:
    """Every line of a diff as it is, for a question."""
    return [_line(text, header=True) for text in diff.rstrip("\n").split("\n")]


def _path_row(file: FileDiff) -> Line:
    path = Span(visible_text(file.path).replace("\n", " "))
    return (path, Span(f" {file.word}", MUTED)) if file.word else (path,)


def _line(text: str, *, header: bool = False) -> Line:
    shown = visible_text(text).expandtabs(4)
    if header or text.startswith("@@"):
        return row(shown, diff_style(text))
    return row(shown, _STYLES.get(text[:1], Style("text")))
