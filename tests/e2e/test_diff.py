"""What a turn changed in files: in its events, by `conversation.diff` and by `efr diff`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from efr.client import Connection, connect
from efr.client.address import socket_path
from efr.client.errors import Refused
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from tests.e2e.test_models import APIS, log_in
from tests.harness.daemon import ROOT, Daemon
from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

LINE = (
    "echo two >> a.txt; echo KEY=2 > .env; rm gone.txt; truncate -s 11M big.bin;"
    ' echo x > "$SCRATCH/note"; echo "größe" > "new file.txt"'
)


def calls(name: str, **arguments: Any) -> dict[str, Any]:
    call = {"name": name, "arguments": json.dumps(arguments)}
    return {"pieces": [{"call": call}], "usage": {"input": 10, "output": 2}}


DONE = {"pieces": [{"text": "Done."}], "usage": {"input": 1, "output": 1}}
PLAY = [
    calls("shell", command=LINE),
    calls("write_file", path="written.txt", content="w\n"),
    calls("shell", command="echo three >> a.txt"),
    DONE,
    DONE,  # a turn without a change
    calls("shell", command="true"),
    DONE,
    calls("shell", command="true"),  # in a project with too many files
    DONE,
]
ENDS = [
    calls("write_file", path="failed.txt", content="f\n"),
    {"error": {"status": 400, "body": {"error": {"message": "no"}}}},
    calls("shell", command="echo x > stopped.txt; echo ready; sleep 60"),
]
SLEEPS = [calls("shell", command="sleep 60")]


@dataclass
class World:
    """A daemon with a project in git, and the turns that ran in it."""

    daemon: Daemon
    app: Path
    before: Path  # the project as it was
    turns: list[list[Any]]

    @property
    def conversation_id(self) -> str:
        return str(self.turns[0][0])


def asked(app: Path, tty: str | None = None) -> dict[str, Any]:
    """Where and by which model a prompt is answered."""
    context = t.ShellContext(pwd=str(app), tty=tty)
    return {"context": context, "settings": t.TurnSettings(model="fake-model")}


def allow(efr: Connection, conversation_id: str, asked: ev.ApprovalRequested) -> None:
    named = {"conversation_id": conversation_id, "call_id": asked.call_id}
    efr.call("approval.respond", **named, decision=t.ApprovalDecision.ALLOW)


def turn(
    efr: Connection,
    app: Path,
    text: str,
    conversation_id: str | None = None,
    tty: str | None = None,
) -> list[Any]:
    """The conversation, then the events of a turn; its questions are answered with yes."""
    where = asked(app, tty)
    sent = efr.call("prompt.send", text=text, conversation_id=conversation_id, **where)
    found: list[Any] = [sent.conversation_id]
    with efr.again() as answers:
        for item in efr.follow(sent.conversation_id, after_seq=sent.seq):
            event = getattr(item, "event", None)
            found.append(event)
            if isinstance(event, ev.ApprovalRequested):
                allow(answers, sent.conversation_id, event)
            if isinstance(event, ev.TurnCompleted | ev.TurnFailed):
                return found
    raise AssertionError("the turn never ended")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with a_world(tmp_path_factory.mktemp("diff"), ENDS) as world:
        yield world


@contextmanager
def a_world(tmp_path: Path, more: list[Any]) -> Iterator[World]:
    """The turns of PLAY; the model answers what is asked after them with `more`."""
    with ModelServer() as server:
        server.play([*PLAY, *more], models=[{"id": "fake-model"}])
        url = server.base_url
        settings = '[model]\nprovider = "openai-api"\n' + APIS["openai-api"].format(url=url)
        settings += "[snapshot]\nmax_files = 100\n"
        with Daemon(tmp_path, settings=settings) as daemon:
            log_in(daemon, "openai-api")
            app = daemon.home / "app"
            app.mkdir()
            subprocess.run(["git", "init", "-q", app], check=True)
            for name, text in {
                "a.txt": "one\n",
                "gone.txt": "x\n",
                ".env": "KEY=1\n",
                ".gitignore": ".env\n",
                "big.bin": "small\n",
            }.items():
                (app / name).write_text(text)
            shutil.copytree(app, tmp_path / "before")
            large = daemon.home / "large"
            large.mkdir()
            for number in range(101):
                (large / f"f{number}").touch()
            with connect(daemon.env) as efr:
                efr.call("admin.project_add", path=str(app))
                efr.call("admin.project_add", path=str(large))
                turns = [turn(efr, app, "change it")]
                turns += [turn(efr, app, text, turns[0][0]) for text in ("say hi", "look")]
                turns.append(turn(efr, large, "look there"))
            yield World(daemon, app, tmp_path / "before", turns)


def one_of(events: list[Any], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def rows(changes: t.FileChanges | None) -> list[tuple[str, str, int, int]]:
    assert changes is not None
    return [(one.path, one.kind.value, one.added, one.removed) for one in changes.files]


def test_the_events_tell_what_calls_and_the_turn_changed(world: World) -> None:
    events = world.turns[0]
    first, written, second = one_of(events, ev.ToolCallCompleted)
    assert rows(first.changes) == [
        ("$SCRATCH/note", "added", 1, 0),
        ("a.txt", "modified", 1, 0),
        ("big.bin", "modified", 0, 0),
        ("gone.txt", "deleted", 0, 1),
        ("new file.txt", "added", 1, 0),
    ]
    assert rows(written.changes) == [("written.txt", "added", 1, 0)]
    assert rows(second.changes) == [("a.txt", "modified", 1, 0)]
    (end,) = one_of(events, ev.TurnCompleted)
    assert rows(end.changes) == [
        ("$SCRATCH/note", "added", 1, 0),
        (".env", "modified", 1, 1),
        ("a.txt", "modified", 2, 0),
        ("big.bin", "modified", 0, 0),
        ("gone.txt", "deleted", 0, 1),
        ("new file.txt", "added", 1, 0),
        ("written.txt", "added", 1, 0),
    ]
    assert end.undo == t.UndoSummary(not_covered=("big.bin",))
    taken = one_of(events, ev.SnapshotTaken)
    app = [one for one in taken if one.root == str(world.app)]
    assert [(one.phase.value, one.files, one.skipped) for one in app] == [
        ("pre", 5, 0),
        ("post", 5, 1),
    ]
    assert len(taken) == 4, "and two of $SCRATCH"
    kinds = [ev.kind_of(event) for event in events if isinstance(event, ev.Event)]
    assert kinds[-2:] == ["snapshot_taken", "turn_completed"]


def test_a_turn_that_changed_nothing_has_no_list(world: World) -> None:
    quiet, looked = world.turns[1], world.turns[2]
    assert not one_of(quiet, ev.SnapshotTaken)
    assert one_of(quiet, ev.TurnCompleted)[0].changes is None
    assert one_of(looked, ev.ToolCallCompleted)[0].changes is None
    assert one_of(looked, ev.TurnCompleted)[0].changes is None


def test_the_diff_of_a_turn_shows_no_ignored_content(world: World) -> None:
    turn_id = one_of(world.turns[0], ev.TurnCompleted)[0].turn_id
    with connect(world.daemon.env) as efr:
        told: m.ConversationDiffResult = efr.call("conversation.diff", turn_id=turn_id)
        stat: m.ConversationDiffResult = efr.call("conversation.diff", turn_id=turn_id, stat=True)
        newest = efr.call("conversation.diff", conversation_id=world.conversation_id)
        with pytest.raises(Refused, match="there is no turn"):
            efr.call("conversation.diff", turn_id=world.conversation_id)
        with pytest.raises(Refused, match="name one"):
            efr.call("conversation.diff")
    assert told.changes == stat.changes == one_of(world.turns[0], ev.TurnCompleted)[0].changes
    assert stat.diff is None
    assert told.diff is not None
    assert "KEY" not in told.diff
    assert ".env: ignored file, content not shown\n" in told.diff
    assert "big.bin: too large, content not shown\n" in told.diff
    assert " one\n+two\n+three\n" in told.diff
    assert "+++ b/$SCRATCH/note\n" in told.diff
    assert newest.turn_id == one_of(world.turns[2], ev.TurnCompleted)[0].turn_id
    assert (newest.changes.files, newest.diff) == ((), "")


def efr_diff(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "efr_cli.py"), "diff", *arguments],
        env=world.daemon.env,
        text=True,
        capture_output=True,
        check=True,
    )


def test_efr_diff_in_a_pipe_applies_to_the_state_before(world: World, tmp_path: Path) -> None:
    turn_id = one_of(world.turns[0], ev.TurnCompleted)[0].turn_id
    whole = efr_diff(world, f"--turn={turn_id}").stdout
    short = efr_diff(world, f"--turn={turn_id[:32]}", f"--conversation={world.conversation_id}")
    assert short.stdout == whole
    app = shutil.copytree(world.before, tmp_path / "app")
    subprocess.run(["git", "apply", "-"], cwd=app, input=whole, text=True, check=True)
    for name in ("a.txt", "new file.txt", "written.txt"):
        assert (app / name).read_text() == (world.app / name).read_text()
    assert not (app / "gone.txt").exists()

    stat = efr_diff(world, f"--turn={turn_id}", "--stat").stdout.splitlines()
    assert [line.split() for line in stat] == [
        ["new", "+1", "−0", "$SCRATCH/note"],
        ["changed", "+1", "−1", ".env"],
        ["changed", "+2", "−0", "a.txt"],
        ["changed", "binary", "big.bin"],
        ["deleted", "+0", "−1", "gone.txt"],
        ["new", "+1", "−0", "new", "file.txt"],
        ["new", "+1", "−0", "written.txt"],
        ["7", "files", "(+6", "−2)"],
    ]
    told = efr_diff(world, f"--conversation={world.conversation_id}")
    assert told.stdout == ""
    assert told.stderr.endswith("no changed file is recorded for this turn\n")
    assert json.loads(efr_diff(world, "--json", f"--turn={turn_id}").stdout)["diff"] == whole


def test_what_has_no_snapshot_is_told(world: World) -> None:
    conversation_id, *events = world.turns[3]
    assert one_of(events, ev.TurnCompleted)[0].undo == t.UndoSummary(not_covered=("~/large",))
    told = efr_diff(world, f"--conversation={conversation_id}")
    assert told.stdout == "~/large: no snapshot of this turn holds it\n"


def test_a_turn_whose_snapshots_are_collected_keeps_its_list(world: World) -> None:
    stores = world.daemon.roots.data.path / "snapshots"
    stores.rename(stores.with_name("elsewhere"))
    end = one_of(world.turns[0], ev.TurnCompleted)[0]
    with connect(world.daemon.env) as efr:
        told = efr.call("conversation.diff", turn_id=end.turn_id)
    stores.with_name("elsewhere").rename(stores)
    assert told.changes == end.changes
    assert told.diff == "the snapshots of this turn are collected, content not shown\n"


def test_a_turn_that_fails_or_is_stopped_tells_what_it_changed(world: World) -> None:
    """In a terminal, whose conversation is the one that is meant."""
    tty = "/dev/pts/999"
    with Connection.open(socket_path(world.daemon.env)) as efr:
        efr.hello(tty=tty)
        failed = turn(efr, world.app, "fail", tty=tty)
        conversation_id = failed[0]
        (end,) = one_of(failed, ev.TurnFailed)
        assert rows(end.changes) == [("failed.txt", "added", 1, 0)]

        sent = efr.call("prompt.send", text="stop", **asked(world.app, tty))
        assert sent.conversation_id == conversation_id
        waiting = efr.call("prompt.send", text="never", **asked(world.app, tty))
        with efr.again() as others:
            for item in efr.follow(conversation_id, after_seq=sent.seq):
                event = getattr(item, "event", None)
                if isinstance(event, ev.ApprovalRequested):
                    allow(others, conversation_id, event)
                if isinstance(event, ev.ToolCallOutputUpdated) and "ready" in event.tail:
                    named = {"conversation_id": conversation_id, "withdraw": (waiting.turn_id,)}
                    others.call("turn.interrupt", **named)
                if isinstance(event, ev.ToolCallCompleted):
                    assert rows(event.changes) == [("stopped.txt", "added", 1, 0)]
                if isinstance(event, ev.TurnInterrupted):
                    stopped = event
                    break
        assert rows(stopped.changes) == [("stopped.txt", "added", 1, 0)]
        newest = efr.call("conversation.diff")
        assert (newest.turn_id, newest.changes) == (sent.turn_id, stopped.changes)
        assert "+++ b/stopped.txt\n" in newest.diff
        older = efr.call("conversation.diff", turn_id=end.turn_id)
        assert (older.turn_id, older.changes) == (end.turn_id, end.changes)
        with pytest.raises(Refused, match="there is no turn"):
            efr.call(
                "conversation.diff", turn_id=end.turn_id, conversation_id=world.conversation_id
            )
        efr.call("conversation.delete", conversation_id=conversation_id)


def test_after_a_kill_and_a_delete_no_snapshot_is_left(tmp_path: Path) -> None:
    with a_world(tmp_path, SLEEPS) as world:
        kill_and_delete(world)


def kill_and_delete(world: World) -> None:
    daemon = world.daemon
    with connect(daemon.env) as efr:
        sent = efr.call("prompt.send", text="wait", **asked(world.app))
        with efr.again() as answers:
            for item in efr.follow(sent.conversation_id, after_seq=sent.seq):
                event = getattr(item, "event", None)
                if isinstance(event, ev.ApprovalRequested):
                    allow(answers, sent.conversation_id, event)
                if isinstance(event, ev.SnapshotTaken):
                    break
    daemon.kill()
    daemon.start()
    stores = daemon.roots.data.path / "snapshots"
    assert len(list(stores.glob("*.git"))) == 3, "one has no snapshot, and goes by itself"
    with connect(daemon.env) as efr:
        with pytest.raises(Refused, match="no turn of this conversation has ended"):
            efr.call("conversation.diff", conversation_id=sent.conversation_id)
        killed = efr.call("conversation.diff", turn_id=sent.turn_id)
        assert (killed.changes.files, killed.diff) == ((), "")
        for conversation_id in (sent.conversation_id, world.conversation_id):
            assert list(stores.glob(f"*.git/refs/efr/{conversation_id}"))
            efr.call("conversation.delete", conversation_id=conversation_id)
            assert not list(stores.glob(f"*.git/refs/efr/{conversation_id}"))
    assert len(list(stores.glob("*.git"))) == 1
