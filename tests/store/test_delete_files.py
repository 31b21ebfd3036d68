"""The files of a conversation: found by ids and markers, never by a name that looks alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.base.roots import find_roots
from efr.store.delete_files import Places, places_of, remove_files, scratch_folders
from tests.store.samples import CONVERSATION, OTHER, PTY, an_id

MARKER = ".efr-conversation"
UNDO = an_id(0x2000)


@pytest.fixture(name="places")
def _places(tmp_path: Path) -> Places:
    return places_of(find_roots({"EFR_HOME": str(tmp_path)}, 0), MARKER)


def put(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def scratch(places: Places, name: str, owner: str | None) -> Path:
    folder = places.scratch / name
    put(folder / "jobs" / "j1.log")
    if owner is not None:
        put(folder / MARKER, owner + "\n")
    return folder


def test_every_place_of_the_conversation_is_emptied(places: Places, tmp_path: Path) -> None:
    own = [
        put(places.recordings / PTY / "0.rec"),
        scratch(places, "2026-10-03-fix-the-tests-00000001", CONVERSATION),
        put(tmp_path / "state" / "sandbox" / CONVERSATION / "tmp" / "file"),
        put(tmp_path / "runtime" / "sbx" / CONVERSATION / "call" / "file"),
        put(tmp_path / "data" / "file-backups" / CONVERSATION / "file"),
        put(tmp_path / "data" / "undo-trash" / UNDO / "file"),
    ]
    others = [
        put(places.recordings / an_id(0x1001) / "0.rec"),
        scratch(places, "2026-10-03-fix-the-tests-00000002", OTHER),
        put(tmp_path / "state" / "sandbox" / OTHER / "tmp" / "file"),
        put(tmp_path / "runtime" / "sbx" / OTHER / "call" / "file"),
        put(tmp_path / "data" / "file-backups" / OTHER / "file"),
        put(tmp_path / "data" / "undo-trash" / an_id(0x2001) / "file"),
    ]
    assert remove_files(places, CONVERSATION, [PTY], [UNDO]) == []
    assert [path for path in own if path.exists()] == []
    assert [path for path in others if not path.exists()] == []
    assert remove_files(places, CONVERSATION, [PTY], [UNDO]) == []


def test_nothing_is_there(places: Places) -> None:
    assert remove_files(places, CONVERSATION, [PTY], [UNDO]) == []


def test_a_scratch_is_known_by_its_marker_alone(places: Places, tmp_path: Path) -> None:
    own = scratch(places, "any name at all", CONVERSATION)
    second = scratch(places, "2026-10-04-again", CONVERSATION)
    alike = [
        scratch(places, "2026-10-03-fix-the-tests-00000001", OTHER),
        scratch(places, "2026-10-03-unmarked-00000001", None),
        scratch(places, "2026-10-03-short-00000001", CONVERSATION[:-1]),
        scratch(places, "2026-10-03-long-00000001", CONVERSATION + "0"),
    ]
    linked = scratch(places, "2026-10-03-linked-00000001", None)
    (linked / MARKER).symlink_to(put(tmp_path / "marker", CONVERSATION))
    elsewhere = tmp_path / "elsewhere"
    put(elsewhere / MARKER, CONVERSATION)
    (places.scratch / "a-link").symlink_to(elsewhere)
    assert set(scratch_folders(places, CONVERSATION)) == {own, second}
    assert remove_files(places, CONVERSATION, [], []) == []
    assert not own.exists()
    assert not second.exists()
    assert all((folder / "jobs" / "j1.log").exists() for folder in [*alike, linked])
    assert (elsewhere / MARKER).exists()


def test_an_empty_scratch_without_its_marker_goes_by_its_name(places: Places) -> None:
    """A stop between the marker and its directory."""
    own = places.scratch / "2026-10-03-fix-the-tests-00000001"
    other = places.scratch / "2026-10-03-fix-the-tests-00000002"
    own.mkdir(parents=True)
    other.mkdir()
    remove_files(places, CONVERSATION, [], [])
    assert not own.exists()
    assert other.exists()
