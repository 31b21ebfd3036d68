"""The tool `edit`: replaces a text in a file by another one.

It never makes, deletes or moves a file. A file that the model read and that changed since is
refused; one that it never read is fine, as the old text has to be there. The write is whole or not
at all. Runs on the conversation's worker.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from efr.policy.needs import CallNeeds, PathUse
from efr.policy.paths import normal
from efr.providers.canonical import ToolDefinition
from efr.text.diff import FileDiff, file_diff, limit_lines
from efr.text.visible import visible_line
from efr.tools.changes import one_change, shown_path
from efr.tools.contract import BadInput, Input, ToolContext, ToolResult, Where
from efr.tools.file_limits import DIFF_BYTES, DIFF_LINES, PREVIEW_BYTES, PREVIEW_LINES
from efr.tools.inputs import closed_schema, read_input, resolve
from efr.tools.patch_hunks import nearest_lines
from efr.tools.patch_write import Step, write_one
from efr.tools.text_files import FILE_LIMIT, FileProblem, Original, read_original
from efr.tools.walk import one_name
from efr.tools.write_journal import WriteJournal
from efr.wire import types as t

_NAME: Final = "edit"
_UNCHANGED: Final = "Nothing was changed."
_BARE_LINE_FEED: Final = re.compile(r"(?<!\r)\n")

_DESCRIPTION: Final = """\
Replaces old_string by new_string in a text file. old_string has to be in the file exactly as
written, with its blanks and line breaks, and only once; give enough lines around it, or set
replace_all to replace every one. Relative paths start in the user's directory; ~ and $SCRATCH work.
Paths through symbolic links are refused. New files are made with write_file."""


class EditInput(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a call."""

    path: str
    old_string: str
    new_string: str
    replace_all: bool = False


class _Edited(Struct, frozen=True):
    """A file before and after the call, and how many places changed."""

    path: str
    original: Original
    content: bytes
    places: int


class EditTool:
    """Changes a text file in place."""

    definition: Final = ToolDefinition(
        _NAME,
        _DESCRIPTION,
        closed_schema(
            ("path", "old_string", "new_string"),
            path={"type": "string", "description": "The file."},
            old_string={"type": "string", "description": "The text as it is in the file."},
            new_string={"type": "string", "description": "The text in its place."},
            replace_all={"type": "boolean", "description": "Replace every match; else just one."},
        ),
    )

    def __init__(self, journal: WriteJournal | None = None) -> None:
        self._journal = journal

    def declare(self, input: Input, where: Where) -> CallNeeds:
        """A write of the file."""
        call = _read(input)
        path = resolve(call.path, where, start=where.user_dir)
        return CallNeeds(_NAME, (PathUse(path, "write"),))

    def preview(self, input: Input, where: Where) -> str | None:
        """The diff to the file as it is; None where the edit would be refused."""
        try:
            edited = _edited(_read(input), where)
        except FileProblem:
            return None
        return _preview(edited, where) or None

    def run(self, input: Input, ctx: ToolContext) -> ToolResult:
        """Edits it. Nothing is written when it fails or was cancelled."""
        call = _read(input)
        if ctx.cancel.cancelled:
            return ToolResult("The user stopped it. Nothing was written.", is_error=True)
        try:
            edited = _edited(call, ctx.where)
            view = _view(edited, ctx)
            _refuse_unseen(edited, ctx)
            step = Step(edited.path, edited.content, edited.original)
            write_one(step, ctx.where.home, ctx.call_id, self._journal)
        except FileProblem as exc:
            return ToolResult(str(exc), is_error=True)
        if view == "current":  # else the model does not know the lines around its text
            ctx.views.saw(one_name(edited.path, ctx.where.home), edited.content)
        return _result(edited, ctx.where)


