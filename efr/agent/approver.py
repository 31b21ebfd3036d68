"""Who let a call run, for the record of a command that goes on after it. Pure."""

from __future__ import annotations

from efr.policy.needs import Decision
from efr.shell.contract import Approver
from efr.wire import types as t

_OWN = frozenset({"user", "conversation"})  # the layers of rules that a person wrote


def approver(decision: Decision, mode: t.Mode) -> Approver | None:
    """Of a call that runs: who was asked answered yes. None: nobody had to allow it."""
    if decision.effect == "ask":
        return "you"
    if any(cause.kind == "rule" and cause.layer in _OWN for cause in decision.causes):
        return "your_rule"
    return "full_mode" if mode is t.Mode.FULL else None
