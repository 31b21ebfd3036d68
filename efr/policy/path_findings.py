"""What the paths of a call come to: sealed places, rules, what lies below, the class.

Pure. The order is fixed: a seal is asked before any rule, a secret has its own way through the
rules, and what would be allowed is looked at once more for what lies below it.
"""

from __future__ import annotations

from typing import Final

from efr.policy.findings import Finding, Turn, asked, rule_cause, rule_reason
from efr.policy.matching import Numbered, PathTarget, matches_path, names_secrets
from efr.policy.needs import Access, Cause, Effect, PathUse
from efr.policy.paths import CLASS_WORDS, is_above
from efr.policy.rules import Under
from efr.text.visible import visible_line

_ACCESS: Final[dict[Access, str]] = {
    "read": "read",
    "read_tree": "read everything below",
    "write": "write",
}
_CLOSED: Final = "a secret location is closed to the model"
_DEVICE: Final = "a device may show a whole disk or what is typed elsewhere"
# Why a path stands for any, and what a question calls it.
_UNSURE: Final = {
    "moved": "the line does not show in which directory this path starts",
    "made": "a path that the line itself makes may be a link to anywhere",
    "many": "the line names more than efr looks at",
    "climbs": "`..` behind a file pattern may lead anywhere",
    "links": "there are more links below this directory than efr looks at",
}
_ANYWHERE: Final = "a path that may lead anywhere"
# Classes for which a rule of the conversation can only be stricter.
_TIGHTENED: Final = frozenset(("secrets", "system"))


def path_finding(use: PathUse, turn: Turn) -> Finding:
    """What one path comes to."""
    if not use.path.startswith("/"):
        path, why = visible_line(use.path), "a path that is not absolute"
        cause = Cause("not_absolute")
        return Finding(Effect.DENY, f"{use.access} {path}", why, cause, f"{path} ({why})")
    target = _target(use, turn)
    shown = visible_line(turn.view.shown(target.path))
    subject = f"{_ACCESS[use.access]} {shown} ({CLASS_WORDS[target.kind]})"
    if (sealed := _sealed(target, turn, subject, shown)) is not None:
        return sealed
    effect, rule = _by_rules(target, turn)
    if effect == Effect.DENY:
        return _denied(target, rule, subject, shown)
    if effect == Effect.ASK and rule is not None and rule.layer != "built_in":
        return Finding(Effect.ASK, subject, rule_reason(rule), rule_cause(rule))
    question = _question(target, turn, effect, rule, shown)
    if question is not None and use.unsure:
        subject, question = _ANYWHERE, (_UNSURE[use.unsure], question[1])
    if question is not None and turn.envelope is not None:
        return Finding(Effect.CONTAIN, subject, cause=question[1])
    if question is not None:
        return asked(subject, *question, turn)
    if turn.remote and target.kind != "scratch":
        return asked(subject, "", Cause("remote"), turn)
    return Finding(Effect.ALLOW, subject, cause=Cause("rule") if rule is None else rule_cause(rule))


def _target(use: PathUse, turn: Turn) -> PathTarget:
    path = turn.view.through_process(use.path) or turn.view.form(use.path)
    inside = turn.envelope is not None and turn.envelope.writes(path)
    kind = turn.view.class_of(path, is_config=use.is_config)
    return PathTarget(path, use.access, kind, inside)


def _sealed(target: PathTarget, turn: Turn, subject: str, shown: str) -> Finding | None:
    """A place that no rule opens."""
    if turn.view.is_sealed(target.path):
        return Finding(Effect.DENY, subject, _CLOSED, Cause("sealed"), f"{shown} (secrets)")
    seal = turn.view.write_seal(target.path) if target.access == "write" else None
    if seal is None:
        return None
    reason = f"{seal} cannot be written by the model"
    return Finding(Effect.DENY, subject, reason, Cause("write_sealed"), f"{shown} ({seal} (floor))")


def _denied(target: PathTarget, rule: Numbered | None, subject: str, shown: str) -> Finding:
    if rule is None:
        return Finding(Effect.DENY, subject, "no rule allows it", Cause("no_rule"), shown)
    reason = rule_reason(rule) if rule.layer != "built_in" else _CLOSED
    what = CLASS_WORDS[target.kind]
    return Finding(Effect.DENY, subject, reason, rule_cause(rule), f"{shown} ({what})")


