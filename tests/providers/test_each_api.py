"""What holds for a model call of every API: sent once or again, cut, cancelled, in any pieces."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from efr.base.cancel import Cancelled
from efr.providers.canonical import Message, ModelFacts, Request, TextBlock, TextDelta, fold
from efr.providers.errors import ApiError, RateLimited, TransportFailed, Unauthorized
from efr.providers.provider import Provider
from tests.providers.conftest import Bench

LIMIT_S = 20
MODELS = (ModelFacts("m", max_output_tokens=100),)
REQUEST = Request("m", (Message("user", (TextBlock("hi"),)),), conversation_id="c")
CALLS = [
    {"name": "shell", "arguments": {"command": "echo größe 🙂"}},
    {"name": "read_file", "arguments": {"path": "/etc/fstab"}},
]
PIECES = [{"reasoning": "größe"}, {"text": ["It is ", "🙂."]}, {"calls": CALLS}]
OK = {"pieces": PIECES, "usage": {"input": 20, "output": 9, "cached": 12, "reasoning": 2}}

Make = Callable[[Bench], Provider]
APIS: dict[str, Make] = {
    "responses": lambda bench: bench.responses(models=MODELS),
    "subscription": lambda bench: bench.responses(models=MODELS, subscription=True),
    "messages": lambda bench: bench.messages(MODELS),
    "chat": lambda bench: bench.chat(models=MODELS),
}
each_api = pytest.mark.parametrize("make", APIS.values(), ids=APIS)


def refusal(status: int, **headers: str) -> dict[str, Any]:
    return {"error": {"status": status, "body": {"error": {"message": "no"}}, "headers": headers}}


@each_api
def test_an_answer_reads_the_same_in_pieces_of_one_byte(bench: Bench, make: Make) -> None:
    bench.server.play([OK, {**OK, "chunk_bytes": 1}])
    provider = make(bench)
    whole, pieces = (fold(bench.run(provider, REQUEST)) for _ in range(2))

    assert [block for block in whole.message.content if isinstance(block, TextBlock)] == [
        TextBlock("It is 🙂.")
    ]
    assert [call.input for call in whole.message.calls] == [call["arguments"] for call in CALLS]
    assert (pieces.message.text, pieces.usage) == (whole.message.text, whole.usage)
    assert [call.input for call in pieces.message.calls] == [
        call.input for call in whole.message.calls
    ]


@each_api
@pytest.mark.parametrize(
    ("answers", "error", "requests"),
    [
        ([{"cut": True}, OK], TransportFailed, 1),  # it may have been acted on
        ([{"pieces": [{"text": "half"}, {"break": True}]}, OK], TransportFailed, 1),
        ([refusal(401), refusal(401), OK], Unauthorized, 1),
        ([refusal(403), OK], ApiError, 1),
        ([refusal(408), refusal(503), OK], None, 3),
        ([refusal(429, **{"retry-after": "2"}), OK], None, 2),
        ([refusal(429, **{"retry-after": "61"}), OK], RateLimited, 1),
        ([refusal(429)] * 5, RateLimited, 4),
        ([refusal(503)] * 5, ApiError, 4),
    ],
)
def test_a_call_is_sent_again_only_when_nobody_acted_on_it(
    bench: Bench, make: Make, answers: Any, error: type[Exception] | None, requests: int
) -> None:
    bench.server.play(answers)
    if error is None:
        fold(bench.run(make(bench), REQUEST))
    else:
        with pytest.raises(error) as caught:
            bench.run(make(bench), REQUEST)
        assert getattr(caught.value, "sent", True)

    assert len(bench.server.requests()) == requests


@each_api
def test_a_cancel_ends_an_answer_at_once(bench: Bench, make: Make) -> None:
    bench.server.play([{"pieces": [{"text": "half"}, {"hang": True}]}])
    stream = make(bench).stream(REQUEST, bench.cancel)
    assert next(stream) == TextDelta("half")

    canceller = threading.Timer(0.01, bench.cancel.cancel)
    canceller.start()
    with pytest.raises(Cancelled):
        next(stream)
    canceller.join(LIMIT_S)