def _read(input: Input) -> EditInput:
    """The call. Raises BadInput for one that could change nothing, before any look at the file."""
    call = read_input(input, EditInput, _NAME)
    if not call.old_string:
        raise BadInput("old_string is empty. Give the text to replace; write_file makes files.")
    if call.old_string == call.new_string:
        raise BadInput("old_string and new_string are the same.")
    for name, text in (("old_string", call.old_string), ("new_string", call.new_string)):
        if "\0" in text:
            raise BadInput(f"{name} holds a NUL character; edit changes text.")
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            raise BadInput(f"{name} is not valid Unicode.") from exc
    return call


def _edited(call: EditInput, where: Where) -> _Edited:
    """The file as it would be. Raises FileProblem."""
    path = normal(resolve(call.path, where, start=where.user_dir))
    original = read_original(path, where.home, where.closed)
    if original is None:
        raise FileProblem(f"{visible_line(path)} does not exist. {_UNCHANGED}")
    old, new = _line_ends(call.old_string, call.new_string, original.content)
    places = original.content.count(old)
    if places == 0:
        raise _missing(path, call.old_string, original)
    if places > 1 and not call.replace_all:
        raise FileProblem(
            f"old_string is in {visible_line(path)} {places} times. Give more lines around the one"
            f" you mean, or set replace_all. {_UNCHANGED}"
        )
    content = original.content.replace(old, new)
    if len(content) > FILE_LIMIT:
        raise FileProblem(
            f"{visible_line(path)} would have {len(content)} bytes; at most {FILE_LIMIT} are"
            f" written. {_UNCHANGED}"
        )
    return _Edited(path, original, content, places)


def _line_ends(old: str, new: str, content: bytes) -> tuple[bytes, bytes]:
    """Both texts with the file's line ends, where it has CRLF alone and they have none."""
    ends = content.count(b"\n")
    if ends and content.count(b"\r\n") == ends and "\r" not in old and "\r" not in new:
        old, new = (_BARE_LINE_FEED.sub("\r\n", text) for text in (old, new))
    return old.encode(), new.encode()


def _missing(path: str, old: str, original: Original) -> FileProblem:
    head = f"old_string is not in {visible_line(path)}. {_UNCHANGED}"
    text = original.content.decode("utf-8", "replace")
    return FileProblem("\n".join((head, *nearest_lines(text, old.split("\n")))))


def _view(edited: _Edited, ctx: ToolContext) -> str:
    """What the model knows of the file. Raises FileProblem when that is out of date."""
    view = ctx.views.compare(one_name(edited.path, ctx.where.home), edited.original.content)
    if view == "changed":
        raise FileProblem(
            f"{visible_line(edited.path)} changed since it was last read. Read it again with"
            f" read_file, then edit it as it is now. {_UNCHANGED}"
        )
    return view


def _refuse_unseen(edited: _Edited, ctx: ToolContext) -> None:
    """What the user allowed is the diff of the question, not what became of it since; without a
    diff, because nothing fitted then, they allowed nothing."""
    if ctx.was_asked and (_preview(edited, ctx.where) or None) != ctx.shown:
        raise FileProblem(
            f"{visible_line(edited.path)} changed while the user was asked, so the edit would do"
            f" something else than they allowed. Read it again. {_UNCHANGED}"
        )


def _preview(edited: _Edited, where: Where) -> str:
    return limit_lines(_diff(edited, where).lines, PREVIEW_LINES, PREVIEW_BYTES)


def _diff(edited: _Edited, where: Where) -> FileDiff:
    before, after = (
        content.decode("utf-8", "replace") for content in (edited.original.content, edited.content)
    )
    return file_diff(shown_path(edited.path, where), before, after)


def _result(edited: _Edited, where: Where) -> ToolResult:
    """The count and the path; and the change for the user."""
    diff = _diff(edited, where)
    times = "1 place" if edited.places == 1 else f"{edited.places} places"
    return ToolResult(
        f"Success. Replaced {times} in {visible_line(edited.path)}.",
        diff=limit_lines(diff.lines, DIFF_LINES, DIFF_BYTES),
        changes=one_change(shown_path(edited.path, where), t.ChangeKind.MODIFIED, diff),
    )
