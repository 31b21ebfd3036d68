"""A model's Markdown to rows, piece by piece: what is final is given out once.

Pure. `MarkdownStream` reads whole lines only, and what it gives out depends on the lines read so
far and on nothing else: so the split of a reply into pieces does not matter, and feeding a text
in any pieces gives the rows of one `render`. When a block becomes final is docs/efr.md's
table "Markdown". Each final piece is read on its own.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

from efr.cli.render import fence, table
from efr.cli.render.inline import inline_line, inline_lines
from efr.cli.render.spans import EMPTY, MUTED, PLAIN, Line, Span, Style, row, wrap
from efr.cli.render.starts import HEADING, QUOTE, RULE, UNDERLINE, interrupts, marker_of
from efr.text.visible import visible_text

if TYPE_CHECKING:
    from efr.cli.render.highlight import Highlighter

TAB = 4
RULE_COLUMNS = 40  # a rule separates, it needs no full row
_HELD_LINES = 4  # a paragraph of this many lines gives all but the last one out
_LOOK_AHEAD = 16 * 1024  # characters of an unfinished line that a look ahead reads: some screens
_HEADINGS = {
    1: Style("heading", bold=True, underline=True),
    2: Style("heading", bold=True),
    3: Style("text", bold=True),
}
_DEEP_HEADING = Style("text", bold=True, italic=True)


class Options(NamedTuple):
    """What the look depends on. `prose_wraps`: inside a list or a quote; top-level prose does not.

    `quotes`: inline code keeps its backquotes, because no colour sets it apart.
    """

    columns: int = 80
    quotes: bool = False
    prose_wraps: bool = False


class Block(Protocol):
    """An open block. `add` returns the rows a line made final, `close` the rest."""

    def takes(self, line: str) -> bool:
        """Whether `line` still belongs to the block."""

    def add(self, line: str) -> list[Line]:
        """Takes a line that belongs to it."""

    def close(self) -> list[Line]:
        """The rows still held; the block is over."""

    def copy(self) -> Block:
        """An independent copy, for a look ahead."""

    @property
    def ends_blank(self) -> bool:
        """Whether the last line it took was empty, so that a gap follows it."""


def render(text: str, options: Options) -> list[Line]:
    """The rows of a finished text."""
    stream = MarkdownStream(options)
    return stream.feed(text) + stream.finish()


class MarkdownStream:
    """One message in the making."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._partial = ""
        self._block: Block | None = None
        self._gap = False  # an empty line of the author waits for the next row
        self._began = False  # a row was given out

    def feed(self, text: str) -> list[Line]:
        """Takes more text; returns the rows that are final now."""
        *lines, self._partial = (self._partial + text).split("\n")
        return [line for text in lines for line in self._line(text)]

    def finish(self) -> list[Line]:
        """The rows of what is left. The stream is over."""
        rows = self._line(self._partial) if self._partial else []
        self._partial = ""
        return rows + self._close()

    def open_lines(self) -> list[Line]:
        """The rows of what is not final yet, as they would look now."""
        ahead = copy.copy(self)
        ahead._partial = self._partial[-_LOOK_AHEAD:]
        ahead._block = self._block.copy() if self._block else None
        return ahead.finish()

    def resize(self, columns: int) -> None:
        """Blocks that begin from now on have this width."""
        self.options = self.options._replace(columns=columns)

    def _line(self, raw: str) -> list[Line]:
        line = visible_text(raw.removesuffix("\r"), keep_format=True).expandtabs(TAB)
        if self._block and self._block.takes(line):
            return self._spaced(self._block.add(line))
        if not line.strip():
            rows = self._close()
            self._gap = self._began
            return rows
        reread = self._heading_below(line) or self._table_from(line)
        return self._close() + self._open(line) if reread is None else reread

    def _heading_below(self, line: str) -> list[Line] | None:
        """The rows when `line` underlines the last line of a paragraph."""
        found = re.match(UNDERLINE, line)
        if not found or not isinstance(self._block, _Paragraph) or not self._block.lines:
            return None
        title = self._block.lines.pop()
        rows = self._close()
        return rows + self._spaced(_heading(1 if found[1][0] == "=" else 2, title, self.options))

    def _table_from(self, line: str) -> list[Line] | None:
        """The rows when `line` is the delimiter row under the last line of a paragraph."""
        block = self._block
        if not isinstance(block, _Paragraph) or not block.lines:
            return None
        if not table.is_rule(line, block.lines[-1]):
            return None
        header = block.lines.pop()
        rows = self._close()
        self._block = _Table([header, line], self.options)
        return rows

    def _open(self, line: str) -> list[Line]:
        """Starts the block that `line` begins."""
        if line[:1].isalpha():  # prose, as most lines: no other block begins with a letter
            self._block = _Paragraph([line], self.options)
            return []
        if opened := fence.opening(line):
            self._block = block = _Code(opened)
            return self._spaced(block.start())
        if found := re.match(HEADING, line):
            return self._spaced(_heading(len(found[1]), found[2] or "", self.options))
        if re.match(RULE, line):
            return self._spaced([row("─" * min(RULE_COLUMNS, self.options.columns), MUTED)])
        if re.match(QUOTE, line):
            self._block = _Quote([line], self.options)
        elif marker_of(line):
            from efr.cli.render.lists import ListBlock

            self._block = block_of_list = ListBlock(self.options.columns, self._inner)
            return self._spaced(block_of_list.add(line))
        elif line.startswith(" " * TAB):
            self._block = _Indented(line)
        else:
            self._block = _Paragraph([line], self.options)
        return []

    def _inner(self, text: str, columns: int) -> list[Line]:
        """The rows of a list item's content."""
        return render(text, self.options._replace(columns=columns, prose_wraps=True))

    def _close(self) -> list[Line]:
        block, self._block = self._block, None
        if block is None:
            return []
        gap = block.ends_blank
        rows = self._spaced(block.close())
        self._gap = self._gap or gap
        return rows

    def _spaced(self, rows: list[Line]) -> list[Line]:
        """The rows behind the empty line that the author left before them."""
        if not rows:
            return rows
        spaced = [EMPTY, *rows] if self._gap else rows
        self._gap, self._began = False, True
        return spaced


