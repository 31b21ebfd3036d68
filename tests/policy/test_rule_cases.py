"""The cases with rules, origins and facts, and the table of full mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from efr.policy.engine import Rules, decide
from efr.policy.needs import (
    Beyond,
    CallNeeds,
    Decision,
    Facts,
    PathUse,
    Place,
    SettingsChange,
)
from efr.policy.rules import rule_problem
from tests.policy.corpus import (
    IN_PROJECT,
    PROJECT,
    SANDBOX,
    at_home,
    rule_of,
    shell_call,
    tables,
)

CASES = tables("rules.toml", "case")
FULL = tables("full.toml", "runs")
CASE_KEYS = {
    *("id", "mode", "origin", "project", "sandbox", "rules", "conversation"),
    *("tracked", "kinds", "links", "calls"),
}
CALL_KEYS = {
    *("line", "read", "write", "settings", "nothing", "at", "at_real", "mode", "nested"),
    *("needs_write", "effect"),
}


def call_of(call: dict[str, Any], case: dict[str, Any]) -> CallNeeds:
    """What the call declares, with the links that the caller looked up."""
    assert set(call) <= CALL_KEYS
    links = {at_home(path): at_home(real) for path, real in case.get("links", {}).items()}
    needs = _declared(call)
    reals = [replace(use, path=links[use.path]) for use in needs.paths if use.path in links]
    facts = Facts(
        kinds={at_home(path): kind for path, kind in case.get("kinds", {}).items()},
        tracked={at_home(path): count for path, count in case.get("tracked", {}).items()},
    )
    beyond = Beyond(write=tuple(map(at_home, call.get("needs_write", ()))))
    return replace(needs, paths=(*needs.paths, *reals), facts=facts, beyond=beyond)


def _declared(call: dict[str, Any]) -> CallNeeds:
    if "line" in call:
        needs = shell_call(call["line"], at_home(call.get("at", "~/p/app") or "/nowhere"))
        if call.get("at") == "":
            needs = replace(needs, command_dir=None)
        real = call.get("at_real")
        return replace(needs, command_dir_real=real, nested=call.get("nested", False))
    if "read" in call:
        return CallNeeds("read_file", (PathUse(at_home(call["read"]), "read"),))
    if "write" in call:
        return CallNeeds("write_file", (PathUse(at_home(call["write"]), "write"),))
    if "settings" in call:
        return CallNeeds("settings", settings=SettingsChange(call["settings"]))
    assert call["nothing"]
    return CallNeeds("settings")


def place_of(case: dict[str, Any]) -> Place:
    root = at_home(case.get("project", "~/p/app"))
    sandbox = SANDBOX if case.get("sandbox", True) else None
    return replace(IN_PROJECT, project_root=root or None, sandbox=sandbox)


def rules_of(case: dict[str, Any]) -> Rules:
    user = tuple(map(rule_of, case.get("rules", ())))
    return Rules(user, tuple(map(rule_of, case.get("conversation", ()))))


def test_every_case_is_there() -> None:
    numbers = {case["id"].rstrip("ab") for case in CASES}
    assert {f"T{number}" for number in range(1, 52)} <= numbers
    assert all(set(case) <= CASE_KEYS for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_rules_origins_and_facts(case: dict[str, Any]) -> None:
    rules = rules_of(case)
    assert [one for one in map(rule_problem, (*rules.user, *rules.conversation)) if one] == []
    for call in case["calls"]:
        mode = call.get("mode", case.get("mode", "cautious"))
        decision = decide(
            call_of(call, case), mode, case.get("origin", "shell"), place_of(case), rules
        )
        assert decision.effect == call["effect"], (call, decision)
        assert (decision.reason != "") == (decision.effect in ("ask", "deny"))


def full_decisions(run: dict[str, Any]) -> Iterator[tuple[str, Decision]]:
    facts = Facts(mount_roots=frozenset(("/", "/mnt/usb")), mounted_nodes=frozenset(("/dev/sda1",)))
    place = replace(IN_PROJECT, full=run.get("allowed", True))
    calls = [replace(shell_call(line, PROJECT), facts=facts) for line in run["lines"]]
    if "settings" in run:
        calls.append(CallNeeds("settings", settings=SettingsChange(run["settings"])))
    rules = Rules(tuple(map(rule_of, run.get("rules", ()))))
    for call in calls:
        yield call.command or "", decide(call, "full", run.get("origin", "shell"), place, rules)


@pytest.mark.parametrize("run", FULL, ids=lambda run: str(run["effect"]))
def test_full(run: dict[str, Any]) -> None:
    for line, decision in full_decisions(run):
        found = (line, decision.effect, decision.expires_in_s)
        assert found == (line, run["effect"], run.get("expires_in_s")), decision
        is_guard = "full asks before deleting" in decision.reason and decision.local_only
        assert is_guard == (run.get("expires_in_s") is not None)
