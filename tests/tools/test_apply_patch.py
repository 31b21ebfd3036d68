"""`apply_patch` on real files: the table of cases in `patches/`, and what the table cannot say."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from efr.policy.needs import CallNeeds, PathUse
from efr.tools.apply_patch import ApplyPatchTool
from efr.tools.contract import BadInput, ToolContext, ToolResult, Where
from efr.tools.patch_parse import ADD, BEGIN, DELETE, END, END_OF_FILE, MOVE, UPDATE
from efr.tools.read_file import ReadFileTool
from efr.tools.write_file import WriteFileTool
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


# -- the two forms of a call, and what it declares

WHERE = Where("/home/u/notes", "/elsewhere", "/home/u", scratch="/s/c1", project_root="/home/u/p")


def patch_of(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))


def test_both_forms_are_one_patch(tmp_path: Path) -> None:
    for name, form in (("a", lambda text: text), ("b", lambda text: {"input": text})):
        patch = form(patch_of(f"*** Add File: {name}", "+one"))
        assert apply(in_project(tmp_path), patch).output == f"Success.\nAdded: {name}"
        assert (tmp_path / name).read_text() == "one\n"


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({}, "input"),
        ({"input": 5}, "input"),
        ({"input": "x", "path": "a"}, "unknown"),
        ([], "do not fit"),
        (None, "do not fit"),
        ({"input": "\ud800"}, "not valid Unicode"),
        (patch_of("*** Add File: a\x07\udc80"), "not valid Unicode"),
        ("x" * (16 * 1024 * 1024 + 1), "16777217 bytes"),
    ],
)
def test_bad_input_is_told(patch: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        PATCH.declare(patch, WHERE)


def test_every_path_is_declared_unfolded_and_once() -> None:
    patch = patch_of(
        "*** Add File: a/../b",
        "*** Update File: ~/c",
        "*** Move to: $SCRATCH/c",
        "*** Update File: /etc/d",
        "-x",
        "*** Update File: /etc/d",
        "-y",
        "*** Delete File: e",
        "*** Update File: f",
        "*** Move to: x/../f",
        "-z",
    )
    written = ["/home/u/notes/a/../b", "/home/u/c", "/s/c1/c", "/etc/d", "/home/u/notes/e"]
    written += ["/home/u/notes/f", "/home/u/notes/x/../f"]
    assert PATCH.declare(patch, WHERE) == CallNeeds(
        "apply_patch",
        tuple(PathUse(path, "write") for path in written),
        deletes=("/home/u/notes/e",),
        moves=(("/home/u/c", "/s/c1/c"),),
    )


def test_the_description_says_what_a_model_needs() -> None:
    assert PATCH.definition.grammar is not None
    assert PATCH.definition.grammar.syntax == "lark"
    assert PATCH.definition.input_schema["required"] == ["input"]
    for marker in (BEGIN, END, ADD, DELETE, UPDATE, MOVE, END_OF_FILE):
        assert marker in PATCH.definition.description
        assert marker in PATCH.definition.grammar.definition


# -- the preview of a question


def test_a_preview_shows_every_line_and_changes_nothing(tmp_path: Path) -> None:
    ctx = in_project(tmp_path)
    (tmp_path / "a").write_text("".join(f"{number}\n" for number in range(3000)))
    (tmp_path / "b").write_text("b\n")
    before = tree_of(tmp_path)
    patch = patch_of("*** Delete File: a", "*** Update File: b", "*** Move to: c", "@@", "-b", "+c")
    preview = PATCH.preview(patch, ctx.where)
    assert preview is not None
    lines = preview.split("\n")
    assert lines[:3] == ["--- a", "+++ /dev/null", "@@ -1,3000 +0,0 @@"]
    assert lines[-6:] == ["--- b", "+++ c", "@@ -1 +1 @@", "-b", "+c", ""]
    assert tree_of(tmp_path) == before


def test_a_preview_counts_the_files_that_no_question_can_carry(tmp_path: Path) -> None:
    line = "+" + "x" * 1022
    files = [part for n in range(4) for part in (f"*** Add File: {n}", *[line] * 2000)]
    preview = PATCH.preview(patch_of(*files), in_project(tmp_path).where)
    assert preview is not None
    assert preview.endswith(" more lines\n... 1 more files\n")
    assert 4 * 1024 * 1024 - 2000 < len(preview) < 4 * 1024 * 1024 + 2000


def test_what_would_be_refused_has_no_preview(tmp_path: Path) -> None:
    where = in_project(tmp_path).where
    (tmp_path / "link").symlink_to("nowhere")
    assert PATCH.preview(patch_of("*** Delete File: a"), where) is None
    assert PATCH.preview(patch_of("*** Delete File: link"), where) is None


def test_a_patch_does_only_what_its_question_showed(tmp_path: Path) -> None:
    """The model never read the file; the user saw its lines, and then they changed."""
    ctx = in_project(tmp_path)
    (tmp_path / "a").write_text("one\n")
    delete = patch_of("*** Delete File: a")
    asked = replace(ctx, shown=PATCH.preview(delete, ctx.where))
    (tmp_path / "a").write_text("one\nand much more\n")
    result = apply(asked, delete)
    assert result.output == (
        "A file of this patch changed while the user was asked, so it would do something else than"
        " they allowed. Read the files again, then patch them as they are now."
        "\nNothing was changed."
    )
    assert (tmp_path / "a").exists()
    (tmp_path / "a").write_text("one\n")
    assert not apply(asked, delete).is_error
    assert not (tmp_path / "a").exists()


def test_a_patch_that_fitted_nowhere_when_it_was_asked_about_does_nothing(tmp_path: Path) -> None:
    ctx = replace(in_project(tmp_path), approved_by="you")
    (tmp_path / "a").write_text("two\n")
    change = patch_of("*** Update File: a\n@@\n-one\n+ONE")
    assert PATCH.preview(change, ctx.where) is None
    (tmp_path / "a").write_text("one\n")
    assert "changed while the user was asked" in apply(ctx, change).output
    assert (tmp_path / "a").read_text() == "one\n"
    shown = replace(ctx, shown=PATCH.preview(change, ctx.where))
    assert not apply(shown, change).is_error


# -- the record of a call


def test_diffs_share_the_lines_of_a_call(tmp_path: Path) -> None:
    files = [part for n in "abc" for part in (f"*** Add File: {n}", *["+x"] * 1500)]
    result = apply(in_project(tmp_path), patch_of(*files))
    assert result.diff is not None
    lines = result.diff.split("\n")
    assert lines[:4] == ["--- /dev/null", "+++ a", "@@ -0,0 +1,1500 @@", "+x"]
    assert lines[1503:1506] == ["--- /dev/null", "+++ b", "@@ -0,0 +1,1500 @@"]
    assert lines[2000:] == ["... 2509 more lines", ""]
    assert result.changes is not None
    assert result.changes.added == 4500


def test_a_wide_diff_is_cut_for_its_file_alone(tmp_path: Path) -> None:
    wide = ["+" + "x" * 10_000] * 50
    result = apply(
        in_project(tmp_path), patch_of("*** Add File: a", *wide, "*** Add File: b", "+y")
    )
    assert result.diff is not None
    assert len(result.diff) < 256 * 1024 + 200
    assert result.diff.endswith("... 24 more lines\n--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+y\n")


def test_fifty_files_are_named_and_all_are_counted(tmp_path: Path) -> None:
    files = [part for n in range(60, 0, -1) for part in (f"*** Add File: {n:02}", "+x")]
    result = apply(in_project(tmp_path), patch_of(*files))
    assert result.changes is not None
    assert [file.path for file in result.changes.files] == [f"{n:02}" for n in range(1, 51)]
    assert (result.changes.more, result.changes.added, result.changes.removed) == (10, 60, 0)


def test_paths_are_named_as_the_user_knows_them(tmp_path: Path) -> None:
    ctx = context(tmp_path)
    (tmp_path / "x").write_text("x\n")
    result = apply(ctx, patch_of("*** Update File: x", f"*** Move to: {tmp_path}/y/z"))
    assert result.output == f"Success.\nMoved: x -> {tmp_path}/y/z"
    assert result.diff == "--- ~/x\n+++ ~/y/z\n"
    assert told_changes(result) == "renamed ~/y/z from ~/x +0 -0"


# -- what the model knows of a file


def test_a_patched_file_is_known_when_it_was_known_before(tmp_path: Path) -> None:
    ctx = in_project(tmp_path)
    for name in ("read", "unread", "moved"):
        (tmp_path / name).write_text("one\n")
    for name in ("read", "moved"):
        ReadFileTool().run({"path": name}, ctx)
    edit = ["@@", "-one", "+two"]
    moved = ["*** Update File: moved", "*** Move to: there", *edit]
    names = (["*** Update File: read", *edit], ["*** Update File: unread", *edit], moved)
    patch = patch_of(*(line for lines in names for line in lines), "*** Add File: new", "+x")
    assert not apply(ctx, patch).is_error
    written = {
        name: not WriteFileTool().run({"path": name, "content": "all\n"}, ctx).is_error
        for name in ("read", "unread", "there", "new")
    }
    assert written == {"read": True, "unread": False, "there": True, "new": True}


def test_a_second_patch_builds_on_the_first_until_somebody_changes_the_file(tmp_path: Path) -> None:
    ctx = in_project(tmp_path)
    (tmp_path / "a").write_text("one\n")
    ReadFileTool().run({"path": "a"}, ctx)
    assert not apply(ctx, patch_of("*** Update File: a", "-one", "+two")).is_error
    assert not apply(ctx, patch_of("*** Update File: a", "-two", "+three")).is_error
    (tmp_path / "a").write_text("three\nmore\n")
    assert apply(ctx, patch_of("*** Update File: a", "-three", "+four")).is_error
    ReadFileTool().run({"path": "a"}, ctx)
    assert not apply(ctx, patch_of("*** Update File: a", "-three", "+four")).is_error
    assert (tmp_path / "a").read_text() == "four\nmore\n"


# -- places


def test_a_linked_home_is_fine_and_its_files_have_one_name(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    home = tmp_path / "home"
    home.symlink_to("data")
    ctx = context(home)
    patch = patch_of(
        "*** Add File: ~/new/a", "+one", f"*** Update File: {tmp_path}/data/new/a", "-one", "+two"
    )
    assert apply(ctx, patch).output == "Success.\nAdded: ~/new/a"
    assert (tmp_path / "data/new/a").read_text() == "two\n"


def test_a_home_below_a_link_is_fine(tmp_path: Path) -> None:
    (tmp_path / "data/u").mkdir(parents=True)
    (tmp_path / "homes").symlink_to("data")
    ctx = context(tmp_path / "homes/u")
    assert not apply(ctx, patch_of("*** Add File: x/y/a", "+one")).is_error
    assert (tmp_path / "data/u/x/y/a").read_text() == "one\n"


def test_a_file_that_would_grow_too_large_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x" * (16 * 1024 * 1024 - 5) + "\n")
    result = apply(in_project(tmp_path), patch_of("*** Update File: a", "@@", "+12345"))
    assert result.output == (
        "a would have 16777218 bytes; at most 16777216 are written.\nNothing was changed."
    )


def test_files_that_are_too_large_together_are_not_held(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("line\n" * (3 * 1024 * 1024))
    for name in "1234":
        os.link(tmp_path / "0", tmp_path / name)
    result = apply(in_project(tmp_path), patch_of(*(f"*** Delete File: {n}" for n in "01234")))
    assert result.output == (
        "The files of this patch hold more than 67108864 bytes together. Split it, or use the"
        " shell.\nNothing was changed."
    )
    assert len(os.listdir(tmp_path)) == 5


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    assert "17825792 bytes" in apply(in_project(tmp_path), patch_of("*** Delete File: a")).output


def test_a_hard_link_elsewhere_keeps_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("one\n")
    os.link(tmp_path / "outside", tmp_path / "a")
    assert not apply(in_project(tmp_path), patch_of("*** Update File: a", "-one", "+two")).is_error
    assert (tmp_path / "outside").read_text() == "one\n"
