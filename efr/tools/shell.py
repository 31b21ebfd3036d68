"""The tool `shell`: one command line in the conversation's hidden zsh.

Declares the line, where it starts, every path it names and the hints of `efr.policy.lines.hints`.
The line that is judged is the line that runs, to the byte: a `workdir` moves the shell there for
the call and back afterwards, it is never written into the line. How a call ends is the shell's
business; here it becomes the text that the model reads.
"""

from __future__ import annotations

import os
from typing import Annotated, Final

from msgspec import Meta, Struct

from efr.policy.lines.hints import is_interactive, reaches_network
from efr.policy.lines.programs import paths_of_line
from efr.policy.lines.split import split_line
from efr.policy.needs import CallNeeds, PathUse
from efr.policy.paths import normal
from efr.providers.canonical import ToolDefinition
from efr.shell.contract import CallEnd, EndKind, ShellCall
from efr.shell.errors import ShellError
from efr.text.cut import cut_middle
from efr.text.visible import visible_line
from efr.tools.contract import (
    OUTPUT_LIMIT,
    BadInput,
    HiddenShell,
    Input,
    ToolContext,
    ToolResult,
    Where,
)
from efr.tools.inputs import closed_schema, read_input, resolve

_NAME: Final = "shell"
_DEFAULT_TIMEOUT_S: Final = 30  # longer work is asked for on purpose
_LONGEST_TIMEOUT_S: Final = 600

_DESCRIPTION: Final = """\
Runs a command line in this conversation's own zsh on the user's machine and returns its output.
The shell stays: directory, variables, functions and aliases carry over from call to call. Several
lines are one command. The output is cut in the middle above 32 KiB; the last line gives the exit
code and the directory. A command that still runs at its timeout goes on and keeps the shell busy.
Prefer plain lines without substitutions: a line that efr cannot read is asked about."""


class ShellInput(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a call."""

    command: Annotated[str, Meta(min_length=1)]
    timeout_seconds: Annotated[int, Meta(ge=1, le=_LONGEST_TIMEOUT_S)] = _DEFAULT_TIMEOUT_S
    workdir: str | None = None
    nested_shell: bool = False


# The last line for each end; the shell's own note before it says what the model can do.
_ENDS: Final[dict[EndKind, str]] = {
    "exited": "exit code {code}",
    "not_run": "not run: zsh could not read the line",
    "timed_out": "still running after {limit} s; the shell takes no other command until it ends",
    "interrupted": "stopped by the user",
    "shell_exited": "the shell exited; the next call starts a new one in the user's directory",
    "needs_input": "stopped: it asked for hidden input and nobody could type it",
    "busy": "not run: an earlier command still runs in this shell",
    "failed": "not run: the shell did not start",
    "elsewhere": "not run: the shell stands in another directory than the line was judged for",
}
_LEFT_AFTER_STOP: Final = "stopped by the user, but it could not be ended and still runs"


class ShellTool:
    """Runs command lines."""

    definition: Final = ToolDefinition(
        _NAME,
        _DESCRIPTION,
        closed_schema(
            ("command",),
            command={"type": "string", "minLength": 1, "description": "The line for zsh."},
            timeout_seconds={
                "type": "integer",
                "minimum": 1,
                "maximum": _LONGEST_TIMEOUT_S,
                "default": _DEFAULT_TIMEOUT_S,
                "description": "How long to wait for it.",
            },
            workdir={
                "type": "string",
                "description": "Run it there; the shell is back where it was afterwards.",
            },
        ),
    )

    def declare(self, input: Input, where: Where) -> CallNeeds:
        """The line, its start, its paths and the hints."""
        call = _read(input)
        directory = _directory(call, where)
        split = split_line(call.command, where.home)
        paths = paths_of_line(call.command, directory, where.home)
        if call.workdir is not None:
            paths = (PathUse(directory, "read"), *paths)
        return CallNeeds(
            _NAME,
            paths=tuple(dict.fromkeys(paths)),
            command=call.command,
            command_dir=normal(directory),
            command_dir_real=os.path.realpath(directory),
            network=reaches_network(call.command, split),
            interactive=is_interactive(call.command, split),
        )

    def preview(self, input: Input, where: Where) -> str | None:
        """A command has no diff."""
        return None

    def run(self, input: Input, ctx: ToolContext) -> ToolResult:
        """Runs it. Blocks until the command ended or its time is over."""
        call = _read(input)
        shell = ctx.shell()
        before = shell.cwd
        directory = normal(_directory(call, ctx.where))
        moves = call.workdir is not None and directory != before
        if moves and (problem := _move(shell, directory)):
            return ToolResult(f"{problem} Nothing ran.", is_error=True)
        split = split_line(call.command, ctx.where.home)
        typed = ShellCall(
            ctx.call_id,
            call.command,
            float(call.timeout_seconds),
            interactive=is_interactive(call.command, split),
            approved_by=ctx.approved_by,
            directory=ctx.needs.command_dir_real if ctx.needs else os.path.realpath(directory),
        )
        end = shell.run(typed, ctx.cancel, ctx.watcher)
        if end.kind == "elsewhere":  # by its startup files, a person, or a directory that was moved
            if problem := _move(shell, directory):
                return ToolResult(f"{problem} Nothing ran.", is_error=True)
            end = shell.run(typed, ctx.cancel, ctx.watcher)
        problem = _move_back(shell, end, directory, before) if moves else None
        return _result(end, call, shell.cwd if moves else end.cwd, problem)


def _read(input: Input) -> ShellInput:
    call = read_input(input, ShellInput, _NAME)
    if call.nested_shell:
        raise BadInput("nested_shell is not available: run the line in the shell itself.")
    return call


def _directory(call: ShellInput, where: Where) -> str:
    """Where the line starts, unfolded."""
    if call.workdir is None:
        return where.shell_dir
    return resolve(call.workdir, where, start=where.shell_dir)


def _move(shell: HiddenShell, directory: str) -> str | None:
    """Why the shell does not stand there, or None."""
    shown = visible_line(directory)
    if not os.path.isdir(directory):  # a shell that has yet to start would start elsewhere
        return f"There is no directory {shown}."
    try:
        shell.move_to(directory)
    except ShellError as exc:
        return f"The shell could not change to {shown}: {visible_line(str(exc))}."
    return None


def _move_back(shell: HiddenShell, end: CallEnd, directory: str, before: str) -> str | None:
    """Returns the shell unless the command itself went elsewhere, runs on, or ended the shell."""
    if end.left_running or end.kind in ("shell_exited", "failed") or end.cwd != directory:
        return None
    return _move(shell, before)


def _result(end: CallEnd, call: ShellInput, cwd: str | None, problem: str | None) -> ToolResult:
    """The output, notes, and the last line."""
    output, was_cut = cut_middle(end.output, OUTPUT_LIMIT)
    stays = end.kind == "interrupted" and end.left_running
    words = (_LEFT_AFTER_STOP if stays else _ENDS[end.kind]).format(
        code=end.exit_code, limit=call.timeout_seconds
    )
    place = "" if cwd is None or end.kind == "failed" else f", cwd {visible_line(cwd)}"
    notes = [note for note in (end.note, problem) if note]
    parts = [output.removesuffix("\n")] if output else []
    return ToolResult(
        "\n".join((*parts, *notes, f"[{words}{place}]")),
        is_error=end.kind != "exited" or end.exit_code != 0,
        truncated=end.truncated or was_cut,
        exit_code=end.exit_code,
        left_running=end.left_running,
    )
