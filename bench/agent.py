"""What efr itself costs around a model: before its first byte, between two calls, in memory, in the
log, and until an interrupt is done.

The model is a server process that answers at once and notes when each request came.
"""

from __future__ import annotations

import contextlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.table import Row, median
from efr.client import Connection, connect
from efr.wire import events as ev
from efr.wire import methods as m
from tests.harness.daemon import ROOT, Daemon
from tests.harness.model_server import ModelServer

RUNS = 15
CALLS = 40  # of a tool, in one turn
TURNS = 300  # of the conversation whose memory is measured
ANSWER = 200_000  # characters of the answer whose log is measured
KEPT_RUNNING = "while :; do printf '%s' xxxxxxxxxxxxxxxx; done"
DEAF = "sh -c 'trap : INT; echo here; while :; do sleep 0.1; done'"
ENDS = (ev.TurnCompleted, ev.TurnFailed, ev.TurnInterrupted)

Json = Any


def rows() -> Iterator[Row]:
    """Rows as they are measured."""
    with tempfile.TemporaryDirectory(prefix="efr-bench-") as folder, ModelServer() as server:
        settings = (
            f'[model]\nprovider = "compatible"\n[compatible]\nbase_url = "{server.base_url}"\n'
            "[[compatible.models]]\nid = 'fake-model'\ncontext_window = 1000000\n"
        )
        with Daemon(Path(folder), settings=settings) as daemon:
            yield from before_the_model(daemon, server)
            with connect(daemon.env) as efr:
                yield from between_calls(efr, server, daemon.home)
                yield from interrupts(efr, server)
                yield log_bytes(efr, server, daemon)
                yield memory(efr, server, daemon.pid)


def before_the_model(daemon: Daemon, server: ModelServer) -> Iterator[Row]:
    """From the start of the command, and from the frame, to the model's request."""
    bare = median(lambda: timed([sys.executable, "-c", "pass"]), RUNS)
    yard = f"of a bare python -c pass, {bare * 1000:.1f} ms"
    server.play([{"pieces": [{"text": "Yes."}]}], repeat=True)
    command = [sys.executable, str(ROOT / "efr_cli.py"), "new", "--", "are you there"]
    begun = []
    for _ in range(RUNS):
        begun.append(time.monotonic())
        subprocess.run(command, env=daemon.env, capture_output=True, check=True)
    took = middle(begun, server)
    yield Row("Enter to the request of the model", ms(took), yard, took / bare)
    server.play([{"pieces": [{"text": "Yes."}]}], repeat=True)
    begun = []
    with connect(daemon.env) as efr:
        for _ in range(RUNS):
            begun.append(time.monotonic())
            say(efr, "are you there")
    took = middle(begun, server)
    yield Row("  of it: prompt.send to the request", ms(took), yard, took / bare)


def middle(begun: list[float], server: ModelServer) -> float:
    """The median of the seconds from each beginning to its request."""
    return statistics.median(
        at - begin for begin, at in zip(begun, request_times(server), strict=True)
    )


def request_times(server: ModelServer) -> list[float]:
    """When each model call came, on the machine's monotonic clock."""
    return [request["at"] for request in server.requests() if request["method"] == "POST"]


def between_calls(efr: Connection, server: ModelServer, home: Path) -> Iterator[Row]:
    """From one request to the next, with one call of a tool between them."""
    (home / "notes.txt").write_text("one line\n")
    spawn = median(lambda: timed(["sh", "-c", "true"]), RUNS)
    for tool, arguments in (
        ("read_file", {"path": str(home / "notes.txt")}),
        ("shell", {"command": "echo x"}),
    ):
        call = {"pieces": [{"call": {"name": tool, "arguments": arguments}}]}
        server.play([call] * CALLS + [{"pieces": [{"text": "Done."}]}])
        say(efr, "go")
        steps = [after - before for before, after in pairwise(request_times(server)[1:])]
        took = statistics.median(steps)
        yield Row(
            f"one call of {tool} and the next request",
            ms(took),
            f"of sh -c true, {spawn * 1000:.1f} ms",
            took / spawn,
        )


