"""Answers that no API gives and every server in between may: each is read, or told in words."""

from __future__ import annotations

import gzip
import json
import logging
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from efr.providers.canonical import CallUsage, ReasoningBlock, TextBlock, ToolCallBlock, fold
from efr.providers.errors import ProviderError
from efr.providers.failures import BASE_URLS, sentence
from tests.harness.model_stream import frames, read_answer
from tests.providers.conftest import SECRET, Bench
from tests.providers.test_each_api import APIS, REQUEST, Make

SHAPES = {
    "responses": ("responses", "openai-api"),
    "messages": ("messages", "anthropic-api"),
    "chat": ("chat", "compatible"),
}
OK_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"
PAGE = b"<!DOCTYPE html><html><title>Log in to\n the&nbsp;hotel</title><script>x</script></html>"
TOLD = json.dumps({"error": {"message": f"no credit for {SECRET}", "type": "t"}}).encode()


def whole(body: bytes, head: bytes = OK_HEAD, more: bytes = b"") -> bytes:
    return head + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(body: bytes) -> bytes:
    pieces = b"".join(b"1\r\n%b\r\n" % bytes([byte]) for byte in body)
    return OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"


def status(line: bytes, body: bytes = b"", more: bytes = b"") -> bytes:
    return whole(body, b"HTTP/1.1 " + line + b"\r\n", more)


READ: dict[str, Callable[[bytes], bytes]] = {
    "as it should be": whole,
    "one byte in each chunk": chunked,
    "until the connection ends": lambda ok: b"HTTP/1.0 200 OK\r\n\r\n" + ok,
    "CRLF": lambda ok: whole(ok.replace(b"\n", b"\r\n")),
    "CR": lambda ok: whole(ok.replace(b"\n", b"\r")),
    "a byte order mark": lambda ok: whole(b"\xef\xbb\xbf" + ok),
    "comments": lambda ok: whole(b": hi\n\n" + ok.replace(b"\n\n", b"\n\n: ping\n\n")),
    "blank lines in front": lambda ok: whole(b"\r\n\n\n" + ok),
    "gzip": lambda ok: whole(gzip.compress(ok), more=b"Content-Encoding: gzip\r\n"),
    "deflate": lambda ok: whole(zlib.compress(ok), more=b"Content-Encoding: deflate\r\n"),
    "an interim answer": lambda ok: INTERIM + whole(ok),
    "several": lambda ok: b"HTTP/1.1 100 Continue\r\n\r\n" + INTERIM * 3 + whole(ok),
    "said to be text": lambda ok: whole(ok, b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"),
    "said to be JSON": lambda ok: whole(ok, JSON_HEAD),
    "more behind the end": lambda ok: whole(ok + b'data: {"a": 1}\n\n' + ok),
}
REDIRECT = status(b"308 Moved", more=b"Location: https://me:pw@evil.example/v1?k=1\r\n")
EMPTY = "{id} sent an empty answer: its own log may say why"
NO_API = ": is {key} the address of the API?"
FAILS = {
    "a redirect": (
        REDIRECT,
        "{id} answered 308: it redirects to https://evil.example/v1?k=[hidden], "
        "where no key is sent" + NO_API,
    ),
    "a page": (
        whole(PAGE, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"),
        "{id} answered 200: a web page (Log in to the hotel)" + NO_API,
    ),
    "a page in place of a refusal": (
        status(b"404 Not Found", b"<html><body>\n<p>Nothing <b>here</b></p>"),
        "{id} answered 404: a web page (Nothing here)" + NO_API,
    ),
    "no such path": (
        status(b"404 Not Found", b"404 page not found\n"),
        "{id} answered 404: 404 page not found" + NO_API,
    ),
    "an error in one piece": (whole(TOLD, JSON_HEAD), "{id}: no credit for [key]"),
    "an error said to be a stream": (whole(TOLD), "{id}: no credit for [key]"),
    "an error in a nameless event": (
        whole(b"data: " + TOLD + b"\n\n"),
        "{id}: no credit for [key]",
    ),
    "a refusal in the form of a stream": (
        status(b"400 No", b"data: " + TOLD + b"\n\ndata: [DONE]\n\n"),
        "{id} answered 400: no credit for [key]",
    ),
    "half a JSON text": (
        whole(TOLD[:30], JSON_HEAD),
        "the answer of {id} could not be read: Unterminated string starting at: "
        "line 1 column 23 (char 22)",
    ),
    "no such path in JSON": (
        status(b"404 Not Found", b'{"detail":"Not Found"}'),
        "{id} answered 404: Not Found" + NO_API,
    ),
    "nothing": (whole(b""), EMPTY),
    "comments alone": (whole(b": hi\n\n: ho\n\n"), EMPTY),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", EMPTY),
    "less than announced": (
        OK_HEAD + b"Content-Length: 99\r\n\r\n: hi\n\n",
        "the answer of {id} broke off: the connection broke",
    ),
    "a chunk that never ends": (
        OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n20\r\n: hi\n\n",
        "the answer of {id} broke off: the connection broke",
    ),
    "a chunk without a size": (
        OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n: hi\n\n",
        "the answer of {id} broke off: the connection broke",
    ),
    "no gzip": (
        whole(b"no gzip at all", more=b"Content-Encoding: gzip\r\n"),
        "the answer of {id} broke off: the connection broke",
    ),
    "interim answers without end": (
        INTERIM * 99,
        "the answer of {id} broke off: the connection broke",
    ),
    "no HTTP": (
        b"SSH-2.0-OpenSSH\r\n",
        "the answer of {id} broke off: the server does not speak HTTP",
    ),
    "no object": (
        whole(b"data: [1]\n\n"),
        "the answer of {id} could not be read: an event that is no object",
    ),
    "a status of no class": (status(b"999 What"), "{id} answered 999: What"),
}


def raw(answer: bytes) -> dict[str, Any]:
    return {"raw": answer.decode("latin-1")}


def answer(shape: str) -> bytes:
    script = {"pieces": [{"text": "größe 🙂"}], "usage": {"input": 5, "output": 3}}
    pieces = frames(shape, read_answer(script, 1))
    return b"".join(piece for piece in pieces if isinstance(piece, bytes))


@pytest.mark.parametrize("api", SHAPES)
@pytest.mark.parametrize("name", READ)
def test_an_answer_in_an_odd_form_is_read(bench: Bench, api: str, name: str) -> None:
    bench.server.play([raw(READ[name](answer(SHAPES[api][0])))])
    make: Make = APIS[api]

    folded = fold(bench.run(make(bench), REQUEST))

    assert folded.message.text == "größe 🙂"
    assert folded.usage is not None
    assert (folded.usage.input_tokens, folded.usage.output_tokens) == (5, 3)


WHOLE: dict[str, Any] = {
    "responses": {
        "object": "response",
        "status": "completed",
        "output": [
            {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "größe"}]},
            {"type": "function_call", "id": "f", "call_id": "c", "name": "a", "arguments": "{}"},
        ],
        "usage": {"input_tokens": 5, "output_tokens": 3},
    },
    "messages": {
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "größe"},
            {"type": "tool_use", "id": "c", "name": "a", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 3},
    },
    "chat": {
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": "größe",
                    "reasoning_content": "hm",
                    "tool_calls": [{"id": "c", "function": {"name": "a", "arguments": "{}"}}],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3},
    },
}


