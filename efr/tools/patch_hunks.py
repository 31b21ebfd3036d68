"""A file's text and the hunks of one update: where each belongs, and the text they make.

Pure. Hunks go from top to bottom and never overlap. Lines that stay keep their own text and line
end; new lines take the file's first line end; the final newline, or its absence, stays. A byte
order mark at the start is no part of the first line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from efr.text.visible import visible_line, visible_text
from efr.tools.patch_match import FileLines
from efr.tools.patch_parse import Hunk, PatchError

_NEAREST: Final = 12  # lines that an error shows: one glance
_LEAD: Final = 2  # of them around the lines of the hunk
_SHOWN: Final = 200  # characters of a line that an error shows
_TOLD: Final = 8  # places of an ambiguous hunk
_MARK: Final = "\ufeff"


class _Line(NamedTuple):
    text: str
    end: str  # "\n", "\r\n", or "" at the end of a file


class _Text(Struct, frozen=True):
    """A file in lines."""

    mark: str
    lines: tuple[_Line, ...]

    @property
    def newline(self) -> str:
        return (self.lines[0].end if self.lines else "") or "\n"

    @property
    def is_ended(self) -> bool:
        return not self.lines or self.lines[-1].end != ""

    def with_lines(self, lines: Sequence[_Line]) -> str:
        """The text of these lines, with the mark and the final newline of this one."""
        newline = self.newline
        ended = [line.text + (line.end or newline) for line in lines[:-1]]
        for last in lines[-1:]:
            ended.append(last.text + ((last.end or newline) if self.is_ended else ""))
        body = "".join(ended)
        return body if body.startswith(_MARK) else self.mark + body


class _Splice(NamedTuple):
    """Lines `start` to `end` of the file give way to `lines`."""

    start: int
    end: int
    lines: tuple[_Line, ...]
    hunk: int


def update_text(path: str, text: str, hunks: Sequence[Hunk]) -> str:
    """The text after the hunks. Raises PatchError that says which hunk of `path` and why."""
    return _Update(path, _split(text)).apply(hunks) if hunks else text


def nearest_lines(text: str, wanted: Sequence[str]) -> list[str]:
    """The lines of a text that come nearest to the wanted ones, with numbers, below a heading."""
    return _Update("", _split(text)).nearest(wanted, 0)


def _split(text: str) -> _Text:
    mark = _MARK if text.startswith(_MARK) else ""
    parts = text[len(mark) :].split("\n")
    last = parts.pop()
    lines = [
        _Line(part[:-1], "\r\n") if part.endswith("\r") else _Line(part, "\n") for part in parts
    ]
    return _Text(mark, (*lines, *([_Line(last, "")] if last else [])))


class _Update:
    """The hunks of one file on their way down."""

    def __init__(self, path: str, text: _Text) -> None:
        self._path = path
        self._text = text
        self._lines = FileLines([line.text for line in text.lines])
        self._start = 0  # where the next hunk may begin
        self._splices: list[_Splice] = []

    def apply(self, hunks: Sequence[Hunk]) -> str:
        for number, hunk in enumerate(hunks, 1):
            self._place(number, hunk)
        return self._text.with_lines(self._joined(hunks))

    # -- placing

    def _place(self, number: int, hunk: Hunk) -> None:
        anchored = self._anchored(number, hunk)
        if len(_old(hunk)) == hunk.bare:  # no old lines but empty ones that separate
            hunk = replace(hunk, lines=hunk.lines[: len(hunk.lines) - hunk.bare], bare=0)
            at = len(self._lines)
            if anchored is not None and not hunk.at_end:
                at = anchored + 1
            self._splices.append(_Splice(at, at, self._new_lines(hunk, at), number))
            return
        for form in _forms(hunk):
            at_place = self._find(number, form, anchored)
            if at_place is not None:
                end = at_place + len(_old(form))
                new = self._new_lines(form, at_place)
                self._splices.append(_Splice(at_place, end, new, number))
                self._start = end
                return
        raise self._mismatch(number, hunk, self._start if anchored is None else anchored)

    def _anchored(self, number: int, hunk: Hunk) -> int | None:
        """The line that the last anchor names; None without one."""
        found, start = None, self._start
        for anchor in hunk.anchors:
            found = self._lines.anchor(anchor, start)
            if found is None:
                raise self._wrong(
                    number,
                    hunk,
                    f"its @@ line {_short(anchor)} is not in the file{_after(start)}",
                    self.nearest([anchor], start),
                )
            start = found + 1
        return found

    def _find(self, number: int, hunk: Hunk, anchored: int | None) -> int | None:
        start = self._start if anchored is None else anchored
        found = self._lines.matches(_old(hunk), start, at_end=hunk.at_end)
        first = next(found, None)
        if first is None or anchored is not None:
            return first
        more = list(islice(found, _TOLD))
        if not more:
            return first
        places = ", ".join(str(at + 1) for at in [first, *more][:_TOLD])
        places += " and more" if len(more) == _TOLD else ""
        raise self._wrong(
            number,
            hunk,
            f"its lines are ambiguous: they match at lines {places}. Add more lines around the"
            " change, or a line with @@ and the line that it stands below",
        )

    def _new_lines(self, hunk: Hunk, at: int) -> tuple[_Line, ...]:
        """What stands there afterwards: context as the file has it."""
        lines = []
        for line in hunk.lines:
            if line.sign == "+":
                lines.append(_Line(line.text, self._text.newline))
                continue
            if line.sign == " ":
                lines.append(self._text.lines[at])
            at += 1
        return tuple(lines)

    # -- putting together

    def _joined(self, hunks: Sequence[Hunk]) -> list[_Line]:
        joined: list[_Line] = []
        at, before = 0, 0
        for splice in sorted(self._splices, key=lambda splice: splice[:2]):
            if splice.start < at:
                numbers = sorted((before, splice.hunk))
                raise self._wrong(
                    numbers[1],
                    hunks[numbers[1] - 1],
                    f"it overlaps hunk {numbers[0]} at line {splice.start + 1}",
                )
            joined += self._text.lines[at : splice.start]
            joined += splice.lines
            at, before = splice.end, splice.hunk
        return [*joined, *self._text.lines[at:]]

    # -- errors

    def _mismatch(self, number: int, hunk: Hunk, start: int) -> PatchError:
        old = _old(hunk)
        if hunk.at_end:
            size = len(self._lines)
            why = (
                f"its lines are not the last ones of the file, as {_short('*** End of File')} says"
            )
            return self._wrong(number, hunk, why, self._shown(old, max(size - len(old), 0)))
        earlier = next(self._lines.matches(old, 0, at_end=False), None)
        if earlier is not None:
            return self._wrong(
                number,
                hunk,
                f"its lines stand at line {earlier + 1}, but are looked for from line {start + 1}"
                " on: hunks go from top to bottom, below their @@ lines, and do not overlap",
            )
        why = f"its lines are not in the file{_after(start)}"
        return self._wrong(number, hunk, why, self.nearest(old, start))

    def nearest(self, old: Sequence[str], start: int) -> list[str]:
        """The lines from `start` on that come nearest, with their numbers."""
        return self._shown(old, self._lines.nearest(old, start))

    def _shown(self, old: Sequence[str], at: int | None) -> list[str]:
        """The lines around the first one that differs, with their numbers."""
        size = len(self._lines)
        if size == 0:
            return ["The file is empty."]
        if at is None:
            return ["No line of the file comes near."]
        differs = self._lines.differs(old, at)
        lead = at if differs < _NEAREST - 2 * _LEAD else at + differs
        first = min(max(lead - _LEAD, 0), size - 1)
        lines = self._text.lines[first : min(at + len(old) + _LEAD, first + _NEAREST)]
        return [
            "Nearest lines:",
            *(_numbered(no, line) for no, line in enumerate(lines, first + 1)),
        ]

    def _wrong(self, number: int, hunk: Hunk, why: str, nearest: Sequence[str] = ()) -> PatchError:
        head = f"{visible_line(self._path)}, hunk {number} (line {hunk.line} of the patch): {why}."
        return PatchError("\n".join((head, *nearest)))


def _old(hunk: Hunk) -> list[str]:
    return [line.text for line in hunk.lines if line.sign != "+"]


def _forms(hunk: Hunk) -> Iterator[Hunk]:
    """The hunk, then without an empty last old line, then without all lines that may separate."""
    yield hunk
    last = max(index for index, line in enumerate(hunk.lines) if line.sign != "+")
    if hunk.lines[last].text == "" and len(_old(hunk)) > 1:
        yield replace(hunk, lines=hunk.lines[:last] + hunk.lines[last + 1 :])
    if hunk.bare > 1 and len(_old(hunk)) > hunk.bare:
        yield replace(hunk, lines=hunk.lines[: -hunk.bare])


def _after(start: int) -> str:
    return "" if start == 0 else f" from line {start + 1} on"


def _numbered(number: int, line: _Line) -> str:
    return f"{number} | {_cut(visible_text(line.text, keep_format=True))}"


def _short(text: str) -> str:
    return f'"{_cut(visible_line(text))}"'


def _cut(text: str) -> str:
    return f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text
