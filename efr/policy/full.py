"""Full mode: everything runs, but for a few floors and one guarded kind of delete.

Pure. Denied: secrets, efr's settings, a directory that holds either when it would be taken, efr's
own commands that change settings, and what the user's rules deny. Asked: a delete that would take a
home, a project, anything above one, or the root of a mount; and a change of settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from efr.policy.command_findings import command_findings, line_of, network_finding
from efr.policy.exits.always import exit_denied
from efr.policy.findings import Finding, Turn
from efr.policy.lines.inner import all_programs, base_name
from efr.policy.lines.taken import Taken, taken_by_line
from efr.policy.matching import conversation_policy, machine_policy
from efr.policy.needs import CallNeeds, Cause, Effect, Place
from efr.policy.path_findings import path_finding
from efr.policy.paths import PathView, holds, is_above, view
from efr.policy.rules import Rule
from efr.text.visible import visible_line

_GUARD_S: Final = 120  # how long a guarded delete waits for an answer
_OWN_CHANGES: Final = frozenset((
    ("config", "set"), ("config", "unset"), ("config", "edit"), ("project", "add"),
    ("project", "remove"),
))  # fmt: skip
_UNSHOWN: Final = "what the line does not show"


def full_findings(needs: CallNeeds, place: Place, rules: tuple[Rule, ...]) -> Iterator[Finding]:
    """What a local call of full mode comes to."""
    paths = view(place)
    kept = tuple(rule for rule in rules if rule.effect != "ask")
    turn = Turn("full", False, paths, machine_policy("full", kept), conversation_policy(()))
    line = line_of(needs, turn)
    found: list[Finding] = [path_finding(use, turn) for use in needs.paths]
    if line is not None:
        found += command_findings(line, turn)
    if needs.network:
        found.append(network_finding(line, turn))
    yield from (finding for finding in found if finding.effect != Effect.ASK)
    yield from exit_denied(needs, place, kept)
    if needs.settings is not None:
        subject = f"settings: {visible_line(needs.settings.summary)}"
        reason = "only you approve a change of settings"
        yield Finding(Effect.ASK, subject, reason, Cause("settings"), local_only=True)
    if needs.command is not None:
        yield from _own_commands(needs.command, paths)
        yield from _taken(needs, paths)


def _own_commands(line: str, paths: PathView) -> Iterator[Finding]:
    """A line that changes efr's settings or projects through efr itself."""
    for words in all_programs(line, paths.home):
        verbs = [word.text for word in words[1:] if not word.text.startswith("-")][:2]
        if base_name(words[0].text) == "efr" and tuple(verbs) in _OWN_CHANGES:
            subject = f"efr {' '.join(verbs)}"
            reason = "efr's settings cannot be written by the model"
            cause = Cause("own_command")
            yield Finding(
                Effect.DENY, subject, reason, cause, f"{subject} (efr's settings (floor))"
            )


def _taken(needs: CallNeeds, paths: PathView) -> Iterator[Finding]:
    """The guard first, then what a taken directory holds."""
    assert needs.command is not None
    for taken in taken_by_line(needs.command, needs.command_dir, paths.home):
        if taken.path is None:
            yield _guard(_UNSHOWN)
            continue
        for form in _forms(taken.path, needs, paths):
            shown = visible_line(paths.shown(form))
            if _is_guarded(taken, form, needs, paths):
                yield _guard(shown)
            elif not taken.is_node and (held := _held(form, paths)) is not None:
                reason = f"{held} would be taken with {shown}"
                refused = f"{shown} (holds {held})"
                cause = Cause("reaches_secret" if held == "a secret" else "reaches_config")
                yield Finding(Effect.DENY, f"delete {shown}", reason, cause, refused)


def _forms(path: str, needs: CallNeeds, paths: PathView) -> Iterator[str]:
    """As the line names it, and where it really leads."""
    yield paths.form(path)
    real = needs.facts.links.get(path)
    if real is not None:
        yield paths.form(real)


def _guard(shown: str) -> Finding:
    reason = f"full asks before deleting {shown}"
    cause = Cause("guard", detail=shown)
    return Finding(
        Effect.ASK, f"delete {shown}", reason, cause, local_only=True, expires_in_s=_GUARD_S
    )


def _is_guarded(taken: Taken, form: str, needs: CallNeeds, paths: PathView) -> bool:
    if taken.is_node:
        return any(_is_node_of(form, node) for node in needs.facts.mounted_nodes)
    roots = (paths.home, paths.home_real, *paths.projects, *needs.facts.mount_roots)
    return any(holds(form, paths.form(root)) for root in roots)


def _is_node_of(device: str, node: str) -> bool:
    """Whether a mounted node is this device or a partition of it."""
    return node == device or re.fullmatch(rf"{re.escape(device)}p?[0-9]+", node) is not None


def _held(path: str, paths: PathView) -> str | None:
    """What a directory holds that nothing may take."""
    if any(is_above(path, root) for root in (*paths.config, *paths.data)):
        return "efr's settings"
    return "a secret" if paths.secrets_below(path) else None
