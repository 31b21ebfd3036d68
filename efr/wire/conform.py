"""`python -m efr.wire.conform DIR`: does a folder of wire fixtures survive a read and a write?

Each file is decoded as the type that its name says, encoded again in the form of a fixture, and
compared byte for byte. One line per file that differs, then `N of M byte-identical`; the exit
code is 0 when all are. Facts: protocol, fixtures. It reads files and prints, and nothing else.
"""

from __future__ import annotations

import sys
from itertools import zip_longest
from pathlib import Path

from efr.wire.errors import WireError
from efr.wire.fixtures import rewritten

USAGE = "usage: python -m efr.wire.conform DIR"


def difference(name: str, content: bytes) -> str | None:
    """Where the file differs from what we write for it; None when it is the same."""
    try:
        ours = rewritten(name, content)
    except (WireError, LookupError) as exc:
        return str(exc)
    if ours == content:
        return None
    lines = zip_longest(content.splitlines(), ours.splitlines(), fillvalue=b"end of file")
    for number, (theirs, mine) in enumerate(lines, start=1):
        if theirs != mine:
            return f"line {number}: {_shown(theirs)} is written {_shown(mine)}"
    return "the line feeds at the end differ"


def _shown(line: bytes) -> str:
    return repr(line.decode(errors="replace").strip())


def main(arguments: list[str]) -> int:
    """Writes the report; 0 when every file is byte-identical, 1 when not, 2 for a wrong call."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        sys.stderr.write(f"{USAGE}\n")
        return 2
    root = Path(arguments[0])
    files = sorted(path for path in root.rglob("*.json") if path.is_file())
    same = 0
    for path in files:
        name = path.relative_to(root).as_posix()
        where = difference(name, path.read_bytes())
        if where is None:
            same += 1
        else:
            sys.stdout.write(f"{name}: {where}\n")
    sys.stdout.write(f"{same} of {len(files)} byte-identical\n")
    return 0 if same == len(files) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
