"""`python -m tests.wire.bless`: write the samples as the frozen fixtures, and say what changed.

A changed fixture is a change of the protocol: it needs a line in docs/protocol.md's changelog,
with the digest that this prints at the end. A change that would break an old reader or writer is
refused, and nothing is written.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

from tests.wire.samples import files
from tests.wire.shapes import FROZEN, breaks, frozen, shapes, written

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "v1"


def bless(root: Path, wanted: dict[str, bytes]) -> list[str]:
    """Makes the folder hold exactly these files; one line per file that changed."""
    held = {path.relative_to(root).as_posix() for path in root.rglob("*.json")}
    changes: list[str] = []
    for name in sorted(held - wanted.keys()):
        (root / name).unlink()
        changes.append(f"removed  {name}")
    for name, content in sorted(wanted.items()):
        path = root / name
        before = path.read_bytes() if name in held else None
        if before == content:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        changes.append(f"{'new    ' if before is None else 'changed'}  {name}")
    return changes


def digest(root: Path) -> str:
    """A short name for what the folder holds: names and bytes of all its files."""
    whole = sha256()
    for path in sorted(root.rglob("*.json")):
        name = path.relative_to(root).as_posix().encode()
        whole.update(b"%s\0%s\0" % (name, sha256(path.read_bytes()).digest()))
    return whole.hexdigest()[:12]


def main() -> int:
    now = shapes()
    if broken := breaks(frozen(), now):
        print("not blessed, as version 1 is frozen (docs/protocol.md, How to change the protocol):")
        print("".join(f"  {line}\n" for line in broken), end="")
        return 1
    FROZEN.write_text(written(now))
    changes = bless(FIXTURES, files())
    for line in changes:
        print(line)
    print(f"{len(changes)} of {len(files())} wire fixtures changed")
    print(f"digest for the changelog of docs/protocol.md: {digest(FIXTURES)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
