"""The tool `apply_patch`: adds, changes, deletes and moves text files, all of it or nothing.

The input is the patch itself (a freeform call) or an object with it. Files that the model read and
that changed since are refused, and so is everything that `write_file` refuses. Runs on the
conversation's worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from efr.policy.needs import CallNeeds, PathUse
from efr.policy.paths import normal
from efr.text.cut import cut_middle
from efr.text.visible import visible_line
from efr.tools.apply_patch_words import DEFINITION, NAME
from efr.tools.contract import OUTPUT_LIMIT, BadInput, Input, ToolContext, ToolResult, Where
from efr.tools.inputs import read_input, resolve
from efr.tools.patch import Change, Key, apply_patch, paths_of
from efr.tools.patch_diffs import (
    ShownDiff,
    diffs_of,
    file_changes,
    preview_diff,
    recorded_diff,
)
from efr.tools.patch_parse import DeleteFile, Operation, PatchError, UpdateFile, parse_patch
from efr.tools.patch_write import NotRestored, Step, write_all
from efr.tools.text_files import FILE_LIMIT, FileProblem, Original, read_original
from efr.tools.walk import one_name
from efr.tools.write_journal import WriteJournal

_TOTAL_LIMIT: Final = 64 * 1024 * 1024  # bytes; what is held in memory is several times that
_UNCHANGED: Final = "Nothing was changed."
_GROUPS: Final = (("updated", "Updated"), ("added", "Added"), ("deleted", "Deleted"))


class PatchInput(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a call in the function form."""

    input: str


class _Patch(Struct):
    """One call, read: its operations and the files they name."""

    operations: tuple[Operation, ...]
    where: Where
    paths: dict[Key, str] = field(default_factory=dict)  # absolute, as first written
    originals: dict[Key, Original] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for operation in self.operations:
            for path in paths_of(operation):
                self.paths.setdefault(self.key(path), self._absolute(path))

    def key(self, path: str) -> Key:
        """The same for every way to write the path."""
        return one_name(self._absolute(path), self.where.home)

    def changes(self) -> tuple[Change, ...]:
        """What it does to the files as they are. Raises FileProblem, PatchError."""
        room = _TOTAL_LIMIT
        for key, path in self.paths.items():
            original = read_original(path, self.where.home, self.where.closed)
            if original is not None:
                self.originals[key] = original
                room -= len(original.content)
            if room < 0:
                raise FileProblem(
                    f"The files of this patch hold more than {_TOTAL_LIMIT} bytes together."
                    " Split it, or use the shell."
                )
        before = {key: _text(original.content) for key, original in self.originals.items()}
        return apply_patch(self.operations, before, self.key)

    def _absolute(self, path: str) -> str:
        return normal(resolve(path, self.where, start=self.where.user_dir))


class ApplyPatchTool:
    """Changes text files by a patch."""

    definition: Final = DEFINITION

    def __init__(self, journal: WriteJournal | None = None) -> None:
        self._journal = journal

    def declare(self, input: Input, where: Where) -> CallNeeds:
        """A write of every path; deletes and moves by name."""
        operations = _operations(input)
        paths = [path for operation in operations for path in paths_of(operation)]
        writes = (PathUse(resolve(path, where, start=where.user_dir), "write") for path in paths)
        return CallNeeds(
            NAME,
            tuple(dict.fromkeys(writes)),
            deletes=tuple(_deletes(operations, where)),
            moves=tuple(_moves(operations, where)),
        )

    def preview(self, input: Input, where: Where) -> str | None:
        """The diff of every file; None where the patch would be refused."""
        patch = _Patch(_operations(input), where)
        try:
            return preview_diff(diffs_of(patch.changes(), patch.paths, where)) or None
        except (FileProblem, PatchError):
            return None

    def run(self, input: Input, ctx: ToolContext) -> ToolResult:
        """Applies it. Every file is as it was when it fails or was cancelled."""
        patch = _Patch(_operations(input), ctx.where)
        try:
            changes = patch.changes()
            _refuse_stale(patch, ctx)
            diffs = diffs_of(changes, patch.paths, ctx.where)
            _refuse_unseen(diffs, ctx)
            steps = tuple(_steps(changes, patch))
            write_all(steps, ctx.where.home, ctx.call_id, ctx.cancel, self._journal)
        except (FileProblem, PatchError) as exc:
            return _failed(str(exc))
        except NotRestored as exc:
            return ToolResult(_cut(str(exc)), is_error=True)
        _remember(changes, patch, ctx)
        return _applied(changes, diffs)


