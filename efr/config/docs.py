"""`python -m efr.config.docs (--write | --check) DIRECTORY`: what is made from the declared keys.

The tables of docs/config.md, docs/config.schema.json and efr/assets/config.example.toml, below the
directory of the sources. `--check` says whether they are current (exit code 1 when not).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from efr.config import json_schema
from efr.config.example import example
from efr.config.page import BadPage, filled

USAGE: Final = "usage: python -m efr.config.docs (--write | --check) DIRECTORY"

PAGE: Final = "docs/config.md"
SCHEMA: Final = "docs/config.schema.json"
EXAMPLE: Final = "efr/assets/config.example.toml"


def current(directory: Path) -> Iterator[tuple[Path, str]]:
    """Each file and its text as it should be. Raises BadPage."""
    page = directory / PAGE
    yield page, filled(page.read_text(encoding="utf-8"))
    yield directory / SCHEMA, json_schema.text()
    yield directory / EXAMPLE, example()


def main(arguments: list[str]) -> int:
    """Writes or checks the files; the exit code says whether they are current."""
    if len(arguments) != 2 or arguments[0] not in ("--write", "--check"):
        sys.stderr.write(f"{USAGE}\n")
        return 2
    directory = Path(arguments[1])
    stale = 0
    try:
        for path, text in current(directory):
            if arguments[0] == "--write":
                path.write_text(text, encoding="utf-8")
            elif not path.is_file() or path.read_text(encoding="utf-8") != text:
                sys.stderr.write(f"{path} is not current: make schema\n")
                stale += 1
    except BadPage as bad:
        sys.stderr.write(f"{directory / PAGE}: {bad}\n")
        return 1
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
