"""How a line with exits would run once they are approved, and which lines may run outside at all.

Pure. As soon as one exit runs without the sandbox, the whole line does; so such a line must be
readable and hold one command besides those that only look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from efr.policy.exits.kinds import Exit, Grant
from efr.policy.matching import Start, machine_policy, matches_command
from efr.policy.paths import PathView
from efr.policy.privilege import PRIVILEGED, privileged_in
from efr.policy.reader import SimpleCommand
from efr.policy.rules import CommandIs
from efr.policy.structure import Structure, read_structure
from efr.policy.words import Unreadable

_FORGETS: Final = frozenset(("-k", "-K", "--reset-timestamp"))  # what sudo has remembered
_MAY_HOLD: Final = frozenset(("redirection",))  # beyond plain commands


class Launch(Struct, frozen=True):
    """Inside the sandbox with some grants, or without it."""

    contained: bool
    grants: tuple[Grant, ...] = ()


def launch_of(exits: Sequence[Exit]) -> Launch:
    """The narrowest launch that serves every exit."""
    if any(one.unsandboxed for one in exits):
        return Launch(contained=False)
    grants = (one.grant for one in exits if one.grant is not None)
    return Launch(contained=True, grants=tuple(dict.fromkeys(grants)))


def outside_problem(line: str, paths: PathView) -> str | None:
    """Why a line cannot run without the sandbox as it is, for the model; None: it can."""
    found = read_structure(line)
    if isinstance(found, Unreadable):
        return f"what runs outside the sandbox must be readable, and this holds {found.words}"
    if not _MAY_HOLD.issuperset(found.holds):
        return "what runs outside the sandbox must be plain commands; run that part alone"
    if len(_others(found, paths)) > 1:
        return "a command that runs outside the sandbox must stand alone; run that part by itself"
    return None


def _others(found: Structure, paths: PathView) -> list[SimpleCommand]:
    """The commands that do more than look."""
    return [one for one in found.commands if not _is_helper(one, paths)]


def _is_helper(command: SimpleCommand, paths: PathView) -> bool:
    words = [word.text for word in command.words]
    if words[0] in PRIVILEGED:
        return words[0] == "sudo" and len(words) == 2 and words[1] in _FORGETS
    if privileged_in(command) is not None:
        return False
    rules = machine_policy("cautious").programs.get(command.program, ())
    start = Start((), paths)
    return any(
        isinstance(one.rule.resource, CommandIs)
        and matches_command(one.rule.resource, command, start)
        for one in rules
    )
