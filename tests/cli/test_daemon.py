"""`efr` against the real daemon with its offline demo: the whole way of a prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from efr.client import connect
from efr.wire import events as ev
from efr.wire.errors import no_method
from tests.cli.programs import efr_in_pipe, efr_on_terminal
from tests.harness.daemon import Daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon")) as running:
        yield running


def env_of(daemon: Daemon) -> dict[str, str]:
    return {name: text for name, text in daemon.env.items() if name.startswith(("EFR_", "HOME"))}


def piped(daemon: Daemon, *args: str) -> tuple[int, str, str]:
    process = efr_in_pipe(*args, env=env_of(daemon), cwd=str(daemon.home))
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def test_a_prompt_in_a_pipe_and_its_transcript(daemon: Daemon) -> None:
    code, out, err = piped(daemon, "send", "say: hello *there*")
    assert code == 0, err
    assert "hello *there*" in out
    assert err.startswith("○ no project · ~")

    _, listed, _ = piped(daemon, "history")
    row = next(line for line in listed.splitlines() if line.endswith("say: hello *there*"))
    code, told, _ = piped(daemon, "history", row.split()[0], "--verbose")
    assert code == 0
    assert told.startswith("> say: hello *there*\ncautious · demo\n")


def test_the_daemon_names_a_method_that_it_does_not_know(daemon: Daemon) -> None:
    with daemon.client() as client:
        error = client.refusal("no.such_method", {})

    assert (error["code"], error["message"]) == ("invalid", no_method("no.such_method"))


def test_json_lines_end_with_the_turn(daemon: Daemon) -> None:
    code, out, _ = piped(daemon, "send", "--json", "say: x")

    assert code == 0
    events = [json.loads(line)["event"]["kind"] for line in out.splitlines()]
    assert (events[0], events[-1]) == ("turn_started", "turn_completed")


def test_a_write_is_asked_for_on_the_terminal(daemon: Daemon, tmp_path: Path) -> None:
    args = ("send", "run: touch made")
    with efr_on_terminal(*args, env=env_of(daemon), cwd=str(tmp_path)) as terminal:
        terminal.wait_for("y allow  n deny")
        assert not (tmp_path / "made").exists()
        terminal.type("y")
        assert terminal.read_to_end(30) == 0
        assert "✓ allowed\n· $ touch made\n  ✓" in terminal.everything
    assert (tmp_path / "made").exists()


def test_ctrl_c_stops_the_command_too(daemon: Daemon, tmp_path: Path) -> None:
    with efr_on_terminal("send", "sleep 60", env=env_of(daemon), cwd=str(tmp_path)) as terminal:
        terminal.wait_for("y allow  n deny")
        terminal.type("y")
        terminal.wait_for("$ sleep 60  1s")
        terminal.type("\x03")
        assert terminal.read_to_end(30) == 130
        assert "interrupted after" in terminal.everything


def test_ctrl_c_at_a_question_interrupts_it(daemon: Daemon, tmp_path: Path) -> None:
    with efr_on_terminal("send", "run: touch x", env=env_of(daemon), cwd=str(tmp_path)) as terminal:
        terminal.wait_for("y allow  n deny")
        terminal.type("\x03")
        assert terminal.read_to_end(30) == 130
        assert "✗ interrupted\n" in terminal.everything
        assert "expired" not in terminal.everything
    with connect(env_of(daemon)) as efr:
        (newest,) = efr.call("conversations.list", limit=1).conversations
    told = piped(daemon, "history", newest.id)[1]
    assert "\n  interrupted\n" in told
    assert "expired" not in told


def test_commands_about_the_daemon(daemon: Daemon) -> None:
    assert piped(daemon, "models", "--names")[1] == "demo\n"
    code, out, err = piped(daemon, "status")
    assert code == 0
    assert "provider      demo (active): built in, offline" in out
    assert "no provider is logged in: efr login openai" in err
    assert piped(daemon, "send", "--model=nope", "x")[0] == 2
    assert piped(daemon, "send", "--steer", "x")[0] == 1


def test_a_script_follows_a_turn(daemon: Daemon) -> None:
    texts = []
    with connect(env_of(daemon)) as efr:
        sent = efr.call("prompt.send", text="say: from a script")
        for item in efr.follow(sent.conversation_id, after_seq=sent.seq):
            event = getattr(item, "event", None)
            if isinstance(event, ev.AssistantMessageCompleted):
                texts.append(event.text)
            if isinstance(event, ev.TurnCompleted) and event.turn_id == sent.turn_id:
                break

    assert any("from a script" in text for text in texts)
