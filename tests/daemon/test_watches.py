"""Watches of the recent list over a real store and a real feed."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from efr.config.project_text import Project
from efr.daemon.recent import Machine
from efr.daemon.watches import MOST, QUEUE_SIZE, Watch, Watches
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
from tests.harness.clock import CountingIds, FakeClock

PROJECT = "00000000-0000-7000-8000-0000000000aa"
CALL = "00000000-0000-7000-8000-00000000ca11"


class House:
    """The rooms below a watch; the test looks instead of the thread `list-watch`."""

    def __init__(self, path: Path) -> None:
        conn = db.open(path)
        migrate.migrate(conn)
        conn.close()
        self.clock = FakeClock()
        self.ids = CountingIds()
        self.feed = Feed()
        self.writer = StoreWriter(path, self.clock, self.feed, lambda exc: None)
        self.readers = ReaderPool(path, 1)
        self.touched: dict[str, int] = {}
        self.before_read: Callable[[], None] = lambda: None
        self.held: Callable[[Any], bool] = lambda row: True
        self.watches = Watches(self._read, self._machine)
        self.writer.start()
        self.readers.start()
        self.leave_feed = self.feed.listen(partial(self.watches.published, self._touch))

    def _read(self, fn: Callable[[Any], Any]) -> Any:
        result = self.readers.read(fn)
        self.before_read()
        return result

    def _machine(self) -> Machine:
        return Machine((Project(PROJECT, "/p", "thing"),), self.held)

    def _touch(self, touched: Mapping[str, int]) -> None:
        self.touched |= touched

    def append(self, conversation_id: str, *events: ev.Event) -> int:
        self.clock.advance(1)
        batch = Batch(tuple(NewEvent(conversation_id, event) for event in events))
        return self.writer.append(batch).result(20).last_seq

    def new(self, text: str = "why?") -> str:
        """A conversation with one prompt."""
        conversation_id = self.ids.new()
        self.append(conversation_id, ev.ConversationCreated(t.Origin.SHELL), self.prompt(text))
        return conversation_id

    def prompt(self, text: str) -> ev.PromptQueued:
        return ev.PromptQueued(self.ids.new(), self.ids.new(), text, t.Origin.SHELL)

    def open(self, limit: int | None = None) -> Watch:
        return self.watches.open(m.ConversationsWatchParams(limit))

    def look(self) -> None:
        touched, self.touched = self.touched, {}
        if touched:
            self.watches.look(touched)

    def close(self) -> None:
        self.leave_feed()
        self.writer.stop()
        self.readers.stop()


@pytest.fixture(name="house")
def _house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "efr.sqlite")
    yield house
    house.close()


def pull(watch: Watch) -> list[Any]:
    """What the watch has now, decoded; a Finished is the last."""
    got: list[Any] = []
    while (item := watch.next_item()) is not None:
        if isinstance(item, Finished):
            return [*got, item]
        codec.decode(item, m.ConversationsWatchItem)
        got.append(json.loads(item))
    return got


def ids(snapshot: Any) -> list[str]:
    assert snapshot["kind"] == "snapshot"
    return [row["summary"]["id"] for row in snapshot["conversations"]]


def overflowed(items: list[Any]) -> int:
    last = items[-1]
    assert isinstance(last, Finished)
    assert last.error is not None
    assert last.error.code is t.ErrorCode.OVERFLOW
    return int(last.error.data["last_seq"])


def started(turn_id: str, **more: Any) -> ev.TurnStarted:
    return ev.TurnStarted(turn_id=turn_id, **more)


def test_a_watch_starts_with_the_newest_conversations(house: House) -> None:
    made = [house.new(f"prompt {n}") for n in range(25)]
    assert ids(pull(house.open())[0]) == made[:4:-1]
    assert ids(pull(house.open(3))[0]) == made[:21:-1]
    assert len(ids(pull(house.open(1000))[0])) == 25
    assert MOST == 50
    with pytest.raises(Refusal):
        house.open(0)


def test_every_change_of_a_row_is_told_and_nothing_else(house: House) -> None:
    one = house.new("the key is --password=hunter2sekrit")
    turn = house.ids.new()
    watch = house.open()
    pull(watch)

    def told(*events: ev.Event) -> Any:
        house.append(one, *events)
        house.look()
        items = pull(watch)
        assert len(items) <= 1
        return items[0]["conversation"] if items else None

    queued = ev.PromptQueued(turn, house.ids.new(), "and?", t.Origin.SHELL)
    assert told(queued)["turns"] == 2
    in_project = {"cwd": "/p", "scope": t.ScopeProject(value=PROJECT)}
    row = told(started(turn, **in_project))
    assert row["summary"]["status"] == "running"
    assert row["summary"]["cwd"] == "/p"
    assert row["summary"]["scope"] == {"kind": "project", "value": PROJECT}
    assert row["project"] == "thing"
    assert "[***]" in row["summary"]["title"]
    assert told(ev.AssistantMessageUpdated(turn, 0, 0, "x")) is None
    assert told(ev.TurnSteered(turn_id=turn, text="x")) is None
    to = t.ScopePath(value="/q")
    change = ev.ScopeChanged(turn_id=turn, from_=t.ScopeProject(value=PROJECT), to=to)
    assert told(change)["summary"]["scope"] == {"kind": "path", "value": "/q"}
    asked = ev.ApprovalRequested(turn_id=turn, call_id=CALL, summary="s")
    assert told(asked)["summary"]["status"] == "awaiting_approval"
    expired = ev.ApprovalExpired(turn_id=turn, call_id=CALL)
    assert told(expired)["summary"]["status"] == "running"
    assert told(ev.TurnCancelled(turn_id=turn))["summary"]["status"] == "idle"


def test_a_new_conversation_is_told_and_a_deleted_one_removed(house: House) -> None:
    watch = house.open()
    assert ids(pull(watch)[0]) == []
    one = house.new()
    house.look()
    assert [item["conversation"]["summary"]["id"] for item in pull(watch)] == [one]
    house.append(one, ev.ConversationDeleted(t.Origin.CLI))
    house.look()
    assert pull(watch) == [{"kind": "removed", "conversation_id": one}]


def test_changes_before_a_look_are_one(house: House) -> None:
    one = house.new()
    watch = house.open()
    pull(watch)
    for _ in range(5):
        house.append(one, house.prompt("more"))
    house.look()
    (item,) = pull(watch)
    assert item["conversation"]["turns"] == 6


def test_what_a_change_comes_back_to_is_not_told(house: House) -> None:
    one = house.new()
    turn = house.ids.new()
    watch = house.open()
    pull(watch)
    queued = ev.PromptQueued(turn, house.ids.new(), "x", t.Origin.SHELL)
    house.append(one, queued)
    house.append(one, ev.PromptWithdrawn(turn_id=turn, origin=t.Origin.SHELL))
    house.look()
    assert pull(watch) == []


def test_a_commit_between_the_registration_and_the_read_comes_once(house: House) -> None:
    one = house.new()

    def commit() -> None:
        house.before_read = lambda: None
        house.append(one, house.prompt("after the read"))
        house.look()

    house.before_read = commit
    watch = house.open()
    snapshot, change = pull(watch)
    assert [row["turns"] for row in snapshot["conversations"]] == [1]
    assert change["conversation"]["turns"] == 2


def test_a_look_from_before_the_snapshot_is_not_told(house: House) -> None:
    one = house.new()
    house.open()  # so that commits are noted
    house.append(one, house.prompt("noted, looked at late"))
    watch = house.open()
    house.look()
    (snapshot,) = pull(watch)
    assert [row["turns"] for row in snapshot["conversations"]] == [2]


def test_a_watch_that_does_not_read_overflows_after_what_waited(house: House) -> None:
    watch = house.open()
    seqs = []
    for _ in range(QUEUE_SIZE + 2):
        house.new()
        seqs.append(max(house.touched.values()))
        house.look()
    items = pull(watch)
    assert len(items) == 1 + QUEUE_SIZE + 1
    assert overflowed(items) == seqs[QUEUE_SIZE - 1]
    assert len(ids(pull(house.open())[0])) == 20


def test_a_watch_that_was_sent_no_change_overflows_at_0(house: House) -> None:
    one = house.new()
    watch = house.open()
    house.append(one, house.prompt("x"))
    house.readers.stop()
    house.look()
    assert overflowed(pull(watch)) == 0


def test_a_machine_that_cannot_be_asked_ends_the_watch_alone(house: House) -> None:
    one = house.ids.new()
    slot = ev.ConversationCreated(t.Origin.SHELL, tty="/dev/pts/1", route=t.RouteOutside())
    house.append(one, slot, house.prompt("x"))
    watch = house.open()

    def held(row: Any) -> bool:
        raise OSError(errno.EMFILE, "too many open files")

    house.held = held
    house.append(one, house.prompt("y"))
    house.look()
    assert overflowed(pull(watch)) == 0


def test_a_closed_watch_costs_nothing_more(house: House) -> None:
    one = house.new()
    watch = house.open()
    watch.close()
    house.append(one, house.prompt("x"))
    assert house.touched == {}, "nobody watches"


def test_a_change_wakes_the_reader(house: House) -> None:
    woken: list[int] = []
    watch = house.open()
    watch.set_ready(lambda: woken.append(1))
    house.new()
    house.look()
    assert woken == [1]
