"""A directory in a larger repository ignores what that one ignores there; git is the judge."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from efr.snapshots.outer import outer_patterns
from efr.snapshots.room import Snapshots
from efr.snapshots.snapshot import Hidden
from tests.snapshots.world import GIT, LIMITS, MovedClock, World

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

PATHS = (
    "a.py", "a.log", ".env", "dist/x", "dist/keep/y", "src/a.log", "src/dist/z", "src/app/a.py",
    "packages/app/b", "app/c", "deep/er/a.txt", "[x]", "sp ace", "end ", "#hash", "!bang", "a\\b",
)  # fmt: skip
PATTERNS = (
    ".env", "*.log", "/*.log", "dist", "dist/", "/dist", "packages/app/dist/", "/packages/*/dist",
    "packages/**/dist", "**/dist/keep", "packages/app/**/a.txt", "packages/*", "packages/**",
    "packages", "app", "app/", "*", "!*/", "!*.py", "!.env", "!packages/app/src/a.log",
    "packages/app/*.log", "packages/[a-c]pp/.env", "packages/[^b]pp/*.py", "packages/ap?/s*",
    "other/app/.env", "packages/app", "!packages/app", "src/*.log", "app/src", "**/app/src/dist",
    "packages/**/**/*.txt", r"packages/app/\[x\]", r"packages/\a\p\p/sp\ ace", r"end\ ", r"\#hash",
    r"\!bang", "# comment", "", "packages/app/sp ace   ", "/packages/app/deep/**", "**", "/**/er",
    "packages/app/a\\\\b", "/", "!", "\\", "packages//dist", "a.py\r",
)  # fmt: skip


def ignored(top: Path, root: Path, excludes: Path | None = None) -> set[str]:
    """Those of the paths that git ignores below a directory, as a part of `top`."""
    place = f"{root.relative_to(top)}/" if root != top else ""
    given = "".join(f"./{place}{path}\0" for path in PATHS)
    flags = ("-c", f"core.excludesFile={excludes or '/dev/null'}")
    done = subprocess.run(
        ["git", *flags, "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=top,
        env=GIT,
        input=given,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    return {path.removeprefix(f"./{place}") for path in done.stdout.split("\0")[:-1]}


def is_ignored(top: Path, root: Path) -> bool:
    command = ["git", "check-ignore", "-q", "--no-index", str(root.relative_to(top))]
    return subprocess.run(command, cwd=top, env=GIT, check=False).returncode == 0


def files_of(patterns: list[str]) -> bytes:
    return "".join(f"{one}\n" for one in patterns).encode()


def test_patterns_from_outside_mean_the_same_inside(tmp_path: Path) -> None:
    source = random.Random(7)
    top, alone = tmp_path / "top", tmp_path / "alone"
    root = top / "packages/app"
    for folder in (root, alone):
        folder.mkdir(parents=True)
    for folder in (top, alone):
        subprocess.run(["git", "init", "-q", folder], env=GIT, check=True)
    cases: list[tuple[list[str], list[str]]] = [([pattern], []) for pattern in PATTERNS]
    cases += [(["packages/**", "!packages/app"], [])]  # all is ignored, the folder itself is not
    cases += [(source.sample(PATTERNS, 4), source.sample(PATTERNS, 2)) for _ in range(60)]
    hidden = 0
    for outer, inner in cases:
        (top / ".gitignore").write_bytes(files_of(outer))
        (top / "packages/.gitignore").write_bytes(files_of(inner))
        found = outer_patterns(str(root), None, read, lambda _: b"")
        (tmp_path / "found").write_bytes(found)
        expected = set() if is_ignored(top, root) else ignored(top, root)
        assert ignored(alone, alone, tmp_path / "found") == expected, (outer, inner, found)
        hidden += bool(expected)
    assert hidden > 40


def read(path: str) -> bytes:
    return Path(path).read_bytes()


def test_a_pattern_of_any_depth_many_times_is_few_patterns(tmp_path: Path) -> None:
    """There are more ways through such a pattern than anybody can look at."""
    place = tmp_path.joinpath(*"aaaaaaaaaaaa")
    place.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_bytes(files_of(["**/" * 40 + "x", "/" + "**/a/" * 40 + "y"]))

    def read(path: str) -> bytes:
        return Path(path).read_bytes() if Path(path).exists() else b""

    lines = outer_patterns(str(place), None, read, lambda _: b"")
    assert 2 <= len(lines.splitlines()) <= 2 + 2 * len("aaaaaaaaaaaa")


def test_a_package_hides_what_its_repository_ignores(world: World) -> None:
    top = world.root
    world.git("init", "-q")
    world.write(".gitignore", ".env\nnode_modules/\n/packages/app/local\n")
    world.write(".git/info/exclude", "mine\n")
    world.root = top / "packages/app"
    for name in ("a", ".env", "local", "mine"):
        world.write(name)
    for number in range(60):
        world.write(f"node_modules/{number}")
    before = world.take()
    assert before.count == 4
    for name in ("a", ".env", "local", "mine"):
        world.write(name, "secret\n")
    world.write(".gitignore", "!local\n")  # it was ignored before: its content stays hidden
    after = world.take()
    assert [(one.path, one.hidden) for one in world.room.changes(before, after)] == [
        (".env", Hidden.IGNORED),
        (".gitignore", None),
        ("a", None),
        ("local", Hidden.IGNORED),
        ("mine", Hidden.IGNORED),
    ]
    assert world.patch(before, after).count("+secret") == 1


@pytest.mark.parametrize("where", ["home", "above", "other"])
def test_a_repository_at_home_or_of_somebody_else_says_nothing(tmp_path: Path, where: str) -> None:
    home = tmp_path / "home"
    root = home / "notes"
    root.mkdir(parents=True)
    top = {"home": home, "above": tmp_path, "other": home}[where]
    subprocess.run(["git", "init", "-q", top], env=GIT, check=True)
    (top / ".gitignore").write_text("*\n")
    (root / "a").write_text("1\n")
    if where == "other":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(home, 12345, 12345)
    given = None if where == "other" else str(home)
    room = Snapshots(tmp_path / "s", GIT["PATH"], MovedClock(), lambda: [], ".marker", given)
    before = room.take(str(root), LIMITS, whole=True)
    (root / "a").write_text("2\n")
    (change,) = room.changes(before, room.take(str(root), LIMITS, whole=True))
    assert change.hidden is None
