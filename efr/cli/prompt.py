"""A prompt before it is sent: text, context, settings, as the members of `prompt.send`.

Light: plain values and `json`, so that the first frame goes out before the wire types load. A
test proves that these members encode to the bytes of `efr.wire`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from efr.cli.errors import UsageError
from efr.cli.handover import PROMPT_LIMIT, Handover

WHOLE_ID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
MODES = ("manual", "cautious", "auto", "full")
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)"
_SURROGATE = "[\ud800-\udfff]"
_U32, _I32 = range(2**32), range(-(2**31), 2**31)

_CONTEXT: dict[str, type | range] = {
    "pwd": str,
    "oldpwd": str,
    "tty": str,
    "shell_pid": _U32,
    "last_status": _I32,
    "shlvl": _U32,
    "ssh_connection": str,
    "hostname": str,
}
_DESKTOP = (
    "wayland_display",
    "display",
    "hyprland_instance_signature",
    "swaysock",
    "i3sock",
    "niri_socket",
)
_RECENT: dict[str, type | range] = {
    "command": str,
    "status": _I32,
    "cwd": str,
    "ended_at": str,
    "duration_ms": range(2**63),
}


class Place(NamedTuple):
    """Where the command runs: its directory, and the terminal on stdin ("" for none)."""

    cwd: str
    tty: str


class Asked(NamedTuple):
    """What a prompt is sent with. `origin`: `shell` with the plugin's context, else `cli`."""

    text: str
    origin: str
    context: dict[str, Any]
    last_command: str
    recent_commands: list[dict[str, Any]]
    settings: dict[str, str]

    @property
    def tty(self) -> str:
        """The terminal of the prompt, "" for none."""
        return str(self.context.get("tty", ""))

    def params(
        self, command_id: str, *, conversation_id: str = "", new: bool = False
    ) -> dict[str, Any]:
        """The members of `prompt.send` in their order, those without a value left out."""
        members: dict[str, Any] = {
            "command_id": command_id,
            "conversation_id": conversation_id,
            "new_conversation": new,
            "text": self.text,
            "context": self.context,
            "last_command": self.last_command,
            "settings": self.settings,
            "recent_commands": self.recent_commands,
        }
        return {name: value for name, value in members.items() if value or name == "text"}


def asked(args: Mapping[str, Any], given: Handover, place: Place, *, hint: str) -> Asked:
    """What the arguments and the plugin's variables ask for; a flag wins.

    Raises UsageError; `hint` is the second line for an empty prompt.
    """
    context_text = args.get("--context-json") or given.context
    words = " ".join(args.get("<prompt>") or args.get("<text>") or [])
    text = clean(words or given.prompt)
    if not text.strip():
        raise UsageError("the prompt is empty", fix=hint)
    if len(text.encode()) > PROMPT_LIMIT:
        raise UsageError(f"the prompt has more than {PROMPT_LIMIT} bytes")
    return Asked(
        text=text,
        origin="shell" if context_text else "cli",
        context=context(context_text, place),
        last_command=clean(args.get("--last-command") or given.last_command),
        recent_commands=recent_commands(given.recent_commands),
        settings=settings(args, given),
    )


def settings(args: Mapping[str, Any], given: Handover) -> dict[str, str]:
    """The settings that the prompt itself asks for. Raises UsageError for an unknown mode."""
    values = {
        name: clean(args.get(f"--{name}") or getattr(given, name))
        for name in ("mode", "model", "effort")
    }
    if values["mode"] and values["mode"] not in MODES:
        raise UsageError(f"unknown mode {values['mode']!r}", fix=f"choose {', '.join(MODES)}")
    return {name: value for name, value in values.items() if value}


def context(text: str, place: Place) -> dict[str, Any]:
    """The shell's context; without one, this directory and terminal. Raises UsageError.

    A member whose value is null or of another type is left out; so is every other member, the
    last command among them.
    """
    members = _object(text) if text else {"tty": place.tty or None}
    found = _picked(members, _CONTEXT)
    found = {"pwd": found.get("pwd") or clean(place.cwd), **found}
    desktop = members.get("desktop")
    if isinstance(desktop, dict):
        shown = _picked(desktop, dict.fromkeys(_DESKTOP, str))
        if shown and desktop.get("has_xauthority") is True:
            shown["has_xauthority"] = True
        if shown:
            found["desktop"] = shown
    return found


def recent_commands(text: str) -> list[dict[str, Any]]:
    """The recent commands, oldest first; what is no such list or entry is left out."""
    try:
        entries = json.loads(text) if text else []
    except ValueError:
        return []
    if not isinstance(entries, list):
        return []
    found = [_picked(entry, _RECENT) for entry in entries if isinstance(entry, dict)]
    for entry in found:
        if not re.fullmatch(_TIME, str(entry.get("ended_at", ""))):
            entry.pop("ended_at", None)
    return [entry for entry in found if entry.get("command")]


def clean(text: str) -> str:
    """Text as JSON can carry it: a surrogate, such as a byte that is no UTF-8, becomes U+FFFD."""
    return text if text.isascii() else re.sub(_SURROGATE, "\ufffd", text)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UsageError("the context is no JSON object", fix="the zsh plugin sets EFR_CONTEXT")
    return value


def _picked(members: dict[str, Any], kinds: Mapping[str, type | range]) -> dict[str, Any]:
    """The members that are known and fit, in the order of `kinds`."""
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        value = members.get(name)
        if isinstance(kind, range):
            if isinstance(value, int) and not isinstance(value, bool) and value in kind:
                found[name] = value
        elif isinstance(value, str) and value:
            found[name] = clean(value)
    return found
