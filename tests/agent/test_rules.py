"""The user's rules and the engine: a rule counts from the next call on, and says so."""

from __future__ import annotations

from typing import Any

import msgspec

from efr.config.schema import Permissions, RuleEntry, Settings
from efr.policy.needs import CallNeeds, PathUse
from efr.tools.contract import ToolContext, ToolResult
from efr.wire import events as ev
from tests.agent.scripted_model import calls, said
from tests.agent.world import World

WRITE = ("write", "{}")


def settings(*rules: dict[str, Any]) -> Settings:
    entries = tuple(msgspec.convert(rule, RuleEntry) for rule in rules)
    return Settings(permissions=Permissions(rules=entries))


def line(world: World, text: str) -> CallNeeds:
    return CallNeeds("write", command=text, command_dir=str(world.home))


def rule(effect: str, **command: object) -> dict[str, Any]:
    return {"action": "execute", "resource": {"command": command}, "effect": effect}


def test_a_rule_of_the_user_lets_a_line_run_and_another_denies_it(world: World) -> None:
    world.settings = settings(rule("allow", program="make"), rule("deny", program="rm"))
    world.tools.write.needs = line(world, "make -j4")
    world.tools.look.needs = line(world, "env A=b rm -rf x")
    world.provider.answers(calls(WRITE, ("look", "{}")), said("done"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    assert (len(world.tools.write.runs), len(world.tools.look.runs)) == (1, 0)
    ends = [one for one in world.stored(sent.conversation_id) if type(one) is ev.ToolCallCompleted]
    assert [one.refusal for one in ends] == [None, "your rule permissions.rules[1] denies"]


def test_a_changed_rule_counts_from_the_next_call_on(world: World) -> None:
    world.settings = settings(rule("allow", program="make"))
    world.tools.look.needs = world.tools.write.needs = line(world, "make")

    def forbid(_: object, ctx: ToolContext) -> ToolResult:
        world.settings = settings(rule("allow", program="make"), rule("deny", program="make"))
        return ToolResult(output="made")

    world.tools.write.do = forbid
    world.provider.answers(calls(WRITE, ("look", "{}")), said("done"))
    world.wait_end(world.send("go").turn_id)
    assert (len(world.tools.write.runs), len(world.tools.look.runs)) == (1, 0)


def test_a_rule_about_a_directory_looks_behind_links(world: World) -> None:
    real = world.home / "elsewhere"
    real.mkdir()
    (world.home / "p").mkdir()
    (world.home / "p" / "link").symlink_to(real)
    world.settings = settings(rule("allow", program="make", under="~/p"))
    needs = CallNeeds("write", command="make", command_dir=str(world.home / "p" / "link"))
    world.tools.write.needs = needs
    world.provider.answers(calls(WRITE), said("done"))
    sent = world.send("go")
    question = world.wait(ev.ApprovalRequested)
    assert question.reason == "cautious does not know this command as read-only"
    world.interrupt(sent.conversation_id)
    world.wait_end(sent.turn_id)


def test_only_somebody_here_answers_for_keys(world: World) -> None:
    world.tools.write.needs = CallNeeds("write", command="vim x", interactive=True)
    world.tools.look.needs = CallNeeds("look", (PathUse("/etc/x", "write"),))
    world.provider.answers(calls(WRITE), said("done"))
    sent = world.send("go")
    assert world.wait(ev.ApprovalRequested).local_only
    world.interrupt(sent.conversation_id)
    world.wait_end(sent.turn_id)
