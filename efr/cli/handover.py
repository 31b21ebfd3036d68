"""What the zsh plugin hands to one run of `efr`: variables, and a file for a long prompt.

Never in arguments, which every user of the machine can read. The variables leave the environment
at once, so no child inherits them (docs/terminal.md, "What it hands over"). Light.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, MutableMapping
from typing import NamedTuple

from efr.base.root_rules import RootError, runtime_root
from efr.cli.errors import UsageError

PROMPT_LIMIT = 15 * 1024 * 1024  # bytes: a frame holds 16 MiB, and the context needs room too


class Handover(NamedTuple):
    """The variables as they came; "" for one that is unset or empty."""

    context: str = ""
    last_command: str = ""
    recent_commands: str = ""
    prompt: str = ""
    mode: str = ""
    model: str = ""
    effort: str = ""
    draft_file: str = ""


_VARIABLES = {
    "context": "EFR_CONTEXT",
    "last_command": "EFR_LAST_COMMAND",
    "recent_commands": "EFR_RECENT_COMMANDS",
    "prompt": "EFR_PROMPT",
    "mode": "EFR_MODE",
    "model": "EFR_MODEL",
    "effort": "EFR_EFFORT",
    "draft_file": "EFR_DRAFT_FILE",
}
PROMPT_FILE = "EFR_PROMPT_FILE"
FOLDER = "handover"  # below the runtime root


def take(env: MutableMapping[str, str]) -> Handover:
    """Reads the variables and removes them from `env`; reads the prompt's file, and removes it
    when the plugin made it.

    Raises UsageError when it is not a file of the user's.
    """
    given = {name: env.pop(variable, "") for name, variable in _VARIABLES.items()}
    path = env.pop(PROMPT_FILE, "")
    if path:
        given["prompt"] = _read(path, ours=_is_handed_over(path, env))
    return Handover(**given)


def _is_handed_over(path: str, env: Mapping[str, str]) -> bool:
    """Whether the file lies where the plugin puts one; any other is kept by who named it."""
    try:
        root, _source = runtime_root(env, os.getuid())
    except RootError:
        return False
    folder = os.path.realpath(os.path.join(root, FOLDER))
    return os.path.realpath(os.path.dirname(path)) == folder


def _read(path: str, *, ours: bool) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as exc:
        raise UsageError(f"cannot read the prompt's file {path}: {exc.strerror}") from exc
    facts = os.fstat(handle)
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
        os.close(handle)
        raise UsageError(f"the prompt's file {path} is not a file of yours")
    with open(handle, "rb") as file:
        if ours:
            os.unlink(path)
        data = file.read(PROMPT_LIMIT + 1)
    if len(data) > PROMPT_LIMIT:
        raise UsageError(f"the prompt has more than {PROMPT_LIMIT} bytes")
    return data.decode("utf-8", "replace")
