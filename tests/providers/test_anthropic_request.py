"""Bodies of the Messages API and their cache markers (agent tests 37 to 42)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from efr.providers.anthropic_cache import Lifetimes
from efr.providers.anthropic_request import Body, build_body, raw_blocks
from efr.providers.canonical import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    Request,
    TextBlock,
    ToolCallBlock,
    ToolDefinition,
    ToolResultBlock,
    decode_message,
    encode_message,
)
from efr.providers.settings import CacheTtl
from efr.providers.withdrawn import NOT_ANSWERED

SHELL = ToolDefinition("shell", "Runs a line.", {"type": "object"})
EDIT = ToolDefinition("edit", "Edits a file.", {"type": "object"})
MARKER = re.compile(r',"cache_control":\{"type":"ephemeral","ttl":"(5m|1h)"\}')
BIG = "x" * (4 * 25_000)


def user(*blocks: Block | str) -> Message:
    return Message("user", tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks))


def assistant(*blocks: Block, raw: Any = None) -> Message:
    return Message("assistant", blocks, raw)


def calls(number: int) -> Message:
    return assistant(ToolCallBlock(f"c{number}", "shell", {"command": "ls"}))


def result(number: int, output: str = "out") -> Message:
    return user(ToolResultBlock(f"c{number}", output))


def build(*messages: Message, ttl: CacheTtl = "auto", side_call: bool = False, **more: Any) -> Body:
    members: dict[str, Any] = {"system": "be brief", "tools": (SHELL, EDIT)} | more
    request = Request("claude-opus-5-5", messages, side_call=side_call, **members)
    return build_body(request, 1000, "medium", Lifetimes(ttl))


def parsed(*messages: Message, **more: Any) -> Any:
    return json.loads(build(*messages, **more).text)


def contents(*messages: Message, **more: Any) -> Any:
    """Roles and blocks without markers."""
    text = MARKER.sub("", build(*messages, **more).text)
    return [(m["role"], m["content"]) for m in json.loads(text)["messages"]]


def test_members_stand_in_the_documented_order() -> None:
    value = parsed(user("hi"), provider_options={"temperature": 1, "service_tier": "x"})

    assert list(value) == [
        "model",
        "stream",
        "max_tokens",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "messages",
    ]
    assert value["thinking"] == {
        "type": "adaptive",
        "display": "summarized",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    assert value["output_config"] == {"effort": "medium"}
    assert value["tool_choice"] == {"type": "auto"}
    assert [list(tool) for tool in value["tools"]] == [["name", "description", "input_schema"]] * 2


def test_tools_and_system_are_left_out_when_there_are_none() -> None:
    value = parsed(user("hi"), system=None, tools=())

    assert {"system", "tools", "tool_choice"}.isdisjoint(value)


def test_messages_of_one_role_merge_and_results_come_first() -> None:
    assert contents(
        user("a"),
        user("b"),
        assistant(TextBlock("x"), ToolCallBlock("c!1", "shell", [1])),
        user("steer", ToolResultBlock("c!1", "", is_error=True)),
        user("more"),
    ) == [
        ("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        (
            "assistant",
            [
                {"type": "text", "text": "x"},
                {"type": "tool_use", "id": "c_1", "name": "shell", "input": {"input": [1]}},
            ],
        ),
        (
            "user",
            [
                {"type": "tool_result", "tool_use_id": "c_1", "is_error": True},
                {"type": "text", "text": "steer"},
                {"type": "text", "text": "more"},
            ],
        ),
    ]


def test_empty_texts_and_messages_and_unsigned_reasoning_go() -> None:
    assert contents(
        user("a", "", ImageBlock("image/png", "AAAA")),
        assistant(ReasoningBlock("hm"), TextBlock("")),
        user("b"),
    ) == [
        (
            "user",
            [
                {"type": "text", "text": "a"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
                },
                {"type": "text", "text": "b"},
            ],
        )
    ]


@pytest.mark.parametrize("after", [(), (user("next"),), (user(ToolResultBlock("c1", "one")),)])
def test_every_call_is_answered_in_the_next_message(after: tuple[Message, ...]) -> None:
    both = assistant(ToolCallBlock("c1", "shell", {}), ToolCallBlock("c2", "shell", {}))

    role, blocks = contents(user("hi"), both, *after)[2]

    results = {b["tool_use_id"]: b for b in blocks if b["type"] == "tool_result"}
    assert role == "user"
    assert list(results) == ["c1", "c2"]
    assert results["c2"]["content"] == NOT_ANSWERED
    assert results["c2"]["is_error"] is True


def test_own_blocks_go_back_byte_for_byte() -> None:
    raw = (
        '[{"type":"thinking","thinking":"größe\\u00e9","signature":"s=="},'
        ' {"type":"text","text":""},\n{"type":"tool_use","id":"t1","name":"shell",'
        '"input":{ "command" :\t"ls" }}]'
    )
    message = assistant(ToolCallBlock("t1", "shell", {"command": "ls"}), raw=raw)

    text = build(user("hi"), message, user(ToolResultBlock("t1", "a"))).text

    thinking, _, call = raw_blocks(raw)
    assert f'{{"role":"assistant","content":[{thinking},{call}]}}' in text
    assert '\\u00e9","signature":"s=="' in text


@pytest.mark.parametrize("empty", ["", "\n\n", " \t"])
@pytest.mark.parametrize("keeps_raw", [True, False])
def test_texts_of_blanks_alone_go(empty: str, keeps_raw: bool) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "shell", "input": {"command": "ls"}}
    raw = json.dumps([{"type": "text", "text": empty}, call])
    block = ToolCallBlock("c1", "shell", {"command": "ls"})

    got = contents(
        user("hi", empty),
        assistant(TextBlock(empty), block, raw=raw if keeps_raw else None),
        result(1),
        assistant(TextBlock(empty)),
        user("go on"),
    )

    assert [(role, len(blocks)) for role, blocks in got] == [
        ("user", 1),
        ("assistant", 1),
        ("user", 2),
    ]


@pytest.mark.parametrize("raw", ["", "[]", "no array", '[{"type":', "[1]", [], {"type": "text"}])
def test_a_raw_value_of_another_shape_is_dropped(raw: Any) -> None:
    got = contents(user("hi"), assistant(TextBlock("x"), raw=raw), user("go on"))

    assert got[1] == ("assistant", [{"type": "text", "text": "x"}])


def test_a_lone_surrogate_in_a_call_of_a_tool_not_on_offer_can_be_sent() -> None:
    raw = r'[{"type":"tool_use","id":"t1","name":"gone","input":{"a":"\ud800"}}]'
    message = assistant(ToolCallBlock("t1", "gone", {"a": "\ufffd"}), raw=raw)

    assert "\ufffd" in build(user("hi"), message, user(ToolResultBlock("t1", "a"))).text


@pytest.mark.parametrize("keeps_raw", [True, False])
def test_a_call_of_a_tool_not_on_offer_becomes_text_with_its_result(keeps_raw: bool) -> None:
    raw = '[{"type":"tool_use","id":"t1","name":"apply_patch","input":{"input":"p"}}]'
    message = assistant(
        ToolCallBlock("t1", "apply_patch", {"input": "p"}), raw=raw if keeps_raw else None
    )

    got = contents(user("hi"), message, user(ToolResultBlock("t1", "done")))

    assert got[1:] == [
        (
            "assistant",
            [
                {
                    "type": "text",
                    "text": "[call t1 of the tool apply_patch, which is not on offer now]\n"
                    '{"input":"p"}',
                }
            ],
        ),
        (
            "user",
            [{"type": "text", "text": "[result of call t1 of the tool apply_patch]\ndone"}],
        ),
    ]


def test_a_freeform_call_goes_as_a_function() -> None:
    call = ToolCallBlock("c1", "shell", "ls", freeform=True)

    assert contents(assistant(call), result(1))[0][1][0]["input"] == {"input": "ls"}


# --- markers ---

TURN = (user("one"), calls(1), result(1), calls(2), result(2))


def markers(*messages: Message, **more: Any) -> str:
    return build(*messages, **more).markers.partition("markers=")[2]


def test_the_calls_of_two_turns_are_marked_slot_by_slot() -> None:
    assert [markers(*TURN[:n]) for n in (1, 3, 5)] == [
        "S1h,T1h",
        "S1h,A1h,T5m",  # A and P are one message
        "S1h,A1h,P5m,T5m",
    ]
    second = (*TURN, assistant(TextBlock("done")), user("two"))
    assert markers(*second) == "S1h,A1h,P1h,T1h"  # a new anchor marks everything for an hour
    assert markers(*second, calls(3), result(3)) == "S1h,A1h,T5m"


def test_a_large_result_is_a_new_anchor() -> None:
    grown = (*TURN[:2], result(1, BIG))

    assert markers(*grown) == "S1h,A1h,T1h"
    assert markers(*grown, calls(2), result(2)) == "S1h,A1h,T5m"


def test_a_side_call_makes_no_anchor() -> None:
    assert markers(*TURN, assistant(TextBlock("x")), user("summarize"), side_call=True) == (
        "S1h,A1h,P5m,T5m"
    )


@pytest.mark.parametrize("ttl", ["5m", "1h"])
def test_a_fixed_time_is_used_everywhere(ttl: CacheTtl) -> None:
    assert markers(*TURN, ttl=ttl) == f"S{ttl},A{ttl},P{ttl},T{ttl}"


def test_markers_stand_last_in_system_and_on_the_last_block_of_user_messages() -> None:
    value = parsed(*TURN, user("and", "more"))

    assert value["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert all("cache_control" not in tool for tool in value["tools"])
    marked = [
        (index, [list(block)[-1] == "cache_control" for block in message["content"]])
        for index, message in enumerate(value["messages"])
        if any("cache_control" in block for block in message["content"])
    ]
    assert marked == [(0, [True]), (2, [True]), (4, [False, False, True])]


def test_without_a_system_prompt_the_last_tool_is_marked() -> None:
    value = parsed(user("hi"), system=None)

    assert ["cache_control" in tool for tool in value["tools"]] == [False, True]
    assert markers(user("hi"), system=None, tools=()) == "T1h"


def test_no_hour_follows_five_minutes_and_four_markers_are_the_most() -> None:
    messages: list[Message] = []
    for turn in range(12):
        messages.append(user(f"prompt {turn}"))
        for step in range(turn % 4):
            number = turn * 10 + step
            messages += [calls(number), result(number, BIG if step == 2 else "out")]
            times = MARKER.findall(build(*messages).text)
            assert times == sorted(times)  # "1h" sorts before "5m"
            assert len(times) <= 4
        messages.append(assistant(TextBlock("done")))


def test_each_request_without_markers_is_a_prefix_of_the_next() -> None:
    """64 calls with a restart: the messages go through their saved form half way."""
    raw = '[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"%s",'
    messages = [user("one")]
    before = ""
    for number in range(64):
        text = MARKER.sub("", build(*messages).text).removesuffix("]}")
        assert text.startswith(before)
        before = text
        signed = raw % f"c{number}" + '"name":"shell","input":{"command": "ls"}}]'
        call = ToolCallBlock(f"c{number}", "shell", {"command": "ls"})
        messages += [assistant(call, raw=signed), result(number, "é" * number)]
        if number % 9 == 8:
            messages += [assistant(TextBlock("done")), user(f"prompt {number}")]
        if number == 32:
            messages = [decode_message(encode_message(message)) for message in messages]
