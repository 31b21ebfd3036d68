"""The tables of `docs/permissions.md`, from the data that decides.

`python -m tests.policy.page --write` puts them into the page; a test holds the page to them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from efr.policy.paths import CLASS_WORDS
from efr.policy.rows import BUILT_IN, FIRST_ROW, ROWS
from efr.policy.rules import ClassIs, CommandIs, Rule
from efr.policy.secret_places import BROWSERS, LOGINS, SECRETS_ELSEWHERE, SECRETS_IN_HOME
from efr.policy.words import CONSTRUCTS
from tests.policy.everyday import table

PAGE: Final = Path(__file__).parents[2] / "docs" / "permissions.md"
_PART: Final = re.compile(r"<!-- (?P<name>[a-z ]+) -->\n(?:.*?)<!-- end -->", re.DOTALL)
_WIDTH: Final = 100


def path_rules() -> Iterator[str]:
    """The rules of cautious about paths."""
    yield "| rule | action | what | answer |"
    yield "| --- | --- | --- | --- |"
    for number, rule in enumerate(BUILT_IN["cautious"][:FIRST_ROW]):
        yield f"| {number} | {rule.action} | {_resource(rule)} | {rule.effect} |"


def _resource(rule: Rule) -> str:
    if isinstance(rule.resource, ClassIs):
        return CLASS_WORDS[rule.resource.name]
    return "below the project's root" if rule.resource == "project" else "everything"


def secrets_in_home() -> Iterator[str]:
    yield from _wrapped(SECRETS_IN_HOME)


def secrets_elsewhere() -> Iterator[str]:
    yield from _wrapped(SECRETS_ELSEWHERE)


def browsers() -> Iterator[str]:
    yield from _wrapped(BROWSERS)


def logins() -> Iterator[str]:
    yield from _wrapped(LOGINS)


def _wrapped(names: Sequence[str]) -> Iterator[str]:
    """Names as code, in lines of the page's width."""
    line = ""
    for name in names:
        shown = f"`{name}`"
        if line and len(line) + 1 + len(shown) > _WIDTH:
            yield line
            line = ""
        line = f"{line} {shown}".strip()
    yield line


def rows() -> Iterator[str]:
    """Every row with its number, as a block of code."""
    yield "```text"
    for number, rule in enumerate(ROWS, start=FIRST_ROW):
        assert isinstance(rule.resource, CommandIs)
        yield f"{number} {_row(rule.resource)}"
    yield "```"


def _row(command: CommandIs) -> str:
    bounds = (("min", command.min_operands or None), ("max", command.max_operands))
    given = (*bounds, ("opt", command.max_options), ("check", command.check))
    return " ".join((
        command.program,
        *(f"[{words}]" for words in command.args),
        *(("!", *command.forbid) if command.forbid else ()),
        *(f"{name}={value}" for name, value in given if value is not None),
    ))  # fmt: skip


def constructs() -> Iterator[str]:
    """What makes a line unreadable, in the words of a question."""
    words = (text.format("NAME") for text in CONSTRUCTS.values())
    yield from (f"- {text}" for text in words)


PARTS: Final[dict[str, Callable[[], Iterator[str]]]] = {
    "path rules": path_rules,
    "secrets in home": secrets_in_home,
    "secrets elsewhere": secrets_elsewhere,
    "browsers": browsers,
    "logins": logins,
    "rows": rows,
    "constructs": constructs,
    "everyday": table,
}


def filled(text: str) -> str:
    """The page with every table as the data has it. Raises KeyError for a part it does not know."""

    def part(found: re.Match[str]) -> str:
        lines = PARTS[found["name"]]()
        return "\n".join((f"<!-- {found['name']} -->", *lines, "<!-- end -->"))

    return _PART.sub(part, text)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.policy.page --write")
    PAGE.write_text(filled(PAGE.read_text()))
