"""Events of messages and tool calls (protocol: messages and tool calls)."""

from typing import Any

from efr.wire.event.base import OfTurn
from efr.wire.scalars import I32, U64, CallId
from efr.wire.shared.files import FileChanges
from efr.wire.shared.grants import Launch
from efr.wire.shared.sandbox import SandboxSummary
from efr.wire.shared.shells import InputWait


class ToolCallStarted(OfTurn, frozen=True):
    """The model calls a tool."""

    call_id: CallId
    tool: str
    input: Any  # as the model wrote it; members keep their order
    freeform: bool = False  # `input` is a string with the text as written
    manual_input: bool = False  # takes an input that the user chooses to type
    launch: Launch | None = None  # how a shell call runs


class ToolCallOutputUpdated(OfTurn, frozen=True):
    """The output of a running call grew."""

    call_id: CallId
    tail: str  # the end of the output so far
    bytes: U64  # of the whole output so far


class ToolCallInputChanged(OfTurn, frozen=True):
    """The command of a call began or stopped waiting for input."""

    call_id: CallId
    input: InputWait
    looks_secret: bool = False  # only with a visible wait: the client hides what is typed


class ToolCallCompleted(OfTurn, frozen=True):
    """The call answered the model."""

    call_id: CallId
    output: str  # what the model reads
    truncated: bool  # cut in the middle
    is_error: bool
    exit_code: I32 | None = None  # of the command
    sandbox: SandboxSummary | None = None
    refusal: str | None = None  # why efr refused before the run
    changes: FileChanges | None = None  # of files, during the call
    diff: str | None = None  # of a file tool's write, at most 2000 lines
    left_running: bool = False  # the command of the call runs on
