"""The tool `write_file`: makes a text file, or replaces all of one.

An existing file is replaced only when the model saw it as it is now, in this conversation; a file
that the user changed meanwhile is never overwritten unseen. The write is whole or not at all.
Runs on the conversation's worker.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from efr.policy.needs import CallNeeds, PathUse
from efr.policy.paths import normal
from efr.providers.canonical import ToolDefinition
from efr.text.diff import file_diff, limit_lines
from efr.text.visible import visible_line
from efr.tools.changes import one_change, shown_path
from efr.tools.contract import BadInput, Input, ToolContext, ToolResult, Where
from efr.tools.file_limits import DIFF_BYTES, DIFF_LINES, PREVIEW_BYTES, PREVIEW_LINES
from efr.tools.inputs import closed_schema, read_input, resolve
from efr.tools.patch_write import Step, write_one
from efr.tools.text_files import FILE_LIMIT, FileProblem, Original, read_original
from efr.tools.walk import one_name
from efr.tools.write_journal import WriteJournal
from efr.wire import types as t

_NAME: Final = "write_file"

_DESCRIPTION: Final = """\
Writes a text file as a whole: makes it, with missing directories, or replaces its content.
Relative paths start in the user's directory; ~ and $SCRATCH work. An existing file has to be read
with read_file first, and again when it changed since. Paths through symbolic links are refused."""

_STALE: Final = {
    "unseen": "{path} exists and was not read in this conversation. Read it with read_file first,"
    " then write it again. Nothing was written.",
    "changed": "{path} changed since it was last read. Read it again with read_file, then write it"
    " with both changes. Nothing was written.",
}


class WriteInput(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a call."""

    path: str
    content: str


class _Write(Struct, frozen=True):
    """One call, read."""

    path: str
    content: bytes


class WriteFileTool:
    """Makes and replaces text files."""

    definition: Final = ToolDefinition(
        _NAME,
        _DESCRIPTION,
        closed_schema(
            ("path", "content"),
            path={"type": "string", "description": "The file."},
            content={"type": "string", "description": "All of its text."},
        ),
    )

    def __init__(self, journal: WriteJournal | None = None) -> None:
        self._journal = journal

    def declare(self, input: Input, where: Where) -> CallNeeds:
        """A write of the file."""
        call = read_input(input, WriteInput, _NAME)
        _encoded(call.content)
        path = resolve(call.path, where, start=where.user_dir)
        return CallNeeds(_NAME, (PathUse(path, "write"),))

    def preview(self, input: Input, where: Where) -> str | None:
        """The diff to the file as it is; None where the write would be refused."""
        write = _read(input, where)
        try:
            original = read_original(write.path, where.home, where.closed)
        except FileProblem:
            return None
        diff = file_diff(shown_path(write.path, where), _text(original), write.content.decode())
        return limit_lines(diff.lines, PREVIEW_LINES, PREVIEW_BYTES) or None

    def run(self, input: Input, ctx: ToolContext) -> ToolResult:
        """Writes it. Nothing is written when it fails or was cancelled."""
        write = _read(input, ctx.where)
        if ctx.cancel.cancelled:
            return ToolResult("The user stopped it. Nothing was written.", is_error=True)
        try:
            original = read_original(write.path, ctx.where.home, ctx.where.closed)
            _refuse_stale(write, original, ctx)
            if original is None or original.content != write.content:
                step = Step(write.path, write.content, original)
                write_one(step, ctx.where.home, ctx.call_id, self._journal)
        except FileProblem as exc:
            return ToolResult(str(exc), is_error=True)
        ctx.views.saw(one_name(write.path, ctx.where.home), write.content)
        return _written(write, original, ctx.where)


def _read(input: Input, where: Where) -> _Write:
    call = read_input(input, WriteInput, _NAME)
    path = normal(resolve(call.path, where, start=where.user_dir))
    return _Write(path, _encoded(call.content))


def _encoded(content: str) -> bytes:
    """The bytes to write. Raises BadInput for what could not be read back as text."""
    try:
        data = content.encode()
    except UnicodeEncodeError as exc:
        raise BadInput("The content is not valid Unicode.") from exc
    if len(data) > FILE_LIMIT:
        raise BadInput(f"The content has {len(data)} bytes; at most {FILE_LIMIT} are written.")
    if b"\0" in data:
        raise BadInput("The content holds a NUL character; write_file writes text.")
    return data


def _refuse_stale(write: _Write, original: Original | None, ctx: ToolContext) -> None:
    if original is None or original.content == write.content:
        return
    view = ctx.views.compare(one_name(write.path, ctx.where.home), original.content)
    if view != "current":
        raise FileProblem(_STALE[view].format(path=visible_line(write.path)))


def _text(original: Original | None) -> str | None:
    return None if original is None else original.content.decode("utf-8", "replace")


def _written(write: _Write, original: Original | None, where: Where) -> ToolResult:
    """The verb, the path, the size; and the change for the user."""
    shown = shown_path(write.path, where)
    size = f"{visible_line(write.path)} ({len(write.content)} bytes)."
    if original is not None and original.content == write.content:
        return ToolResult(f"Unchanged: {size}")
    diff = file_diff(shown, _text(original), write.content.decode())
    kind = t.ChangeKind.ADDED if original is None else t.ChangeKind.MODIFIED
    return ToolResult(
        f"{'Created' if original is None else 'Replaced'} {size}",
        diff=limit_lines(diff.lines, DIFF_LINES, DIFF_BYTES),
        changes=one_change(shown, kind, diff),
    )
