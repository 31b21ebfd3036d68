"""Unified diffs of text files, as a tool's result and as the preview of its question.

Pure. A file that is not there is `/dev/null`; a cut diff ends with `... N more lines`. Source of
the form: POSIX `diff -u` and GNU's line about a missing last newline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from efr.text.lines import Match, matches, split_lines

_CONTEXT: Final = 3  # unchanged lines around a change, as diff and git show
_MISSING: Final = "/dev/null"
_NO_NEWLINE: Final = "\\ No newline at end of file"
_ESCAPES: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


class FileDiff(Struct, frozen=True):
    """The lines of one file's diff without their newlines (none: nothing changed), and counts."""

    lines: tuple[str, ...]
    added: int
    removed: int


class _Change(NamedTuple):
    """Old lines that go and new lines that come in their place."""

    old: int
    old_end: int
    new: int
    new_end: int


def unified_diff(
    path: str, old: str | None, new: str | None, max_lines: int, max_bytes: int | None = None
) -> str:
    """The diff from `old` to `new` (None: no such file), cut to the limits; "" when equal."""
    return limit_lines(file_diff(path, old, new).lines, max_lines, max_bytes)


def file_diff(
    path: str, old: str | None, new: str | None, *, from_path: str | None = None
) -> FileDiff:
    """The whole diff. `from_path`: where a moved file was."""
    if old == new and from_path is None:
        return FileDiff((), 0, 0)
    before, after = split_lines(old or ""), split_lines(new or "")
    changes = _changes(matches(before, after), len(before), len(after))
    head = (
        f"--- {_MISSING if old is None else _header_path(from_path or path)}",
        f"+++ {_MISSING if new is None else _header_path(path)}",
    )
    body = tuple(line for group in _groups(changes) for line in _hunk(group, before, after))
    return FileDiff(
        (*head, *body),
        added=sum(change.new_end - change.new for change in changes),
        removed=sum(change.old_end - change.old for change in changes),
    )


def limit_lines(lines: Sequence[str], max_lines: int, max_bytes: int | None = None) -> str:
    """The first lines as one text, each ended; what is over a limit becomes one counting line."""
    shown = list(lines[:max_lines])
    if max_bytes is not None:
        shown = list(_within(shown, max_bytes))
    left_out = len(lines) - len(shown)
    if left_out:
        shown.append(f"... {left_out} more lines")
    return "".join(f"{line}\n" for line in shown)


def _within(lines: Sequence[str], max_bytes: int) -> Iterator[str]:
    for line in lines:
        max_bytes -= len(line.encode("utf-8", "surrogatepass")) + 1
        if max_bytes < 0:
            return
        yield line


def _header_path(path: str) -> str:
    """The path; quoted as git does when a character in it would break the header's line."""
    if not any(ord(sign) < 0x20 or sign in '"\\\x7f' for sign in path):
        return path
    inner = "".join(
        _ESCAPES.get(sign) or (f"\\{ord(sign):03o}" if ord(sign) < 0x20 or sign == "\x7f" else sign)
        for sign in path
    )
    return f'"{inner}"'


def _changes(found: Sequence[Match], old_size: int, new_size: int) -> list[_Change]:
    """What lies between the equal runs."""
    changes: list[_Change] = []
    old = new = 0
    for match in (*found, Match(old_size, new_size, 0)):
        if (old, new) != (match.old, match.new):
            changes.append(_Change(old, match.old, new, match.new))
        old, new = match.old + match.size, match.new + match.size
    return changes


def _groups(changes: Sequence[_Change]) -> list[list[_Change]]:
    """Changes whose context lines would touch share a hunk."""
    groups: list[list[_Change]] = []
    for change in changes:
        if groups and change.old - groups[-1][-1].old_end <= 2 * _CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(group: Sequence[_Change], before: list[str], after: list[str]) -> Iterator[str]:
    lead = min(_CONTEXT, group[0].old)
    trail = min(_CONTEXT, len(before) - group[-1].old_end)
    at = group[0].old - lead
    old_range = _range(at, group[-1].old_end + trail)
    new_range = _range(group[0].new - lead, group[-1].new_end + trail)
    yield f"@@ -{old_range} +{new_range} @@"
    for change in group:
        yield from _marked(" ", before[at : change.old])
        yield from _marked("-", before[change.old : change.old_end])
        yield from _marked("+", after[change.new : change.new_end])
        at = change.old_end
    yield from _marked(" ", before[at : at + trail])


def _range(start: int, end: int) -> str:
    """`first,count` from 1; one line needs no count, no line names the one before."""
    if end - start == 1:
        return str(start + 1)
    return f"{start + 1 if end > start else start},{end - start}"


def _marked(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield _NO_NEWLINE