def _operations(input: Input) -> tuple[Operation, ...]:
    """The patch of either form. Raises BadInput."""
    text = input if isinstance(input, str) else read_input(input, PatchInput, NAME).input
    try:
        size = len(text.encode())
    except UnicodeEncodeError as exc:
        raise BadInput("The patch is not valid Unicode.") from exc
    if size > FILE_LIMIT:
        raise BadInput(f"The patch has {size} bytes; at most {FILE_LIMIT} are read.")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BadInput(f"Line {line} of the patch holds a NUL character; a patch is text.")
    try:
        return parse_patch(text)
    except PatchError as exc:
        raise BadInput(f"{exc} {_UNCHANGED}") from exc


def _deletes(operations: Sequence[Operation], where: Where) -> Iterator[str]:
    for operation in operations:
        if isinstance(operation, DeleteFile):
            yield resolve(operation.path, where, start=where.user_dir)


def _moves(operations: Sequence[Operation], where: Where) -> Iterator[tuple[str, str]]:
    """A move to itself is none."""
    for operation in operations:
        if isinstance(operation, UpdateFile) and operation.move_to is not None:
            ends = [resolve(path, where, start=where.user_dir) for path in paths_of(operation)]
            if normal(ends[0]) != normal(ends[1]):
                yield ends[0], ends[1]


def _refuse_stale(patch: _Patch, ctx: ToolContext) -> None:
    """A file that the model never read is fine: the lines of the patch have to be there."""
    for key, original in patch.originals.items():
        if ctx.views.compare(key, original.content) == "changed":
            raise FileProblem(
                f"{visible_line(patch.paths[key])} changed since it was last read. Read it again"
                " with read_file, then patch it as it is now."
            )


def _refuse_unseen(diffs: Sequence[ShownDiff], ctx: ToolContext) -> None:
    """What the user allowed is the diff of the question, not what became of it since; without a
    diff, because nothing fitted then, they allowed nothing."""
    if ctx.was_asked and (preview_diff(diffs) or None) != ctx.shown:
        raise FileProblem(
            "A file of this patch changed while the user was asked, so it would do something else"
            " than they allowed. Read the files again, then patch them as they are now."
        )


def _steps(changes: Sequence[Change], patch: _Patch) -> Iterator[Step]:
    """A move is a new file first, then the old one goes."""
    for change in changes:
        content = None if change.after is None else _bytes(change.after)
        if content is not None and len(content) > FILE_LIMIT:
            raise FileProblem(
                f"{visible_line(change.path)} would have {len(content)} bytes; at most"
                f" {FILE_LIMIT} are written."
            )
        like = None if change.facts_of is None else patch.originals[change.facts_of]
        path = patch.paths[change.key]
        yield Step(path, content, patch.originals.get(change.key), like)
        if change.from_key is not None:
            yield Step(patch.paths[change.from_key], None, patch.originals[change.from_key])


def _remember(changes: Sequence[Change], patch: _Patch, ctx: ToolContext) -> None:
    """The model knows what it wrote, except around the lines of a file that it never read."""
    for change in changes:
        if change.after is None:
            continue
        source = change.facts_of
        known = source is None or (
            ctx.views.compare(source, patch.originals[source].content) == "current"
        )
        if known:
            ctx.views.saw(change.key, _bytes(change.after))


def _applied(changes: Sequence[Change], diffs: Sequence[ShownDiff]) -> ToolResult:
    """The groups for the model; the diff and the counts for the user."""
    if not changes:
        return ToolResult("Success. Every file was already as the patch makes it.")
    lines = ["Success."]
    for kind, title in _GROUPS:
        paths = [visible_line(change.path) for change in changes if change.kind == kind]
        if paths:
            lines.append(f"{title}: {', '.join(paths)}")
    moves = [
        f"{visible_line(change.from_path or '')} -> {visible_line(change.path)}"
        for change in changes
        if change.kind == "moved"
    ]
    if moves:
        lines.append(f"Moved: {', '.join(moves)}")
    return ToolResult(
        _cut("\n".join(lines)), diff=recorded_diff(diffs), changes=file_changes(diffs)
    )


def _failed(why: str) -> ToolResult:
    told = why if why.endswith(_UNCHANGED) else f"{why}\n{_UNCHANGED}"
    return ToolResult(_cut(told), is_error=True)


def _cut(text: str) -> str:
    return cut_middle(text, OUTPUT_LIMIT)[0]


def _text(content: bytes) -> str:
    """Bytes that are no UTF-8 stay themselves."""
    return content.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
