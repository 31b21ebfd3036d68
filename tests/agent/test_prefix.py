"""The provider's cache serves a conversation: each request starts with every byte of the one
before, as each API writes it, over calls, steers, failures, interrupts and a restart."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from efr.config.project_text import Project
from efr.providers import anthropic_request, chat_request, openai_request
from efr.providers.anthropic_cache import Lifetimes
from efr.providers.canonical import Done, Request, TextDelta, ToolCallEnd, ToolCallStart
from efr.providers.errors import Overloaded
from efr.tools.contract import ToolResult
from tests.agent.dialogue import answer, call, run
from tests.agent.scripted_model import Hold, Step, usage
from tests.agent.scripted_tools import HeldTool
from tests.agent.world import World

_MARKER = re.compile(r',"cache_control":\{[^}]*\}')


def responses(request: Request) -> list[str]:
    body = json.loads(openai_request.build_body(request, openai_request.BodyFacts(True, None)))
    head = [body["instructions"], body["tools"], body["prompt_cache_key"]]
    return [json.dumps(one) for one in [*head, *body["input"]]]


def messages(request: Request) -> list[str]:
    text = anthropic_request.build_body(request, 1000, "high", Lifetimes("auto")).text
    body = json.loads(_MARKER.sub("", text))
    blocks = [(one["role"], block) for one in body["messages"] for block in one["content"]]
    return [json.dumps(one) for one in [body["system"], body["tools"], *blocks]]


def completions(request: Request) -> list[str]:
    body = json.loads(chat_request.build_body(request, 1000, chat_request.BodyForm()))
    return [json.dumps(one) for one in [body["tools"], *body["messages"]]]


def items(*calls: tuple[str, str]) -> object:
    """An answer as the Responses API would have it back."""
    thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"}
    return [thought, *(_item(call_id, name) for call_id, name in calls), thought | {"id": "rs2"}]


def _item(call_id: str, name: str) -> dict[str, str]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": '{"a": 1}'}


def content(*calls: tuple[str, str]) -> object:
    """An answer as the Messages API would have it back."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    uses = [{"type": "tool_use", "id": i, "name": n, "input": {"a": 1}} for i, n in calls]
    return json.dumps([thought, *uses])


def nothing(*calls: tuple[str, str]) -> object:
    return None


@pytest.mark.parametrize(
    ("form", "raw"),
    [(responses, items), (messages, content), (completions, nothing)],
    ids=["responses", "messages", "completions"],
)
def test_each_request_starts_with_the_one_before(
    world: World, form: Callable[[Request], list[str]], raw: Callable[..., object], tmp_path: Path
) -> None:
    world.tools.look.do = lambda input, ctx: ToolResult(output="größe 🙂 " * 50)
    run(world, "first", call("{}", '{"a": 1}'), answer("one"), last_command="ls", pwd=world.home)
    run(world, "it fails", call("{}"), [Overloaded()])
    run(world, "half an answer", [TextDelta("only this"), Overloaded()])
    run(world, "nothing comes", [Overloaded()])
    held = Hold()
    world.provider.answers([TextDelta("I begin"), held, usage(), Done("end_turn")])
    sent = world.send("stopped")
    held.wait()
    world.interrupt(sent.conversation_id)
    world.wait_end(sent.turn_id)
    tool = HeldTool()
    world.tools.look.do = tool
    world.provider.answers(call("{}"), answer("read it"))
    sent = world.send("go")
    tool.wait()
    world.steer(sent.conversation_id, "and quickly")
    tool.go()
    world.wait_end(sent.turn_id)
    here = {"conversation_id": sent.conversation_id}
    asked = [("c0", "look"), ("c1", "no_such_tool"), ("c2", "look")]
    script: list[Step] = [TextDelta("I try. ")]
    for call_id, name in asked:
        script += [ToolCallStart(call_id, name), ToolCallEnd(call_id, '{"a": 1}')]
    end = Done("tool_use", provider_raw=raw(*asked))
    run(world, "a tool that is none", [*script, usage(), end], answer("no"), **here)
    project = Project("00000000-0000-7000-8000-00000000000a", str(tmp_path / "app"))
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "AGENTS.md").write_text("Use tabs.")
    world.registry.projects.append(project)
    run(world, "in a project", answer("ok"), pwd=project.root, **here)
    (tmp_path / "app" / "AGENTS.md").write_text("Use spaces.")
    run(world, "in a project", answer("ok"), pwd=project.root, **here)
    (world.home / "sub").mkdir()
    run(world, "elsewhere", answer("two"), pwd=world.home / "sub", **here)
    world.restart()
    run(world, "after a restart", answer("three"), **here)
    forms = ["".join(form(request)) for request in world.provider.requests]
    for before, after in pairwise(forms):
        assert after.startswith(before.rstrip('"}]'))
        assert len(after) > len(before)
    assert len(forms) == 15
    assert forms[-1].count("Use tabs.") == forms[-1].count("Use spaces.") == 1
    assert forms[-1].count("which is not on offer now") == 1
