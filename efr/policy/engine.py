"""The decision about one tool call: allow, contain, ask or deny, and why.

Pure; `decide` is the one entry. Every need of the call is one finding, the strictest effect of all
is the call's, and adding a need never loosens. Paths are judged in `path_findings`, lines and the
network in `command_findings`, exits of the sandbox in `exits`, full mode in `full`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct

from efr.policy.command_findings import command_findings, line_of, network_finding
from efr.policy.envelope import envelope
from efr.policy.exits.always import answered, exit_effect
from efr.policy.exits.kinds import CLOSED, Exit
from efr.policy.exits.predict import exits_of, file_tool_exits
from efr.policy.findings import MANUAL, Finding, Turn, asked, joined, summary
from efr.policy.full import full_findings
from efr.policy.matching import conversation_policy, machine_policy
from efr.policy.needs import CallNeeds, Cause, Decision, Effect, PathUse, Place, Sandbox
from efr.policy.path_findings import path_finding
from efr.policy.paths import CLASS_WORDS, view
from efr.policy.rows import Mode
from efr.policy.rules import Rule
from efr.text.visible import visible_line

__all__ = ["CallNeeds", "Decision", "PathUse", "Place", "Rules", "decide"]

_LOCAL: Final = frozenset(("shell", "cli", "proxy"))  # any other origin is remote
_WORDS: Final[dict[Effect, Literal["allow", "contain", "ask", "deny"]]] = {
    Effect.ALLOW: "allow",
    Effect.CONTAIN: "contain",
    Effect.ASK: "ask",
    Effect.DENY: "deny",
}
_NESTED: Final = "auto cannot contain what is typed into a nested shell"


class Rules(Struct, frozen=True):
    """The user's rules in the order of the file, and those of the conversation."""

    user: tuple[Rule, ...] = ()
    conversation: tuple[Rule, ...] = ()


_NO_RULES: Final = Rules()


def decide(
    needs: CallNeeds, mode: str, origin: str, place: Place, rules: Rules = _NO_RULES
) -> Decision:
    """What happens to a call. An unknown mode counts as manual, an unknown origin as remote."""
    remote = origin not in _LOCAL
    known = effective_mode(mode, place, remote=remote)
    if known == "full":
        found = full_findings(needs, place, rules.user)
    else:
        turn = _turn(needs, known, place, rules, remote=remote)
        found = _findings(needs, turn, place.sandbox, rules.user)
    findings = list(dict.fromkeys(found))
    effect = max((finding.effect for finding in findings), default=Effect.ALLOW)
    deciding = [finding for finding in findings if finding.effect == effect]
    refused = (f.refused for f in findings if f.refused is not None and f.effect == Effect.DENY)
    is_asked = effect == Effect.ASK
    limits = [f.expires_in_s for f in deciding if f.expires_in_s is not None]
    return Decision(
        effect=_WORDS[effect],
        summary=summary(needs, deciding),
        reason="" if effect < Effect.ASK else joined([f.reason for f in deciding]),
        refused=tuple(refused),
        causes=tuple(dict.fromkeys(f.cause for f in deciding)),
        local_only=is_asked and any(f.local_only for f in deciding),
        expires_in_s=min(limits, default=None) if is_asked else None,
    )


def effective_mode(mode: str, place: Place, *, remote: bool) -> Mode:
    """The mode that decides: never looser than what the origin and the machine allow."""
    if mode == "full" and place.full and not remote:
        return "full"
    if mode in ("auto", "full") and not remote and envelope(place) is not None:
        return "auto"
    return "cautious" if mode in ("cautious", "auto", "full") else "manual"


def _turn(needs: CallNeeds, mode: Mode, place: Place, rules: Rules, *, remote: bool) -> Turn:
    around = envelope(place) if mode == "auto" else None
    is_file_tool = mode == "auto" and needs.command is None
    return Turn(
        mode,
        remote,
        view(place),
        # File tools run outside the sandbox, so cautious judges their paths.
        machine_policy("cautious" if is_file_tool else mode, rules.user),
        conversation_policy(rules.conversation),
        envelope=None if is_file_tool else around,
        files=around if is_file_tool else None,
    )


