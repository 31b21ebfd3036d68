"""What holds for any line, any rules and any mode."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from efr.policy.engine import Decision, Rules, decide
from efr.policy.needs import CallNeeds, PathUse, Place
from efr.policy.rules import ClassIs, CommandIs, Rule, Under, rule_problem
from tests.policy.corpus import HOME, IN_PROJECT, PROJECT, SANDBOX, SCRATCH, cases, shell_call
from tests.policy.everyday import lines
from tests.policy.trap_lines import Traps

# A decision is dear beside a number; the fuzzer looks longer.
few = settings(max_examples=40)
STRICTNESS = {"allow": 0, "contain": 1, "ask": 2, "deny": 3}
LINES = [*(case.line for case in cases()), *(row.line for row in lines()), *Traps(7).lines(300)]
IN_SANDBOX = replace(IN_PROJECT, sandbox=SANDBOX)

a_line = st.sampled_from(LINES)
mode = st.sampled_from(["manual", "cautious", "auto", "full", "unknown"])
effect = st.sampled_from(["allow", "ask", "deny"])
path_resource = st.sampled_from(
    [
        "any",
        "project",
        ClassIs("secrets"),
        ClassIs("user_data"),
        ClassIs("system"),
        Under("~"),
        Under("~/.ssh/config"),
        Under("/etc"),
        Under(PROJECT),
    ]
)
command_resource = st.builds(
    CommandIs,
    st.sampled_from(["ls", "cat", "make", "git", "rm", "curl", "sudo", "echo"]),
    args=st.sampled_from([(), ("push",), ("status|log",)]),
    forbid=st.sampled_from([(), ("-f",), ("--force*", "x")]),
    max_operands=st.sampled_from([None, 0, 2]),
    under=st.sampled_from([None, "project", "~"]),
)
rule = st.one_of(
    st.builds(Rule, st.sampled_from(["any", "read", "write"]), path_resource, effect),
    st.builds(Rule, st.sampled_from(["any", "execute", "network"]), command_resource, effect),
    st.builds(Rule, st.sampled_from(["any", "execute", "network"]), st.just("any"), effect),
).filter(lambda one: rule_problem(one) is None)
some_rules = st.lists(rule, max_size=4).map(tuple)
a_path = st.sampled_from(
    [
        f"{HOME}/.ssh/id",
        f"{HOME}/.aws/credentials",
        "/etc/shadow",
        "/etc/hosts",
        "/usr/bin/x",
        f"{PROJECT}/src/a",
        f"{HOME}/notes/a",
        f"{HOME}/.config/x",
        f"{HOME}/.config/efr/config.toml",
        f"{SCRATCH}/x",
        "/",
        HOME,
    ]
)
use = st.builds(PathUse, a_path, st.sampled_from(["read", "read_tree", "write"]))


def judged(
    needs: CallNeeds,
    name: str = "cautious",
    rules: Rules = Rules(),  # noqa: B008 - frozen
    origin: str = "shell",
    place: Place = IN_SANDBOX,
) -> Decision:
    return decide(needs, name, origin, place, rules)


def strictness(decision: Decision) -> int:
    return STRICTNESS[decision.effect]


@few
@given(a_line, mode, some_rules, use)
def test_a_need_more_never_loosens(
    line: str, name: str, rules: tuple[Rule, ...], more: PathUse
) -> None:
    needs, given_rules = shell_call(line), Rules(rules)
    before = strictness(judged(needs, name, given_rules))
    for wider in (
        replace(needs, paths=(*needs.paths, more)),
        replace(needs, network=True),
        replace(needs, interactive=True),
    ):
        assert strictness(judged(wider, name, given_rules)) >= before


@few
@given(a_line, mode, some_rules)
def test_a_phone_is_never_looser(line: str, name: str, rules: tuple[Rule, ...]) -> None:
    needs = shell_call(line)
    here = judged(needs, name, Rules(rules), place=IN_PROJECT)
    phone = judged(needs, name, Rules(rules), "phone", IN_PROJECT)
    assert strictness(phone) >= strictness(here)
    assert phone.effect not in ("allow", "contain")


@few
@given(a_line, st.sampled_from(["$(id)", "`id`", '"$(id)"', '"`id`"']))
def test_a_substitution_is_never_allowed_by_built_in_rules(line: str, inner: str) -> None:
    for name in ("manual", "cautious"):
        for text in (f"ls {inner}; {line}", f"ls {inner}", f"{inner} | cat"):
            assert judged(shell_call(text), name).effect in ("ask", "deny")


@few
@given(a_line, a_line, st.sampled_from(["; ", " && ", " || ", " | ", "\n"]), some_rules)
def test_a_compound_line_runs_only_when_each_part_alone_does(
    one: str, other: str, join: str, rules: tuple[Rule, ...]
) -> None:
    both = judged(shell_call(one + join + other), "cautious", Rules(rules))
    if both.effect == "allow" and "'" not in one + other and '"' not in one + other:
        assert judged(shell_call(one), "cautious", Rules(rules)).effect == "allow"


@few
@given(use, some_rules, some_rules)
def test_a_conversation_never_loosens_a_secret_or_a_system_path(
    one: PathUse, user: tuple[Rule, ...], own: tuple[Rule, ...]
) -> None:
    needs = CallNeeds("x", (one,))
    without = judged(needs, "cautious", Rules(user), place=IN_PROJECT)
    with_own = judged(needs, "cautious", Rules(user, own), place=IN_PROJECT)
    closed = not one.path.startswith(HOME) or "/.ssh" in one.path or "/.aws" in one.path
    if closed:
        assert strictness(with_own) >= strictness(without)


@few
@given(a_line, mode, some_rules)
def test_the_last_word_is_the_users(line: str, name: str, rules: tuple[Rule, ...]) -> None:
    last = Rules((*rules, Rule("execute", "any", "deny")))
    assert judged(shell_call(line), name, last, place=IN_PROJECT).effect == "deny"


@few
@given(use, some_rules)
def test_no_rule_opens_what_is_sealed(one: PathUse, rules: tuple[Rule, ...]) -> None:
    for path, access in (
        (f"{HOME}/.local/share/efr/secrets/k", one.access),
        (f"{HOME}/.config/efr/config.toml", "write"),
        (f"{HOME}/dotfiles/efr/config.toml", "write"),
    ):
        needs = CallNeeds("x", (PathUse(path, access),))
        assert judged(needs, "cautious", Rules(rules, rules)).effect == "deny"


@few
@given(a_line, mode, some_rules)
def test_a_question_and_a_denial_say_why(line: str, name: str, rules: tuple[Rule, ...]) -> None:
    decision = judged(shell_call(line), name, Rules(rules))
    assert (decision.reason != "") == (decision.effect in ("ask", "deny"))
    assert "\n" not in decision.reason
    assert decision.causes
    assert decision.summary.startswith("shell: command ")
