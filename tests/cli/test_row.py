"""The input row of a running turn: steer, queue, stop, hand back, reconnect."""

from __future__ import annotations

from typing import Any

import pytest

from efr.cli.view.row import prompt_of
from tests.cli.conftest import Start
from tests.cli.fake_daemon import CONVERSATION, OTHER_TURN, TURN, FakeDaemon, Peer
from tests.harness.terminal import Terminal


def begin(fake: FakeDaemon, start: Start, **members: Any) -> tuple[Terminal, Peer]:
    terminal = start("send", "hi", env=members.pop("env", None))
    peer = fake.accept()
    peer.start(**members)
    terminal.wait_for("Enter steers")
    return terminal, peer


def taken(peer: Peer, method: str, turn: str, seq: int, **members: Any) -> None:
    peer.answer(method, {"turn_id": turn, "seq": seq, **members})


def test_enter_steers_the_running_turn(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    terminal.type("also lint\r")
    params = peer.expect("turn.steer")
    assert (params["text"], params["turn_id"]) == ("also lint", TURN)
    assert params["if_late"] == {"kind": "queue", "context": {"pwd": "/", "tty": terminal.tty}}
    terminal.wait_for("↳ steer: also lint")
    seq = peer.event("turn_steered", text="also lint")
    taken(peer, "turn.steer", TURN, seq)
    peer.event("steering_delivered", steers=[seq])
    terminal.wait_for("> also lint")
    assert "↳" not in terminal.text
    peer.complete()

    assert terminal.read_to_end() == 0


def test_the_comma_of_a_shell_line_is_not_part_of_the_text(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    terminal.type(", also lint\r")
    assert peer.expect("turn.steer")["text"] == "also lint"
    terminal.type(",! and format\t")
    assert peer.expect("prompt.send")["text"] == "and format"


@pytest.mark.parametrize(
    ("typed", "sent"),
    [(", a", "a"), (",!\ta", "a"), (",a", ",a"), (", ", ", "), (",", ","), ("a, b", "a, b")],
)
def test_what_counts_as_the_comma_of_a_shell_line(typed: str, sent: str) -> None:
    assert prompt_of(typed) == sent


def test_tab_queues_and_the_view_follows(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    terminal.type("next one\t")
    params = peer.expect("prompt.send")
    assert (params["text"], params["conversation_id"]) == ("next one", CONVERSATION)
    sent = {"conversation_id": CONVERSATION, "turn_id": OTHER_TURN, "seq": 1, "queued": True}
    peer.answer("prompt.send", sent)
    terminal.wait_for("↳ queued: next one")
    error = {"code": "internal", "message": "it broke"}
    peer.event("turn_failed", error=error)
    peer.turn_started(OTHER_TURN)
    peer.event("assistant_message_completed", OTHER_TURN, index=0, text="second answer")
    peer.event("turn_completed", OTHER_TURN)

    assert terminal.read_to_end() == 0
    rows = [row for row in terminal.everything.split("\n") if row]
    assert rows[1:-1] == [
        *("it broke", "the turn failed; the next prompt runs", "> next one", "second answer"),
    ]


def test_a_late_steer_is_followed_as_a_prompt(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    terminal.type("too late\r")
    peer.expect("turn.steer")
    peer.complete()
    peer.event("prompt_queued", OTHER_TURN, command_id=TURN, text="too late", origin="cli")
    peer.turn_started(OTHER_TURN)
    taken(peer, "turn.steer", OTHER_TURN, 7, queued=True)
    peer.event("turn_completed", OTHER_TURN)

    assert terminal.read_to_end() == 0
    assert "> too late" in terminal.everything


def test_a_refused_steer_comes_back_into_the_row(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    terminal.type("stop it\r")
    peer.expect("turn.steer")
    peer.refuse("turn.steer", "busy", "the queue is full")

    terminal.wait_for("not sent: the queue is full")
    terminal.wait_for("› stop it")


def test_escape_stops_the_turn(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    terminal.type("\x1b")
    params = peer.expect("turn.interrupt")
    assert "resend_steers" not in params
    peer.event("turn_interrupted")
    taken(peer, "turn.interrupt", TURN, 3)

    assert terminal.read_to_end() == 130


def test_escape_sends_unread_steers_as_the_next_prompt(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    terminal.type("use b\r")
    peer.expect("turn.steer")
    seq = peer.event("turn_steered", text="use b")
    taken(peer, "turn.steer", TURN, seq)
    terminal.wait_for("↳ steer: use b")
    terminal.type("\x1b")
    assert peer.expect("turn.interrupt")["resend_steers"] == [seq]
    peer.event("turn_interrupted")
    peer.turn_started(OTHER_TURN)
    resent = {"turn_id": OTHER_TURN, "seq": 9, "steers": [seq]}
    taken(peer, "turn.interrupt", TURN, 3, resent=resent)
    peer.event("assistant_message_completed", OTHER_TURN, index=0, text="b it is")
    peer.event("turn_completed", OTHER_TURN)

    assert terminal.read_to_end() == 0
    assert "> use b" in terminal.everything
    assert "b it is" in terminal.everything


def test_escape_takes_a_waiting_prompt_back(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start, queued=True, started=False)
    terminal.type("\x1b")
    assert peer.expect("prompt.withdraw")["target"] == {"kind": "turn", "turn_id": TURN}
    peer.answer("prompt.withdraw", {"withdrawn": {"turn_id": TURN, "seq": 3, "text": "hi"}})
    peer.event("prompt_withdrawn", origin="cli")

    assert terminal.read_to_end() == 1
    assert terminal.everything.endswith("not sent: hi")


def test_alt_up_takes_the_newest_queued_prompt_back(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    terminal.type("later\t")
    peer.expect("prompt.send")
    sent = {"conversation_id": CONVERSATION, "turn_id": OTHER_TURN, "seq": 1, "queued": True}
    peer.answer("prompt.send", sent)
    terminal.wait_for("↳ queued: later")
    terminal.type("\x1b[1;3A")
    assert peer.expect("prompt.withdraw")["target"]["turn_id"] == OTHER_TURN
    peer.event("prompt_withdrawn", OTHER_TURN, origin="cli")
    withdrawn = {"turn_id": OTHER_TURN, "seq": 3, "text": "later"}
    peer.answer("prompt.withdraw", {"withdrawn": withdrawn})

    terminal.wait_for("› later")
    assert "↳" not in terminal.text


def test_ctrl_c_clears_the_text_then_interrupts_and_hands_back(
    fake: FakeDaemon, start: Start
) -> None:
    draft = fake.folder / "drafts" / "1-2-3"
    terminal, peer = begin(fake, start, env={"EFR_DRAFT_FILE": str(draft)})
    terminal.type("later\t")
    peer.expect("prompt.send")
    sent = {"conversation_id": CONVERSATION, "turn_id": OTHER_TURN, "seq": 1, "queued": True}
    peer.answer("prompt.send", sent)
    terminal.wait_for("↳ queued: later")
    terminal.type("abc")
    terminal.wait_for("› abc")
    terminal.type("\x03")
    terminal.wait_for("Enter steers")
    terminal.type("\x03")
    assert peer.expect("turn.interrupt")["withdraw"] == [OTHER_TURN]
    withdrawn = [{"turn_id": OTHER_TURN, "seq": 3, "text": "later"}]
    taken(peer, "turn.interrupt", TURN, 3, withdrawn=withdrawn)
    peer.event("turn_interrupted")

    assert terminal.read_to_end() == 130
    assert draft.read_text() == "later"


def test_text_left_in_the_row_goes_to_the_draft_file(fake: FakeDaemon, start: Start) -> None:
    draft = fake.folder / "drafts" / "1-2-3"
    terminal, peer = begin(fake, start, env={"EFR_DRAFT_FILE": str(draft)})
    terminal.type("\x1b[200~line one\rline two\rline three\x1b[201~")
    terminal.wait_for("line three")
    peer.complete()

    assert terminal.read_to_end() == 0
    assert draft.read_text() == "line one\nline two\nline three"
    assert (draft.stat().st_mode & 0o777, draft.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "line" not in terminal.everything


def test_what_was_typed_before_the_view_never_sends(fake: FakeDaemon, start: Start) -> None:
    terminal = start("send", "hi")
    peer = fake.accept()
    terminal.type("ls\r")
    peer.start()
    terminal.wait_for("› ls")
    peer.complete()

    assert terminal.read_to_end() == 0
    assert "not sent: ls" in terminal.everything


def test_a_lost_connection_is_taken_up_again(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    peer.text("half")
    terminal.wait_for("half")
    terminal.type("go on\r")
    steer = peer.expect("turn.steer")
    peer.close()
    again = fake.accept()
    assert again.hello()["tty"] == terminal.tty
    assert again.expect("turn.steer") == steer
    assert again.subscribed()["after_seq"] == peer.seq
    again.seq = peer.seq
    again.text("half an")
    terminal.wait_for("half an")
    again.say("half an answer")
    seq = again.event("turn_steered", text="go on")
    taken(again, "turn.steer", TURN, seq)
    again.complete()

    assert terminal.read_to_end() == 0
    rows = terminal.everything.split("\n")
    assert rows.count("half an answer") == 1
    assert "the connection to efrd was lost; trying again" in rows


def test_a_restart_returns_what_did_not_run(fake: FakeDaemon, start: Start) -> None:
    terminal, peer = begin(fake, start)
    terminal.type("later\t")
    peer.expect("prompt.send")
    sent = {"conversation_id": CONVERSATION, "turn_id": OTHER_TURN, "seq": 1, "queued": True}
    peer.answer("prompt.send", sent)
    terminal.wait_for("↳ queued: later")
    peer.close()
    again = fake.accept()
    again.hello()
    again.subscribed()
    again.seq = peer.seq
    again.event("turn_cancelled", OTHER_TURN)
    again.event("turn_cancelled")

    assert terminal.read_to_end() == 1
    assert "efrd restarted; the turn was stopped" in terminal.everything
    assert terminal.everything.endswith("not sent: later")


def test_without_a_row_a_lost_connection_ends(fake: FakeDaemon, start: Start) -> None:
    config = fake.folder / "home" / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[render]\nturn_input = false\n")
    terminal = start("send", "hi")
    peer = fake.accept()
    peer.start()
    peer.text("half")
    terminal.wait_for("half")
    peer.close()

    assert terminal.read_to_end() == 1
    assert "the connection to efrd was lost" in terminal.everything
