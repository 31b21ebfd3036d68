"""`efr send` where stdout is no terminal: raw Markdown, or JSON lines; and its exit codes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.fake_daemon import AT, CALL, CONVERSATION, TURN, FakeDaemon, Peer, envelope
from tests.cli.programs import efr_in_pipe

MARKDOWN = "# Why\n\n- *one*\n- `two`\n\n\ttab\n"


def follow(fake: FakeDaemon, *args: str, env: dict[str, str] | None = None) -> tuple[Any, Peer]:
    process = efr_in_pipe(*args, env={**fake.env, **(env or {})})
    peer = fake.accept()
    peer.start()
    return process, peer


def test_stdout_holds_the_raw_answer_alone(fake: FakeDaemon) -> None:
    process, peer = follow(fake, "send", "why", "is it")
    peer.event("assistant_message_updated", index=0, offset=0, delta=MARKDOWN[:9])
    peer.event("assistant_message_updated", index=0, offset=5, delta=MARKDOWN[5:14])
    peer.say(MARKDOWN)
    peer.call("make")
    peer.call_done("bad", is_error=True, exit_code=2)
    peer.say("second", index=1)
    peer.complete()
    out, err = process.communicate(timeout=20)

    assert process.returncode == 0
    assert out == MARKDOWN + "\nsecond\n"
    assert err.startswith("○ no project · /\n· $ make\n  │ bad\n  ✗ exit 2\n")
    assert err.rstrip().endswith("1.2k in · 34 out")
    assert "\x1b" not in out + err


def test_the_prompt_comes_from_words_a_variable_or_a_file(fake: FakeDaemon) -> None:
    handed = fake.folder / "prompt"
    handed.write_text("from a file")
    cases: list[tuple[list[str], dict[str, str], str]] = [
        (["send", "from", "words"], {"EFR_PROMPT": "x"}, "from words"),
        (
            ["send"],
            {"EFR_PROMPT": "from a variable\nof two lines"},
            "from a variable\nof two lines",
        ),
        (["send"], {"EFR_PROMPT_FILE": str(handed)}, "from a file"),
        (["send", "--", "--mode=x"], {}, "--mode=x"),
    ]
    for args, env, text in cases:
        process = efr_in_pipe(*args, env={**fake.env, **env})
        peer = fake.accept()
        params = peer.start()
        peer.complete()
        process.communicate(timeout=20)
        assert params["text"] == text
    assert handed.exists()  # only what the plugin made goes


def test_new_starts_a_new_conversation(fake: FakeDaemon) -> None:
    process = efr_in_pipe("new", env={**fake.env, "EFR_PROMPT": "hi", "EFR_MODE": "auto"})
    peer = fake.accept()
    params = peer.start()
    peer.complete()
    process.communicate(timeout=20)

    assert params["new_conversation"] is True
    assert params["settings"] == {"mode": "auto"}


def test_the_plugins_context_makes_the_origin_shell(fake: FakeDaemon) -> None:
    context = {"pwd": "/tmp", "tty": "/dev/pts/9", "oldpwd": None, "last_command": "secret"}
    env = {
        "EFR_CONTEXT": json.dumps(context),
        "EFR_LAST_COMMAND": "make",
        "EFR_RECENT_COMMANDS": '[{"command":"ls","status":0}]',
    }
    process = efr_in_pipe("send", "hi", env={**fake.env, **env})
    peer = fake.accept()
    hello = peer.hello()
    params = peer.expect("prompt.send")
    peer.refuse("prompt.send", "invalid", "no", {"setting": "model", "value": "x"})
    process.communicate(timeout=20)

    assert (hello["origin"], hello["tty"]) == ("shell", "/dev/pts/9")
    assert params["context"] == {"pwd": "/tmp", "tty": "/dev/pts/9"}
    assert params["last_command"] == "make"
    assert params["recent_commands"] == [{"command": "ls", "status": 0}]


def test_json_lines_are_the_turns_events(fake: FakeDaemon) -> None:
    process, peer = follow(fake, "send", "--json", "hi")
    peer.event("conversation_created", turn=None, origin="cli")
    peer.event("assistant_message_completed", index=0, text="größe", newer=1)
    peer.event("made_up_kind", x=1)
    peer.complete()
    out, _ = process.communicate(timeout=20)

    assert process.returncode == 0
    events = [json.loads(line) for line in out.splitlines()]
    assert [one["event"]["kind"] for one in events] == [
        *("turn_started", "assistant_message_completed", "made_up_kind", "turn_completed"),
    ]
    assert events[1] == {
        "seq": 103,
        "conversation_id": CONVERSATION,
        "at": AT,
        "event": {
            **{"kind": "assistant_message_completed", "turn_id": TURN},
            **{"index": 0, "text": "größe", "newer": 1},
        },
    }


def test_json_names_a_failed_turn_and_a_refused_call(fake: FakeDaemon) -> None:
    process, peer = follow(fake, "send", "--json", "hi")
    peer.call("rm -rf /")
    peer.call_done("", is_error=True, refusal="system path")
    peer.complete()
    _, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "efr: a call was refused: $ rm -rf /: system path" in err

    process, peer = follow(fake, "send", "--json", "hi")
    peer.event("turn_failed", error={"code": "internal", "message": "it broke"})
    _, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "efr: the turn failed: internal: it broke" in err


def test_a_question_waits_for_another_client(fake: FakeDaemon) -> None:
    process, peer = follow(fake, "send", "hi")
    peer.call("make")
    peer.event("approval_requested", call_id=CALL, summary="shell: command make")
    peer.event("approval_resolved", call_id=CALL, decision="allow", origin="phone")
    peer.event("tool_call_input_changed", call_id=CALL, input="hidden")
    said = [process.stderr.readline() for _ in range(5)]
    peer.call_done("")
    peer.complete()
    process.communicate(timeout=20)

    assert process.returncode == 0
    assert said[1:] == [
        *("? run this command\n", "│ $ make\n", "✓ allowed on phone\n"),
        "the command waits for input, and nobody can type here\n",
    ]


@pytest.mark.parametrize(
    ("code", "data", "status", "fix"),
    [
        ("invalid", {"setting": "model", "value": "x", "choices": ["a", "b"]}, 2, "choose a, b"),
        ("unauthorized", {"provider": "anthropic-api"}, 1, "efr login anthropic-api"),
        ("busy", None, 1, ""),
    ],
)
def test_a_refused_prompt(
    fake: FakeDaemon, code: str, data: dict[str, Any] | None, status: int, fix: str
) -> None:
    process = efr_in_pipe("send", "hi", env=fake.env)
    peer = fake.accept()
    peer.hello()
    peer.expect("prompt.send")
    peer.refuse("prompt.send", code, "because\x1b[2J", data)
    _, err = process.communicate(timeout=20)

    assert process.returncode == status
    assert err.splitlines() == ["efr: because␛[2J", *([f"     {fix}"] if fix else [])]


def test_another_protocol(fake: FakeDaemon) -> None:
    process = efr_in_pipe("send", "hi", env=fake.env)
    peer = fake.accept()
    peer.expect("hello")
    peer.refuse("hello", "protocol_mismatch", "no", {"client": 1, "daemon": 2})
    peer.close()
    _, err = process.communicate(timeout=20)

    assert process.returncode == 1
    assert err.startswith("efr: efr speaks protocol 1, efrd speaks protocol 2\n")


def test_a_connection_that_breaks(fake: FakeDaemon) -> None:
    process, peer = follow(fake, "send", "hi")
    peer.close()
    _, err = process.communicate(timeout=20)

    assert process.returncode == 1
    assert "efr: the connection to efrd was lost\n     journalctl --user -u efrd" in err


def test_ctrl_c_in_a_pipe(fake: FakeDaemon) -> None:
    process, peer = follow(fake, "send", "hi")
    peer.say("one")
    assert process.stdout.readline() == "one\n"
    process.send_signal(2)
    peer.expect("turn.interrupt")
    peer.answer("turn.interrupt", {"turn_id": TURN, "seq": 3})
    peer.event("turn_interrupted")
    process.communicate(timeout=20)

    assert process.returncode == 130


def test_a_slow_reader_subscribes_again(fake: FakeDaemon) -> None:
    process, peer = follow(fake, "send", "hi")
    peer.say("one")
    error = {"code": "overflow", "message": "slow", "data": {"last_seq": peer.seq}}
    peer.send({"id": peer.subscription, "error": error})
    assert peer.subscribed()["after_seq"] == peer.seq
    peer.complete()
    out, _ = process.communicate(timeout=20)

    assert (process.returncode, out) == (0, "one\n")


def test_a_gap_is_filled_from_the_history(fake: FakeDaemon) -> None:
    process, peer = follow(fake, "send", "hi")

    def said(seq: int, index: int, text: str) -> dict[str, Any]:
        return envelope(seq, "assistant_message_completed", index=index, text=text)

    summary = {"id": CONVERSATION, "status": "running", "created_at": AT, "updated_at": AT}
    peer.item(
        {
            "kind": "snapshot",
            "conversation": {**summary, "last_seq": 300},
            "events": [said(300, 2, "three")],
            "history_cursor": "c1",
            "hwm": 300,
        }
    )
    assert peer.expect("conversation.history")["cursor"] == "c1"
    page = {"events": [said(299, 1, "two")], "next_cursor": "c2"}
    peer.answer("conversation.history", page)
    assert peer.expect("conversation.history")["cursor"] == "c2"
    old = said(90, 0, "old")
    peer.answer("conversation.history", {"events": [old, said(298, 0, "one")]})
    peer.seq = 300
    peer.complete()
    out, _ = process.communicate(timeout=20)

    assert out == "one\n\ntwo\n\nthree\n"


def test_a_deleted_conversation_ends_the_view(fake: FakeDaemon) -> None:
    process, peer = follow(fake, "send", "hi")
    peer.event("conversation_deleted", turn=None, origin="cli")
    peer.send({"id": peer.subscription, "end": True})
    _, err = process.communicate(timeout=20)

    assert process.returncode == 1
    assert err.endswith("the conversation was deleted\n")
