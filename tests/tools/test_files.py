"""`read_file` and `write_file` on real files: what they give, refuse and keep whole."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from efr.policy.needs import CallNeeds, PathUse
from efr.tools.contract import BadInput, ToolContext, ToolResult, Where
from efr.tools.file_views import FileViews
from efr.tools.read_file import ReadFileTool
from efr.tools.write_file import WriteFileTool
from efr.wire import types as t
from tests.tools.fakes import context

READ, WRITE = ReadFileTool(), WriteFileTool()
WHERE = Where("/home/u/notes", "/elsewhere", "/home/u", scratch="/s/c1", project_root="/home/u/p")


def read(ctx: ToolContext, path: str, **range_: int) -> ToolResult:
    return READ.run({"path": path, **range_}, ctx)


def write(ctx: ToolContext, path: str, content: str) -> ToolResult:
    return WRITE.run({"path": path, "content": content}, ctx)


# -- declaring


@pytest.mark.parametrize(
    ("path", "absolute"),
    [
        ("a", "/home/u/notes/a"),
        ("a/../b", "/home/u/notes/a/../b"),
        ("/etc/x", "/etc/x"),
        ("~/x", "/home/u/x"),
        ("~", "/home/u/"),
        ("$SCRATCH/x", "/s/c1/x"),
        ("~x", "/home/u/notes/~x"),
    ],
)
def test_they_declare_the_path_unfolded(path: str, absolute: str) -> None:
    assert READ.declare({"path": path}, WHERE) == CallNeeds(
        "read_file", (PathUse(absolute, "read"),)
    )
    assert WRITE.declare({"path": path, "content": ""}, WHERE) == CallNeeds(
        "write_file", (PathUse(absolute, "write"),)
    )


@pytest.mark.parametrize(
    ("tool", "input", "message"),
    [
        (READ, {}, "path"),
        (READ, {"path": ""}, "path is empty"),
        (READ, {"path": "a\0b"}, "NUL"),
        (READ, {"path": "\udc80"}, "Unicode"),
        (READ, {"path": "x" * 5000}, "5000 bytes"),
        (READ, {"path": "a", "offset": 0}, "offset"),
        (READ, {"path": "a", "limit": -1}, "limit"),
        (READ, {"path": "a", "lines": 3}, "lines"),
        (READ, "a", "not a JSON object"),
        (WRITE, {"path": "a"}, "content"),
        (WRITE, {"path": "a", "content": 5}, "content"),
        (WRITE, {"path": "a", "content": "a\0"}, "NUL"),
        (WRITE, {"path": "a", "content": "\ud800"}, "Unicode"),
        (WRITE, {"path": "a", "content": "x" * (16 * 1024 * 1024 + 1)}, "16777217 bytes"),
    ],
)
def test_bad_input_is_told(tool: ReadFileTool | WriteFileTool, input: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        tool.declare(input, WHERE)


def test_scratch_needs_a_scratch_folder() -> None:
    with pytest.raises(BadInput, match="no \\$SCRATCH"):
        READ.declare({"path": "$SCRATCH/x"}, Where("/a", "/a", "/h"))


# -- reading


def test_text_comes_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("größe\r\n🙂".encode())
    assert read(context(tmp_path), "a") == ToolResult("größe\r\n🙂")


@pytest.mark.parametrize(
    ("range_", "output"),
    [
        ({"offset": 5, "limit": 2}, "l5\nl6\n[lines 5 to 6 of 10]"),
        ({"offset": 9}, "l9\nl10\n[lines 9 to 10 of 10]"),
        ({"limit": 1}, "l1\n[lines 1 to 1 of 10]"),
        ({"offset": 10, "limit": 99}, "l10\n[lines 10 to 10 of 10]"),
    ],
)
def test_a_range(tmp_path: Path, range_: dict[str, int], output: str) -> None:
    (tmp_path / "a").write_text("".join(f"l{n}\n" for n in range(1, 11)))
    assert read(context(tmp_path), "a", **range_).output == output


def test_a_range_behind_the_end_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert read(context(tmp_path), "a", offset=2) == ToolResult("The file has 1 lines.", True)


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert read(context(tmp_path), "a").output == "[the file is empty]"


def test_bytes_that_are_no_text_show_and_are_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"caf\xe9\n")
    (tmp_path / "b").write_bytes("\ufffd".encode())
    assert read(context(tmp_path), "a").output == (
        "caf\ufffd\n[the file is not UTF-8: bytes that do not fit show as U+FFFD]"
    )
    assert read(context(tmp_path), "b").output == "\ufffd"


def test_a_long_text_is_cut_and_names_its_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"{n}\n" for n in range(100_000)))
    result = read(context(tmp_path), "a")
    assert result.truncated
    assert "bytes omitted ...]" in result.output
    assert result.output.endswith("99999\n[lines 1 to 100000 of 100000]")


def _too_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(17 * 1024 * 1024)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_too_large, "17825792 bytes; files above 16777216"),
        (lambda path: path.write_bytes(b"a\0b"), "binary file"),
        (lambda path: path.mkdir(), "is a directory, not a regular file"),
        (os.mkfifo, "is a named pipe"),
        (lambda path: path.symlink_to("/etc/hostname"), "real path is /etc/hostname"),
        (lambda path: path.symlink_to("nowhere"), "real path is .*/nowhere"),
        (lambda path: None, "There is no file .*/a"),
    ],
)  # fmt: skip
def test_what_is_no_text_file_is_refused(tmp_path: Path, make: object, message: str) -> None:
    assert callable(make)
    make(tmp_path / "a")
    result = read(context(tmp_path), "a")
    assert result.is_error
    assert re.search(message, result.output)


def test_a_nul_late_in_a_file_is_no_binary(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 9000 + b"\0")
    assert not read(context(tmp_path), "a").is_error


def test_a_path_through_a_link_names_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("x")
    (tmp_path / "link").symlink_to("real")
    result = read(context(tmp_path), "link/a")
    assert result.is_error
    assert f"The real path is {tmp_path}/real/a;" in result.output
    assert write(context(tmp_path), "link/b", "x").is_error
    assert not (tmp_path / "real" / "b").exists()
    (tmp_path / "loop").symlink_to("loop")
    for text in (read(context(tmp_path), "loop"), write(context(tmp_path), "loop/a", "x")):
        assert "runs through symbolic links in a circle." in text.output


def test_a_linked_home_is_fine(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    home = tmp_path / "home"
    home.symlink_to("data")
    ctx = context(home)
    assert write(ctx, "a", "one").output == f"Created {home}/a (3 bytes)."
    assert read(ctx, "~/a").output == "one"
    assert write(ctx, f"{tmp_path}/data/a", "two").output.startswith("Replaced")


def test_a_file_of_the_system_without_a_size_is_read(tmp_path: Path) -> None:
    assert "Linux" in read(context(tmp_path), "/proc/version").output


# -- writing


def test_a_new_file_is_made_with_its_directories(tmp_path: Path) -> None:
    result = write(context(tmp_path), "a/b/c.txt", "x\ny\n")
    path = tmp_path / "a" / "b" / "c.txt"
    assert path.read_text() == "x\ny\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert result == ToolResult(
        f"Created {path} (4 bytes).",
        diff="--- /dev/null\n+++ ~/a/b/c.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n",
        changes=t.FileChanges(
            files=(t.FileChange(path="~/a/b/c.txt", kind=t.ChangeKind.ADDED, added=2, removed=0),),
            more=0,
            added=2,
            removed=0,
        ),
    )
    assert os.listdir(path.parent) == ["c.txt"]


def test_a_replaced_file_keeps_mode_and_owner(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old\n")
    path.chmod(0o750)
    if os.geteuid() == 0:
        os.chown(path, 12345, 54321)
    before = path.stat()
    ctx = context(tmp_path)
    read(ctx, "run.sh")
    result = write(ctx, "run.sh", "new\n")
    after = path.stat()
    assert path.read_text() == "new\n"
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert result.output == f"Replaced {path} (4 bytes)."
    assert result.diff == "--- ~/run.sh\n+++ ~/run.sh\n@@ -1 +1 @@\n-old\n+new\n"
    assert result.changes is not None
    assert result.changes.files[0].kind is t.ChangeKind.MODIFIED


def test_a_hard_link_elsewhere_keeps_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("old")
    os.link(tmp_path / "outside", tmp_path / "a")
    ctx = context(tmp_path)
    read(ctx, "a")
    assert not write(ctx, "a", "new").is_error
    assert (tmp_path / "outside").read_text() == "old"


def test_the_same_content_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    before = path.stat()
    assert write(context(tmp_path), "a", "x") == ToolResult(f"Unchanged: {path} (1 bytes).")
    assert path.stat().st_ino == before.st_ino


def test_a_file_that_was_never_read_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("the user's")
    result = write(context(tmp_path), "a", "mine")
    assert result.is_error
    assert "was not read in this conversation. Read it with read_file first" in result.output
    assert path.read_text() == "the user's"


def test_a_file_that_changed_since_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    ctx = context(tmp_path)
    read(ctx, "a", limit=1)
    path.write_text("two")
    result = write(ctx, "a", "mine")
    assert "changed since it was last read" in result.output
    assert path.read_text() == "two"
    read(ctx, "a")
    assert not write(ctx, "a", "mine").is_error
    assert not write(ctx, "a", "mine again").is_error
    assert path.read_text() == "mine again"


def test_a_touch_is_no_change(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    ctx = context(tmp_path)
    read(ctx, "a")
    os.utime(path, ns=(5, 5))
    assert not write(ctx, "a", "two").is_error


def test_what_one_conversation_saw_is_not_known_to_another(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    read(context(tmp_path, views=FileViews()), "a")
    assert write(context(tmp_path, views=FileViews()), "a", "two").is_error


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_bytes(b"\0"), "binary file"),
        (lambda path: path.mkdir(), "is a directory"),
        (lambda path: path.symlink_to("b"), "symbolic link"),
        (_too_large, "17825792 bytes"),
    ],
)
def test_what_is_no_text_file_is_not_replaced(tmp_path: Path, make: object, words: str) -> None:
    assert callable(make)
    make(tmp_path / "a")
    result = write(context(tmp_path), "a", "x")
    assert result.is_error
    assert words in result.output
    assert not (tmp_path / "b").exists()
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_in_the_place_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert write(context(tmp_path), "a/b", "x").output == f"{tmp_path}/a/b: Not a directory."


def test_a_read_only_file_is_not_replaced() -> None:
    with tempfile.TemporaryDirectory() as name, as_a_user(Path(name)):
        path = Path(name) / "a"
        path.write_text("x")
        path.chmod(0o444)
        ctx = context(Path(name))
        read(ctx, "a")
        assert "is read-only" in write(ctx, "a", "y").output
        assert path.read_text() == "x"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
def test_a_file_of_another_user_is_not_replaced() -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "a"
        path.write_text("x")
        path.chmod(0o666)
        with as_a_user(Path(name)):
            ctx = context(Path(name))
            read(ctx, "a")
            assert "belongs to another user" in write(ctx, "a", "y").output
        assert path.read_text() == "x"
        assert os.listdir(name) == ["a"]


@contextlib.contextmanager
def as_a_user(folder: Path) -> Iterator[None]:
    """Root may write everything: goes on as nobody, who may use the folder."""
    if os.geteuid() != 0:
        yield
        return
    folder.chmod(0o777)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_cancelled_call_writes_nothing(tmp_path: Path) -> None:
    ctx = context(tmp_path)
    ctx.cancel.cancel()
    assert write(ctx, "a", "x").output == "The user stopped it. Nothing was written."
    assert not (tmp_path / "a").exists()


def test_a_recorded_diff_is_cut(tmp_path: Path) -> None:
    result = write(context(tmp_path), "a", "x\n" * 5000)
    assert result.diff is not None
    assert result.diff.count("\n") == 2001
    assert result.diff.endswith("... 3003 more lines\n")
    assert result.changes is not None
    assert result.changes.added == 5000


# -- preview


def test_a_preview_shows_the_change_and_makes_none(tmp_path: Path) -> None:
    where = context(tmp_path).where
    (tmp_path / "a").write_text("old\n")
    preview = WRITE.preview({"path": "a", "content": "new\n"}, where)
    assert preview == "--- ~/a\n+++ ~/a\n@@ -1 +1 @@\n-old\n+new\n"
    assert (tmp_path / "a").read_text() == "old\n"
    long = WRITE.preview({"path": "b/c", "content": "line\n" * 1000}, where)
    assert long is not None
    assert long.count("\n") == 201
    wide = WRITE.preview({"path": "b/c", "content": ("x" * 999 + "\n") * 100}, where)
    assert wide is not None
    assert len(wide) < 16 * 1024 + 30
    assert not (tmp_path / "b").exists()


def test_nothing_to_show_is_no_preview(tmp_path: Path) -> None:
    where = context(tmp_path).where
    (tmp_path / "a").write_text("same")
    (tmp_path / "link").symlink_to("a")
    assert WRITE.preview({"path": "a", "content": "same"}, where) is None
    assert WRITE.preview({"path": "link", "content": "x"}, where) is None
    assert READ.preview({"path": "a"}, where) is None


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/u/p/src/a", "src/a"),
        ("/s/c1/x", "$SCRATCH/x"),
        ("/home/u/other/x", "~/other/x"),
        ("/etc/x", "/etc/x"),
        ("/home/u/p", "~/p"),
        ("/home/u/p/../q", "~/q"),
    ],
)
def test_a_changed_file_is_named_as_the_user_knows_it(path: str, shown: str) -> None:
    preview = WRITE.preview({"path": path, "content": "x\n"}, WHERE)
    assert preview is not None
    assert preview.startswith(f"--- /dev/null\n+++ {shown}\n")
