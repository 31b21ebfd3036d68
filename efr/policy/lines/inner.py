"""The programs behind a program: wrappers, `find -exec`, and text that a shell is given.

Pure. Facts: the manual pages of the programs in the table. A wrapper's options are known with
those that take the next word; behind an unknown one the next word counts as the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from efr.policy.lines.pieces import ASSIGNMENT
from efr.policy.lines.split import LineWord, split_line

Words = Sequence[LineWord]

# Words of the shell that a command follows.
RESERVED: Final = frozenset(("do", "then", "else", "elif", "if", "while", "until", "!", "{"))
# Options that take the next word, and how many words stand before the program.
_WRAPPERS: Final[dict[str, tuple[str, int]]] = {
    "env": ("-u --unset -C --chdir", 0),
    "nice": ("-n --adjustment", 0),
    "nohup": ("", 0),
    "time": ("-f --format -o --output", 0),
    "timeout": ("-s --signal -k --kill-after", 1),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("-a", 0),
    "stdbuf": ("-i -o -e --input --output --error", 0),
    "ionice": ("-c --class -n --classdata -p --pid -P --pgid", 0),
    "chrt": ("-T -P -D", 1),
    "taskset": ("", 1),
    "setsid": ("", 0),
    "flock": ("-w --timeout -E --conflict-exit-code", 1),
    "xargs": (
        "-a --arg-file -d --delimiter -E -I -L -n --max-args -P --max-procs -s --max-chars",
        0,
    ),
    "watch": ("-n --interval", 0),
    "unbuffer": ("", 0),
    "noglob": ("", 0),
    "nocorrect": ("", 0),
    "-": ("", 0),
    "sudo": (
        "-u --user -g --group -h --host -p --prompt -C -D --chdir -r --role -t --type -T -U",
        0,
    ),
    "doas": ("-u -C", 0),
    "run0": ("-u --user -g --group --unit --property -D --chdir", 0),
    "pkexec": ("--user", 0),
    "repeat": ("", 1),
}
_VALUED: Final = {
    name: (frozenset(options.split()), count) for name, (options, count) in _WRAPPERS.items()
}
# Options of everyday that take no word; behind any other one the program may be hidden.
_PLAIN: Final[dict[str, frozenset[str]]] = {
    "sudo": frozenset(("-A", "-b", "-E", "-H", "-k", "-n", "-P", "-S", "--")),
    "doas": frozenset(("-n", "--")),
    "env": frozenset(("-i", "-0", "--")),
    "time": frozenset(("-p", "-v", "--")),
    "timeout": frozenset(("--foreground", "--preserve-status", "-v", "--")),
    "xargs": frozenset(("-0", "-r", "-t", "--")),
}
# Programs that are given the text of a line, and the options before it.
_SHELLS: Final = frozenset(("sh", "bash", "zsh", "dash", "ksh", "mksh", "fish", "su", "flock"))
_TEXT_OPTION: Final = re.compile(r"-[A-Za-z]*c|--command")
_SPLIT_OPTION: Final = re.compile(r"-[A-Za-z]*S|--split-string=?")
_EXEC: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_DEEPEST: Final = 4  # texts in texts, wrappers in wrappers
_MOST: Final = 200  # programs of one line


def all_programs(line: str, home: str) -> list[tuple[LineWord, ...]]:
    """Every program of a line with its words, also those behind others, each once."""
    found: dict[tuple[LineWord, ...], None] = {}
    for words in _programs_of_line(line, home, _DEEPEST):
        found[words] = None
        if len(found) >= _MOST:
            break
    return list(found)


def programs_behind(
    words: Words, home: str, depth: int = _DEEPEST
) -> Iterator[tuple[LineWord, ...]]:
    """The program itself, then each one that it runs."""
    words = without_prefix(words)
    if not words or depth < 0:
        return
    yield tuple(words)
    name = base_name(words[0].text)
    if name in _VALUED and not _only_looks_up(name, words):
        yield from programs_behind(_behind_wrapper(words, *_VALUED[name]), home, depth - 1)
    for text in _texts(name, words):
        yield from _programs_of_line(text, home, depth - 1)
    if name == "find":
        for inner in _executed(words):
            yield from programs_behind(inner, home, depth - 1)


def _programs_of_line(line: str, home: str, depth: int) -> Iterator[tuple[LineWord, ...]]:
    if depth >= 0:
        for command in split_line(line, home).commands:
            yield from programs_behind(command.words, home, depth)


def without_prefix(words: Words) -> Words:
    """The words from the program on: behind assignments and reserved words."""
    at = 0
    while at < len(words) and (
        words[at].text in RESERVED or ASSIGNMENT.match(words[at].text) is not None
    ):
        at += 1
    return words[at:]


def base_name(word: str) -> str:
    """A program's name without its directory."""
    return word.rpartition("/")[2]


def _only_looks_up(name: str, words: Words) -> bool:
    return name == "command" and any(word.text in ("-v", "-V") for word in words[1:2])


def _behind_wrapper(words: Words, valued: frozenset[str], count: int) -> Words:
    at = 1
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            break
        if text.startswith("-") and text != "-":
            at += 2 if text in valued else 1
        elif ASSIGNMENT.match(text):
            at += 1
        else:
            break
    return words[at + count :]


def surely_behind(words: Words) -> Words | None:
    """The words from the program on that a wrapper runs; None when the line may hide it."""
    name = base_name(words[0].text)
    if name not in _VALUED:
        return None
    valued, count = _VALUED[name]
    rest = _behind_wrapper(words, valued, count)
    known = valued | _PLAIN.get(name, frozenset())
    before = words[1 : len(words) - len(rest)]
    hidden = any(word.text.startswith("-") and word.text not in known for word in before)
    if hidden or not rest or rest[0].text.startswith("-"):
        return None
    shown = not any(word.expansion or word.pattern_at is not None for word in (*before, rest[0]))
    return rest if shown else None


def _texts(name: str, words: Words) -> Iterator[str]:
    """Lines that the program reads from its words."""
    if name == "eval":
        yield " ".join(word.text for word in words[1:])
    option = _SPLIT_OPTION if name == "env" else _TEXT_OPTION if name in _SHELLS else None
    if option is None:
        return
    for at, word in enumerate(words[1:], start=1):
        found = option.match(word.text)
        if found is not None:
            rest = word.text[found.end() :]
            yield from (
                [rest.removeprefix("=")] if rest else [w.text for w in words[at + 1 : at + 2]]
            )


def _executed(words: Words) -> Iterator[Words]:
    """What `find` runs for each file."""
    for at, word in enumerate(words):
        if word.text in _EXEC:
            rest = [one.text for one in words[at + 1 :]]
            ends = (rest.index(sign) for sign in (";", "+") if sign in rest)
            yield words[at + 1 : at + 1 + min(ends, default=len(rest))]
