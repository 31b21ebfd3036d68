"""The fresh block: what a conversation must know after a compaction, read from the machine.

It stands before the summary in every later request, as it was read when the compaction ended: the
event keeps it and nothing reads it again. Directories, what the hidden shell still runs, git's
status of the project and its `AGENTS.md`. Blocks on the file system and on git.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from efr.agent.git import GitTooSlow
from efr.agent.instructions import FRESH_HEAD, whole
from efr.agent.place import Places
from efr.agent.ports import Shells
from efr.base.cancel import Cancel
from efr.config.project_text import Project
from efr.text.cut import cut_end
from efr.text.visible import visible_line

_COMMAND = 200  # characters of one
_STATUS_LINES = 40  # more files than these are counted, not named
_STATUS_LINE = 200  # characters
_END = "</fresh-context>"


class Fresh(Struct, frozen=True):
    """Where the conversation is, and the window of the model that will read it."""

    conversation_id: str
    user_dir: str
    project: Project | None
    window: int


def fresh_block(where: Fresh, places: Places, shells: Shells, cancel: Cancel) -> str:
    """The block as it is now. Raises Cancelled."""
    parts = list(_shell(where, shells))
    told = None
    if where.project is not None:
        parts += _status(where.project, places, cancel)
        told = whole(places.instructions(where.project, where.user_dir), where.window)
    cancel.raise_if_cancelled()
    return "\n".join([FRESH_HEAD, *map(_inside, parts), *([told] if told else []), _END])


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


def _status(project: Project, places: Places, cancel: Cancel) -> Iterator[str]:
    root = visible_line(project.root)
    try:
        lines = places.git_status(project.root, cancel)
    except GitTooSlow as exc:
        yield f"git status of {root} took longer than {exc.limit_s:g} s and is left out."
        return
    if not lines:
        return
    yield f"git status of {root}:"
    yield from (cut_end(visible_line(line), _STATUS_LINE) for line in lines[:_STATUS_LINES])
    if len(lines) > _STATUS_LINES:
        yield f"and {len(lines) - _STATUS_LINES} more"


def _inside(text: str) -> str:
    """No name may look like the end of the block."""
    return text.replace(_END, "<\u2215fresh-context>")
