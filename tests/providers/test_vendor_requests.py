"""Every request of ours fits the vendors' own request types, and their clients send the same.

One conversation per API: parallel and freeform calls, failed and empty results, a picture, a
summary, another model and a tool that is gone. The bodies are those that the server received.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import ValidationError

from efr.providers.canonical import (
    Grammar,
    ImageBlock,
    Message,
    ModelFacts,
    Request,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    fold,
)
from efr.providers.provider import Provider
from tests.harness.model_server import ModelServer
from tests.providers.conftest import Bench
from tests.providers.test_vendor_clients import anthropic_client, openai_client
from tests.providers.vendor_types import unknown_members

Json = Any

INPUT = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}
SHELL = ToolDefinition("shell", "Runs a command.", {"type": "object", "properties": {}})
PATCH = ToolDefinition("apply_patch", "Changes files.", INPUT, Grammar("lark", "start: /.+/s"))
OPTIONS = {"service_tier": "flex", "text_verbosity": "low", "parallel_tool_calls": True}
MODELS = tuple(
    ModelFacts(id_, freeform_tools=True, max_output_tokens=900) for id_ in ("gpt-5.5", "gpt-6-sol")
)


def script(freeform: bool) -> list[Json]:
    calls = [
        {"name": "shell", "arguments": {"command": "ls"}},
        {"name": "shell", "arguments": {}},
        {"name": "apply_patch", "arguments": "*** Begin Patch", "custom": True}
        if freeform
        else {"name": "apply_patch", "arguments": {"input": "*** Begin Patch"}},
    ]
    first = {"pieces": [{"reasoning": "größe"}, {"text": "I look."}, {"calls": calls}]}
    return [first, *[{"pieces": [{"reasoning": "hm"}, {"text": "Done 🙂."}]}] * 4]


def user(text: str, *blocks: Any) -> Message:
    return Message("user", (*blocks, TextBlock(text)))


def talk(bench: Bench, provider: Provider, freeform: bool) -> list[Json]:
    """The bodies of a conversation's calls, in order."""
    bench.server.play(script(freeform))
    messages: tuple[Message, ...] = (user("look"),)

    def call(model: str = "gpt-5.5", tools: tuple[ToolDefinition, ...] = (SHELL, PATCH)) -> None:
        nonlocal messages
        side_call = not tools
        request = Request(
            model, messages, "You are efr.", tools, 800, "high", side_call, OPTIONS, "conv"
        )
        messages = (*messages, fold(bench.run(provider, request)).message)

    call()
    ids = [block.call_id for block in messages[-1].calls]
    results = [ToolResultBlock(ids[0], "a.txt"), ToolResultBlock(ids[1], "", is_error=True)]
    messages = (*messages, user("and this?", *results, ToolResultBlock(ids[2], "Success.")))
    call()
    messages = (*messages, user("this picture", ImageBlock("image/png", "AAAA")))
    call(tools=(SHELL,))
    messages = (*messages, user("sum it up"))
    call(tools=())
    messages = (*(message.without_raw() for message in messages), user("go on"))
    call("gpt-6-sol")
    return bench.server.bodies()


def whole_messages(body: Json) -> Json:
    """The vendor's type wants an id and a status on messages of the assistant; the API does not."""
    items = []
    for item in body["input"]:
        if item["type"] == "message" and item["role"] == "assistant" and "id" not in item:
            content = [{**part, "annotations": []} for part in item["content"]]
            items.append({**item, "id": "msg_x", "status": "completed", "content": content})
        else:
            items.append(item)
    return {**body, "input": items}


def openai_sends(server: ModelServer, body: Json) -> None:
    with openai_client(server) as client:
        for _ in client.responses.create(**body):
            pass


def chat_sends(server: ModelServer, body: Json) -> None:
    with openai_client(server) as client:
        for _ in client.chat.completions.create(**body):
            pass


def anthropic_sends(server: ModelServer, body: Json) -> None:
    with anthropic_client(server) as client:
        for _ in client.beta.messages.create(**body):
            pass


Case = tuple[Callable[[Bench], Provider], Any, Callable[[ModelServer, Json], None]]
CASES: dict[str, Case] = {
    "responses": (
        lambda bench: bench.responses(models=MODELS),
        ResponseCreateParamsStreaming,
        openai_sends,
    ),
    "subscription": (
        lambda bench: bench.responses(models=MODELS, subscription=True),
        ResponseCreateParamsStreaming,
        openai_sends,
    ),
    "messages": (
        lambda bench: bench.messages(MODELS),
        MessageCreateParamsStreaming,  # with the beta that our header asks for
        anthropic_sends,
    ),
    "chat": (
        lambda bench: bench.chat(models=MODELS),
        CompletionCreateParamsStreaming,
        chat_sends,
    ),
}


def misfits(name: str, body: Json) -> list[str]:
    """The members that the vendor's type does not know; a JSON schema may have any.

    Raises ValidationError for a value that it does not take.
    """
    _, kind, _ = CASES[name]
    responses = kind is ResponseCreateParamsStreaming
    found = unknown_members(kind, whole_messages(body) if responses else body)
    return [path for path in found if ".input_schema." not in path]


@pytest.mark.parametrize("name", CASES)
def test_every_body_of_a_conversation_fits_the_vendors_type(bench: Bench, name: str) -> None:
    make, kind, send = CASES[name]
    bodies = talk(bench, make(bench), freeform=kind is ResponseCreateParamsStreaming)

    assert len(bodies) == 5
    for body in bodies:
        assert misfits(name, body) == []
    bench.server.play([{"pieces": [{"text": "ok"}]}] * 5)
    for body in bodies:
        send(bench.server, body)
    assert bench.server.bodies() == bodies


def test_a_misfit_would_be_seen() -> None:
    fits = {"model": "m", "max_tokens": 9, "stream": True}
    text = {"type": "text", "text": "hi"}

    def unknown(block: Json) -> list[str]:
        messages = [{"role": "user", "content": [block]}]
        return unknown_members(MessageCreateParamsStreaming, fits | {"messages": messages})

    assert unknown(text) == []
    assert unknown(text | {"strange": 1}) == [".messages[].content[].strange"]
    for bad in ({"type": "text"}, {"type": "text", "text": 5}, {"type": "tool_result"}):
        with pytest.raises(ValidationError):
            unknown(bad)
