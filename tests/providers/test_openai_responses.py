"""The Responses API against a real server: sending, retries, refusals (agent tests 7 to 30)."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from efr.base.cancel import Cancel
from efr.providers.canonical import (
    Done,
    Message,
    ModelFacts,
    Raw,
    Request,
    StreamEvent,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallStart,
    ToolDefinition,
    ToolResultBlock,
    fold,
)
from efr.providers.errors import (
    ApiError,
    ContextOverflow,
    DecodeFailed,
    Incomplete,
    InvalidStream,
    ProviderError,
    RateLimited,
    TransportFailed,
    Unauthorized,
    UnknownModel,
)
from tests.providers.conftest import SECRET, Bench, FakeTokens

REQUEST = Request(
    "gpt-5.5", (Message("user", (TextBlock("hi"),)),), conversation_id="conversation-1"
)
OK = {"pieces": [{"text": "fine"}], "usage": {"input": 9, "output": 2}}
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def refusal(status: int, body: Any = None, **headers: str) -> dict[str, Any]:
    return {"error": {"status": status, "body": body or {}, "headers": headers}}


def told(code: str, message: str = "told", **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, **more}}


def failure(bench: Bench, request: Request = REQUEST, **options: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        bench.run(bench.responses(**options), request)
    return caught.value


def test_a_subscription_call_carries_its_headers_and_no_output_limit(bench: Bench) -> None:
    bench.server.play([OK])
    provider = bench.responses(
        FakeTokens(account_id="acct-1"), subscription=True, headers={"originator": "efr"}
    )
    bench.run(provider, Request(**fields(REQUEST) | {"max_output_tokens": 50}))

    (sent,) = bench.server.requests()
    assert sent["path"] == "/v1/responses"
    headers = sent["headers"]
    assert headers["authorization"] == f"Bearer {SECRET}"
    assert headers["originator"] == "efr"
    assert headers["chatgpt-account-id"] == "acct-1"
    assert headers["session-id"] == "conversation-1"
    assert headers["accept"] == "text/event-stream"
    assert headers["content-type"] == "application/json"
    assert headers["user-agent"].startswith("efr/")
    assert "max_output_tokens" not in bench.server.bodies()[0]


@pytest.mark.parametrize(
    ("own", "asked", "sent"), [(700, 50, 700), (None, 50, 50), (None, None, None)]
)
def test_the_public_api_gets_the_models_own_limit_else_the_requests(
    bench: Bench, own: int | None, asked: int | None, sent: int | None
) -> None:
    bench.server.play([OK])
    facts = ModelFacts("gpt-5.5", max_output_tokens=own)
    bench.run(
        bench.responses(models=(facts,), headers={"openai-project": "p"}),
        Request(**fields(REQUEST) | {"max_output_tokens": asked}),
    )

    assert bench.server.bodies()[0].get("max_output_tokens") == sent
    headers = bench.server.requests()[0]["headers"]
    assert headers["openai-project"] == "p"
    assert "session-id" not in headers


def test_encrypted_reasoning_goes_back_as_it_came_and_not_to_another_model(bench: Bench) -> None:
    shell = ToolDefinition("shell", "Runs.", {"type": "object"})
    call = {"name": "shell", "arguments": {"command": "ls"}}
    bench.server.play(
        [{"pieces": [{"reasoning": "hm"}, {"text": "I look."}, {"call": call}]}, OK, OK]
    )
    provider = bench.responses()
    first = Request(**fields(REQUEST) | {"tools": (shell,)})
    answer = fold(bench.run(provider, first)).message
    result = Message("user", (ToolResultBlock(answer.calls[0].call_id, "a.txt"),))
    bench.run(provider, Request(**fields(first) | {"messages": (*first.messages, answer, result)}))
    other = (*first.messages, answer.without_raw(), result)
    bench.run(provider, Request(**fields(first) | {"messages": other, "model": "gpt-6-sol"}))

    _, second, third = bench.server.bodies()
    assert second["input"][1:4] == answer.provider_raw
    assert second["input"][1]["encrypted_content"] == "sealed-rs_1_0"
    assert [item["type"] for item in third["input"]] == [
        "message",
        "message",
        "function_call",
        "function_call_output",
    ]


def test_a_freeform_call_is_told_as_one(bench: Bench) -> None:
    patch = {"name": "apply_patch", "arguments": "*** Begin Patch\n", "custom": True}
    bench.server.play([{"pieces": [{"call": patch}]}])

    events = bench.run(bench.responses(), REQUEST)

    assert ToolCallStart("call_1_0", "apply_patch", freeform=True) in events
    assert fold(events).message.content == (
        ToolCallBlock("call_1_0", "apply_patch", "*** Begin Patch\n", freeform=True),
    )


def test_max_tokens_with_an_open_call_is_an_invalid_stream(bench: Bench) -> None:
    item = {"type": "function_call", "id": "i", "call_id": "c", "name": "shell"}
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    bench.server.play([{"pieces": [{"event": added}], "stop": "max_tokens"}])

    assert isinstance(failure(bench), InvalidStream)


def test_max_tokens_after_text_is_an_end(bench: Bench) -> None:
    bench.server.play([{"pieces": [{"text": "cut"}], "stop": "max_tokens"}])

    folded = fold(bench.run(bench.responses(), REQUEST))

    assert (folded.message.text, folded.stop_reason) == ("cut", "max_tokens")


@pytest.mark.parametrize(
    ("piece", "error"),
    [
        ({"break": True}, TransportFailed),
        ({"malformed": "{broken"}, DecodeFailed),
        ({"event": {"type": "error", "code": "rate_limit_exceeded", "message": "m"}}, RateLimited),
        (
            {"event": {"type": "error", "code": "context_length_exceeded", "message": "m"}},
            ContextOverflow,
        ),
        ({"event": {"type": "error", "error": {"code": "model_not_found"}}}, UnknownModel),
        (
            {
                "event": {
                    "type": "error",
                    "error": {"code": "insufficient_quota", "type": "rate_limit_error"},
                }
            },
            ApiError,
        ),
        ({"event": {"type": "error", "code": "other", "message": "m"}}, ApiError),
    ],
)
def test_a_failure_inside_the_stream_keeps_the_text_and_is_never_sent_again(
    bench: Bench, piece: dict[str, Any], error: type[ProviderError]
) -> None:
    bench.server.play([{"pieces": [{"text": "half"}, piece]}, OK])
    seen: list[StreamEvent] = []
    with pytest.raises(error):
        seen.extend(bench.responses().stream(REQUEST, bench.cancel))  # keeps what came before

    assert seen == [TextDelta("half")]
    assert len(bench.server.requests()) == 1


def test_an_end_without_completed_is_incomplete(bench: Bench) -> None:
    with plain_server([b'data: {"type":"response.created"}\n\n']) as url:
        assert isinstance(failure(bench, base_url=url), Incomplete)


def test_a_refusal_whose_body_breaks_off_counts_by_its_status(bench: Bench) -> None:
    head = b"HTTP/1.1 413 Too Large\r\nContent-Length: 100\r\n\r\n"
    with plain_server([b'{"error": '], head=head) as url:
        error = failure(bench, base_url=url)

    assert isinstance(error, ContextOverflow)
    assert error.message == "Too Large"


def test_an_unknown_event_is_raw_and_the_turn_goes_on(bench: Bench) -> None:
    bench.server.play([{"pieces": [{"event": {"type": "new.kind", "n": 1}}, {"text": "x"}]}])

    events = bench.run(bench.responses(), REQUEST)

    assert events[0] == Raw({"type": "new.kind", "n": 1})
    assert isinstance(events[-1], Done)


def test_a_refused_token_that_can_be_refreshed_is_refreshed_once(bench: Bench) -> None:
    bench.server.play([refusal(401), OK])
    tokens = FakeTokens(["old", "new"])

    bench.run(bench.responses(tokens), REQUEST)

    sent = [r["headers"]["authorization"] for r in bench.server.requests()]
    assert sent == ["Bearer old", "Bearer new"]
    assert tokens.refused == ["old"]
    assert bench.keys.news().refused_at_us is None


def test_a_second_refusal_ends_it(bench: Bench) -> None:
    bench.server.play([refusal(401), refusal(401, told("x", "expired")), OK])

    error = failure(bench, tokens=FakeTokens(["old", "new"]))

    assert isinstance(error, Unauthorized)
    assert error.message == "expired"
    assert len(bench.server.requests()) == 2


def test_a_refused_key_is_not_tried_again_and_is_noted(bench: Bench) -> None:
    bench.server.play([refusal(401, told("invalid_api_key", f"bad key {SECRET} here")), OK])

    error = failure(bench)

    assert isinstance(error, Unauthorized)
    assert error.message == "bad key [key] here"
    assert len(bench.server.requests()) == 1
    assert bench.keys.news().refused_at_us == bench.clock.now_us()


def test_a_server_wait_is_kept(bench: Bench) -> None:
    bench.server.play([refusal(429, **{"retry-after": "2"}), OK])

    bench.run(bench.responses(), REQUEST)

    assert bench.waits == [2.0]
    assert len(bench.server.requests()) == 2


@pytest.mark.parametrize(
    ("headers", "body", "wait_s"),
    [
        ({"retry-after": "120"}, {}, 120.0),
        ({"retry-after-ms": "90000", "retry-after": "1"}, {}, 90.0),
        ({}, told("rate_limit_exceeded", resets_in_seconds=3600), 3600.0),
        ({}, told("x", resets_at=1_791_028_800 + 10_800), 10_800.0),
        ({}, told("x", "Please try again in 5m3s."), 303.0),
        ({}, told("x", "Try again in 61.5s"), 61.5),
        ({}, told("x", "Please try again in 1h12m43.5s."), 4363.5),
    ],
)
def test_a_wait_that_is_too_long_ends_the_tries_at_once(
    bench: Bench, headers: dict[str, str], body: Any, wait_s: float
) -> None:
    bench.server.play([refusal(429, body, **headers), OK])

    error = failure(bench)

    assert isinstance(error, RateLimited)
    assert error.retry_after_s == pytest.approx(wait_s)
    assert bench.waits == []
    assert len(bench.server.requests()) == 1


@pytest.mark.parametrize(
    ("message", "wait_s"),
    [
        ("try again in 20ms", 0.02),
        ("Try again in 1.5s.", 1.5),
        ("try again in 99999999999s", 0.375),  # nonsense: as if it told none
        ("try again in a moment", 0.375),
    ],
)
def test_a_wait_told_in_words_is_kept(bench: Bench, message: str, wait_s: float) -> None:
    bench.server.play([refusal(429, told("x", message)), OK])

    bench.run(bench.responses(), REQUEST)

    assert bench.waits == pytest.approx([wait_s])


@pytest.mark.parametrize(
    "name", ["insufficient_quota", "usage_not_included", "project_spend_limit_exceeded"]
)
def test_a_spent_budget_is_not_tried_again(bench: Bench, name: str) -> None:
    bench.server.play([refusal(429, {"error": {"type": name, "message": "no money"}}), OK])

    error = failure(bench)

    assert isinstance(error, ApiError)
    assert (error.status, error.message) == (429, "no money")
    assert len(bench.server.requests()) == 1


def test_four_503_are_four_tries_with_growing_waits(bench: Bench) -> None:
    bench.server.play([refusal(503), refusal(503), refusal(503), refusal(503), OK])

    error = failure(bench)

    assert isinstance(error, ApiError)
    assert error.status == 503
    assert bench.waits == [0.375, 0.75, 1.5]  # between half and whole of 0.5, 1, 2
    assert len(bench.server.requests()) == 4


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (500, {}, ApiError),
        (413, {}, ContextOverflow),
        (400, told("context_length_exceeded"), ContextOverflow),
        (404, told("model_not_found"), UnknownModel),
        (400, {"detail": "The 'x' model is not supported when using this"}, UnknownModel),
        (400, {"error": "plain words"}, ApiError),
        (302, {}, ApiError),
    ],
)
def test_other_refusals_are_final(
    bench: Bench, status: int, body: Any, error: type[ProviderError]
) -> None:
    bench.server.play([refusal(status, body), OK])

    assert type(failure(bench)) is error
    assert len(bench.server.requests()) == 1


def test_messages_of_the_server_are_cut(bench: Bench) -> None:
    bench.server.play([refusal(400, told("x", "y" * 5000))])

    error = failure(bench)

    assert isinstance(error, ApiError)
    assert len(error.message) == 1000


def test_of_a_page_of_a_proxy_its_title_is_told(bench: Bench) -> None:
    bench.server.play([{"error": {"status": 502, "body": "<html>\n  <h1>Bad  gateway</h1>\n"}}])

    error = failure(bench)

    assert isinstance(error, ApiError)
    assert error.message == "a web page (Bad gateway)"


def test_an_empty_body_gives_the_status_reason(bench: Bench) -> None:
    bench.server.play([{"error": {"status": 403, "body": ""}}])

    error = failure(bench)

    assert isinstance(error, ApiError)
    assert error.message == "Forbidden"


def test_a_refused_connection_is_tried_four_times(bench: Bench) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"
        error = failure(bench, base_url=url)

    assert isinstance(error, TransportFailed)
    assert not error.sent
    assert len(bench.waits) == 3


def test_a_server_that_comes_up_meanwhile_is_asked(bench: Bench) -> None:
    """Two refused connections, then an answer: three tries in all."""
    text = b'data: {"type":"response.output_text.delta","delta":"fine"}\n\n'
    end = b'data: {"type":"response.completed","response":{}}\n\n'
    waits: list[float] = []
    with contextlib.ExitStack() as stack:
        late = stack.enter_context(socket.socket())
        late.bind(("127.0.0.1", 0))

        def pause(cancel: Cancel, seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 2:
                stack.enter_context(plain_server([text, end], late))

        bench.sender = replace(bench.sender, pause=pause)
        url = f"http://127.0.0.1:{late.getsockname()[1]}/v1"
        folded = fold(bench.run(bench.responses(base_url=url), REQUEST))

    assert folded.message.text == "fine"
    assert waits == [0.375, 0.75]


def test_a_connection_that_breaks_after_the_request_is_not_tried_again(bench: Bench) -> None:
    bench.server.play([{"cut": True}, OK])

    error = failure(bench)

    assert isinstance(error, TransportFailed)
    assert error.sent
    assert len(bench.server.requests()) == 1


def test_silence_ends_the_stream_and_is_not_tried_again(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(silence_s=0.05)
    bench.server.play([{"pieces": [{"text": "x"}, {"hang": True}]}, OK])

    error = failure(bench)

    assert isinstance(error, TransportFailed)
    assert error.cause == "the server was silent for too long"
    assert len(bench.server.requests()) == 1


def test_the_span_tells_the_gap_between_calls_of_a_conversation(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "efr.providers")
    refused = refusal(400, told("x"), **{"x-request-id": "req_no"})
    bench.server.play([OK, OK, refused])
    provider = bench.responses()
    bench.run(provider, REQUEST)
    bench.clock.advance(12.5)
    bench.run(provider, REQUEST)
    with pytest.raises(ApiError):
        bench.run(provider, REQUEST)

    assert caplog.messages == [
        "provider_request provider=openai-api model=gpt-5.5 request_id=req_1",
        "provider_request provider=openai-api model=gpt-5.5 request_id=req_2 gap_ms=12500",
        "provider_request provider=openai-api model=gpt-5.5 request_id=req_no gap_ms=0"
        " failed=ApiError",
    ]


def test_no_key_reaches_the_log_or_a_repr(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    bench.server.play([refusal(500, told("x", f"your {SECRET}")), refusal(401), OK])
    errors = [failure(bench), failure(bench)]
    bench.run(bench.responses(), REQUEST)

    assert SECRET not in caplog.text
    assert all(SECRET not in repr(error) + str(error) for error in errors)


def fields(request: Request) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.__struct_fields__}


@contextmanager
def plain_server(
    chunks: list[bytes], bound: socket.socket | None = None, head: bytes = STREAM_HEAD
) -> Iterator[str]:
    """One answer without a length, ended by the server's close."""
    with bound or socket.create_server(("127.0.0.1", 0)) as listener:
        listener.listen()

        def serve() -> None:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # nobody came: the test has failed by itself
            with connection:
                connection.recv(65536)
                connection.sendall(head)
                for chunk in chunks:
                    connection.sendall(chunk)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):  # a close with unread bytes would be a reset
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join()
