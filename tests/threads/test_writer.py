"""store-writer: shared commits, answers after the feed, and a death that is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from efr.store import queries
from efr.store.batch import Batch, Committed
from efr.store.db import Connection
from efr.store.errors import DuplicateReceipt, StoreClosed, StoreCorrupt, UnknownConversation
from efr.store.feed import Backlog, Feed, Published
from efr.store.rebuild import rebuild
from efr.threads.writer import INBOX, StoreWriter
from tests.harness.clock import FakeClock
from tests.store.samples import (
    CONVERSATION,
    OTHER,
    a_receipt,
    an_id,
    batch,
    created,
    kinds,
    new_database,
    opened,
    projections,
    queued,
    said,
    started,
)

LIMIT_S = 20.0


def never(exc: BaseException) -> None:
    """What a writer that does not die reports to."""
    raise AssertionError from exc


@contextmanager
def writing(
    directory: Path,
    feed: Feed | None = None,
    on_fatal: Callable[[BaseException], None] = never,
) -> Iterator[StoreWriter]:
    writer = StoreWriter(new_database(directory), FakeClock(), feed or Feed(), on_fatal)
    writer.start()
    try:
        yield writer
    finally:
        writer.stop()


def hold(writer: StoreWriter) -> threading.Event:
    """Keeps the writer busy until the event is set, so that what comes next waits together."""
    entered, go = threading.Event(), threading.Event()

    def wait(_: Connection) -> None:
        entered.set()
        assert go.wait(LIMIT_S)

    writer.post(wait)
    assert entered.wait(LIMIT_S)
    return go


def test_stop_commits_what_was_queued(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        replies = [writer.append(one) for one in (created(), batch(queued(), started()))]
    assert [reply.result(0).last_seq for reply in replies] == [1, 3]
    assert not writer.alive
    with opened(tmp_path / "efr.sqlite") as conn:
        assert kinds(conn) == ["conversation_created", "prompt_queued", "turn_started"]


def test_what_waits_shares_a_commit_and_a_failing_batch_fails_alone(tmp_path: Path) -> None:
    seen: list[list[int]] = []
    feed = Feed()
    feed.listen(lambda published: seen.append([one.seq for one in published]))
    with writing(tmp_path, feed) as writer:
        writer.append(created()).result(LIMIT_S)
        go = hold(writer)
        first = [writer.append(batch(queued(an_id(i)))) for i in range(0x20, 0x24)]
        go.set()
        assert [reply.result(LIMIT_S).last_seq for reply in first] == [2, 3, 4, 5]

        go = hold(writer)
        good = writer.append(batch(said()))
        bad = writer.append(batch(said(), conversation=OTHER))
        also = writer.append(batch(said()))
        go.set()
        assert (good.result(LIMIT_S).last_seq, also.result(LIMIT_S).last_seq) == (6, 7)
        assert isinstance(bad.exception(LIMIT_S), UnknownConversation)
        assert writer.append(batch(said())).result(LIMIT_S).last_seq == 8
    assert seen == [[1], [2, 3, 4, 5], [6, 7], [8]]


def test_a_thousand_batches_of_eight_callers_come_without_gap_and_in_order(tmp_path: Path) -> None:
    published: list[int] = []
    feed = Feed()
    feed.listen(lambda events: published.extend(one.seq for one in events))
    done: list[Committed] = []

    def call(number: int) -> None:
        random = Random(number)
        for _ in range(125):
            one = batch(*(said() for _ in range(random.randint(1, 4))))
            done.append(writer.append(one).result(LIMIT_S))

    with writing(tmp_path, feed) as writer:
        writer.append(created()).result(LIMIT_S)
        callers = [threading.Thread(target=call, args=(n,)) for n in range(8)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(LIMIT_S)

    ranges = sorted((one.first_seq, one.last_seq) for one in done)
    assert len(ranges) == 1000
    assert [first for first, _ in ranges] == [2, *(last + 1 for _, last in ranges[:-1])]
    assert published == list(range(1, ranges[-1][1] + 1))
    with opened(tmp_path / "efr.sqlite") as conn:
        assert len(kinds(conn)) == published[-1]
        before = projections(conn)
        rebuild(conn)
        assert projections(conn) == before


def test_nothing_is_published_or_answered_before_the_commit(tmp_path: Path) -> None:
    found: list[tuple[int, bool]] = []

    def look(published: Sequence[Published]) -> None:
        with opened(tmp_path / "efr.sqlite") as other:
            found.append((queries.high_water(other), reply_box[0].done() if reply_box else False))

    reply_box: list[Future[Committed]] = []
    feed = Feed()
    feed.listen(look)
    with writing(tmp_path, feed) as writer:
        go = hold(writer)
        reply = writer.append(created())
        reply_box.append(reply)
        go.set()
        reply.result(LIMIT_S)
    assert found == [(1, False)]


def test_two_requests_with_one_command_id_give_one_set_of_events(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.append(created()).result(LIMIT_S)
        go = hold(writer)
        first = writer.append(batch(queued(), receipt=a_receipt(an_id(7))))
        second = writer.append(batch(queued(an_id(0x11)), receipt=a_receipt(an_id(7))))
        go.set()
        error = second.exception(LIMIT_S)
        assert isinstance(error, DuplicateReceipt)
        assert error.receipt.seq == first.result(LIMIT_S).receipt_seq == 2


def test_a_full_inbox_makes_callers_wait_and_post_does_not(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.append(created()).result(LIMIT_S)
        go = hold(writer)
        replies = [writer.append(batch(said())) for _ in range(INBOX)]
        blocked = threading.Thread(target=lambda: replies.append(writer.append(batch(said()))))
        blocked.start()
        ran = writer.post(lambda conn: conn.in_transaction)
        assert blocked.is_alive()
        assert len(replies) == INBOX
        go.set()
        blocked.join(LIMIT_S)
        assert replies[-1].result(LIMIT_S).last_seq == INBOX + 2
        assert ran.result(LIMIT_S) is True


def test_a_job_has_a_transaction_of_its_own(tmp_path: Path) -> None:
    def fail(conn: Connection) -> None:
        conn.execute("UPDATE search_state SET indexed_seq = 5")
        raise ValueError("no")

    with writing(tmp_path) as writer:
        assert isinstance(writer.run(fail).exception(LIMIT_S), ValueError)
        read = writer.run(lambda conn: conn.execute("SELECT indexed_seq FROM search_state").get)
        assert read.result(LIMIT_S) == 0
        with pytest.raises(Exception, match="syntax"):
            writer.run(lambda conn: conn.execute("SELEKT")).result(LIMIT_S)
        assert writer.append(created()).result(LIMIT_S).last_seq == 1


def test_after_the_stop_nothing_gets_in_and_a_second_stop_does_nothing(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        pass
    writer.stop()
    for enter in (
        lambda: writer.append(Batch()),
        lambda: writer.run(lambda conn: None),
        lambda: writer.post(lambda conn: None),
    ):
        with pytest.raises(StoreClosed):
            enter()


def test_a_database_that_cannot_be_opened_reaches_the_starter(tmp_path: Path) -> None:
    (tmp_path / "efr.sqlite").write_bytes(b"garbage" * 1000)
    writer = StoreWriter(tmp_path / "efr.sqlite", FakeClock(), Feed(), never)
    with pytest.raises(StoreCorrupt):
        writer.start()
    assert not writer.alive
    writer.stop()


class BrokenFeed(Feed):
    """Fails as no listener could make it fail."""

    def publish(self, entries: object) -> None:
        raise RuntimeError("the feed broke")


def test_a_death_of_the_thread_is_told_and_nobody_waits_for_ever(tmp_path: Path) -> None:
    told: list[BaseException] = []
    with writing(tmp_path, BrokenFeed(), told.append) as writer:
        go = hold(writer)
        replies = [writer.append(created())]
        go.set()
        assert isinstance(replies[0].exception(LIMIT_S), StoreClosed)
        writer._thread.join(LIMIT_S)
        with pytest.raises(StoreClosed):
            writer.append(Batch())
    assert [str(one) for one in told] == ["the feed broke"]


def test_a_listener_that_raises_disturbs_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[int] = []

    def bad(_: Sequence[Published]) -> None:
        raise ValueError("no")

    feed = Feed()
    feed.listen(bad)
    feed.listen(lambda published: seen.extend(one.seq for one in published))
    with writing(tmp_path, feed) as writer:
        assert writer.append(created()).result(LIMIT_S).last_seq == 1
    assert seen == [1]
    assert "a listener of the feed failed" in caplog.text


def test_a_listener_gets_the_bytes_that_are_stored_and_the_envelope(tmp_path: Path) -> None:
    seen: list[Published] = []
    feed = Feed()
    forget = feed.listen(seen.extend)
    with writing(tmp_path, feed) as writer:
        writer.append(created()).result(LIMIT_S)
        writer.append(batch(said(), conversation=CONVERSATION)).result(LIMIT_S)
        forget()
        writer.append(batch(said())).result(LIMIT_S)
    with opened(tmp_path / "efr.sqlite") as conn:
        stored = queries.events_after(conn, CONVERSATION, 0, 10, 10_000) or []
    assert [one.payload for one in seen] == [one.payload for one in stored[:2]]
    assert seen[1].envelope == (
        b'{"seq":2,"conversation_id":"%b","at":"2026-10-03T12:00:00Z","event":%b}'
        % (CONVERSATION.encode(), seen[1].payload)
    )


def test_a_listener_that_reads_nothing_is_told_that_it_lagged(tmp_path: Path) -> None:
    wakes: list[None] = []
    backlog = Backlog(lambda: wakes.append(None), limit=1024)
    feed = Feed()
    feed.listen(backlog.offer)
    with writing(tmp_path, feed) as writer:
        writer.append(created()).result(LIMIT_S)
        assert [len(commit) for commit in backlog.take() or ()] == [1]
        for _ in range(2000):
            last = writer.append(batch(said()))
            last.result(LIMIT_S)
        assert backlog.take() is None
        assert backlog.take() == []
        writer.append(batch(said())).result(LIMIT_S)
        assert [commit[0].seq for commit in backlog.take() or ()] == [2002]
