"""A prompt is answered by a real model: llama.cpp's server with a small model on this machine."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from efr.client import connect
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


def test_a_streamed_reply_arrives(server: str, tmp_path: Path) -> None:
    settings = (
        '[model]\nprovider = "compatible"\nsystem_prompt = "Answer in one short sentence."\n'
        f'max_output_tokens = 60\n[compatible]\nbase_url = "{server}"\n'
        'models = [{id = "smollm2", context_window = 4096, max_output_tokens = 60}]\n'
        "[conversation]\nupdate_interval_ms = 0\n"
    )
    with Daemon(tmp_path, settings=settings) as daemon, connect(daemon.env) as efr:
        sent = efr.call("prompt.send", text="Say hello and name a colour.")
        drafts, text, end = 0, "", None
        for item in efr.follow(sent.conversation_id, after_seq=sent.seq, drafts=True):
            if isinstance(item, m.SubscribeDraft):
                drafts += 1
            event = getattr(item, "event", None)
            if isinstance(event, ev.AssistantMessageCompleted):
                text = event.text
            if isinstance(event, ev.TurnCompleted | ev.TurnFailed):
                end = event
                break
    assert isinstance(end, ev.TurnCompleted), end
    assert drafts > 3
    assert len(text.split()) > 2
