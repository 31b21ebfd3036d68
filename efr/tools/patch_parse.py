"""The language of patches: text to operations, or the line that is wrong.

Pure. Owns the grammar in words and the variants that are read besides it; what an operation does
to files is `efr.tools.patch`. The language is described in docs/apply_patch.md.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct

from efr.text.visible import visible_line

BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
ADD: Final = "*** Add File:"
DELETE: Final = "*** Delete File:"
UPDATE: Final = "*** Update File:"
MOVE: Final = "*** Move to:"
END_OF_FILE: Final = "*** End of File"

_STARTS: Final = (ADD, DELETE, UPDATE)
_HEREDOC: Final = re.compile(r"<<(['\"]?)EOF\1")
_NUMBERS: Final = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@(?: (?P<text>.*))?")
_QUOTED: Final = 60  # characters of a wrong line that an error repeats

Sign = Literal[" ", "-", "+"]
_SIGNS: Final[dict[str, Sign]] = {" ": " ", "-": "-", "+": "+"}


class PatchError(Exception):
    """Why a patch is not read or does not apply. The message is for the model."""


class HunkLine(Struct, frozen=True):
    """One line of a hunk: context, removed or added."""

    sign: Sign
    text: str


class Hunk(Struct, frozen=True):
    """One place to change. `line` is where it starts in the patch, from 1."""

    line: int
    anchors: tuple[str, ...]
    lines: tuple[HunkLine, ...]
    at_end: bool = False
    bare: int = 0  # how many of the last lines are empty without a sign: they may only separate


class AddFile(Struct, frozen=True):
    """Makes a file."""

    line: int
    path: str
    content: str


class DeleteFile(Struct, frozen=True):
    """Takes a file away."""

    line: int
    path: str


class UpdateFile(Struct, frozen=True):
    """Changes a file, moves it, or both."""

    line: int
    path: str
    move_to: str | None
    hunks: tuple[Hunk, ...]


Operation = AddFile | DeleteFile | UpdateFile


def parse_patch(text: str) -> tuple[Operation, ...]:
    """The operations in their order, at least one. Raises PatchError with the line's number."""
    return _Parser(text).patch()


