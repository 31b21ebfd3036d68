"""Random histories of terminals against a small reference: slots in a dictionary.

The reference knows no rows, no log and no shell's start time. It is told what happened, and says
where the next prompt goes and what its terminal hears.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from efr.config.project_text import Project
from efr.config.schema import Conversation, Settings
from efr.store import queries
from efr.store.batch import Batch, NewEvent
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.scripted_model import said
from tests.agent.world import CALLER, World

TTYS = ("/dev/pts/1", "/dev/pts/2", "/dev/pts/3")
PLACES = ("home", "app", "lib")
IDLE_S = 12 * 3600

# The reference ------------------------------------------------------------------------------


@dataclass
class Talk:
    """A conversation."""

    id: str
    key: str
    active_s: float
    newest: int  # when its last event came, in steps
    once_held: bool


@dataclass
class Slot:
    """What a terminal has for a scope: the conversation, its shell, its newest use in steps."""

    talk: Talk
    shell: int
    used: int


@dataclass
class Model:
    """Everything that decides where a prompt goes."""

    idle_s: float
    follow: bool
    now_s: float = 0
    step: int = 0
    alive: set[int] = field(default_factory=set)
    slots: dict[tuple[str, str], Slot] = field(default_factory=dict)
    lost: dict[tuple[str, str], tuple[Slot, str | None]] = field(default_factory=dict)
    talks: dict[str, Talk] = field(default_factory=dict)

    def of_shell(self, slot: Slot, shell: int) -> bool:
        return slot.shell == shell or slot.shell in self.alive

    def is_idle(self, talk: Talk) -> bool:
        return self.idle_s > 0 and self.now_s - talk.active_s > self.idle_s

    def mine(self, tty: str, shell: int) -> list[Slot]:
        """The terminal's slots, the current one first."""
        own = [s for (name, _), s in self.slots.items() if name == tty and self.of_shell(s, shell)]
        return sorted(own, key=lambda slot: -slot.used)

    def where(self, tty: str, shell: int, key: str, new: bool) -> tuple[Talk | None, str]:
        """The conversation (None: a new one) and the word for the switch."""
        own = self.mine(tty, shell)
        here = [s for s in own if s is self.slots.get((tty, key))] if self.follow else own[:1]
        gone = [
            (slot, to)
            for (name, lost_key), (slot, to) in self.lost.items()
            if name == tty and self.of_shell(slot, shell) and (lost_key == key or not self.follow)
        ]
        gone.sort(key=lambda one: -one[0].used)
        if new:
            return None, "none"
        if gone and (not here or gone[0][0].used > here[0].used):
            return None, "moved" if gone[0][1] else "scope"
        if here and self.is_idle(here[0].talk):
            return None, "idle"
        if here:
            return here[0].talk, "none" if here[0] is own[0] else "back"
        free = [one for one in self.talks.values() if one.key == key and self.is_free(one)]
        if free and self.follow and key != "home":
            return max(free, key=lambda one: one.newest), "picked_up"
        return None, "scope" if own else "none"

    def is_free(self, talk: Talk) -> bool:
        held = self.holder(talk)
        return talk.once_held and not self.is_idle(talk) and held is None

    def holder(self, talk: Talk) -> str | None:
        """The open terminal that has it."""
        for (tty, _), slot in self.slots.items():
            if slot.talk is talk and slot.shell in self.alive:
                return tty
        return None

    def settle(self, tty: str, shell: int, talk: Talk, key: str, *, comes: bool) -> None:
        """The conversation is in the slot from now on, and the shell used it. `comes`: from
        elsewhere, so the shell is the one that holds it."""
        kept = self.slots.get((tty, key))
        for place, slot in list(self.slots.items()):
            if slot.talk is talk and place != (tty, key):
                del self.slots[place]
                if place[0] != tty:
                    self.lost[place] = (slot, tty)
        if kept is None or kept.talk is not talk or comes:
            self.slots[tty, key] = Slot(talk, shell, self.step)
        self.slots[tty, key].used = self.step

    def forget_lost(self, tty: str, key: str) -> None:
        for place in list(self.lost):
            if place[0] == tty and (place[1] == key or not self.follow):
                del self.lost[place]

    def touch(self, talk: Talk) -> None:
        talk.active_s, talk.newest = self.now_s, self.step


# The world beside it -------------------------------------------------------------------------


