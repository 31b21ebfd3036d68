"""`python -m tests.policy.fuzz --count N --seed S`: the readers against real zsh.

Each generated line is read. When a reader claims to understand it, the line runs in a zsh where
every command is a recorder: what ran must be what the reader said, and no file may appear that it
did not name. Lines that nobody claims are asked about, so nothing runs. A tenth as many lines run
whatever they are: each program that ran must be one that the lenient split found, with
its words, and each file that appeared one that it named.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from efr.policy.lines.inner import all_programs, base_name
from efr.policy.lines.split import LineWord, split_line
from efr.policy.reader import RESERVED, SimpleCommand, read_line
from efr.policy.structure import read_structure
from efr.policy.syntax_tree import agrees
from efr.policy.words import Unreadable, Word
from tests.policy.recorder import OPTIONS, record
from tests.policy.trap_lines import PROGRAMS, Traps

BATCH = 2500
# These run what follows them, so the line runs more than its first word says; no rule allows them.
_RUNS_MORE = frozenset((*RESERVED, "noglob"))


@dataclass(frozen=True)
class Claim:
    """A line, the commands that may run, and the files that may appear."""

    line: str
    commands: tuple[SimpleCommand, ...]
    writes: tuple[Word, ...]
    all_run: bool  # nothing in the line keeps one from running


def claim_of(line: str) -> Claim | None:
    """What the readers say about a line; None when they leave it to a person."""
    read = read_line(line)
    if isinstance(read, tuple):
        plain = agrees(line, read) and not any(_runs_more(one) for one in read)
        return Claim(line, read, (), _all_run(line, read)) if plain else None
    structure = read_structure(line)
    if isinstance(structure, Unreadable):
        return None
    commands = tuple(structure.commands)
    if any(_runs_more(one) for one in commands):
        return None
    return Claim(line, commands, tuple(structure.writes), False)


def _runs_more(command: SimpleCommand) -> bool:
    return command.program in _RUNS_MORE


def _all_run(line: str, commands: Sequence[SimpleCommand]) -> bool:
    """Whether each command runs when every one succeeds."""
    words = [word for command in commands for word in command.words]
    known = all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", command.program) for command in commands)
    odd = any(word.pattern for word in words)
    return known and not odd and not re.search(r"\|\||<|[0-9]>|>&|==", line)


def faults(claims: Sequence[Claim], options: str, folder: Path) -> Iterator[str]:
    """Lines where zsh did something else than what was said."""
    recording = record([claim.line for claim in claims], options, folder)
    home = str(folder / "home")
    for claim, ran in zip(claims, recording.lines, strict=True):
        # A pattern may stand for anything, so the others are looked at first.
        said = sorted(claim.commands, key=lambda one: any(word.pattern for word in one.words))
        for words in ran.commands:
            found = next((one for one in said if _is_said(words, one, home)), None)
            if found is None:
                yield f"{claim.line!r} ran {words!r} with {options!r}"
                break
            said.remove(found)
        else:
            if claim.all_run and said and ran.commands:
                yield f"{claim.line!r} did not run {said[0]!r} with {options!r}"
    named = {name for claim in claims for word in claim.writes for name in _names(word, home)}
    for name in recording.made - named:
        yield f"a file {name!r} appeared with {options!r}"


def _names(word: Word, home: str) -> Iterator[str]:
    """What the file of a redirection may be called in the recording."""
    for form in _forms(word, home):
        yield os.path.relpath(os.path.join(home, form), home)


def _is_said(words: Sequence[str], command: SimpleCommand, home: str) -> bool:
    """Whether these words are the command's; a pattern stands for any number of names."""
    return _matches(list(words), list(command.words), home)


def _matches(words: list[str], said: list[Word], home: str) -> bool:
    while said:
        if said[0].pattern:
            rest = said[1:]
            return any(_matches(words[at:], rest, home) for at in range(len(words) + 1))
        if not words or words[0] not in _forms(said[0], home):
            return False
        words, said = words[1:], said[1:]
    return not words


def _forms(word: Word, home: str) -> tuple[str, ...]:
    """What the shell may make of a word: `~` is the home, also behind `=` and `:` by an option."""
    if "~" not in word.text:
        return (word.text,)
    inner = re.sub(r"(?<=[=:])~(?=/|:|\Z)", home, word.text)
    at_start = re.sub(r"\A~(?=/|\Z)", home, word.text)
    both = re.sub(r"\A~(?=/|\Z)", home, inner)
    return (word.text, inner, both, at_start) if word.quoted else (inner, both, at_start)


