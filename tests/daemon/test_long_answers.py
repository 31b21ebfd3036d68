"""Long answers, quick models and slow clients, end to end over a real daemon."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.test_methods import ENDS, command, follow, kinds, send
from tests.harness.daemon import Daemon
from tests.harness.model_server import ModelServer
from tests.harness.raw_client import RawClient

WORDS = [f"wörd {n} 🙂 " for n in range(20_000)]
ANSWER = "".join(WORDS)


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(name="daemon", scope="module")
def _daemon(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> Iterator[Daemon]:
    settings = f"{server.settings}[conversation]\ndraft_interval_ms = 0\n"
    with Daemon(tmp_path_factory.mktemp("daemon"), settings=settings) as daemon:
        yield daemon


def play(server: ModelServer, words: list[str]) -> None:
    server.play([{"pieces": [{"text": word} for word in words]}])


def memory_kib(daemon: Daemon) -> int:
    """The daemon's resident memory."""
    status = Path(f"/proc/{daemon.pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
    assert found is not None
    return int(found[1])


def draft_text(items: list[Any]) -> str:
    """The text of the drafts of message 0; fails on a gap."""
    got = b""
    for item in items:
        if item["kind"] == "draft" and item["draft"]["kind"] == "text":
            assert item["draft"]["offset"] == len(got)
            got += item["draft"]["delta"].encode()
    return got.decode()


def test_a_client_that_never_reads_neither_slows_nor_fattens_the_daemon(
    daemon: Daemon, server: ModelServer
) -> None:
    play(server, WORDS)
    with RawClient(daemon.socket, receive_buffer=4096) as stuck, daemon.client() as quick:
        stuck.hello()
        sent = send(quick, "tell me a lot")
        params = {
            "conversation_id": sent["conversation_id"],
            "after_seq": sent["seq"],
            "drafts": True,
        }
        request = stuck.request("conversation.subscribe", params)
        before = memory_kib(daemon)
        items = follow(quick, sent, drafts=True)
        assert kinds(items)[-1] == "turn_completed"
        assert ANSWER.startswith(draft_text(items))
        assert memory_kib(daemon) - before < 64 * 1024
        rest = read_slowly(stuck, request)
    # What it was sent is merged and without a gap, and it knows where to go on.
    assert ANSWER.startswith(draft_text(rest))


def read_slowly(stuck: RawClient, request: int) -> list[Any]:
    """Everything that waited for it, to the turn's end or to the overflow."""
    items: list[Any] = []
    while True:
        frame = stuck.read()
        if frame.get("id") != request:
            continue
        if "error" in frame:
            assert frame["error"]["code"] == "overflow"
            last = [item["seq"] for item in items if item["kind"] == "event"][-1:]
            assert frame["error"]["data"]["last_seq"] >= (last[0] if last else 0)
            return items
        items.append(frame["item"])
        if frame["item"].get("event", {}).get("kind") in ENDS:
            return items


def test_the_log_of_an_answer_grows_with_it_and_not_with_its_square(
    daemon: Daemon, server: ModelServer
) -> None:
    play(server, WORDS[:4000])
    with daemon.client() as client:
        sent = send(client, "tell me something")
        items = follow(client, sent)
        updates = [
            item["event"]
            for item in items
            if item["kind"] == "event" and item["event"]["kind"] == "assistant_message_updated"
        ]
        text = "".join(WORDS[:4000])
        offset = 0
        for update in updates:
            assert update["offset"] == offset
            offset += len(update["delta"].encode())
        assert offset <= len(text.encode())
        assert sum(len(update["delta"]) for update in updates) <= len(text)


def test_who_joins_a_running_answer_gets_all_of_it(daemon: Daemon, server: ModelServer) -> None:
    words = WORDS[:50]
    pieces: list[dict[str, Any]] = [{"text": word} for word in words[:25]]
    pieces += [{"wait": 0.5}, *({"text": word} for word in words[25:])]
    server.play([{"pieces": pieces}])
    with daemon.client() as first, daemon.client() as second:
        sent = send(first, "slowly")
        place = {"conversation_id": sent["conversation_id"], "drafts": True}
        watching = first.request("conversation.subscribe", {**place, "after_seq": sent["seq"]})
        while first.read().get("item", {}).get("draft", {}).get("kind") != "text":
            pass
        joined = second.request("conversation.subscribe", place)
        live, text = "", ""
        while True:
            frame = second.read()
            assert frame["id"] == joined
            item = frame["item"]
            if item["kind"] == "snapshot":
                live = item["live"]["text"]
                assert item["live"]["text_bytes"] == len(live.encode())
                text = live
            if item["kind"] == "draft" and item["draft"]["kind"] == "text":
                assert item["draft"]["offset"] == len(text.encode())
                text += item["draft"]["delta"]
            if item.get("event", {}).get("kind") == "assistant_message_completed":
                whole = item["event"]["text"]
                break
        assert live
        assert whole.startswith(text)
        assert whole == "".join(words)
        first.send({"cancel": watching})


def test_a_stop_cuts_a_model_that_never_answers(tmp_path: Path, server: ModelServer) -> None:
    server.play([{"hang": True}])
    daemon = Daemon(tmp_path, settings=server.settings).start()
    try:
        with daemon.client() as client:
            params = {"command_id": command(), "text": "anybody?"}
            sent = client.call("prompt.send", params)
            request = client.request(
                "conversation.subscribe",
                {"conversation_id": sent["conversation_id"], "after_seq": sent["seq"]},
            )
            assert client.read()["item"]["event"]["kind"] == "turn_started"
            assert daemon.stop() == 0
            last = client.read_to_end()[-1]
            assert (last["id"], last["error"]["code"]) == (request, "cancelled")
        daemon.start()
        with daemon.client() as client:
            place = {"conversation_id": sent["conversation_id"]}
            page = client.call("conversation.history", place)
            assert page["events"][-1]["event"]["kind"] == "turn_interrupted"
    finally:
        daemon.close()
