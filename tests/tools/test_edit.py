"""`edit` on real files: what it replaces, what it refuses, and that nothing else changes."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from efr.base.cancel import Cancel
from efr.policy.needs import CallNeeds, PathUse
from efr.tools.contract import BadInput, ToolResult, Where
from efr.tools.edit import EditTool
from efr.tools.read_file import ReadFileTool
from efr.wire import types as t
from tests.tools.fakes import context

EDIT = EditTool()


def edit(folder: Path, old: str, new: str, **more: Any) -> ToolResult:
    call = {"path": "a", "old_string": old, "new_string": new, **more}
    return EDIT.run(call, context(folder))


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one\ntwo\nthree\n", "two", "2", b"one\n2\nthree\n"),
        (b"one\ntwo\n", "one\ntwo\n", "", b""),
        (b"no end", "end", "newline", b"no newline"),
        ("größe 🙂\n".encode(), "🙂", "groß", "größe groß\n".encode()),
        (b"a\r\nb\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\n"),
        (b"a\r\nb\n", "a\r\nb", "c", b"c\n"),
        (b"a\r\nb\r\n", "a\r\n", "c\n", b"c\nb\r\n"),
        (b"caf\xe9 one\n", "one", "two", b"caf\xe9 two\n"),
        (b"\\n\n", "\\n", "\\t", b"\\t\n"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
    ],
)
def test_it_replaces_just_the_text(
    tmp_path: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    path = tmp_path / "a"
    path.write_bytes(before)
    path.chmod(0o640)
    result = edit(tmp_path, old, new)
    assert path.read_bytes() == after
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert result.output == f"Success. Replaced 1 place in {path}."
    assert result.changes is not None
    assert [(f.path, f.kind) for f in result.changes.files] == [("~/a", t.ChangeKind.MODIFIED)]
    assert os.listdir(tmp_path) == ["a"]


def test_every_match_when_asked(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x = x + x\n")
    refused = edit(tmp_path, "x", "y")
    assert refused.is_error
    assert "3 times" in refused.output
    assert (tmp_path / "a").read_text() == "x = x + x\n"
    result = edit(tmp_path, "x", "xx", replace_all=True)
    assert result.output.startswith("Success. Replaced 3 places")
    assert (tmp_path / "a").read_text() == "xx = xx + xx\n"
    assert result.diff is not None
    assert "-x = x + x\n+xx = xx + xx\n" in result.diff


def test_no_match_shows_the_nearest_lines(tmp_path: Path) -> None:
    lines = [f"def f{n}():\n    return {n}\n" for n in range(50)]
    (tmp_path / "a").write_text("".join(lines))
    result = edit(tmp_path, "def f30():\n  return 30\n", "")
    assert result.is_error
    assert f"old_string is not in {tmp_path}/a. Nothing was changed.\nNearest lines:\n" in (
        result.output
    )
    assert "def f30():" in result.output
    assert "    return 30" in result.output


@pytest.mark.parametrize(
    ("input", "message"),
    [
        ({"path": "a", "old_string": "", "new_string": "x"}, "old_string is empty"),
        ({"path": "a", "old_string": "x", "new_string": "x"}, "are the same"),
        ({"path": "a", "old_string": "x\0", "new_string": "y"}, "old_string holds a NUL"),
        ({"path": "a", "old_string": "x", "new_string": "\ud800"}, "new_string is not valid"),
        ({"path": "a", "old_string": "x"}, "new_string"),
        ({"path": "", "old_string": "x", "new_string": "y"}, "path is empty"),
        ({"path": "a", "old_string": "x", "new_string": "y", "all": True}, "all"),
    ],
)
def test_bad_input_is_told_before_any_look(input: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        EDIT.declare(input, Where("/nowhere", "/nowhere", "/home/u"))


def test_it_declares_a_write() -> None:
    call = {"path": "sub/a", "old_string": "x", "new_string": "y"}
    where = Where("/home/u/notes", "/elsewhere", "/home/u")
    assert EDIT.declare(call, where) == CallNeeds(
        "edit", (PathUse("/home/u/notes/sub/a", "write"),)
    )


def test_what_it_refuses(tmp_path: Path) -> None:
    assert "does not exist" in edit(tmp_path, "x", "y").output
    (tmp_path / "real").write_text("x")
    (tmp_path / "a").symlink_to("real")
    assert "The real path is" in edit(tmp_path, "x", "y").output
    (tmp_path / "a").unlink()
    (tmp_path / "a").write_bytes(b"x\0")
    assert "binary" in edit(tmp_path, "x", "y").output
    (tmp_path / "a").write_text("x" * 1000)
    grown = edit(tmp_path, "x", "y" * 20_000, replace_all=True)
    assert "at most 16777216 are written" in grown.output
    assert (tmp_path / "a").read_text() == "x" * 1000
    assert (tmp_path / "real").read_text() == "x"


def test_a_file_that_changed_since_it_was_read(tmp_path: Path) -> None:
    ctx = context(tmp_path)
    path = tmp_path / "a"
    path.write_text("one\n")
    ReadFileTool().run({"path": "a"}, ctx)
    path.write_text("one\nby the user\n")
    call = {"path": "a", "old_string": "one", "new_string": "1"}
    refused = EDIT.run(call, ctx)
    assert "changed since it was last read" in refused.output
    assert path.read_text() == "one\nby the user\n"
    ReadFileTool().run({"path": "a"}, ctx)
    assert not EDIT.run(call, ctx).is_error
    again = {"path": "a", "old_string": "by the user", "new_string": "by both"}
    assert not EDIT.run(again, ctx).is_error, "it knows what it wrote itself"


def test_only_what_the_question_showed_is_done(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one\ntwo\n")
    ctx = context(tmp_path)
    call = {"path": "a", "old_string": "one", "new_string": "1"}
    shown = EDIT.preview(call, ctx.where)
    assert shown is not None
    assert "-one\n+1\n two\n" in shown
    path.write_text("one\nthree\n")
    refused = EDIT.run(call, replace(ctx, shown=shown))
    assert "changed while the user was asked" in refused.output
    assert path.read_text() == "one\nthree\n"
    assert EDIT.preview({**call, "old_string": "nowhere"}, ctx.where) is None
    unseen = EDIT.run(call, replace(ctx, approved_by="you"))
    assert "changed while the user was asked" in unseen.output, "the question showed no diff"
    assert path.read_text() == "one\nthree\n"


def test_a_cancelled_call_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    cancel = Cancel()
    cancel.cancel()
    ctx = replace(context(tmp_path), cancel=cancel)
    result = EDIT.run({"path": "a", "old_string": "one", "new_string": "1"}, ctx)
    assert result == ToolResult("The user stopped it. Nothing was written.", is_error=True)
    assert (tmp_path / "a").read_text() == "one"