class History:
    """Plays steps on both and compares."""

    def __init__(self, world: World, *, idle_hours: int, follow: bool) -> None:
        self.world = world
        world.settings = Settings(
            conversation=Conversation(tty_idle_hours=idle_hours, follow_project=follow)
        )
        self.model = Model(idle_hours * 3600, follow)
        self.dirs = {"home": world.home}
        for number, name in enumerate(("app", "lib"), start=10):
            self.dirs[name] = world.home / name
            self.dirs[name].mkdir()
            project = Project(f"00000000-0000-7000-8000-0000000000{number}", str(self.dirs[name]))
            world.registry.projects.append(project)
        self.names = {one.id: one.title for one in world.registry.projects}
        world.living.clear()
        self.pids = iter(range(100, 10_000))
        self.shells = {tty: self.open_shell() for tty in TTYS}

    def open_shell(self) -> int:
        pid = next(self.pids)
        self.world.living[pid] = self.world.clock.now_us()
        self.model.alive.add(pid)
        return pid

    def close_shell(self, pid: int) -> None:
        self.world.living.pop(pid, None)
        self.model.alive.discard(pid)

    def play(self, step: tuple[Any, ...]) -> None:
        note(repr(step))
        getattr(self, step[0])(*step[1:])
        self.compare_lists()

    # Steps.

    def prompt(self, terminal: int, place: str, new: bool, nested: bool) -> None:
        tty, model = TTYS[terminal], self.model
        model.step += 1
        shell = self.open_shell() if nested else self.shells[tty]
        wanted, word = model.where(tty, shell, place, new)
        sent = self.send(self.dirs[place], tty, shell, new_conversation=new)
        assert sent.route is not None
        assert _word(sent.route.switch) == word
        if wanted is None:
            assert sent.conversation_id not in model.talks
            wanted = Talk(sent.conversation_id, place, 0, 0, once_held=True)
            model.talks[wanted.id] = wanted
        assert sent.conversation_id == wanted.id
        model.forget_lost(tty, place)
        key = place if model.follow else wanted.key
        model.settle(tty, shell, wanted, key, comes=word == "picked_up")
        model.touch(wanted)
        if nested:
            self.close_shell(shell)

    def script(self, place: str) -> None:
        self.model.step += 1
        sent = self.send(self.dirs[place], None, None)
        assert sent.route is None
        talk = Talk(sent.conversation_id, place, 0, 0, once_held=False)
        self.model.talks[talk.id] = talk
        self.model.touch(talk)

    def resume(self, terminal: int, which: int, place: str, take: bool) -> None:
        model, tty = self.model, TTYS[terminal]
        model.step += 1
        talk = self.talk(which)
        if talk is None:
            return
        holder = model.holder(talk)
        shell = self.shells[tty]
        found = self.world.agent.conversation_resume(
            m.ConversationResumeParams(
                command_id=self.world.ids.new(),
                conversation_id=talk.id,
                context=self.world.context(self.dirs[place], tty=tty, shell_pid=shell),
                take=take,
            ),
            CALLER,
        )
        if holder not in (None, tty) and not take:
            assert isinstance(found, m.ConversationResumeHeld)
            assert found.tty == holder
            return
        assert isinstance(found, m.ConversationResumed)
        slot = model.slots.get((tty, talk.key))
        own = slot is not None and slot.talk is talk and model.of_shell(slot, shell)
        assert found.here == own
        assert found.continues_here == (place == talk.key or not model.follow)
        talk.once_held = True
        model.forget_lost(tty, talk.key)
        model.settle(tty, shell, talk, talk.key, comes=True)
        model.touch(talk)

    def delete(self, which: int) -> None:
        model, world = self.model, self.world
        talk = self.talk(which)
        if talk is None:
            return
        row = world.readers.read(lambda conn: queries.conversation(conn, talk.id))
        assert row is not None
        gone = NewEvent(talk.id, ev.ConversationDeleted(origin=t.Origin.SHELL))
        world.writer.append(Batch(events=(gone,))).result()
        world.agent.deleted(row)
        del model.talks[talk.id]
        for place, slot in list(model.slots.items()):
            if slot.talk is talk:
                del model.slots[place]
                model.lost[place] = (slot, None)
        for place, (slot, _) in model.lost.items():  # where it went is nowhere
            if slot.talk is talk:
                model.lost[place] = (slot, None)
        with pytest.raises(Refusal):
            world.send("x", conversation_id=talk.id)

    def reopen(self, terminal: int, reuse: bool) -> None:
        """A new shell in the terminal; `reuse`: another program gets the old one's number."""
        tty = TTYS[terminal]
        old = self.shells[tty]
        self.close_shell(old)
        self.shells[tty] = self.open_shell()
        if reuse:
            self.world.living[old] = self.world.clock.now_us() + 1

    def pass_s(self, seconds: int) -> None:
        self.world.clock.advance(seconds)
        self.model.now_s += seconds

    def to_the_limit(self, which: int, over: int) -> None:
        """Time passes until a conversation is idle for just 12 hours, and `over` seconds."""
        talk = self.talk(which)
        if talk is not None:
            left = talk.active_s + IDLE_S + over - self.model.now_s
            if left > 0:
                self.pass_s(int(left))

    def restart(self) -> None:
        self.world.restart()

    # Steps that come with the prompt which shows what they did.

    def take_over(self, terminal: int, which: int, elsewhere: int) -> None:
        """A terminal takes a conversation; the one that had it prompts where it was, or not."""
        place = self.slot_of(which)
        if place is not None:
            self.resume(terminal, which, place[1], True)
            self.prompt_at(place[0], PLACES[elsewhere] if elsewhere < 3 else place[1])

    def delete_under(self, which: int) -> None:
        place = self.slot_of(which)
        if place is not None:
            self.delete(which)
            self.prompt_at(*place)

    def prompt_at_the_limit(self, which: int, over: int) -> None:
        place = self.slot_of(which)
        if place is not None:
            self.to_the_limit(which, over)
            self.prompt_at(*place)

    def close_and_pick_up(self, which: int, terminal: int, reuse: bool, over: int) -> None:
        """The terminal of a conversation closes, time passes, another one comes."""
        place = self.slot_of(which)
        if place is not None:
            self.reopen(TTYS.index(place[0]), reuse)
            self.to_the_limit(which, over)
            self.prompt_at(TTYS[terminal], place[1])

    def script_and_pick_up(self, terminal: int, place: str) -> None:
        self.script(place)
        self.reopen(terminal, False)
        self.prompt_at(TTYS[terminal], place)

    def talk(self, which: int) -> Talk | None:
        """A conversation, counted from the newest."""
        talks = sorted(self.model.talks.values(), key=lambda one: -one.newest)
        return talks[which % len(talks)] if talks else None

    def slot_of(self, which: int) -> tuple[str, str] | None:
        talk = self.talk(which)
        return next((place for place, s in self.model.slots.items() if s.talk is talk), None)

    def prompt_at(self, tty: str, place: str) -> None:
        self.prompt(TTYS.index(tty), place, False, False)

    # Small things.

    def send(self, pwd: Path, tty: str | None, pid: int | None, **more: Any) -> Any:
        self.world.provider.answers(said("ok"))
        context = self.world.context(pwd, tty=tty, shell_pid=pid)
        sent = self.world.send("go on", context=context, **more)
        self.world.wait_end(sent.turn_id)
        return sent

    def compare_lists(self) -> None:
        """The store's slots are the reference's."""
        for tty in TTYS:
            rows = self.world.readers.read(
                lambda conn, tty=tty: queries.conversations_of_tty(conn, tty)  # type: ignore[misc]
            )
            slots = [(key, s) for (name, key), s in self.model.slots.items() if name == tty]
            slots.sort(key=lambda one: -one[1].used)
            assert [(self.name(row.route), row.id) for row in rows] == [
                (key, slot.talk.id) for key, slot in slots
            ]

    def name(self, route: t.RouteScope | None) -> str:
        return self.names[route.value] if isinstance(route, t.RouteProject) else "home"


