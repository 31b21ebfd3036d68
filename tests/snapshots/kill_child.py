"""Takes snapshots of a changing project until it is killed; a line for each that is kept."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from efr.snapshots.choice import Limits
from tests.snapshots.world import CONVERSATION, world_in

LIMITS = Limits(max_file_bytes=10_000, max_files=500, ignored=True)
FEW, MANY = 40, 220  # loose objects, and a pack


def main(folder: Path) -> None:
    world = world_in(folder)
    world.write(".gitignore", "*.log\n")
    for number in count():
        for place in range(MANY if number % 2 else FEW):
            world.write(f"f{place}", f"{number} {place}\n" * 50)
        world.write("x.log", f"{number}\n")
        turn = f"01890a5d-ac96-774b-bcce-{number:012x}"
        world.room.keep(
            world.room.take(str(world.root), LIMITS, whole=True), CONVERSATION, turn, "pre"
        )
        print(number, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
