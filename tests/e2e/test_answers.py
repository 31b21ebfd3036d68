"""What a model API answers is what a client reads: stops, counts and failures of a real turn.

One efrd and one server for each API. The log is written in full detail, and holds no key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from efr.client import connect
from efr.client.connection import Connection
from efr.wire import events as ev
from tests.e2e.test_models import APIS, KEY
from tests.harness.daemon import Daemon
from tests.harness.model_server import ModelServer

Json = Any

COUNTS = {"input": 260, "output": 30, "cached": 200, "written": 50, "reasoning": 8}
OK = {"pieces": [{"text": "fine"}], "usage": COUNTS}
LOOK = {"name": "shell", "arguments": {"command": "echo"}}


def refusal(status: int, error: Json, **headers: str) -> Json:
    return {"error": {"status": status, "body": {"error": error}, "headers": headers}}


def again(status: int, error: Json) -> Json:
    return refusal(status, error, **{"retry-after-ms": "1"})


def text(text: str, **more: Json) -> Json:
    return {"pieces": [{"text": text}], **more}


@dataclass(frozen=True)
class Case:
    """What is answered, and what a client reads of it. `{id}` stands for the provider."""

    answers: list[Json]
    code: str | None = None
    message: str = ""
    data: Json = None
    text: str | None = None
    stop: tuple[str, bool] | None = None
    calls: int = 1  # requests that the server got
    apis: tuple[str, ...] = field(default=tuple(APIS))


OPENAI, ANTHROPIC = ("openai-api", "compatible"), ("anthropic-api",)
CASES = {
    "an answer": Case([OK], text="fine"),
    "a limit": Case([text("so far", stop="max_tokens")], text="so far", stop=("max_tokens", False)),
    "a filter": Case(
        [text("I", stop="content_filter")], text="I", stop=("content_filter", False), apis=OPENAI
    ),
    "a refusal": Case(
        [text("I", stop="refusal")], text="I", stop=("refusal", False), apis=ANTHROPIC
    ),
    "a pause": Case(
        [text("I", stop="pause_turn")], text="I", stop=("pause_turn", False), apis=ANTHROPIC
    ),
    "nothing": Case([{"pieces": []}], stop=("end_turn", True)),
    "no JSON": Case(
        [{"pieces": [{"text": "I look"}, {"malformed": "{broken"}]}, OK],
        code="internal",
        message="the answer of {id} could not be read: Expecting property name",
        text="I look",
    ),
    "a break": Case(
        [{"pieces": [{"text": "half"}, {"break": True}]}, OK],
        code="internal",
        message="the answer of {id} broke off: the connection broke",
        text="half",
    ),
    "a break before the answer": Case(
        [{"cut": True}, OK],
        code="internal",
        message="the answer of {id} broke off: the connection broke",
    ),
    "a moment without room": Case(
        [again(503, {"message": "wait"}), again(429, {"message": "wait"}), OK], text="fine", calls=3
    ),
    "no room at all": Case(
        [again(429, {"message": "wait"})] * 5,
        code="busy",
        message="{id} limits the rate of requests: try again in 1s",
        data={"retry_after_ms": 1},
        calls=4,
    ),
    "a long wait": Case(
        [refusal(429, {"message": "later"}, **{"retry-after": "10800"}), OK],
        code="busy",
        message="{id} limits the rate of requests: try again in 3h 0m",
        data={"retry_after_ms": 10_800_000},
    ),
    "no money": Case(
        [refusal(429, {"code": "insufficient_quota", "message": "Pay first"}), OK],
        code="internal",
        message="{id} answered 429: Pay first",
        apis=OPENAI,
    ),
    "a limit of money": Case(
        [
            refusal(
                429,
                {
                    "type": "rate_limit_error",
                    "message": "Pay first",
                    "details": {"error_code": "enforced_spend_limit_reached"},
                },
            ),
            OK,
        ],
        code="internal",
        message="{id} answered 429: Pay first",
        apis=ANTHROPIC,
    ),
    "no capacity": Case(
        [again(529, {"type": "overloaded_error", "message": "Overloaded"})] * 5,
        code="busy",
        message="{id} has no capacity now: try again later",
        calls=4,
        apis=ANTHROPIC,
    ),
    "no capacity in the middle": Case(
        [
            {
                "pieces": [
                    {"text": "half"},
                    {"event": {"type": "error", "error": {"type": "overloaded_error"}}},
                ]
            },
            OK,
        ],
        code="busy",
        message="{id} has no capacity now: try again later",
        text="half",
        apis=ANTHROPIC,
    ),
    "a fault of the server": Case(
        [refusal(500, {"message": "oops"}), OK],
        code="internal",
        message="{id} answered 500: oops",
        apis=OPENAI,
    ),
    "a fault that passes": Case(
        [again(500, {"message": "oops"}), OK], text="fine", calls=2, apis=ANTHROPIC
    ),
    "no such model": Case(
        [refusal(404, {"type": "not_found_error", "code": "model_not_found", "message": "?"}), OK],
        code="invalid",
        message="{id} does not serve the model fake-model: `efr models` lists what it does",
        data={"model": "fake-model"},
    ),
    "too large a body": Case(
        [refusal(413, {"type": "request_too_large", "message": "32 MB"}), OK],
        code="internal",
        message="{id} answered 413: 32 MB",
        apis=ANTHROPIC,
    ),
    "a failure after a call": Case(
        [
            {"pieces": [{"call": LOOK}], "usage": COUNTS},
            refusal(403, {"message": "not allowed"}),
        ],
        code="internal",
        message="{id} answered 403: not allowed",
        calls=2,
    ),
    "a refused key": Case(
        [refusal(401, {"message": f"Incorrect API key provided: {KEY}."}), OK],
        code="unauthorized",
        message="{id} refused the login (Incorrect API key provided: [key].): run `efr login {id}`",
    ),
}


@dataclass
class Turn:
    """What a client saw."""

    text: str | None = None
    end: Any = None


def ask(efr: Connection) -> Turn:
    sent = efr.call("prompt.send", text="go")
    turn = Turn()
    for item in efr.follow(sent.conversation_id, after_seq=sent.seq):
        event = getattr(item, "event", None)
        if isinstance(event, ev.AssistantMessageCompleted):
            turn.text = event.text
        if isinstance(event, ev.TurnCompleted | ev.TurnFailed):
            turn.end = event
            break
    return turn


def read(turn: Turn) -> tuple[Json, ...]:
    """Text, stop, and error as a case has them."""
    if isinstance(turn.end, ev.TurnCompleted):
        stop = turn.end.stop
        return turn.text, stop and (stop.reason.value, stop.empty), None, "", None
    error = turn.end.error
    return turn.text, None, error.code.value, error.message, error.data


@pytest.mark.parametrize("provider", APIS)
def test_each_answer_is_read_as_the_client_sees_it(tmp_path: Path, provider: str) -> None:
    settings = f'[model]\nprovider = "{provider}"\nname = "fake-model"\n' + APIS[provider]
    with (
        ModelServer() as server,
        Daemon(
            tmp_path,
            settings=settings.format(url=server.base_url),
            env={"EFR_LOG": "debug"},
        ) as daemon,
        connect(daemon.env) as efr,
    ):
        efr.call("admin.login_api_key", provider=provider, key=KEY, check=False)
        for name, case in CASES.items():
            if provider not in case.apis:
                continue
            server.play(case.answers)
            turn = ask(efr)
            text, stop, code, message, data = read(turn)
            assert (text, stop, code, data) == (case.text, case.stop, case.code, case.data), name
            assert message.startswith(case.message.format(id=provider)), name
            assert len(server.bodies()) == case.calls, name
            counted(turn, name, provider)
        shown = shown_of(efr, provider)
        assert shown.key_refused_at is not None
        assert shown.key_checked_at is not None
        server.play([OK])
        assert ask(efr).text == "fine"
        assert shown_of(efr, provider).key_refused_at is None
    everything = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert everything.count(KEY.encode()) == 1, "the key is in its own file and nowhere else"
    assert "Traceback" not in daemon.log


def shown_of(efr: Connection, provider: str) -> Any:
    """What `efr status` shows of it."""
    status = efr.call("admin.status")
    return next(one for one in status.providers if one.provider == provider)


def counted(turn: Turn, name: str, provider: str) -> None:
    """The counts of the turns that have some."""
    if name not in ("an answer", "a failure after a call"):
        return
    usage = turn.end.usage
    writes = 50 if provider != "compatible" else 0
    assert (usage.input_tokens, usage.output_tokens, usage.context_tokens) == (260, 30, 290)
    assert (usage.cached_input_tokens, usage.reasoning_tokens) == (200, 8)
    assert (usage.cache_write_tokens, usage.cache_write_1h_tokens) == (writes, 0)
