"""Which keys of a change loosen what the agent may do. Pure.

The same answer for the question of the settings tool and for a change that is held while a turn
runs in full mode. Facts: docs/permissions.md, docs/config.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import to_builtins

from efr.config.load import value_of
from efr.config.rules import names_secrets, rule_of
from efr.config.schema import RuleEntry, Settings
from efr.config.toml import inline

_MODES: Final = ("manual", "cautious", "auto", "full")

# Lists of which a new entry loosens, and those of which a lost one does.
_WIDENING: Final = (
    "network.allow",
    "sandbox.write_roots",
    "sandbox.caches",
    "sandbox.env_keep",
    "sandbox.promote_env",
    "sandbox.rebuildable",
)
_NARROWING: Final = (
    "permissions.secret_paths",
    "network.deny",
    "sandbox.mask",
    "sandbox.protect",
    "sandbox.env_deny",
    "sandbox.export_deny",
    "sandbox.synced_dirs",
    "sandbox.surface_files",
)
# Switches that loosen when they go on, and those that do when they go off.
_ON: Final = (
    "permissions.allow_full",
    "network.plain_http",
    "classifier.enabled",
    "remote.enabled",
)
_OFF: Final = ("snapshot.enabled", "undo.enabled", "network.netview", "network.bus_filter")


def loosened(old: Settings, new: Settings) -> tuple[str, ...]:
    """The dotted keys whose new value loosens, sorted."""
    found = {key for key in _WIDENING if _gained(value_of(old, key), value_of(new, key))}
    found |= {key for key in _NARROWING if _gained(value_of(new, key), value_of(old, key))}
    found |= {key for key in _ON if value_of(new, key) and not value_of(old, key)}
    found |= {key for key in _OFF if value_of(old, key) and not value_of(new, key)}
    if _masks_less(old.sandbox.mask_globs, new.sandbox.mask_globs):
        found.add("sandbox.mask_globs")
    if _MODES.index(new.permissions.mode) > _MODES.index(old.permissions.mode):
        found.add("permissions.mode")
    if _rules_loosen(old.permissions.rules, new.permissions.rules):
        found.add("permissions.rules")
    if (old.shell.sudo_cache, new.shell.sudo_cache) == ("per_call", "keep"):
        found.add("shell.sudo_cache")
    if old.sandbox.bwrap != new.sandbox.bwrap:
        found.add("sandbox.bwrap")
    if new.sandbox.write_projects == "all" and old.sandbox.write_projects != "all":
        found.add("sandbox.write_projects")
    if new.network.upload_kib > old.network.upload_kib:
        found.add("network.upload_kib")
    return tuple(sorted(found))


def _gained(before: Sequence[str], after: Sequence[str]) -> bool:
    return bool(set(after) - set(before))


def _masks_less(before: Sequence[str], after: Sequence[str]) -> bool:
    """A pattern with `!` takes names out, so there a new one loosens."""
    lost = set(before) - set(after)
    new = set(after) - set(before)
    return any(one[:1] != "!" for one in lost) or any(one[:1] == "!" for one in new)


def _rules_loosen(before: Sequence[RuleEntry], after: Sequence[RuleEntry]) -> bool:
    """A new allow, a lost ask or deny, another order: the last rule that matches wins."""
    old, new = [_text(rule) for rule in before], [_text(rule) for rule in after]
    effects = {_text(rule): rule.effect for rule in (*before, *after)}
    gained, lost = Counter(new) - Counter(old), Counter(old) - Counter(new)
    if any(effects[rule] == "allow" for rule in gained):
        return True
    if any(effects[rule] != "allow" for rule in lost):
        return True
    if any(_text(rule) in gained and _softens(rule, after[:at]) for at, rule in enumerate(after)):
        return True
    kept = Counter(old) & Counter(new)
    return _only(old, kept) != _only(new, kept)


def _softens(rule: RuleEntry, earlier: Sequence[RuleEntry]) -> bool:
    """Whether a question may come in place of a refusal: an earlier rule's, or that of secrets."""
    denies = any(one.effect == "deny" for one in earlier)
    return rule.effect == "ask" and (denies or names_secrets(rule_of(rule).resource))


def _only(rules: Sequence[str], kept: Counter[str]) -> list[str]:
    """The rules that both lists have, in this list's order."""
    left = Counter(kept)
    found = []
    for rule in rules:
        if left[rule] > 0:
            left[rule] -= 1
            found.append(rule)
    return found


def _text(rule: RuleEntry) -> str:
    """What a rule does; its examples change nothing."""
    built = to_builtins(rule)
    return inline({name: built[name] for name in ("action", "resource", "effect")})
