"""The user's shell and the hidden one (protocol: shell_context, hidden shell, input)."""

from enum import StrEnum

from efr.wire.scalars import CallId, Time, Wire


class InputWait(StrEnum):
    """What a running command waits for."""

    NONE = "none"
    VISIBLE = "visible"  # a line that the terminal shows
    HIDDEN = "hidden"  # a line that the terminal hides, such as a password


class ApprovedBy(StrEnum):
    """Who let a command run. Open."""

    YOU = "you"  # the user
    YOUR_RULE = "your_rule"  # a saved rule
    REVIEWER = "reviewer"  # a model that reviews
    FULL_MODE = "full_mode"  # nobody had to
    UNKNOWN = "unknown"


class ShellCommandEnd(StrEnum):
    """How a command left running ended. Open."""

    ENDED = "ended"  # by itself
    STOPPED = "stopped"  # the user stopped it
    LIMIT = "limit"  # at its time limit
    CLOSED = "closed"  # the hidden shell was closed
    SHELL_EXITED = "shell_exited"  # the hidden shell ended
    MOVED = "moved"  # it is a background job now
    UNKNOWN = "unknown"


class ShellBusy(Wire, frozen=True):
    """A command that its call left running in the hidden shell."""

    call_id: CallId  # that left it running
    command: str  # the first 200 characters of the line
    since: Time  # when it started
    contained: bool  # it runs in the sandbox
    input: InputWait
    looks_secret: bool = False  # as in tool_call_input_changed
    prompt: str | None = None  # the screen row of the cursor, at most 200 characters
    approved_by: ApprovedBy | None = None
