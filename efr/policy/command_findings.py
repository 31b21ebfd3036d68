"""What the command line of a call and its access to the network come to.

Pure. A line that the strict reader reads is judged command by command, the strictest wins; in any
other only rules about every line match. What would run without a question has to be read the same
by the parser. A rule of the user that asks or denies also holds for the programs behind wrappers,
in substitutions and in text that a shell is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from efr.policy.findings import (
    Finding,
    Turn,
    asked,
    command_subject,
    joined,
    part,
    privilege_reason,
    rule_cause,
    rule_reason,
)
from efr.policy.inner_findings import MOVES, inner_findings
from efr.policy.lines.inner import all_programs, base_name
from efr.policy.matching import Numbered, Policy, Start, matches_rule
from efr.policy.needs import CallNeeds, Cause, Effect
from efr.policy.privilege import PRIVILEGED, WRAPPERS, privileged_in, privileged_in_text
from efr.policy.reader import RESERVED, SimpleCommand, Unreadable, read_line
from efr.policy.rules import CommandIs
from efr.policy.structure import read_structure
from efr.policy.syntax_tree import agrees
from efr.text.visible import visible_line

_NULL: Final = "/dev/null"


class Line(Struct, frozen=True):
    """The line of a call as the strict reader has it, and where it starts."""

    text: str
    read: tuple[SimpleCommand, ...] | Unreadable
    start: Start
    nowhere: Start  # behind a command that moves

    def parts(self) -> Iterator[tuple[SimpleCommand, Start]]:
        """Each command, and where it starts as far as a rule may know."""
        moved = False
        for command in () if isinstance(self.read, Unreadable) else self.read:
            yield command, self.nowhere if moved else self.start
            moved = moved or command.program in MOVES


def line_of(needs: CallNeeds, turn: Turn) -> Line | None:
    """The line of a call; None when it has none."""
    if needs.command is None:
        return None
    forms = {needs.command_dir, needs.command_dir_real or needs.command_dir} - {None}
    start = Start(tuple(turn.view.form(one) for one in forms if one is not None), turn.view)
    return Line(needs.command, read_line(needs.command), start, Start((), turn.view))


class _Part(Struct, frozen=True):
    """What one simple command comes to; `why` is the reason of a question or a denial."""

    command: SimpleCommand
    effect: Effect
    why: str
    cause: Cause
    built_in: bool  # only a built-in row lets it run


# -- the line


def command_findings(line: Line, turn: Turn) -> Iterator[Finding]:
    """The line itself, then the user's rules about what it runs inside."""
    subject = command_subject(line.text)
    parts = [_part(command, start, turn) for command, start in line.parts()]
    if isinstance(line.read, Unreadable):
        finding = _unreadable(line.text, line.read, subject, turn)
    else:
        finding = _of_parts(subject, parts, turn)
        runs = finding.effect == Effect.ALLOW and turn.mode != "full"
        if runs and not agrees(line.text, line.read):
            finding = _asks_unread(line.text, Unreadable("disagreement"), subject, None, turn)
    yield _contained(finding, turn)
    if finding.effect == Effect.ALLOW and turn.mode not in ("auto", "full"):
        yield from _privileged_inside(line, subject, turn)
    starts = (line.start, line.nowhere)
    told = {one.cause for one in parts if one.effect == finding.effect}
    yield from (one for one in inner_findings(line.text, starts, turn) if one.cause not in told)


def _privileged_inside(line: Line, subject: str, turn: Turn) -> Iterator[Finding]:
    """A program that runs commands as another user asks, also behind others and in a text."""
    programs = (base_name(words[0].text) for words in all_programs(line.text, turn.view.home))
    name = next((name for name in programs if name in PRIVILEGED), None)
    if name is not None:
        cause = Cause("privileged", detail=name)
        yield asked(subject, privilege_reason(name), cause, turn)


def _contained(finding: Finding, turn: Turn) -> Finding:
    """In auto the sandbox holds what would run, and what nobody asks about on purpose."""
    if turn.mode != "auto" or finding.effect >= Effect.ASK:
        return finding
    return replace(finding, effect=Effect.CONTAIN)


def _of_parts(subject: str, parts: Sequence[_Part], turn: Turn) -> Finding:
    effect = max(one.effect for one in parts)
    deciding = [one for one in parts if one.effect == effect]
    if effect < Effect.ASK:
        if turn.remote:
            return asked(subject, "", Cause("remote"), turn)
        return Finding(effect, subject, cause=deciding[0].cause)
    cause = deciding[0].cause
    if len(parts) == 1:
        return _settled(effect, subject, deciding[0].why, cause, turn)
    names = [part(one.command) for one in deciding]
    reason = joined([f"{part(one.command)}: {one.why}" for one in deciding])
    verb = "asks for" if effect == Effect.ASK else "denied"
    return _settled(effect, f"{subject}\n{verb}: {joined(names)}", reason, cause, turn)


def _settled(effect: Effect, subject: str, reason: str, cause: Cause, turn: Turn) -> Finding:
    if effect == Effect.ASK:
        return asked(subject, reason, cause, turn)
    return Finding(effect, subject, reason, cause)


