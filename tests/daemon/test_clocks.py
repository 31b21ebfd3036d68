"""Clocks that jump under a running daemon: set by hand, or after a suspend."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from efr.providers.retry import ATTEMPTS
from tests.daemon.house import House, house
from tests.daemon.test_methods import command, follow, kinds, send
from tests.harness.held_server import LIMIT_S, HeldServer
from tests.harness.raw_client import RawClient, connected

HOUR_S = 3600.0
TTY, OTHER_TTY = "/dev/pts/77", "/dev/pts/78"


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path) as made:
        yield made


def context(home: House, tty: str = TTY) -> dict[str, Any]:
    return {"pwd": home.env["HOME"], "tty": tty, "shell_pid": os.getpid()}


def held_turn(client: RawClient, **params: Any) -> tuple[Any, int]:
    """A turn that streams, and the subscription that shows it."""
    sent = send(client, "count to 100000", **params)
    request = client.request(
        "conversation.subscribe",
        {"conversation_id": sent["conversation_id"], "after_seq": sent["seq"], "drafts": True},
    )
    while client.read().get("item", {}).get("kind") != "draft":
        continue
    return sent, request


def interrupt(client: RawClient, sent: Any, subscription: int) -> list[Any]:
    """Ends the turn; the events since."""
    params = {"command_id": command(), "conversation_id": sent["conversation_id"]}
    client.request("turn.interrupt", params)
    events: list[Any] = []
    while not events or events[-1]["event"]["kind"] != "turn_interrupted":
        frame = client.read()
        if frame.get("id") == subscription and frame["item"]["kind"] == "event":
            events.append(frame["item"])
    client.send({"cancel": subscription})
    return events


@pytest.mark.parametrize("hours", [-2, 13])
def test_a_wall_clock_that_is_set_touches_no_running_turn_and_no_order(
    home: House, hours: int
) -> None:
    with home.running(), connected(home.roots.socket) as client:
        first = send(client, "say one")
        follow(client, first)
        sent, subscription = held_turn(client)
        home.clock.wall_s += hours * HOUR_S
        events = interrupt(client, sent, subscription)
        last = send(client, "say last")
        seqs = [first["seq"], sent["seq"], *(one["seq"] for one in events), last["seq"]]
        assert seqs == sorted(seqs)
        follow(client, last)
        listed = client.call("conversations.list")["conversations"]
        assert [one["id"] for one in listed] == [
            one["conversation_id"] for one in (last, sent, first)
        ]


def test_a_wall_clock_set_ahead_starts_a_new_conversation_at_the_terminal(home: House) -> None:
    with home.running(), connected(home.roots.socket, "shell", tty=TTY) as client:
        first = send(client, "say one", context=context(home))
        follow(client, first)
        home.clock.wall_s -= 2 * HOUR_S
        same = send(client, "say two", context=context(home))
        assert same["conversation_id"] == first["conversation_id"], "idle is never negative"
        follow(client, same)
        home.clock.wall_s += 15 * HOUR_S
        new = send(client, "say three", context=context(home))
        assert new["conversation_id"] != first["conversation_id"]
        follow(client, new)


def finished_turn(home: House, conversation_id: str | None = None, tty: str = TTY) -> str:
    """A turn of that terminal, followed from elsewhere; the conversation."""
    where = {"conversation_id": conversation_id} if conversation_id else {}
    with connected(home.roots.socket) as other, connected(home.roots.socket) as asker:
        sent = send(asker, "say one", context=context(home, tty), **where)
        follow(other, sent)
    return str(sent["conversation_id"])


def wait_for(notice: Path) -> None:
    while not notice.exists():
        continue
    notice.unlink()


def leased(home: House, shell: RawClient) -> tuple[str, Path]:
    """A conversation that the terminal shows by a lease, and where it would be told of it."""
    shown = finished_turn(home)
    notice = home.roots.notices / "pts-77"
    wait_for(notice)  # nobody showed it
    shell.call("lease.report", {"visible": True, "conversations": [shown]})
    return shown, notice


@pytest.mark.parametrize("hours", [-2, 3])
def test_a_wall_clock_that_is_set_leaves_a_lease_alone(home: House, hours: int) -> None:
    with home.running(), connected(home.roots.socket, "shell", tty=TTY) as shell:
        shown, notice = leased(home, shell)
        home.clock.wall_s += hours * HOUR_S
        finished_turn(home, shown)
        finished_turn(home, tty=OTHER_TTY)
        wait_for(home.roots.notices / "pts-78")  # told after the one before it was decided
        assert not notice.exists()


def test_after_a_suspend_the_leases_of_before_are_over(home: House) -> None:
    with home.running(), connected(home.roots.socket, "shell", tty=TTY) as shell:
        shown, notice = leased(home, shell)
        home.suspend(3 * HOUR_S)
        finished_turn(home, shown)
        wait_for(notice)


def test_after_a_suspend_an_answer_that_was_cut_ends_its_turn_once(home: House) -> None:
    """The model's server dropped the connection meanwhile; what follows is one clean failure."""
    with HeldServer() as server:
        home.roots.config_file.write_text(
            '[model]\nprovider = "compatible"\nname = "m"\n'
            f'[compatible]\nbase_url = "{server.base_url}"\nmodels = ["m"]\n'
        )
        with home.running(), connected(home.roots.socket) as client:
            sent = send(client, "go")
            asked = [server.arrived.get(timeout=LIMIT_S) for _ in range(2)]
            assert sorted(asked) == ["/v1/chat/completions", "/v1/models"]
            home.suspend(3 * HOUR_S)
            server.cut()
            assert kinds(follow(client, sent))[-1] == "turn_failed"
            asked = server.so_far()
            assert "/v1/chat/completions" not in asked, "it may have been acted on"
            assert len(asked) < ATTEMPTS, "the list is asked for again, but with patience"
            assert kinds(follow(client, send(client, "again")))[-1] == "turn_failed"