class _Parser:
    """Reads down the lines once. A carriage return before a newline is no part of a line."""

    def __init__(self, text: str) -> None:
        self._lines = [line.removesuffix("\r") for line in text.split("\n")]
        self._at = 0

    def patch(self) -> tuple[Operation, ...]:
        self._skip_blank()
        wrapped = _HEREDOC.fullmatch((self._line or "").strip()) is not None
        if wrapped:
            self._at += 1
            self._skip_blank()
        if (self._line or "").strip() != BEGIN:
            raise self._wrong(f'a patch starts with "{BEGIN}"')
        self._at += 1
        operations = self._operations()
        self._after_end(wrapped)
        return operations

    def _operations(self) -> tuple[Operation, ...]:
        found: list[Operation] = []
        while True:
            self._skip_blank()
            marker = (self._line or "").strip()
            if marker == END:
                break
            found.append(self._operation(marker))
        if not found:
            raise self._wrong("the patch holds no operation")
        self._at += 1
        return tuple(found)

    def _after_end(self, wrapped: bool) -> None:
        self._skip_blank()
        if wrapped:
            if (self._line or "").strip() != "EOF":
                raise self._wrong('a patch that starts with "<<EOF" ends with "EOF"')
            self._at += 1
            self._skip_blank()
        if self._line is not None:
            raise self._wrong(f'nothing stands after "{END}"')

    # -- operations

    def _operation(self, marker: str) -> Operation:
        at = self._at + 1
        for start in _STARTS:
            if marker.startswith(start):
                path = self._path(marker, start)
                break
        else:
            raise self._no_operation(marker)
        if start == ADD:
            return AddFile(at, path, self._added())
        if start == DELETE:
            return DeleteFile(at, path)
        return self._update(at, path)

    def _no_operation(self, marker: str) -> PatchError:
        if self._line is None:
            return self._wrong(f'a patch ends with "{END}"')
        if marker.startswith("+"):
            return self._wrong('an empty line inside an added file is written as "+"')
        names = ", ".join(f'"{start} PATH"' for start in _STARTS)
        return self._wrong(f'expected {names} or "{END}"')

    def _path(self, marker: str, start: str) -> str:
        path = marker[len(start) :].strip()
        if not path:
            raise self._wrong(f'"{start}" names no path')
        if path.endswith("/"):
            raise self._wrong('a path that ends in "/" is no file')
        self._at += 1
        return path

    def _added(self) -> str:
        lines = []
        while (line := self._line) is not None and line.startswith("+"):
            lines.append(line[1:])
            self._at += 1
        line = self._line
        if line is not None and line.strip() and not line.strip().startswith("***"):
            raise self._wrong('each line of an added file starts with "+"')
        return "".join(f"{line}\n" for line in lines)

    def _update(self, at: int, path: str) -> UpdateFile:
        move_to = None
        if (marker := self._marker).startswith(MOVE):
            move_to = self._path(marker, MOVE)
        hunks: list[Hunk] = []
        while self._line is not None and not self._ends_update():
            hunk = self._hunk(first=not hunks)
            if hunk is not None:
                hunks.append(hunk)
        if not hunks and move_to is None:
            raise self._wrong(f"the update of {_quoted(path)} changes nothing", at)
        return UpdateFile(at, path, move_to, tuple(hunks))

    def _ends_update(self) -> bool:
        return self._marker == END or self._marker.startswith(_STARTS)

    # -- hunks

    def _hunk(self, *, first: bool) -> Hunk | None:
        """The next hunk; None: only empty lines that separate."""
        at = self._at + 1
        headed, anchors = self._anchors()
        lines, bare = self._hunk_lines()
        if not headed and len(lines) == bare:
            if bare:
                return None
            raise self._no_hunk_line()
        if not headed and not first:
            raise self._wrong('a further hunk starts with "@@"', at)
        if not lines:
            if self._line is None or self._ends_update():
                raise self._wrong('there is no line below "@@"', at)
            raise self._no_hunk_line()
        at_end = self._marker == END_OF_FILE
        if at_end:
            self._at += 1
        elif not (self._line is None or self._ends_update() or self._marker.startswith("@@")):
            raise self._no_hunk_line()
        return Hunk(at, anchors, lines, at_end, bare)

    def _anchors(self) -> tuple[bool, tuple[str, ...]]:
        """Whether there is a line with @@, and what such lines name."""
        start, anchors = self._at, []
        while (line := self._marker).startswith("@@"):
            numbers = _NUMBERS.fullmatch(line)
            rest = line[2:] if numbers is None else f" {numbers['text'] or ''}"
            if rest and not rest.startswith(" "):
                raise self._wrong('"@@" is followed by a space and a line of the file, or nothing')
            if rest.strip():
                anchors.append(rest[1:])
            self._at += 1
        return self._at > start, tuple(anchors)

    def _hunk_lines(self) -> tuple[tuple[HunkLine, ...], int]:
        lines: list[HunkLine] = []
        bare = 0
        while (line := self._line) is not None:
            if line:
                sign = _SIGNS.get(line[0])
                if sign is None:
                    break
                lines.append(HunkLine(sign, line[1:]))
                bare = 0
            else:
                lines.append(HunkLine(" ", ""))
                bare += 1
            self._at += 1
        return tuple(lines), bare

    def _no_hunk_line(self) -> PatchError:
        if self._marker.startswith(MOVE):
            return self._wrong(f'"{MOVE}" stands right below "{UPDATE}"')
        if self._marker == END_OF_FILE:
            return self._wrong(f'"{END_OF_FILE}" stands below the lines of a hunk')
        return self._wrong('each line of a hunk starts with a space, "-" or "+"')

    # -- lines

    @property
    def _line(self) -> str | None:
        """The line to read next; None behind the last one."""
        return self._lines[self._at] if self._at < len(self._lines) else None

    @property
    def _marker(self) -> str:
        """The same inside an update: white space before a marker would make it context."""
        return (self._line or "").rstrip()

    def _skip_blank(self) -> None:
        while (line := self._line) is not None and not line.strip():
            self._at += 1

    def _wrong(self, why: str, at: int | None = None) -> PatchError:
        """About the line to read next, or the one that `at` counts from 1."""
        number = self._at + 1 if at is None else at
        if number <= len(self._lines):
            line = self._lines[number - 1]
            return PatchError(f"Line {number} of the patch ({_quoted(line)}): {why}.")
        last = next((at for at, line in reversed([*enumerate(self._lines, 1)]) if line.strip()), 0)
        if not last:
            return PatchError(f"The patch is empty: {why}.")
        return PatchError(f"Line {last} of the patch is the last: {why}.")


def _quoted(line: str) -> str:
    shown = visible_line(line)
    return f"{shown[:_QUOTED]}…" if len(shown) > _QUOTED else shown
