"""A directory, and the room that takes its snapshots."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from efr.base.clock import SystemClock
from efr.snapshots.choice import Limits
from efr.snapshots.compare import CutText
from efr.snapshots.room import Snapshots
from efr.snapshots.snapshot import Snapshot

CONVERSATION = "01890a5d-ac96-774b-bcce-b302099a8057"
OTHER = "01890a5d-ac96-774b-bcce-b302099a8059"
TURN = "01890a5d-ac96-774b-bcce-b302099a8058"
LIMITS = Limits(max_file_bytes=10_000, max_files=50, ignored=True)
GIT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "u"),
    **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "u@localhost"),
}


class MovedClock(SystemClock):
    """The machine's clock, moved by hand."""

    moved_s = 0.0

    def now_us(self) -> int:
        return super().now_us() + round(self.moved_s * 1_000_000)

    def monotonic(self) -> float:
        return super().monotonic() + self.moved_s


@dataclass
class World:
    """A project, and the room that looks at it."""

    root: Path
    stores: Path
    clock: MovedClock
    room: Snapshots

    def take(self, limits: Limits = LIMITS, *, whole: bool = True) -> Snapshot:
        return self.room.take(str(self.root), limits, whole=whole)

    def write(self, path: str, text: str | bytes = "one\n") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def git(self, *arguments: str, given: str = "", store: Path | None = None) -> str:
        """git in the project, or in a store."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=GIT if store is None else {**GIT, "GIT_DIR": str(store)},
            input=given,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def patch(self, before: Snapshot, after: Snapshot, prefix: str = "") -> str:
        text = CutText(1000, 100_000)
        self.room.write_patch(before, after, prefix, text)
        return text.text()

    def store(self) -> Path:
        (found,) = self.stores.glob("*.git")
        return found


def world_in(folder: Path) -> World:
    """An empty project in a folder."""
    root, clock = folder / "app", MovedClock()
    root.mkdir(exist_ok=True)
    stores = folder / "data" / "snapshots"
    room = Snapshots(stores, GIT["PATH"], clock, lambda: [str(folder / "data")], ".marker")
    return World(root, stores, clock, room)
