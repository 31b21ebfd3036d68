"""Exits of programs that speak to services, and of git.

Pure. Each function takes the words behind the program. A verb is the first word that is no option.
Facts: the manual pages of systemd's programs, of gdbus and of git.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from efr.policy.exits.kinds import Kind

Texts = Sequence[str]


def names(text: str) -> frozenset[str]:
    """A set of words."""
    return frozenset(text.split())


def operands(words: Texts) -> list[str]:
    """Words that are no options."""
    return [word for word in words if not word.startswith("-")]


def verb(words: Texts) -> str:
    """The first operand, or ""."""
    return next(iter(operands(words)), "")


def _has_short(words: Texts, letter: str) -> bool:
    """A letter in a cluster of one dash."""
    return any(
        word.startswith("-") and not word.startswith("--") and letter in word for word in words
    )


def _has_long(words: Texts, *options: str) -> bool:
    return any(word.partition("=")[0] in options for word in words)


# -- services and the bus

_UNIT_READS: Final = names(
    "list-units list-unit-files list-sockets list-timers list-paths list-jobs list-dependencies"
    " list-automounts list-machines status show cat help is-active is-failed is-enabled"
    " is-system-running get-default show-environment"
)
_UNIT_LASTS: Final = names(
    "enable reenable link edit set-environment unset-environment import-environment preset"
    " preset-all mask add-wants add-requires set-property revert set-default"
)
_LOGIN_READS: Final = names(
    "list-sessions list-users list-seats session-status user-status seat-status show-session"
    " show-user show-seat"
)


def systemctl(words: Texts) -> Kind:
    first = verb(words)
    if not first or first in _UNIT_READS:
        return "bus"
    if "--user" in words:
        return "persistence" if first in _UNIT_LASTS else "bus"
    return "privilege"


def loginctl(words: Texts) -> Kind:
    first = verb(words)
    if first == "enable-linger":
        return "persistence"
    return "bus" if not first or first in _LOGIN_READS else "privilege"


def host_settings(words: Texts) -> Kind:
    """hostnamectl, timedatectl, localectl."""
    given = operands(words)
    names_host = given[:1] == ["hostname"] and len(given) > 1
    return "privilege" if names_host or verb(words).startswith("set-") else "bus"


def coredumpctl(words: Texts) -> Kind | None:
    return "bus" if verb(words) in names("info debug gdb dump") else None


def busctl(words: Texts) -> Kind:
    return "privilege" if verb(words) in names("call set-property emit") else "bus"


def gdbus(words: Texts) -> Kind:
    return "privilege" if verb(words) in names("call emit") else "bus"


def systemd_run(words: Texts) -> Kind:
    return "persistence" if "--user" in words else "privilege"


def niri(words: Texts) -> Kind | None:
    return "desktop_ipc" if verb(words) == "msg" else None


# -- git

_GIT_VALUED: Final = names("-C -c --git-dir --work-tree --namespace")


def git_words(words: Texts) -> Texts:
    """From git's subcommand on, behind git's own options."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GIT_VALUED else 1
    return words[at:]


def git(words: Texts) -> Kind | None:
    words = git_words(words)
    command, rest = (words[0], words[1:]) if words else ("", ())
    if command in names("push send-email send-pack"):
        return "upload"
    if command in names("fetch pull clone ls-remote"):
        return "host"
    if verb(rest) in _GIT_FETCHES.get(command, ()):
        return "host"
    destroys = _GIT_DESTROYS.get(command)
    return "destructive" if destroys is not None and destroys(rest) else None


def _is_forced(words: Texts) -> bool:
    return _has_short(words, "f") or _has_long(words, "--force")


def _checkout(words: Texts) -> bool:
    names_path = "--" in words and words[-1] != "--"
    return names_path or "." in words or _is_forced(words)


def _restore(words: Texts) -> bool:
    staged = _has_long(words, "--staged") or _has_short(words, "S")
    return not staged or _has_long(words, "--worktree") or _has_short(words, "W")


def _branch(words: Texts) -> bool:
    deletes = _has_short(words, "d") or _has_long(words, "--delete")
    return _has_short(words, "D") or (deletes and _is_forced(words))


_GIT_FETCHES: Final = {
    "remote": names("update prune show"),
    "submodule": names("update sync"),
}
_GIT_DESTROYS: Final[dict[str, Callable[[Texts], bool]]] = {
    "reset": lambda words: "--hard" in words,
    "clean": _is_forced,
    "checkout": _checkout,
    "restore": _restore,
    "switch": lambda words: _has_long(words, "--discard-changes") or _is_forced(words),
    "stash": lambda words: verb(words) in ("drop", "clear"),
    "branch": _branch,
    "reflog": lambda words: verb(words) in ("expire", "delete"),
    "gc": lambda words: any(word.startswith("--prune") for word in words),
}
