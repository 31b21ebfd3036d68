"""Rules: what a rule is, and which rules cannot be taken.

Pure; frozen values. A rule has an action, a resource and an effect; the built-in tables and the
user's `permissions.rules` are both lists of them, and the last one that matches wins. Their TOML
shape is read in `efr.config`, matching is in `efr.policy.matching`.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct

from efr.policy.checks import CHECKS

Action = Literal["any", "read", "write", "execute", "network", "exit"]
PathClass = Literal["secrets", "scratch", "user_config", "user_data", "system"]
RuleEffect = Literal["allow", "contain", "ask", "deny"]  # contain: built-in rules of auto alone
ExitKind = Literal[
    "host", "host_view", "bus", "socket", "write", "destructive", "upload", "outside"
]  # those that a rule may answer


class ClassIs(Struct, frozen=True):
    """Paths of one class."""

    name: PathClass


class Under(Struct, frozen=True):
    """A path and everything below it: absolute, or `~/…`."""

    path: str


class CommandIs(Struct, frozen=True):
    """One simple command.

    `args` are the words right after the program; in each, `a|b` are alternatives and an alternative
    that ends in `*` is a prefix. `under` is "project", "scratch" or a directory where the line
    starts.
    """

    program: str
    args: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    min_operands: int = 0
    max_operands: int | None = None
    max_options: int | None = None
    under: str | None = None
    check: str | None = None


class ExitIs(Struct, frozen=True):
    """One way out of the sandbox. Which members a kind takes is `EXIT_MEMBERS`."""

    kind: ExitKind
    host: str | None = None
    port: int | None = None
    under: str | None = None
    program: str | None = None
    args: tuple[str, ...] = ()
    bus: str | None = None
    name: str | None = None
    members: tuple[str, ...] = ()
    path: str | None = None
    remote: str | None = None
    url: str | None = None


# envelope: strictly below a write root of the sandbox; for built-in rules of auto alone.
Resource = Literal["any", "project", "envelope"] | ClassIs | Under | CommandIs | ExitIs


class Rule(Struct, frozen=True):
    """Who does what to which, and what comes of it."""

    action: Action
    resource: Resource
    effect: RuleEffect


class RuleProblem(Struct, frozen=True):
    """Why a rule of the user is refused; `member` is dotted, as in `resource.command.args[0]`."""

    member: str
    message: str


# Members of an exit rule by kind: (needed, optional).
EXIT_MEMBERS: Final[dict[ExitKind, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "host": (("host", "under"), ("port",)),
    "host_view": (("program",), ()),
    "bus": (("bus", "name", "members"), ()),
    "socket": (("path",), ()),
    "write": (("path",), ()),
    "destructive": (("program", "args", "under"), ()),
    "upload": (("remote", "url", "under"), ()),
    "outside": (("program", "args", "under"), ()),
}
DEFAULT_PORT: Final = 443  # of a host that names none

_PLAIN: Final = re.compile(r"[A-Za-z0-9\-_./:,+@%=]+")
_PLAIN_WORDS: Final = "letters, digits and - _ . / : , + @ % ="
_ONLY_FOR: Final = {
    "sed_print_only": "sed",
    "printf_plain": "printf",
    "date_prints": "date",
    "names_unit": "systemctl",
    "tail_ends": "tail",
    "filter_names_no_host": "ss",
    "verifies_nothing": "git",
}


def rule_problem(rule: Rule) -> RuleProblem | None:
    """The first thing in a user's rule that efr does not take, or None."""
    resource = rule.resource
    if rule.effect == "contain":
        return RuleProblem("effect", "contain belongs to auto; use allow, ask or deny")
    if resource == "envelope":
        return RuleProblem("resource", "envelope belongs to auto; name paths with under")
    if (problem := _never_matches(rule.action, resource)) is not None:
        return RuleProblem("action", problem)
    if isinstance(resource, Under):
        return _directory(resource.path, "resource.under")
    if isinstance(resource, CommandIs):
        return _command(resource)
    if isinstance(resource, ExitIs):
        return _exit(resource)
    return None


def _never_matches(action: Action, resource: Resource) -> str | None:
    if isinstance(resource, ExitIs) != (action == "exit"):
        return "an exit rule has the action exit and a resource { exit = {…} }"
    if isinstance(resource, CommandIs) and action in ("read", "write"):
        return f"{action} never matches a command; use execute, network or any"
    is_path = resource == "project" or isinstance(resource, ClassIs | Under)
    if is_path and action in ("execute", "network"):
        return f"{action} never matches a path; use read, write or any"
    return None


def _directory(path: str, member: str) -> RuleProblem | None:
    if path.startswith(("/", "~/")) or path == "~":
        return None
    return RuleProblem(member, "a path here is absolute or starts with ~/")


def _command(command: CommandIs) -> RuleProblem | None:
    at = "resource.command"
    if not _PLAIN.fullmatch(command.program) or command.program[0] in "-=":
        what = f"one word of {_PLAIN_WORDS} that does not start with - or ="
        return RuleProblem(f"{at}.program", what)
    for place, word in enumerate(command.args):
        if not all(map(_is_plain_argument, word.split("|"))):
            return RuleProblem(f"{at}.args[{place}]", f"{_PLAIN_WORDS}; * only at the end")
    for place, word in enumerate(command.forbid):
        if not _is_plain_forbidden(word):
            what = f"{_PLAIN_WORDS}; * only at the end of an option"
            return RuleProblem(f"{at}.forbid[{place}]", what)
    if command.under is not None and command.under not in ("project", "scratch"):
        return _directory(command.under, f"{at}.under")
    return _bounds(command, at)


def _bounds(command: CommandIs, at: str) -> RuleProblem | None:
    for name in ("min_operands", "max_operands", "max_options"):
        value = getattr(command, name)
        if value is not None and value < 0:
            return RuleProblem(f"{at}.{name}", "a number from 0 on")
    if command.check is None:
        return None
    if command.check not in CHECKS:
        return RuleProblem(f"{at}.check", f"one of {', '.join(sorted(CHECKS))}")
    if _ONLY_FOR.get(command.check, command.program) != command.program:
        what = f"{command.check} is for {_ONLY_FOR[command.check]} alone"
        return RuleProblem(f"{at}.check", what)
    return None


def _is_plain_argument(word: str) -> bool:
    return word not in ("-", "--") and _PLAIN.fullmatch(word.removesuffix("*")) is not None


def _is_plain_forbidden(word: str) -> bool:
    if word.endswith("*") and not word.startswith("-"):
        return False
    return word.removesuffix("*") not in ("-", "--") and _is_plain_argument(word)


def _exit(resource: ExitIs) -> RuleProblem | None:
    needed, optional = EXIT_MEMBERS[resource.kind]
    for name in (member for member in ExitIs.__struct_fields__ if member != "kind"):
        value = getattr(resource, name)
        is_given = value is not None and value != ()
        if name in needed and not is_given:
            return RuleProblem(
                f"resource.exit.{name}", f"an exit rule for {resource.kind} needs it"
            )
        if is_given and name not in (*needed, *optional):
            return RuleProblem(f"resource.exit.{name}", f"{resource.kind} does not take it")
    for name in ("under", "path"):
        value = getattr(resource, name)
        if value is not None and (problem := _directory(value, f"resource.exit.{name}")):
            return problem
    if resource.port is not None and not 0 < resource.port <= 65535:
        return RuleProblem("resource.exit.port", "a port from 1 to 65535")
    return None
