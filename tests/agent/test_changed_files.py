"""The changed files as clients see them: named by place, sorted, at most fifty."""

from __future__ import annotations

import pytest

from efr.agent.changed_files import file_changes, left_out, not_covered, roots_below
from efr.snapshots.snapshot import Change, Hidden
from efr.text.diff import FileDiff
from efr.tools.contract import Where
from efr.tools.patch_diffs import ShownDiff
from efr.tools.patch_diffs import file_changes as of_patch
from efr.wire import types as t

WHERE = Where("/h", "/h", "/h", "/h/.local/share/efr/scratch/x", "/h/app")


@pytest.mark.parametrize(
    ("root", "path", "shown"),
    [
        ("/h/app", "src/a b", "src/a b"),
        ("/h/.local/share/efr/scratch/x", "note", "$SCRATCH/note"),
        ("/h/lib", "a", "~/lib/a"),
        ("/h/application", "a", "~/application/a"),
        ("/srv/x", "a", "/srv/x/a"),
        ("/h/app", "bad \udcff\udcfe", "bad \ufffd\ufffd"),
    ],
)
def test_a_path_is_shown_from_its_place(root: str, path: str, shown: str) -> None:
    tail = path.replace("\udcff\udcfe", "\ufffd\ufffd")
    moved = Change(path, "renamed", f"old/{path}", 3, 1)
    (file,) = file_changes({root: [moved]}, WHERE).files
    assert file.path == shown
    assert file.from_ == shown.removesuffix(tail) + f"old/{tail}"
    assert (file.kind, file.added, file.removed) == (t.ChangeKind.RENAMED, 3, 1)


def test_fifty_files_are_listed_and_all_are_counted() -> None:
    changes = [Change(f"f{number:02}", "added", None, 2, 1) for number in range(59, -1, -1)]
    found = file_changes({"/h/app": changes[:30], "/srv": changes[30:]}, WHERE)
    assert [one.path for one in found.files] == [
        *(f"/srv/f{number:02}" for number in range(30)),
        *(f"f{number:02}" for number in range(30, 50)),
    ]
    assert (found.more, found.added, found.removed) == (10, 120, 60)


def test_the_list_of_a_patch_is_cut_in_the_same_way() -> None:
    diffs = [
        ShownDiff(f"f{number:02}", None, t.ChangeKind.ADDED, FileDiff(("+x",), 2, 1))
        for number in range(59, -1, -1)
    ]
    found = of_patch(diffs)
    assert [one.path for one in found.files] == [f"f{number:02}" for number in range(50)]
    assert (found.more, found.added, found.removed) == (10, 120, 60)


def test_what_no_snapshot_holds_is_named_once_and_at_most_fifty() -> None:
    large = [Change(f"f{number:02}", "modified", hidden=Hidden.LARGE) for number in range(60)]
    plain = [Change("a", "modified"), Change(".env", "modified", hidden=Hidden.IGNORED)]
    names = left_out({"/h/app": [*plain, *large]}, WHERE)
    told = not_covered([*names, *names])
    assert told == t.UndoSummary(
        not_covered=tuple(f"f{number:02}" for number in range(50)), not_covered_more=10
    )
    assert not_covered([]) is None


def test_files_of_a_root_inside_another_are_its_own() -> None:
    assert roots_below("/h/app", ["/h/app", "/h/app/x", "/h/apple", "/h"]) == ["/h/app/x"]
    outer = [Change("x/a", "modified", None, 1, 0), Change("xa", "added", None, 1, 0)]
    found = file_changes(
        {"/h/app": outer, "/h/app/x": [Change("a", "modified", None, 1, 0)]}, WHERE
    )
    assert [one.path for one in found.files] == ["x/a", "xa"]
    assert found.added == 2
