"""The corpora, read strictly: one row is one case. The machine that they speak of is here too."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from efr.policy.needs import CallNeeds, Place, Sandbox
from efr.policy.rows import read_row
from efr.policy.rules import ClassIs, CommandIs, ExitIs, Resource, Rule, Under
from efr.tools.contract import Where
from efr.tools.shell import ShellTool

FOLDER: Final = Path(__file__).parent
_ROW = re.compile(
    r"(?P<id>[A-Z]\d+) (?P<letters>[ACKD]{7}) (?P<exits>\S+) (?:\{(?P<construct>[a-z_]+)"
    r"(?: (?P<detail>\S+))?\} )?(?P<line>\"(?:\\.|[^\"\\])*\")(?: ; .+)?"
)
_LISTED = re.compile(r"(?P<first>\d+)(?:-(?P<last>\d+))? (?P<row>.+?)(?P<flags>(?: \+net| @any)*)")

HOME = "/home/u"
PROJECT = f"{HOME}/p/app"
NOTES = f"{HOME}/notes"
SCRATCH = f"{HOME}/.local/share/efr/scratch/c1"
OUTSIDE = Place(
    home=HOME,
    home_real=HOME,
    config_dir=f"{HOME}/.config/efr",
    data_dir=f"{HOME}/.local/share/efr",
    scratch=SCRATCH,
    config_real=(f"{HOME}/dotfiles/efr/config.toml",),
    projects=(PROJECT, f"{HOME}/p/lib"),
)
IN_PROJECT = replace(OUTSIDE, project_root=PROJECT)
_CACHES = (".cargo", ".rustup", ".cache", "go/pkg/mod", ".npm")
SANDBOX = Sandbox(
    write_roots=(
        *("/tmp", "/var/tmp", "/dev/shm"),
        *(f"{HOME}/{cache}" for cache in _CACHES),
        *OUTSIDE.projects,
    ),
    synced=(f"{HOME}/Dropbox",),
)
WORDS = {"A": "allow", "C": "contain", "K": "ask", "D": "deny"}


@dataclass(frozen=True)
class Case:
    """One line in seven columns, and its exits in the project and outside."""

    id: str
    letters: str
    exits: tuple[str, str]
    construct: str | None
    detail: str | None
    line: str

    def effect(self, column: int) -> str:
        return WORDS[self.letters[column]]


def rows_of(name: str) -> Iterator[str]:
    """The rows of a data file without comments."""
    for row in (FOLDER / name).read_text().splitlines():
        if row and not row.startswith("#"):
            yield row


def cases() -> list[Case]:
    """Every row of the corpus; raises ValueError for one that cannot be read."""
    found: list[Case] = []
    for row in rows_of("corpus.txt"):
        read = _ROW.fullmatch(row)
        if read is None:
            raise ValueError(row)
        inside, _, outside = read["exits"].partition("/")
        line: str = json.loads(read["line"])
        exits = (inside, outside or inside)
        found.append(
            Case(read["id"], read["letters"], exits, read["construct"], read["detail"], line)
        )
    return found


def shell_call(line: str, directory: str = PROJECT) -> CallNeeds:
    """What the shell tool declares for a line that starts there."""
    where = Where(directory, directory, HOME, SCRATCH)
    return ShellTool().declare({"command": line}, where)


def allow_list() -> tuple[Rule, ...]:
    """The rows of an earlier auto as rules that follow the built-in ones; raises ValueError."""
    rules: list[Rule] = []
    number = 83
    for text in rows_of("allow_list.txt"):
        read = _LISTED.fullmatch(text)
        if read is None:
            raise ValueError(text)
        row = read_row(read["row"].split())
        assert isinstance(row.resource, CommandIs)
        flags = read["flags"].split()
        for under in (None,) if "@any" in flags else ("project", "scratch"):
            resource = replace(row.resource, under=under)
            rules.append(Rule("execute", resource, "allow"))
            if "+net" in flags:
                rules.append(Rule("network", resource, "allow"))
        first, last = int(read["first"]), int(read["last"] or read["first"])
        if first != number or last != 82 + len(rules):
            raise ValueError(f"{text}: the rules before it end at {number - 1}")
        number = last + 1
    return tuple(rules)


def rule_of(table: dict[str, Any]) -> Rule:
    """A rule as `permissions.rules` writes it; raises KeyError or TypeError for any other."""
    return Rule(table["action"], _resource(table["resource"]), table["effect"])


def _resource(given: str | dict[str, Any]) -> Resource:
    if isinstance(given, str):
        assert given in ("any", "project")
        return given  # type: ignore[return-value]
    ((kind, value),) = given.items()
    if kind == "class":
        return ClassIs(value)
    if kind == "under":
        return Under(value)
    members: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in value.items()
    }
    return CommandIs(**members) if kind == "command" else ExitIs(**members)


def at_home(text: str) -> str:
    """`~` and `$SCRATCH` of a data file as they are on the machine."""
    return text.replace("$SCRATCH", SCRATCH, 1).replace("~", HOME, 1)


def tables(name: str, key: str) -> list[dict[str, Any]]:
    """The tables of a data file."""
    found: list[dict[str, Any]] = tomllib.loads((FOLDER / name).read_text())[key]
    return found
