"""The composed daemon inside this process: what a start makes, a stop lets go of."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from efr.daemon.app import StartFailed
from efr.daemon.stopping import Started
from tests.daemon.house import House, house
from tests.daemon.test_methods import UNKNOWN, follow, kinds, send
from tests.harness.model_server import ModelServer
from tests.harness.raw_client import connected


@pytest.fixture(name="house")
def _house(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path) as made:
        yield made


def left() -> tuple[list[str], int]:
    """Threads and descriptors of this process."""
    gc.collect()  # what nobody closed is closed here, with a warning
    return sorted(one.name for one in threading.enumerate()), len(os.listdir("/proc/self/fd"))


def turn(house: House) -> None:
    """A model's answer over HTTP, a command in a hidden shell, one more answer; all followed."""
    with connected(house.roots.socket) as client:
        watch = client.request("conversation.subscribe", {"conversation_id": UNKNOWN})
        assert client.answer(watch)["error"]["code"] == "not_found"
        assert kinds(follow(client, send(client, "go"), drafts=True))[-1] == "turn_completed"
        assert client.call("admin.status")["shells"] == 1


CALL = {"name": "shell", "arguments": {"command": "pwd"}}
ANSWERS: list[Any] = [{"pieces": [{"call": CALL}]}, {"pieces": [{"text": "There."}]}]


def test_50_starts_and_stops_leave_no_thread_no_descriptor_and_no_warning(house: House) -> None:
    def once() -> None:
        started = Started()
        house.start(started)
        turn(house)
        assert house.stop(started)
        assert set(os.listdir(house.roots.runtime.path)) <= {"zsh", "scopes"}

    with ModelServer(ANSWERS * 51) as server, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        house.roots.config_file.write_text(
            f'[model]\nprovider = "compatible"\n[compatible]\nbase_url = "{server.base_url}"\n'
        )
        once()  # what is loaded or cached once stays
        before = left()
        for _ in range(50):
            once()
        assert left() == before
    assert [str(one.message) for one in warned] == []


def test_every_thread_has_a_name_of_its_own(house: House) -> None:
    before = set(threading.enumerate())
    started = Started()
    house.start(started)
    names = {thread.name for thread in set(threading.enumerate()) - before}
    assert house.stop(started)
    assert names == {
        "store-writer",
        *(f"store-reader-{n}" for n in range(1, 5)),
        *(f"search-lane-{n}" for n in range(1, 4)),
        "search-indexer",
        "recording-collector",
        "recording-flusher",
        "socket-server",
        *(f"handler-{n}" for n in range(1, 9)),
        "pty-reader",
        "timer",
        "catalog-fetch",
        "list-watch",
        "snapshot-collector",
        "config-watcher",
    }


def test_a_start_that_fails_at_the_socket_lets_go_of_everything(house: House) -> None:
    before = left()
    house.roots.socket.write_text("mine")
    started = Started()
    with pytest.raises(StartFailed, match="is not a socket"):
        house.start(started)
    assert house.stop(started)
    assert left() == before
    assert os.listdir(house.roots.runtime.path) == ["daemon.sock"]
