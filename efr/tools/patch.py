"""What a patch does to files: operations in order on texts in memory, all or nothing.

Pure. Owns the order of operations and the changes that are left in the end; one update's hunks
are `efr.tools.patch_hunks`, the disk is `efr.tools.patch_write`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from efr.text.visible import visible_line
from efr.tools.patch_hunks import update_text
from efr.tools.patch_parse import AddFile, DeleteFile, Operation, PatchError, UpdateFile

Kind = Literal["added", "updated", "deleted", "moved"]
Key = str  # the one name of a file, whatever its path in the patch looks like


class Change(Struct, frozen=True):
    """What became of one file. Paths are as written in the patch.

    `before` and `after` are texts; None: there is no such file. `facts_of` is the file whose mode
    and owner the new content takes; None: those of a new file.
    """

    kind: Kind
    key: Key
    path: str
    before: str | None
    after: str | None
    facts_of: Key | None = None
    from_key: Key | None = None
    from_path: str | None = None


class _File(Struct, frozen=True):
    text: str
    origin: Key | None  # where it was before the patch; None: the patch made it


def paths_of(operation: Operation) -> Iterator[str]:
    """The paths that an operation names, as written."""
    yield operation.path
    if isinstance(operation, UpdateFile) and operation.move_to is not None:
        yield operation.move_to


def apply_patch(
    operations: tuple[Operation, ...], before: Mapping[Key, str], key_of: Callable[[str], Key]
) -> tuple[Change, ...]:
    """The changes in order of first mention; a file that ends as it began has none.

    `before` holds the text of every file that the operations name and that is there. Raises
    PatchError.
    """
    tree = _Tree(before, key_of)
    for operation in operations:
        tree.run(operation)
    return tuple(tree.changes())


class _Tree:
    """The files as they are after each operation."""

    def __init__(self, before: Mapping[Key, str], key_of: Callable[[str], Key]) -> None:
        self._before = before
        self._key_of = key_of
        self._now = {key: _File(text, key) for key, text in before.items()}
        self._written: dict[Key, str] = {}  # how the patch first wrote each path, in that order

    def run(self, operation: Operation) -> None:
        for path in paths_of(operation):
            self._written.setdefault(self._key_of(path), path)
        key = self._key_of(operation.path)
        match operation:
            case AddFile():
                self._refuse_taken(operation, operation.path, "it is not added again")
                self._now[key] = _File(operation.content, None)
            case DeleteFile():
                self._take(operation, key, "delete")
            case UpdateFile():
                self._update(operation, key)

    def changes(self) -> Iterator[Change]:
        told: set[Key] = set()
        moved = self._moved()
        came_from = {target: source for source, target in moved.items()}
        for key, path in self._written.items():
            if key in told:
                continue
            source = key if key in moved else came_from.get(key)
            change = self._change(key, path) if source is None else self._move(source, moved)
            if change is not None:
                told |= {change.key, change.from_key or change.key}
                yield change

    def _update(self, operation: UpdateFile, key: Key) -> None:
        target = key if operation.move_to is None else self._key_of(operation.move_to)
        file = self._take(operation, key, "update" if target == key else "move")
        text = update_text(operation.path, file.text, operation.hunks)
        if operation.move_to is not None and target != key:
            self._refuse_taken(
                operation,
                operation.move_to,
                f"{visible_line(operation.path)} does not move onto it",
            )
        self._now[target] = _File(text, file.origin)

    def _take(self, operation: Operation, key: Key, what: str) -> _File:
        file = self._now.pop(key, None)
        if file is None:
            raise _wrong(operation, operation.path, f"there is no such file to {what}")
        return file

    def _refuse_taken(self, operation: Operation, path: str, what: str) -> None:
        """A new file needs a free name, and directories above it."""
        key = self._key_of(path)
        if key in self._now:
            raise _wrong(operation, path, f"the file exists already; {what}")
        below = key.rstrip("/") + "/"
        if any(other.startswith(below) for other in self._now):
            raise _wrong(operation, path, "there is a directory of this name")
        above = key.rpartition("/")[0]
        while above:
            if above in self._now or above in self._before:
                shown = visible_line(self._written.get(above, above))
                raise _wrong(operation, path, f"{shown} is a file, not a directory")
            above = above.rpartition("/")[0]

    # -- what is left in the end

    def _moved(self) -> dict[Key, Key]:
        """Files that are now under a name that was free, and no longer under their own."""
        moved = {}
        for key, file in self._now.items():
            if file.origin is None or file.origin in self._now or key in self._before:
                continue
            moved[file.origin] = key
        return moved

    def _move(self, source: Key, moved: Mapping[Key, Key]) -> Change:
        target = moved[source]
        return Change(
            "moved",
            target,
            self._written[target],
            self._before[source],
            self._now[target].text,
            facts_of=source,
            from_key=source,
            from_path=self._written[source],
        )

    def _change(self, key: Key, path: str) -> Change | None:
        old, file = self._before.get(key), self._now.get(key)
        if file is None:
            return None if old is None else Change("deleted", key, path, old, None)
        if file.text == old:
            return None
        kind: Kind = "added" if old is None else "updated"
        facts_of = file.origin if file.origin is not None or old is None else key
        return Change(kind, key, path, old, file.text, facts_of)


def _wrong(operation: Operation, path: str, why: str) -> PatchError:
    return PatchError(f"{visible_line(path)} (line {operation.line} of the patch): {why}.")
