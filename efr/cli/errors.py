"""How a command says that it cannot go on: a message, the line that names the fix, an exit code.

Light, because the fast path needs it. Which error of another room gets which code is `exits`.
"""

from __future__ import annotations

DONE = 0
FAILED = 1
USAGE = 2
NO_DAEMON = 3
INTERRUPTED = 130


class CommandError(Exception):
    """The command ends with `code` after `message`, and `fix` on a second line when it has one."""

    def __init__(self, message: str, *, fix: str = "", code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.code = code


class UsageError(CommandError):
    """What was asked for makes no sense: exit 2."""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message, fix=fix, code=USAGE)
