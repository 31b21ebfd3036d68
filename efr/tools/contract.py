"""The contract between a turn and a tool: declare, preview, run.

Values and protocols; the methods run on the conversation's worker. `declare` looks at nothing but
its input (the tool `settings` plans against the file, so that a change that cannot be made asks
nobody), so a call is judged before anything happens; the caller adds where links really lead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, Protocol

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.policy.needs import CallNeeds
from efr.providers.canonical import ToolDefinition
from efr.shell.contract import Approver, CallEnd, CallWatcher, ShellCall
from efr.tools.file_views import FileViews
from efr.wire import types as t

OUTPUT_LIMIT: Final = 32 * 1024  # bytes of one result: what a model reads well, and can pay for

Input = Any  # the call's JSON as the model wrote it; text when it was no JSON


class BadInput(Exception):
    """The call's input does not fit its schema. The message is for the model."""


# Why a file is closed to the model under any name, as it is when it is about to be opened; None
# when it is not.
Closed = Callable[[os.stat_result], str | None]


def nothing_closed(facts: os.stat_result) -> str | None:
    """No file is closed."""
    return None


class Where(Struct, frozen=True):
    """Where relative paths and `~` lead. All are absolute and in the form the user knows."""

    user_dir: str  # of the prompt: file tools start here
    shell_dir: str  # where the hidden shell stands: commands start here
    home: str
    scratch: str | None = None
    project_root: str | None = None  # only for how changed files are named
    # Asked of the file itself: a name may change its file between the decision and its use.
    closed: Closed = nothing_closed


class ToolResult(Struct, frozen=True):
    """What a call came to. `output` is what the model reads."""

    output: str
    is_error: bool = False
    truncated: bool = False
    exit_code: int | None = None
    diff: str | None = None
    changes: t.FileChanges | None = None
    left_running: bool = False


class HiddenShell(Protocol):
    """The conversation's shell, as far as a tool uses it. Every method may block."""

    @property
    def cwd(self) -> str: ...

    def move_to(self, directory: str) -> None:
        """Stands there afterwards. Raises ShellError when it does not."""
        ...

    def run(self, call: ShellCall, cancel: Cancel, watcher: CallWatcher) -> CallEnd:
        """Runs one line and returns how it ended."""
        ...


class ToolContext(Struct, frozen=True):
    """What a running call may use. `views` lives as long as its conversation.

    `shown` is the preview that the user saw and allowed; None: there was no question, or no
    preview.
    """

    call_id: str
    where: Where
    cancel: Cancel
    shell: Callable[[], HiddenShell]
    watcher: CallWatcher
    clock: Clock
    views: FileViews
    shown: str | None = None
    needs: CallNeeds | None = None  # what the call declared and was judged by
    approved_by: Approver | None = None  # None: nobody had to allow it

    @property
    def was_asked(self) -> bool:
        """Whether a person answered a question about the call."""
        return self.shown is not None or self.approved_by == "you"


class Tool(Protocol):
    """One tool."""

    @property
    def definition(self) -> ToolDefinition: ...

    def declare(self, input: Input, where: Where) -> CallNeeds:
        """What this call needs. Pure. Raises BadInput."""
        ...

    def preview(self, input: Input, where: Where) -> str | None:
        """The change as a diff for the question, or None. Reads files; changes nothing."""
        ...

    def run(self, input: Input, ctx: ToolContext) -> ToolResult:
        """Does it. Every failure that the model can do something about is a result."""
        ...
