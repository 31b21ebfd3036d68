"""The inbox: bounded for `put`, open for `post`, emptied in order, closed for good."""

from __future__ import annotations

import threading

import pytest

from efr.threads.inbox import Closed, Inbox

LIMIT_S = 10.0


def test_gives_out_what_waits_in_order() -> None:
    inbox: Inbox[int] = Inbox(100)
    for number in range(10):
        inbox.put(number)
    assert [inbox.take(), inbox.take()] == [0, 1]
    assert inbox.take_all() == [2, 3, 4, 5, 6, 7, 8, 9]


def test_closed_it_gives_out_the_rest_and_takes_nothing() -> None:
    inbox: Inbox[int] = Inbox(3)
    inbox.put(1)
    inbox.put(2)
    inbox.close()
    for enter in (inbox.put, inbox.post):
        with pytest.raises(Closed):
            enter(3)
    assert inbox.take() == 1
    assert inbox.take_all() == [2]
    assert inbox.take_all(5, LIMIT_S) == []
    assert inbox.take() is None


def test_a_full_one_makes_put_wait_until_something_is_taken() -> None:
    inbox: Inbox[int] = Inbox(2)
    inbox.put(1)
    inbox.put(2)
    thread = threading.Thread(target=inbox.put, args=(4,))
    thread.start()
    inbox.post(3)  # never waits
    assert thread.is_alive()
    assert [inbox.take(), inbox.take()] == [1, 2]
    thread.join(LIMIT_S)
    assert inbox.take_all() == [3, 4]


def test_closing_wakes_who_waits_to_put_and_who_waits_to_take() -> None:
    full: Inbox[int] = Inbox(1)
    empty: Inbox[int] = Inbox(1)
    full.put(1)
    raised: list[BaseException] = []
    taken: list[list[int]] = []

    def put() -> None:
        try:
            full.put(2)
        except Closed as exc:
            raised.append(exc)

    threads = [
        threading.Thread(target=put),
        threading.Thread(target=lambda: taken.append(empty.take_all(5, LIMIT_S))),
    ]
    for thread in threads:
        thread.start()
    full.close()
    empty.close()
    for thread in threads:
        thread.join(LIMIT_S)
    assert len(raised) == 1
    assert taken == [[]]


def test_a_taker_that_hopes_for_several_gets_them_together() -> None:
    inbox: Inbox[int] = Inbox(8)
    taken: list[list[int]] = []
    taker = threading.Thread(target=lambda: taken.append(inbox.take_all(3, LIMIT_S)))
    taker.start()
    for number in range(3):
        inbox.put(number)
    taker.join(LIMIT_S)
    assert taken == [[0, 1, 2]]


def test_a_hope_ends_with_its_time_and_at_the_limit() -> None:
    inbox: Inbox[int] = Inbox(2)
    inbox.put(1)
    assert inbox.take_all(2, 0.001) == [1]
    inbox.put(2)
    inbox.put(3)
    assert inbox.take_all(99, 0.001) == [2, 3]


def test_many_takers_share_the_work_without_losing_any() -> None:
    inbox: Inbox[int] = Inbox(8)
    found: list[int] = []

    def take() -> None:
        while (item := inbox.take()) is not None:
            found.append(item)

    takers = [threading.Thread(target=take) for _ in range(4)]
    for taker in takers:
        taker.start()
    for number in range(2000):
        inbox.put(number)
    inbox.close()
    for taker in takers:
        taker.join(LIMIT_S)
    assert sorted(found) == list(range(2000))


def test_an_offer_says_whether_there_was_room() -> None:
    inbox: Inbox[int] = Inbox(1)
    assert [inbox.offer(1), inbox.offer(2)] == [True, False]
    assert inbox.take() == 1
    assert inbox.empty
    inbox.close()
    assert not inbox.offer(3)
