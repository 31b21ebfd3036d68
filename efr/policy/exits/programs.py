"""Which programs leave the sandbox, and with which of their words.

Pure tables. One function per program whose words decide; all others stand in a table of names.
Services and git are in `services`. Facts: the manual pages of the programs named here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from efr.policy.exits import services
from efr.policy.exits.kinds import Kind
from efr.policy.exits.services import Texts, git_words, names, operands, verb
from efr.policy.privilege import PRIVILEGED

__all__ = ["git_words", "kind_of"]


def kind_of(program: str, words: Texts) -> Kind | None:
    """The exit of a program with these words behind it, or None: the sandbox takes it."""
    judge = _JUDGES.get(program)
    return _PLAIN.get(program) if judge is None else judge(words)


_PLAIN: Final[dict[str, Kind]] = {
    **dict.fromkeys(PRIVILEGED, "privilege"),
    **dict.fromkeys(
        names("yay paru pikaur aura docker podman machinectl nsenter passwd chsh chfn newgrp"),
        "privilege",
    ),
    **dict.fromkeys(names("resolvectl notify-send"), "bus"),
    **dict.fromkeys(names("crontab at batch"), "persistence"),
    **dict.fromkeys(names("scp sftp"), "upload"),
    **dict.fromkeys(names("ssh mosh autossh"), "host"),
    **dict.fromkeys(
        names(
            "nslookup dig host drill ping ping6 traceroute tracepath mtr nc ncat netcat socat"
            " telnet ftp checkupdates npx bunx pnpx uvx pipx aria2c yt-dlp"
        ),
        "host",
    ),
    **dict.fromkeys(names("ss ip nmcli iw netstat ifconfig iwctl"), "host_view"),
    **dict.fromkeys(
        names(
            "xrandr swaymsg hyprctl wlr-randr xdotool ydotool wtype wmctrl xprop xdpyinfo xclip"
            " xsel wl-copy wl-paste"
        ),
        "desktop_ipc",
    ),
    **dict.fromkeys(names("shred truncate"), "destructive"),
}


# -- packages

_NPM_FETCHES: Final = names(
    "install i in ci clean-install add update up upgrade outdated view info show audit exec x dlx"
    " dedupe install-test it login search create fetch import"
)
_PIP_FETCHES: Final = names("install download wheel index search")


def _npm(words: Texts) -> Kind | None:
    given = operands(words)
    if given[:1] == ["publish"] or given[:2] == ["npm", "publish"]:
        return "upload"
    return "host" if given[:1] and given[0] in _NPM_FETCHES else None


def _yarn(words: Texts) -> Kind | None:
    return "host" if not operands(words) else _npm(words)


def _cargo(words: Texts) -> Kind | None:
    first = verb([word for word in words if not word.startswith("+")])
    if first in names("publish yank owner"):
        return "upload"
    fetches = names("fetch update install search add login generate-lockfile")
    return "host" if first in fetches else None


def _go(words: Texts) -> Kind | None:
    given = operands(words)
    if given[:1] and given[0] in ("get", "install"):
        return "host"
    if given[:1] == ["mod"] and given[1:2] and given[1] in names("download tidy vendor"):
        return "host"
    runs_remote = given[:1] == ["run"] and any("@" in word for word in given[1:])
    return "host" if runs_remote else None


def _uv(words: Texts) -> Kind | None:
    given = operands(words)
    if given[:1] and given[0] in names("sync add lock remove"):
        return "host"
    inner = given[:1] and given[0] in names("pip tool python")
    fetches = names("install run upgrade sync")
    return "host" if inner and given[1:2] and given[1] in fetches else None


def _pip(words: Texts) -> Kind | None:
    return "host" if verb(words) in _PIP_FETCHES else None


def _python(words: Texts) -> Kind | None:
    """`python -m pip …`."""
    at = words.index("-m") if "-m" in words else len(words)
    return _pip(words[at + 2 :]) if words[at + 1 : at + 2] == ["pip"] else None


def _gem(words: Texts) -> Kind | None:
    first = verb(words)
    if first == "push":
        return "upload"
    return "host" if first in names("install update fetch") else None


def _twine(words: Texts) -> Kind:
    return "upload" if verb(words) in names("upload register") else "host"


# -- transfers

_GH_WRITES: Final[dict[str, frozenset[str]]] = {
    "release": names("create upload edit delete"),
    "pr": names("create merge comment edit review close"),
    "issue": names("create comment edit close"),
    "gist": names("create edit"),
    "repo": names("create fork edit delete sync"),
}
_GH_FIELDS: Final = re.compile(r"-[fFX]|--(?:field|raw-field|input|method)\b")
_CURL_VALUED: Final = frozenset("AbcCEeHKmorUuwxYyzPQt")
_CURL_BODIES: Final = names("--form --form-string --upload-file --json")
_SENDS: Final = ("POST", "PUT", "PATCH")
_REMOTE: Final = re.compile(r"[^/]*:")


def _gh(words: Texts) -> Kind:
    given = operands(words)
    if given[:1] == ["api"]:
        return "upload" if any(map(_GH_FIELDS.match, words)) else "host"
    writes = _GH_WRITES.get(verb(words), frozenset())
    return "upload" if given[1:2] and given[1] in writes else "host"


def _curl(words: Texts) -> Kind:
    for at, word in enumerate(words):
        if word.startswith("--"):
            name, _, value = word.partition("=")
            method = value or next(iter(words[at + 1 : at + 2]), "")
            sends = name.startswith("--data") or name in _CURL_BODIES
            if sends or (name == "--request" and method.upper() in _SENDS):
                return "upload"
        elif word.startswith("-") and _curl_cluster(word, words[at + 1 : at + 2]):
            return "upload"
    return "host"


def _curl_cluster(word: str, behind: Texts) -> bool:
    """Whether a cluster of short options sends something."""
    for at, letter in enumerate(word[1:], start=1):
        if letter in "dFT":
            return True
        if letter == "X":
            method = word[at + 1 :] or next(iter(behind), "")
            return method.upper() in _SENDS
        if letter in _CURL_VALUED:
            return False
    return False


def _wget(words: Texts) -> Kind:
    for at, word in enumerate(words):
        name, _, value = word.partition("=")
        method = value or next(iter(words[at + 1 : at + 2]), "")
        if name.startswith(("--post-", "--body-")):
            return "upload"
        if name == "--method" and method.upper() in _SENDS:
            return "upload"
    return "host"


def _rsync(words: Texts) -> Kind | None:
    remote = any(_REMOTE.match(word) or "rsync://" in word for word in operands(words))
    return "upload" if remote else None


def _dd(words: Texts) -> Kind | None:
    return "destructive" if any(word.startswith("of=") for word in words) else None


def _find(words: Texts) -> Kind | None:
    return "destructive" if "-delete" in words else None


_JUDGES: Final[dict[str, Callable[[Texts], Kind | None]]] = {
    "systemctl": services.systemctl,
    "loginctl": services.loginctl,
    **dict.fromkeys(("hostnamectl", "timedatectl", "localectl"), services.host_settings),
    "coredumpctl": services.coredumpctl,
    "busctl": services.busctl,
    "gdbus": services.gdbus,
    "systemd-run": services.systemd_run,
    "niri": services.niri,
    "git": services.git,
    **dict.fromkeys(("npm", "pnpm", "bun"), _npm),
    "yarn": _yarn,
    "cargo": _cargo,
    "go": _go,
    "uv": _uv,
    **dict.fromkeys(("pip", "pip3"), _pip),
    **dict.fromkeys(("python", "python3"), _python),
    "gem": _gem,
    "twine": _twine,
    "gh": _gh,
    "curl": _curl,
    "wget": _wget,
    "rsync": _rsync,
    "dd": _dd,
    "find": _find,
}
