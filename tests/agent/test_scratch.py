from __future__ import annotations

from pathlib import Path

import pytest

from efr.agent.scratch import MARKER, NoScratch, ensure_scratch, names_of, slug_of

ID = "019a9b11-0000-7000-8000-00000000abcd"
CREATED_US = 1_791_028_800_000_000  # 2026-10-03


def test_the_name_says_day_words_and_id(tmp_path: Path) -> None:
    path = ensure_scratch(tmp_path, ID, "Fix the flaky größe test, please now", CREATED_US)
    assert path.name == "2026-10-03-fix-the-flaky-groe-test-0000abcd"
    assert (path / MARKER).read_text().strip() == ID


@pytest.mark.parametrize(
    ("title", "slug"),
    [("", "chat"), ("日本語", "chat"), ("a/b ../c", "a-b-c"), ("x" * 60, "x" * 48)],
)
def test_a_slug_is_plain(title: str, slug: str) -> None:
    assert slug_of(title) == slug


def test_it_is_found_again_and_made_again(tmp_path: Path) -> None:
    first = ensure_scratch(tmp_path, ID, "t", CREATED_US)
    (first / "file").write_text("kept")
    assert ensure_scratch(tmp_path, ID, "t", CREATED_US) == first
    assert (first / "file").read_text() == "kept"
    (first / "file").unlink()
    (first / MARKER).unlink()
    first.rmdir()
    assert ensure_scratch(tmp_path, ID, "t", CREATED_US) == first


def test_a_name_that_another_conversation_took_falls_back(tmp_path: Path) -> None:
    names = list(names_of(ID, "t", CREATED_US))
    taken = tmp_path / names[0]
    taken.mkdir(parents=True)
    (taken / MARKER).write_text("another conversation")
    assert ensure_scratch(tmp_path, ID, "t", CREATED_US).name == names[1]


def test_a_link_is_never_taken(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    names = list(names_of(ID, "t", CREATED_US))
    root = tmp_path / "scratch"
    root.mkdir()
    (root / names[0]).symlink_to(elsewhere)
    assert ensure_scratch(root, ID, "t", CREATED_US).name == names[1]
    assert list(elsewhere.iterdir()) == []


def test_when_every_name_is_taken_there_is_none(tmp_path: Path) -> None:
    for name in names_of(ID, "t", CREATED_US):
        (tmp_path / name).write_text("a file")
    with pytest.raises(NoScratch):
        ensure_scratch(tmp_path, ID, "t", CREATED_US)
