"""The places that a path leads through."""

from __future__ import annotations

from pathlib import Path

from efr.config.followed import Place, fingerprint, places


def names(path: Path, root: Path) -> set[str]:
    """The places of `path`, each as a path below `root`."""
    return {str((Path(one.directory) / one.name).relative_to(root)) for one in places(path)}


def test_a_plain_file_is_one_place_whether_it_is_there_or_not(tmp_path: Path) -> None:
    assert places(tmp_path / "a") == {Place(str(tmp_path), "a")}
    (tmp_path / "a").touch()
    assert places(tmp_path / "a") == {Place(str(tmp_path), "a")}


def test_each_link_on_the_way_is_a_place(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").symlink_to("b/link")
    (tmp_path / "b" / "link").symlink_to("../end")
    assert names(tmp_path / "a", tmp_path) == {"a", "b/link", "end"}


def test_a_folder_that_is_a_link_counts_by_its_name_and_by_its_target(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "two").symlink_to("real")
    (tmp_path / "one").symlink_to("two")
    assert names(tmp_path / "one" / "f", tmp_path) == {"one", "two", "real/f"}


def test_a_missing_folder_is_a_name_in_the_nearest_one(tmp_path: Path) -> None:
    assert names(tmp_path / "a" / "b" / "c", tmp_path) == {"a"}
    (tmp_path / "a").mkdir()
    assert names(tmp_path / "a" / "b" / "c", tmp_path) == {"a/b"}
    (tmp_path / "a" / "b").symlink_to("nowhere/x")
    assert names(tmp_path / "a" / "b" / "c", tmp_path) == {"a/b", "a/nowhere"}


def test_links_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert names(tmp_path / "a", tmp_path) == {"a", "b"}
    (tmp_path / "c").symlink_to("c")
    assert names(tmp_path / "c" / "f", tmp_path) == {"c"}


def test_a_fingerprint_differs_after_each_kind_of_change(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    seen = [fingerprint(places(path))]

    def changed() -> bool:
        seen.append(fingerprint(places(path)))
        return seen[-1] != seen[-2]

    assert not changed()
    path.write_text("x")
    assert changed()
    path.write_text("xy")
    assert changed()
    path.chmod(0o400)
    assert changed()
    other.write_text("xy")
    other.rename(path)
    assert changed()
    path.unlink()
    assert changed()
    path.symlink_to("b")
    assert changed()
    other.write_text("x")
    assert changed()
