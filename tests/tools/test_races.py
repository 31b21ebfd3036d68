"""A link swapped in while a file tool runs never leads it outside; a real thread swaps."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from efr.tools import text_files
from efr.tools.file_views import FileViews
from efr.tools.read_file import ReadFileTool
from efr.tools.text_files import FileProblem, read_original, replace
from efr.tools.write_file import WriteFileTool
from tests.tools.fakes import context

ROUNDS = 200


_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2): there is never a moment without the name
_AT_FDCWD = -100


@contextlib.contextmanager
def swapping(path: Path, target: Path) -> Iterator[Callable[[], int]]:
    """Turns `path` into a link to `target` and back, over and over; gives how often it did."""
    link = path.with_name(path.name + ".link")
    link.symlink_to(target)
    libc = ctypes.CDLL(None, use_errno=True)
    stop = threading.Event()
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        names = (os.fsencode(path), os.fsencode(link))
        while not stop.is_set() or swaps % 2:
            assert libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _EXCHANGE) == 0
            swaps += 1

    thread = threading.Thread(target=swap, name="swapper")
    thread.start()
    try:
        yield lambda: swaps
    finally:
        stop.set()
        thread.join(timeout=10)
        assert not thread.is_alive()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("outside")
    return folder


def test_a_swapped_directory_leads_no_write_outside(tmp_path: Path, outside: Path) -> None:
    inside = tmp_path / "work" / "sub"
    inside.mkdir(parents=True)
    ctx = context(tmp_path, views=FileViews())
    written = 0
    with swapping(inside, outside) as swaps:
        for number in range(50 * ROUNDS):  # on a busy machine the swaps may take every turn
            if written and number >= ROUNDS:
                break
            content = {"path": f"work/sub/new{number}", "content": f"{number}"}
            written += not WriteFileTool().run(content, ctx).is_error
        while swaps() < 10:
            WriteFileTool().run({"path": "work/sub/secret", "content": "x"}, ctx)
    assert written > 0
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "outside"


def test_a_swapped_file_is_neither_read_nor_written_outside(tmp_path: Path, outside: Path) -> None:
    inside = tmp_path / "notes"
    inside.write_text("inside")
    ctx = context(tmp_path, views=FileViews())
    outputs = set()
    with swapping(inside, outside / "secret") as swaps:
        for number in range(ROUNDS):
            outputs.add(ReadFileTool().run({"path": "notes"}, ctx).output)
            with contextlib.suppress(FileProblem):
                found = read_original(str(inside), str(tmp_path))
                if found is not None:
                    assert found.content != b"outside"
                    text_files.replace(
                        str(inside), str(tmp_path), b"inside", found, f"round{number}"
                    )
        while swaps() < 10:
            ReadFileTool().run({"path": "notes"}, ctx)
    assert "outside" not in outputs
    assert (outside / "secret").read_text() == "outside"


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("the user's")
    with pytest.raises(FileProblem, match="changed while it was written"):
        replace(str(path), str(tmp_path), b"mine", None, "x")
    assert path.read_text() == "the user's"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("change", ["content", "gone", "link", "mode"])
def test_a_file_that_changed_meanwhile_is_not_replaced(tmp_path: Path, change: str) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    found = read_original(str(path), str(tmp_path))
    if change == "content":
        path.write_text("the user's")
    elif change == "mode":
        path.chmod(0o600 if path.stat().st_mode & 0o044 else 0o644)
    else:
        path.unlink()
        if change == "link":
            path.symlink_to("b")
    with pytest.raises(FileProblem):
        replace(str(path), str(tmp_path), b"mine", found, "x")
    assert not path.exists() or path.read_text() != "mine"
    assert set(os.listdir(tmp_path)) <= {"a"}


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    os.mkdir(tmp_path / "a" / ".x.efr-tmp")
    with pytest.raises(FileProblem, match="File exists"):
        replace(str(tmp_path / "a" / "b"), str(tmp_path), b"x", None, "x")
    assert os.listdir(tmp_path / "a") == [".x.efr-tmp"]
