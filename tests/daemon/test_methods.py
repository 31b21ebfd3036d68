"""Every method over the real socket, with the offline demo as the model."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from efr.daemon.methods.table import SERVED
from efr.wire.table import METHODS
from tests.harness.daemon import DEMO, ROOT, Daemon
from tests.harness.raw_client import Frame, RawClient

FIXTURES = ROOT / "fixtures" / "v1"
UNKNOWN = "00000000-0000-7000-8000-0000000000ff"
ENDS = {"turn_completed", "turn_failed", "turn_interrupted", "turn_cancelled"}


@pytest.fixture(name="daemon", scope="module")
def _daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture(name="client")
def _client(daemon: Daemon) -> Iterator[RawClient]:
    with daemon.client() as client:
        yield client


def command() -> str:
    raw = os.urandom(16).hex()
    return f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"


def send(client: RawClient, text: str, **params: Any) -> Any:
    return client.call("prompt.send", {"command_id": command(), "text": text, **params})


def follow(client: RawClient, sent: Any, **params: Any) -> list[Frame]:
    """The items of a subscription after the prompt, to the end of its turn."""
    request = client.request(
        "conversation.subscribe",
        {"conversation_id": sent["conversation_id"], "after_seq": sent["seq"], **params},
    )
    items: list[Frame] = []
    while True:
        frame = client.read()
        if frame.get("id") != request:
            continue
        assert "item" in frame, frame
        items.append(frame["item"])
        event = frame["item"].get("event", {})
        if event.get("kind") in ENDS and event.get("turn_id") == sent["turn_id"]:
            client.send({"cancel": request})
            return items


def kinds(items: list[Frame]) -> list[str]:
    return [item["event"]["kind"] for item in items if item["kind"] == "event"]


# The door.


def test_a_hello_announces_what_is_built(daemon: Daemon) -> None:
    with RawClient(daemon.socket) as client:
        hello = client.hello("shell", tty="/dev/pts/9", client="test 1")
    assert hello["protocol"] == 1
    assert hello["capabilities"] == {
        "admin": True,
        "drafts_coalesced": True,
        "snapshot_live": True,
        "approval_local_only": True,
        "conversations_watch": True,
        "search": True,
        "screen_snapshots": True,
    }
    assert hello["paths"] == {
        "scratch_root": str(daemon.roots.scratch),
        "data_dir": str(daemon.roots.data.path),
    }
    assert len(hello["challenge"]) == 43
    assert hello["daemon_id"] == daemon.roots.daemon_id_file.read_text().strip()


def test_every_challenge_is_fresh(daemon: Daemon) -> None:
    challenges = set()
    for _ in range(3):
        with RawClient(daemon.socket) as client:
            challenges.add(client.hello()["challenge"])
    assert len(challenges) == 3


def test_a_made_up_method_is_no_frame(client: RawClient) -> None:
    assert client.refusal("conversation.rename", {"x": 1})["code"] == "invalid"
    assert client.call("models.list")


def first_answer(client: RawClient, name: str, params: Any) -> Frame:
    """The first frame of a request; a stream is cancelled."""
    request = client.request(name, params)
    first = client.read()
    assert first["id"] == request
    if "item" in first:
        client.send({"cancel": request})
        while "item" in client.read():
            pass
    return first


def sample_params(name: str) -> Any:
    """The params that the frozen fixture of a method shows."""
    path = FIXTURES / f"{name.replace('.', '_')}_params.json"
    return json.loads(path.read_text())["params"]


def is_not_built(error: Any) -> bool:
    return bool(error.get("data", {}).get("reason") == "not_built")


def test_what_a_hello_announces_is_answered_and_nothing_else_is(daemon: Daemon) -> None:
    with RawClient(daemon.socket) as client:
        announced = client.hello()["capabilities"]
        for name, method in METHODS.items():
            key = method.capability
            if key is None or key == "admin":  # that one tells who may call, not what is built
                continue
            error = first_answer(client, name, sample_params(name)).get("error", {})
            if key in announced:
                assert error.get("code") in (None, "not_found"), name
            else:
                assert error["code"] == "forbidden", name
    keys = {method.capability for method in METHODS.values()} - {None}
    built = {
        key for key in keys if all(m in SERVED for m in METHODS if METHODS[m].capability == key)
    }
    assert keys & announced.keys() == built | {"admin"}


def test_the_program_of_the_command_s_page_runs(daemon: Daemon, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "efr.md").read_text()
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=daemon.env | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("This is efr's offline demo")


def test_the_page_names_what_is_not_built() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text()
    told = page.split("This build does not serve yet: ")[1].split("\n\n")[0]
    assert set(re.findall(r"`([^`]+)`", told)) == set(METHODS) - set(SERVED) - {"hello"}


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(SERVED) - {"hello"}))
def test_a_method_that_is_not_built_says_so(client: RawClient, name: str) -> None:
    error = client.refusal(name, sample_params(name))
    if name in ("device.enroll", "device.prove"):
        assert error["code"] == "forbidden"
        return
    assert error["code"] == "invalid"
    assert error["data"] == {"method": name, "reason": "not_built"}
    assert f"does not serve {name} yet" in error["message"]
    for member, value in sample_params(name).items():
        wrong = client.refusal(name, {**sample_params(name), member: [value, {}]})
        assert wrong["code"] == "invalid"
        assert wrong["message"].startswith(f"$.{member}"), "params are looked at first"
        assert "data" not in wrong


def test_params_are_checked_before_anything_else(client: RawClient) -> None:
    assert client.refusal("conversation.diff", {"stat": "yes"})["code"] == "invalid"
    error = client.refusal("conversation.diff", {"stat": "yes"})
    assert "data" not in error


# Prompts and following.


def test_a_prompt_is_answered_and_followed(client: RawClient) -> None:
    sent = send(client, "hello", context={"pwd": "/tmp", "tty": "/dev/pts/31", "shell_pid": 1})
    assert sent["queued"] is False
    assert sent["settings"]["mode"] == "cautious"
    items = follow(client, sent, drafts=True)
    assert kinds(items)[0] == "turn_started"
    assert kinds(items)[-1] == "turn_completed"
    drafts = "".join(
        item["draft"]["delta"]
        for item in items
        if item["kind"] == "draft" and item["draft"]["kind"] == "text"
    )
    answer = next(
        item["event"]["text"]
        for item in items
        if item["kind"] == "event" and item["event"]["kind"] == "assistant_message_completed"
    )
    assert answer.startswith(drafts)
    history = client.call("conversation.history", {"conversation_id": sent["conversation_id"]})
    assert [one["event"]["kind"] for one in history["events"]][:2] == [
        "conversation_created",
        "prompt_queued",
    ]
    listed = client.call("conversations.list", {"tty": "/dev/pts/31"})["conversations"]
    assert [one["id"] for one in listed] == [sent["conversation_id"]]
    assert listed[0]["title"] == "hello"


def test_the_same_command_id_is_answered_once(client: RawClient) -> None:
    params = {"command_id": command(), "text": "hello"}
    first = client.call("prompt.send", params)
    assert client.call("prompt.send", params) == first
    conflict = client.refusal(
        "turn.interrupt",
        {"command_id": params["command_id"], "conversation_id": first["conversation_id"]},
    )
    assert conflict["code"] == "conflict"
    follow(client, first)
    page = client.call("conversation.history", {"conversation_id": first["conversation_id"]})
    queued = [one for one in page["events"] if one["event"]["kind"] == "prompt_queued"]
    assert len(queued) == 1


def test_a_running_turn_is_interrupted(client: RawClient) -> None:
    sent = send(client, "count to 100000")
    result = client.call(
        "turn.interrupt",
        {"command_id": command(), "conversation_id": sent["conversation_id"]},
    )
    assert result["turn_id"] == sent["turn_id"]
    assert kinds(follow(client, sent))[-1] == "turn_interrupted"
    late = {"command_id": command(), "conversation_id": sent["conversation_id"]}
    assert client.refusal("turn.interrupt", late)["code"] == "conflict"


def test_a_waiting_prompt_is_withdrawn(client: RawClient) -> None:
    running = send(client, "count to 100000")
    place = {"conversation_id": running["conversation_id"]}
    waiting = send(client, "then this", **place)
    assert waiting["queued"] is True
    target = {"kind": "turn", "turn_id": waiting["turn_id"]}
    params = {"command_id": command(), **place, "target": target}
    withdrawn = client.call("prompt.withdraw", params)["withdrawn"]
    assert (withdrawn["turn_id"], withdrawn["text"]) == (waiting["turn_id"], "then this")
    client.call("turn.interrupt", {"command_id": command(), **place})
    follow(client, running)


def test_what_is_unknown_is_not_found(client: RawClient) -> None:
    place = {"conversation_id": UNKNOWN}
    for method, params in {
        "conversation.history": place,
        "conversation.subscribe": place,
        "prompt.send": {**place, "command_id": command(), "text": "x"},
        "turn.interrupt": {**place, "command_id": command()},
        "turn.steer": {**place, "command_id": command(), "text": "x"},
        "approval.respond": {
            **place,
            "command_id": command(),
            "call_id": UNKNOWN,
            "decision": "allow",
        },
        "input.respond": {**place, "call_id": UNKNOWN, "text": "y", "hidden": False},
    }.items():
        assert client.refusal(method, params)["code"] == "not_found", method


def test_500_silent_connections_leave_the_others_alone(daemon: Daemon) -> None:
    with daemon.client() as client:
        silent = [RawClient(daemon.socket) for _ in range(500)]
        try:
            assert client.call("admin.status")["pid"] == daemon.pid
        finally:
            for one in silent:
                one.close()
    deadline = time.monotonic() + 20
    while True:  # the closed ones leave as soon as the daemon looks at them
        try:
            with daemon.client() as fresh:
                assert fresh.call("admin.status")["pid"] == daemon.pid
                return
        except (EOFError, ConnectionResetError, BrokenPipeError):
            assert time.monotonic() < deadline


def test_the_recent_list_has_the_scope_of_the_directory_first(
    daemon: Daemon, client: RawClient, tmp_path: Path
) -> None:
    root = tmp_path / "app"
    root.mkdir()
    file = daemon.roots.projects_file
    file.write_text(f'[[project]]\nid = "{UNKNOWN}"\nroot = "{root}"\nname = "app"\n')
    try:
        tty, other = "/dev/pts/61", "/dev/pts/62"
        shell = {"shell_pid": os.getpid()}
        inside = send(client, "hello", context={"pwd": str(root), "tty": tty, **shell})
        secret = "use --password=hunter2sekrit"
        outside = send(client, secret, context={"pwd": "/", "tty": other, **shell})
        found = client.call("conversations.recent", {"tty": tty, "pwd": str(root), "limit": 200})
    finally:
        file.unlink()
    assert found["scope"]["name"] == "app"
    assert found["current"] == inside["conversation_id"]
    first = found["conversations"][0]
    assert first["summary"]["id"] == inside["conversation_id"]
    assert (first["here"], first["project"], first["turns"]) == (True, "app", 1)
    assert "open_in" not in first
    rows = {row["summary"]["id"]: row for row in found["conversations"]}
    row = rows[outside["conversation_id"]]
    assert row["open_in"] == other
    assert "here" not in row
    assert "hunter2sekrit" not in json.dumps(found)
    times = [row["summary"]["updated_at"] for row in found["conversations"][1:]]
    assert times == sorted(times, reverse=True)
    assert len(client.call("conversations.recent", {"limit": 1})["conversations"]) == 1
    assert client.refusal("conversations.recent", {"limit": 0})["code"] == "invalid"


# The daemon itself.


def test_the_list_is_watched(daemon: Daemon, client: RawClient) -> None:
    with daemon.client() as watching:
        request = watching.request("conversations.watch", {"limit": 1})
        snapshot = watching.read()["item"]
        assert snapshot["kind"] == "snapshot"
        assert len(snapshot["conversations"]) <= 1
        sent = send(client, "say watched")
        end = follow(client, sent)[-1]["seq"]
        seen: list[Any] = []
        while not seen or seen[-1]["summary"]["last_seq"] < end:
            frame = watching.read()
            assert frame["id"] == request
            if frame["item"]["conversation"]["summary"]["id"] == sent["conversation_id"]:
                seen.append(frame["item"]["conversation"])
        assert seen[-1]["summary"]["status"] == "idle"
        assert seen[-1]["summary"]["title"] == "say watched"
        assert seen[-1]["turns"] == 1
        watching.send({"cancel": request})
        assert watching.read()["error"]["code"] == "cancelled"


def test_the_status_tells_where_everything_is(daemon: Daemon, client: RawClient) -> None:
    status = client.call("admin.status")
    assert (status["pid"], status["protocol"]) == (daemon.pid, 1)
    assert status["shells"] == 0 or isinstance(status["shells"], int)
    assert status["roots"]["data"] == {
        "path": str(daemon.roots.data.path),
        "source": "efr_home",
    }
    assert {name: root["source"] for name, root in status["roots"].items()} == {
        **{"config": "efr_home", "data": "efr_home", "state": "efr_home"},
        "runtime": "dir_variable",
    }
    assert status["config"] == {"path": str(daemon.roots.config_file), "exists": True}
    active = [one["provider"] for one in status["providers"] if one.get("active")]
    assert active == ["demo"]
    assert {one["provider"] for one in status["providers"]} == {
        "openai",
        "openai-api",
        "anthropic-api",
        "compatible",
        "demo",
    }


def test_the_models_are_the_demos(client: RawClient) -> None:
    found = client.call("models.list")
    assert [one["id"] for one in found["models"]] == ["demo"]
    assert found["models"][0]["default"] is True
    assert found["catalog"]["origin"] == "builtin"


def test_a_key_is_stored_hidden_and_removed(daemon: Daemon, client: RawClient) -> None:
    key = "sk-ant-api03-this-is-a-made-up-key-a1b2"
    params = {"provider": "anthropic-api", "key": key, "check": False}
    result = client.call("admin.login_api_key", params)
    assert result == {
        "provider": "anthropic-api",
        "key_hint": "sk-ant-...a1b2",
        "checked": False,
        "active": False,
    }
    logged_in = {
        one["provider"] for one in client.call("admin.status")["providers"] if one["logged_in"]
    }
    assert "anthropic-api" in logged_in
    gone = client.call("admin.logout", {"provider": "anthropic-api"})
    assert gone == {"provider": "anthropic-api", "logged_out": True}
    assert client.call("admin.logout", {"provider": "anthropic-api"})["logged_out"] is False
    for bad in ("", "two words", "schlüssel"):
        error = client.refusal("admin.login_api_key", {**params, "key": bad})
        assert error["code"] == "invalid"
    assert client.refusal("admin.login_api_key", {**params, "provider": "x"})["code"] == "invalid"
    assert key not in daemon.log


def test_a_reload_says_what_happened(daemon: Daemon, client: RawClient) -> None:
    try:
        daemon.write_settings(DEMO + "[shell]\nidle_minutes = -1\n")
        result = client.call("admin.config_reload")
        assert result["applied"] is False
        assert result["error"]["key"] == "shell.idle_minutes"
        assert client.call("admin.status")["config"]["reload_error"] == result["error"]
    finally:
        daemon.write_settings(DEMO)
        assert client.call("admin.config_reload") == {"applied": True}
    assert "reload_error" not in client.call("admin.status")["config"]


def test_the_projects_are_those_of_the_file(daemon: Daemon, client: RawClient) -> None:
    file = daemon.roots.projects_file
    assert client.call("projects.list") == {"file": str(file), "projects": []}
    project = {"id": UNKNOWN, "root": "/p/app", "name": "app"}
    members = "\n".join(f"{name} = {json.dumps(value)}" for name, value in project.items())
    try:
        file.write_text(f"[[project]]\n{members}\n")
        assert client.call("projects.list")["projects"] == [project]
        file.write_text("[[project]]\n")
        assert client.refusal("projects.list")["code"] == "invalid"
    finally:
        Path(file).unlink()


def test_a_lease_holds_for_a_minute(client: RawClient) -> None:
    assert client.call("lease.report", {"visible": True, "conversations": [UNKNOWN]}) == {
        "ttl_secs": 60
    }
