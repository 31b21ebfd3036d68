"""An agent on a real store in a folder of its own, with a scripted model, tools, shell and time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from efr.agent.agent import Agent
from efr.agent.place import Places
from efr.agent.ports import Caller, Ports
from efr.agent.preamble import Host
from efr.agent.settings import NO_SANDBOX
from efr.agent.shell_events import ShellEvents
from efr.agent.shell_life import ShellStart
from efr.base.ids import SystemIds
from efr.base.roots import Roots, find_roots
from efr.config.project_text import Project
from efr.config.schema import Settings
from efr.store import db, queries
from efr.store.feed import Feed, Published
from efr.store.migrate import migrate
from efr.store.reconcile import reconcile
from efr.threads.conversations import ConversationWorkers
from efr.threads.readers import ReaderPool
from efr.threads.writer import StoreWriter
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from tests.agent.scripted import LIMIT_S, ScriptedTimer
from tests.agent.scripted_model import ScriptedModels, ScriptedProvider
from tests.agent.scripted_tools import ScriptedShells, ScriptedTools
from tests.harness.clock import FakeClock

E = TypeVar("E", bound=ev.Event)

TTY = "/dev/pts/3"
SHELL_PID = 4242
CALLER = Caller(connection_id=1, origin=t.Origin.SHELL, tty=TTY, remote=False)
PHONE = Caller(connection_id=2, origin=t.Origin.PHONE, tty=None, remote=True)


class Log:
    """Every event as it is published, and waits for one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.all: list[Published] = []

    def __call__(self, published: Sequence[Published]) -> None:
        with self._changed:
            self.all += published
            self._changed.notify_all()

    def wait(self, fits: Callable[[list[Published]], bool], what: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: fits(self.all), LIMIT_S), (
                f"never came: {what}; got {[one.kind for one in self.all]}"
            )


class Registry:
    def __init__(self) -> None:
        self.projects: list[Project] = []

    def all(self) -> tuple[Project, ...]:
        return tuple(self.projects)


