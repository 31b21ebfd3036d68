"""`apply_patch` on real files: the table of cases in `patches/`, and what the table cannot say."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from efr.tools.apply_patch import ApplyPatchTool
from efr.tools.contract import BadInput, ToolContext, ToolResult
from efr.tools.read_file import ReadFileTool
from tests.tools.fakes import context
from tests.tools.patch_cases import Case, Entry, load_cases

PATCH = ApplyPatchTool()
CASES = load_cases()


def apply(ctx: ToolContext, patch: object) -> ToolResult:
    """As a turn does: declared first, so a patch that cannot be read is never run."""
    try:
        PATCH.declare(patch, ctx.where)
    except BadInput as exc:
        return ToolResult(str(exc), is_error=True)
    return PATCH.run(patch, ctx)


def in_project(root: Path) -> ToolContext:
    ctx = context(root)
    return replace(ctx, where=replace(ctx.where, home="/nowhere", project_root=str(root)))


def lay_out(root: Path, entries: dict[str, Entry]) -> None:
    for name, entry in entries.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if "gone" in entry.attributes:
            path.unlink()
        elif entry.is_dir:
            path.mkdir()
        elif entry.link is not None:
            path.symlink_to(entry.link)
        else:
            path.write_bytes(entry.content)
            path.chmod(entry.mode)


Tree = dict[str, tuple[object, ...]]


def tree_of(root: Path) -> Tree:
    """Everything below, with contents and modes; a directory only when it is empty."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            if not any(path.iterdir()):
                found[name] = ("dir",)
        else:
            found[name] = (path.read_bytes(), oct(stat.S_IMODE(path.stat().st_mode)))
    return found


def tree_from(entries: dict[str, Entry]) -> Tree:
    return {
        name: ("link", entry.link)
        if entry.link is not None
        else ("dir",)
        if entry.is_dir
        else (entry.content, oct(entry.mode))
        for name, entry in entries.items()
    }


def told_changes(result: ToolResult) -> str:
    assert result.changes is not None
    assert result.changes.added == sum(file.added for file in result.changes.files)
    assert result.changes.removed == sum(file.removed for file in result.changes.files)
    return "\n".join(
        f"{file.kind.value} {file.path}"
        f"{f' from {file.from_}' if file.from_ else ''} +{file.added} -{file.removed}"
        for file in result.changes.files
    )


@pytest.mark.parametrize("case", CASES, ids=[case.name.replace(" ", "-") for case in CASES])
def test_a_case(tmp_path: Path, case: Case) -> None:
    ctx = in_project(tmp_path)
    lay_out(tmp_path, case.before)
    for name in case.read:
        assert not ReadFileTool().run({"path": name}, ctx).is_error
    lay_out(tmp_path, case.meanwhile)
    before = tree_of(tmp_path)

    result = apply(ctx, case.patch)

    output = result.output.replace(str(tmp_path), "ROOT")
    if case.is_error:
        assert output == case.words("error")
        assert result == ToolResult(result.output, is_error=True)
        assert tree_of(tmp_path) == before
        return
    assert not result.is_error, output
    assert output.startswith("Success.")
    assert tree_of(tmp_path) == tree_from(case.after)
    assert case.words("result") in {None, output}
    if case.words("diff") is not None:
        assert result.diff == f"{case.words('diff')}\n"
    if case.words("changes") is not None:
        assert told_changes(result) == case.words("changes")


def test_the_table_is_large_enough() -> None:
    assert len(CASES) >= 120
