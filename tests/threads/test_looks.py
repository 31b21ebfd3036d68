"""Looks at file systems that may hang."""

from __future__ import annotations

import queue
import threading

import pytest

from efr.agent.place import LookTimedOut
from efr.base.clock import SystemClock
from efr.threads.looks import Looks

LIMIT_S = 20.0


class Hung:
    """A look that lasts until the test lets it go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.began: queue.Queue[str] = queue.Queue()

    def __call__(self) -> str:
        self.began.put(threading.current_thread().name)
        assert self.go.wait(LIMIT_S)
        return "late"


def deadline() -> float:
    return SystemClock().monotonic() + LIMIT_S


def test_a_look_gives_what_it_finds_or_raises() -> None:
    looks = Looks(SystemClock())
    assert looks.look("/p", lambda: threading.current_thread().name) == "look-1"
    with pytest.raises(FileNotFoundError):
        looks.look("/p", lambda: (_ for _ in ()).throw(FileNotFoundError("/p")))
    assert looks.stop(deadline()) == []


def test_a_system_that_says_timed_out_is_no_late_look() -> None:
    looks = Looks(SystemClock())
    with pytest.raises(TimeoutError, match="the mount"):
        looks.look("/p", lambda: (_ for _ in ()).throw(TimeoutError("the mount")))
    assert looks.look("/p", lambda: 1) == 1
    assert looks.stop(deadline()) == []


def test_who_looks_at_a_dead_mount_goes_on_and_the_next_does_not_wait() -> None:
    looks, hung = Looks(SystemClock(), limit_s=0.05), Hung()
    with pytest.raises(LookTimedOut):
        looks.look("/dead", hung)
    with pytest.raises(LookTimedOut):
        looks.look("/dead", hung)
    assert hung.began.qsize() == 1
    assert looks.look("/alive", lambda: "here") == "here"
    hung.go.set()
    assert looks.stop(deadline()) == []


def test_a_mount_that_came_back_is_looked_at_again() -> None:
    looks, hung = Looks(SystemClock(), limit_s=0.05), Hung()
    with pytest.raises(LookTimedOut):
        looks.look("/dead", hung)
    name = hung.began.get(timeout=LIMIT_S)
    thread = next(one for one in threading.enumerate() if one.name == name)
    hung.go.set()
    thread.join(LIMIT_S)
    assert looks.look("/dead", lambda: "back") == "back"
    assert looks.stop(deadline()) == []


def test_one_too_many_waits_for_a_free_one() -> None:
    looks, hung, found = Looks(SystemClock(), limit=1), Hung(), queue.Queue[str]()
    first = threading.Thread(target=lambda: found.put(looks.look("/a", hung)))
    first.start()
    hung.began.get(timeout=LIMIT_S)
    second = threading.Thread(target=lambda: found.put(looks.look("/b", lambda: "second")))
    second.start()
    hung.go.set()
    assert {found.get(timeout=LIMIT_S) for _ in range(2)} == {"late", "second"}
    first.join(LIMIT_S)
    second.join(LIMIT_S)
    assert looks.stop(deadline()) == []


def test_a_full_house_is_late_for_the_next() -> None:
    looks, hung = Looks(SystemClock(), limit=1, limit_s=0.05), Hung()
    for what in ("/a", "/b"):
        with pytest.raises(LookTimedOut):
            looks.look(what, hung)
    assert hung.began.qsize() == 1
    hung.go.set()
    assert looks.stop(deadline()) == []


def test_a_stop_names_what_is_stuck_and_lets_nothing_more_begin() -> None:
    looks, hung = Looks(SystemClock(), limit_s=0.05), Hung()
    with pytest.raises(LookTimedOut):
        looks.look("/dead", hung)
    assert looks.stop(SystemClock().monotonic()) == ["look-1"]
    with pytest.raises(LookTimedOut):
        looks.look("/alive", lambda: "here")
    hung.go.set()
    assert looks.stop(deadline()) == []
