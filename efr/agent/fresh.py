"""The fresh block: what a conversation must know after a compaction, read from the machine.

It stands before the summary in every later request, as it was read when the compaction ended: the
event keeps it and nothing reads it again. Directories, what the hidden shell still runs, git's
status of the project and its `AGENTS.md`. Blocks on the file system and on git.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from efr.agent.instructions import FRESH_HEAD, instructions
from efr.agent.place import Places
from efr.agent.ports import Shells
from efr.config.project_text import Project
from efr.text.cut import cut_end
from efr.text.visible import visible_line

_COMMAND = 200  # characters of one
_STATUS_LINES = 40  # more files than these are counted, not named
_END = "</fresh-context>"


@dataclass(frozen=True)
class Fresh:
    """Where the conversation is."""

    conversation_id: str
    user_dir: str
    project: Project | None


def fresh_block(where: Fresh, places: Places, shells: Shells) -> str:
    """The block as it is now."""
    parts = [FRESH_HEAD, *_shell(where, shells)]
    if where.project is not None:
        parts += _status(where.project, places)
    told = instructions(where.project, where.user_dir, ())
    return "\n".join([*map(_inside, parts), *([_inside(told)] if told else []), _END])


def _shell(where: Fresh, shells: Shells) -> Iterator[str]:
    yield f"The user's directory: {visible_line(where.user_dir)}"
    shell = shells.peek(where.conversation_id)
    if shell is None:
        yield "Your hidden shell does not run; it starts where the user is."
        return
    yield f"Your hidden shell's directory: {visible_line(shell.cwd)}"
    command = shell.command
    if command is not None:
        yield f"It still runs: {cut_end(visible_line(command.line), _COMMAND)}"


def _status(project: Project, places: Places) -> Iterator[str]:
    lines = places.git_status(project.root)
    if not lines:
        return
    yield f"git status of {visible_line(project.root)}:"
    yield from (visible_line(line) for line in lines[:_STATUS_LINES])
    if len(lines) > _STATUS_LINES:
        yield f"and {len(lines) - _STATUS_LINES} more"


def _inside(text: str) -> str:
    """No name and no file may look like the end of the block."""
    return text.replace(_END, "<\u2215fresh-context>")
