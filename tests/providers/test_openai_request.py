"""Bodies of the Responses API: member order, options, messages to items (agent tests 7 to 11)."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from efr.providers.canonical import (
    Block,
    Grammar,
    ImageBlock,
    Message,
    ReasoningBlock,
    Request,
    TextBlock,
    ToolCallBlock,
    ToolDefinition,
    ToolResultBlock,
)
from efr.providers.openai_request import BodyFacts, build_body, is_reasoning_model

SHELL = ToolDefinition(
    "shell", "Runs a line.", {"type": "object", "properties": {"command": {"type": "string"}}}
)
PATCH = ToolDefinition(
    "apply_patch",
    "Edits files.",
    {
        "type": "object",
        "properties": {"input": {"type": "string"}},
        "required": ["input"],
        "additionalProperties": False,
    },
    Grammar("lark", "start: /.+/"),
)
FREEFORM = BodyFacts(freeform=True, max_output_tokens=None)
FUNCTIONS = BodyFacts(freeform=False, max_output_tokens=None)


def user(*blocks: Block | str) -> Message:
    return Message("user", tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks))


def assistant(*blocks: Block, raw: Any = None) -> Message:
    return Message("assistant", blocks, raw)


def body(request: Request, facts: BodyFacts = FREEFORM) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(build_body(request, facts))
    return value


def items(*messages: Message, facts: BodyFacts = FREEFORM) -> Any:
    return body(Request("gpt-5.5", messages, tools=(SHELL, PATCH)), facts)["input"]


def test_members_of_a_reasoning_model_stand_in_the_documented_order() -> None:
    request = Request(
        model="gpt-5.5",
        messages=(user("hi"),),
        system="be brief",
        tools=(SHELL,),
        effort="low",
        provider_options={"service_tier": "flex", "text_verbosity": "low"},
        conversation_id="c-1",
    )

    value = body(request, BodyFacts(freeform=True, max_output_tokens=500))

    assert list(value) == [
        "model",
        "stream",
        "service_tier",
        "instructions",
        "input",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "reasoning",
        "store",
        "include",
        "max_output_tokens",
        "prompt_cache_key",
        "text",
    ]
    assert value["reasoning"] == {"effort": "low", "summary": "auto"}
    assert value["include"] == ["reasoning.encrypted_content"]
    assert value["store"] is False
    assert value["prompt_cache_key"] == "c-1"
    assert value["text"] == {"verbosity": "low"}


def test_a_chat_model_gets_no_reasoning_and_an_empty_include() -> None:
    value = body(Request("gpt-5-chat-latest", (user("hi"),), system=""))

    assert "reasoning" not in value
    assert "instructions" not in value
    assert value["include"] == []


@pytest.mark.parametrize(
    ("model", "reasons"),
    [
        ("gpt-5.5", True),
        ("gpt-6.1-sol", True),
        ("o3-mini", True),
        ("codex-mini", True),
        ("gpt-4o", False),
        ("gpt-5-chat-latest", False),
    ],
)
def test_reasoning_models_are_known_by_their_ids(model: str, reasons: bool) -> None:
    assert is_reasoning_model(model) is reasons


def test_an_option_of_the_wrong_type_counts_as_absent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    options = {"parallel_tool_calls": "yes", "unknown": 1}

    value = body(Request("gpt-5.5", (user("hi"),), provider_options=options))

    assert value["parallel_tool_calls"] is True
    assert "parallel_tool_calls has the wrong type" in caplog.text
    assert "unknown" not in caplog.text


def test_null_switches_reasoning_defaults_off() -> None:
    options = {"reasoning_effort": None, "reasoning_summary": None, "prompt_cache_key": "mine"}

    value = body(Request("o3", (user("hi"),), provider_options=options, conversation_id="c"))

    assert "reasoning" not in value
    assert value["include"] == ["reasoning.encrypted_content"]
    assert value["prompt_cache_key"] == "mine"


def test_an_effort_option_counts_when_the_request_names_none() -> None:
    options = {"reasoning_effort": "high"}

    assert body(Request("o3", (user("hi"),), provider_options=options))["reasoning"] == {
        "effort": "high",
        "summary": "auto",
    }


def test_tools_go_as_custom_tools_only_to_a_model_that_takes_them() -> None:
    request = Request("gpt-5.5", (user("hi"),), tools=(SHELL, PATCH))

    assert body(request)["tools"] == [
        {
            "type": "function",
            "name": "shell",
            "description": "Runs a line.",
            "strict": False,
            "parameters": SHELL.input_schema,
        },
        {
            "type": "custom",
            "name": "apply_patch",
            "description": "Edits files.",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
        },
    ]
    assert body(request, FUNCTIONS)["tools"][1]["type"] == "function"
    assert body(request, FUNCTIONS)["tools"][1]["parameters"] == PATCH.input_schema


def test_text_and_images_form_one_item_and_calls_end_the_run() -> None:
    got = items(
        user("one", ImageBlock("image/png", "AAAA"), "two"),
        assistant(
            TextBlock("I look."),
            ReasoningBlock("dropped"),
            ImageBlock("image/png", "BBBB"),
            ToolCallBlock("c1", "shell", {"command": "ls"}),
            TextBlock("More."),
        ),
        user(ToolResultBlock("c1", "a.txt"), "go on"),
    )

    assert got == [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "one"},
                {
                    "type": "input_image",
                    "image_url": "data:image/png;base64,AAAA",
                    "detail": "auto",
                },
                {"type": "input_text", "text": "two"},
            ],
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I look."}],
        },
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "shell",
            "arguments": '{"command":"ls"}',
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "More."}],
        },
        {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]},
    ]


def test_a_failed_result_says_so_in_its_text() -> None:
    got = items(
        assistant(ToolCallBlock("c1", "shell", '{"broken')),
        user(ToolResultBlock("c1", "no", is_error=True)),
    )

    assert got[0]["arguments"] == '{"broken'
    assert got[1]["output"] == "Error: no"


def test_a_freeform_call_and_its_result_take_the_form_that_the_model_knows() -> None:
    messages = (
        assistant(ToolCallBlock("c1", "apply_patch", "*** Begin", freeform=True)),
        user(ToolResultBlock("c1", "Success.")),
    )

    assert items(*messages) == [
        {
            "type": "custom_tool_call",
            "call_id": "c1",
            "name": "apply_patch",
            "input": "*** Begin",
        },
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "Success."},
    ]
    assert items(*messages, facts=FUNCTIONS) == [
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "apply_patch",
            "arguments": '{"input":"*** Begin"}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": "Success."},
    ]


def test_own_items_go_back_unchanged_and_their_custom_calls_are_answered_as_such() -> None:
    raw = [
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x=="},
        {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "p"},
    ]
    call = ToolCallBlock("c1", "apply_patch", "p", freeform=True)

    got = items(assistant(call, raw=raw), user(ToolResultBlock("c1", "ok")))

    assert got[:2] == raw
    assert got[2]["type"] == "custom_tool_call_output"


@pytest.mark.parametrize("raw", ["[]", [], [1], [{"no": "type"}], {"type": "message"}])
def test_a_raw_value_of_another_shape_is_dropped(raw: Any) -> None:
    assert items(assistant(TextBlock("x"), raw=raw)) == [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    ]


@pytest.mark.parametrize("keeps_raw", [True, False])
def test_a_call_of_a_tool_not_on_offer_becomes_text_with_its_result(keeps_raw: bool) -> None:
    call = ToolCallBlock("c9", "edit", {"path": "a"})
    item = {"type": "function_call", "call_id": "c9", "name": "edit", "arguments": '{"path":"a"}'}

    got = items(
        assistant(call, raw=[item] if keeps_raw else None),
        user(ToolResultBlock("c9", "no match", is_error=True)),
    )

    assert [entry["type"] for entry in got] == ["message", "message"]
    assert got[0]["content"][0]["text"] == (
        '[call c9 of the tool edit, which is not on offer now]\n{"path":"a"}'
    )
    assert got[1]["content"][0]["text"] == "[failed result of call c9 of the tool edit]\nno match"


def test_reasoning_that_led_to_a_call_of_a_tool_not_on_offer_goes_with_it() -> None:
    thoughts = [{"type": "reasoning", "id": f"rs_{number}"} for number in range(4)]
    gone = {"type": "function_call", "call_id": "c1", "name": "edit", "arguments": "{}"}
    kept = {"type": "function_call", "call_id": "c2", "name": "shell", "arguments": "{}"}
    calls = (ToolCallBlock("c1", "edit", {}), ToolCallBlock("c2", "shell", {}))
    raw = [thoughts[0], thoughts[1], gone, thoughts[2], kept, thoughts[3]]

    got = items(assistant(*calls, raw=raw), user(ToolResultBlock("c2", "a")))

    assert [entry["type"] for entry in got[:1]] == ["message"]
    assert got[1:4] == [thoughts[2], kept, thoughts[3]]
