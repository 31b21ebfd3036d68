"""What a user's rules say of the programs inside a line, and of a line that hides which it runs.

Pure. Such programs stand behind wrappers, in substitutions and in text that a shell is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from efr.policy.findings import (
    MANUAL,
    Finding,
    Turn,
    asked,
    command_subject,
    part,
    rule_cause,
    rule_reason,
)
from efr.policy.lines.inner import all_programs, base_name
from efr.policy.lines.split import LineWord
from efr.policy.matching import Numbered, Policy, Start, matches_rule
from efr.policy.needs import Cause, Effect
from efr.policy.reader import SimpleCommand, Word

MOVES: Final = frozenset(("cd", "pushd", "popd", "chdir"))
_SHELLS: Final = frozenset(("sh", "bash", "zsh", "dash", "ksh", "fish"))
_RUNS_TEXT: Final = re.compile(r"-[A-Za-z]*c|--(?:command|version|help)").match
_UNSHOWN: Final = "the line does not show which program runs, and you have rules about some"


def inner_findings(line: str, starts: tuple[Start, Start], turn: Turn) -> Iterator[Finding]:
    """A rule that asks or denies holds for every program that the line may run.

    `starts`: where the line starts, and where it stands behind a command that moves.
    """
    subject = command_subject(line)
    policies = [policy for policy in (turn.machine, turn.conversation) if policy.tightens]
    if not policies:
        return
    start, moved = starts
    for words in all_programs(line, turn.view.home):
        if turn.mode in ("manual", "cautious") and (unshown := _unshown(words)) is not None:
            yield asked(subject, _UNSHOWN, Cause("opaque", detail=unshown), turn)
        given = [Word(word.text, word.pattern_at is not None) for word in words]
        name = words[0].text.removeprefix("=")  # zsh takes `=rm` for the path of rm
        for program in dict.fromkeys((name, base_name(name))):
            command = SimpleCommand((Word(program), *given[1:]))
            for policy in policies:
                rule = _last_named(command, start, policy)
                if rule is not None and rule.effect >= Effect.ASK:
                    text = f"{subject}\n{part(command)}"
                    asks = turn.mode == "manual" and rule.effect == Effect.ASK
                    reason = MANUAL if asks else rule_reason(rule)
                    yield Finding(rule.effect, text, reason, rule_cause(rule))
        start = moved if base_name(words[0].text) in MOVES else start


def _unshown(words: Sequence[LineWord]) -> str | None:
    """The construct that hides which program runs, when one does."""
    program = words[0]
    if program.expansion:
        return "expansion"
    if program.pattern_at is not None and program.pattern_at < len(program.text.strip("[")):
        return "glob"
    reads = base_name(program.text) in _SHELLS and all(w.text.startswith("-") for w in words[1:])
    return "here_document" if reads and not any(_RUNS_TEXT(w.text) for w in words) else None


def _last_named(command: SimpleCommand, start: Start, policy: Policy) -> Numbered | None:
    for one in reversed(policy.programs.get(command.program, ())):
        if matches_rule(one.rule, command, start):
            return one if one.layer != "built_in" else None
    return None
