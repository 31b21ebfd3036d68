"""`efr away`, against a scripted daemon."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.fake_daemon import CONVERSATION, summary
from tests.cli.test_commands import Answer, Run, answered, run

__all__ = ["answered", "run"]  # fixtures

PLACE = {"EFR_CONTEXT": json.dumps({"pwd": "/tmp", "tty": "/dev/pts/3"})}
ONE = {"conversations": [summary(CONVERSATION, "x")]}
LIST: Answer = ("conversations.list", {"tty": "/dev/pts/3"}, ONE)
UNTIL = "a question waits 5 minutes; your next input ends it\n"


def went(*changed: str, conversation: str | None = CONVERSATION) -> Answer:
    seq = {"seq": 9} if changed else {}
    result: dict[str, Any] = {"presence": "away", "changed": list(changed), **seq}
    return ("presence.set", {"presence": "away", "conversation_id": conversation}, result)


def test_a_terminals_conversation_is_left(answered: Run) -> None:
    code, out, err = answered("away", answers=[LIST, went(CONVERSATION)], **PLACE)
    assert (code, out, err) == (0, f"away: {UNTIL}", "")
    assert answered("away", answers=[LIST, went()], **PLACE)[1] == f"away already: {UNTIL}"


def test_every_conversation_is_left(answered: Run) -> None:
    two = went(CONVERSATION, CONVERSATION.replace("8b20", "8b21"), conversation=None)
    code, out, _ = answered("away", "--all", answers=[two], **PLACE)
    assert (code, out) == (0, f"away from 2 conversations: {UNTIL}")
    code, out, _ = answered("away", "--all", answers=[went(conversation=None)], **PLACE)
    assert code == 0
    assert out.startswith("nothing changed: ")


def test_a_terminal_without_a_conversation_has_none_to_leave(answered: Run) -> None:
    empty: Answer = ("conversations.list", {}, {"conversations": []})
    code, out, err = answered("away", answers=[empty], **PLACE)
    assert (code, out) == (1, "")
    assert "this terminal has no conversation" in err