def _findings(
    needs: CallNeeds, turn: Turn, sandbox: Sandbox | None, user: tuple[Rule, ...]
) -> Iterator[Finding]:
    """One finding or more for each thing that the call needs."""
    line = line_of(needs, turn)
    if line is not None:
        yield from command_findings(line, turn)
    for use in needs.paths:
        yield path_finding(use, turn)
    for path in needs.deletes:
        words = f"delete {_named(path, turn)}"
        yield asked(words, "a delete always asks", Cause("delete"), turn)
    for source, target in needs.moves:
        words = f"move {_named(source, turn)} to {_named(target, turn)}"
        yield asked(words, "a move always asks", Cause("delete"), turn)
    if needs.network:
        yield network_finding(line, turn)
    yield from _keys(needs, turn)
    if needs.settings is not None:
        yield _settings(needs, turn)
    if turn.mode == "auto" and sandbox is not None:
        yield from _exit_findings(needs, turn, sandbox, user)
    if needs.declares_nothing and turn.remote:
        yield asked("a call", "", Cause("remote"), turn)


def _named(path: str, turn: Turn) -> str:
    """A path for a question, with its class."""
    form = turn.view.form(path)
    return f"{visible_line(turn.view.shown(form))} ({CLASS_WORDS[turn.view.class_of(form)]})"


def _keys(needs: CallNeeds, turn: Turn) -> Iterator[Finding]:
    """A call that may wait for keys, or is typed into another program."""
    if needs.nested and turn.mode == "auto":
        yield Finding(Effect.DENY, "nested shell", _NESTED, Cause("nested"))
    elif needs.nested or needs.interactive:
        subject = "nested shell" if needs.nested else "keys at the terminal"
        if turn.mode == "auto":
            yield Finding(Effect.CONTAIN, subject, cause=Cause("interactive"), local_only=True)
            return
        reason = MANUAL if turn.mode == "manual" else "the command may wait for your keys"
        yield Finding(Effect.ASK, subject, reason, Cause("interactive"), local_only=True)


def _settings(needs: CallNeeds, turn: Turn) -> Finding:
    """Only a person at this machine approves a change of efr's own settings."""
    assert needs.settings is not None
    loosens = "; loosens permissions" if needs.settings.loosens else ""
    subject = f"settings: {visible_line(needs.settings.summary)}{loosens}"
    if turn.remote:
        reason = "settings are not changed from a phone"
        return Finding(Effect.DENY, subject, reason, Cause("remote_settings"), subject)
    reason = "only you approve a change of settings"
    return Finding(Effect.ASK, subject, reason, Cause("settings"), local_only=True)


def _exit_findings(
    needs: CallNeeds, turn: Turn, sandbox: Sandbox, user: tuple[Rule, ...]
) -> Iterator[Finding]:
    """One question for each exit unless a rule of the user answers it; what the model asked for and
    nobody may open is denied."""
    exits: tuple[Exit, ...] = ()
    if turn.envelope is not None:
        exits = exits_of(needs, turn.envelope, sandbox)
    elif turn.files is not None:
        exits = file_tool_exits(needs, turn.files)
    for one in exits:
        subject = exit_subject(one, turn)
        cause = Cause("exit", detail=one.kind)
        if one.kind in CLOSED and one.source == "predicted":
            continue  # the paths of the call deny it with better words
        if one.kind in CLOSED:
            reason = "nothing leaves the sandbox for a secret or for efr's settings"
            yield Finding(Effect.DENY, subject, reason, cause, subject)
            continue
        answer = exit_effect(one, needs, user, turn.view)
        if answer is not None and answer[0] != Effect.ASK:
            yield answered(one, subject, *answer)
            continue
        reason = f"this leaves the sandbox: {one.kind}"
        local = one.user_only or one.unsandboxed or needs.interactive
        yield Finding(Effect.ASK, subject, reason, cause, local_only=local)


def exit_subject(one: Exit, turn: Turn) -> str:
    """What leaves the sandbox, and to where."""
    target = turn.view.shown(one.target) if one.target.startswith("/") else one.target
    return f"leaves the sandbox: {one.kind} {visible_line(target)}".rstrip()
