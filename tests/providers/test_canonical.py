from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.providers.canonical import (
    Block,
    CallUsage,
    Done,
    ImageBlock,
    Message,
    Raw,
    ReasoningBlock,
    ReasoningDelta,
    StreamEvent,
    StreamFold,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolResultBlock,
    UsageEvent,
    decode_event,
    decode_message,
    encode_event,
    encode_message,
    fold,
    parse_arguments,
)
from efr.providers.errors import Incomplete, InvalidStream

BLOCKS: list[tuple[Block, bytes]] = [
    (TextBlock("größe"), '{"kind":"text","text":"größe"}'.encode()),
    (
        ToolCallBlock("c1", "shell", {"command": "ls"}),
        b'{"kind":"tool_call","call_id":"c1","name":"shell","input":{"command":"ls"}}',
    ),
    (
        ToolCallBlock("c1", "apply_patch", "*** Begin", freeform=True),
        b'{"kind":"tool_call","call_id":"c1","name":"apply_patch","input":"*** Begin",'
        b'"freeform":true}',
    ),
    (ToolResultBlock("c1", "out"), b'{"kind":"tool_result","call_id":"c1","output":"out"}'),
    (
        ToolResultBlock("c1", "out", is_error=True),
        b'{"kind":"tool_result","call_id":"c1","output":"out","is_error":true}',
    ),
    (ReasoningBlock("hm"), b'{"kind":"reasoning","text":"hm"}'),
    (ImageBlock("image/png", "AAAA"), b'{"kind":"image","media_type":"image/png","data":"AAAA"}'),
]

EVENTS: list[tuple[StreamEvent, bytes]] = [
    (TextDelta("a"), b'{"kind":"text_delta","data":{"text":"a"}}'),
    (ReasoningDelta("r"), b'{"kind":"reasoning_delta","data":{"text":"r"}}'),
    (
        ToolCallStart("c", "shell"),
        b'{"kind":"tool_call_start","data":{"call_id":"c","name":"shell"}}',
    ),
    (
        ToolCallStart("c", "apply_patch", freeform=True),
        b'{"kind":"tool_call_start","data":{"call_id":"c","name":"apply_patch","freeform":true}}',
    ),
    (
        ToolCallDelta("c", "{"),
        b'{"kind":"tool_call_delta","data":{"call_id":"c","arguments":"{"}}',
    ),
    (
        ToolCallEnd("c", "{}"),
        b'{"kind":"tool_call_end","data":{"call_id":"c","arguments":"{}"}}',
    ),
    (
        UsageEvent(CallUsage(10, 2, cached_input_tokens=5)),
        b'{"kind":"usage","data":{"input_tokens":10,"output_tokens":2,"cached_input_tokens":5}}',
    ),
    (Done("end_turn"), b'{"kind":"done","data":{"stop_reason":"end_turn"}}'),
    (
        Done("tool_use", [{"type": "message"}]),
        b'{"kind":"done","data":{"stop_reason":"tool_use","provider_raw":[{"type":"message"}]}}',
    ),
    (Raw({"type": "new"}), b'{"kind":"raw","data":{"value":{"type":"new"}}}'),
]


@pytest.mark.parametrize(("block", "text"), BLOCKS)
def test_each_block_survives_json_and_leaves_absent_members_out(block: Block, text: bytes) -> None:
    message = Message("user", (block,))
    body = encode_message(message)

    assert body == b'{"role":"user","content":[' + text + b"]}"
    assert decode_message(body) == message


@pytest.mark.parametrize("raw", ['[{"type":"text"}]', [{"type": "reasoning", "n": 1}]])
def test_provider_raw_survives_json(raw: object) -> None:
    message = Message("assistant", (TextBlock("x"),), raw)

    assert decode_message(encode_message(message)) == message
    assert message.without_raw() == Message("assistant", (TextBlock("x"),))


@pytest.mark.parametrize(("event", "text"), EVENTS)
def test_each_event_survives_its_transcript_form(event: StreamEvent, text: bytes) -> None:
    assert encode_event(event) == text
    assert decode_event(text) == event


