"""Starts a hidden shell: its directory, environment and program, and the process that it becomes.

Also what shells need from outside (`ShellDeps`). Blocks on files and until the program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from msgspec import Struct, field

from efr.base.clock import Clock
from efr.base.ids import Ids
from efr.shell.contract import LeftListener, Reader, Recorder, ShellListener, ShellSettings
from efr.shell.environment import hidden_environment
from efr.shell.integration import ShellDirectory
from efr.shell.limits import LIMITS, Limits
from efr.shell.spawn import Program, Spawned, find_program, spawn
from efr.shell.standing import nearest_directory


class ShellDeps(Struct, frozen=True):
    """What shells need from outside. `nonce` gives 32 random hex digits; `environment` is the
    user's, `trusted` the program names of the permission rules, both read at a start."""

    reader: Reader
    clock: Clock
    ids: Ids
    nonce: Callable[[], str]
    recorder: Callable[[str], Recorder]
    listener: ShellListener
    left: LeftListener
    environment: Callable[[], Mapping[str, str]]
    settings: Callable[[], ShellSettings]
    zsh_dir: Path
    trusted: Callable[[], Collection[str]] = field(default=tuple)
    limits: Limits = LIMITS


class Started(Struct, frozen=True):
    """A shell program that runs. `directory` is where it stands."""

    spawned: Spawned
    nonce: str
    directory: str
    is_zsh: bool


def start(
    deps: ShellDeps,
    files: ShellDirectory,
    directory: str,
    scratch: str | None,
    trusted: Collection[str],
) -> Started:
    """Runs the shell's program in `directory`, or its nearest parent. Raises ShellDidNotStart,
    OSError."""
    settings, user = deps.settings(), deps.environment()
    directory = nearest_directory(directory)
    nonce = deps.nonce()
    program = find_program(settings.program, user.get("PATH"))
    name = Path(program).name
    is_zsh = name.startswith("zsh")
    files.write(nonce, user.get("ZDOTDIR", ""), trusted)
    environment = hidden_environment(
        user,
        directory=directory,
        scratch=scratch,
        zdotdir=str(files.path) if is_zsh else None,
        no_editor=files.no_editor,
    )
    arguments = [name, "-l"] if settings.login else [name]
    what = Program(program, arguments, directory, environment)
    return Started(spawn(what, deps.limits.columns, deps.limits.rows), nonce, directory, is_zsh)
