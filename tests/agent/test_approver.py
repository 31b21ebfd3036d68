"""Who let a call run."""

from __future__ import annotations

import pytest

from efr.agent.approver import approver
from efr.policy.needs import Cause, Decision
from efr.wire import types as t

BUILT_IN, NO_RULE = Cause("rule", "built_in"), Cause("no_rule")
USER, CONVERSATION = Cause("rule", "user"), Cause("rule", "conversation")


@pytest.mark.parametrize(
    ("effect", "causes", "mode", "by"),
    [
        ("ask", (NO_RULE,), "cautious", "you"),
        ("ask", (USER,), "full", "you"),
        ("allow", (USER,), "cautious", "your_rule"),
        ("allow", (BUILT_IN, CONVERSATION), "full", "your_rule"),
        ("allow", (BUILT_IN,), "cautious", None),
        ("allow", (BUILT_IN,), "full", "full_mode"),
        ("allow", (), "auto", None),
    ],
)
def test_who_let_a_call_run(
    effect: str, causes: tuple[Cause, ...], mode: str, by: str | None
) -> None:
    decision = Decision(effect, "runs x", "", causes=causes)  # type: ignore[arg-type]
    assert approver(decision, t.Mode(mode)) == by