def _word(switch: t.RouteSwitch | None) -> str:
    match switch:
        case None:
            return "none"
        case t.RouteSwitchNew(reason=t.NewReasonIdle()):
            return "idle"
        case t.RouteSwitchNew(reason=t.NewReasonMoved()):
            return "moved"
        case t.RouteSwitchNew():
            return "scope"
        case t.RouteSwitchBack():
            return "back"
        case _:
            return "picked_up"


TERMINAL = st.integers(0, 2)
WHICH = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 5, 8])  # from the newest
PLACE = st.sampled_from(PLACES)
OVER = st.sampled_from([-1, 0, 1])
RARELY = st.sampled_from([False] * 5 + [True])
PROMPT = st.tuples(st.just("prompt"), TERMINAL, PLACE, RARELY, RARELY)
STEP = st.one_of(
    PROMPT,
    PROMPT,
    PROMPT,
    st.tuples(st.just("script"), PLACE),
    st.tuples(st.just("resume"), TERMINAL, WHICH, PLACE, st.booleans()),
    st.tuples(st.just("delete"), WHICH),
    st.tuples(st.just("reopen"), TERMINAL, st.booleans()),
    st.tuples(st.just("pass_s"), st.sampled_from([60, 3600, 6 * 3600])),
    st.tuples(st.just("restart")),
    st.tuples(st.just("take_over"), TERMINAL, WHICH, st.integers(0, 8)),
    st.tuples(st.just("delete_under"), WHICH),
    st.tuples(st.just("prompt_at_the_limit"), WHICH, OVER),
    st.tuples(st.just("close_and_pick_up"), WHICH, TERMINAL, st.booleans(), OVER),
    st.tuples(st.just("script_and_pick_up"), TERMINAL, PLACE),
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=st.lists(STEP, min_size=20, max_size=40),
    idle_hours=st.sampled_from([12, 12, 12, 0]),
    follow=st.sampled_from([True, True, False]),
)
def test_every_history_goes_as_the_reference_says(
    steps: list[tuple[Any, ...]], idle_hours: int, follow: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder, World(Path(folder)) as world:
        history = History(world, idle_hours=idle_hours, follow=follow)
        for step in steps:
            history.play(step)
