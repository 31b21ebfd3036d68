"""The cases of patches: a strict reader of the files in `patches/`.

A case is a line `%% case NAME` and sections:

    %% before PATH [attributes]    a file (or directory, or link) of the tree
    %% read PATH                   the model reads it with read_file
    %% meanwhile PATH [attributes] what the user makes of a file after that
    %% patch [attributes]          the patch
    %% after PATH [attributes]     the tree afterwards, whole; without any: as before
    %% error | %% result           what the model is told, exactly; ROOT is the folder
    %% diff | %% changes           what the user is shown, exactly

Attributes: crlf, no-newline, escaped (\\xNN is a byte, \\uNNNN a character), mode=OCTAL, dir,
link=TARGET, gone, numbered=N (lines "line 1" to "line N"; the body replaces some: "NUMBER: TEXT").
Lines that start with # outside a section are comments.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "patches"
_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|\\)")
_SECTIONS = {
    "before": True,
    "read": True,
    "meanwhile": True,
    "patch": False,
    "after": True,
    "error": False,
    "result": False,
    "diff": False,
    "changes": False,
}
_FLAGS = {"crlf", "no-newline", "escaped", "dir", "gone"}
_VALUES = {"mode", "link", "numbered"}


@dataclass(frozen=True)
class Entry:
    """One file, directory or link; also the attributes and lines of any other section."""

    attributes: dict[str, str]
    lines: list[str] = field(default_factory=list)

    @property
    def mode(self) -> int:
        return int(self.attributes.get("mode", "644"), 8)

    @property
    def link(self) -> str | None:
        return self.attributes.get("link")

    @property
    def is_dir(self) -> bool:
        return "dir" in self.attributes

    @property
    def content(self) -> bytes:
        text = "".join(f"{line}\n" for line in self._lines())
        if "no-newline" in self.attributes:
            text = text.removesuffix("\n")
        if "escaped" in self.attributes:
            text = _ESCAPE.sub(_unescape, text)
        if "crlf" in self.attributes:
            text = text.replace("\n", "\r\n")
        return text.encode("utf-8", "surrogateescape")

    @property
    def text(self) -> str:
        return self.content.decode()

    def _lines(self) -> list[str]:
        if "numbered" not in self.attributes:
            return self.lines
        lines = [f"line {number}" for number in range(1, int(self.attributes["numbered"]) + 1)]
        for line in self.lines:
            number, _, text = line.partition(": ")
            lines[int(number) - 1] = text
        return lines


@dataclass
class Case:
    """One case."""

    where: str
    name: str
    before: dict[str, Entry] = field(default_factory=dict)
    read: list[str] = field(default_factory=list)
    meanwhile: dict[str, Entry] = field(default_factory=dict)
    after: dict[str, Entry] = field(default_factory=dict)
    told: dict[str, Entry] = field(default_factory=dict)

    @property
    def patch(self) -> str:
        return self.told["patch"].text

    @property
    def is_error(self) -> bool:
        return "error" in self.told

    def words(self, section: str) -> str | None:
        entry = self.told.get(section)
        return None if entry is None else "\n".join(entry.lines)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code == "\\":
        return "\\"
    number = int(code[1:], 16)
    return chr(0xDC00 + number) if code[0] == "x" and number >= 0x80 else chr(number)


def load_cases() -> list[Case]:
    """Every case of every file."""
    cases = [case for path in sorted(FOLDER.glob("*.txt")) for case in _load(path)]
    assert len({case.name for case in cases}) == len(cases)
    return cases


def _load(path: Path) -> list[Case]:
    cases: list[Case] = []
    lines: list[str] | None = None
    for number, line in enumerate(path.read_text().split("\n"), 1):
        where = f"{path.name}:{number}"
        if line.startswith("%% case "):
            _close(lines)
            cases.append(Case(where, line.removeprefix("%% case ")))
            lines = None
        elif line.startswith("%% "):
            lines = _open(cases[-1], shlex.split(line.removeprefix("%% ")), where)
        elif lines is not None:
            lines.append(line)
        else:
            assert not line or line.startswith("#"), f"{where}: {line}"
    _close(lines)
    for case in cases:
        assert "patch" in case.told, f"{case.where}: no patch"
        if "error" in case.told:
            assert not case.after, f"{case.where}: an error changes nothing"
    return cases


def _close(lines: list[str] | None) -> None:
    """The empty line between two cases belongs to none."""
    if lines and lines[-1] == "":
        lines.pop()


def _open(case: Case, words: list[str], where: str) -> list[str]:
    section, *rest = words  # a path with spaces stands in quotes
    assert section in _SECTIONS, f"{where}: {section}"
    path = rest.pop(0) if _SECTIONS[section] else section
    attributes = {}
    for word in rest:
        name, equals, value = word.partition("=")
        assert name in (_VALUES if equals else _FLAGS), f"{where}: {word}"
        attributes[name] = value
    entry = Entry(attributes)
    if section == "read":
        case.read.append(path)
        return entry.lines
    kept = {"before": case.before, "meanwhile": case.meanwhile, "after": case.after}
    target = kept.get(section, case.told)
    assert path not in target, f"{where}: {path} twice"
    target[path] = entry
    return entry.lines
