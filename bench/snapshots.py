"""Snapshots of a generated project beside what git itself takes for the same tree.

EFR_BENCH_FILES is the number of its files (50,000), EFR_BENCH_HOME that of a home directory which
is too large for a snapshot (200,000; 0 leaves it out). Fewer files take less time, not another way.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.table import Row, median
from efr.base.clock import SystemClock
from efr.snapshots.choice import Limits
from efr.snapshots.errors import NotTaken
from efr.snapshots.room import Snapshots
from efr.snapshots.snapshot import Snapshot

RUNS = 5
CHANGED = 10  # files, as a turn may change
LARGE = 2 << 30  # bytes of a file that nobody may read
FOLDER = 500  # files of one folder of the project, with those below it
_AT_ONCE = 5000  # files: git looks through all of one call for each
_SET = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0")
_ENV = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "PATH": os.environ["PATH"]}


class Bench:
    """A project of so many files, and the room that takes its snapshots."""

    def __init__(self, folder: Path, files: int) -> None:
        self.root = folder / "app"
        self.stores = folder / "data" / "snapshots"
        self._limits = Limits(10 << 20, 1_000_000, ignored=True)
        self._room = Snapshots(
            self.stores, _ENV["PATH"], SystemClock(), lambda: [str(folder / "data")], ".marker"
        )
        self.paths = generate(self.root, files)
        git(self.root, "init", "-q")

    def commit(self) -> float:
        """Makes the project's own repository hold all of it; the seconds that git reads."""
        began = time.perf_counter()
        names = sorted(
            path.name for path in self.root.iterdir() if path.is_dir() and path.name != ".git"
        )
        step = _AT_ONCE // FOLDER
        for start in range(0, len(names), step):
            wanted = names[start : start + step]
            git(self.root, "-c", "core.bigFileThreshold=1", "add", "--", *wanted)
        seconds = time.perf_counter() - began
        git(self.root, "commit", "-qm", "all of it")
        return seconds

    def take(self, *, whole: bool = True) -> Snapshot:
        return self._room.take(str(self.root), self._limits, whole=whole, limit_s=600.0)

    def timed(self, *, whole: bool = True) -> float:
        began = time.perf_counter()
        self.take(whole=whole)
        return time.perf_counter() - began

    def change(self, seed: int) -> None:
        for path in self.paths[:: max(1, len(self.paths) // CHANGED)][:CHANGED]:
            path.write_text(f"changed {seed}\n")

    def timed_change(self) -> float:
        self.change(random.randrange(1 << 30))
        return self.timed()

    def listed_change(self) -> float:
        """A command's own list: before, after, and what differs."""
        before = self.take(whole=False)
        self.change(random.randrange(1 << 30))
        began = time.perf_counter()
        self.take(whole=False)
        after = self.take(whole=False)
        self._room.changes(before, after)
        return time.perf_counter() - began

    def refused(self) -> tuple[float, str]:
        """With the limits of the settings: the time, and what is said."""
        began = time.perf_counter()
        try:
            self._room.take(str(self.root), Limits(10 << 20, 20_000, ignored=True), whole=True)
        except NotTaken as exc:
            return time.perf_counter() - began, exc.why
        return time.perf_counter() - began, "taken"


def rows() -> Iterator[Row]:
    """The first snapshot, the warm ones, and the bytes."""
    if shutil.which("git") is None:
        yield Row("snapshots", "-", "needs git")
        return
    count = int(os.environ.get("EFR_BENCH_FILES", "50000"))
    with TemporaryDirectory() as name:
        yield from project(Bench(Path(name), count), count)
    home = int(os.environ.get("EFR_BENCH_HOME", "200000"))
    if home:
        with TemporaryDirectory() as name:
            yield too_large(Bench(Path(name), home), home)


def project(bench: Bench, count: int) -> Iterator[Row]:
    """The rows of one project."""
    first = bench.timed()
    added = bench.commit()
    status = median(lambda: timed_git(bench.root, "status", "--porcelain"), RUNS)
    told = f"of git status, {ms(status)}"
    yield Row(f"first snapshot of {count:,} files", ms(first), told, first / status)
    yield Row("the same", ms(first), f"of git add into packs, {ms(added)}", first / added)
    warm = median(bench.timed, RUNS)
    yield Row("the same again, nothing changed", ms(warm), told, warm / status)
    call = median(lambda: bench.timed(whole=False), RUNS)
    yield Row("without the ignored files, as around a command", ms(call), told, call / status)
    changed = median(bench.timed_change, RUNS)
    stash = median(lambda: timed_stash(bench), RUNS)
    told = f"of git stash create, {ms(stash)}"
    yield Row(f"a snapshot after {CHANGED} changed files", ms(changed), told, changed / stash)
    listed = median(bench.listed_change, RUNS)
    yield Row("before and after a command, and its list", ms(listed), told, listed / stash)
    size, tree = disk_bytes(bench.stores), disk_bytes(bench.root, but=".git")
    yield Row("bytes on disk", f"{size / 1e6:.1f} MB", f"of {tree / 1e6:.1f} MB", size / tree)
    large = bench.root / "large.iso"
    large.touch()
    os.truncate(large, LARGE)
    began = time.perf_counter()
    left = bench.take(whole=False).skipped
    seconds = time.perf_counter() - began
    more = disk_bytes(bench.stores) - size
    told = f"of git status, {ms(status)}; {left} left out, {more:,} bytes more on disk"
    yield Row("with a new file of 2 GB", ms(seconds), told, seconds / status)


def too_large(bench: Bench, count: int) -> Row:
    """The row of a home."""
    status = median(lambda: timed_git(bench.root, "status", "--porcelain", "-uall"), 1)
    seconds, why = bench.refused()
    size = disk_bytes(bench.stores)
    told = f"of git status -uall, {ms(status)}; {size:,} bytes on disk"
    return Row(f"{count:,} files: {why}", ms(seconds), told, seconds / status)


def generate(root: Path, count: int) -> list[Path]:
    """Files of source code size, 25 in a folder; some are ignored."""
    source = random.Random(1)
    paths = []
    for number in range(count):
        folder = root / f"d{number // FOLDER}" / f"e{number // 25 % 20}"
        if number % 25 == 0:
            folder.mkdir(parents=True)
        path = folder / f"f{number}.py"
        lines = source.randrange(5, 80)
        path.write_text("".join(f"x{source.randrange(10**9)} = {number}\n" for _ in range(lines)))
        paths.append(path)
    (root / ".gitignore").write_text("*.log\nnode_modules\n")
    for number in range(20):
        (root / f"{number}.log").write_text("a line\n" * number)
    return paths


def timed_stash(bench: Bench) -> float:
    bench.change(random.randrange(1 << 30))
    return timed_git(bench.root, "stash", "create")


def timed_git(root: Path, *arguments: str) -> float:
    began = time.perf_counter()
    git(root, *arguments)
    return time.perf_counter() - began


def git(root: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", *_SET, *arguments], cwd=root, env=_ENV, check=True, stdout=subprocess.DEVNULL
    )


def disk_bytes(folder: Path, but: str = "") -> int:
    """What the files take on the disk, in whole blocks."""
    total = 0
    for place, folders, files in os.walk(folder):
        if but in folders:
            folders.remove(but)
        total += sum(os.lstat(os.path.join(place, name)).st_blocks * 512 for name in files)
    return total


def ms(seconds: float) -> str:
    """In milliseconds."""
    return f"{seconds * 1000:,.0f} ms"
