"""What can go wrong with a hidden shell. `daemon` maps these to wire codes; none holds typed text.

`NoSuchCall` is `not_found`, `NotWaiting` and `CommandRuns` are `conflict`, `BadAnswer` is
`invalid`.
"""

from __future__ import annotations


class ShellError(Exception):
    """Base of this room's errors."""


class ShellDidNotStart(ShellError):
    """The shell's program could not be run. Names the program and the system's reason."""

    def __init__(self, program: str, why: str) -> None:
        super().__init__(f"{program}: {why}")
        self.program = program
        self.why = why


class CannotMove(ShellError):
    """The shell does not stand in that directory: it is busy, or `cd` failed."""

    def __init__(self, directory: str, why: str) -> None:
        super().__init__(f"{directory}: {why}")
        self.directory = directory
        self.why = why


class NoSuchCall(ShellError):
    """No call with this id runs in the shell; one left running counts as ended."""

    def __init__(self, call_id: str) -> None:
        super().__init__(f"no call {call_id} runs here")
        self.call_id = call_id


class CommandRuns(ShellError):
    """The call's command runs and was not left: its turn is what can be stopped."""

    def __init__(self, call_id: str) -> None:
        super().__init__(f"call {call_id} has not answered")
        self.call_id = call_id


class NotWaiting(ShellError):
    """The call runs, but does not take this answer now. `why` is one clause for a person."""

    def __init__(self, call_id: str, why: str) -> None:
        super().__init__(f"call {call_id}: {why}")
        self.call_id = call_id
        self.why = why


class BadAnswer(ShellError):
    """The answer is too long or is not one plain line. The text itself is not kept."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class PtyClosed(ShellError):
    """The PTY was let go, or its shell is gone."""
