"""Compatible servers: what is sent, what is forgiven in a stream, what is refused."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from msgspec.structs import replace

from efr.providers.canonical import (
    Block,
    CallUsage,
    Done,
    ImageBlock,
    Message,
    ModelFacts,
    Raw,
    ReasoningBlock,
    ReasoningDelta,
    Request,
    StreamEvent,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallStart,
    ToolDefinition,
    ToolResultBlock,
    UsageEvent,
    decode_message,
    encode_message,
    fold,
)
from efr.providers.chat_request import BodyForm, build_body
from efr.providers.chat_stream import ChatReader
from efr.providers.errors import (
    ApiError,
    ContextOverflow,
    DecodeFailed,
    Incomplete,
    InvalidStream,
    ProviderError,
    RateLimited,
    Unauthorized,
    UnknownModel,
)
from efr.providers.sse import ServerEvent
from efr.providers.withdrawn import NOT_ANSWERED
from tests.providers.conftest import SECRET, Bench

SHELL = ToolDefinition("shell", "Runs a line.", {"type": "object"})
REQUEST = Request("qwen", (Message("user", (TextBlock("hi"),)),))
OK = {"pieces": [{"text": "fine"}], "usage": {"input": 9, "output": 2}}


def user(*blocks: Block | str) -> Message:
    return Message("user", tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks))


def assistant(*blocks: Block) -> Message:
    return Message("assistant", blocks)


def messages(*given: Message, **more: Any) -> Any:
    request = Request("qwen", given, **{"tools": (SHELL,)} | more)
    return json.loads(build_body(request, None, BodyForm()))["messages"]


# --- requests ---


def test_the_body_holds_what_every_server_takes_and_nothing_else(bench: Bench) -> None:
    bench.server.play([OK, OK])
    bench.run(bench.chat(), REQUEST)
    full = Request(
        "qwen",
        REQUEST.messages,
        system="be brief",
        tools=(SHELL,),
        max_output_tokens=5000,
        effort="low",
        provider_options={"parallel_tool_calls": False, "service_tier": "x"},
    )
    bench.run(bench.chat(models=(ModelFacts("qwen", max_output_tokens=700),)), full)

    plain, rich = bench.server.bodies()
    assert plain == {
        "model": "qwen",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert list(rich) == [
        "model",
        "messages",
        "tools",
        "parallel_tool_calls",
        "max_tokens",
        "reasoning_effort",
        "stream",
        "stream_options",
    ]
    assert rich["max_tokens"] == 700
    assert rich["messages"][0] == {"role": "system", "content": "be brief"}
    assert bench.server.requests()[0]["path"] == "/v1/chat/completions"
    assert bench.server.requests()[0]["headers"]["authorization"] == f"Bearer {SECRET}"


def test_without_a_key_there_is_no_authorization(bench: Bench) -> None:
    bench.server.play([OK])
    bench.run(bench.chat(key=None), REQUEST)

    assert "authorization" not in bench.server.requests()[0]["headers"]


def test_calls_are_answered_right_behind_in_their_order() -> None:
    both = assistant(
        TextBlock("I look."),
        ReasoningBlock("hm"),
        ToolCallBlock("c1", "shell", {"command": "ls"}),
        ToolCallBlock("c2", "shell", '{"broken'),
        ToolCallBlock("c3", "shell", "free", freeform=True),
    )

    assert messages(
        user("a"),
        user("b"),
        both,
        user("steer", ToolResultBlock("c2", "two", is_error=True), ToolResultBlock("c1", "one")),
    ) == [
        {"role": "user", "content": "a\n\nb"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "type": "function",
                    "id": "c1",
                    "function": {"name": "shell", "arguments": '{"command":"ls"}'},
                },
                {
                    "type": "function",
                    "id": "c2",
                    "function": {"name": "shell", "arguments": '{"input":"{\\"broken"}'},
                },
                {
                    "type": "function",
                    "id": "c3",
                    "function": {"name": "shell", "arguments": '{"input":"free"}'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: two"},
        {"role": "tool", "tool_call_id": "c3", "content": f"Error: {NOT_ANSWERED}"},
        {"role": "user", "content": "steer"},
    ]


def test_images_and_withdrawn_tools() -> None:
    got = messages(
        user("see", ImageBlock("image/png", "AAAA")),
        assistant(ToolCallBlock("c1", "gone", {"a": 1})),
        user(ToolResultBlock("c1", "out")),
    )

    assert got[0]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    assert got[1:] == [
        {
            "role": "assistant",
            "content": '[call c1 of the tool gone, which is not on offer now]\n{"a":1}',
        },
        {"role": "user", "content": "[result of call c1 of the tool gone]\nout"},
    ]


def refused(status: int, body: Any) -> dict[str, Any]:
    return {"error": {"status": status, "body": body}}


ASKED = {
    "max_tokens": 50,
    "stream_options": {"include_usage": True},
    "parallel_tool_calls": False,
    "reasoning_content": None,
}


@pytest.mark.parametrize(
    ("refusal", "change"),
    [
        (
            refused(400, {"error": {"message": "Unrecognized request argument: stream_options"}}),
            {"stream_options": None},
        ),
        (  # FastAPI
            refused(422, {"detail": [{"loc": ["body", "stream_options"], "msg": "not permitted"}]}),
            {"stream_options": None},
        ),
        (  # Mistral
            refused(400, {"message": {"detail": [{"loc": ["body", "parallel_tool_calls"]}]}}),
            {"parallel_tool_calls": None},
        ),
        (  # OpenAI's newer models
            refused(400, {"error": {"message": "Use 'max_completion_tokens' instead."}}),
            {"max_tokens": None, "max_completion_tokens": 50},
        ),
        (  # DeepSeek
            refused(400, {"error": {"message": "Missing `reasoning_content` in message 1"}}),
            {"reasoning_content": "hm"},
        ),
    ],
)
def test_a_server_that_names_a_difference_is_asked_in_its_form_from_then_on(
    bench: Bench, refusal: Any, change: dict[str, Any]
) -> None:
    bench.server.play([refusal, OK, OK, OK])
    request = Request(
        "qwen",
        (user("a"), assistant(ReasoningBlock("hm"), TextBlock("b")), user("c")),
        tools=(SHELL,),
        max_output_tokens=50,
        provider_options={"parallel_tool_calls": False},
    )
    provider = bench.chat()
    bench.run(provider, request)
    bench.run(provider, request)
    bench.run(provider, replace(request, model="another"))

    asked = [
        {name: sent.get(name) for name in (*ASKED, *change)}
        | {"reasoning_content": sent["messages"][1].get("reasoning_content")}
        for sent in bench.server.bodies()
    ]
    plain = {name: ASKED.get(name) for name in (*ASKED, *change)}
    assert asked == [plain, plain | change, plain | change, plain]


def test_a_refusal_that_no_form_changes_is_final(bench: Bench) -> None:
    both = refused(400, {"error": {"message": "no stream_options, no max_completion_tokens"}})
    bench.server.play([both, both, both, OK])

    error = failure(bench)

    assert isinstance(error, ApiError)
    assert len(bench.server.requests()) == 2  # there is no limit to name otherwise


# --- streams ---


def read(*chunks: Any, end: bool = True) -> list[StreamEvent]:
    reader = ChatReader(lambda value: ApiError(None, None, "read"), "seed")
    out: list[StreamEvent] = []
    for chunk in chunks:
        data = chunk if isinstance(chunk, str) else json.dumps(chunk)
        out += reader.feed(ServerEvent("message", data))
    if end:
        out += reader.end()
    return out


def delta(finish: str | None = None, **members: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": members, "finish_reason": finish}]}


def piece(arguments: Any = None, name: str | None = None, **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"function": {k: v for k, v in function.items() if v is not None}, **more}


def folded_calls(*chunks: Any) -> list[ToolCallBlock]:
    return list(fold(read(*chunks, delta("tool_calls"), "[DONE]")).message.calls)


def test_an_answer_with_parallel_calls_and_usage(bench: Bench) -> None:
    calls = [{"name": "shell", "arguments": {"n": 1}}, {"name": "shell", "arguments": {"n": 2}}]
    usage = {"input": 50, "output": 12, "cached": 20, "reasoning": 4}
    pieces = [{"reasoning": "hm"}, {"text": ["Grö", "ße"]}, {"calls": calls}]
    bench.server.play([{"pieces": pieces, "usage": usage}])

    folded = fold(bench.run(bench.chat(), REQUEST))

    assert folded.message == Message(
        "assistant",
        (
            ReasoningBlock("hm"),
            TextBlock("Größe"),
            ToolCallBlock("call_1_0", "shell", {"n": 1}),
            ToolCallBlock("call_1_1", "shell", {"n": 2}),
        ),
    )
    assert folded.usage == CallUsage(50, 12, 20, 4)
    assert folded.stop_reason == "tool_use"


@pytest.mark.parametrize("no_done", [True, False])
def test_an_answer_without_usage_or_done_line_is_whole(bench: Bench, no_done: bool) -> None:
    bench.server.play([{"pieces": [{"text": "x"}], "no_done": no_done}])

    assert bench.run(bench.chat(), REQUEST) == [TextDelta("x"), Done("end_turn")]


def test_usage_may_come_with_every_chunk_and_the_last_counts() -> None:
    got = read(
        delta(content="a") | {"usage": {"prompt_tokens": 5, "completion_tokens": 1}},
        delta("stop") | {"usage": {"prompt_tokens": 5, "completion_tokens": 2}},
        {"choices": [], "usage": None},
        "[DONE]",
    )

    assert got == [TextDelta("a"), UsageEvent(CallUsage(5, 2)), Done("end_turn")]


def test_calls_without_ids_get_one_that_is_the_same_on_a_replay() -> None:
    chunks = (
        delta(tool_calls=[piece("", "a", index=0), piece("", "b", index=1)]),
        delta(tool_calls=[piece('{"x":', index=1), piece("{}", index=0)]),
        delta(tool_calls=[piece("1}", index=1)]),
    )

    assert folded_calls(*chunks) == [
        ToolCallBlock("call_seed_0", "a", {}),
        ToolCallBlock("call_seed_1", "b", {"x": 1}),
    ]


def test_calls_without_an_index_are_told_apart_by_their_names() -> None:
    assert folded_calls(
        delta(tool_calls=[piece('{"n":', "a", id="x")]),
        delta(tool_calls=[piece("1}")]),
        delta(tool_calls=[piece('{"n":2}', "a", id="y"), piece('{"n":3}', "a")]),
    ) == [
        ToolCallBlock("x", "a", {"n": 1}),
        ToolCallBlock("y", "a", {"n": 2}),
        ToolCallBlock("call_seed_2", "a", {"n": 3}),
    ]


def test_a_new_id_with_a_name_is_a_new_call_even_at_index_0() -> None:
    assert folded_calls(
        delta(tool_calls=[piece('{"n":1}', "a", id="x", index=0)]),
        delta(tool_calls=[piece('{"n":2}', "a", id="y", index=0)]),
    ) == [ToolCallBlock("x", "a", {"n": 1}), ToolCallBlock("y", "a", {"n": 2})]


def test_an_id_and_name_that_repeat_with_each_piece_are_one_call() -> None:
    assert folded_calls(
        delta(tool_calls=[piece('{"n"', "a", id="x", index=0)]),
        delta(tool_calls=[piece(":1}", "a", id="x", index=0)]),
    ) == [ToolCallBlock("x", "a", {"n": 1})]


def test_two_calls_of_one_id_are_kept_apart() -> None:
    calls = folded_calls(
        delta(tool_calls=[piece("{}", "a", id="x", index=0), piece("", "b", id="x", index=1)]),
        delta(tool_calls=[piece('{"n":1}', index=1)]),
    )

    assert calls == [ToolCallBlock("x", "a", {}), ToolCallBlock("x_2", "b", {"n": 1})]


def test_arguments_may_be_an_object_and_come_before_the_name() -> None:
    assert folded_calls(
        delta(tool_calls=[piece({"n": 1}, index=0)]),
        delta(tool_calls=[piece(None, "a", index=0, id="x")]),
    ) == [ToolCallBlock("x", "a", {"n": 1})]


def test_the_old_function_call_is_a_call() -> None:
    assert folded_calls(
        delta(function_call={"name": "a", "arguments": ""}),
        delta(function_call={"arguments": '{"n":1}'}),
    ) == [ToolCallBlock("call_seed_0", "a", {"n": 1})]


def test_a_call_that_is_told_in_both_forms_is_one_call() -> None:
    pieces = [("a", '{"n"'), ("a", ":1}")]
    assert folded_calls(
        *[
            delta(
                function_call={"name": name, "arguments": text},
                tool_calls=[piece(text, name, id="x", index=0)],
            )
            for name, text in pieces
        ]
    ) == [ToolCallBlock("x", "a", {"n": 1})]


def test_what_a_server_gives_along_with_a_call_goes_back_with_it() -> None:
    signed = {"google": {"thought_signature": "c2lnbmVk"}}
    answer = fold(
        read(
            delta(tool_calls=[piece('{"n"', "shell", id="x", index=0, extra_content=signed)]),
            delta(tool_calls=[piece(":1}", index=0), piece("{}", "shell", id="y", index=1)]),
            delta("tool_calls"),
            "[DONE]",
        )
    ).message
    stored = decode_message(encode_message(answer))

    _, said, *_ = messages(user("go"), stored)
    assert [call.get("extra_content") for call in said["tool_calls"]] == [signed, None]
    _, said, *_ = messages(user("go"), stored.without_raw())
    assert all("extra_content" not in call for call in said["tool_calls"])


@pytest.mark.parametrize("arguments", ["", " "])
def test_empty_arguments_are_an_empty_object(arguments: str) -> None:
    assert folded_calls(delta(tool_calls=[piece(arguments, "a", id="x", index=0)])) == [
        ToolCallBlock("x", "a", {})
    ]


def test_texts_may_be_parts_and_reasoning_has_two_names() -> None:
    assert read(
        delta(reasoning_content="r", reasoning="r"),
        delta(reasoning="s"),
        delta(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        delta(content=None, refusal="no"),
        delta("stop"),
    ) == [
        ReasoningDelta("r"),
        ReasoningDelta("s"),
        TextDelta("ab"),
        TextDelta("no"),
        Done("end_turn"),
    ]


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "content_filter"),
        ("eos", "end_turn"),
    ],
)
def test_finish_reasons(finish: str, stop: str) -> None:
    assert read(delta(finish), "[DONE]") == [Done(stop)]  # type: ignore[arg-type]


def test_stop_with_a_call_is_tool_use() -> None:
    got = read(delta("stop", tool_calls=[piece("{}", "a", id="x", index=0)]), "[DONE]")

    assert got[-1] == Done("tool_use")


@pytest.mark.parametrize("arguments", ['{"a":', ""])
def test_a_call_that_the_limit_cut_is_an_invalid_stream(arguments: str) -> None:
    with pytest.raises(InvalidStream):
        read(delta("length", tool_calls=[piece(arguments, "a", id="x", index=0)]), "[DONE]")


def test_a_call_without_a_name_is_an_invalid_stream() -> None:
    with pytest.raises(InvalidStream):
        read(delta("stop", tool_calls=[piece("{}", id="x", index=0)]), "[DONE]")


def test_a_done_line_is_an_end_even_without_a_finish_reason() -> None:
    assert read(delta(content="a"), "[DONE]") == [TextDelta("a"), Done("end_turn")]


def test_other_choices_and_unknown_chunks_do_not_count() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "b"}}]}
    strange = {"object": "strange"}

    assert read(other, strange, delta("stop")) == [Raw(strange), Done("end_turn")]


@pytest.mark.parametrize("data", ["{broken", "[]"])
def test_data_that_is_no_object_cannot_be_read(data: str) -> None:
    with pytest.raises(DecodeFailed):
        read(data)


# --- whole calls ---


def failure(bench: Bench, key: str | None = SECRET) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        bench.run(bench.chat(key), REQUEST)
    return caught.value


def test_a_server_that_cannot_stream_is_read_too(bench: Bench) -> None:
    call = {"id": "x", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    message = {"role": "assistant", "content": "hi", "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 3, "completion_tokens": 1}
    bench.server.play([{"json": {"choices": [choice], "usage": usage}}])

    folded = fold(bench.run(bench.chat(), REQUEST))

    assert folded.message == assistant(TextBlock("hi"), ToolCallBlock("x", "a", {}))
    assert folded.usage == CallUsage(3, 1)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"json": {"choices": []}}, Incomplete),
        ({"json": {"error": {"message": "m"}}}, ApiError),
        ({"pieces": [{"text": "x"}, {"event": {"error": {"message": "m"}}}]}, ApiError),
        (
            {"pieces": [{"event": {"error": {"message": "the maximum context length is 9"}}}]},
            ContextOverflow,
        ),
        ({"pieces": [{"event": {"error": {"code": "rate_limit_exceeded"}}}]}, RateLimited),
        ({"error": {"status": 401, "body": {"error": {"message": "no"}}}}, Unauthorized),
        (
            {"error": {"status": 404, "body": {"error": {"code": "model_not_found"}}}},
            UnknownModel,
        ),
        (
            {
                "error": {
                    "status": 400,
                    "body": {"error": {"type": "exceed_context_size_error", "code": 400}},
                }
            },
            ContextOverflow,
        ),
        (
            {"error": {"status": 400, "body": {"message": "maximum context length is 8 tokens"}}},
            ContextOverflow,
        ),
        ({"error": {"status": 500, "body": "oops"}}, ApiError),
        (
            {
                "error": {
                    "status": 404,
                    "body": {
                        "error": {
                            "message": 'model "m" not found, try pulling it first',
                            "code": None,
                        }
                    },
                }
            },
            UnknownModel,
        ),
        (
            {"error": {"status": 404, "body": {"message": "The model `m` does not exist."}}},
            UnknownModel,
        ),
    ],
)
def test_failures(bench: Bench, answer: Any, error: type[ProviderError]) -> None:
    bench.server.play([answer, OK])

    assert type(failure(bench)) is error
    assert len(bench.server.requests()) == 1


def test_a_refused_key_is_noted_and_not_shown(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    body = {"error": {"message": f"bad {SECRET}"}}
    bench.server.play([{"error": {"status": 401, "body": body}}])

    error = failure(bench)

    assert SECRET not in str(error) + caplog.text
    assert bench.keys.news().refused_at_us is not None


def test_made_ids_differ_between_the_calls_of_a_conversation(bench: Bench) -> None:
    pieces = [{"call": {"name": "a", "arguments": "{}", "id": ""}}]
    bench.server.play([{"pieces": pieces}] * 3)
    provider = bench.chat()
    longer = Request("qwen", (*REQUEST.messages, assistant(TextBlock("x")), user("hi")))
    ids = [
        event.call_id
        for request in (REQUEST, REQUEST, longer)
        for event in bench.run(provider, request)
        if isinstance(event, ToolCallStart)
    ]

    assert ids[0] == ids[1] != ids[2]
