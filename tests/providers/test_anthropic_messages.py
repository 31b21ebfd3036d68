"""The Messages API against a real server, and its stream (agent tests 37, 42 to 50, 52, 53)."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from efr.providers.anthropic_stream import MessagesReader
from efr.providers.canonical import (
    CallUsage,
    Done,
    Message,
    ModelFacts,
    Raw,
    ReasoningDelta,
    Request,
    StreamEvent,
    TextBlock,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolDefinition,
    UsageEvent,
    fold,
)
from efr.providers.errors import (
    ApiError,
    ContextOverflow,
    DecodeFailed,
    Incomplete,
    InvalidStream,
    Overloaded,
    ProviderError,
    RateLimited,
    Unauthorized,
    UnknownModel,
)
from efr.providers.sse import ServerEvent
from tests.providers.conftest import SECRET, Bench

MODEL = ModelFacts("claude-opus-5-5", default_effort="high", max_output_tokens=1000)
REQUEST = Request("claude-opus-5-5", (Message("user", (TextBlock("hi"),)),), system="be brief")
OK = {"pieces": [{"text": "fine"}]}
SPENT = "enforced_spend_limit_reached"


def refusal(status: int, kind: str, message: str = "told", **details: Any) -> dict[str, Any]:
    error = {"type": kind, "message": message, **details}
    return {"error": {"status": status, "body": {"type": "error", "error": error}}}


def failure(bench: Bench, request: Request = REQUEST) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        bench.run(bench.messages((MODEL,)), request)
    return caught.value


def test_headers_of_a_call(bench: Bench) -> None:
    bench.server.play([OK])
    bench.run(bench.messages((MODEL,)), REQUEST)

    (sent,) = bench.server.requests()
    headers = sent["headers"]
    assert sent["path"] == "/v1/messages"
    assert headers["authorization"] == f"Bearer {SECRET}"
    assert "x-api-key" not in headers
    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["anthropic-beta"] == "thinking-binding-controls-2026-08-01"
    assert "anthropic-workspace-id" not in headers
    assert bench.server.bodies()[0]["output_config"] == {"effort": "high"}


@pytest.mark.parametrize(
    ("own", "asked", "sent"), [(1000, None, 1000), (1000, 5000, 1000), (1000, 50, 50), (None, 9, 9)]
)
def test_the_output_limit_is_the_smaller_one(
    bench: Bench, own: int | None, asked: int | None, sent: int
) -> None:
    bench.server.play([OK])
    facts = ModelFacts("claude-opus-5-5", max_output_tokens=own)
    request = Request(REQUEST.model, REQUEST.messages, max_output_tokens=asked)
    bench.run(bench.messages((facts,)), request)

    assert bench.server.bodies()[0]["max_tokens"] == sent
    assert bench.server.bodies()[0]["output_config"] == {"effort": "medium"}


def test_a_model_without_a_known_limit_is_unknown(bench: Bench) -> None:
    with pytest.raises(UnknownModel):
        bench.run(bench.messages(), REQUEST)
    assert bench.server.requests() == []


def test_an_answer_with_thinking_and_calls(bench: Bench) -> None:
    calls = [
        {"name": "shell", "arguments": {"command": "ls"}},
        {"name": "shell", "arguments": '{ "command":\t"größe" }'},
    ]
    usage = {"input": 260, "output": 12, "cached": 200, "reasoning": 4, "written": 50}
    pieces = [{"reasoning": "hm"}, {"text": ["I ", "look."]}, {"calls": calls}]
    bench.server.play([{"pieces": pieces, "usage": usage}])

    folded = fold(bench.run(bench.messages((MODEL,)), REQUEST))

    assert folded.message.text == "I look."
    assert [call.input for call in folded.message.calls] == [
        {"command": "ls"},
        {"command": "größe"},
    ]
    assert folded.usage == CallUsage(260, 12, 200, 4, 50)
    assert folded.stop_reason == "tool_use"
    assert folded.message.provider_raw == (
        '[{"type":"thinking","thinking":"hm","signature":"sig-1-0=="},'
        '{"type":"text","text":"I look."},'
        '{"type":"tool_use","id":"call_1_0","name":"shell","input":{"command": "ls"}},'
        '{"type":"tool_use","id":"call_1_1","name":"shell","input":{ "command":\t"größe" }}]'
    )


def test_thinking_goes_back_byte_for_byte(bench: Bench) -> None:
    shell = ToolDefinition("shell", "Runs.", {"type": "object"})
    call = {"name": "shell", "arguments": '{"command":  "ls"}'}
    bench.server.play([{"pieces": [{"reasoning": "größe 🙂"}, {"call": call}]}, OK])
    provider = bench.messages((MODEL,))
    first = Request(REQUEST.model, REQUEST.messages, tools=(shell,))
    answer = fold(bench.run(provider, first)).message
    bench.run(provider, Request(REQUEST.model, (*REQUEST.messages, answer), tools=(shell,)))

    sent = bench.server.requests()[1]["body"]
    assert answer.provider_raw in sent


def test_a_call_that_max_tokens_cut_is_an_invalid_stream(bench: Bench) -> None:
    call = {"name": "shell", "arguments": '{"command": "l'}
    bench.server.play([{"pieces": [{"call": call}], "stop": "max_tokens"}])

    assert isinstance(failure(bench), InvalidStream)


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("end_turn", "end_turn"),
        ("stop_sequence", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("model_context_window_exceeded", "max_tokens"),
        ("refusal", "refusal"),
        ("pause_turn", "pause_turn"),
        ("something_new", "end_turn"),
    ],
)
def test_stop_reasons(bench: Bench, stop: str, reason: str) -> None:
    bench.server.play([{"pieces": [], "stop": stop}])

    folded = fold(bench.run(bench.messages((MODEL,)), REQUEST))

    assert folded.stop_reason == reason
    assert folded.message == Message("assistant", ())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (
            refusal(400, "invalid_request_error", "prompt is too long: 9 > 8 maximum"),
            ContextOverflow,
        ),
        (refusal(400, "invalid_request_error", "You have reached your specified API"), ApiError),
        (refusal(401, "authentication_error"), Unauthorized),
        (refusal(402, "billing_error"), ApiError),
        (refusal(403, "permission_error"), ApiError),
        (refusal(404, "not_found_error"), UnknownModel),
        (refusal(413, "request_too_large"), ApiError),
        (
            refusal(
                429, "rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}
            ),
            ApiError,
        ),
    ],
)
def test_final_refusals(bench: Bench, answer: Any, error: type[ProviderError]) -> None:
    bench.server.play([answer, OK])

    assert type(failure(bench)) is error
    assert len(bench.server.requests()) == 1


def test_an_overloaded_server_is_asked_four_times(bench: Bench) -> None:
    bench.server.play([refusal(529, "overloaded_error")] * 4)

    assert isinstance(failure(bench), Overloaded)
    assert len(bench.server.requests()) == 4


@pytest.mark.parametrize(
    "answer",
    [refusal(529, "overloaded_error"), refusal(500, "api_error"), refusal(504, "timeout_error")],
)
def test_one_bad_moment_is_survived(bench: Bench, answer: Any) -> None:
    bench.server.play([answer, OK])

    assert fold(bench.run(bench.messages((MODEL,)), REQUEST)).message.text == "fine"
    assert bench.waits == [0.375]


def test_a_rate_limit_without_a_wait_ends_as_one(bench: Bench) -> None:
    bench.server.play([refusal(429, "rate_limit_error")] * 4)

    error = failure(bench)

    assert isinstance(error, RateLimited)
    assert error.retry_after_s is None


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("overloaded_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("authentication_error", Unauthorized),
        ("not_found_error", UnknownModel),
        ("api_error", ApiError),
    ],
)
def test_an_error_inside_the_stream_keeps_the_text_and_is_never_sent_again(
    bench: Bench, kind: str, error: type[ProviderError]
) -> None:
    event = {"type": "error", "error": {"type": kind, "message": "m"}}
    bench.server.play([{"pieces": [{"text": "half"}, {"event": event}]}, OK])
    seen: list[StreamEvent] = []
    with pytest.raises(error):
        seen.extend(bench.messages((MODEL,)).stream(REQUEST, bench.cancel))

    assert seen == [TextDelta("half")]
    assert len(bench.server.requests()) == 1


def test_a_body_that_quotes_the_key_shows_a_placeholder(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    bench.server.play([refusal(401, "authentication_error", f"bad {SECRET}")])

    error = failure(bench)

    assert isinstance(error, Unauthorized)
    assert error.message == "bad [key]"
    assert SECRET not in caplog.text
    assert bench.keys.news().refused_at_us == bench.clock.now_us()


def test_the_markers_of_a_call_are_in_the_debug_log(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "efr.providers.anthropic")
    bench.server.play([OK])
    bench.run(bench.messages((MODEL,)), REQUEST)

    assert "cache_ttl=auto markers=S1h,T1h" in caplog.messages


# --- the reader alone ---


def read(*events: dict[str, Any] | str) -> list[StreamEvent]:
    reader = MessagesReader(lambda value: ApiError(None, None, "read"))
    out: list[StreamEvent] = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        out += reader.feed(ServerEvent("message", data))
    return out


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **members: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": members}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


END = {"type": "message_stop"}


def test_thinking_blocks_are_parted_by_a_blank_line_and_empty_ones_stay() -> None:
    got = read(
        start(0, type="thinking", thinking="", signature="a"),
        delta(0, type="thinking_delta", thinking="one"),
        stop(0),
        start(1, type="thinking", thinking="", signature="b"),
        delta(1, type="thinking_delta", thinking="two"),
        stop(1),
        start(2, type="thinking", thinking="", signature="c"),
        stop(2),
        start(3, type="text", text=""),
        stop(3),
        start(4, type="redacted_thinking", data="sealed"),
        stop(4),
        END,
    )

    assert got[:2] == [ReasoningDelta("one"), ReasoningDelta("\n\ntwo")]
    assert got[-1] == Done(
        "end_turn",
        '[{"type":"thinking","thinking":"one","signature":"a"},'
        '{"type":"thinking","thinking":"two","signature":"b"},'
        '{"type":"thinking","thinking":"","signature":"c"},'
        '{"type":"redacted_thinking","data":"sealed"}]',
    )


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "end_turn"])
def test_a_thought_that_was_cut_is_not_sent_back(reason: str) -> None:
    thought = [start(0, type="thinking", thinking="o", signature=""), stop(0)]
    said = [start(1, type="text", text="x"), stop(1)]
    again = [
        start(2, type="redacted_thinking", data="sealed"),
        stop(2),
        start(3, type="thinking", thinking="cu", signature=""),
        start(4, type="text", text=""),
    ]
    end = {"type": "message_delta", "delta": {"stop_reason": reason}}

    def raw(*events: dict[str, Any]) -> Any:
        *_, last = read(*events, end, END)
        assert isinstance(last, Done)
        return last.provider_raw and [block["type"] for block in json.loads(last.provider_raw)]

    if reason == "end_turn":  # a whole answer goes back as it came
        assert raw(*thought) == ["thinking"]
        assert raw(*thought, *said, *again) == ["thinking", "text", "redacted_thinking", "thinking"]
    else:
        assert raw(*thought) is None
        assert raw(*thought, *said, *again) == ["thinking", "text"]


def test_a_call_without_input_is_an_empty_object() -> None:
    got = read(
        start(0, type="tool_use", id="t", name="n", input={}),
        delta(0, type="input_json_delta", partial_json=""),
        stop(0),
        END,
    )

    assert got[:2] == [ToolCallStart("t", "n"), ToolCallEnd("t", "{}")]


@pytest.mark.parametrize("written", ['{"a": 1', "[1]", '"x"', "nonsense"])
def test_an_input_that_is_no_object_is_an_invalid_stream(written: str) -> None:
    with pytest.raises(InvalidStream):
        read(
            start(0, type="tool_use", id="t", name="n", input={}),
            delta(0, type="input_json_delta", partial_json=written),
            stop(0),
        )


def test_a_call_that_is_still_open_at_the_end_is_an_invalid_stream() -> None:
    with pytest.raises(InvalidStream):
        read(start(0, type="tool_use", id="t", name="n", input={}), END)


@pytest.mark.parametrize("event", [delta(0, type="text_delta", text="x"), stop(0)])
def test_pieces_of_a_block_that_is_not_open_are_an_invalid_stream(event: Any) -> None:
    with pytest.raises(InvalidStream):
        read(event)


def test_unknown_things_are_raw_and_known_noise_is_not() -> None:
    new_event, new_block = {"type": "new"}, start(0, type="new_block", x=1)
    new_delta = delta(0, type="new_delta")

    assert read({"type": "ping"}, new_event, new_block, new_delta) == [
        Raw(new_event),
        Raw(new_block),
        Raw(new_delta),
    ]
    text = (start(0, type="text", text="a"), delta(0, type="citations_delta", citation={}))
    assert read(*text) == [TextDelta("a")]


def test_usage_counts_overwrite_and_the_hour_part_is_read() -> None:
    first = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 50,
        "cache_read_input_tokens": 200,
        "cache_creation": {"ephemeral_1h_input_tokens": 30},
        "output_tokens": 1,
    }
    got = read(
        {"type": "message_start", "message": {"usage": first}},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 12, "input_tokens": None},
        },
        END,
    )

    assert got == [UsageEvent(CallUsage(260, 12, 200, 0, 50, 30)), Done("end_turn")]


def test_changed_input_is_logged_as_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    read({"type": "message_start", "message": {"input_transformations": 5}})
    read({"type": "message_start", "message": {"input_transformations": [{}, {}]}})

    assert [record.levelname for record in caplog.records] == ["WARNING"]


@pytest.mark.parametrize("data", ["{broken", "[]"])
def test_data_that_is_no_object_cannot_be_read(data: str) -> None:
    with pytest.raises(DecodeFailed):
        read(data)


def test_deltas_of_a_call_are_passed_on() -> None:
    got = read(
        start(0, type="tool_use", id="t", name="n", input={}),
        delta(0, type="input_json_delta", partial_json='{"a"'),
        delta(0, type="input_json_delta", partial_json=":1}"),
        stop(0),
    )

    assert got[1:] == [
        ToolCallDelta("t", '{"a"'),
        ToolCallDelta("t", ":1}"),
        ToolCallEnd("t", '{"a":1}'),
    ]


def test_an_end_without_message_stop_is_incomplete(bench: Bench) -> None:
    bench.server.play([{"json": {"type": "message"}}])

    assert isinstance(failure(bench), Incomplete)
