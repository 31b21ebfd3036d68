"""Prompts, steers, withdrawals and interrupts at seeded moments of turns, with errors of the
provider and kills between: each accepted message is in the log once and reaches the model once."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from efr.base.cancel import Cancel
from efr.providers.canonical import (
    Done,
    Request,
    StreamEvent,
    TextDelta,
    ToolCallEnd,
    ToolCallStart,
)
from efr.providers.errors import Overloaded, ProviderError, TransportFailed
from efr.providers.provider import EventStream
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.scripted import LIMIT_S
from tests.agent.scripted_model import ScriptedModels, ScriptedProvider, usage
from tests.agent.world import CALLER, TTY, World
from tests.harness.said import said_in_log, said_to_model

MESSAGES = 200
MARK = re.compile(r"message-\d+")


class Stepping(ScriptedProvider):
    """A model that goes on one step for each that the test gives; its answers are drawn by dice."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__()
        self._dice = dice
        self._changed = threading.Condition()
        self._steps = 0
        self._free = False

    def give(self, steps: int, *, free: bool = False) -> None:
        """More steps; `free`: as many as it wants from now on, and no errors."""
        with self._changed:
            self._steps += steps
            self._free = free
            self._changed.notify_all()

    def stream(self, request: Request, cancel: Cancel) -> EventStream:
        self.requests.append(request)
        for event in self._answer():
            self._pass(cancel)
            if isinstance(event, ProviderError):
                raise event
            yield event

    def _answer(self) -> Iterator[StreamEvent | ProviderError]:
        with self._changed:
            fate, texts = self._dice.random(), self._dice.randrange(1, 4)
            error = None if self._free or fate > 0.15 else Overloaded()
            if error is not None and fate > 0.1:
                error = TransportFailed("cut")  # type: ignore[assignment]
        for number in range(texts):
            yield TextDelta(f"word {number} ")
        if error is not None:
            yield error
        if fate > 0.7:
            yield ToolCallStart(f"call-{len(self.requests)}", "look")
            yield ToolCallEnd(f"call-{len(self.requests)}", "{}")
        yield usage()
        yield Done("tool_use" if fate > 0.7 else "end_turn")

    def _pass(self, cancel: Cancel) -> None:
        def wake() -> None:
            with self._changed:
                self._changed.notify_all()

        forget = cancel.on_cancel(wake)
        with self._changed:
            assert self._changed.wait_for(
                lambda: self._free or self._steps > 0 or cancel.cancelled, LIMIT_S
            )
            self._steps -= not self._free and not cancel.cancelled
        forget()
        cancel.raise_if_cancelled()


class Sender:
    """Somebody who types at any time. What efr accepts is kept."""

    def __init__(self, world: World, dice: random.Random, conversation_id: str) -> None:
        self.world = world
        self.dice = dice
        self.conversation_id = conversation_id
        self.prompts: list[str] = []
        self.steers: dict[int, str] = {}  # the number of the event -> the text
        self.refused: set[t.ErrorCode] = set()
        self._count = 0

    def act(self) -> None:
        act = self.dice.choices(
            (self.prompt, self.steer, self.withdraw, self.interrupt), (40, 30, 10, 20)
        )[0]
        try:
            act()
        except Refusal as refusal:  # too late, or too many: it was not accepted
            self.refused.add(refusal.body.code)

    def _text(self) -> str:
        self._count += 1
        return f"message-{self._count}"

    def prompt(self) -> None:
        text = self._text()
        self.world.send(text, conversation_id=self.conversation_id)
        self.prompts.append(text)

    def steer(self) -> None:
        text = self._text()
        late = t.LateSteerQueue() if self.dice.random() < 0.5 else None
        done = self.world.steer(self.conversation_id, text, if_late=late)
        if done.queued:
            self.prompts.append(text)
        else:
            self.steers[done.seq] = text

    def withdraw(self) -> None:
        params = m.PromptWithdrawParams(
            command_id=self.world.ids.new(),
            conversation_id=self.conversation_id,
            target=t.WithdrawNewestFromTty(tty=TTY),
        )
        self.world.agent.prompt_withdraw(params, CALLER)

    def interrupt(self) -> None:
        seqs = list(self.steers)[-4:]
        self.dice.shuffle(seqs)
        self.world.interrupt(
            self.conversation_id,
            resend_steers=tuple(seqs[:1]),
            withdraw_steers=tuple(seqs[1:2]),
        )


def kill(world: World, folder: Path) -> None:
    """What a kill -9 leaves: everything that was committed, and nothing else."""
    folder.mkdir()
    copy = folder / "efr.sqlite"
    source, target = apsw.Connection(str(world.roots.database)), apsw.Connection(str(copy))
    with target.backup("main", source, "main") as backup:
        backup.step()
    source.close()
    target.close()
    world.stop()
    for path in world.roots.data.path.glob("efr.sqlite*"):
        path.unlink()
    world.roots.database.write_bytes(copy.read_bytes())
    world.start()


def marks(texts: Sequence[str]) -> list[str]:
    return [mark for text in texts for mark in MARK.findall(text)]


@pytest.mark.parametrize("seed", [1, 2])
def test_every_accepted_message_is_in_the_log_once_and_reaches_the_model_once(
    tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    world = World(tmp_path)
    world.provider = model = Stepping(random.Random(-seed))
    world.models = ScriptedModels(model, lambda: world.settings)
    kills = {70: "first", 140: "second"}
    with world:
        model.give(0, free=True)
        first = world.send("begin")
        world.wait_end(first.turn_id)
        sender = Sender(world, dice, first.conversation_id)
        model.give(0)
        for number in range(MESSAGES):
            if number in kills:
                kill(world, tmp_path / kills[number])
            sender.act()
            model.give(dice.randrange(4))
        model.give(0, free=True)
        world.log.wait(lambda _: not world.agent.runs(first.conversation_id), "the queue's end")
        last = world.send("the end", conversation_id=first.conversation_id)
        world.wait_end(last.turn_id)
        rows: Any = world.readers.read(
            lambda conn: conn.execute("SELECT seq, kind, payload FROM events").fetchall()
        )
    assert sender.refused <= {t.ErrorCode.CONFLICT, t.ErrorCode.BUSY, t.ErrorCode.NOT_FOUND}
    events = [(seq, ev.decode_event(kind, payload.encode())) for seq, kind, payload in sorted(rows)]
    kept = dict(events)
    queued = [e for _, e in events if isinstance(e, ev.PromptQueued) and not e.steers]
    assert marks([event.text for event in queued]) == sender.prompts
    assert {seq: kept[seq].text for seq in sender.steers} == sender.steers
    assert sum(isinstance(event, ev.TurnSteered) for _, event in events) == len(sender.steers)
    reached = marks(said_to_model(model.requests[-1].messages))
    assert reached == marks(said_in_log(events))
    assert len(set(reached)) == len(reached)
    assert len(reached) > MESSAGES // 4
