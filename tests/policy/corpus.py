"""The corpus of lines, read strictly: one row is one case."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from efr.policy.engine import Place

_ROW = re.compile(
    r"(?P<id>[A-Z]\d+) (?P<letters>[ACKD]{7}) (?P<exits>\S+) (?:\{(?P<construct>[a-z_]+)"
    r"(?: (?P<detail>\S+))?\} )?(?P<line>\"(?:\\.|[^\"\\])*\")(?: ; .+)?"
)

HOME = "/home/u"
PROJECT = f"{HOME}/p/app"
SCRATCH = f"{HOME}/.local/share/efr/scratch/c1"
OUTSIDE = Place(
    home=HOME,
    home_real=HOME,
    config_dir=f"{HOME}/.config/efr",
    data_dir=f"{HOME}/.local/share/efr",
    scratch=SCRATCH,
    config_real=(f"{HOME}/dotfiles/efr/config.toml",),
)
IN_PROJECT = Place(**{**OUTSIDE.__dict__, "project_root": PROJECT})
WORDS = {"A": "allow", "K": "ask", "D": "deny"}


@dataclass(frozen=True)
class Case:
    id: str
    letters: str
    exits: str
    construct: str | None
    detail: str | None
    line: str

    @property
    def manual(self) -> str:
        return WORDS[self.letters[0]]

    @property
    def cautious_in_project(self) -> str:
        return WORDS[self.letters[1]]

    @property
    def cautious_outside(self) -> str:
        return WORDS[self.letters[2]]


def cases() -> list[Case]:
    """Every row; raises ValueError for one that cannot be read."""
    found: list[Case] = []
    for row in (Path(__file__).parent / "corpus.txt").read_text().splitlines():
        if not row or row.startswith("#"):
            continue
        read = _ROW.fullmatch(row)
        if read is None:
            raise ValueError(row)
        found.append(
            Case(
                read["id"],
                read["letters"],
                read["exits"],
                read["construct"],
                read["detail"],
                json.loads(read["line"]),
            )
        )
    return found
