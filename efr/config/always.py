"""The rule behind an answer of "always": saved as the user's last one. Blocks on the file system.

The file keeps its layout and its comments. When somebody else writes it meanwhile, the rule is put
behind what they wrote, three times at most. The caller reloads afterwards; the call itself runs
whether the rule could be saved or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from efr.config.errors import ChangedMeanwhile, ConfigError, WriteFailed
from efr.config.load import read
from efr.config.rules import entry_of, rules_of
from efr.config.writer import Original, change, open_original
from efr.policy.rules import Rule
from efr.wire import types as t


def save_rule(
    path: Path, rule: Rule, words: str, matches: Sequence[str] = ()
) -> t.AlwaysSaved | t.AlwaysNotSaved:
    """Saves the rule, with examples that it has to match; `words` is the rule for people."""
    try:
        change(path, lambda now: _with(now, rule, matches))
        rules = rules_of(read((open_original(path).text or "").encode()))
    except ChangedMeanwhile:
        return t.AlwaysNotSaved(t.NotSavedReason.CHANGED)
    except WriteFailed as exc:
        reason = t.NotSavedReason.READ_ONLY if exc.read_only else t.NotSavedReason.IO
        return t.AlwaysNotSaved(reason)
    except ConfigError:
        return t.AlwaysNotSaved(t.NotSavedReason.LOAD_CHECK)
    if rule not in rules:
        return t.AlwaysNotSaved(t.NotSavedReason.CHANGED)  # taken out again at once
    return t.AlwaysSaved(len(rules) - 1 - rules[::-1].index(rule), words)


def _with(now: Original, rule: Rule, matches: Sequence[str]) -> str | None:
    """The new text; None when the rule is the last one already."""
    text = now.text or ""
    if rules_of(read(text.encode()))[-1:] == (rule,):
        return None
    from efr.config.edit import with_rule  # brings tomlkit, which takes long to load

    return with_rule(text, entry_of(rule, matches))