class World:
    """Start it with `with`. `restart` stops it and starts it again on the same folder."""

    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(exist_ok=True)
        self.settings = settings or Settings()
        self.clock = FakeClock()
        self.timer = ScriptedTimer(self.clock)
        self.ids = SystemIds(self.clock)
        env = {"EFR_HOME": str(folder / "efr"), "HOME": str(self.home)}
        self.roots: Roots = find_roots(env, uid=1000)
        self.roots.data.path.mkdir(parents=True, exist_ok=True)
        self.provider = ScriptedProvider()
        self.models = ScriptedModels(self.provider, lambda: self.settings)
        self.tools = ScriptedTools(str(self.home / ".ssh"))
        self.shells = ScriptedShells()
        self.registry = Registry()
        self.living: dict[int, int] = {SHELL_PID: 0}  # pid -> start time
        self.limits = NO_SANDBOX
        self.log = Log()
        self.faults: list[tuple[str, BaseException]] = []

    def __enter__(self) -> World:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        assert self.faults == []

    def start(self) -> None:
        conn = db.open(self.roots.database)
        migrate(conn)
        self.not_run = reconcile(conn, self.clock)
        conn.close()
        self.feed = Feed()
        self.feed.listen(self.log)
        self.writer = StoreWriter(
            self.roots.database, self.clock, self.feed, lambda exc: self._fault("store", exc)
        )
        self.writer.start()
        self.readers = ReaderPool(self.roots.database, 2)
        self.readers.start()
        self.workers = ConversationWorkers(self.clock, self._fault)
        self.shell_events = ShellEvents(self.writer)
        self.agent = Agent(self._ports())

    def _ports(self) -> Ports:
        return Ports(
            clock=self.clock,
            ids=self.ids,
            roots=self.roots,
            host=Host(str(self.home), "box", "Test OS 1"),
            settings=lambda: self.settings,
            writer=self.writer,
            readers=self.readers,
            workers=self.workers,
            timer=self.timer,
            models=self.models,
            tools=self.tools,
            shells=self.shells,
            shell_start=self._shell_start,
            places=Places(str(self.home), self.registry),
            mode_limits=lambda: self.limits,
        )

    def _shell_start(self, pid: int) -> ShellStart | None:
        start = self.living.get(pid)
        return None if start is None else ShellStart(start, start)

    def stop(self) -> None:
        left = self.agent.stop(self.clock.monotonic() + LIMIT_S)
        self.readers.stop()
        self.writer.stop()
        assert left == []

    def restart(self) -> None:
        self.stop()
        self.log = Log()
        self.start()

    def _fault(self, name: str, exc: BaseException) -> None:
        self.faults.append((name, exc))

    # Requests ------------------------------------------------------------------------------

    def context(self, pwd: Path | str | None = None, **more: Any) -> t.ShellContext:
        fields: dict[str, Any] = {"tty": TTY, "shell_pid": SHELL_PID, **more}
        return t.ShellContext(pwd=str(pwd or self.home), **fields)

    def send(
        self, text: str, caller: Caller = CALLER, *, pwd: Path | str | None = None, **more: Any
    ) -> m.PromptSendResult:
        """A prompt of the terminal (or of `conversation_id`)."""
        fields: dict[str, Any] = {
            "command_id": self.ids.new(),
            "text": text,
            "context": self.context(pwd),
            **more,
        }
        return self.agent.prompt_send(m.PromptSendParams(**fields), caller)

    def interrupt(self, conversation_id: str, **more: Any) -> m.TurnInterruptResult:
        fields = {"command_id": self.ids.new(), "conversation_id": conversation_id, **more}
        return self.agent.turn_interrupt(m.TurnInterruptParams(**fields), CALLER)

    def steer(self, conversation_id: str, text: str, **more: Any) -> m.TurnSteerResult:
        fields: dict[str, Any] = {
            "command_id": self.ids.new(),
            "conversation_id": conversation_id,
            "text": text,
            **more,
        }
        return self.agent.turn_steer(m.TurnSteerParams(**fields), CALLER)

    def answer(
        self,
        conversation_id: str,
        call_id: str,
        decision: t.ApprovalDecision = t.ApprovalDecision.ALLOW,
        caller: Caller = CALLER,
    ) -> m.ApprovalRespondResult:
        params = m.ApprovalRespondParams(
            command_id=self.ids.new(),
            conversation_id=conversation_id,
            call_id=call_id,
            decision=decision,
        )
        return self.agent.approval_respond(params, caller)

    # What happened -------------------------------------------------------------------------

    def wait(self, kind: type[E], count: int = 1) -> E:
        """Blocks until the count-th event of that kind is in the log; returns it."""

        def found(published: list[Published]) -> list[Published]:
            return [one for one in published if isinstance(one.event, kind)]

        self.log.wait(lambda all: len(found(all)) >= count, f"{kind.__name__} #{count}")
        event = found(self.log.all)[count - 1].event
        assert isinstance(event, kind)
        return event

    def wait_end(self, turn_id: str) -> ev.Event:
        """Blocks until the turn ended; returns how."""
        ends = ("turn_completed", "turn_failed", "turn_interrupted", "prompt_withdrawn")

        def found(published: list[Published]) -> list[Published]:
            return [one for one in published if one.turn_id == turn_id and one.kind in ends]

        self.log.wait(lambda all: bool(found(all)), f"the end of {turn_id}")
        return found(self.log.all)[0].event

    def seq_of(self, event: ev.Event) -> int:
        return next(one.seq for one in self.log.all if one.event is event)

    def stored(self, conversation_id: str) -> list[ev.Event]:
        """The conversation's events, as the database has them."""
        rows = self.readers.read(
            lambda conn: queries.newest_events(conn, conversation_id, None, 100_000, 1 << 30)[0]
        )
        return [ev.decode_event(row.kind, row.payload) for row in rows]

    def kinds(self, conversation_id: str) -> list[str]:
        rows = self.readers.read(
            lambda conn: queries.newest_events(conn, conversation_id, None, 100_000, 1 << 30)[0]
        )
        return [row.kind for row in rows]

    def database_bytes(self) -> bytes:
        """Every byte of the database and its log."""
        return b"".join(
            path.read_bytes() for path in sorted(self.roots.data.path.glob("efr.sqlite*"))
        )
