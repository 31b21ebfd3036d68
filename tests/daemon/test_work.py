"""Work in progress over kills and restarts, and peers that the model's commands started."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.test_methods import ENDS, command, follow, kinds, send
from tests.harness.daemon import Daemon
from tests.harness.raw_client import Frame, RawClient

TTY = "/dev/pts/77"


@pytest.fixture(name="daemon")
def _daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path)
    daemon.start()
    yield daemon
    daemon.close()


def place(tmp_path: Path) -> dict[str, Any]:
    return {"pwd": str(tmp_path), "tty": TTY, "shell_pid": os.getpid()}


def wait_for(client: RawClient, sent: Any, kind: str) -> Frame:
    """Follows the prompt until an event of that kind; leaves the subscription open."""
    request = client.request(
        "conversation.subscribe",
        {"conversation_id": sent["conversation_id"], "after_seq": sent["seq"], "drafts": True},
    )
    while True:
        frame = client.read()
        if frame.get("id") == request and "item" in frame:
            item: Frame = frame["item"]
            if item["kind"] == kind or item.get("event", {}).get("kind") == kind:
                return item


def answer_all(client: RawClient, sent: Any, decision: str = "allow") -> list[Frame]:
    """Follows the prompt to the end of its turn and answers every question."""
    place = {"conversation_id": sent["conversation_id"]}
    request = client.request("conversation.subscribe", {**place, "after_seq": sent["seq"]})
    items: list[Frame] = []
    while not items or items[-1]["event"]["kind"] not in ENDS:
        frame = client.read()
        if frame.get("id") != request:
            continue
        items.append(frame["item"])
        event = frame["item"]["event"]
        if event["kind"] == "approval_requested":
            params = {"command_id": command(), **place, "call_id": event["call_id"]}
            client.request("approval.respond", {**params, "decision": decision})
    client.send({"cancel": request})
    return items


def history(daemon: Daemon, sent: Any) -> list[Any]:
    with daemon.client() as client:
        params = {"conversation_id": sent["conversation_id"], "limit": 500}
        page = client.call("conversation.history", params)
    return [one["event"] for one in page["events"]]


def test_a_kill_during_an_answer_cancels_the_turn_and_keeps_its_text(daemon: Daemon) -> None:
    with daemon.client() as client:
        sent = send(client, "count to 100000")
        wait_for(client, sent, "assistant_message_updated")
        daemon.kill()
    daemon.start()
    events = history(daemon, sent)
    assert events[-1]["kind"] == "turn_cancelled"
    text = "".join(e["delta"] for e in events if e["kind"] == "assistant_message_updated")
    assert "offline demo" in text


def test_a_kill_while_a_question_waits_expires_it_first(daemon: Daemon, tmp_path: Path) -> None:
    with daemon.client() as client:
        sent = send(client, "run: sleep 1", context=place(tmp_path))
        wait_for(client, sent, "approval_requested")
        unknown = {
            "command_id": command(),
            "conversation_id": sent["conversation_id"],
            "call_id": history(daemon, sent)[-1]["call_id"],
            "decision": "some day",
        }
        assert client.refusal("approval.respond", unknown)["code"] == "invalid", "never a yes"
        daemon.kill()
    daemon.start()
    events = history(daemon, sent)
    assert [event["kind"] for event in events[-3:]] == [
        "approval_expired",
        "tool_call_completed",
        "turn_cancelled",
    ]
    assert events[-2]["is_error"] is True
    with daemon.client() as client:
        late = {
            "command_id": command(),
            "conversation_id": sent["conversation_id"],
            "call_id": events[-2]["call_id"],
            "decision": "allow",
        }
        assert client.refusal("approval.respond", late)["code"] == "not_found"


def test_prompts_that_waited_at_a_kill_are_named_at_their_terminal(
    daemon: Daemon, tmp_path: Path
) -> None:
    with daemon.client(tty=TTY) as client:
        running = send(client, "count to 100000", context=place(tmp_path))
        send(client, "first of two", context=place(tmp_path))
        second = "second with --password=hunter2sekrit"
        assert send(client, second, context=place(tmp_path))["queued"]
        daemon.kill()
    daemon.start()
    events = history(daemon, running)
    assert [e["kind"] for e in events].count("turn_cancelled") == 3
    assert [e["kind"] for e in events].count("turn_started") == 1
    lines = (daemon.roots.notices / "pts-77").read_text().splitlines()
    assert len(lines) == 2
    assert all("send it again" in line for line in lines)
    assert "first of two" in lines[0]
    assert "[***]" in lines[1]
    assert "hunter2sekrit" not in lines[1]


def test_a_command_whose_answer_was_lost_is_answered_again(daemon: Daemon) -> None:
    params = {"command_id": command(), "text": "hello"}
    with daemon.client() as client:
        first = client.call("prompt.send", params)
        follow(client, first)
        daemon.kill()
    daemon.start()
    with daemon.client() as client:
        assert client.call("prompt.send", params) == first
        assert [e["kind"] for e in history(daemon, first)].count("prompt_queued") == 1


def test_after_a_kill_the_next_call_gets_a_fresh_shell(daemon: Daemon, tmp_path: Path) -> None:
    with daemon.client() as client:
        sent = send(client, "run: pwd", context=place(tmp_path))
        shell = next(
            item["event"]
            for item in answer_all(client, sent)
            if item["event"]["kind"] == "shell_started"
        )
        daemon.kill()
    daemon.start()
    events = history(daemon, sent)
    assert {"kind": "shell_exited", "pty_id": shell["pty_id"]} in events
    with daemon.client() as client:
        again = send(client, "run: pwd", conversation_id=sent["conversation_id"])
        items = answer_all(client, again)
    fresh = [i["event"] for i in items if i["event"]["kind"] == "shell_started"]
    assert len(fresh) == 1
    assert fresh[0]["pty_id"] != shell["pty_id"]


def test_the_shells_go_with_a_stop(daemon: Daemon, tmp_path: Path) -> None:
    with daemon.client() as client:
        sent = send(client, "run: pwd", context=place(tmp_path))
        items = answer_all(client, sent)
        assert client.call("admin.status")["shells"] == 1
    pid = next(i["event"]["pid"] for i in items if i["event"]["kind"] == "shell_started")
    assert daemon.stop() == 0
    assert not Path(f"/proc/{pid}").exists()
    daemon.start()
    assert history(daemon, sent)[-1]["kind"] == "shell_exited"


# Peers that the model's commands started.

PEER = """
import json, os, socket, struct, sys
path, out, how = sys.argv[1:]
if how != "plain":
    lives, its_end = os.pipe()
    if os.fork() > 0:
        os._exit(0)
    os.setsid()
    if os.fork() > 0:
        os._exit(0)
    os.close(its_end)
    os.read(lives, 1)  # until both parents are gone
