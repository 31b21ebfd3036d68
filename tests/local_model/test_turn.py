"""Prompts are answered by a real model: llama.cpp's server with a small model on this machine."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from efr.client import connect
from efr.client.connection import Connection
from efr.wire import events as ev
from efr.wire import methods as m
from tests.harness.daemon import Daemon

LOAD_LIMIT_S = 120  # reading 100 MB and warming up, on a busy machine

pytestmark = pytest.mark.local_model


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The base URL of a running llama_cpp.server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            os.environ["EFR_TEST_LOCAL_PYTHON"], "-m", "llama_cpp.server",
            "--model", os.environ["EFR_TEST_LOCAL_MODEL"], "--n_ctx", "4096",
            "--host", "127.0.0.1", "--port", str(port), "--model_alias", "smollm2",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    deadline = time.monotonic() + LOAD_LIMIT_S
    seen = b""
    while b"Uvicorn running" not in seen:
        ready, _, _ = select.select([process.stdout], [], [], deadline - time.monotonic())
        assert ready, f"the server did not start:\n{seen.decode(errors='replace')}"
        data = os.read(process.stdout.fileno(), 65536)
        assert data, f"the server ended:\n{seen.decode(errors='replace')}"
        seen += data
    drain = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
    yield f"http://127.0.0.1:{port}/v1"
    process.terminate()
    process.wait(10)
    drain.wait(10)
    process.stdout.close()


def test_the_server_is_a_real_one(server: str) -> None:
    with urllib.request.urlopen(f"{server}/models") as answer:
        assert b"smollm2" in answer.read()


QUESTIONS = ("Say hello and name a colour.", "Name a fruit of that colour.", "Say goodbye.")


@dataclass
class Turn:
    """What a client saw of one turn."""

    text: str = ""
    drafts: int = 0
    end: object = None


def ask(efr: Connection, question: str, conversation: str | None) -> tuple[str, Turn]:
    """Sends a prompt and follows its turn to the end; the conversation and what was seen."""
    more = {} if conversation is None else {"conversation_id": conversation}
    sent = efr.call("prompt.send", text=question, **more)
    turn = Turn()
    for item in efr.follow(sent.conversation_id, after_seq=sent.seq, drafts=True):
        turn.drafts += isinstance(item, m.SubscribeDraft)
        event = getattr(item, "event", None)
        if isinstance(event, ev.AssistantMessageCompleted):
            turn.text = event.text
        if isinstance(event, ev.TurnCompleted | ev.TurnFailed):
            turn.end = event
            break
    return sent.conversation_id, turn


def test_three_turns_with_tools_on_offer_run_to_their_end(server: str, tmp_path: Path) -> None:
    settings = (
        '[model]\nprovider = "compatible"\nsystem_prompt = "Answer in one short sentence."\n'
        f'max_output_tokens = 60\n[compatible]\nbase_url = "{server}"\n'
        'models = [{id = "smollm2", context_window = 4096, max_output_tokens = 60}]\n'
        "[conversation]\nupdate_interval_ms = 0\n"
    )
    recorded = tmp_path / "calls.ndjson"
    env = {"EFR_RECORD_TRANSCRIPT": str(recorded)}
    turns: list[Turn] = []
    with Daemon(tmp_path, settings=settings, env=env) as daemon, connect(daemon.env) as efr:
        conversation = None
        for question in QUESTIONS:
            conversation, turn = ask(efr, question, conversation)
            turns.append(turn)

    for turn in turns:
        assert isinstance(turn.end, ev.TurnCompleted), turn.end
        assert turn.drafts > 1
        assert turn.text.split()
    lines = [json.loads(line) for line in recorded.read_text().splitlines()]
    bodies = [line["data"]["body"] for line in lines if line["kind"] == "request"]
    assert len(bodies) == len(QUESTIONS)
    for number, body in enumerate(bodies):
        assert "shell" in [tool["function"]["name"] for tool in body["tools"]]
        said = [message["content"] for message in body["messages"] if message["role"] != "system"]
        assert said[1::2] == [turn.text for turn in turns[:number]]
        assert all(asked.endswith(q) for asked, q in zip(said[::2], QUESTIONS, strict=False))
