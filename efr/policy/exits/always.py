"""Rules about exits: which exit a rule covers, and what a list of them answers.

Pure. An exit is covered only when everything that the rule names is the same; a call runs only when
every one of its exits is allowed. Such rules never lift the sandbox beyond the one grant
that the exit names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from efr.policy.envelope import envelope
from efr.policy.exits.kinds import Exit
from efr.policy.exits.predict import exits_of
from efr.policy.findings import Finding
from efr.policy.needs import EFFECTS, CallNeeds, Cause, Effect, Place
from efr.policy.paths import PathView, holds
from efr.policy.reader import Unreadable, read_line
from efr.policy.rules import DEFAULT_PORT, ExitIs, Rule


def covers(rule: ExitIs, one: Exit, needs: CallNeeds, paths: PathView) -> bool:
    """Whether a rule is about this exit of this call."""
    if rule.kind != one.kind:
        return False
    if rule.under is not None and not _starts_under(rule.under, needs, paths):
        return False
    if rule.host is not None:
        return one.target == f"{rule.host.lower()}:{rule.port or DEFAULT_PORT}"
    if rule.path is not None:
        return bool(one.target) and holds(paths.expanded(rule.path), one.target)
    if rule.program is not None:
        return _is_program(rule, one, needs)
    return False  # what is sent over a bus, or where a push goes, is not told by the text


def _is_program(rule: ExitIs, one: Exit, needs: CallNeeds) -> bool:
    """Whether the line is this one command: a second one would hide behind the first."""
    read = () if needs.command is None else read_line(needs.command)
    if isinstance(read, Unreadable) or len(read) != 1 or one.target not in ("", rule.program):
        return False
    words = [word.text for word in read[0].words]
    return words[: 1 + len(rule.args)] == [rule.program, *rule.args]


def _starts_under(place: str, needs: CallNeeds, paths: PathView) -> bool:
    forms = {needs.command_dir, needs.command_dir_real or needs.command_dir}
    root = paths.expanded(place)
    return None not in forms and all(holds(root, paths.form(one)) for one in forms if one)


def exit_effect(
    one: Exit, needs: CallNeeds, rules: Sequence[Rule], paths: PathView
) -> tuple[Effect, int] | None:
    """The last rule that covers an exit and its index, or None: the exit asks as it does."""
    for index in range(len(rules) - 1, -1, -1):
        resource = rules[index].resource
        if not isinstance(resource, ExitIs) or not covers(resource, one, needs, paths):
            continue
        effect = EFFECTS[rules[index].effect]
        if effect == Effect.ALLOW and one.kind == "write" and one.unsandboxed:
            continue  # no rule lets a write run without the sandbox: it binds what it names
        return effect, index
    return None


def exit_denied(needs: CallNeeds, place: Place, rules: Sequence[Rule]) -> Iterator[Finding]:
    """What a rule denies of the exits that a line would have; it holds in full mode too."""
    around = envelope(place)
    if around is None or place.sandbox is None or needs.command is None:
        return
    for one in exits_of(needs, around, place.sandbox):
        found = exit_effect(one, needs, rules, around.view)
        if found is not None and found[0] == Effect.DENY:
            yield answered(one, f"{one.kind} {one.target}".strip(), *found)


def answered(one: Exit, subject: str, effect: Effect, index: int) -> Finding:
    """What a rule makes of an exit: the call runs in its sandbox with the one grant, or not."""
    cause = Cause("rule", "user", None, index, one.kind)
    if effect == Effect.DENY:
        return Finding(effect, subject, f"your rule permissions.rules[{index}] denies", cause)
    return Finding(Effect.CONTAIN, subject, cause=cause)
