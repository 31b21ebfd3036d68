"""Commands left running and the terminals of hidden shells, over a real daemon."""

from __future__ import annotations

import contextlib
import json
import random
from base64 import b64decode
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from efr.client import connect
from efr.client.connection import Connection, Stream
from efr.client.errors import Refused
from efr.daemon.attachments import STEPS, Attachment, Attachments
from efr.shell.contract import Size
from efr.store.recordings import RecordingWriter
from efr.threads.requests import Finished
from efr.wire import codec
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from tests.conversations.terminals import command_id
from tests.harness.clock import FakeClock
from tests.harness.daemon import Daemon
from tests.harness.model_server import ModelServer
from tests.shell.rig import MemoryRecorder, Rig, World
from tests.store.samples import PTY, new_database, opened


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(name="daemon", scope="module")
def _daemon(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon"), settings=server.settings) as daemon:
        yield daemon


@pytest.fixture(name="efr")
def _efr(daemon: Daemon) -> Iterator[Connection]:
    with connect(daemon.env) as efr:
        yield efr


def turn(
    efr: Connection, server: ModelServer, line: str, **members: Any
) -> tuple[str, list[ev.Event]]:
    """The conversation and the events of a turn that runs one command for at most a second."""
    call = {"name": "shell", "arguments": {"command": line, "timeout_seconds": 1}}
    server.play([{"pieces": [{"calls": [call]}]}, {"pieces": [{"text": "Done."}]}])
    sent = efr.call("prompt.send", text="go", **members)
    return sent.conversation_id, list(until(efr, sent, ev.TurnCompleted))


class Left:
    """A command that its call left running, and the events of its turn."""

    def __init__(self, efr: Connection, server: ModelServer, line: str) -> None:
        self.conversation_id, self.events = turn(efr, server, line)
        self.pty_id = one(self.events, ev.ShellStarted).pty_id
        self.detached = one(self.events, ev.ShellCommandDetached)
        self.call_id = self.detached.call_id

    def be_away(self, efr: Connection) -> None:
        efr.call("presence.set", presence="away", conversation_id=self.conversation_id)

    def presence(self, efr: Connection) -> list[tuple[str, str]]:
        """What the log says of it, and why."""
        page = efr.call("conversation.history", conversation_id=self.conversation_id, limit=500)
        events = [one.event for one in page.events]
        changes = [event for event in events if isinstance(event, ev.PresenceChanged)]
        return [(one.presence.value, one.source.value) for one in changes]

    def ended(self, efr: Connection) -> ev.ShellCommandEnded:
        """Blocks until the log says how it ended."""
        for item in efr.follow(self.conversation_id, after_seq=0):
            event = getattr(item, "event", None)
            if isinstance(event, ev.ShellCommandEnded):
                return event
        raise AssertionError("no end")


def one(events: list[ev.Event], kind: type[Any]) -> Any:
    (found,) = [event for event in events if isinstance(event, kind)]
    return found


def until(efr: Connection, sent: Any, last: type[Any], *, asks: bool = True) -> Iterator[ev.Event]:
    """The events up to one of this kind; with `asks` every question is answered with yes."""
    for item in efr.follow(sent.conversation_id, after_seq=sent.seq):
        event = getattr(item, "event", None)
        if event is None:
            continue
        yield event
        if asks and isinstance(event, ev.ApprovalRequested):
            with efr.again() as answers:
                answers.call(
                    "approval.respond",
                    conversation_id=sent.conversation_id,
                    call_id=event.call_id,
                    decision=t.ApprovalDecision.ALLOW,
                )
        if isinstance(event, last):
            return


def refused(efr: Connection, method: str, **members: Any) -> str:
    with pytest.raises(Refused) as caught:
        efr.call(method, **members)
    return caught.value.code


class Screen:
    """What one attached client got so far."""

    def __init__(self, efr: Connection, pty_id: str, since: int | None = None) -> None:
        self._stream: Stream = efr.stream("pty.attach", pty_id=pty_id, since_seq=since)
        self.items: list[Any] = []
        self.data = b""
        self.start: int | None = since

    def next(self) -> Any:
        item = next(self._stream)
        self.items.append(item)
        if isinstance(item, m.PtySnapshot):
            self.start, self.data = item.seq, b""
        if isinstance(item, m.PtyOutput):
            self.start = item.seq if self.start is None else self.start
            assert item.seq == self.start + len(self.data), "nothing twice, and no gap"
            self.data += item.data
        return item

    def wait(self, wanted: bytes) -> None:
        while wanted not in self.data:
            self.next()

    def wait_size(self, cols: int) -> m.PtyResized:
        while not isinstance(item := self.next(), m.PtyResized) or item.size.cols != cols:
            pass
        return item

    def read_to_end(self) -> None:
        """Until the stream ends without an error."""
        with contextlib.suppress(StopIteration):
            while True:
                self.next()

    def close(self) -> None:
        self._stream.close()


def text(snapshot: t.ScreenSnapshot) -> str:
    return "\n".join("".join(c.text or " " for c in row.cells).rstrip() for row in snapshot.rows)


def test_a_command_left_running_is_told_asked_about_and_stopped(
    efr: Connection, server: ModelServer
) -> None:
    left = Left(efr, server, "echo one; sleep 60")
    completed = one(left.events, ev.ToolCallCompleted)
    here = {"conversation_id": left.conversation_id}
    busy = efr.call("shell.status", **here).busy
    wrong = refused(efr, "shell.interrupt", **here, call_id=command_id())
    stop = {**here, "command_id": command_id(), "call_id": left.call_id}
    first, again = efr.call("shell.interrupt", **stop), efr.call("shell.interrupt", **stop)
    ended = left.ended(efr)

    assert (completed.left_running, completed.call_id) == (True, left.call_id)
    assert left.detached.command == "echo one; sleep 60"
    assert not left.detached.contained
    assert left.detached.approved_by is t.ApprovedBy.YOU
    assert busy == t.ShellBusy(
        **{name: getattr(left.detached, name) for name in busy.__struct_fields__}
    )
    assert wrong == "not_found"
    assert first == again == m.ShellInterruptResult()
    assert (ended.call_id, ended.how, ended.exit_code) == (
        left.call_id,
        t.ShellCommandEnd.STOPPED,
        130,
    )
    assert efr.call("shell.status", **here) == m.ShellStatusResult()
    assert refused(efr, "shell.status", conversation_id=command_id()) == "not_found"
    assert refused(efr, "shell.interrupt", **here, call_id=left.call_id) == "not_found"
    efr.call("shell.interrupt", **here, call_id=left.call_id, close=True)
    exits = (getattr(item, "event", None) for item in efr.follow(left.conversation_id, after_seq=0))
    assert any(isinstance(event, ev.ShellExited) for event in exits)
    assert refused(efr, "shell.interrupt", **here, call_id=left.call_id) == "not_found"


def test_a_terminal_is_shown_typed_into_resized_and_replayed(
    efr: Connection, daemon: Daemon, server: ModelServer
) -> None:
    left = Left(efr, server, "stty -echo; echo begin; cat")
    pty = left.pty_id
    with connect(daemon.env) as first_link, connect(daemon.env) as second_link:
        first = Screen(first_link, pty)
        shown = first.next()
        assert isinstance(shown, m.PtySnapshot)
        assert text(shown.snapshot).rstrip().endswith("begin")
        assert shown.snapshot.size == t.Size(cols=160, rows=48)
        assert first.start is not None
        efr.call("pty.write", pty_id=pty, data=b"hello\n")
        first.wait(b"hello\r\n")
        assert efr.call("pty.resize", pty_id=pty, size=t.Size(9, 3)).size == t.Size(9, 3)
        resized = first.wait_size(9)
        assert resized.seq == first.start + len(first.data)
        left.be_away(efr)
        efr.call("pty.write", pty_id=pty, data=b"more\n")
        first.wait(b"more\r\n")
        assert left.presence(efr)[-2:] == [("away", "user"), ("present", "input")]
        second = Screen(second_link, pty, shown.seq)
        second.wait(b"more\r\n")
        assert second.data == first.data
        assert [i.seq for i in second.items if isinstance(i, m.PtyResized)] == [resized.seq]
        huge = efr.call("pty.resize", pty_id=pty, size=t.Size(65535, 65535)).size
        assert huge == t.Size(cols=500, rows=200)
        for size in (t.Size(0, 5), t.Size(5, 0)):
            assert refused(efr, "pty.resize", pty_id=pty, size=size) == "invalid"
        assert refused(efr, "pty.write", pty_id=pty, data=b"x" * 65537) == "invalid"
        second.close()
        efr.call("pty.write", pty_id=pty, data=b"\x04")
        assert left.ended(efr).how is t.ShellCommandEnd.ENDED
        here = {"conversation_id": left.conversation_id, "call_id": left.call_id}
        efr.call("shell.interrupt", **here, close=True)
        first.read_to_end()
        gone = Screen(second_link, pty, 0)
        gone.read_to_end()
    assert gone.data[first.start :] == first.data
    assert b"begin" in gone.data
    assert [i.size.cols for i in gone.items if isinstance(i, m.PtyResized)] == [160, 9, 500]
    for method, more in (("pty.write", {"data": b"x"}), ("pty.resize", {"size": t.Size(9, 9)})):
        assert refused(efr, method, pty_id=pty, **more) == "not_found"
    for since, unknown in ((None, pty), (0, command_id())):
        with pytest.raises(Refused) as caught:
            next(efr.stream("pty.attach", pty_id=unknown, since_seq=since))
        assert caught.value.code == "not_found"


def test_a_password_is_typed_in_an_attached_terminal(
    efr: Connection, daemon: Daemon, server: ModelServer
) -> None:
    conversation_id, events = turn(efr, server, "true")
    here, pty = {"conversation_id": conversation_id}, one(events, ev.ShellStarted).pty_id
    with connect(daemon.env) as link:
        screen = Screen(link, pty)
        screen.next()
        line = "bash -c 'read -s -p \"Password: \" x; echo; echo got ${#x}'"
        call = {"name": "shell", "arguments": {"command": line}}
        server.play([{"pieces": [{"calls": [call]}]}, {"pieces": [{"text": "Fine."}]}])
        sent = efr.call("prompt.send", text="go on", **here)
        waits = list(until(efr, sent, ev.ToolCallInputChanged))[-1]
        assert isinstance(waits, ev.ToolCallInputChanged)
        assert waits.input is t.InputWait.HIDDEN
        screen.wait(b"Password: ")
        efr.call("pty.write", pty_id=pty, data=b"hunter2-0987\r")
        screen.wait(b"got 12")
        assert b"hunter2" not in screen.data
        rest = until(efr, sent, ev.TurnCompleted, asks=False)
        completed = one(list(rest), ev.ToolCallCompleted)
    assert "got 12" in completed.output
    assert completed.exit_code == 0


# One attachment by itself.


def item_of(attachment: Attachment) -> Any:
    item = attachment.next_item()
    return json.loads(item) if isinstance(item, bytes) else item


@pytest.mark.parametrize(("size", "count"), [(33_000, 32), (1 << 20, 1), (400_000, 3)])
def test_a_slow_client_is_told_where_to_go_on(size: int, count: int) -> None:
    attachment = Attachment()
    attachment.begin(10, ())
    at = 10
    while not attachment._behind:
        attachment.printed(at, b"x" * size)
        at += size
    attachment.printed(at, b"lost")
    got = [item_of(attachment) for _ in range(count)]
    end = attachment.next_item()

    assert [item["seq"] for item in got] == [10 + n * size for n in range(count)]
    assert isinstance(end, Finished)
    assert end.error is not None
    assert end.error.code is t.ErrorCode.OVERFLOW
    assert end.error.data == {"last_seq": 10 + count * size}


def test_one_that_reads_is_never_behind() -> None:
    attachment = Attachment()
    attachment.begin(0, ())
    for n in range(500):
        attachment.printed(n * 40_000, b"x" * 40_000)
        assert item_of(attachment)["seq"] == n * 40_000
    for n in range(500, 500 + STEPS):
        attachment.resized(n, Size(n, 9))
        attachment.printed(n, b"x")
    assert attachment._behind


def test_small_steps_join_and_the_last_size_counts() -> None:
    attachment = Attachment()
    attachment.begin(0, ())
    for n in range(1000):
        attachment.printed(n, b"x")
    attachment.resized(1000, Size(10, 10))
    attachment.resized(1000, Size(20, 10))
    attachment.printed(1000, b"y")
    attachment.over()

    assert item_of(attachment)["seq"] == 0
    assert item_of(attachment) == {"kind": "resized", "seq": 1000, "size": {"cols": 20, "rows": 10}}
    assert item_of(attachment)["seq"] == 1000
    assert attachment.next_item() == Finished()


# Attachments by themselves, to a real shell.


class Forgetful(MemoryRecorder):
    """A recorder on a full disk: it counts what it cannot keep."""

    def read(self, start: int, end: int) -> bytes:
        return b""


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def attachments_of(rig: Rig) -> Attachments:
    def find(pty_id: str) -> Any:
        return rig.shell if rig.shell.pty_id == pty_id else None

    return Attachments(find, lambda fn: fn(None), rig.home)


def test_a_terminal_that_cannot_be_recorded_is_live_all_the_same(world: World) -> None:
    rig = world.rig(recorder=Forgetful)
    rig.run("echo before")
    pty = rig.shell.pty_id
    seen = [attachments_of(rig).open(m.PtyAttachParams(pty, since)) for since in (None, 3)]
    rig.run("echo after")
    for attachment in seen:
        first = item_of(attachment)
        assert first["kind"] == "snapshot"
        live = b64decode(item_of(attachment)["data"])
        assert b"after\r\n" in live
        attachment.close()
    assert not rig.shell.terminal.is_watched  # type: ignore[union-attr]


def test_a_client_that_is_far_behind_gets_the_screen(world: World) -> None:
    rig = world.rig()
    rig.run("seq 250000; echo last")
    attachment = attachments_of(rig).open(m.PtyAttachParams(rig.shell.pty_id, 100))
    item = attachment.next_item()
    attachment.close()
    assert isinstance(item, bytes)
    shown: m.PtySnapshot = codec.decode(item, m.PtySnapshot)
    rows = text(shown.snapshot).splitlines()
    printed = rows[:-1] if rows[-1] == "efr>" else rows  # the prompt comes after the call's end
    assert printed[-2:] == ["250000", "last"]
    above = ["".join(cell.text for cell in row.cells) for row in shown.snapshot.scrollback]
    assert above == [str(n) for n in range(int(rows[0]) - 200, int(rows[0]))]


def test_a_client_that_never_reads_does_not_slow_the_shell(world: World) -> None:
    rig = world.rig()
    rig.run("true")
    attachments, pty = attachments_of(rig), rig.shell.pty_id
    attachment = attachments.open(m.PtyAttachParams(pty))
    end = rig.run("seq 2500000; echo done")
    assert end.output.endswith("done\n")
    kinds = []
    while not isinstance(item := item_of(attachment), Finished):
        kinds.append(item["kind"])
    attachment.close()
    assert kinds[0] == "snapshot"
    assert set(kinds[1:]) == {"output"}
    assert len(kinds) <= 1 + STEPS
    assert item.error is not None
    assert item.error.code is t.ErrorCode.OVERFLOW
    assert item.error.data is not None
    again = attachments.open(m.PtyAttachParams(pty, item.error.data["last_seq"]))
    assert item_of(again)["kind"] == "snapshot"
    again.close()


def test_what_is_left_of_a_shell_that_is_gone(tmp_path: Path) -> None:
    clock = FakeClock()
    writer = RecordingWriter(tmp_path / "rec", PTY, clock)
    data = random.Random(3).randbytes(9 << 20)
    writer.resize(160, 48)
    for at in range(0, len(data), 60_000):
        writer.append(data[at : at + 60_000])
    writer.close()
    starts = sorted(int(path.stem) for path in (tmp_path / "rec" / PTY).iterdir())
    assert len(starts) == 2
    with opened(new_database(tmp_path)) as conn:
        for start, end in pairwise([*starts, len(data)]):
            conn.execute(
                "INSERT INTO recording_segments (pty_id, start_seq, path, bytes, started_at)"
                " VALUES (?, ?, ?, ?, 0)",
                (PTY, start, f"{PTY}/{start}.rec", end - start),
            )
        attachments = Attachments(lambda _: None, lambda fn: fn(conn), tmp_path / "rec")

        def replay(since: int) -> tuple[int, bytes]:
            """The first offset, and all that comes; from the end of each stream the next one."""
            first, got = None, b""
            while True:
                attachment = attachments.open(m.PtyAttachParams(PTY, since))
                while not isinstance(item := item_of(attachment), Finished):
                    if item["kind"] == "output":
                        first = item["seq"] if first is None else first
                        assert item["seq"] == first + len(got)
                        got += b64decode(item["data"])
                if item.error is None or item.error.data is None:
                    return first or 0, got
                since = item.error.data["last_seq"]

        assert replay(0) == (0, data)
        assert replay(len(data) - 5) == (len(data) - 5, data[-5:])
        assert replay(len(data)) == (0, b"")
        (tmp_path / "rec" / PTY / "0.rec").unlink()
        assert replay(0) == (starts[1], data[starts[1] :])
        (tmp_path / "rec" / PTY / f"{starts[1]}.rec").unlink()
        assert replay(0) == (0, b"")
