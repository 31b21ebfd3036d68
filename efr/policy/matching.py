"""Whether a rule matches: a path, a simple command, or its access to the network.

Pure. `Policy` is the list of a mode's built-in rules and the user's behind them, sorted so that a
decision looks only at rules that can match. The last match wins; that is decided by the callers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

from efr.policy.checks import CHECKS, TAKES_PATTERNS
from efr.policy.needs import EFFECTS, Access, Effect
from efr.policy.paths import PathView, holds
from efr.policy.reader import SimpleCommand
from efr.policy.rows import BUILT_IN, Mode
from efr.policy.rules import ClassIs, CommandIs, PathClass, Resource, Rule, Under
from efr.policy.words import Word

_PATTERN: Final = re.compile(r"[*?\[~^#]")

Layer = Literal["built_in", "user", "conversation"]


class Numbered(Struct, frozen=True):
    """A rule with its place: `number` counts through the list, `index` in its layer."""

    rule: Rule
    layer: Layer
    number: int
    index: int

    @property
    def effect(self) -> Effect:
        return EFFECTS[self.rule.effect]


class Policy(Struct, frozen=True):
    """Rules in order, those that can match a path, a command and the network apart."""

    paths: tuple[Numbered, ...]
    commands: tuple[Numbered, ...]  # whose resource is "any"
    programs: dict[str, tuple[Numbered, ...]]
    network: tuple[Numbered, ...]
    tightens: bool  # whether somebody's rule asks or denies a named command

    def of_program(self, program: str) -> Iterator[Numbered]:
        """Rules that may match a command, the last first."""
        return _merged(self.commands, self.programs.get(program, ()))


def _merged(left: Sequence[Numbered], right: Sequence[Numbered]) -> Iterator[Numbered]:
    """Both in falling order of their numbers."""
    at, other = len(left) - 1, len(right) - 1
    while at >= 0 or other >= 0:
        if other < 0 or (at >= 0 and left[at].number > right[other].number):
            yield left[at]
            at -= 1
        else:
            yield right[other]
            other -= 1


@lru_cache(maxsize=32)  # by mode and the rules of now
def machine_policy(mode: Mode, user: tuple[Rule, ...] = ()) -> Policy:
    """The built-in rules of a mode, then the user's."""
    built_in = BUILT_IN[mode]
    numbered = [Numbered(rule, "built_in", at, at) for at, rule in enumerate(built_in)]
    numbered += [
        Numbered(rule, "user", at, at - len(built_in))
        for at, rule in enumerate(user, start=len(built_in))
    ]
    return _policy(numbered)


@lru_cache(maxsize=32)
def conversation_policy(rules: tuple[Rule, ...]) -> Policy:
    """The rules of one conversation."""
    return _policy([Numbered(rule, "conversation", at, at) for at, rule in enumerate(rules)])


def _policy(numbered: Sequence[Numbered]) -> Policy:
    programs: dict[str, list[Numbered]] = {}
    for one in numbered:
        resource = one.rule.resource
        if one.rule.action in ("any", "execute") and isinstance(resource, CommandIs):
            programs.setdefault(resource.program, []).append(one)
    return Policy(
        paths=tuple(one for one in numbered if one.rule.action in ("any", "read", "write")),
        commands=tuple(
            one
            for one in numbered
            if one.rule.action in ("any", "execute") and one.rule.resource == "any"
        ),
        programs={program: tuple(rules) for program, rules in programs.items()},
        network=tuple(
            one
            for one in numbered
            if (one.rule.resource == "any" and one.rule.action in ("any", "network"))
            or (isinstance(one.rule.resource, CommandIs) and one.rule.action == "network")
        ),
        tightens=any(
            one.layer != "built_in" and one.effect >= Effect.ASK
            for rules in programs.values()
            for one in rules
        ),
    )


# -- paths


class PathTarget(Struct, frozen=True):
    """A path in normal form with its class; `in_envelope` for a shell call of auto."""

    path: str
    access: Access
    kind: PathClass
    in_envelope: bool = False


def matches_path(rule: Rule, target: PathTarget, view: PathView) -> bool:
    """Whether a rule is about this path and this access."""
    if rule.action != "any" and (rule.action == "write") != (target.access == "write"):
        return False
    resource = rule.resource
    if isinstance(resource, ClassIs):
        return resource.name == target.kind
    if isinstance(resource, Under):
        return holds(view.expanded(resource.path), target.path)
    if resource == "project":
        return _in_project(target, view)
    return resource == "any" or (resource == "envelope" and target.in_envelope)


def _in_project(target: PathTarget, view: PathView) -> bool:
    if target.access == "write":
        return view.in_project(target.path)
    return view.project_root is not None and holds(view.project_root, target.path)


def names_secrets(resource: Resource, view: PathView) -> bool:
    """Whether only secrets are meant: such a rule may open one."""
    if isinstance(resource, Under):
        return view.class_of(view.expanded(resource.path)) == "secrets"
    return resource == ClassIs("secrets")


# -- commands


class Start(Struct, frozen=True):
    """Where a command starts: every form of the directory, or none when nobody knows."""

    forms: tuple[str, ...]
    view: PathView

    def is_under(self, place: str) -> bool:
        """Whether each form lies there."""
        root = self._root(place)
        return root is not None and bool(self.forms) and all(holds(root, one) for one in self.forms)

    def _root(self, place: str) -> str | None:
        if place == "project":
            return self.view.project_root
        return self.view.scratch if place == "scratch" else self.view.expanded(place)


