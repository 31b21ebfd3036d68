"""Events of the Responses API that a recorded stream does not show."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from efr.providers.canonical import (
    CallUsage,
    Done,
    Raw,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageEvent,
)
from efr.providers.errors import ApiError, DecodeFailed, InvalidStream
from efr.providers.openai_stream import ResponsesReader
from efr.providers.sse import ServerEvent


def read(*events: dict[str, Any] | str) -> list[StreamEvent]:
    reader = ResponsesReader(lambda value: ApiError(None, "seen", json.dumps(value)))
    out: list[StreamEvent] = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        out += reader.feed(ServerEvent("message", data))
    return out


def added(index: int, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def completed(**response: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": response}


def text(item: str, delta: str, kind: str = "output_text") -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "item_id": item, "delta": delta}


def test_two_messages_in_a_row_are_parted_by_a_blank_line() -> None:
    assert read(text("m1", "one"), text("m1", " more"), text("m2", "two")) == [
        TextDelta("one"),
        TextDelta(" more"),
        TextDelta("\n\ntwo"),
    ]


def test_a_refusal_is_text() -> None:
    assert read(text("m1", "I cannot.", "refusal")) == [TextDelta("I cannot.")]


def test_reasoning_sections_are_parted_and_text_between_them_parts_them_too() -> None:
    def summary(index: int, delta: str) -> dict[str, Any]:
        kind = "response.reasoning_summary_text.delta"
        return {"type": kind, "item_id": "r", "summary_index": index, "delta": delta}

    assert read(
        summary(0, "a"), summary(0, "b"), summary(1, "c"), text("m", "t"), summary(2, "d")
    ) == [
        ReasoningDelta("a"),
        ReasoningDelta("b"),
        ReasoningDelta("\n\nc"),
        TextDelta("t"),
        ReasoningDelta("d"),
    ]


def test_a_call_is_found_by_item_then_index_then_call_id() -> None:
    call = {"type": "function_call", "name": "t"}
    kind = "response.function_call_arguments.delta"
    got = read(
        added(0, **call, id="i0", call_id="c0"),
        added(1, **call, call_id="c1"),
        added(2, **call, call_id="c2"),
        {"type": kind, "item_id": "i0", "output_index": 1, "delta": "x"},
        {"type": kind, "output_index": 1, "delta": "y"},
        {"type": kind, "call_id": "c2", "delta": "z"},
        {"type": kind, "item_id": "nobody", "delta": "lost"},
    )

    assert [event for event in got if isinstance(event, ToolCallDelta)] == [
        ToolCallDelta("c0", "x"),
        ToolCallDelta("c1", "y"),
        ToolCallDelta("c2", "z"),
    ]


def test_an_item_without_deltas_gives_its_text_summary_and_call_at_its_end() -> None:
    reasoning = {"type": "reasoning", "id": "r", "summary": [{"text": "a"}, {"text": "b"}]}
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "hi"}]}
    call = {"type": "custom_tool_call", "id": "i", "call_id": "c", "name": "p", "input": "x"}

    got = read(done(0, **reasoning), done(1, **message), done(2, **call), completed())

    assert got == [
        ReasoningDelta("a"),
        ReasoningDelta("\n\nb"),
        TextDelta("hi"),
        ToolCallStart("c", "p", freeform=True),
        ToolCallEnd("c", "x"),
        Done("tool_use", [reasoning, message, call]),
    ]


def test_items_go_back_in_the_order_of_the_answer() -> None:
    first, second = {"type": "message", "id": "a"}, {"type": "message", "id": "b"}

    assert read(done(1, **second), done(0, **first), completed())[-1] == (
        Done("end_turn", [first, second])
    )


def test_the_final_output_stands_in_for_items_that_never_came() -> None:
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "hi"}]}

    assert read(completed(output=[message])) == [TextDelta("hi"), Done("end_turn", [message])]


def test_completed_ends_a_call_that_is_still_open_with_what_streamed() -> None:
    got = read(
        added(0, type="function_call", id="i", call_id="c", name="t"),
        {"type": "response.function_call_arguments.delta", "item_id": "i", "delta": '{"a"'},
        {"type": "response.function_call_arguments.done", "item_id": "i", "arguments": '{"a":1}'},
        completed(),
    )

    assert got[-2:] == [ToolCallEnd("c", '{"a":1}'), Done("tool_use")]


def test_usage_reads_every_count_and_takes_missing_ones_as_zero() -> None:
    whole = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 3},
    }

    assert read(completed(usage=whole))[0] == UsageEvent(CallUsage(10, 5, 4, 3, 2))
    assert read(completed(usage={"input_tokens": None}))[0] == UsageEvent(CallUsage())
    assert read(completed(usage=None)) == [Done("end_turn")]


@pytest.mark.parametrize(
    ("reason", "stop"), [("max_output_tokens", "max_tokens"), ("content_filter", "content_filter")]
)
def test_an_incomplete_answer_tells_why(reason: str, stop: str) -> None:
    event = {"type": "response.incomplete", "response": {"incomplete_details": {"reason": reason}}}

    assert read(event) == [Done(stop)]  # type: ignore[arg-type]


def test_a_thought_that_was_cut_is_not_sent_back() -> None:
    event = {
        "type": "response.incomplete",
        "response": {"incomplete_details": {"reason": "max_output_tokens"}},
    }
    said = {"type": "message", "id": "m"}

    def raw(*items: dict[str, Any]) -> Any:
        *_, last = read(*(done(index, **item) for index, item in enumerate(items)), event)
        assert isinstance(last, Done)
        return last.provider_raw

    thought = {"type": "reasoning", "id": "r", "summary": []}
    assert raw(thought) is None
    assert raw(thought, said, thought, thought) == [thought, said]


@pytest.mark.parametrize("done_too", [False, True])
def test_an_incomplete_answer_with_an_open_call_never_ends_that_call(done_too: bool) -> None:
    call = {"type": "function_call", "id": "i", "call_id": "c", "name": "t", "arguments": '{"a'}
    cut = [done(0, **call, status="incomplete")] if done_too else []

    with pytest.raises(InvalidStream):
        read(
            added(0, **call),
            *cut,
            {
                "type": "response.incomplete",
                "response": {"incomplete_details": {"reason": "max_output_tokens"}},
            },
        )


def test_an_incomplete_answer_for_another_reason_is_an_error() -> None:
    with pytest.raises(ApiError, match="because"):
        read(
            {
                "type": "response.incomplete",
                "response": {"incomplete_details": {"reason": "because"}},
            }
        )


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.failed", "response": {"error": {"code": "x", "message": "m"}}},
        {"type": "error", "code": "x", "message": "m"},
        {"type": "error", "error": {"code": "x", "message": "m"}},
    ],
)
def test_failures_end_the_stream_with_their_error(event: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as caught:
        read(event)
    assert '"x"' in caught.value.message


def test_a_type_may_stand_in_the_events_name_alone() -> None:
    reader = ResponsesReader(lambda value: ApiError(None, None, "read"))
    data = json.dumps({"delta": "hm", "item_id": "r", "summary_index": 0})

    events = reader.feed(ServerEvent("response.reasoning_summary_text.delta", data))

    assert list(events) == [ReasoningDelta("hm")]


@pytest.mark.parametrize("data", ["{broken", "[1]", "nothing"])
def test_data_that_is_no_object_cannot_be_read(data: str) -> None:
    with pytest.raises(DecodeFailed):
        read(data)


def test_done_lines_are_ignored_wherever_they_stand() -> None:
    assert read("[DONE]", completed(), "[DONE]") == [Done("end_turn")]


def test_an_unknown_event_is_raw_and_its_type_is_cut_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    event = {"type": "x" * 5000}

    assert read(event) == [Raw(event)]
    assert caplog.messages == ["unknown event " + "x" * 128]


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    event = '{"type":"response.output_text.delta","item_id":"m","delta":"a\\ud83d"}'

    assert read(event) == [TextDelta("a\N{REPLACEMENT CHARACTER}")]
