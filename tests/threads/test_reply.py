"""Replies: a Future in all but its cost."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from efr.threads.reply import Reply

LIMIT_S = 10.0


def test_gives_its_answer_to_everybody_who_waits() -> None:
    reply: Reply[int] = Reply()
    found: list[int] = []
    waiters = [
        threading.Thread(target=lambda: found.append(reply.result(LIMIT_S))) for _ in range(5)
    ]
    for waiter in waiters:
        waiter.start()
    assert not reply.done()
    assert reply.running()
    reply.set_result(7)
    for waiter in waiters:
        waiter.join(LIMIT_S)
    assert found == [7] * 5
    assert reply.done()
    assert reply.exception() is None
    assert isinstance(reply, Future)


def test_gives_its_exception() -> None:
    reply: Reply[int] = Reply()
    reply.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        reply.result()
    assert isinstance(reply.exception(), ValueError)


def test_a_wait_ends_with_its_time() -> None:
    reply: Reply[int] = Reply()
    with pytest.raises(TimeoutError):
        reply.result(0.001)
    with pytest.raises(TimeoutError):
        reply.exception(0)
    reply.set_result(1)
    assert reply.result(0) == 1


def test_none_is_an_answer() -> None:
    reply: Reply[None] = Reply()
    reply.set_result(None)
    assert reply.exception() is None
    assert reply.done()


def test_a_callback_comes_once_also_when_it_is_late() -> None:
    reply: Reply[int] = Reply()
    calls: list[str] = []
    reply.add_done_callback(lambda r: calls.append(f"early {r.result()}"))
    reply.set_result(1)
    reply.add_done_callback(lambda r: calls.append(f"late {r.result()}"))
    assert calls == ["early 1", "late 1"]


def test_a_callback_that_raises_keeps_no_other_from_coming(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reply: Reply[int] = Reply()
    calls: list[int] = []

    def bad(_: Future[int]) -> None:
        raise ValueError("no")

    reply.add_done_callback(bad)
    reply.add_done_callback(lambda r: calls.append(r.result()))
    reply.set_result(1)
    assert calls == [1]
    assert "a callback of a reply failed" in caplog.text


def test_callbacks_come_once_while_two_threads_race() -> None:
    for _ in range(500):
        reply: Reply[int] = Reply()
        calls: list[int] = []
        thread = threading.Thread(target=reply.set_result, args=(1,))
        thread.start()
        reply.add_done_callback(lambda _, calls=calls: calls.append(1))  # type: ignore[misc]
        thread.join(LIMIT_S)
        assert calls == [1]


def test_cannot_be_cancelled() -> None:
    reply: Reply[int] = Reply()
    assert not reply.cancel()
    assert not reply.cancelled()
    assert reply.set_running_or_notify_cancel()
    reply.set_result(1)
    assert reply.result() == 1
