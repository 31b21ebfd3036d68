"""Prompts, steers, withdrawals and interrupts of two people in one conversation, with errors of the
provider and a kill -9 between: what was accepted is in the log once, and the model got it once.

EFR_MESSAGES is how many each of them sends (100 unless set), EFR_MESSAGES_SEED the seed.
"""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from efr.wire import events as ev
from tests.daemon.soundness import assert_sound
from tests.daemon.test_methods import follow, send
from tests.harness.daemon import Daemon
from tests.harness.model_server import ModelServer
from tests.harness.raw_client import LIMIT_S, Frame, RawClient
from tests.harness.said import said_in_log

MESSAGES = int(os.environ.get("EFR_MESSAGES", "100"))
SEED = int(os.environ.get("EFR_MESSAGES_SEED", "20261130"))
WINDOW = "[[compatible.models]]\nid = 'fake-model'\ncontext_window = 10000000\n"  # no summaries
MARK = re.compile(r"message-\w-\d+")
_ENDS = (ev.TurnCompleted, ev.TurnFailed, ev.TurnInterrupted, ev.TurnCancelled, ev.PromptWithdrawn)
STORED = {"invalid", "not_found", "conflict"}  # refusals that a retry gets again


class Killed:
    """When the daemon is killed, and when it is there again."""

    def __init__(self, after: int) -> None:
        self.due = threading.Event()
        self.up = threading.Event()
        self.up.set()
        self._left = after
        self._lock = threading.Lock()

    def one_more(self) -> None:
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self.due.set()


class Person(threading.Thread):
    """Sends at once what the dice say, and asks again with the same id when no answer came."""

    def __init__(self, name: str, daemon: Daemon, conversation_id: str, killed: Killed) -> None:
        super().__init__(name=name)
        self.prompts: dict[str, tuple[int, str]] = {}  # turn -> number of the event, text
        self.steers: dict[int, str] = {}
        self.codes: Counter[str] = Counter()
        self.fault: BaseException | None = None
        self._daemon = daemon
        self._conversation_id = conversation_id
        self._killed = killed
        self._dice = random.Random(f"{SEED} {name}")
        self._client: RawClient | None = None
        self._count = 0

    def run(self) -> None:
        acts = (self._prompt, self._steer, self._withdraw, self._interrupt)
        try:
            for _ in range(MESSAGES):
                self._dice.choices(acts, (40, 32, 10, 18))[0]()
                self._killed.one_more()
        except BaseException as exc:
            self.fault = exc
        finally:
            self._close()

    def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _prompt(self) -> None:
        text = self._text()
        if (done := self._ask("prompt.send", text=text, context=self._context())) is not None:
            self.prompts[done["turn_id"]] = (done["seq"], text)

    def _steer(self) -> None:
        text, more = self._text(), {}
        if self._dice.random() < 0.5:
            more = {"if_late": {"kind": "queue", "context": self._context()}}
        if (done := self._ask("turn.steer", text=text, **more)) is None:
            return
        if done.get("queued"):
            self.prompts[done["turn_id"]] = (done["seq"], text)
        else:
            self.steers[done["seq"]] = text

    def _withdraw(self) -> None:
        target: Frame = {"kind": "newest_from_tty", "tty": self._tty}
        if self.prompts and self._dice.random() < 0.5:
            target = {"kind": "turn", "turn_id": self._dice.choice(list(self.prompts)[-4:])}
        self._ask("prompt.withdraw", target=target)

    def _interrupt(self) -> None:
        seqs, turns = list(self.steers)[-4:], list(self.prompts)[-2:]
        self._dice.shuffle(seqs)
        self._ask(
            "turn.interrupt",
            resend_steers=seqs[:2],
            withdraw_steers=seqs[2:3],
            withdraw=turns if self._dice.random() < 0.2 else [],
        )

    def _ask(self, method: str, **params: Any) -> Any:
        """The result, or None when it was refused."""
        raw = f"{self._dice.getrandbits(128):032x}"
        params["command_id"] = f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"
        params["conversation_id"] = self._conversation_id
        answer = self._until_answered(method, params)
        self.codes[answer.get("error", {"code": "done"})["code"]] += 1
        if self._dice.random() < 0.2:
            again = self._until_answered(method, params)
            kept = "item" in answer or answer["error"]["code"] in STORED
            assert not kept or {**again, "id": 0} == {**answer, "id": 0}
            answer = again  # a refusal that is not kept may be taken now
        return answer.get("item")

    def _until_answered(self, method: str, params: Frame) -> Frame:
        while True:
            assert self._killed.up.wait(LIMIT_S)
            try:
                self._client = self._client or self._daemon.client("shell", tty=self._tty)
                return self._client.answer(self._client.request(method, params))
            except (OSError, EOFError):  # killed: asked again when it is there again
                self._close()

    def _text(self) -> str:
        self._count += 1
        return f"message-{self.name}-{self._count}"

    @property
    def _tty(self) -> str:
        return f"/dev/pts/{self.name}"

    def _context(self) -> Frame:
        return {"pwd": str(self._daemon.home), "tty": self._tty}


