from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from efr.base.cancel import Cancel, Cancelled
from efr.providers.errors import ApiError, TransportFailed
from efr.providers.http import HttpAnswer, HttpCall
from efr.providers.retry import (
    SAFE_TO_REPEAT,
    Sender,
    Verdict,
    backoff_s,
    header_of,
    pause,
    send_once,
    send_with_retries,
    server_wait_s,
)
from tests.harness.clock import FakeClock
from tests.providers.conftest import Bench

NOW_US = 1_791_028_800_000_000  # 2026-10-03T12:00:00Z


def judge(answer: HttpAnswer, body: bytes) -> Verdict:
    wait_s = server_wait_s(answer.header, NOW_US)
    error = ApiError(answer.status, None, body.decode())
    return Verdict(error, again=answer.status in SAFE_TO_REPEAT, wait_s=wait_s)


def get(bench: Bench) -> HttpCall:
    return HttpCall("GET", f"{bench.server.base_url}/models", {})


def errors(*statuses: int, **headers: str) -> list[dict[str, object]]:
    return [{"error": {"status": s, "body": {}, "headers": headers}} for s in statuses]


@pytest.mark.parametrize(
    ("attempt", "low", "high"), [(1, 0.25, 0.5), (2, 0.5, 1), (3, 1, 2), (5, 4, 8), (9, 4, 8)]
)
def test_a_backoff_is_half_fixed_and_half_random(attempt: int, low: float, high: float) -> None:
    assert backoff_s(attempt, 0.0) == low
    assert backoff_s(attempt, 1.0) == high


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "Sat, 03 Oct 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 03 Oct 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "99999999999"}, None),  # more than a year is nonsense
        ({"retry-after-ms": "9999999999999999"}, None),
        ({"retry-after": "Sat, 03 Oct 2099 11:00:00 GMT"}, None),
    ],
)
def test_a_servers_wait_is_read_from_its_headers(
    headers: dict[str, str], wait_s: float | None
) -> None:
    assert server_wait_s(header_of(headers), NOW_US) == wait_s


def test_a_get_is_repeated_after_statuses_that_may_pass(bench: Bench) -> None:
    bench.server.play([], model_answers=errors(500, 502, 504))

    with send_with_retries(bench.sender, get(bench), Cancel(), judge) as answer:
        assert answer.status == 200
    assert len(bench.waits) == 3


def test_no_try_starts_after_the_patience_is_over(bench: Bench) -> None:
    bench.server.play([], model_answers=errors(503, 503, **{"retry-after": "20"}))

    with pytest.raises(ApiError):
        send_with_retries(bench.sender, get(bench), Cancel(), judge, patience_s=30)
    assert bench.waits == [20.0]


def test_once_is_once(bench: Bench) -> None:
    bench.server.play([], model_answers=errors(503))

    with pytest.raises(ApiError):
        send_once(bench.sender, get(bench), Cancel(), judge)
    assert bench.waits == []


def test_a_get_is_repeated_after_a_broken_connection_and_a_post_is_not(bench: Bench) -> None:
    bench.server.play([{"cut": True}] * 5)
    post = HttpCall("POST", f"{bench.server.base_url}/responses", {}, b"{}")

    with pytest.raises(TransportFailed):
        send_with_retries(bench.sender, post, Cancel(), judge)
    assert len(bench.server.requests()) == 1


def test_a_cancel_ends_a_retry_wait(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench()
    bench.server.play([], model_answers=errors(503, **{"retry-after": "60"}))
    waiting = threading.Event()

    def tell_and_pause(cancel: Cancel, seconds: float) -> None:
        waiting.set()
        pause(cancel, seconds)

    sender = Sender(bench.http, FakeClock(), bench.sender.random, tell_and_pause)
    cancel = Cancel()

    def cancel_when_waiting() -> None:
        waiting.wait()
        cancel.cancel()

    canceller = threading.Thread(target=cancel_when_waiting)
    canceller.start()
    with pytest.raises(Cancelled):
        send_with_retries(sender, get(bench), cancel, judge)
    canceller.join()
    assert len(bench.server.requests()) == 1
