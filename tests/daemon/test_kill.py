"""kill -9 at random points of a running load: nothing acknowledged is lost, nothing comes twice.

EFR_KILLS is the number of kills (6 unless set), EFR_KILL_SEED the seed (printed by a failure).
Several clients send prompts, steers, interrupts and answers; the daemon is killed after a random
number of frames and started again on the same roots, and the load goes on in the conversations
that are there.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.daemon.soundness import assert_sound
from tests.daemon.test_methods import ENDS, command
from tests.harness.daemon import Daemon
from tests.harness.raw_client import RawClient, connected
from tests.harness.said import check_what_the_model_reads

KILLS = int(os.environ.get("EFR_KILLS", "6"))
SEED = int(os.environ.get("EFR_KILL_SEED", "20261003"))
CLIENTS = 3
MOST_FRAMES = 150  # of all clients in one round; a round of load is some hundred
ROUND_LIMIT_S = 30.0
STORED = {"invalid", "not_found", "conflict"}  # refusals that a retry gets again
PROMPTS = (
    "say: a few words for the log",
    "run: true",
    "run: sleep 0.02",
    "runs: sleep 0.01 ;; true",
    "count to 40",
    "say: " + "long " * 300,
)


@dataclass
class Acknowledged:
    """What the daemon told one client, and what it never answered."""

    answers: list[tuple[str, dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    unanswered: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    events: dict[str, dict[int, Any]] = field(default_factory=dict)  # conversation -> seq -> event


class Frames:
    """Counts the frames of all clients and says when it is time to kill."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._changed = threading.Condition()
        self._count = 0
        self._running = CLIENTS

    def one(self) -> None:
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def left(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def wait(self) -> None:
        """Until there were enough, or every client is done."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: self._count >= self._limit or not self._running, ROUND_LIMIT_S
            )


class Load(threading.Thread):
    """One client that works until its connection ends."""

    def __init__(
        self, daemon: Daemon, name: str, seed: float, frames: Frames, known: list[str]
    ) -> None:
        super().__init__(name=name)
        self.told = Acknowledged()
        self.fault: BaseException | None = None
        self._socket = daemon.socket
        self._random = random.Random(seed)
        self._frames = frames
        self._known = known
        self._open: dict[int, tuple[str, dict[str, Any]]] = {}

    def run(self) -> None:
        try:
            with connected(self._socket) as client:
                for _ in range(4):
                    self._turn(client)
        except (OSError, EOFError):
            pass  # the daemon was killed
        except BaseException as exc:
            self.fault = exc
        finally:
            self.told.unanswered = list(self._open.values())
            self._frames.left()

    def _turn(self, client: RawClient) -> None:
        """Sends a prompt and follows its turn, with interruptions."""
        params: dict[str, Any] = {"text": self._random.choice(PROMPTS)}
        if self._known and self._random.random() < 0.5:
            params["conversation_id"] = self._random.choice(self._known)
        sent = self._call(client, "prompt.send", params)
        if sent is None:
            return
        self._known.append(sent["conversation_id"])
        place = {"conversation_id": sent["conversation_id"]}
        follow = client.request("conversation.subscribe", {**place, "after_seq": sent["seq"]})
        while True:
            frame = self._read(client)
            if frame.get("id") != follow:
                continue
            if "item" not in frame:
                return
            event = self._note(sent["conversation_id"], frame["item"])
            if event.get("turn_id") != sent["turn_id"]:
                continue
            if event["kind"] in ENDS:
                client.send({"cancel": follow})
                return
            self._react(client, place, event)

    def _react(self, client: RawClient, place: dict[str, Any], event: dict[str, Any]) -> None:
        """What a person might do when they see the event."""
        chance = self._random.random()
        if event["kind"] == "approval_requested":
            decision = "allow" if chance < 0.8 else "deny"
            params = {**place, "call_id": event["call_id"], "decision": decision}
            self._start(client, "approval.respond", params)
        elif event["kind"] == "turn_started" and chance < 0.3:
            self._start(client, "turn.steer", {**place, "text": "and hurry"})
        elif event["kind"] == "turn_started" and chance < 0.5:
            self._start(client, "prompt.send", {**place, "text": "say: next"})
        elif event["kind"] == "tool_call_started" and chance < 0.3:
            self._start(client, "turn.interrupt", dict(place))

    def _start(self, client: RawClient, method: str, params: dict[str, Any]) -> int:
        params["command_id"] = command()
        request = client.request(method, params)
        self._open[request] = (method, params)
        return request

    def _call(self, client: RawClient, method: str, params: dict[str, Any]) -> Any:
        request = self._start(client, method, params)
        while True:
            frame = self._read(client)
            if frame.get("id") == request and "end" not in frame:
                return frame.get("item")

    def _read(self, client: RawClient) -> dict[str, Any]:
        frame = client.read()
        self._frames.one()
        request = frame.get("id")
        if isinstance(request, int) and request in self._open and "end" not in frame:
            method, params = self._open.pop(request)
            self.told.answers.append((method, params, frame))
        return frame

    def _note(self, conversation_id: str, item: dict[str, Any]) -> dict[str, Any]:
        seen = self.told.events.setdefault(conversation_id, {})
        for one in item["events"] if item["kind"] == "snapshot" else [item]:
            seen[one["seq"]] = one["event"]
        event: dict[str, Any] = item.get("event", {"kind": "snapshot"})
        return event


def history(client: RawClient, conversation_id: str) -> dict[int, Any]:
    """Every event of a conversation by its number; fails on a number that comes twice."""
    found: dict[int, Any] = {}
    params: dict[str, Any] = {"conversation_id": conversation_id, "limit": 500}
    while True:
        page = client.call("conversation.history", params)
        numbers = [one["seq"] for one in page["events"]]
        assert numbers == sorted(set(numbers))
        assert not found.keys() & set(numbers)
        found |= {one["seq"]: one["event"] for one in page["events"]}
        if "next_cursor" not in page:
            return found
        params["cursor"] = page["next_cursor"]


def check_answers(client: RawClient, told: Acknowledged) -> None:
    """Every acknowledged command is answered the same again; the others happen once at most."""
    for method, params, answer in told.answers:
        if "error" in answer and answer["error"]["code"] not in STORED:
            continue
        again = client.answer(client.request(method, params))
        assert {**again, "id": 0} == {**answer, "id": 0}, method
    for method, params in told.unanswered:
        first = client.answer(client.request(method, params))
        if "error" in first and first["error"]["code"] not in STORED:
            continue
        second = client.answer(client.request(method, params))
        assert {**first, "id": 0} == {**second, "id": 0}, method


def check_events(client: RawClient, told: Acknowledged) -> None:
    """Every event that a client was sent is in the log as it was sent."""
    for conversation_id, seen in told.events.items():
        log = history(client, conversation_id)
        for seq, event in seen.items():
            assert log.get(seq) == event, f"event {seq} of {conversation_id}"
        queued = Counter(e["command_id"] for e in log.values() if e["kind"] == "prompt_queued")
        assert set(queued.values()) <= {1}, "a prompt came twice"
        ends = Counter(e["turn_id"] for e in log.values() if e["kind"] in ENDS)
        assert set(ends.values()) <= {1}, "a turn ended twice"


def one_round(daemon: Daemon, rng: random.Random, known: list[str]) -> list[Acknowledged]:
    """Load until the kill; what each client was told."""
    frames = Frames(rng.randrange(1, MOST_FRAMES))
    loads = [Load(daemon, f"load-{n}", rng.random(), frames, known) for n in range(CLIENTS)]
    for load in loads:
        load.start()
    frames.wait()
    daemon.kill()
    for load in loads:
        load.join(ROUND_LIMIT_S)
    faults = [load.fault for load in loads if load.fault is not None]
    assert faults == []
    return [load.told for load in loads]


def test_no_kill_loses_what_was_acknowledged_or_doubles_anything(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    daemon = Daemon(tmp_path)
    known: list[str] = []
    rounds: list[Acknowledged] = []
    try:
        daemon.start()
        for number in range(KILLS):
            told = one_round(daemon, rng, known)
            daemon.start()
            with daemon.client() as client:
                for one in told:
                    check_events(client, one)
                    check_answers(client, one)
                # Something from earlier rounds, too: a later start must not lose it.
                for one in rng.sample(rounds, min(2, len(rounds))):
                    check_events(client, one)
            rounds += told
            print(f"kill {number + 1} of {KILLS}: seed {SEED}, {len(set(known))} conversations")
        assert daemon.stop() == 0
        assert_sound(daemon)
        assert check_what_the_model_reads(daemon.roots.database) > KILLS
    finally:
        daemon.close()
