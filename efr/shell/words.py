"""Whether a line starts a shell or a REPL that then reads lines from the terminal.

Pure, and only a hint: it looks at the line's words, not at aliases or scripts. Such a call takes no
typed answers, because an answer would run as a command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

_DEPTH: Final = 8  # of wrappers and -c texts; deeper lines are not written by hand
_SEPARATORS: Final = frozenset((";", "&&", "||", "&", "\n", "(", ")", "{", "}", ";;", "|&", "|"))
_PIPES: Final = frozenset(("|", "|&"))
_BLANKS: Final = " \t\r\n"
_SIGNS: Final = ";&|()<>"
_PART: Final = re.compile(
    r"""[ \t\r\n]+|[;&|()<>]+|[^ \t\r\n;&|()<>'"\\]+|'[^']*+'"""
    r"""|"(?:[^"\\]++|\\.)*"|\\.|.""",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"""\\(["\\])""")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)

_SHELLS: Final = frozenset(("zsh", "bash", "sh", "dash", "fish", "ksh"))
_REPLS: Final = re.compile(r"python[\d.]*|node|irb|ghci|lua[\d.]*|psql|mysql|mariadb|sqlite3")
# Options of a REPL after which it runs something and ends.
_RUNS: Final = {
    "python": ("-c", "-m", "--version", "-V", "-h", "--help"),
    "node": ("-e", "--eval", "-p", "--print", "-v", "--version", "-h", "--help"),
    "irb": ("-v", "--version", "-h", "--help"),
    "ghci": ("-e", "--version", "--help"),
    "lua": ("-e", "-v"),
    "psql": ("-c", "--command", "-f", "--file", "-l", "--list", "-V", "--version", "--help"),
    "mysql": ("-e", "--execute", "-V", "--version", "--help"),
    "mariadb": ("-e", "--execute", "-V", "--version", "--help"),
    "sqlite3": ("-version", "--version", "-help"),
}
# A database client's operands name the database, not a script.
_CLIENTS: Final = frozenset(("psql", "mysql", "mariadb"))
# Wrappers: which of their options take the next word, and how many operands come before the
# command.
_WRAPPERS: Final = {
    "env": ("-u --unset -C --chdir", 0),
    "exec": ("-a", 0),
    "nohup": ("", 0),
    "nice": ("-n --adjustment", 0),
    "setsid": ("", 0),
    "timeout": ("-s --signal -k --kill-after", 1),
    "stdbuf": ("-i -o -e", 0),
    "time": ("-f --format -o --output", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "noglob": ("", 0),
    "nocorrect": ("", 0),
    "then": ("", 0),
    "do": ("", 0),
    "else": ("", 0),
    "if": ("", 0),
    "while": ("", 0),
    "!": ("", 0),
}
_SU_VALUES: Final = "-s --shell -g --group -G --supp-group -w --whitelist-environment"
_SUDO_VALUES: Final = "-u --user -g --group -h --host -p --prompt -C -D --chdir -r -t -T -U -R"
_SSH_VALUES: Final = "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w"
_EXEC_VALUES: Final = "-e --env --env-file -u --user -w --workdir --detach-keys -c -n --namespace"
_CONTAINERS: Final = frozenset(("docker", "podman", "kubectl"))


def split_words(line: str) -> list[str] | None:
    """The words as a POSIX shell reads them, signs such as `&&` being words; None at an open quote.

    As the standard library's shlex, which takes half a minute for a word of 300 KB.
    """
    words: list[str] = []
    word: list[str] | None = None
    for found in _PART.finditer(line):
        part = found[0]
        if part[0] in _BLANKS or part[0] in _SIGNS:
            if word is not None:
                words.append("".join(word))
                word = None
            if part[0] in _SIGNS:
                words.append(part)
            continue
        if part in ("'", '"', "\\"):
            return None
        word = [] if word is None else word
        if part[0] == '"':
            word.append(_ESCAPED.sub(r"\1", part[1:-1]))
        else:
            word.append(part[1:-1] if part[0] == "'" else part.removeprefix("\\"))
    return words if word is None else [*words, "".join(word)]


def starts_shell(line: str, depth: int = _DEPTH) -> bool:
    """Whether some command of the line starts a shell or REPL on the terminal."""
    words = split_words(line.replace("\n", " ; "))
    if words is None:  # an open quote: zsh does not run it either
        return False
    command: list[str] = []
    from_pipe = False
    for word in [*words, ";"]:
        if word in _SEPARATORS:
            if not from_pipe and _command_starts(command, depth):
                return True
            from_pipe = word in _PIPES
            command = []
        else:
            command.append(word)
    return False


def _command_starts(words: Sequence[str], depth: int) -> bool:
    if depth <= 0:
        return False
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if set(word) <= {"<", ">"} or word in ("<&", ">&", "&>"):
            if word.startswith("<"):
                return False  # input is not the terminal
            next(rest, None)
            continue
        kept.append(word)
    while kept and _ASSIGNMENT.fullmatch(kept[0]):
        del kept[0]
    if not kept:
        return False
    return _program_starts(kept[0].rpartition("/")[2], kept[1:], depth)


def _program_starts(name: str, words: list[str], depth: int) -> bool:
    if name in _WRAPPERS:
        values, operands = _WRAPPERS[name]
        _, rest = _split(words, values)
        while rest and _ASSIGNMENT.fullmatch(rest[0]):
            del rest[0]
        return _command_starts(rest[operands:], depth - 1)
    if name == "eval":
        return starts_shell(" ".join(words), depth - 1)
    if name in _SHELLS:
        return _shell_starts(words, depth)
    if repl := _REPLS.fullmatch(name):
        return _repl_starts(re.sub(r"[\d.]+$", "", repl[0]) if name != "sqlite3" else name, words)
    reader = _PROGRAMS.get(name) or (_container if name in _CONTAINERS else None)
    return reader is not None and reader(words, depth)


def _split(words: Sequence[str], values: str) -> tuple[list[str], list[str]]:
    """Options (with their values), and what follows them."""
    takes = set(values.split())
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return list(words[:at]), list(words[at + 1 :])
        at += 2 if words[at] in takes else 1
    return list(words[:at]), list(words[at:])


def _shell_starts(words: list[str], depth: int) -> bool:
    options, operands = _split(words, "-o +o --rcfile --init-file")
    if any(re.fullmatch(r"-[A-Za-z]*i[A-Za-z]*", option) for option in options):
        return True
    if any(re.fullmatch(r"-[A-Za-z]*c", option) for option in options):
        return bool(operands) and starts_shell(operands[0], depth - 1)
    return not operands and not {"--version", "--help"} & set(options)


def _repl_starts(name: str, words: list[str]) -> bool:
    if any(word in _RUNS[name] for word in words):
        return False
    options, operands = _split(words, "-W -X -h -U -u -p -P -d -D -r --require -l")
    if name in ("python", "node", "lua") and "-i" in options:
        return True
    limit = 1 if name == "sqlite3" else len(operands) if name in _CLIENTS else 0
    return len(operands) <= limit


def _su(words: list[str], depth: int) -> bool:
    for index, word in enumerate(words):
        if word in ("-c", "--command"):
            return starts_shell(" ".join(words[index + 1 : index + 2]), depth - 1)
        if word.startswith("--command="):
            return starts_shell(word.partition("=")[2], depth - 1)
    return True


def _sudo(words: list[str], depth: int) -> bool:
    options, rest = _split(words, _SUDO_VALUES)
    while rest and _ASSIGNMENT.fullmatch(rest[0]):
        del rest[0]
    if rest:
        return _command_starts(rest, depth - 1)
    return bool({"-i", "--login", "-s", "--shell"} & set(options))


def _ssh(words: list[str], depth: int) -> bool:
    options, rest = _split(words, _SSH_VALUES)
    if {"-N", "-V", "-Q", "-W", "-G", "-O"} & set(options) or not rest:
        return False
    after, command = _split(rest[1:], _SSH_VALUES)
    if not command:
        return True
    has_terminal = any(re.fullmatch(r"-t+", option) for option in [*options, *after])
    return has_terminal and starts_shell(" ".join(command), depth - 1)


def _script(words: list[str], depth: int) -> bool:
    for index, word in enumerate(words):
        if word.startswith("--command="):
            return starts_shell(word.partition("=")[2], depth - 1)
        if re.fullmatch(r"-[a-z]*c|--command", word):
            return starts_shell(" ".join(words[index + 1 : index + 2]), depth - 1)
    return True


def _container(words: list[str], depth: int) -> bool:
    if "exec" not in words:
        return False
    options, rest = _split(words[words.index("exec") + 1 :], _EXEC_VALUES)
    text = "".join(option for option in options if not option.startswith("--"))
    flags = set(options)
    has_terminal = ("i" in text or {"--interactive", "--stdin"} & flags) and (
        "t" in text or "--tty" in flags
    )
    command = [word for word in rest[1:] if word != "--"]
    return bool(has_terminal) and (not command or _command_starts(command, depth - 1))


_PROGRAMS: Final[dict[str, Callable[[list[str], int], bool]]] = {
    "su": _su,
    "sudo": _sudo,
    "doas": _sudo,
    "ssh": _ssh,
    "script": _script,
}