s = socket.socket(socket.AF_UNIX)
s.connect(path)
def ask(number, method, params):
    body = json.dumps({"id": number, "method": method, "params": params}).encode()
    s.sendall(struct.pack(">I", len(body)) + body)
    data = b""
    while True:
        data += s.recv(1 << 20)
        while len(data) >= 4:
            size, = struct.unpack(">I", data[:4])
            if len(data) < 4 + size:
                break
            frame, data = json.loads(data[4:4 + size]), data[4 + size:]
            if "item" in frame:
                return "ok"
            if "error" in frame:
                return frame["error"]["code"]
no = "00000000-0000-7000-8000-0000000000ff"
call = {"command_id": no, "conversation_id": no, "call_id": no, "decision": "allow"}
said = {
    "hello": ask(1, "hello", {"protocol": 1, "origin": "cli"}),
    "conversations.list": ask(2, "conversations.list", {}),
    "approval.respond": ask(3, "approval.respond", call),
    "admin.status": ask(4, "admin.status", {}),
    "conversations.search": ask(5, "conversations.search", {"query": "x"}),
}
with open(out + ".new", "w") as file:
    json.dump(said, file)
os.rename(out + ".new", out)
"""


@pytest.mark.parametrize("how", ["plain", "detached"])
def test_a_process_of_the_hidden_shell_may_only_read(
    daemon: Daemon, tmp_path: Path, how: str
) -> None:
    program, out = tmp_path / "peer.py", tmp_path / "said"
    program.write_text(PEER)
    line = f"{sys.executable} {program} {daemon.socket} {out} {how}"
    waits = f"; while [[ ! -e {out} ]] {{ sleep 0.05 }}"
    with daemon.client() as client:
        sent = send(client, f"run: {line}{waits}", context=place(tmp_path))
        items = answer_all(client, sent)
    assert kinds(items)[-1] == "turn_completed"
    assert json.loads(out.read_text()) == {
        "hello": "ok",
        "conversations.list": "ok",
        "approval.respond": "forbidden",
        "admin.status": "forbidden",
        "conversations.search": "forbidden",
    }


def test_what_outlives_its_shell_still_may_only_read(daemon: Daemon, tmp_path: Path) -> None:
    """Its hidden shell is gone: efrd itself is its parent then."""
    program, out = tmp_path / "peer.py", tmp_path / "said"
    go = tmp_path / "go"
    os.mkfifo(go)
    program.write_text(
        PEER.replace("s = socket.socket", f"open({str(go)!r}).read()\ns = socket.socket")
    )
    line = f"{sys.executable} {program} {daemon.socket} {out} detached; kill -9 $$"
    with daemon.client() as client:
        sent = send(client, f"run: {line}", context=place(tmp_path))
        answer_all(client, sent)
        go.write_text("now")
        said = send(
            client, f"run: while [[ ! -e {out} ]] {{ sleep 0.05 }}", context=place(tmp_path)
        )
        answer_all(client, said)
    assert json.loads(out.read_text())["admin.status"] == "forbidden"
    assert json.loads(out.read_text())["conversations.list"] == "ok"


def test_a_child_of_a_shell_that_outlives_efrd_does_not_hold_the_lock(
    daemon: Daemon, tmp_path: Path
) -> None:
    stays = tmp_path / "pid"
    line = f"(setsid sleep 60 & print $! > {stays}.new; mv {stays}.new {stays}) &|"
    waits = f"; while [[ ! -e {stays} ]] {{ sleep 0.05 }}"
    with daemon.client() as client:
        answer_all(client, send(client, f"run: {line}{waits}", context=place(tmp_path)))
    daemon.kill()
    pid = int(stays.read_text())
    try:
        assert Path(f"/proc/{pid}").exists()
        daemon.start()
        with daemon.client() as client:
            assert client.call("admin.status")["pid"] == daemon.pid
    finally:
        os.kill(pid, 9)


def test_a_command_that_asks_is_answered_by_a_terminal(daemon: Daemon, tmp_path: Path) -> None:
    line = "run: sh -c 'printf \"Your name: \"; read -r name; echo hello $name'"
    with daemon.client(tty=TTY) as client:
        sent = send(client, line, context=place(tmp_path))
        where = {"conversation_id": sent["conversation_id"]}
        request = client.request(
            "conversation.subscribe",
            {**where, "after_seq": sent["seq"], "answers_input": True},
        )
        output = ""
        while not output:
            frame = client.read()
            if frame.get("id") != request:
                continue
            event = frame["item"]["event"]
            if event["kind"] == "approval_requested":
                params = {"command_id": command(), **where, "call_id": event["call_id"]}
                client.request("approval.respond", {**params, "decision": "allow"})
            if event["kind"] == "tool_call_input_changed" and event["input"] == "visible":
                typed = {"call_id": event["call_id"], "text": "Ada", "hidden": False}
                client.request("input.respond", {**where, **typed})
            if event["kind"] == "tool_call_completed":
                output = event["output"]
    assert "hello Ada" in output
