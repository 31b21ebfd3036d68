"""Faults around a running efrd: what its own tests of start, stop and kill do not reach."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.soundness import assert_sound
from tests.daemon.test_methods import ENDS, command, follow, kinds, send
from tests.daemon.test_work import answer_all, history
from tests.harness.daemon import DEMO, Daemon
from tests.harness.raw_client import LIMIT_S, RawClient

AT_ONCE = 8


@pytest.fixture(name="daemon")
def _daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path)
    yield daemon
    daemon.close()


def context(folder: Path) -> dict[str, Any]:
    return {"pwd": str(folder), "tty": "/dev/pts/77", "shell_pid": os.getpid()}


def subscribe(sent: Any) -> dict[str, Any]:
    return {"conversation_id": sent["conversation_id"], "after_seq": sent["seq"]}


def test_without_a_tailnet_the_start_is_as_any(tmp_path: Path) -> None:
    with Daemon(tmp_path, settings=DEMO + "[remote]\nenabled = true\n") as daemon:
        with RawClient(daemon.socket) as client:
            hello = client.hello()
            assert "device_prove" not in hello["capabilities"]
            assert client.call("admin.status")["pid"] == daemon.pid
        assert "tailnet_endpoint" not in daemon.roots.daemon_json.read_text()


def test_one_command_id_from_many_connections_at_once_is_one_prompt(daemon: Daemon) -> None:
    daemon.start()
    for _ in range(3):
        params = {"command_id": command(), "text": "say once"}
        answers: list[Any] = []
        barrier = threading.Barrier(AT_ONCE)

        def ask(params: Any = params, barrier: Any = barrier, answers: Any = answers) -> None:
            with daemon.client() as client:
                barrier.wait(LIMIT_S)
                answers.append(client.call("prompt.send", params))

        threads = [threading.Thread(target=ask) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT_S)
        assert answers == [answers[0]] * AT_ONCE
        with daemon.client() as client:
            follow(client, answers[0])
        told = [event["kind"] for event in history(daemon, answers[0])]
        assert told.count("prompt_queued") == 1
        assert told.count("conversation_created") == 1
    assert daemon.stop() == 0
    assert_sound(daemon)


def test_a_stranger_who_reads_the_database_and_leaves_takes_nothing_away(daemon: Daemon) -> None:
    """SQLite removes the log with the last connection; a stranger is the last one when efrd holds
    no lock on the file."""
    daemon.start()
    log = Path(f"{daemon.roots.database}-wal")
    before = log.stat().st_ino
    with daemon.client() as client:
        for name in ("", "-wal", "-shm"):
            sent = send(client, f"read {daemon.roots.database}{name}")
            follow(client, sent)
            (ended,) = [e for e in history(daemon, sent) if e["kind"] == "tool_call_completed"]
            assert "only efrd itself opens" in ended["output"]
    with closing(sqlite3.connect(daemon.roots.database)) as stranger:
        assert stranger.execute("SELECT count(*) FROM events").fetchone()
    assert log.stat().st_ino == before
    with daemon.client() as client:
        sent = send(client, "say: kept")
        follow(client, sent)
    daemon.kill()
    daemon.start()
    assert history(daemon, sent)[-1]["kind"] == "turn_completed"


def test_a_second_sigterm_leaves_no_half_batch(daemon: Daemon) -> None:
    """The first stop waits for clients that never read; the second ends it amid their turns."""
    for _ in range(2):
        daemon.start()
        clients = [RawClient(daemon.socket, receive_buffer=4096) for _ in range(4)]
        for client in clients:
            client.hello()
            sent = send(client, "count to 100000")
            for _ in range(8):
                client.request("conversation.subscribe", {**subscribe(sent), "drafts": True})
        daemon.signal(signal.SIGTERM)
        daemon.wait_for("STOPPING=1")
        daemon.signal(signal.SIGTERM)
        assert daemon.wait() in (0, 1)
        for client in clients:
            client.close()
    assert_sound(daemon)
    ends = [e for e in every_event(daemon) if e in {"turn_interrupted", "turn_cancelled"}]
    assert len(ends) == 8


def every_event(daemon: Daemon) -> list[str]:
    """The kinds of the events of all conversations."""
    daemon.start()
    with daemon.client() as client:
        listed = client.call("conversations.list", {"limit": 200})["conversations"]
    found = [history(daemon, {"conversation_id": one["id"]}) for one in listed]
    return [event["kind"] for events in found for event in events]


def test_out_of_descriptors_the_running_turn_goes_on_and_accepts_recover(
    daemon: Daemon, tmp_path: Path
) -> None:
    daemon.start()
    with daemon.client() as client:
        sent = send(client, "count to 300", context=context(tmp_path))
        request = client.request("conversation.subscribe", {**subscribe(sent), "drafts": True})
        while client.read().get("item", {}).get("kind") != "draft":
            continue
        limit_descriptors(daemon, 3)
        waiting = [RawClient(daemon.socket) for _ in range(10)]
        for one in waiting:
            one.request("hello", {"protocol": 1, "origin": "cli"}, 1)
        first = waiting[0].answer(1)
        assert first["item"]["protocol"] == 1, "there was a descriptor for this one"
        events: list[str] = []
        while not events or events[-1] not in ENDS:
            frame = client.read()
            if frame.get("id") == request and frame["item"]["kind"] == "event":
                events.append(frame["item"]["event"]["kind"])
        assert events[-1] == "turn_completed"
        client.send({"cancel": request})
        params = {"command_id": command(), "text": "say x"}
        refused = client.refusal("prompt.send", params)
        assert refused["code"] == "busy", refused
        assert "descriptor" in refused["message"]
        assert daemon.log.count("cannot accept a connection now") == 1
        for one in waiting[:-1]:
            one.close()
        assert waiting[-1].answer(1)["item"]["protocol"] == 1
        waiting[-1].close()
        again = client.call("prompt.send", params)
        assert kinds(follow(client, again))[-1] == "turn_completed"
    assert daemon.stop() == 0
    assert "Traceback" not in daemon.log
    assert_sound(daemon)


def test_a_shell_without_descriptors_fails_its_call_alone(daemon: Daemon, tmp_path: Path) -> None:
    """How far the start of a shell comes depends on how many there are."""
    daemon.start()
    with daemon.client() as client:
        for spare in (1, 2, 3, 4, 6, 8, 10):
            soft, hard = limit_descriptors(daemon, spare)
            sent = send(client, "run: pwd", context=context(tmp_path))
            assert kinds(answer_all(client, sent))[-1] in {"turn_completed", "turn_failed"}, spare
            resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (soft, hard))
            where = {"conversation_id": sent["conversation_id"], "context": context(tmp_path)}
            items = answer_all(client, send(client, "run: pwd", **where))
            assert kinds(items)[-1] == "turn_completed", spare
            output = [i["event"] for i in items if i["event"]["kind"] == "tool_call_completed"]
            assert str(tmp_path) in output[-1]["output"], spare
    assert daemon.stop() == 0
    assert_sound(daemon)


def limit_descriptors(daemon: Daemon, spare: int) -> tuple[int, int]:
    """Leaves so many that are free; returns the limits of before."""
    open_now = sorted(int(name) for name in os.listdir(f"/proc/{daemon.pid}/fd"))
    free = [number for number in range(open_now[-1] + 50) if number not in open_now]
    before = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (free[spare], before[1]))
    return before


def test_without_its_runtime_root_the_clients_of_before_go_on(
    daemon: Daemon, tmp_path: Path
) -> None:
    daemon.start()
    with daemon.client() as client:
        answer_all(client, send(client, "run: pwd", context=context(tmp_path)))
        shutil.rmtree(daemon.roots.runtime.path)
        assert kinds(follow(client, send(client, "say more", context=context(tmp_path))))[-1] == (
            "turn_completed"
        )
        items = answer_all(client, send(client, "run: pwd", context=context(tmp_path)))
        assert kinds(items)[-1] == "turn_completed"
        fresh = answer_all(client, send(client, "run: pwd"))
        assert kinds(fresh)[-1] == "turn_completed", "a new shell needs a folder there"
        with pytest.raises(OSError, match="No such file"):
            RawClient(daemon.socket)
    assert daemon.stop() == 0
    assert "Traceback" not in daemon.log
    assert_sound(daemon)
