"""Requests that wait long for a provider hold no handler, and end with their client's wish."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from efr.base.cancel import Cancel
from efr.base.clock import SystemClock
from efr.daemon.dispatch import LOCAL_SCOPES
from efr.daemon.waits import Waits
from efr.threads.catalog import CatalogFetcher
from efr.threads.errands import ERRANDS, Errands
from efr.threads.requests import LATER, Call, Peer
from efr.wire.table import METHODS
from tests.daemon.test_methods import command
from tests.harness.daemon import Daemon
from tests.harness.held_server import LIMIT_S, HeldServer
from tests.harness.raw_client import RawClient

MANY = 20  # more than there are handlers
LIST = {"data": [{"id": "claude-opus-5-5", "max_tokens": 64000}], "has_more": False}
KEY = "sk-ant-test-0123456789abcdef"


@pytest.fixture(name="server")
def _server() -> Iterator[HeldServer]:
    with HeldServer() as server:
        yield server


@pytest.fixture(name="daemon")
def _daemon(tmp_path: Path, server: HeldServer) -> Iterator[Daemon]:
    settings = f'[model]\nprovider = "anthropic-api"\n[anthropic]\nbase_url = "{server.base_url}"\n'
    with Daemon(tmp_path, settings=settings) as daemon:
        with daemon.client() as client:
            login(client, check=False)
        yield daemon


def login(client: RawClient, *, check: bool) -> int:
    params = {"provider": "anthropic-api", "key": KEY, "check": check}
    request = client.request("admin.login_api_key", params)
    if not check:
        assert "item" in client.answer(request)
    return request


def send(client: RawClient, number: int, **params: Any) -> int:
    return client.request("prompt.send", {"command_id": command(), "text": f"say {number}"})


def answers(
    client: RawClient, requests: list[int], found: dict[int, Any] | None = None
) -> dict[int, Any]:
    """The last word on each request so far, on these at least: the item, or the error's code."""
    found = {} if found is None else found
    while not found.keys() >= set(requests):
        frame = client.read()
        if "item" in frame:
            found[frame["id"]] = frame["item"]
        elif "error" in frame:
            found[frame["id"]] = frame["error"]["code"]
    return found


def numbers(client: RawClient) -> list[int]:
    """Every prompt of the log."""
    listed = client.call("conversations.list", {"limit": 200})["conversations"]
    return [int(one["title"].removeprefix("say ")) for one in listed]


def test_prompts_that_wait_for_a_list_hold_no_handler(daemon: Daemon, server: HeldServer) -> None:
    with daemon.client() as waiting, daemon.client() as other:
        requests = [send(waiting, number) for number in range(MANY)]
        server.arrived.get(timeout=LIMIT_S)
        for _ in range(3):
            assert other.call("admin.status")["pid"] == daemon.pid
        assert other.call("conversations.list")["conversations"] == []
        server.answer(LIST)
        found = answers(waiting, requests)
        assert [found[request]["queued"] for request in requests] == [False] * MANY
        assert sorted(numbers(other)) == list(range(MANY))
    fetches = [path for path in server.so_far() if "/models" in path]
    assert len(fetches) < 2, "one for all, or one more for who came as it ended"


def test_a_list_that_does_not_come_refuses_all_of_them(daemon: Daemon, server: HeldServer) -> None:
    with daemon.client() as client:
        requests = [send(client, number) for number in range(3)]
        server.arrived.get(timeout=LIMIT_S)
        server.answer({"error": {"message": "no"}}, status=401)
        assert set(answers(client, requests).values()) == {"unauthorized"}
        assert client.call("conversations.list")["conversations"] == []


def test_a_cancel_ends_the_wait(daemon: Daemon, server: HeldServer) -> None:
    with daemon.client() as client:
        one, two = send(client, 1), send(client, 2)
        server.arrived.get(timeout=LIMIT_S)
        client.send({"cancel": one})
        assert answers(client, [one]) == {one: "cancelled"}
        server.answer(LIST)
        assert answers(client, [two])[two]["queued"] is False


class HeldLists:
    """A registry whose one fetch ends when the test says so."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def on_fetch_wanted(self, wake: Callable[[], None]) -> None:
        """No login comes."""

    def when_next_fetch_s(self) -> float:
        return 3600.0

    def fetch_now(self, cancel: Cancel) -> None:
        assert self.go.wait(LIMIT_S)


def test_a_request_that_was_cancelled_while_it_waited_is_not_run() -> None:
    lists = HeldLists()
    fetcher = CatalogFetcher(lists)
    waits = Waits(Errands(SystemClock()), fetcher, lambda: "anthropic-api")
    said: queue.Queue[object] = queue.Queue()
    peer = Peer(1, 0, None, LOCAL_SCOPES)
    gone, stays = (Call(METHODS["prompt.send"], {}, peer, said.put) for _ in range(2))
    ran: list[str] = []
    for call, name in ((gone, "gone"), (stays, "stays")):
        assert waits.for_models(call, partial(ran.append, name)) is LATER
    gone.cancel.cancel()
    fetcher.start()
    lists.go.set()
    assert said.get(timeout=LIMIT_S) == b"null"
    fetcher.stop(0.0)
    assert ran == ["stays"]


def test_the_same_prompt_sent_twice_waits_twice_and_comes_once(
    daemon: Daemon, server: HeldServer
) -> None:
    params = {"command_id": command(), "text": "say 7"}
    with daemon.client() as client:
        requests = [client.request("prompt.send", params) for _ in range(2)]
        server.arrived.get(timeout=LIMIT_S)
        server.answer(LIST)
        first, second = answers(client, requests).values()
        assert first == second
        assert numbers(client) == [7]


def test_a_stop_ends_the_waits(daemon: Daemon, server: HeldServer) -> None:
    with daemon.client() as client:
        requests = [send(client, 1), login(client, check=True)]
        for _ in requests:
            server.arrived.get(timeout=LIMIT_S)
        daemon.signal(signal.SIGTERM)
        assert set(answers(client, requests).values()) == {"cancelled"}
        assert daemon.wait() == 0


def test_logins_that_are_checked_hold_no_handler(daemon: Daemon, server: HeldServer) -> None:
    with daemon.client() as waiting, daemon.client() as other:
        requests = [login(waiting, check=True) for _ in range(MANY)]
        found = {f["id"]: f["error"]["code"] for f in (waiting.read() for _ in requests[ERRANDS:])}
        assert set(found.values()) == {"busy"}
        assert other.call("admin.status")["pid"] == daemon.pid
        one, *rest = (request for request in requests if request not in found)
        waiting.send({"cancel": one})
        assert answers(waiting, [one], found)[one] == "cancelled"
        server.answer(LIST)
        assert all(answers(waiting, rest, found)[request]["checked"] for request in rest)
