"""The tool `read_file`: a text file, or some of its lines.

The whole file is read whatever lines are asked for, so that a later write can tell whether the
model knows the file as it is. Runs on the conversation's worker.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

from efr.policy.needs import CallNeeds, PathUse
from efr.policy.paths import normal
from efr.providers.canonical import ToolDefinition
from efr.text.cut import cut_middle
from efr.text.visible import visible_line
from efr.tools.contract import OUTPUT_LIMIT, Input, ToolContext, ToolResult, Where
from efr.tools.inputs import closed_schema, read_input, resolve
from efr.tools.text_files import FileProblem, read_original
from efr.tools.walk import one_name

_NAME: Final = "read_file"

_DESCRIPTION: Final = """\
Reads a text file. Relative paths start in the user's directory; ~ and $SCRATCH work. With offset
(from 1) and limit only those lines are returned, and a last line says which of how many. Above
32 KiB the middle is cut: ask for a range then. Directories, binary files, files above 16 MiB and
paths through symbolic links are refused."""


class ReadInput(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a call."""

    path: str
    offset: Annotated[int, Meta(ge=1)] | None = None
    limit: Annotated[int, Meta(ge=1)] | None = None


class ReadFileTool:
    """Reads text files."""

    definition: Final = ToolDefinition(
        _NAME,
        _DESCRIPTION,
        closed_schema(
            ("path",),
            path={"type": "string", "description": "The file."},
            offset={"type": "integer", "minimum": 1, "description": "The first line."},
            limit={"type": "integer", "minimum": 1, "description": "How many lines."},
        ),
    )

    def declare(self, input: Input, where: Where) -> CallNeeds:
        """A read of the file."""
        call = read_input(input, ReadInput, _NAME)
        path = resolve(call.path, where, start=where.user_dir)
        return CallNeeds(_NAME, (PathUse(path, "read"),))

    def preview(self, input: Input, where: Where) -> str | None:
        """Reading changes nothing."""
        return None

    def run(self, input: Input, ctx: ToolContext) -> ToolResult:
        """The text. Remembers what the model saw."""
        call = read_input(input, ReadInput, _NAME)
        path = normal(resolve(call.path, ctx.where, start=ctx.where.user_dir))
        try:
            original = read_original(path, ctx.where.home, ctx.where.closed)
        except FileProblem as exc:
            return ToolResult(str(exc), is_error=True)
        if original is None:
            return ToolResult(f"There is no file {visible_line(path)}.", is_error=True)
        ctx.views.saw(one_name(path, ctx.where.home), original.content)
        return _shown(original.content, call)


def _shown(content: bytes, call: ReadInput) -> ToolResult:
    text = content.decode("utf-8", "replace")
    lines = _lines(text)
    first, last = 1, len(lines)
    is_range = call.offset is not None or call.limit is not None
    if is_range:
        first = call.offset or 1
        last = len(lines) if call.limit is None else min(first + call.limit - 1, len(lines))
        if first > len(lines):
            return ToolResult(f"The file has {len(lines)} lines.", is_error=True)
        text = "".join(lines[first - 1 : last])
    output, was_cut = cut_middle(text, OUTPUT_LIMIT)
    notes = []
    if not content:
        notes.append("[the file is empty]")
    if "\ufffd" in text and not _is_utf8(content):
        notes.append("[the file is not UTF-8: bytes that do not fit show as U+FFFD]")
    if is_range or was_cut:
        notes.append(f"[lines {first} to {last} of {len(lines)}]")
    if notes:
        output = "\n".join([*([output.removesuffix("\n")] if output else []), *notes])
    return ToolResult(output, truncated=was_cut)


def _lines(text: str) -> list[str]:
    """Lines with their newlines; only `\\n` ends one."""
    parts = text.split("\n")
    last = parts.pop()
    return [f"{part}\n" for part in parts] + ([last] if last else [])


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
