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
RESERVED: Final = frozenset((
    "do", "then", "else", "elif", "if", "while", "until", "!", "{", "coproc",
))  # fmt: skip
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
# Others that run the program among their words: of many programs in one, tracers, and what
# changes the root, the user or the surroundings.
_RUNNERS: Final[dict[str, tuple[str, int]]] = {
    **dict.fromkeys(("busybox", "toybox"), ("", 0)),
    "strace": ("-a -b -e -E -I -o -O -p -P -s -S -u -U -X", 0),
    "ltrace": ("-a -A -D -e -F -l -n -o -p -s -u -w -x", 0),
    "valgrind": ("", 0),
    "chroot": ("--userspec --groups", 1),
    "runuser": ("-u --user -g --group -G --supp-group -s --shell -w --whitelist-environment", 0),
    "setpriv": (
        "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits"
        " --pdeathsig --selinux-label --apparmor-profile",
        0,
    ),
    "unshare": ("-S --setuid -G --setgid -R --root -w --wd --map-user --map-group", 0),
    "nsenter": ("-t --target -S --setuid -G --setgid", 0),
    **dict.fromkeys(("setarch", "linux32", "linux64", "i386", "x86_64"), ("", 0)),
    "prlimit": ("-p --pid -o --output", 0),
    "systemd-run": (
        "-u --unit -p --property -E --setenv -M --machine -H --host --slice --description"
        " --service-type --uid --gid --nice --working-directory --on-active --on-boot"
        " --on-startup --on-unit-active --on-unit-inactive --on-calendar --timer-property",
        0,
    ),
    "systemd-inhibit": ("--what --who --why --mode", 0),
    "systemd-cat": ("-t --identifier -p --priority --stderr-priority --level-prefix", 0),
    "dbus-run-session": ("--config-file --dbus-daemon", 0),
    "fakeroot": ("-l --lib -s -i -f --faked -b --fd-base", 0),
    "firejail": ("", 0),
    "bwrap": ("", 0),
    **dict.fromkeys(("proxychains", "proxychains4"), ("-f", 0)),
    **dict.fromkeys(("torsocks", "torify", "tsocks"), ("-P -u -p -a", 0)),
    "faketime": ("", 1),
    "xvfb-run": ("-e -f -n -p -s -w --error-file --auth-file --server-num --server-args", 0),
    "cpulimit": ("-l --limit -e --exe -p --pid", 0),
    "cgexec": ("-g", 0),
    "numactl": ("-N -m -i -C -p --cpunodebind --membind --interleave --physcpubind", 0),
    **dict.fromkeys(("chronic", "ifne", "eatmydata", "catchsegv", "entr"), ("", 0)),
    "parallel": ("-j --jobs -a --arg-file -n -N -I --colsep -S --sshlogin --joblog", 0),
    "ssh-agent": ("-a -t -E -P", 0),
}
RUNNERS: Final = frozenset(_RUNNERS)
_VALUED: Final = {
    name: (frozenset(options.split()), count)
    for name, (options, count) in (*_WRAPPERS.items(), *_RUNNERS.items())
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
_SHELLS: Final = frozenset((
    "sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "yash", "rbash", "csh", "tcsh", "fish", "su",
    "runuser", "sg", "script", "flock",
))  # fmt: skip
_TEXT_OPTION: Final = re.compile(r"-[A-Za-z]*c|--command")
_SPLIT_OPTION: Final = re.compile(r"-[A-Za-z]*S|--split-string=?")
FD_EXEC: Final = frozenset(("-x", "-X", "--exec", "--exec-batch"))
_EXEC: Final[dict[str, frozenset[str]]] = {
    "find": frozenset(("-exec", "-execdir", "-ok", "-okdir")),
    **dict.fromkeys(("fd", "fdfind"), FD_EXEC),
}
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
    for text in texts_run(words):
        yield from _programs_of_line(text, home, depth - 1)
    for inner in executed(words):
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


def texts_run(words: Words) -> Iterator[str]:
    """Lines that the program at their start reads from its words."""
    name = base_name(words[0].text)
    if name in ("eval", "watch"):
        options = 0 if name == "eval" else len(words) - len(_behind_wrapper(words, *_VALUED[name]))
        yield " ".join(word.text for word in words[max(options, 1) :])
    if name == "trap":
        yield from (word.text for word in words[1:2])
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


def executed(words: Words) -> Iterator[Words]:
    """What `find` and `fd` run for each file."""
    options = _EXEC.get(base_name(words[0].text), frozenset())
    for at, word in enumerate(words):
        if word.text in options:
            rest = [one.text for one in words[at + 1 :]]
            ends = (rest.index(sign) for sign in (";", "+") if sign in rest)
            yield words[at + 1 : at + 1 + min(ends, default=len(rest))]
