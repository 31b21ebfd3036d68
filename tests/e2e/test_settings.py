"""The agent and efr's settings, with a real daemon: one way in, and it asks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from efr.client import connect
from efr.wire import events as ev
from efr.wire import types as t
from tests.harness.daemon import ROOT, Daemon
from tests.harness.model_server import ModelServer

FILE = """\
# mine
[model]
provider = "compatible"
name = "fake-model"  # the one

[compatible]
base_url = "{url}"
"""


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(name="daemon", scope="module")
def _daemon(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """With its file behind a link."""
    daemon = Daemon(tmp_path_factory.mktemp("daemon"))
    real = daemon.home / "dotfiles" / "efr.toml"
    real.parent.mkdir()
    real.write_text(FILE.format(url=server.base_url))
    daemon.roots.config_file.unlink()
    daemon.roots.config_file.symlink_to(real)
    with daemon:
        yield daemon


def turn(
    daemon: Daemon,
    server: ModelServer,
    tool: str,
    arguments: dict[str, Any],
    answer: t.ApprovalDecision = t.ApprovalDecision.ALLOW,
) -> list[Any]:
    """The events of a turn in which the model makes one call; its questions are answered."""
    call = {"call": {"name": tool, "arguments": arguments}}
    server.play([{"pieces": [call]}, {"pieces": [{"text": "done"}]}])
    events: list[Any] = []
    with connect(daemon.env) as efr, connect(daemon.env) as second:
        sent = efr.call("prompt.send", text="go")
        for item in efr.follow(sent.conversation_id, after_seq=sent.seq):
            events.append(getattr(item, "event", None))
            if isinstance(events[-1], ev.ApprovalRequested):
                second.call(
                    "approval.respond",
                    conversation_id=sent.conversation_id,
                    call_id=events[-1].call_id,
                    decision=answer,
                )
            if isinstance(events[-1], ev.TurnCompleted | ev.TurnFailed):
                assert isinstance(events[-1], ev.TurnCompleted), events[-1]
                return events
    raise AssertionError


def only(kind: type[Any], events: list[Any]) -> Any:
    (found,) = (event for event in events if isinstance(event, kind))
    return found


def test_a_change_is_shown_asked_for_written_and_applied(
    daemon: Daemon, server: ModelServer
) -> None:
    real = daemon.roots.config_file.resolve()
    before = real.read_text()
    change = {"operation": "set", "key": "shell.idle_minutes", "value": 7}
    events = turn(daemon, server, "settings", change, t.ApprovalDecision.DENY)
    asked = only(ev.ApprovalRequested, events)
    assert asked.local_only
    assert asked.summary == "settings: settings: set shell.idle_minutes = 7"
    assert "+[shell]\n+idle_minutes = 7\n" in (asked.diff_preview or "")
    assert real.read_text() == before

    events = turn(daemon, server, "settings", change)
    done = only(ev.ToolCallCompleted, events)
    assert not done.is_error
    assert "It applies with: at once." in done.output
    assert real.read_text() == before + "\n[shell]\nidle_minutes = 7\n"
    assert daemon.roots.config_file.is_symlink()

    events = turn(daemon, server, "settings", {"operation": "read"})
    assert not [event for event in events if isinstance(event, ev.ApprovalRequested)]
    assert "shell.idle_minutes = 7; file; at once" in only(ev.ToolCallCompleted, events).output


def test_after_a_rule_the_same_call_never_asks_again(daemon: Daemon, server: ModelServer) -> None:
    line = {"command": "make --version"}
    resource = {"command": {"program": "make", "args": ["--version"]}}
    rule = {"action": "execute", "resource": resource, "effect": "allow"}
    asked = turn(daemon, server, "shell", line, t.ApprovalDecision.DENY)
    assert only(ev.ApprovalRequested, asked).summary == "shell: command make --version"
    added = turn(daemon, server, "settings", {"operation": "add_rule", "rule": rule})
    assert only(ev.ApprovalRequested, added).summary.endswith("; loosens permissions")
    for _ in range(2):
        ran = turn(daemon, server, "shell", line)
        assert not [event for event in ran if isinstance(event, ev.ApprovalRequested)]
        assert only(ev.ToolCallCompleted, ran).refusal is None
    other = turn(daemon, server, "shell", {"command": "make all"}, t.ApprovalDecision.DENY)
    assert only(ev.ApprovalRequested, other).summary == "shell: command make all"
    daemon.stop()
    daemon.start()
    ran = turn(daemon, server, "shell", line)
    assert not [event for event in ran if isinstance(event, ev.ApprovalRequested)]


def test_no_other_tool_writes_it_and_nobody_is_asked(daemon: Daemon, server: ModelServer) -> None:
    real = daemon.roots.config_file.resolve()
    before = real.read_text()
    for path in (real, daemon.roots.config_file, daemon.roots.config.path / "new.toml"):
        for tool, arguments in (
            ("write_file", {"path": str(path), "content": "x"}),
            ("shell", {"command": f"echo x > '{path}'"}),
            ("edit", {"path": str(path), "old_string": "mine", "new_string": "yours"}),
        ):
            events = turn(daemon, server, tool, arguments)
            done = only(ev.ToolCallCompleted, events)
            assert done.is_error
            assert "efr's settings" in (done.refusal or ""), (tool, path)
            assert not [event for event in events if isinstance(event, ev.ApprovalRequested)]
    assert real.read_text() == before


def test_the_agents_shell_changes_nothing_by_efr_config_even_after_a_yes(
    daemon: Daemon, server: ModelServer
) -> None:
    """Not without the shell's mark, and not where it finds no daemon to ask."""
    before = daemon.roots.config_file.read_text()
    for runtime in (daemon.env["EFR_RUNTIME_DIR"], "/nowhere"):
        given = {
            **{name: daemon.env[name] for name in ("EFR_HOME", "HOME")},
            "EFR_RUNTIME_DIR": runtime,
        }
        words = " ".join(f"{name}={value}" for name, value in given.items())
        efr = f"env -u EFR_HIDDEN_SHELL {words} {sys.executable} {ROOT}/efr_cli.py"
        events = turn(daemon, server, "shell", {"command": f"{efr} config set shell.login false"})
        done = only(ev.ToolCallCompleted, events)
        assert done.exit_code == 1
        assert "from your own shell" in done.output
        assert daemon.roots.config_file.read_text() == before
    assert Path(daemon.roots.config_file).is_symlink()
