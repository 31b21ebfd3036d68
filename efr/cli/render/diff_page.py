"""The diff of a turn as a page: its rows in colours, the list of its files, the totals.

Pure. The code in a hunk has the colours of its file's language behind the sign's own; a diff with
very many rows has the signs' colours alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from efr.cli.printing import table
from efr.cli.render.fence import diff_style
from efr.cli.render.highlight import Highlighter, highlighter
from efr.cli.render.spans import MUTED, PLAIN, Line, Span, row
from efr.text.visible import visible_line, visible_text
from efr.wire import types as t

_COLOURED = 5000  # rows: more take longer to colour than a person waits
_CUT = re.compile(r"\.\.\. (\d+) more lines")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_WORDS = {"added": "new", "modified": "changed", "deleted": "deleted", "renamed": "renamed"}


def page(diff: str) -> list[Line]:
    """Every row of the diff; a cut one ends with a muted row that says so."""
    lines = diff.split("\n")[:-1]
    return list(_Painter(coloured=len(lines) <= _COLOURED).rows(lines))


def stat_rows(changes: t.FileChanges) -> list[Line]:
    """Kind, path and counts of each file, and how many more there are."""
    cells = [[_WORDS[one.kind.value], _counts(one), _named(one)] for one in changes.files]
    rows = table(cells)
    if changes.more:
        rows.append(row(f"{changes.more} more", MUTED))
    return rows


def total_row(changes: t.FileChanges) -> Line:
    """The number of files and lines."""
    files = len(changes.files) + changes.more
    noun = "file" if files == 1 else "files"
    return row(f"{files} {noun} (+{changes.added} −{changes.removed})", MUTED)


def _counts(file: t.FileChange) -> str:
    return "binary" if file.binary else f"+{file.added} −{file.removed}"


def _named(file: t.FileChange) -> str:
    path = visible_line(file.path)
    return path if file.from_ is None else f"{visible_line(file.from_)} → {path}"


class _Painter:
    """Goes through a diff once. Header rows say which language the rows of code have."""

    def __init__(self, *, coloured: bool) -> None:
        self._coloured = coloured
        self._code: Highlighter | None = None
        self._old = self._new = 0  # lines that the open hunk still has on either side

    def rows(self, lines: list[str]) -> Iterator[Line]:
        for line in lines:
            shown = visible_text(line).expandtabs(4)
            if self._old > 0 or self._new > 0:
                yield self._body(line, shown)
            elif cut := _CUT.fullmatch(line):
                yield row(f"efrd cut {cut[1]} more lines", MUTED)
            else:
                self._head(line)
                yield row(shown, diff_style(line) if line[:1] in {"+", "-", "@", "d"} else MUTED)

    def _head(self, line: str) -> None:
        if hunk := _HUNK.match(line):
            self._old, self._new = int(hunk[1] or 1), int(hunk[2] or 1)
        elif line.startswith(("--- ", "+++ ")) and not line.endswith("/dev/null"):
            language = _language(line[4:].rstrip("\t")) if self._coloured else ""
            self._code = highlighter(language) if language else None

    def _body(self, line: str, shown: str) -> Line:
        if line.startswith("\\"):
            return row(shown, MUTED)
        sign = line[:1] or " "
        self._old -= sign in {"-", " "}
        self._new -= sign in {"+", " "}
        style = diff_style(sign)
        if self._code is None:
            return row(shown, style)
        # What goes is read beside what comes: only the new file's rows move the language on.
        code = self._code.copy() if sign == "-" else self._code
        spans = code.line(shown[1:])
        if style != PLAIN:
            spans = tuple(one if one.style != PLAIN else one._replace(style=style) for one in spans)
        return (Span(sign, style), *spans)


def _language(path: str) -> str:
    """The language that a file's name tells, or ""."""
    from pygments.lexers import find_lexer_class_for_filename  # type: ignore[import-untyped]

    found = find_lexer_class_for_filename(path.rpartition("/")[2])
    return str(found.aliases[0]) if found is not None and found.aliases else ""
