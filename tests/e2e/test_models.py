"""A turn over each of the three model APIs runs a command, applies a patch and finishes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from efr.client import connect
from efr.wire import events as ev
from tests.harness.daemon import ROOT, Daemon
from tests.harness.model_server import ModelServer
from tests.providers.test_vendor_requests import misfits

KEY = "sk-test-0123456789abcdefghij"

APIS = {
    "openai-api": "[openai]\napi_base_url = '{url}'\nmodels = ['fake-model']\n",
    "anthropic-api": (
        "[anthropic]\nbase_url = '{url}'\nmodels = [{{id = 'fake-model', context_window = 100000, "
        "max_output_tokens = 1000}}]\n"
    ),
    "compatible": "[compatible]\nbase_url = '{url}'\n",
}

VENDORS = {"openai-api": "responses", "anthropic-api": "messages", "compatible": "chat"}


PATCH = "*** Begin Patch\n*** Add File: $SCRATCH/notes.txt\n+größe 🙂\n*** End Patch\n"


def changes(provider: str) -> list[dict[str, Any]]:
    """The same file by the edit tool of each provider's models."""
    if provider == "openai-api":
        return [{"name": "apply_patch", "arguments": {"input": PATCH}}]
    path = "$SCRATCH/notes.txt"
    edit = {"path": path, "old_string": "x", "new_string": "größe 🙂"}
    return [
        {"name": "write_file", "arguments": {"path": path, "content": "x\n"}},
        {"name": "edit", "arguments": edit},
    ]


def script(provider: str) -> list[dict[str, Any]]:
    call = {"name": "shell", "arguments": {"command": "echo from-the-shell"}}
    return [
        {"pieces": [{"text": "I look. "}, {"call": call}],
         "usage": {"input": 100, "output": 20}},
        {"pieces": [{"calls": changes(provider)}], "usage": {"input": 100, "output": 20}},
        {"pieces": [{"text": "It printed größe 🙂."}], "usage": {"input": 150, "output": 9}},
    ]  # fmt: skip


def log_in(daemon: Daemon, provider: str) -> None:
    """As a person does: the key on stdin of `efr login`."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "efr_cli.py"), "login", provider, "--no-check"],
        input=KEY,
        text=True,
        env=daemon.env,
        capture_output=True,
        check=True,
    )
    assert KEY not in done.stdout + done.stderr


def edit_tools(tools: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The edit tools with their required arguments, as any of the APIs was told of them."""
    described = [tool.get("function", tool) for tool in tools]
    schemas = {one["name"]: one.get("parameters") or one["input_schema"] for one in described}
    return {
        name: schema["required"]
        for name, schema in schemas.items()
        if name in ("apply_patch", "edit")
    }


@pytest.mark.parametrize("provider", APIS)
def test_a_turn_with_a_command_and_a_change(tmp_path: Path, provider: str) -> None:
    with ModelServer() as server:
        server.play(script(provider))
        settings = f'[model]\nprovider = "{provider}"\nname = "fake-model"\n' + APIS[
            provider
        ].format(url=server.base_url)
        recorded = {"EFR_RECORD_TRANSCRIPT": str(tmp_path / "calls.ndjson")}
        with Daemon(tmp_path, settings=settings, env=recorded) as daemon:
            log_in(daemon, provider)
            with connect(daemon.env) as efr:
                sent = efr.call("prompt.send", text="what does the shell print")
                events = []
                for item in efr.follow(sent.conversation_id, after_seq=sent.seq):
                    events.append(getattr(item, "event", None))
                    if isinstance(events[-1], ev.TurnCompleted | ev.TurnFailed):
                        break
            bodies, requests = server.bodies(), server.requests()
        everything = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    end = events[-1]
    assert isinstance(end, ev.TurnCompleted), end
    assert end.usage is not None
    assert (end.usage.input_tokens, end.usage.output_tokens) == (350, 49)
    call, *others, change = (e for e in events if isinstance(e, ev.ToolCallCompleted))
    assert len(others) == (0 if provider == "openai-api" else 1)
    assert call.exit_code == 0
    assert call.output.startswith("from-the-shell\n[exit code 0, cwd ")
    assert change.output.startswith("Success.")
    assert change.diff is not None
    assert change.diff.endswith("+größe 🙂\n")
    assert change.changes is not None
    assert [file.path for file in change.changes.files] == ["$SCRATCH/notes.txt"]
    assert [path.read_text() for path in tmp_path.rglob("notes.txt")] == ["größe 🙂\n"]
    texts = [e.text for e in events if isinstance(e, ev.AssistantMessageCompleted)]
    assert texts == ["I look. ", "It printed größe 🙂."]
    posted = [b for b in bodies if b]
    assert "from-the-shell" in str(posted[-1])
    assert "Success." in str(posted[-1])
    for body in posted:
        assert misfits(VENDORS[provider], body) == []
    wanted = {"apply_patch": ["input"]}
    if provider != "openai-api":
        wanted = {"edit": ["path", "old_string", "new_string"]}
    assert edit_tools(posted[0]["tools"]) == wanted
    assert any(KEY in str(request) for request in requests)
    lines = [json.loads(line) for line in (tmp_path / "calls.ndjson").read_text().splitlines()]
    asked = [line["data"]["body"] for line in lines if line["kind"] == "request"]
    assert asked == posted
    # The key is in its own file and nowhere else.
    assert everything.count(KEY.encode()) == 1
