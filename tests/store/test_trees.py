"""Removing trees: all of it, and nothing beside it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from efr.store import trees
from efr.store.trees import remove_tree

IS_ROOT = os.geteuid() == 0


@pytest.fixture(name="outside")
def _outside(tmp_path: Path) -> Iterator[Path]:
    """Somebody else's files; unchanged at the end."""
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "file").write_text("precious")
    yield outside
    assert (outside / "file").read_text() == "precious"
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755


def test_a_tree_goes_whole(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "a" / "b" / "c").mkdir(parents=True)
    (tree / "a" / "file").write_text("x")
    (tree / "a" / "b" / ".hidden").write_text("x")
    os.mkfifo(tree / "pipe")
    assert remove_tree(tree) == []
    assert not tree.exists()


def test_what_is_not_there_is_gone(tmp_path: Path) -> None:
    assert remove_tree(tmp_path / "nothing") == []
    assert remove_tree(tmp_path / "no" / "parent") == []


def test_a_file_or_a_link_goes_itself(tmp_path: Path, outside: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(outside)
    assert remove_tree(link) == []
    assert not link.is_symlink()
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    assert remove_tree(dangling) == []
    assert not dangling.is_symlink()


def test_links_inside_are_not_followed(tmp_path: Path, outside: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "deep").mkdir(parents=True)
    (tree / "folder").symlink_to(outside)
    (tree / "deep" / "file").symlink_to(outside / "file")
    os.link(outside / "file", tree / "hard")
    assert remove_tree(tree) == []
    assert not tree.exists()


def test_a_linked_parent_is_refused(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "parent").symlink_to(outside)
    assert remove_tree(tmp_path / "parent" / "file") == [tmp_path / "parent" / "file"]


def test_directories_without_permission_go_too(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "module" / "inner").mkdir(parents=True)
    (tree / "module" / "inner" / "file").write_text("x")
    (tree / "module" / "inner").chmod(0o555)
    (tree / "module").chmod(0)
    assert remove_tree(tree) == []
    assert not tree.exists()


def test_the_named_entry_goes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    (tree / "a").mkdir(parents=True)
    (tree / "a" / "last").write_text("another of that name")
    (tree / "last").write_text("x")
    (tree / "z").write_text("x")
    seen: list[list[str]] = []
    real = trees._unlink

    def watched(folder: int, name: str) -> bool:
        if os.fstat(folder).st_ino == inode and name == "last":
            seen.append(os.listdir(folder))
        return real(folder, name)

    inode = tree.stat().st_ino
    monkeypatch.setattr(trees, "_unlink", watched)
    assert remove_tree(tree, last="last") == []
    assert not tree.exists()
    assert seen == [["last"]]


def test_a_very_deep_tree_goes(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    handle = os.open(tree, os.O_RDONLY)
    for _ in range(1100):  # deeper than a path may be long, and than this process may open
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    assert remove_tree(tree) == []
    assert not tree.exists()


@pytest.mark.skipif(not IS_ROOT, reason="needs chattr")
def test_what_stays_is_told_and_the_rest_goes(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "a").mkdir(parents=True)
    (tree / "a" / "stays").write_text("x")
    (tree / "last").write_text("x")
    (tree / "b").write_text("x")
    if os.system(f"chattr +i {tree}/a/stays 2>/dev/null") != 0:
        pytest.skip("this file system has no immutable files")
    try:
        assert remove_tree(tree, last="last") == [tree / "a" / "stays"]
        assert sorted(os.listdir(tree)) == ["a", "last"]
    finally:
        os.system(f"chattr -i {tree}/a/stays")
    assert remove_tree(tree, last="last") == []
    assert not tree.exists()
