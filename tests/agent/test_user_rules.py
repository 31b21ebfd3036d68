"""The user's rules decide a turn's calls: as the file has them when the call comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.config.always import save_rule
from efr.config.load import read
from efr.config.project_text import Project
from efr.policy.needs import CallNeeds, PathUse
from efr.policy.rules import CommandIs, Rule, Under
from efr.tools.contract import ToolContext, ToolResult
from efr.wire import events as ev
from efr.wire import types as t
from tests.agent.scripted_model import calls, said
from tests.agent.world import World

COMMAND = "[[permissions.rules]]\naction = '{}'\nresource = {{command = {{program = '{}'}}}}\n"
PATH = "[[permissions.rules]]\naction = '{}'\nresource = {{under = '{}'}}\n"
ALLOW, ASK, DENY = "effect = 'allow'\n", "effect = 'ask'\n", "effect = 'deny'\n"


def line(text: str, at: str = "/") -> CallNeeds:
    return CallNeeds("look", command=text, command_dir=at)


def wrote(path: str) -> CallNeeds:
    return CallNeeds("look", paths=(PathUse(path, "write"),))


def outcome(world: World, needs: CallNeeds, mode: t.Mode = t.Mode.CAUTIOUS) -> str:
    """What happened to one call of a turn, and why; a question is answered with no."""
    world.tools.look.needs, world.tools.look.runs = needs, []
    world.provider.answers(calls(("look", "{}")), said("done"))
    before = len([one for one in world.log.all if one.kind == "tool_call_completed"])
    asked = len([one for one in world.log.all if one.kind == "approval_requested"])
    sent = world.send("go", settings=t.TurnSettings(mode=mode))
    world.log.wait(
        lambda all: (
            len([one for one in all if one.kind == "approval_requested"]) > asked
            or len([one for one in all if one.kind == "tool_call_completed"]) > before
        ),
        "a question or an end",
    )
    questions = [one.event for one in world.log.all if isinstance(one.event, ev.ApprovalRequested)]
    if len(questions) > asked:
        question = questions[-1]
        world.answer(sent.conversation_id, question.call_id, t.ApprovalDecision.DENY)
        world.wait_end(sent.turn_id)
        return f"ask: {question.reason}"
    world.wait_end(sent.turn_id)
    done = world.wait(ev.ToolCallCompleted, before + 1)
    assert bool(done.refusal) is not bool(world.tools.look.runs)
    return f"deny: {done.refusal}" if done.refusal else "allow"


ASKS = "ask: your rule permissions.rules[0] asks"
DENIES = "deny: your rule permissions.rules[0] denies"
LS_DENIED = "deny: ls: your rule permissions.rules[0] denies"
CASES = {
    "a command that no row knows": (COMMAND.format("execute", "make") + ALLOW, "make -n", "allow"),
    "only in a line that efr can read": (
        COMMAND.format("execute", "make") + ALLOW,
        "make $(id)",
        "ask: efr cannot read this line: it holds output of another command",
    ),
    "a row that the user wants to see": (COMMAND.format("execute", "ls") + ASK, "ls -l", ASKS),
    "a row that the user forbids": (
        COMMAND.format("execute", "ls") + DENY,
        "ls | wc -l",
        LS_DENIED,
    ),
    "behind a wrapper": (COMMAND.format("execute", "rm") + DENY, "env A=1 rm x", DENIES),
    "never as another user": (
        COMMAND.format("execute", "sudo") + ALLOW,
        "sudo ls",
        "ask: sudo runs commands as another user",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_rule_about_a_command_decides(world: World, name: str) -> None:
    rules, text, wanted = CASES[name]
    world.settings = read(rules.encode())
    assert outcome(world, line(text)) == wanted


def test_rules_about_paths_and_each_mode(world: World) -> None:
    etc = "/etc/efr-example.conf"
    world.settings = read((PATH.format("write", "/etc/efr-example.conf") + ALLOW).encode())
    assert outcome(world, wrote(etc)) == "allow"
    assert outcome(world, wrote(etc), t.Mode.MANUAL) == "allow"
    assert outcome(world, wrote(etc), t.Mode.AUTO) == "allow", "it runs as cautious"
    assert outcome(world, wrote("/etc/other")) == "ask: cautious asks before writing system"
    key = str(world.home / ".ssh" / "id")
    world.settings = read((PATH.format("any", "/") + ALLOW).encode())
    assert outcome(world, wrote(key)).startswith("deny: "), "no wide rule opens a secret"
    config = str(world.roots.config_file)
    assert outcome(world, wrote(config)).startswith("deny: "), "nor efr's settings"


def test_a_rule_for_the_project_needs_a_registered_one(world: World) -> None:
    app = world.home / "app"
    (app / "src").mkdir(parents=True)
    rule = "{program = 'make', under = 'project'}"
    world.settings = read(
        "[[permissions.rules]]\naction = 'execute'\n"
        f"resource = {{command = {rule}}}\neffect = 'allow'\n".encode()
    )
    needs = line("make", str(app / "src"))
    world.tools.look.needs = needs
    world.provider.answers(calls(("look", "{}")), said("done"))
    sent = world.send("go", pwd=app / "src")
    question = world.wait(ev.ApprovalRequested)
    world.answer(sent.conversation_id, question.call_id, t.ApprovalDecision.DENY)
    world.wait_end(sent.turn_id)
    world.registry.projects = [Project("019a9b1c-3d00-7a10-8b20-000000000008", str(app), "app")]
    world.provider.answers(calls(("look", "{}")), said("done"))
    world.wait_end(world.send("go", pwd=app / "src").turn_id)
    assert len(world.tools.look.runs) == 1


def test_a_project_added_or_taken_out_counts_from_the_next_call(world: World) -> None:
    app = world.home / "app"
    app.mkdir()
    known = [Project("019a9b1c-3d00-7a10-8b20-000000000008", str(app), "app")]
    steps = [known, known, []]  # the registry after each call

    def step(_: object, ctx: ToolContext) -> ToolResult:
        world.registry.projects = steps.pop(0)
        world.tools.look.needs = wrote(str(app / "a"))
        return ToolResult("done")

    world.tools.look.do = step
    world.provider.answers(calls(*[("look", "{}")] * 4), said("done"))
    sent = world.send("go", pwd=app)
    question = world.wait(ev.ApprovalRequested)
    assert len(world.tools.look.runs) == 3, "it asks only when the project is gone"
    assert question.reason == "cautious asks before writing user data"
    world.answer(sent.conversation_id, question.call_id, t.ApprovalDecision.DENY)
    world.wait_end(sent.turn_id)


def test_a_changed_rule_counts_from_the_next_call_of_the_same_turn(world: World) -> None:
    world.tools.look.needs = line("make")
    world.provider.answers(calls(("look", "{}"), ("look", "{}"), ("look", "{}")), said("done"))
    sent = world.send("go")
    question = world.wait(ev.ApprovalRequested)
    world.settings = read((COMMAND.format("execute", "make") + ALLOW).encode())
    world.answer(sent.conversation_id, question.call_id)
    world.wait_end(sent.turn_id)
    assert len(world.tools.look.runs) == 3
    assert world.kinds(sent.conversation_id).count("approval_requested") == 1


SAVED = (
    (Rule("execute", CommandIs("make", args=("test",)), "allow"), line("make test"), "make test"),
    (Rule("execute", CommandIs("cargo", under="/srv"), "allow"), line("cargo b", "/srv"), "cargo"),
    (Rule("write", Under("/etc/x.conf"), "allow"), wrote("/etc/x.conf"), "/etc/x.conf"),
)


@pytest.mark.parametrize(("rule", "needs", "example"), SAVED, ids=["args", "under", "path"])
def test_after_the_rule_is_saved_the_same_call_never_asks_again(
    world: World, tmp_path: Path, rule: Rule, needs: CallNeeds, example: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(COMMAND.format("execute", "other") + DENY)
    world.settings = read(path.read_bytes())
    assert outcome(world, needs).startswith("ask: ")
    assert save_rule(path, rule, "words", [example]) == t.AlwaysSaved(1, "words")
    world.settings = read(path.read_bytes())
    assert outcome(world, needs) == outcome(world, needs) == "allow"
    world.restart()
    assert outcome(world, needs) == "allow"
