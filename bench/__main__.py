"""`make bench [ONLY=name]`: every measurement, a line each."""

from __future__ import annotations

import importlib
import os
import sys

from bench.table import print_rows

GROUPS = (
    "cli",
    "loading",
    "roundtrip",
    "agent",
    "wire",
    "config",
    "store",
    "pty",
    "fanout",
    "idle",
    "search",
    "snapshots",
    "decisions",
)


def main(wanted: list[str]) -> int:
    """Runs the groups that are named, or all."""
    unknown = [name for name in wanted if name not in GROUPS]
    if unknown:
        print(f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}")
        return 2
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    for group in wanted or GROUPS:
        print(f"\n{group}")
        print_rows(importlib.import_module(f"bench.{group}").rows())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