def answers(dice: random.Random, notes: Path) -> list[Any]:
    """What the model says to any of the requests; some of it goes wrong."""
    call = {"call": {"name": "read_file", "arguments": {"path": str(notes)}}}
    wrong: list[Any] = [
        {"error": {"status": 400, "body": {"error": {"message": "no"}}}},
        {"cut": True},
        {"pieces": [{"text": "half "}, {"break": True}]},
    ]
    found = []
    for _ in range(40 * MESSAGES):
        words = [{"text": f"größe 🙂 {n} "} for n in range(dice.randrange(4))]
        wait = [{"wait": dice.random() * 0.02}]
        calls = [call] * dice.choice((0, 0, 1, 2))
        right = {"pieces": [*words, *wait, *calls] if words or calls else [*wait, {"text": "ok"}]}
        found.append(right if dice.random() < 0.85 else dice.choice(wrong))
    return found


def marks(texts: list[str]) -> list[str]:
    return [mark for text in texts for mark in MARK.findall(text)]


def sent_to_model(body: str) -> list[str]:
    """The messages of the two in a request."""
    said = [one["content"] for one in json.loads(body)["messages"] if one["role"] == "user"]
    return marks([one if isinstance(one, str) else json.dumps(one) for one in said])


def test_what_was_accepted_is_in_the_log_once_and_reaches_the_model_once(tmp_path: Path) -> None:
    dice = random.Random(SEED)
    with ModelServer() as server:
        settings = f"{server.settings}{WINDOW}[conversation]\nmax_queued = 1000\n"
        with Daemon(tmp_path, settings=settings) as daemon:
            notes = daemon.home / "notes.txt"
            notes.write_text("one\n")
            server.play([{"pieces": [{"text": "hello"}]}, *answers(dice, notes)])
            with daemon.client() as client:
                sent = send(client, "begin")
                follow(client, sent)
            people = run(daemon, sent["conversation_id"], Killed(dice.randrange(MESSAGES)))
            reached = to_the_end(daemon, server, sent["conversation_id"])
            events = log_of(daemon, sent["conversation_id"])
            assert daemon.stop() == 0
            assert_sound(daemon)
    check_log(events, people)
    assert reached == marks(said_in_log(events))
    assert len(set(reached)) == len(reached)
    assert len(reached) > MESSAGES // 4
    assert {code for one in people for code in one.codes} <= {"done", "not_found", "conflict"}


def run(daemon: Daemon, conversation_id: str, killed: Killed) -> list[Person]:
    people = [Person(name, daemon, conversation_id, killed) for name in ("a", "b")]
    for one in people:
        one.start()
    assert killed.due.wait(LIMIT_S)
    killed.up.clear()
    daemon.kill()
    daemon.start()
    killed.up.set()
    for one in people:
        one.join(3 * LIMIT_S)
    assert [one.fault for one in people] == [None, None]
    return people


def to_the_end(daemon: Daemon, server: ModelServer, conversation_id: str) -> list[str]:
    """Lets what waits run; what the last request of all held."""
    with daemon.client() as client:
        follow(client, send(client, "and now", conversation_id=conversation_id))
        for request in server.requests():
            if request["method"] == "POST" and request["body"]:  # a kill cuts a request off
                held = sent_to_model(request["body"])
                assert len(set(held)) == len(held)
        server.play([{"pieces": [{"text": "bye"}]}])
        last = send(client, "the end", conversation_id=conversation_id)
        assert follow(client, last)[-1]["event"]["kind"] == "turn_completed"
    return sent_to_model(server.requests()[-1]["body"])


def log_of(daemon: Daemon, conversation_id: str) -> list[tuple[int, ev.Event]]:
    with closing(sqlite3.connect(daemon.roots.database)) as conn:
        rows = conn.execute(
            "SELECT seq, kind, payload FROM events WHERE conversation_id = ? ORDER BY seq",
            (conversation_id,),
        ).fetchall()
    return [(seq, ev.decode_event(kind, payload.encode())) for seq, kind, payload in rows]


def check_log(events: list[tuple[int, ev.Event]], people: list[Person]) -> None:
    """Each accepted message is there once, under the number that its sender was told; nothing else
    is; and each turn ended once."""
    told = {turn: one for person in people for turn, one in person.prompts.items()}
    prompts = {
        event.turn_id: (seq, event.text)
        for seq, event in events
        if isinstance(event, ev.PromptQueued) and MARK.match(event.text) and not event.steers
    }
    assert prompts == told
    steers = {seq: event.text for seq, event in events if isinstance(event, ev.TurnSteered)}
    assert steers == {seq: text for person in people for seq, text in person.steers.items()}
    queued = [event.turn_id for _, event in events if isinstance(event, ev.PromptQueued)]
    ended = [event.turn_id for _, event in events if isinstance(event, _ENDS)]
    assert Counter(ended) == Counter(queued)