def interrupts(efr: Connection, server: ModelServer) -> Iterator[Row]:
    """From the frame of an interrupt to `turn_interrupted`."""
    trip = median(lambda: once(lambda: efr.call("admin.status")), RUNS)
    slow = [piece for _ in range(400) for piece in ({"text": "word "}, {"wait": 0.02})]
    shell = {"name": "shell", "arguments": {"command": KEPT_RUNNING}}
    deaf = {"name": "shell", "arguments": {"command": DEAF}}
    asks = {"name": "shell", "arguments": {"command": "touch made"}}
    for name, answer, answers_question in (
        ("while the model streams", {"pieces": slow}, False),
        ("while it thinks silently", {"pieces": [{"hang": True}]}, False),
        ("while a command floods", {"pieces": [{"call": shell}]}, True),
        ("while a command ignores SIGINT", {"pieces": [{"call": deaf}]}, True),
        ("while a question waits", {"pieces": [{"call": asks}]}, False),
    ):
        server.play([answer], repeat=True)
        took = statistics.median(interrupted(efr, name, answers_question) for _ in range(5))
        yield Row(
            f"interrupt {name}",
            ms(took),
            f"of a bare round trip, {trip * 1000:.2f} ms",
            took / trip,
        )


def interrupted(efr: Connection, name: str, answers_question: bool) -> float:
    """Seconds from the interrupt to the event, sent when the turn is amid what the name says."""
    sent = efr.call("prompt.send", text="go", new_conversation=True)
    wanted: type = {
        "while the model streams": ev.AssistantMessageUpdated,
        "while it thinks silently": ev.TurnStarted,
        "while a command floods": ev.ToolCallOutputUpdated,
        "while a command ignores SIGINT": ev.ToolCallOutputUpdated,
        "while a question waits": ev.ApprovalRequested,
    }[name]
    begin = 0.0
    for event in events(efr, sent):
        if answers_question and isinstance(event, ev.ApprovalRequested):
            efr.call(
                "approval.respond",
                conversation_id=sent.conversation_id,
                call_id=event.call_id,
                decision="allow",
            )
        if begin == 0.0 and isinstance(event, wanted):
            begin = time.monotonic()
            efr.call("turn.interrupt", conversation_id=sent.conversation_id)
        if isinstance(event, ENDS):
            break
    return time.monotonic() - begin


def log_bytes(efr: Connection, server: ModelServer, daemon: Daemon) -> Row:
    """What the log holds of one long answer that streams in small pieces."""
    words = [f"word{number:05} " for number in range(ANSWER // 10)]
    server.play([{"pieces": [{"text": words}]}])
    sent = say(efr, "talk")
    with contextlib.closing(sqlite3.connect(daemon.roots.database)) as conn:
        (held,) = conn.execute(
            "SELECT sum(length(payload)) FROM events WHERE conversation_id = ?"
            " AND kind LIKE 'assistant_message_%'",
            (sent.conversation_id,),
        ).fetchone()
    return Row(
        "log of a streamed answer", f"{held / 1024:.0f} KiB", "of its text (asked 3)", held / ANSWER
    )


def memory(efr: Connection, server: ModelServer, pid: int) -> Row:
    """What a conversation that stays alive adds to the daemon, for 1,000 turns."""
    server.play([{"pieces": [{"text": "An answer of some words, as most are."}]}], repeat=True)
    first = say(efr, "hello")
    before = resident(pid)
    for _ in range(TURNS):
        say(efr, "and one more", conversation_id=first.conversation_id)
    grown = (resident(pid) - before) * 1000 / TURNS
    return Row(
        f"memory for 1,000 turns of a live conversation (from {TURNS})",
        f"{grown / 2**20:.1f} MiB",
        "of the whole daemon before",
        grown / before,
    )


def say(efr: Connection, text: str, **members: Json) -> m.PromptSendResult:
    """One prompt to the end of its turn."""
    where = members or {"new_conversation": True}
    sent: m.PromptSendResult = efr.call("prompt.send", text=text, **where)
    for event in events(efr, sent):
        if isinstance(event, ENDS):
            return sent
        assert not isinstance(event, ev.ApprovalRequested), event.summary
    raise AssertionError("the stream ended before the turn")


def events(efr: Connection, sent: m.PromptSendResult) -> Iterator[ev.Event]:
    for item in efr.follow(sent.conversation_id, after_seq=sent.seq):
        event = getattr(item, "event", None)
        if event is not None and ev.turn_of(event) in (None, sent.turn_id):
            yield event


def resident(pid: int) -> int:
    """Bytes of memory that a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096


def timed(command: list[str]) -> float:
    return once(lambda: subprocess.run(command, check=True))


def once(work: Any) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