def _heading(level: int, title: str, options: Options) -> list[Line]:
    style = _HEADINGS.get(level, _DEEP_HEADING)
    line = inline_line(title.strip(), style, quotes=options.quotes)
    return wrap(line, options.columns) if options.prose_wraps else [line]


class _Paragraph:
    """Prose: from the fourth line on, all but the last one are final."""

    ends_blank = False

    def __init__(self, lines: list[str], options: Options, count: int = 1) -> None:
        self.lines = lines
        self._options = options
        self._count = count

    def takes(self, line: str) -> bool:
        if not line.strip() or re.match(UNDERLINE, line) or interrupts(line):
            return False
        return not (self.lines and table.is_rule(line, self.lines[-1]))

    def add(self, line: str) -> list[Line]:
        self.lines.append(line)
        self._count += 1
        if self._count < _HELD_LINES:
            return []
        *final, last = self.lines
        self.lines = [last]
        return self._rows(final)

    def close(self) -> list[Line]:
        rows = self._rows(self.lines)
        self.lines = []
        return rows

    def copy(self) -> _Paragraph:
        return _Paragraph(list(self.lines), self._options, self._count)

    def _rows(self, lines: list[str]) -> list[Line]:
        text = "\n".join(line.lstrip(" ") for line in lines)
        if not text.strip():
            return []
        rows = inline_lines(text, quotes=self._options.quotes)
        if not self._options.prose_wraps:
            return rows
        return [part for line in rows for part in wrap(line, self._options.columns)]


class _Code:
    """A fenced block: each line is final."""

    ends_blank = False

    def __init__(self, opened: fence.Fence) -> None:
        from efr.cli.render.highlight import highlighter

        self._fence = opened
        self._diff = fence.is_diff(opened)
        self._painter: Highlighter | None = highlighter(opened.language)
        self._closed = False

    def start(self) -> list[Line]:
        label = fence.label(self._fence)
        return [label] if label else []

    def takes(self, line: str) -> bool:
        return not self._closed

    def add(self, line: str) -> list[Line]:
        if self._fence.closed_by(line):
            self._closed = True
            return []
        text = self._fence.inner(line)
        if self._diff:
            return [fence.diff_row(text)]
        return [self._painter.line(text) if self._painter else fence.code_row(text)]

    def close(self) -> list[Line]:
        return []

    def copy(self) -> _Code:
        ahead = copy.copy(self)
        ahead._painter = self._painter.copy() if self._painter else None
        return ahead


class _Indented:
    """Code by its indent of four: each line is final, empty ones with the line after them."""

    def __init__(self, first: str) -> None:
        self._held = [first[TAB:]]

    @property
    def ends_blank(self) -> bool:
        return not self._held[-1]

    def takes(self, line: str) -> bool:
        return not line.strip() or line.startswith(" " * TAB)

    def add(self, line: str) -> list[Line]:
        if not line.strip():
            self._held.append("")
            return []
        rows = [fence.code_row(text) for text in self._held]
        self._held = [line[TAB:]]
        return rows

    def close(self) -> list[Line]:
        while self._held and not self._held[-1]:
            self._held.pop()
        return [fence.code_row(text) for text in self._held]

    def copy(self) -> _Indented:
        ahead = _Indented("")
        ahead._held = list(self._held)
        return ahead


class _Quote:
    """A quote: final at the empty line. Its content is Markdown of its own."""

    ends_blank = False

    def __init__(self, lines: list[str], options: Options) -> None:
        self._lines = lines
        self._options = options

    def takes(self, line: str) -> bool:
        if re.match(QUOTE, line):
            return True
        return bool(line.strip()) and not interrupts(line)  # a lazy continuation

    def add(self, line: str) -> list[Line]:
        self._lines.append(line)
        return []

    def close(self) -> list[Line]:
        text = "\n".join(re.sub(QUOTE, "", line) for line in self._lines)
        inner = self._options._replace(columns=max(self._options.columns - 2, 1), prose_wraps=True)
        bar = Span("│ ", MUTED)
        return [(bar, *_quoted(line)) for line in render(text, inner)]

    def copy(self) -> _Quote:
        return _Quote(list(self._lines), self._options)


def _quoted(line: Line) -> Line:
    quote = Style("quote", italic=True)
    return tuple(
        span._replace(style=quote if span.style == PLAIN else span.style._replace(italic=True))
        for span in line
    )


class _Table:
    """A table: final as a whole, since a later row changes the widths."""

    ends_blank = False

    def __init__(self, rows: list[str], options: Options) -> None:
        self._rows = rows
        self._options = options

    def takes(self, line: str) -> bool:
        return bool(line.strip()) and not interrupts(line)

    def add(self, line: str) -> list[Line]:
        self._rows.append(line)
        return []

    def close(self) -> list[Line]:
        return table.table_lines(self._rows, self._options.columns, quotes=self._options.quotes)

    def copy(self) -> _Table:
        return _Table(list(self._rows), self._options)
