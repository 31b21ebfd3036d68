from __future__ import annotations

from efr.providers.key_watch import KeyNews, KeyWatch
from tests.harness.clock import FakeClock


def watch() -> tuple[KeyWatch, FakeClock]:
    clock = FakeClock()
    return KeyWatch(clock), clock


def test_nothing_is_known_at_the_start() -> None:
    assert watch()[0].news() == KeyNews()


def test_a_calls_refusal_stays_until_a_call_works() -> None:
    keys, clock = watch()
    keys.call_refused(keys.begin())
    refused = clock.now_us()
    clock.advance(5)
    keys.list_answered(keys.begin(), refused=False)
    assert keys.news() == KeyNews(refused, clock.now_us())

    clock.advance(5)
    keys.call_worked(keys.begin())
    assert keys.news() == KeyNews(None, clock.now_us())


def test_the_list_counts_only_before_any_call() -> None:
    keys, clock = watch()
    keys.list_answered(keys.begin(), refused=True)
    assert keys.news() == KeyNews(clock.now_us(), clock.now_us())

    keys.call_worked(keys.begin())
    assert keys.news().refused_at_us is None
    keys.list_answered(keys.begin(), refused=True)
    assert keys.news().refused_at_us is None


def test_an_answer_of_an_older_generation_changes_nothing() -> None:
    keys, clock = watch()
    old = keys.begin()
    keys.renew(checked=True)
    checked = clock.now_us()
    clock.advance(5)
    keys.call_refused(old)
    keys.list_answered(old, refused=True)

    assert keys.news() == KeyNews(None, checked)


def test_a_login_without_a_check_knows_nothing_of_its_key() -> None:
    keys, _ = watch()
    keys.call_refused(keys.begin())
    keys.renew(checked=False)

    assert keys.news() == KeyNews()
