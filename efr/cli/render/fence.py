"""Fenced code: what opens and closes it, its label row, its rows.

Pure. A code row is never wrapped, so it can be copied out of the terminal.
"""

from __future__ import annotations

import re

from msgspec import Struct

from efr.cli.render.spans import CODE, EMPTY, MUTED, PLAIN, Line, Span, Style, row

_OPENING = r"^(?P<indent> {0,3})(?P<mark>`{3,}|~{3,})(?P<info>.*)$"
_NAMED = r"""(?:title|file|filename)=(?:"([^"]+)"|'([^']+)'|(\S+))"""
_UNLABELLED = frozenset({"", "text", "txt", "plain", "plaintext", "diff", "patch", "udiff"})
_DIFFS = frozenset({"diff", "patch", "udiff"})


class Fence(Struct, frozen=True):
    """An opening fence."""

    indent: int
    mark: str
    info: str

    @property
    def language(self) -> str:
        """The first word of the info string, in lower case."""
        words = self.info.split()
        return words[0].lower() if words and "=" not in words[0] else ""

    def closed_by(self, line: str) -> bool:
        """Whether `line` ends this block: the same sign, at least as often, nothing else."""
        text = line.strip()
        return (
            len(line) - len(line.lstrip(" ")) <= 3 + self.indent
            and len(text) >= len(self.mark)
            and set(text) == {self.mark[0]}
        )

    def inner(self, line: str) -> str:
        """A code row without the indent that the fence itself has."""
        blanks = len(line) - len(line.lstrip(" "))
        return line[min(blanks, self.indent) :]


def opening(line: str) -> Fence | None:
    """The fence that `line` opens, or None."""
    found = re.match(_OPENING, line)
    if not found or (found["mark"][0] == "`" and "`" in found["info"]):
        return None
    return Fence(len(found["indent"]), found["mark"], found["info"].strip())


def label(fence: Fence) -> Line:
    """The muted row above the code: the file when the fence names one, else the language."""
    named = re.search(_NAMED, fence.info)
    words = fence.info.split()
    if named:
        return row(next(group for group in named.groups() if group), MUTED)
    if len(words) > 1 and ("/" in words[1] or "." in words[1]) and "=" not in words[1]:
        return row(words[1], MUTED)
    return EMPTY if fence.language in _UNLABELLED else row(fence.language, MUTED)


def is_diff(fence: Fence) -> bool:
    """Whether the block holds a diff."""
    return fence.language in _DIFFS


def diff_row(text: str) -> Line:
    """One row of a unified diff in its colours."""
    return row(text, diff_style(text))


def diff_style(text: str) -> Style:
    """The style of a row of a unified diff, by its first characters."""
    if text.startswith(("+++", "---", "diff ", "index ")):
        return MUTED
    if text.startswith("@@"):
        return Style("diff.hunk")
    if text.startswith("+"):
        return Style("diff.add")
    if text.startswith("-"):
        return Style("diff.remove")
    return PLAIN


def code_row(text: str) -> Line:
    """One row of code whose language is not known."""
    return (Span(text, CODE),) if text else EMPTY