# -- rules


def _by_rules(target: PathTarget, turn: Turn) -> tuple[Effect, Numbered | None]:
    """The effect of the machine's rules, then of the conversation's, and the rule that decided."""
    effect, rule = _machine(target, turn)
    for one in reversed(turn.conversation.paths):
        if matches_path(one.rule, target, turn.view):
            if target.kind not in _TIGHTENED or one.effect >= effect:
                return one.effect, one
            break
    return effect, rule


def _machine(target: PathTarget, turn: Turn) -> tuple[Effect, Numbered | None]:
    if target.kind == "secrets":
        return _secret(target, turn)
    for one in reversed(turn.machine.paths):
        if matches_path(one.rule, target, turn.view):
            return one.effect, one
    return Effect.DENY, None


def _secret(target: PathTarget, turn: Turn) -> tuple[Effect, Numbered | None]:
    """Only a rule that names secrets opens one; any other may only be stricter than what stands."""
    standing: tuple[Effect, Numbered | None] | None = None
    for one in turn.machine.paths:
        if not matches_path(one.rule, target, turn.view):
            continue
        stands = Effect.ASK if standing is None else standing[0]
        if names_secrets(one.rule.resource, turn.view) or one.effect > stands:
            standing = (one.effect, one)
    return standing or (Effect.DENY, None)


# -- what the class and the neighbours say


def _question(
    target: PathTarget, turn: Turn, effect: Effect, rule: Numbered | None, shown: str
) -> tuple[str, Cause] | None:
    """Why a built-in rule asks about this path, or None."""
    cause = Cause("rule") if rule is None else rule_cause(rule)
    if effect == Effect.ASK:
        if target.access != "write":
            return f"{turn.mode} asks before reading", cause
        return f"{turn.mode} asks before writing {CLASS_WORDS[target.kind]}", cause
    if rule is not None and rule.layer != "built_in":
        return _below(target, turn, shown)
    if turn.view.is_device(target.path):
        return _DEVICE, Cause("device")
    return _below(target, turn, shown)


def _below(target: PathTarget, turn: Turn, shown: str) -> tuple[str, Cause] | None:
    """What lies below a directory that is read whole, or goes with it when it is written."""
    view = turn.view
    if target.access == "read":
        return None
    shows = view.shows_processes(target.path) or view.shows_logins(target.path)
    if shows or not _all_opened(target, turn):
        return f"a secret lies below {shown}", Cause("reaches_secret")
    seal = view.seal_below(target.path) if target.access == "write" else None
    if seal is not None:
        return f"{seal} lie below {shown}", Cause("reaches_config")
    rule = _closed_below(target, turn)
    return None if rule is None else (f"{rule_reason(rule)} below {shown}", rule_cause(rule))


def _closed_below(target: PathTarget, turn: Turn) -> Numbered | None:
    """The rule of a person that asks or denies for a place strictly below, if one does."""
    for one in (*turn.machine.paths, *turn.conversation.paths):
        if one.layer == "built_in" or one.effect < Effect.ASK:
            continue
        root = _root(one, turn)
        if root is None or not is_above(target.path, root):
            continue
        place = PathTarget(root, target.access, turn.view.class_of(root))
        effect, rule = _by_rules(place, turn)
        if effect >= Effect.ASK and rule is not None and rule.layer != "built_in":
            return rule
    return None


def _root(one: Numbered, turn: Turn) -> str | None:
    """The place that a rule is about, when it is one."""
    resource = one.rule.resource
    if isinstance(resource, Under):
        return turn.view.expanded(resource.path)
    return turn.view.project_root if resource == "project" else None


def _all_opened(target: PathTarget, turn: Turn) -> bool:
    """Whether rules open every secret below, for the same access."""
    secrets = turn.view.secrets_below(target.path)
    return all(
        not turn.view.is_sealed(secret)
        and _machine(PathTarget(secret, target.access, "secrets"), turn)[0] == Effect.ALLOW
        for secret in secrets
    )