def matches_rule(rule: Rule, command: SimpleCommand, start: Start) -> bool:
    """Whether a rule's resource is this command; the program's name is known to be the same.

    What asks or denies also holds where the command only may be meant.
    """
    if not isinstance(rule.resource, CommandIs):
        return False
    tightens = EFFECTS[rule.effect] >= Effect.ASK
    return (_may_be if tightens else matches_command)(rule.resource, command, start)


def _may_be(resource: CommandIs, command: SimpleCommand, start: Start) -> bool:
    """Whether the command may be what the resource means: with options before its verb, with names
    in the place of a pattern, behind a command that moves."""
    words = command.words[1:]
    if resource.under is not None and start.forms and not start.is_under(resource.under):
        return False
    ends = [at + len(resource.args) for at in _verbs(resource.args, words)]
    texts = [word.text for word in words]
    if not ends or (resource.forbid and _holds_forbidden(texts, resource.forbid)):
        return False
    if any(word.pattern for word in words):
        return True
    fits = any(_in_bounds(resource, texts[end:]) for end in ends)
    return fits and (resource.check is None or CHECKS[resource.check](texts))


def _verbs(args: Sequence[str], words: Sequence[Word]) -> Iterator[int]:
    """Where the arguments of a rule may stand; behind an option nobody knows what its value is."""
    is_option = bool(args) and any(one.startswith("-") for one in args[0].split("|"))
    last = len(words) - len(args)
    for at in range(last + 1):
        if at and not (is_option or words[0].text.startswith(("-", "+"))):
            return
        if all(map(_may_be_one_of, words[at : at + len(args)], args)):
            yield at


def _may_be_one_of(word: Word, alternatives: str) -> bool:
    if not word.pattern:
        return _is_one_of(word.text, alternatives)
    start = _PATTERN.split(word.text, maxsplit=1)[0]
    plain = (one.removesuffix("*") for one in alternatives.split("|"))
    return any(one.startswith(start) or start.startswith(one) for one in plain)


def matches_command(resource: CommandIs, command: SimpleCommand, start: Start) -> bool:
    """Whether the resource surely is this command; the program's name is known to be the same."""
    if any(word.pattern for word in command.words) and not takes_patterns(resource):
        return False
    words = [word.text for word in command.words[1:]]
    args = resource.args
    if len(words) < len(args) or not all(map(_is_one_of, words, args)):
        return False
    if resource.forbid and _holds_forbidden(words, resource.forbid):
        return False
    if not _in_bounds(resource, words[len(args) :]):
        return False
    if resource.check is not None and not CHECKS[resource.check](words):
        return False
    return resource.under is None or start.is_under(resource.under)


def takes_patterns(resource: CommandIs) -> bool:
    """Whether zsh may put several names, or none, where a pattern stands."""
    bounds = (resource.max_operands, resource.max_options)
    if resource.min_operands or bounds != (None, None):
        return False
    if resource.check is not None and resource.check not in TAKES_PATTERNS:
        return False
    loose = any(not word.startswith("-") for word in resource.forbid)
    return not loose and not any(
        word.endswith("*") and not word.startswith("-")
        for words in resource.args
        for word in words.split("|")
    )


def _in_bounds(resource: CommandIs, words: Sequence[str]) -> bool:
    bounds = (resource.max_operands, resource.max_options)
    if not resource.min_operands and bounds == (None, None):
        return True
    options, operands = _count(words)
    return (
        operands >= resource.min_operands
        and (resource.max_operands is None or operands <= resource.max_operands)
        and (resource.max_options is None or options <= resource.max_options)
    )


def _holds_forbidden(words: Sequence[str], entries: Sequence[str]) -> bool:
    """Whether one stands on the line; a word behind `--` is no option whatever it starts with."""
    if any(is_forbidden(word, entry) for word in words for entry in entries):
        return True
    behind = words[words.index("--") + 1 :] if "--" in words else ()
    loose = [entry for entry in entries if not entry.startswith("-")]
    return any(entry in word for word in behind for entry in loose)


def is_forbidden(word: str, entry: str) -> bool:
    """Whether a word is what an entry of `forbid` names, also abbreviated or in a cluster."""
    if not entry.startswith("-"):
        return not word.startswith("-") and entry in word
    if not word.startswith("-"):
        return False
    if entry.startswith("--"):
        name = word.partition("=")[0]
        given, wanted = name[2:], entry[2:].removesuffix("*")
        if not name.startswith("--") or not given:
            return False
        return wanted.startswith(given) or (entry.endswith("*") and given.startswith(wanted))
    if entry.endswith("*"):
        return word.startswith(entry[:-1])
    if len(entry) == 2:
        return not word.startswith("--") and entry[1] in word[1:]
    return word == entry


def _is_one_of(word: str, alternatives: str) -> bool:
    return any(
        word.startswith(one[:-1]) if one.endswith("*") else word == one
        for one in alternatives.split("|")
    )


def _count(words: Sequence[str]) -> tuple[int, int]:
    """(options up to and with `--`, operands)."""
    options = operands = 0
    for index, word in enumerate(words):
        if word == "--":
            return options + 1, operands + len(words) - index - 1
        if word.startswith("-") and word != "-":
            options += 1
        else:
            operands += 1
    return options, operands
