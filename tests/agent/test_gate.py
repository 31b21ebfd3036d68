from __future__ import annotations

import threading

import pytest

from efr.agent.gate import Gate, GateFull
from tests.agent.scripted import LIMIT_S


def test_one_caller_is_inside_at_a_time() -> None:
    gate = Gate(limit=8)
    inside = 0
    most = 0
    done: list[int] = []

    def enter(number: int) -> None:
        nonlocal inside, most
        for _ in range(200):
            with gate.enter():
                inside += 1
                most = max(most, inside)
                inside -= 1
        done.append(number)

    threads = [threading.Thread(target=enter, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert most == 1
    assert sorted(done) == [0, 1, 2, 3, 4, 5]


def test_a_full_inbox_refuses_requests_and_never_the_turn() -> None:
    gate = Gate(limit=0)
    entered = threading.Event()

    def turn() -> None:
        with gate.enter(always=True):
            entered.set()

    thread = threading.Thread(target=turn)
    with gate.enter():
        with pytest.raises(GateFull), gate.enter():
            pass
        thread.start()
    assert entered.wait(LIMIT_S)
    thread.join(LIMIT_S)


def test_a_look_that_must_not_wait_goes_in_only_when_nobody_is_inside() -> None:
    gate = Gate()
    with gate.enter(), gate.try_enter() as entered:
        assert not entered
    with gate.try_enter() as entered:
        assert entered
    with gate.enter():
        pass


def test_an_exception_inside_lets_the_next_one_in() -> None:
    gate = Gate()
    with pytest.raises(ZeroDivisionError), gate.enter():
        raise ZeroDivisionError
    with gate.try_enter() as entered:
        assert entered
