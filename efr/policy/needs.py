"""What one tool call declares, where the turn stands, and what the engine answers.

Frozen values without behaviour; any thread. The tools fill `CallNeeds`, the agent fills `Place`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

Access = Literal["read", "read_tree", "write"]  # write: create, change, delete, chmod


class Effect(IntEnum):
    """What happens to a call; a call gets the strictest effect of its requirements."""

    ALLOW = 0
    ASK = 1
    DENY = 2


@dataclass(frozen=True)
class PathUse:
    """One path a call touches: absolute, joined, but with its `.` and `..` still in it.

    `read_tree` is the path and anything below. The unfolded text matters: a link before `..`
    leads elsewhere, so the real path is looked up from it.
    """

    path: str
    access: Access


@dataclass(frozen=True)
class SettingsChange:
    """A change of efr's own settings: what it is, and whether more runs without a question.

    `mark` is the same for the same change of the same text.
    """

    summary: str
    loosens: bool = False
    mark: str = ""


@dataclass(frozen=True)
class CallNeeds:
    """Everything one call needs, written down before anything runs."""

    tool: str  # its name, for the question
    paths: tuple[PathUse, ...] = ()
    command: str | None = None  # the line as the model wrote it
    command_dir: str | None = None  # where it starts; None when nobody knows
    network: bool = False
    interactive: bool = False  # it may wait for keys
    nested: bool = False  # the line is typed into a program inside the hidden shell
    settings: SettingsChange | None = None
    deletes: tuple[str, ...] = ()  # files that go: asked about in every mode
    moves: tuple[tuple[str, str], ...] = ()  # (from, to): the same; both ends are also in `paths`


@dataclass(frozen=True)
class Place:
    """The machine and the turn, as far as a decision depends on them. All paths are absolute."""

    home: str
    home_real: str  # the same folder without links
    config_dir: str
    data_dir: str
    scratch: str | None = None  # the conversation's own folder
    project_root: str | None = None  # of the turn's registered project
    config_real: tuple[str, ...] = ()  # the config folder's real form, and where links in it lead
    data_real: str | None = None
    secret_paths: tuple[str, ...] = ()  # permissions.secret_paths, absolute


@dataclass(frozen=True)
class Decision:
    """The answer: `summary` for the question, `reason` why it is asked or refused.

    `refused` names each refused path with its class, for the model and the log.
    """

    effect: Literal["allow", "ask", "deny"]
    summary: str
    reason: str
    refused: tuple[str, ...] = ()
