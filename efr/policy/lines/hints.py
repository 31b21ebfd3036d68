"""Hints about a line: may it wait for keys, does it reach the network.

Pure heuristics over the lenient split; they only add a question, the line itself is judged in the
policy. Facts: the manual pages of the programs named here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from efr.policy.lines.inner import base_name
from efr.policy.lines.programs import git_verb_at, may_be_program
from efr.policy.lines.split import Split

_LOOKED_THROUGH: Final = frozenset(
    ("sudo", "doas", "env", "command", "builtin", "exec", "nohup", "time", "nice")
)
INTERACTIVE: Final = frozenset((
    "sudo", "su", "doas", "pkexec", "passwd", "chsh", "ssh", "sftp", "ftp", "telnet", "vi", "vim",
    "nvim", "nano", "emacs", "less", "more", "man", "top", "htop", "btop",
))  # fmt: skip
NETWORK: Final = frozenset((
    "curl", "wget", "ssh", "scp", "sftp", "ftp", "telnet", "nc", "ncat", "ping", "dig", "nslookup",
    "host", "yay", "paru", "apt", "apt-get", "dnf", "zypper", "brew", "pip", "pip3", "pipx", "npx",
    "docker", "podman", "flatpak", "snap",
))  # fmt: skip
_GIT_VERBS: Final = frozenset(("clone", "fetch", "pull", "push", "ls-remote", "submodule"))
_LOCAL_SCRIPTS: Final = frozenset(("run", "run-script", "test", "t", "build", "lint", "start"))
_PARTS: Final = re.compile(r"[^;|&\n()`]+")
_RESOLVED: Final = frozenset("fidAa")  # options of hostname
_QUOTES: Final = str.maketrans("", "", "\"'")
_MOST_WORDS: Final = 256  # of one program that are looked at
_MOST_PARTS: Final = 1000  # of an opaque line; it asks whatever they are
_PART_SIZE: Final = 400  # characters of one that are looked at

Words = Sequence[str]


def is_interactive(line: str, split: Split) -> bool:
    """Whether a program of the line may wait for keys."""
    return any(words[0] in INTERACTIVE for words in _programs(line, split))


def reaches_network(line: str, split: Split) -> bool:
    """Whether a program of the line usually reaches the network."""
    return any(_is_network(words) for words in _programs(line, split))


def _is_network(words: Words) -> bool:
    if words[0] in NETWORK:
        return True
    asks = _SOMETIMES.get(words[0])
    return asks is not None and asks(words[1:])


def _programs(line: str, split: Split) -> Iterator[Words]:
    """The program and its words, also behind each wrapper; base names for programs."""
    for command in split.commands:
        yield from _chain([word.text for word in command.after_assignments()])
    if split.opaque:
        for part in islice(_PARTS.finditer(line), _MOST_PARTS):
            yield from _chain(part[0][:_PART_SIZE].translate(_QUOTES).split())


def _chain(words: Words) -> Iterator[Words]:
    """A program, then the one behind each wrapper."""
    at = 0
    while at < len(words):
        found = [base_name(words[at]), *words[at + 1 : at + _MOST_WORDS]]
        yield found
        if found[0] not in _LOOKED_THROUGH or _only_looks_up(found):
            return
        at += 1
        while at < len(words) and not may_be_program(words[at]):
            at += 1


def _only_looks_up(words: Words) -> bool:
    return words[0] == "command" and any(word in ("-v", "-V") for word in words[1:2])


def _rsync(words: Words) -> bool:
    """With a remote operand: `host:path`, `host::module` or a URL."""
    operands = [word for word in words if not word.startswith("-")]
    return any(":" in word.partition("/")[0] for word in operands)


def _git(words: Words) -> bool:
    return not _GIT_VERBS.isdisjoint(words[git_verb_at(words) :][:1])


def _packages(words: Words) -> bool:
    """npm and its kin: unless the verb runs a local script."""
    verb = next((word for word in words if not word.startswith("-")), "")
    return verb not in _LOCAL_SCRIPTS


def _pacman(words: Words) -> bool:
    """By its first option; queries and removals are local."""
    option = next((word for word in words if word.startswith("-")), "")
    if option in ("--query", "--remove", "--deptest", "--database"):
        return False
    if option.startswith("--") or len(option) < 2:
        return True
    kind, letters = option[1], option[2:]
    if kind == "S":
        return any(one in letters for one in "yuw") or not any(one in letters for one in "silgp")
    return "y" in letters if kind == "F" else kind not in "QRTD"


def _hostname(words: Words) -> bool:
    """The forms that ask a name server."""
    names = ("--fqdn", "--long", "--ip-addresses", "--domain", "--all-fqdns", "--aliases")
    return any(
        any(name.startswith(word) for name in names)
        if word.startswith("--")
        else word.startswith("-") and not _RESOLVED.isdisjoint(word)
        for word in words
    )


_SOMETIMES: Final[dict[str, Callable[[Words], bool]]] = {
    "rsync": _rsync,
    "git": _git,
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _packages),
    "pacman": _pacman,
    "hostname": _hostname,
}
