"""What each need of a call comes to, and how that is said to a person.

Pure. A `Finding` is one pair of effect and cause with its words; the strictest ones decide. The
summary is the question itself, the reason is one plain line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from efr.policy.envelope import Envelope
from efr.policy.matching import Numbered, Policy
from efr.policy.needs import CallNeeds, Cause, Effect
from efr.policy.paths import PathView
from efr.policy.reader import SimpleCommand, Word
from efr.policy.rows import Mode
from efr.text.visible import visible_line

_SUBJECTS: Final = 8  # of a question; a person reads no more, the command line says the rest
_LONGEST_WORD: Final = 24  # of a part in a question; a longer one may be a token
_PART_WORDS: Final = 3
_NOTHING: Final = Cause("nothing")
PHONE: Final = "a turn from the phone asks outside $SCRATCH"
MANUAL: Final = "manual asks before every call"


class Finding(Struct, frozen=True):
    """What one need comes to. `subject` is its words in the question."""

    effect: Effect
    subject: str
    reason: str = ""
    cause: Cause = _NOTHING
    refused: str | None = None  # what is closed, with its class
    local_only: bool = False
    expires_in_s: int | None = None


class Turn(Struct, frozen=True):
    """Everything that a finding depends on besides the need itself."""

    mode: Mode
    remote: bool
    view: PathView
    machine: Policy
    conversation: Policy
    envelope: Envelope | None = None  # of a contained shell call
    files: Envelope | None = None  # of a file tool in auto


def asked(subject: str, reason: str, cause: Cause, turn: Turn) -> Finding:
    """A question. Manual mode has one reason for all; a phone's is for what else would run."""
    if turn.mode == "manual":
        reason = MANUAL
    elif not reason:
        reason, cause = PHONE, Cause("remote")
    return Finding(Effect.ASK, subject, reason, cause)


def rule_cause(rule: Numbered) -> Cause:
    """The record of a rule that decided."""
    return Cause("rule", rule.layer, rule.number, rule.index)


def rule_reason(rule: Numbered) -> str:
    """What a rule of the user or of the conversation does; "" for a built-in one."""
    verb = {Effect.ASK: "asks", Effect.DENY: "denies"}.get(rule.effect)
    if verb is None or rule.layer == "built_in":
        return ""
    if rule.layer == "user":
        return f"your rule permissions.rules[{rule.index}] {verb}"
    return f"a rule of this conversation {verb}"


def privilege_reason(name: str) -> str:
    return f"{name} runs commands as another user"


def part(command: SimpleCommand) -> str:
    """The program and at most three plain words: a token must not show a second time."""
    words = [_plain_word(word) for word in command.words[1 : 1 + _PART_WORDS]]
    program = _plain_word(command.words[0]) or "a program"
    return " ".join((program, *filter(None, words)))


def _plain_word(word: Word) -> str:
    name, equals, _ = word.text.partition("=")
    shown = name + equals
    return "" if word.quoted or len(shown) > _LONGEST_WORD else shown


def summary(needs: CallNeeds, deciding: Sequence[Finding]) -> str:
    """The tool, the command, then the subjects that decide; asking parts on a line of their own."""
    command = None if needs.command is None else command_subject(needs.command)
    told = _news(deciding, command)
    subjects = list(dict.fromkeys(finding.subject for finding in told))
    if command is not None and not any(subject.startswith(command) for subject in subjects):
        subjects.insert(0, command)
    heads = [subject.partition("\n")[0] for subject in subjects]
    parts = [tail for subject in subjects if (tail := subject.partition("\n")[2])]
    return "\n".join((f"{needs.tool}: {joined(heads)}" if heads else needs.tool, *parts))


def _news(deciding: Sequence[Finding], command: str | None) -> list[Finding]:
    """Without what manual alone asks about beside the line itself: the line says better what it
    reads than a list of all that may be a path."""
    if command is None or not any(one.subject.startswith(command) for one in deciding):
        return list(deciding)
    return [
        one
        for one in deciding
        if one.reason != MANUAL
        or one.cause.layer != "built_in"
        or not one.subject.startswith("read ")
    ]


def command_subject(line: str) -> str:
    """A command on one row: line breaks as `\\n`."""
    return "command " + visible_line(line.replace("\n", "\\n"))


def joined(words: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    known = list(dict.fromkeys(filter(None, words)))
    shown = known[:_SUBJECTS]
    if len(known) > len(shown):
        shown.append(f"{len(known) - len(shown)} more")
    return "; ".join(shown)
