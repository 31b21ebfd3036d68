"""The page for users, the data and the behaviour are one: its tables, its examples, its counts."""

from __future__ import annotations

import re
import tomllib

import pytest

from efr.policy.engine import Rules, decide
from efr.policy.rules import Rule, rule_problem
from tests.policy import page
from tests.policy.corpus import IN_PROJECT, rule_of, shell_call
from tests.policy.everyday import decided, lines

TEXT = page.PAGE.read_text()
EVERYDAY = lines()


def test_the_tables_are_those_that_decide() -> None:
    assert page.filled(TEXT) == TEXT
    assert [name for name in page.PARTS if f"<!-- {name} -->" not in TEXT] == []


def test_the_page_says_how_many_everyday_lines_there_are() -> None:
    assert len(EVERYDAY) >= 300
    assert f"What becomes of {len(EVERYDAY)} lines" in TEXT


def test_everyday_lines() -> None:
    for row in EVERYDAY:
        decision = decided(row.line)
        assert decision.effect == row.effect, decision
        if decision.effect != "allow":
            assert_says_why(row.line, decision.reason)


def assert_says_why(line: str, reason: str) -> None:
    """One plain line of words: no name of a construct, no rule's number, no empty reason."""
    assert reason, line
    assert "\n" not in reason
    assert "_" not in reason.replace(line, ""), (line, reason)
    assert len(reason.split()) >= 4, (line, reason)


def rules_of_the_page() -> tuple[Rule, ...]:
    (block,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    return tuple(rule_of(one) for one in tomllib.loads(block)["permissions"]["rules"])


def test_the_example_rules_do_what_the_page_says() -> None:
    rules = rules_of_the_page()
    assert [rule_problem(rule) for rule in rules] == [None] * len(rules)
    examples = re.findall(r"^\| `(.+)` \| (allow|ask|deny) \|$", TEXT, re.MULTILINE)
    assert len(examples) >= 10
    for line, effect in examples:
        decision = decide(shell_call(line), "cautious", "shell", IN_PROJECT, Rules(rules))
        assert decision.effect == effect, (line, decision)


def test_the_page_tells_how_a_project_is_registered() -> None:
    _, _, section = TEXT.partition("\n## Projects\n")
    assert "`efr project add " in section.partition("\n## ")[0]


def test_a_part_that_the_page_does_not_know() -> None:
    with pytest.raises(KeyError):
        page.filled("<!-- something -->\n<!-- end -->")
