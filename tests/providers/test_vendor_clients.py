"""The fake model server is right: the vendors' own clients read its streams.

If these pass, a provider test against the fake server means what it says. Nothing of ours but
the server runs here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
import pytest

from efr.providers.canonical import Done, decode_event
from tests.harness.model_server import ModelServer
from tests.providers.recorded import NAMES, expected, stream

USAGE = {"input": 120, "output": 30, "cached": 100, "reasoning": 8, "written": 5}
ANSWER = {
    "pieces": [
        {"reasoning": "They want two facts."},
        {"text": ["Grö", "ße 🙂."]},
        {
            "calls": [
                {"name": "shell", "arguments": {"command": "df -h"}},
                {"name": "read_file", "arguments": {"path": "/etc/os-release"}},
            ]
        },
    ],
    "usage": USAGE,
}
CALLS = [("shell", {"command": "df -h"}), ("read_file", {"path": "/etc/os-release"})]


@contextmanager
def openai_client(server: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="sk-test", base_url=server.base_url, max_retries=0) as client:
        yield client


@contextmanager
def anthropic_client(server: ModelServer) -> Iterator[anthropic.Anthropic]:
    root = server.base_url.removesuffix("/v1")
    with anthropic.Anthropic(api_key="sk-ant-test", base_url=root, max_retries=0) as client:
        yield client


def read_json(text: str) -> Any:
    return json.loads(text)


def test_openai_client_reads_the_responses_shape(model_server: ModelServer) -> None:
    model_server.play([ANSWER])
    with (
        openai_client(model_server) as client,
        client.responses.stream(model="fake-model", input="hi") as stream,
    ):
        kinds = [event.type for event in stream]
        whole = stream.get_final_response()

    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert whole.output_text == "Größe 🙂."
    calls = [item for item in whole.output if item.type == "function_call"]
    assert [(c.name, read_json(c.arguments)) for c in calls] == CALLS
    reasoning = next(item for item in whole.output if item.type == "reasoning")
    assert reasoning.summary[0].text == "They want two facts."
    assert whole.usage is not None
    assert whole.usage.input_tokens == 120
    assert whole.usage.input_tokens_details.cached_tokens == 100
    assert whole.usage.output_tokens_details.reasoning_tokens == 8


def test_openai_client_reads_a_custom_call(model_server: ModelServer) -> None:
    patch = {"name": "apply_patch", "arguments": "*** Begin Patch", "custom": True}
    model_server.play([{"pieces": [{"call": patch}]}])
    with (
        openai_client(model_server) as client,
        client.responses.stream(model="fake-model", input="hi") as stream,
    ):
        stream.until_done()
        item = stream.get_final_response().output[0]

    assert item.type == "custom_tool_call"
    assert item.input == "*** Begin Patch"


def test_openai_client_reads_the_chat_shape(model_server: ModelServer) -> None:
    model_server.play([ANSWER])
    with (
        openai_client(model_server) as client,
        client.chat.completions.stream(
            model="fake-model",
            messages=[{"role": "user", "content": "hi"}],
            stream_options={"include_usage": True},
        ) as stream,
    ):
        stream.until_done()
        whole = stream.get_final_completion()

    message = whole.choices[0].message
    assert message.content == "Größe 🙂."
    assert [
        (c.function.name, read_json(c.function.arguments)) for c in message.tool_calls or ()
    ] == (CALLS)
    assert whole.choices[0].finish_reason == "tool_calls"
    assert whole.usage is not None
    assert whole.usage.prompt_tokens == 120


def test_anthropic_client_reads_the_messages_shape(model_server: ModelServer) -> None:
    model_server.play([ANSWER])
    with (
        anthropic_client(model_server) as client,
        client.messages.stream(
            model="fake-model", max_tokens=100, messages=[{"role": "user", "content": "hi"}]
        ) as stream,
    ):
        text = "".join(stream.text_stream)
        whole = stream.get_final_message()

    assert text == "Größe 🙂."
    kinds = [block.type for block in whole.content]
    assert kinds == ["thinking", "text", "tool_use", "tool_use"]
    assert [(b.name, b.input) for b in whole.content if b.type == "tool_use"] == CALLS
    assert whole.stop_reason == "tool_use"
    assert whole.usage.output_tokens == 30
    assert whole.usage.input_tokens + (whole.usage.cache_read_input_tokens or 0) == 115
    assert whole.usage.cache_creation_input_tokens == 5


def recorded(server: ModelServer, name: str) -> Any:
    """Plays the recording; what we send back of it in the next request."""
    server.play([{"stream": stream(name).decode()}])
    end = decode_event(expected(name).splitlines()[-1])
    assert isinstance(end, Done)
    return end.provider_raw


def shape(name: str) -> str:
    return name.partition("-")[0]


@pytest.mark.parametrize("name", [name for name in NAMES if shape(name) == "responses"])
def test_openai_client_reads_our_recordings(model_server: ModelServer, name: str) -> None:
    raw = recorded(model_server, name)
    with openai_client(model_server) as client:
        events = list(client.responses.create(model="m", input="hi", stream=True))

    assert events[-1].type in ("response.completed", "response.incomplete")
    done = [event for event in events if event.type == "response.output_item.done"]
    assert [event.item.to_dict() for event in done] == raw


@pytest.mark.parametrize("name", [name for name in NAMES if shape(name) == "chat"])
def test_openai_client_reads_our_chat_recordings(model_server: ModelServer, name: str) -> None:
    recorded(model_server, name)
    ask: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    with openai_client(model_server) as client:
        chunks = list(client.chat.completions.create(**ask))

    assert any(choice.finish_reason for chunk in chunks for choice in chunk.choices)


@pytest.mark.parametrize("name", [name for name in NAMES if shape(name) == "messages"])
def test_anthropic_client_reads_our_recordings(model_server: ModelServer, name: str) -> None:
    raw = recorded(model_server, name)
    with (
        anthropic_client(model_server) as client,
        client.messages.stream(
            model="m", max_tokens=100, messages=[{"role": "user", "content": "hi"}]
        ) as answer,
    ):
        whole = answer.get_final_message()

    assert [block.to_dict() for block in whole.content] == read_json(raw)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
    ],
)
def test_openai_client_reads_errors(
    model_server: ModelServer, status: int, kind: type[openai.APIStatusError]
) -> None:
    body = {"error": {"message": "told so", "type": "t", "code": "c", "param": None}}
    error = {"status": status, "body": body, "headers": {"retry-after": "7"}}
    model_server.play([{"error": error}])
    with openai_client(model_server) as client, pytest.raises(kind) as caught:
        client.responses.create(model="fake-model", input="hi")

    assert caught.value.code == "c"
    assert caught.value.response.headers["retry-after"] == "7"


def test_anthropic_client_reads_errors(model_server: ModelServer) -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    model_server.play([{"error": {"status": 529, "body": body}}, {"pieces": [{"event": body}]}])
    with anthropic_client(model_server) as client:
        for _ in range(2):  # as a status, then inside a stream
            with (
                pytest.raises(anthropic.APIStatusError) as caught,
                client.messages.stream(
                    model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
                ) as stream,
            ):
                stream.until_done()
            assert "Overloaded" in str(caught.value)


def test_vendor_clients_read_the_model_lists(model_server: ModelServer) -> None:
    with openai_client(model_server) as client:
        assert [model.id for model in client.models.list()] == ["fake-model", "other-model"]
    with anthropic_client(model_server) as client2:
        assert [model.id for model in client2.models.list()] == ["fake-model", "other-model"]


def test_a_break_ends_the_vendors_stream_too(model_server: ModelServer) -> None:
    model_server.play([{"pieces": [{"text": "half"}, {"break": True}]}])
    with openai_client(model_server) as client, pytest.raises(openai.APIConnectionError):
        for _ in client.responses.create(model="fake-model", input="hi", stream=True):
            pass
