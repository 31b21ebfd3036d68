"""Rules of the file as the values that the engine reads, and their examples."""

from __future__ import annotations

import pytest

from efr.config.errors import ConfigError
from efr.config.load import read
from efr.config.rules import rules_of
from efr.policy.rules import ClassIs, CommandIs, ExitIs, Rule, Under

FILE = b"""
[[permissions.rules]]
action = "any"
resource = "any"
effect = "ask"

[[permissions.rules]]
action = "write"
resource = { under = "~/notes" }
effect = "allow"

[[permissions.rules]]
action = "read"
effect = "deny"
[permissions.rules.resource]
class = "user_config"

[[permissions.rules]]
action = "execute"
effect = "allow"
[permissions.rules.resource.command]
program = "git"
args = ["fetch|pull"]
forbid = ["--exec*"]
min_operands = 1
max_operands = 2
max_options = 3
under = "project"
check = "ref_names"

[[permissions.rules]]
action = "exit"
resource = { exit = { kind = "host", host = "h.example", port = 8443, under = "~/p" } }
effect = "allow"
"""


def test_rules_are_read_in_the_order_of_the_file() -> None:
    command = CommandIs("git", ("fetch|pull",), ("--exec*",), 1, 2, 3, "project", "ref_names")
    assert rules_of(read(FILE)) == (
        Rule("any", "any", "ask"),
        Rule("write", Under("~/notes"), "allow"),
        Rule("read", ClassIs("user_config"), "deny"),
        Rule("execute", command, "allow"),
        Rule("exit", ExitIs("host", host="h.example", port=8443, under="~/p"), "allow"),
    )
    assert rules_of(read(b"")) == ()


def rule(resource: str, action: str = "any", **examples: list[str]) -> bytes:
    given = "".join(f"{name} = {value!r}\n" for name, value in examples.items())
    text = f"[[permissions.rules]]\naction = '{action}'\nresource = {resource}\neffect = 'ask'\n"
    return (text + given).encode()


PYTEST = "{ command = { program = 'pytest', forbid = ['-p'], max_operands = 1 } }"
CARGO = "{ command = { program = 'cargo', args = ['test|check', '--q*'] } }"


@pytest.mark.parametrize(
    ("resource", "matching", "others"),
    [
        (
            PYTEST,
            ["pytest", "pytest -q tests", "pytest; pytest -x"],
            ["pytest -p x", "pytest a b", "pytest -vp x", "/bin/pytest", "pytest && ls", "ls"],
        ),
        (CARGO, ["cargo test --quiet", "cargo check --q x"], ["cargo test", "cargo build --quiet"]),
        (
            "{ under = '~/.config/nvim' }",
            ["~/.config/nvim", "~/.config/nvim/a/b"],
            ["~/.config/nvimx", "/home/you", "~/.config/nvim/../x"],
        ),
        ("{ command = { program = 'su' } }", [], ["su root"]),  # no rule opens such a program
        ("{ under = '/srv' }", ["/srv/x/../y"], ["/srvx", "/srv/../etc", "~/srv"]),
        (
            "{ class = 'user_config' }",
            ["~/.zshrc", "~/p/.git/config"],
            ["~/notes", "/etc/x", "~/.ssh/id"],
        ),
        ("{ class = 'secrets' }", ["~/.ssh/id"], ["~/.zshrc"]),
        ("{ class = 'system' }", ["/etc/passwd"], ["/home/you/x", "~/x"]),
    ],
)
def test_examples_come_out_as_the_rule_says(
    resource: str, matching: list[str], others: list[str]
) -> None:
    read(rule(resource, matches=matching, matches_not=others))
    for index, example in enumerate(matching):
        with pytest.raises(ConfigError, match=r"matches_not\[0\]: the rule matches this example"):
            read(rule(resource, matches_not=[example])), index
    for example in others:
        last = rf"matches\[{len(matching[:1])}\]: the rule does not match this example"
        with pytest.raises(ConfigError, match=last):
            read(rule(resource, matches=[*matching[:1], example]))


@pytest.mark.parametrize(
    ("resource", "action", "example"),
    [
        (PYTEST, "any", "pytest $(id)"),
        (PYTEST, "any", ""),
        ("'any'", "any", "ls"),
        ("'project'", "any", "~/p"),
        ("{ under = '~/x' }", "any", "x/y"),
        ("{ exit = { kind = 'socket', path = '/x' } }", "exit", "/x"),
    ],
)
def test_what_can_be_no_example_is_refused(resource: str, action: str, example: str) -> None:
    for member in ("matches", "matches_not"):
        with pytest.raises(ConfigError, match=rf"{member}\[0\]: an example is one line"):
            read(rule(resource, action, **{member: [example]}))