@pytest.mark.parametrize("api", SHAPES)
def test_an_answer_in_one_piece_is_read(bench: Bench, api: str) -> None:
    bench.server.play([{"json": WHOLE[api]}])
    make: Make = APIS[api]

    folded = fold(bench.run(make(bench), REQUEST))

    assert folded.message.content == (
        ReasoningBlock("hm"),
        TextBlock("größe"),
        ToolCallBlock("c", "a", {}),
    )
    assert folded.stop_reason == "tool_use"
    assert folded.usage == CallUsage(5, 3)
    raw = folded.message.provider_raw
    sent_back = {"responses": WHOLE[api].get("output"), "messages": WHOLE[api].get("content")}
    assert (json.loads(raw) if isinstance(raw, str) else raw) == sent_back.get(api)


@pytest.mark.parametrize("api", SHAPES)
@pytest.mark.parametrize("name", FAILS)
def test_an_answer_that_is_none_is_told_in_words(bench: Bench, api: str, name: str) -> None:
    given, words = FAILS[name]
    provider = SHAPES[api][1]
    bench.server.play([raw(given), raw(given)])
    make: Make = APIS[api]

    with pytest.raises(ProviderError) as caught:
        bench.run(make(bench), REQUEST)

    told = sentence(caught.value, provider)
    assert told == words.format(id=provider, key=BASE_URLS[provider])
    assert SECRET not in repr(caught.value)
    assert len(bench.server.requests()) == 1, "nothing is sent again, and nowhere else"


@pytest.mark.parametrize(
    ("given", "logged"),
    [
        (b"req_0aB-1:2/3", "req_0aB-1:2/3"),
        (b"\x1b[31mred", "-"),
        (b"a" * 129, "-"),
        (SECRET.encode(), "-"),
        (b"", "-"),
    ],
)
def test_a_request_id_is_logged_when_it_looks_like_one(
    bench: Bench, caplog: pytest.LogCaptureFixture, given: bytes, logged: str
) -> None:
    caplog.set_level(logging.DEBUG)
    bench.server.play([raw(whole(answer("chat"), more=b"x-request-id: " + given + b"\r\n"))])
    bench.run(bench.chat(), REQUEST)

    assert f"request_id={logged}\n" in caplog.text
    assert SECRET not in caplog.text