def test_two_interleaved_calls_fold_in_start_order_and_the_last_usage_counts() -> None:
    folded = fold(
        [
            TextDelta("I "),
            TextDelta("look."),
            ToolCallStart("a", "shell"),
            ToolCallStart("b", "read_file"),
            ToolCallDelta("b", '{"path"'),
            ToolCallDelta("a", '{"command":"ls"}'),
            ToolCallEnd("b", '{"path":"/x"}'),
            UsageEvent(CallUsage(1, 1)),
            ToolCallEnd("a", '{"command":"ls"}'),
            UsageEvent(CallUsage(7, 3)),
            Done("tool_use", "raw"),
        ]
    )

    assert folded.message == Message(
        "assistant",
        (
            TextBlock("I look."),
            ToolCallBlock("a", "shell", {"command": "ls"}),
            ToolCallBlock("b", "read_file", {"path": "/x"}),
        ),
        "raw",
    )
    assert folded.usage == CallUsage(7, 3)
    assert folded.stop_reason == "tool_use"


def test_a_call_closes_the_open_block_and_texts_are_joined_by_a_blank_line() -> None:
    folded = fold(
        [
            TextDelta("one"),
            ReasoningDelta("why"),
            TextDelta("two"),
            ToolCallStart("a", "t"),
            TextDelta("three"),
            ToolCallEnd("a", "{}"),
            Done("tool_use"),
        ]
    )

    kinds = [type(block).__name__ for block in folded.message.content]
    assert kinds == ["TextBlock", "ReasoningBlock", "TextBlock", "ToolCallBlock", "TextBlock"]
    assert folded.message.text == "one\n\ntwo\n\nthree"


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([ToolCallDelta("a", "{")], "a delta of a call that is not open"),
        ([ToolCallEnd("a", "{}")], "an end of a call that is not open"),
        ([Done("end_turn"), TextDelta("x")], "an event after the end"),
        ([Done("end_turn"), Done("end_turn")], "an event after the end"),
        ([ToolCallStart("a", "t"), Done("tool_use")], "a call was cut off"),
        ([ToolCallStart("a", "t"), ToolCallStart("a", "t")], "a call started twice"),
        (
            [ToolCallStart("a", "t"), ToolCallEnd("a", "{}"), ToolCallDelta("a", "x")],
            "a delta of a call that is not open",
        ),
    ],
)
def test_a_broken_order_is_an_invalid_stream(events: list[StreamEvent], problem: str) -> None:
    with pytest.raises(InvalidStream) as caught:
        fold(events)
    assert caught.value.problem == problem


def test_text_stays_readable_after_a_broken_stream_and_no_call_does() -> None:
    stream = StreamFold()
    stream.feed(TextDelta("seen"))
    stream.feed(ToolCallStart("a", "shell"))
    with pytest.raises(InvalidStream):
        stream.feed(ToolCallDelta("b", "{"))

    assert stream.text == "seen"
    assert stream.partial() == Message("assistant", (TextBlock("seen"),))
    with pytest.raises(Incomplete):
        stream.result()


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ('{"command": "ls"', '{"command": "ls"'),
        ('{"a": 1}', {"a": 1}),
        ("[1,2]", [1, 2]),
        ('"\\ud800"', "\N{REPLACEMENT CHARACTER}"),
        ("1e999", "1e999"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("[" * 5000, "[" * 5000),
        ("NaN", "NaN"),
        ("", ""),
    ],
)
def test_arguments_that_cannot_be_stored_as_json_stay_text(arguments: str, value: object) -> None:
    assert parse_arguments(arguments) == value
    call = ToolCallBlock("c", "t", parse_arguments(arguments))
    assert decode_message(encode_message(Message("assistant", (call,)))).content == (call,)


def test_freeform_arguments_stay_text_even_when_they_are_json() -> None:
    assert parse_arguments("{}", freeform=True) == "{}"


def test_sums_of_usage_saturate() -> None:
    huge = CallUsage(2**64 - 2, 5, cache_write_tokens=1)

    total = huge.plus(CallUsage(10, 1, cache_write_tokens=2))

    assert total == CallUsage(2**64 - 1, 6, cache_write_tokens=3)
    assert total.context_tokens == 2**64 - 1


@given(st.lists(st.sampled_from(["text", "reasoning"]), max_size=12), st.data())
def test_the_fold_keeps_every_character(kinds: list[str], data: st.DataObject) -> None:
    events: list[StreamEvent] = []
    for kind in kinds:
        text = data.draw(st.text(min_size=1, max_size=4))
        events.append(TextDelta(text) if kind == "text" else ReasoningDelta(text))
    folded = fold([*events, Done("end_turn")])

    said = [event.text for event in events if isinstance(event, TextDelta)]
    kept = [block.text for block in folded.message.content if isinstance(block, TextBlock)]
    assert "".join(kept) == "".join(said)
