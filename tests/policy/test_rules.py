"""Rules of the user: which are taken, and what is said of the others."""

from __future__ import annotations

import pytest

from efr.policy.rules import ClassIs, CommandIs, ExitIs, Rule, RuleProblem, Under, rule_problem

GOOD = [
    Rule("any", "any", "allow"),
    Rule("read", "any", "ask"),
    Rule("execute", "any", "deny"),
    Rule("write", "project", "allow"),
    Rule("read", ClassIs("secrets"), "deny"),
    Rule("any", Under("~"), "ask"),
    Rule("write", Under("~/x y"), "allow"),
    Rule("write", Under("/etc"), "deny"),
    Rule("execute", CommandIs("pytest"), "allow"),
    Rule("any", CommandIs("curl"), "allow"),
    Rule("network", CommandIs("curl"), "allow"),
    Rule("execute", CommandIs("git", ("push|pull*", "origin"), ("-f", "--force*", "x=y")), "ask"),
    Rule("execute", CommandIs("make", under="project"), "allow"),
    Rule("execute", CommandIs("make", under="scratch"), "allow"),
    Rule("execute", CommandIs("make", under="~/p"), "allow"),
    Rule("execute", CommandIs("git", check="ref_names"), "allow"),
    Rule("execute", CommandIs("sed", check="sed_print_only"), "allow"),
    Rule("exit", ExitIs("host", host="h.example", under="~/p"), "allow"),
    Rule("exit", ExitIs("host", host="h.example", port=8443, under="~/p"), "deny"),
    Rule("exit", ExitIs("bus", bus="session", name="a.b", members=("C",)), "ask"),
    Rule("exit", ExitIs("outside", program="x", args=("y",), under="/p"), "allow"),
]


@pytest.mark.parametrize("rule", GOOD, ids=str)
def test_a_rule_that_is_taken(rule: Rule) -> None:
    assert rule_problem(rule) is None


def command(program: str = "x", **members: object) -> Rule:
    return Rule("execute", CommandIs(program, **members), "allow")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "member"),
    [
        (Rule("any", "any", "contain"), "effect"),
        (Rule("execute", "project", "allow"), "action"),
        (Rule("network", ClassIs("system"), "allow"), "action"),
        (Rule("execute", Under("/x"), "allow"), "action"),
        (Rule("read", CommandIs("cat"), "allow"), "action"),
        (Rule("write", CommandIs("cat"), "allow"), "action"),
        (Rule("exit", "any", "allow"), "action"),
        (Rule("any", ExitIs("socket", path="/x"), "allow"), "action"),
        (Rule("read", Under("x"), "allow"), "resource.under"),
        (Rule("read", Under("~u/x"), "allow"), "resource.under"),
        (command(""), "resource.command.program"),
        (command("a b"), "resource.command.program"),
        (command("-x"), "resource.command.program"),
        (command("=x"), "resource.command.program"),
        (command("x*"), "resource.command.program"),
        (command(args=("a", "b c")), "resource.command.args[1]"),
        (command(args=("*",)), "resource.command.args[0]"),
        (command(args=("a*b",)), "resource.command.args[0]"),
        (command(args=("a|",)), "resource.command.args[0]"),
        (command(args=("--",)), "resource.command.args[0]"),
        (command(args=("a|-",)), "resource.command.args[0]"),
        (command(forbid=("x*",)), "resource.command.forbid[0]"),
        (command(forbid=("-x", "--")), "resource.command.forbid[1]"),
        (command(forbid=("--*",)), "resource.command.forbid[0]"),
        (command(forbid=("'x'",)), "resource.command.forbid[0]"),
        (command(under="x"), "resource.command.under"),
        (command(min_operands=-1), "resource.command.min_operands"),
        (command(max_options=-1), "resource.command.max_options"),
        (command(check="good"), "resource.command.check"),
        (command(check="sed_print_only"), "resource.command.check"),
        (Rule("exit", ExitIs("host", under="/x"), "allow"), "resource.exit.host"),
        (Rule("exit", ExitIs("socket", path="x"), "allow"), "resource.exit.path"),
        (Rule("exit", ExitIs("socket", path="/x", port=1), "allow"), "resource.exit.port"),
        (
            Rule("exit", ExitIs("host", host="h", under="/x", port=0), "allow"),
            "resource.exit.port",
        ),
    ],
    ids=str,
)
def test_a_rule_that_is_refused(rule: Rule, member: str) -> None:
    problem = rule_problem(rule)
    assert isinstance(problem, RuleProblem)
    assert problem.member == member
    assert problem.message
