"""Subscriptions over a real store, a real feed and the real draft hub."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from efr.agent.drafts import DraftHub
from efr.agent.followers import Followers
from efr.daemon import log_reads
from efr.daemon.subscriptions import QUEUE_SIZE, Start, Subscription, Subscriptions
from efr.store import db, migrate
from efr.store.batch import Batch, NewEvent
from efr.store.feed import Feed
from efr.threads.readers import ReaderPool
from efr.threads.requests import Finished
from efr.threads.writer import StoreWriter
from efr.wire import codec
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.harness.clock import FakeClock

CONVERSATION = "00000000-0000-7000-8000-00000000c001"
OTHER = "00000000-0000-7000-8000-00000000c002"
TURN = "00000000-0000-7000-8000-000000000001"
CALL = "00000000-0000-7000-8000-00000000ca11"
COMMAND = "00000000-0000-7000-8000-00000000c0de"


class NoTimer:
    """Nothing is ever due: the tests deliver by reading."""

    class Entry:
        def cancel(self) -> None: ...

    def at(self, due_monotonic: float, run: Callable[[], None]) -> NoTimer.Entry:
        return NoTimer.Entry()


class House:
    """The rooms below a subscription."""

    def __init__(self, path: Path) -> None:
        conn = db.open(path)
        migrate.migrate(conn)
        conn.close()
        clock = FakeClock()
        self.feed = Feed()
        self.failures: list[BaseException] = []
        self.writer = StoreWriter(path, clock, self.feed, self.failures.append)
        self.readers = ReaderPool(path, 1)
        self.hub = DraftHub(clock, NoTimer(), lambda: 0.0)
        self.followers = Followers(clock)
        self.before_read: Callable[[], None] = lambda: None
        self.subscriptions = Subscriptions(self.feed, self.hub, self.followers, self._start)
        self.writer.start()
        self.readers.start()
        self.leave_feed = self.subscriptions.listen()
        self.append(ev.ConversationCreated(t.Origin.SHELL))
        self.append(ev.PromptQueued(TURN, COMMAND, "why?", t.Origin.SHELL))

    def _start(self, params: m.ConversationSubscribeParams) -> Start:
        start = self.readers.read(lambda conn: log_reads.read_start(params, conn))
        self.before_read()
        return start

    def append(self, *events: ev.Event, conversation_id: str = CONVERSATION) -> int:
        batch = Batch(tuple(NewEvent(conversation_id, event) for event in events))
        return self.writer.append(batch).result(20).last_seq

    def open(self, after_seq: int | None = None, *, drafts: bool = False) -> Subscription:
        params = m.ConversationSubscribeParams(CONVERSATION, after_seq, drafts=drafts)
        return self.subscriptions.open(params, answers_input=True, tty="/dev/pts/7")

    def close(self) -> None:
        self.leave_feed()
        self.writer.stop()
        self.readers.stop()
        assert self.failures == []


@pytest.fixture(name="house")
def _house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "efr.sqlite")
    yield house
    house.close()


def updated(n: int, text: str = "x", index: int = 0) -> ev.Event:
    return ev.AssistantMessageUpdated(TURN, index, n, text)


def pull(subscription: Subscription) -> list[Any]:
    """What the subscription has now, decoded; a Finished is the last."""
    got: list[Any] = []
    while (item := subscription.next_item()) is not None:
        if isinstance(item, Finished):
            return [*got, item]
        codec.decode(item, m.ConversationSubscribeItem)
        got.append(json.loads(item))
    return got


def seqs(items: list[Any]) -> list[int]:
    return [item["seq"] for item in items if isinstance(item, dict) and item["kind"] == "event"]


def overflowed(items: list[Any]) -> int:
    last = items[-1]
    assert isinstance(last, Finished)
    assert last.error is not None
    assert last.error.code is t.ErrorCode.OVERFLOW
    return int(last.error.data["last_seq"])


# Starts.


def test_a_first_subscription_starts_with_a_snapshot(house: House) -> None:
    house.append(ev.ConversationCreated(t.Origin.CLI), conversation_id=OTHER)
    (snapshot,) = pull(house.open())
    assert snapshot["kind"] == "snapshot"
    assert snapshot["hwm"] == 3
    assert [event["seq"] for event in snapshot["events"]] == [1, 2]
    assert snapshot["conversation"]["id"] == CONVERSATION
    assert "history_cursor" not in snapshot
    assert "live" not in snapshot


def test_an_unknown_conversation_is_not_found_and_leaves_nothing(house: House) -> None:
    params = m.ConversationSubscribeParams(OTHER)
    with pytest.raises(Refusal) as caught:
        house.subscriptions.open(params, answers_input=True, tty="/dev/pts/7")
    assert caught.value.body.code is t.ErrorCode.NOT_FOUND
    assert not house.followers.can_answer(OTHER)
    assert house.subscriptions._open == {}


@pytest.mark.parametrize(("gap", "replays"), [(128, True), (129, False)])
def test_a_gap_of_128_events_is_replayed_and_one_of_129_is_not(
    house: House, gap: int, replays: bool
) -> None:
    first = house.append(updated(0)) + 1
    for n in range(gap):
        last = house.append(updated(n + 1))
    items = pull(house.open(first - 1))
    if replays:
        assert seqs(items) == list(range(first, last + 1))
    else:
        assert (items[0]["kind"], len(items)) == ("snapshot", 1)
        assert [event["seq"] for event in items[0]["events"]] == list(range(last - 127, last + 1))
        assert items[0]["history_cursor"] == f"s:{last - 127}"


def test_a_gap_of_more_than_a_mebibyte_is_a_snapshot(house: House) -> None:
    half = 512 * 1024
    first = house.append(updated(0))
    size = len(ev.encode_event(updated(0, "")))
    house.append(updated(1, "x" * (half - size)), updated(1, "x" * (half - size)))
    assert seqs(pull(house.open(first))) == [first + 1, first + 2]
    house.append(updated(1, ""))
    (snapshot,) = pull(house.open(first))
    assert snapshot["kind"] == "snapshot"


def test_a_damaged_record_hides_nothing_else(house: House) -> None:
    last = house.append(updated(0), updated(1))

    def damage(conn: Any) -> None:
        for (name,) in conn.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'events'"
        ).fetchall():
            conn.execute(f"DROP TRIGGER {name}")
        conn.execute(
            'UPDATE events SET payload = \'{"kind":"assistant_message_updated"}\' WHERE seq = ?',
            (last - 1,),
        )

    house.writer.run(damage).result(20)
    assert seqs(pull(house.open(0))) == [1, 2, last]
    (snapshot,) = pull(house.open())
    assert [event["seq"] for event in snapshot["events"]] == [1, 2, last]
    params = m.ConversationHistoryParams(CONVERSATION)
    page = house.readers.read(lambda conn: log_reads.history(params, conn))
    assert [event.seq for event in page.events] == [1, 2, last]


# Live events.


def test_a_commit_between_registration_and_the_read_arrives_once(house: House) -> None:
    def commit() -> None:
        house.before_read = lambda: None
        house.append(updated(1))

    house.before_read = commit
    subscription = house.open(2)
    assert seqs(pull(subscription)) == [3]
    house.append(updated(2))
    assert seqs(pull(subscription)) == [4]


def test_live_events_follow_and_others_do_not(house: House) -> None:
    subscription = house.open()
    assert len(pull(subscription)) == 1
    woken = threading.Event()
    subscription.set_ready(woken.set)
    house.append(ev.ConversationCreated(t.Origin.CLI), conversation_id=OTHER)
    assert not woken.is_set()
    house.append(updated(1))
    assert woken.is_set()
    assert seqs(pull(subscription)) == [4]
    subscription.close()
    house.append(updated(2))
    assert pull(subscription) == []


def test_the_65th_waiting_event_ends_it_after_64(house: House) -> None:
    subscription = house.open()
    assert len(pull(subscription)) == 1
    for n in range(QUEUE_SIZE + 5):
        house.append(updated(n))
    items = pull(subscription)
    assert seqs(items) == list(range(3, 3 + QUEUE_SIZE))
    last = overflowed(items)
    assert last == 2 + QUEUE_SIZE
    subscription.close()
    assert seqs(pull(house.open(last))) == list(range(last + 1, last + 6))


def test_an_overflow_while_the_start_was_read_loses_nothing(house: House) -> None:
    def many() -> None:
        house.before_read = lambda: None
        for n in range(QUEUE_SIZE + 1):
            house.append(updated(n))

    house.before_read = many
    items = pull(house.open(2))
    assert overflowed(items) == 2 + QUEUE_SIZE
    assert seqs(items) == list(range(3, 3 + QUEUE_SIZE))


def test_it_ends_after_the_delete(house: House) -> None:
    subscription = house.open()
    pull(subscription)
    house.append(ev.ConversationDeleted(t.Origin.CLI))
    items = pull(subscription)
    assert items[0]["event"]["kind"] == "conversation_deleted"
    assert items[1] == Finished()


def test_what_was_handed_out_and_who_can_answer_is_told(house: House) -> None:
    subscription = house.open()
    assert house.followers.can_answer(CONVERSATION)
    pull(subscription)
    last = house.append(updated(1))
    assert not house.followers.was_shown(CONVERSATION, "/dev/pts/7", last)
    pull(subscription)
    assert house.followers.was_shown(CONVERSATION, "/dev/pts/7", last)
    subscription.close()
    assert not house.followers.can_answer(CONVERSATION)


# Drafts.


def draft_text(items: list[Any]) -> str:
    got = ""
    for item in items:
        if item["kind"] == "draft" and item["draft"]["kind"] == "text":
            assert item["draft"]["offset"] == len(got.encode())
            got += item["draft"]["delta"]
    return got


def test_only_a_subscriber_that_asked_gets_drafts_and_both_get_the_events(house: House) -> None:
    channel = house.hub.begin(CONVERSATION, TURN, 2)
    channel.begin_answer(0)
    plain, drafts = house.open(2), house.open(2, drafts=True)
    channel.text("größ")
    channel.text("e")
    assert pull(plain) == []
    assert draft_text(pull(drafts)) == "größe"
    house.append(updated(0, "größe"))
    assert seqs(pull(plain)) == seqs(pull(drafts)) == [3]


def test_commits_that_wait_go_before_a_draft(house: House) -> None:
    channel = house.hub.begin(CONVERSATION, TURN, 2)
    channel.begin_answer(0)
    subscription = house.open(2, drafts=True)
    channel.text("a")
    channel.recorded(house.append(updated(0, "a")))
    channel.text("b")
    assert [item["kind"] for item in pull(subscription)] == ["event", "draft", "draft"]


def test_a_draft_from_before_a_completed_message_is_dropped(house: House) -> None:
    channel = house.hub.begin(CONVERSATION, TURN, 2)
    channel.begin_answer(0)
    subscription = house.open(2, drafts=True)
    channel.text("all of it")
    channel.reasoning("because")
    channel.recorded(house.append(ev.AssistantMessageCompleted(TURN, 0, "all of it")))
    items = pull(subscription)
    assert [item["kind"] for item in items] == ["event", "draft"]
    assert items[1]["draft"] == {"kind": "reasoning", "offset": 0, "delta": "because"}
    channel.reasoning(" of the turn")
    house.append(ev.TurnCompleted(TURN))
    assert [item["kind"] for item in pull(subscription)] == ["event"]


def test_who_joins_in_the_middle_gets_the_rest_of_the_text(house: House) -> None:
    channel = house.hub.begin(CONVERSATION, TURN, 2)
    channel.begin_answer(0)
    channel.text("größe 🙂 ")
    channel.reasoning("**why** ")
    subscription = house.open(drafts=True)
    (snapshot,) = pull(subscription)
    live = snapshot["live"]
    assert (live["text"], live["text_bytes"]) == ("größe 🙂 ", len("größe 🙂 ".encode()))
    channel.text("und gut")
    items = [item for item in pull(subscription) if item["draft"]["kind"] == "text"]
    assert items[0]["draft"]["offset"] == live["text_bytes"]
    assert live["text"] + items[0]["draft"]["delta"] == "größe 🙂 und gut"
    assert pull(house.open(drafts=False))[0]["live"]["text"] == "größe 🙂 und gut"


def test_who_resumes_in_the_middle_gets_the_text_from_its_beginning(house: House) -> None:
    channel = house.hub.begin(CONVERSATION, TURN, 2)
    channel.begin_answer(0)
    channel.text("one ")
    subscription = house.open(2, drafts=True)
    channel.text("two")
    assert draft_text(pull(subscription)) == "one two"


def test_a_slow_reader_of_100_000_drafts_is_not_closed_and_gets_all_of_it(house: House) -> None:
    channel = house.hub.begin(CONVERSATION, TURN, 2)
    channel.begin_answer(0)
    subscription = house.open(2, drafts=True)
    for n in range(100_000):
        channel.text(f"{n} ")
    items = pull(subscription)
    assert len(items) < 32
    assert draft_text(items) == "".join(f"{n} " for n in range(100_000))


def test_a_read_that_is_older_than_the_running_answer_is_read_again(house: House) -> None:
    channel = house.hub.begin(CONVERSATION, TURN, 2)
    channel.begin_answer(0)

    def record() -> None:
        house.before_read = lambda: None
        channel.recorded(house.append(ev.AssistantMessageCompleted(TURN, 0, "one")))
        channel.begin_answer(1)
        channel.text("two")

    house.before_read = record
    (snapshot,) = pull(house.open(drafts=True))
    assert (snapshot["hwm"], snapshot["live"]["index"], snapshot["live"]["after_seq"]) == (3, 1, 3)


# Pages.


def test_history_pages_back_to_the_first_event(house: House) -> None:
    for n in range(10):
        house.append(updated(n))
    found: list[int] = []
    cursor = None
    while True:
        params = m.ConversationHistoryParams(CONVERSATION, cursor, 5)
        page = house.readers.read(partial(log_reads.history, params))
        found = [event.seq for event in page.events] + found
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == list(range(1, 13))


@pytest.mark.parametrize(
    "cursor", ["", "s:", "s:x", "s:0", "s:-1", "q:3", "s:99999999999999999999"]
)
def test_a_foreign_cursor_is_invalid(house: House, cursor: str) -> None:
    params = m.ConversationHistoryParams(CONVERSATION, cursor)
    with pytest.raises(Refusal) as caught:
        house.readers.read(lambda conn: log_reads.history(params, conn))
    assert caught.value.body.code is t.ErrorCode.INVALID


def test_the_list_pages_through_every_conversation(house: House) -> None:
    ids = [f"00000000-0000-7000-8000-0000000000{n:02d}" for n in range(10, 17)]
    for one in ids:
        house.append(
            ev.ConversationCreated(t.Origin.CLI, f"/dev/pts/{one[-1]}"), conversation_id=one
        )
    found: list[str] = []
    cursor: str | None = None
    while not found or cursor is not None:
        params = m.ConversationsListParams(cursor, 3)
        page = house.readers.read(partial(log_reads.conversations, params))
        found += [one.id for one in page.conversations]
        cursor = page.next_cursor
    assert found == [*reversed(ids), CONVERSATION]
    only = m.ConversationsListParams(tty="/dev/pts/3")
    page = house.readers.read(lambda conn: log_reads.conversations(only, conn))
    assert [one.id for one in page.conversations] == [ids[3]]
