"""Name lookups that may hang."""

from __future__ import annotations

import queue
import socket
import threading
from typing import Any

import pytest

from efr.base.cancel import Cancel, Cancelled
from efr.base.clock import SystemClock
from efr.providers.errors import TransportFailed
from efr.providers.http import HttpCall, HttpClient
from efr.threads.lookups import LOOKUPS, Lookups

LIMIT_S = 20.0


class NameServer:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked: queue.Queue[str] = queue.Queue()

    def __call__(self, host: str, port: int) -> list[Any]:
        self.asked.put(threading.current_thread().name)
        assert self.go.wait(LIMIT_S)
        if host == "nobody":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [host, port]


def deadline() -> float:
    return SystemClock().monotonic() + LIMIT_S


class Waiting:
    """A caller on a thread of its own."""

    def __init__(self, lookups: Lookups, host: str, cancel: Cancel) -> None:
        self._found: queue.Queue[Any] = queue.Queue()
        self._thread = threading.Thread(target=self._run, args=(lookups, host, cancel))
        self._thread.start()

    def _run(self, lookups: Lookups, host: str, cancel: Cancel) -> None:
        try:
            self._found.put(lookups.find(host, 1, cancel, LIMIT_S))
        except Exception as exc:
            self._found.put(exc)

    def result(self) -> Any:
        found = self._found.get(timeout=LIMIT_S)
        self._thread.join(LIMIT_S)
        return found


def test_a_lookup_gives_addresses_or_the_systems_words() -> None:
    lookups = Lookups(SystemClock())
    assert lookups.find("127.0.0.1", 80, Cancel(), LIMIT_S) == socket.getaddrinfo(
        "127.0.0.1", 80, type=socket.SOCK_STREAM
    )
    with pytest.raises(UnicodeError):
        lookups.find("a..b", 80, Cancel(), LIMIT_S)
    assert lookups.stop(deadline()) == []


def test_a_cancel_or_the_limit_ends_the_wait_and_the_next_joins_the_same_lookup() -> None:
    server = NameServer()
    lookups, cancel = Lookups(SystemClock(), server), Cancel()
    first = Waiting(lookups, "api.example", cancel)
    assert server.asked.get(timeout=LIMIT_S) == "lookup-1"
    cancel.cancel()
    assert isinstance(first.result(), Cancelled)
    with pytest.raises(TimeoutError, match="name server"):
        lookups.find("api.example", 1, Cancel(), 0.01)
    second = Waiting(lookups, "api.example", Cancel())
    server.go.set()
    assert second.result() == ["api.example", 1]
    assert server.asked.empty(), "one thread for all of them"
    with pytest.raises(socket.gaierror, match="Name or service not known"):
        lookups.find("nobody", 1, Cancel(), LIMIT_S)
    assert lookups.stop(deadline()) == []


def test_lookups_are_bounded_and_a_stop_names_those_that_hang() -> None:
    server = NameServer()
    lookups = Lookups(SystemClock(), server)
    waiting = [Waiting(lookups, f"h{number}", Cancel()) for number in range(LOOKUPS)]
    names = {server.asked.get(timeout=LIMIT_S) for _ in waiting}
    assert names == {f"lookup-{number}" for number in range(1, LOOKUPS + 1)}
    with pytest.raises(TimeoutError, match="too many"):
        lookups.find("one-more", 1, Cancel(), LIMIT_S)
    assert set(lookups.stop(0.0)) == names
    for found in waiting:
        assert isinstance(found.result(), TimeoutError)
    server.go.set()
    assert lookups.stop(deadline()) == []


def test_a_call_to_a_name_that_nobody_knows_is_cut_at_once() -> None:
    server = NameServer()
    lookups, cancel = Lookups(SystemClock(), server), Cancel()
    client = HttpClient(SystemClock(), resolve=lookups.find)
    ended: queue.Queue[BaseException] = queue.Queue()

    def run(host: str) -> None:
        try:
            client.send(HttpCall("POST", f"http://{host}/", {}), cancel)
        except (Cancelled, TransportFailed) as exc:
            ended.put(exc)

    caller = threading.Thread(target=run, args=("api.example",))
    caller.start()
    server.asked.get(timeout=LIMIT_S)
    cancel.cancel()
    assert isinstance(ended.get(timeout=LIMIT_S), Cancelled)
    caller.join()
    server.go.set()
    cancel = Cancel()
    run("nobody")
    failure = ended.get(timeout=LIMIT_S)
    assert isinstance(failure, TransportFailed)
    assert (failure.sent, failure.cause) == (
        False,
        "no address of nobody: Name or service not known",
    )
    assert lookups.stop(deadline()) == []
    client.close()
