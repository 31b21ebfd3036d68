"""Which events are in the index, and with which text."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from efr.text.indexed import indexed_command, indexed_text
from efr.wire import events as ev
from efr.wire.errors import BadValue


class DocKind(IntEnum):
    """What a document is; the numbers stand in the table."""

    PROMPT = 0
    STEER = 1
    ANSWER = 2
    COMMAND = 3


SHELL: Final = "shell"  # the tool whose calls are command lines

# The events that may hold such a text.
KINDS: Final = frozenset(
    {"prompt_queued", "turn_steered", "assistant_message_completed", "tool_call_started"}
)


def document(kind: str, payload: bytes) -> tuple[DocKind, str] | None:
    """What of an event the index holds, cut, cleaned and redacted; None for nothing.

    A record that cannot be read any more has nothing.
    """
    try:
        event = ev.decode_event(kind, payload)
    except BadValue:
        return None
    found = _text(event)
    return found if found is not None and found[1] else None


def _text(event: ev.Event) -> tuple[DocKind, str] | None:
    match event:
        case ev.PromptQueued(text=text):
            return DocKind.PROMPT, indexed_text(text)
        case ev.TurnSteered(text=text):
            return DocKind.STEER, indexed_text(text)
        case ev.AssistantMessageCompleted(text=text):
            return DocKind.ANSWER, indexed_text(text)
        case ev.ToolCallStarted(tool=tool, input=dict() as members) if tool == SHELL:
            return _command(members)
        case _:
            return None


def _command(members: dict[str, object]) -> tuple[DocKind, str] | None:
    """A call's line. The command of a background job stays out."""
    command = members.get("command")
    if not isinstance(command, str) or members.get("background"):
        return None
    return DocKind.COMMAND, indexed_command(command)
