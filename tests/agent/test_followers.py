from __future__ import annotations

from efr.agent.followers import Followers
from tests.harness.clock import FakeClock

C1, C2 = "conversation-1", "conversation-2"
TTY = "/dev/pts/3"


def test_only_an_open_stream_that_answers_counts_as_a_person() -> None:
    followers = Followers(FakeClock())
    looks = followers.join(C1, False, TTY)
    assert not followers.can_answer(C1)
    answers = followers.join(C1, True, TTY)
    assert followers.can_answer(C1)
    assert not followers.can_answer(C2)
    answers()
    answers.leave()
    assert not followers.can_answer(C1)
    looks.leave()


def test_a_lease_holds_sixty_seconds_and_a_report_replaces_the_one_before() -> None:
    clock = FakeClock()
    followers = Followers(clock)
    assert followers.report_lease(1, TTY, [C1], ["pty"]) == 60
    clock.advance(59)
    assert followers.follows(C1, TTY)
    assert followers.leased_ptys() == {"pty"}
    followers.report_lease(1, TTY, [C2])
    assert not followers.follows(C1, TTY)
    assert followers.follows(C2, TTY)
    clock.advance(61)
    assert not followers.follows(C2, TTY)
    assert followers.leased_ptys() == frozenset()


def test_a_closed_connection_shows_nothing_any_more() -> None:
    followers = Followers(FakeClock())
    left: list[str] = []
    followers.tell_left(left.append)
    followers.report_lease(1, TTY, [C1])
    followers.prompted(1, C1, TTY)
    assert followers.may_still_show(C1, TTY)
    followers.connection_closed(1)
    assert not followers.may_still_show(C1, TTY)
    assert not followers.follows(C1, TTY)
    assert left == [C1]


def test_what_a_stream_was_handed_is_remembered_after_it_ended() -> None:
    followers = Followers(FakeClock())
    stream = followers.join(C1, False, TTY)
    stream.handed(7)
    stream.handed(5)
    stream.leave()
    assert followers.was_shown(C1, TTY, 7)
    assert not followers.was_shown(C1, TTY, 8)
    assert not followers.was_shown(C1, "/dev/pts/4", 7)