# What would not end, what defines a name, and quoted text that zsh evaluates: no split sees those.
_UNSEEN: Final = re.compile(
    r"until|while|select|coproc|repeat|always|function|exec|\(\)|[#!\0]|=\(1|\[1\]|\$\["
    r"|\(e:|\(\+|COLUMNS='|noglob|nocorrect|time|command"
)
_UNSHOWN: Final = re.compile(r"[*?\[^~#$]")  # in a program: zsh chooses the name


def missed(count: int, seed: int) -> tuple[int, list[str]]:
    """(commands that ran, lines where one ran that the lenient split did not find).

    Any line runs here, read or not: what is denied or would leave a sandbox must be found in all.
    """
    lines = [line for line in Traps(seed).lines(count) if not _UNSEEN.search(line)]
    # What an expansion stands for no text shows.
    lines = [line for line in lines if not any(word.expansion for word in _written(line))]
    with tempfile.TemporaryDirectory(prefix="efr-fuzz-") as folder:
        recording = record(lines, OPTIONS[seed % 2], Path(folder), apart=True)
        home = str(Path(folder) / "home")
    found: list[str] = []
    for line, ran in zip(lines, recording.lines, strict=True):
        programs = all_programs(line, home)
        first = [words[0] for words in programs]
        if any(one.expansion or _UNSHOWN.search(one.text) or not one.text for one in first):
            continue
        # A redirection alone runs `cat`.
        known = (one for one in ran.commands if one[0] in PROGRAMS and one[0] != "cat")
        found += [f"{line!r} ran {words!r}" for words in known if not _has(programs, words, home)]
    found += [f"a file {name!r} appeared" for name in recording.made if not _is_named(name, lines)]
    return sum(len(ran.commands) for ran in recording.lines), found


def _written(line: str) -> Iterator[LineWord]:
    for command in split_line(line, "/h").commands:
        yield from command.writes


def _is_named(name: str, lines: Sequence[str]) -> bool:
    """Whether a line writes the file; a sign of a pattern becomes a byte of its own in a name."""
    files = (os.path.join("/h", word.text) for line in lines for word in _written(line))
    named = {os.path.relpath(file, "/h") for file in files}
    return name in named or re.search("[\udc80-\udcff]", name) is not None


def _has(programs: Sequence[Sequence[LineWord]], words: Sequence[str], home: str) -> bool:
    """Whether the program was found with each of its words, in whatever order."""
    return any(
        words[0] in (found[0].text, base_name(found[0].text))
        and (
            any(one.expansion or one.pattern_at is not None for one in found)
            or {_plain(word, home) for word in words[1:]} - {""}
            <= {_plain(one.text, home) for one in found}
        )
        for found in programs
    )


def _plain(text: str, home: str) -> str:
    """With `~` for the home, which zsh takes it for in some places and with some options, and
    without braces: one that may be a group's stands apart in the split."""
    return text.replace(home, "~").replace("{", "").replace("}", "")


def run(count: int, seed: int) -> tuple[int, list[str]]:
    """(lines that were claimed and ran, faults)."""
    claims = [one for line in Traps(seed).lines(count) if (one := claim_of(line)) is not None]
    found: list[str] = []
    for number, start in enumerate(range(0, len(claims), BATCH)):
        with tempfile.TemporaryDirectory(prefix="efr-fuzz-") as folder:
            options = OPTIONS[(seed + number) % len(OPTIONS)]
            found += faults(claims[start : start + BATCH], options, Path(folder))
    return len(claims), found


def main(arguments: Sequence[str]) -> int:
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    count, seed = int(given.pop("--count", 20_000)), int(given.pop("--seed", 1))
    if given:
        print(f"unknown: {' '.join(given)}; use --count N --seed S")
        return 2
    claimed, found = run(count, seed)
    ran, unseen = missed(min(count // 10, 10_000), seed)
    for fault in (*found, *unseen):
        print(fault)
    print(f"{count} lines, {claimed} read and run, {len(found)} faults (seed {seed})")
    print(f"{ran} commands of any lines, {len(unseen)} not found by the lenient split")
    return 1 if found or unseen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
