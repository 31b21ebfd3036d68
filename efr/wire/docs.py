"""`python -m efr.wire.docs --write docs/protocol.md`: the tables of the docs page.

The page is written by hand, but for the parts between two markers:

    <!-- generated: method prompt.send -->
    <!-- end -->

They are made from the declared types. `--check FILE` says whether they are current (exit code 1
when not). Every part has its place in the page, or the page is refused. What is pure here is
`filled`; the program around it reads and writes the one file that it is given.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from efr.wire import frames, markdown
from efr.wire.declared import kinds_of
from efr.wire.event.union import EVENTS
from efr.wire.table import METHODS

USAGE = "usage: python -m efr.wire.docs (--write FILE | --check FILE)"

_PART: Final = re.compile(r"(<!-- generated: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


class BadPage(Exception):
    """The page has no place for a part, two places, or a place for no part."""


def parts() -> dict[str, str]:
    """Every generated part by its name."""
    return {
        "scalars": markdown.scalars(),
        "client frames": _frames(frames.ClientFrame),
        "server frames": _frames(frames.ServerFrame),
        "methods": markdown.method_list(),
        "events": markdown.event_list(),
        "event envelope": markdown.envelope(),
        "open sets": markdown.sets(open_ones=True),
        "closed sets": markdown.sets(open_ones=False),
        "set files": markdown.set_files(),
        **{f"method {name}": markdown.method_section(m) for name, m in METHODS.items()},
        **{f"event {kind}": markdown.event_section(kind) for kind in EVENTS},
        **{
            f"types {home}": "\n\n".join(
                markdown.type_section(name, kind) for name, kind in named.items()
            )
            for home, named in markdown.shared_types().items()
        },
    }


def filled(page: str) -> str:
    """The page with its generated parts as they are today. Raises BadPage."""
    current = parts()
    places = [name for _open, name, _old, _close in _PART.findall(page)]
    wrong = [
        *(f"no place for: {name}" for name in current if name not in places),
        *(f"no such part: {name}" for name in places if name not in current),
        *(f"two places for: {name}" for name in sorted(set(places)) if places.count(name) > 1),
    ]
    if wrong:
        raise BadPage("; ".join(wrong))
    return _PART.sub(lambda found: f"{found[1]}{current[found[2]]}\n{found[4]}", page)


def _frames(union: object) -> str:
    named = ((kind.__name__, kind) for kind in kinds_of(union))
    return "\n\n".join(markdown.type_section(name, kind) for name, kind in named)


def main(arguments: list[str]) -> int:
    """Writes or checks the page; the exit code says whether it is current."""
    if len(arguments) != 2 or arguments[0] not in ("--write", "--check"):
        sys.stderr.write(f"{USAGE}\n")
        return 2
    path = Path(arguments[1])
    page = path.read_text(encoding="utf-8")
    try:
        current = filled(page)
    except BadPage as bad:
        sys.stderr.write(f"{path}: {bad}\n")
        return 1
    if arguments[0] == "--write":
        path.write_text(current, encoding="utf-8")
        return 0
    if page == current:
        return 0
    sys.stderr.write(f"{path} is not current: python -m efr.wire.docs --write {path}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
