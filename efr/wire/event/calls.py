"""Events of messages and tool calls (protocol: messages and tool calls)."""

from __future__ import annotations

from typing import Any

from efr.wire.event.base import OfTurn
from efr.wire.scalars import I32, U32, U64, CallId
from efr.wire.shared.files import FileChanges
from efr.wire.shared.grants import Launch
from efr.wire.shared.sandbox import SandboxSummary
from efr.wire.shared.shells import InputWait


class AssistantMessageUpdated(OfTurn, frozen=True):
    """Text added since the last update; `offset` counts bytes of UTF-8."""

    index: U32  # counts the turn's messages that have text
    offset: U64
    delta: str


class AssistantMessageCompleted(OfTurn, frozen=True):
    """A whole message."""

    index: U32
    text: str


class ToolCallStarted(OfTurn, frozen=True):
    """The model calls a tool."""

    call_id: CallId
    tool: str
    input: Any  # its members keep the order they came in
    freeform: bool = False  # `input` is the text as written
    manual_input: bool = False
    launch: Launch | None = None


class ToolCallOutputUpdated(OfTurn, frozen=True):
    """The output so far grew."""

    call_id: CallId
    tail: str
    bytes: U64


class ToolCallInputChanged(OfTurn, frozen=True):
    """The command began or stopped waiting for input."""

    call_id: CallId
    input: InputWait
    looks_secret: bool = False  # only with a visible wait: the client hides what is typed


class ToolCallCompleted(OfTurn, frozen=True):
    """The call answered the model."""

    call_id: CallId
    output: str  # what the model reads
    truncated: bool  # cut in the middle
    is_error: bool
    exit_code: I32 | None = None
    sandbox: SandboxSummary | None = None
    refusal: str | None = None  # why efr refused before the run
    changes: FileChanges | None = None
    diff: str | None = None
    left_running: bool = False