def _part(command: SimpleCommand, start: Start, turn: Turn) -> _Part:
    name = privileged_in(command)
    rule = _last(command, start, turn.machine, name is not None)
    own = _last(command, start, turn.conversation, name is not None)
    rule = own or rule
    effect = Effect.ASK if rule is None else rule.effect
    if name is not None and effect < Effect.ASK:
        return _Part(command, Effect.ASK, privilege_reason(name), Cause("privileged"), False)
    cause = Cause("no_rule") if rule is None else rule_cause(rule)
    why = "" if rule is None else rule_reason(rule)
    if name is not None and effect == Effect.ASK:
        why = privilege_reason(name)
    if not why and effect == Effect.ASK:
        why = _unknown(command, turn)
    return _Part(command, effect, why, cause, rule is not None and rule.layer == "built_in")


def _unknown(command: SimpleCommand, turn: Turn) -> str:
    """Why no row lets a command run, as far as its program tells."""
    program = command.words[0]
    if program.text in RESERVED and not program.quoted:
        return f"efr does not look behind the shell word {program.text}"
    if program.text in WRAPPERS:
        return f"{program.text} runs another command"
    return f"{turn.mode} does not know this command as read-only"


def _last(
    command: SimpleCommand, start: Start, policy: Policy, privileged: bool
) -> Numbered | None:
    """The last rule that matches a command; a privileged one matches no resource of a command."""
    for one in policy.of_program(command.program):
        if not isinstance(one.rule.resource, CommandIs):
            return one
        if not privileged and matches_rule(one.rule, command, start):
            return one
    return None


# -- a line that cannot be read


def _unreadable(line: str, read: Unreadable, subject: str, turn: Turn) -> Finding:
    """Only rules about every line can match."""
    rule = next(reversed((*turn.machine.commands, *turn.conversation.commands)), None)
    effect = Effect.ASK if rule is None else rule.effect
    name = privileged_in_text(line)
    if effect < Effect.ASK and name is None:
        return (
            asked(subject, "", Cause("remote"), turn) if turn.remote else Finding(effect, subject)
        )
    own_reason = "" if rule is None else rule_reason(rule)
    if own_reason and rule is not None and name is None:
        return _settled(effect, subject, own_reason, rule_cause(rule), turn)
    if effect == Effect.DENY and rule is not None:
        return Finding(effect, subject, own_reason, rule_cause(rule))
    return _asks_unread(line, read, subject, name, turn)


def _asks_unread(
    line: str, read: Unreadable, subject: str, privileged: str | None, turn: Turn
) -> Finding:
    """The question, with what the line runs as far as its structure is understood."""
    reasons = [f"efr cannot read this line: it holds {read.words}"]
    cause = Cause("opaque", detail=read.construct)
    if privileged is not None:
        reasons.insert(0, privilege_reason(privileged))
        cause = Cause("privileged", detail=privileged)
    return asked(subject + _running(line), joined(reasons), cause, turn)


def _running(line: str) -> str:
    """What a line runs that is understood without being plain, on a row of its own."""
    found = read_structure(line)
    if isinstance(found, Unreadable):
        return ""
    parts = [part(command) for command in found.commands]
    files = [f"writes {visible_line(word.text)}" for word in found.writes if word.text != _NULL]
    return f"\nruns: {joined([*parts, *files])}"


# -- the network


def network_finding(line: Line | None, turn: Turn) -> Finding:
    """Access to the network, by the commands that may use it."""
    subject = "the network"
    effect, rule = _network(line, turn)
    own = next(reversed(_of_any(turn.conversation)), None)
    if own is not None:
        effect, rule = own.effect, own
    is_users = rule is not None and rule.layer != "built_in"
    if turn.mode == "auto" and (effect < Effect.ASK or (effect == Effect.ASK and not is_users)):
        return Finding(Effect.CONTAIN, subject)
    if effect < Effect.ASK:
        return (
            asked(subject, "", Cause("remote"), turn) if turn.remote else Finding(effect, subject)
        )
    cause = Cause("no_rule") if rule is None else rule_cause(rule)
    reason = rule_reason(rule) if rule is not None and is_users else ""
    return _settled(
        effect, subject, reason or f"{turn.mode} asks before any network access", cause, turn
    )


def _network(line: Line | None, turn: Turn) -> tuple[Effect, Numbered | None]:
    """The strictest of the parts; one that a built-in row lets run sends nothing."""
    found: list[tuple[Effect, Numbered | None]] = []
    for command, start in () if line is None else line.parts():
        rule = _network_rule(command, start, turn)
        effect = Effect.ASK if rule is None else rule.effect
        own = _part(command, start, turn)
        if effect == Effect.ALLOW or not (own.built_in and own.effect == Effect.ALLOW):
            found.append((effect, rule))
    if found:
        return max(found, key=lambda one: one[0])
    rule = next(reversed(_of_any(turn.machine)), None)
    return (Effect.ASK if rule is None else rule.effect), rule


def _network_rule(command: SimpleCommand, start: Start, turn: Turn) -> Numbered | None:
    privileged = privileged_in(command) is not None
    for one in reversed(turn.machine.network):
        resource = one.rule.resource
        if not isinstance(resource, CommandIs):
            return one
        if privileged or resource.program != command.program:
            continue
        if matches_rule(one.rule, command, start):
            return one
    return None


def _of_any(policy: Policy) -> list[Numbered]:
    return [one for one in policy.network if one.rule.resource == "any"]
