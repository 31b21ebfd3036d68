"""The text of `projects.toml`, read and edited in place. Pure.

An edit leaves every other byte as it was: comments, blank lines, the order of keys. What an edit
makes is read again before anybody writes it, so a layout that is too unusual to edit is refused
and never damaged. Facts: docs/config.md, "Projects".
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from efr.config.errors import MARK, ConfigError, marked
from efr.config.project_faults import first_fault
from efr.config.toml import inline
from efr.policy.paths import normal

HEAD = """\
# The projects that efr knows. Below a project's root the agent writes without a question, and each
# terminal keeps a conversation of its own for it.
# Changed by: efr project add [PATH], efr project remove PATH
"""

_HEADER = re.compile(r"[ \t]*\[\[[ \t]*(?:project|\"project\"|'project')[ \t]*\]\]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class Project(Struct, frozen=True):
    """A registered project. `root` is in normal form."""

    id: str
    root: str
    name: str | None = None

    @property
    def title(self) -> str:
        """What people call it: the name, else the last part of the root."""
        return self.name or PurePosixPath(self.root).name or self.root


class _Entry(msgspec.Struct, frozen=True):
    id: str
    root: str
    name: str | None = None


class _File(msgspec.Struct, frozen=True):
    project: tuple[_Entry, ...] = ()


def parse(text: str) -> tuple[Project, ...]:
    """The projects in the order of the text. Raises ConfigError for anything that is not right."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise marked() if text.startswith(MARK) else ConfigError(str(exc)) from exc
    fault = first_fault(document, text)
    if fault is not None:
        raise fault
    entries = msgspec.convert(document, _File).project
    found = tuple(Project(one.id, normal(one.root), one.name) for one in entries)
    _refuse_twice("id", [one.id for one in found])
    _refuse_twice("root", [one.root for one in found])
    return found


def added(text: str, project: Project) -> str:
    """The text with one more project behind the last one. Raises ConfigError."""
    before = parse(text)
    if not _headers(_lines(text)) and "project" in tomllib.loads(text):
        from efr.config.project_inline import appended

        after = appended(text, ", ".join(_members(project)))
    else:
        after = _with_gap(text) + _table(project, _newline(text))
    return _checked(after, (*before, project))


def removed(text: str, index: int) -> str:
    """The text without the project at that place. Raises ConfigError."""
    before = parse(text)
    lines = _lines(text)
    headers = _headers(lines)
    after: str | None
    if headers:
        if len(headers) != len(before):
            raise _too_unusual()
        end = headers[index + 1] if index + 1 < len(headers) else len(lines)
        after = _without(lines, headers[index], end)
    else:
        from efr.config.project_inline import without

        after = without(text, index)
    return _checked(after, (*before[:index], *before[index + 1 :]))


def _refuse_twice(what: str, values: Sequence[str]) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise ConfigError(f"the {what} {value} stands there twice")
        seen.add(value)


def _checked(text: str | None, wanted: Sequence[Project]) -> str:
    if text is None or parse(text) != tuple(wanted):
        raise _too_unusual()
    return text


def _too_unusual() -> ConfigError:
    return ConfigError("its layout is too unusual for an edit; change it by hand")


# Tables: `[[project]]` ----------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    """Lines with their ends. Only a line feed ends a line of TOML."""
    return _LINES.findall(text)


def _headers(lines: Sequence[str]) -> list[int]:
    return [number for number, line in enumerate(lines) if _HEADER.match(line)]


def _is_blank(line: str) -> bool:
    return not line.strip()


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _without(lines: list[str], header: int, end: int) -> str:
    """Cuts a table with its own comments and those directly above it; `end` is the next header.

    Comments that a blank line sets apart stay, and so do those directly above the next header.
    """
    first = header
    while first > 0 and _is_comment(lines[first - 1]):
        first -= 1
    last = end
    while last > header and (_is_blank(lines[last - 1]) or _is_comment(lines[last - 1])):
        last -= 1
    own = last
    while own < end and _is_comment(lines[own]):
        own += 1
    if own == len(lines) or (own < end and _is_blank(lines[own])):
        last = own  # directly below its keys, and above no other table
    while last < len(lines) and _is_blank(lines[last]):
        last += 1
    if last == len(lines):
        while first > 0 and _is_blank(lines[first - 1]):
            first -= 1
    return "".join(lines[:first] + lines[last:])


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _with_gap(text: str) -> str:
    """The text, ended by a blank line."""
    if not text:
        return ""
    newline = _newline(text)
    return text + ("" if text.endswith("\n") else newline) + newline


def _table(project: Project, newline: str) -> str:
    return newline.join(["[[project]]", *_members(project), ""])


def _members(project: Project) -> list[str]:
    values = (("id", project.id), ("root", project.root), ("name", project.name))
    return [f"{key} = {inline(value)}" for key, value in values if value is not None]
