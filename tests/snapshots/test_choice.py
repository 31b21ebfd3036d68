"""Which files go into a snapshot, where a test as root cannot make the file system say no."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from efr.snapshots.choice import below, parse_status, read_left_out
from efr.snapshots.take import batches

# As root every file can be read, so the child is nobody then.
CHILD = """
import os, sys
from efr.snapshots.choice import Limits, choose, choose_ignored
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
changed = [("??", "new"), (" M", "known"), (" M", "shut/x"), (" D", "gone"), (" D", "a/b")]
chosen = choose(sys.argv[1], changed, Limits(1000, 10, True), frozenset())
ignored = choose_ignored(sys.argv[1], ["new", "shut/"], frozenset())
print(chosen.put, chosen.drop, chosen.skipped, list(ignored.files), ignored.skipped)
"""


def test_what_may_not_be_read_stays_as_it_was_known() -> None:
    with TemporaryDirectory() as name:  # pytest's own folders are closed to nobody
        root = Path(name)
        (root / "shut").mkdir()
        for path in ("new", "known", "shut/x", "a"):
            (root / path).write_text("x")
            (root / path).chmod(0)
        (root / "shut").chmod(0)
        root.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", CHILD, name],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
        (root / "shut").chmod(0o700)
    assert done.stdout == "['gone', 'a/b'] [] 3 [] 1\n"


def test_the_status_is_read_with_any_name() -> None:
    out = os.fsencode("?? a\nb\0 M x y\0M  staged\0!! ig/\0MD \udcff\0?? repo/\0")
    assert parse_status(out) == (
        [("??", "a\nb"), (" M", "x y"), ("MD", "\udcff"), ("??", "repo/")],
        ["ig/"],
    )
    assert parse_status(b"") == ([], [])


@pytest.mark.parametrize(
    ("root", "found"),
    [("/h/app", {"x", "y/z"}), ("/", {"h/app", "h/app/x", "h/app/y/z", "h/apply"})],
)
def test_paths_are_compared_by_whole_parts(root: str, found: set[str]) -> None:
    assert below(root, ["/h/app", "/h/app/x", "/h/app/y/z", "/h/apply"]) == found


def test_a_damaged_list_of_left_out_files_is_no_list() -> None:
    with pytest.raises(ValueError, match="not enough values"):
        read_left_out("12 x\0")


def test_files_are_read_in_parts_by_number_and_by_bytes() -> None:
    many = [str(number) for number in range(10_001)]
    assert [len(part) for part in batches(many, {})] == [5000, 5000, 1]
    big = {"1": 200 << 20, "2": 100 << 20, "4": 300 << 20}
    assert batches(many[:7], big) == [["0", "1"], ["2", "3"], ["4"], ["5", "6"]]
    assert batches([], {}) == []
    assert batches(["4"], big) == [["4"]]
