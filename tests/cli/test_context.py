"""`efr compact` and `efr context`, against a scripted daemon."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from efr.cli.render.context import report
from efr.cli.render.spans import text_of
from efr.wire import codec
from efr.wire import methods as m
from tests.cli.conftest import Start
from tests.cli.fake_daemon import CONVERSATION, OTHER_TURN, FakeDaemon, Frame, envelope, summary
from tests.cli.test_commands import Answer, Run, answered, run

__all__ = ["answered", "run"]  # fixtures

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v1"
PLACE = {"EFR_CONTEXT": json.dumps({"pwd": "/tmp", "tty": "/dev/pts/3"})}
ONE = {"conversations": [summary(CONVERSATION, "x")]}
LIST = ("conversations.list", {"tty": "/dev/pts/3"}, ONE)
LINE = "context compacted (,compact): 1.2k -> 24 tokens, kept 3 turns, summary 9\n"


def frozen(name: str) -> Frame:
    found: Frame = json.loads((FIXTURES / f"{name}.json").read_text())
    return found


def compacted(**members: Any) -> Frame:
    done = {
        "compaction_id": CONVERSATION,
        "trigger": "manual",
        "model": "m",
        "window": 1000,
        "limit": 900,
        "tokens_before": 1200,
        "tokens_after": 24,
        "through_turn": CONVERSATION,
        "kept_turns": 3,
        "summary": "s" * 36,
    }
    return {"seq": 7, "compaction": {**done, **members}}


def test_a_compaction_prints_its_line(answered: Run) -> None:
    asked = ("conversation.compact", {"conversation_id": CONVERSATION, "focus": "the test"})
    done = [LIST, (*asked, compacted())]
    code, out, err = answered("compact", "the", "test", answers=done, **PLACE)
    assert (code, out, err) == (0, LINE, "")
    given = {**PLACE, "EFR_PROMPT": "the test"}
    assert answered("compact", answers=done, **given)[:2] == (0, LINE)
    no_focus = ("conversation.compact", {"focus": None}, compacted())
    assert answered("compact", answers=[LIST, no_focus], **PLACE)[0] == 0


def test_a_terminal_without_a_conversation_has_nothing_to_compact(answered: Run) -> None:
    empty: Answer = ("conversations.list", {}, {"conversations": []})
    code, out, err = answered("compact", answers=[empty], **PLACE)
    assert (code, out) == (1, "")
    assert "this terminal has no conversation" in err


def test_a_refusal_is_the_daemons_sentence(run: Run, fake: FakeDaemon) -> None:
    def serve() -> None:
        peer = fake.accept()
        peer.hello()
        peer.expect("conversations.list")
        peer.answer("conversations.list", LIST[2])
        peer.expect("conversation.compact")
        peer.refuse("conversation.compact", "conflict", "a turn runs there, or a prompt waits")

    with ThreadPoolExecutor(1) as pool:
        served = pool.submit(serve)
        code, out, err = run("compact", env={**fake.env, **PLACE})
        served.result(timeout=20)
    assert (code, out) == (1, "")
    assert err == "efr: a turn runs there, or a prompt waits\n"


def test_ctrl_c_ends_the_wait_and_not_the_compaction(start: Start, fake: FakeDaemon) -> None:
    efr = start("compact", env=PLACE)
    peer = fake.accept()
    peer.hello()
    peer.expect("conversations.list")
    peer.answer("conversations.list", LIST[2])
    peer.expect("conversation.compact")
    efr.wait_for("compacting the context  1s")
    efr.type("\x03")
    assert efr.read_to_end() == 130
    assert efr.text.strip() == "efrd goes on with the compaction"


def test_the_context_of_a_conversation(answered: Run) -> None:
    told = frozen("conversation_context_result")
    asked = ("conversation.context", {"conversation_id": CONVERSATION, "model": "big"}, told)
    code, out, err = answered("context", "--model=big", answers=[LIST, asked], **PLACE)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "31k of 190k tokens at the last count  ctx 16%"
    assert lines[1].startswith("sample-large: a window of 200k tokens, full at 190k;")
    assert lines[3] == "the next request, an estimate: 33k tokens"
    assert lines[4:6] == ["  4.0k  tools (9)", "  300   prompts (2)"]
    assert "the largest items, estimates:" in lines
    assert any(line.startswith("  9.0k  shell  turn ") for line in lines)
    assert any("manual, 196k -> 24k tokens" in line for line in lines)
    assert lines[-2:] == [
        "12 model calls, 52k tokens in",
        "76% of them from the prompt cache, 9.0k written to it",
    ]
    code, out, _ = answered(
        "context", "--json", answers=[LIST, ("conversation.context", {}, told)], **PLACE
    )
    assert json.loads(out) == told


def test_a_narrow_terminal_breaks_no_word(start: Start, fake: FakeDaemon) -> None:
    told = frozen("conversation_context_result")
    efr = start("context", env=PLACE, columns=60)
    peer = fake.accept()
    peer.hello()
    for method, answer in (("conversations.list", LIST[2]), ("conversation.context", told)):
        peer.expect(method)
        peer.answer(method, answer)
    assert efr.read_to_end() == 0
    lines = [line.rstrip() for line in efr.text.splitlines()]
    assert lines[1:3] == [
        "sample-large: a window of 200k tokens, full at 190k; nothing",
        "is compacted by itself",
    ]
    assert max(map(len, lines)) <= 60


def test_without_a_terminals_conversation_the_newest_is_told(answered: Run) -> None:
    told = frozen("conversation_context_result")
    empty: Answer = ("conversations.list", {"tty": "/dev/pts/3"}, {"conversations": []})
    any_one = ("conversations.list", {"tty": None}, ONE)
    asked: Answer = ("conversation.context", {}, told)
    code, _, err = answered("context", answers=[empty, any_one, asked], **PLACE)
    assert (code, err) == (0, 'the newest conversation: "x"\n')


def test_a_context_that_nobody_counted_says_so() -> None:
    told = codec.from_builtins(
        {**frozen("conversation_context_result"), "counted": None},
        m.ConversationContextResult,
    )
    lines = [text_of(line) for line in report(told, 0)]
    assert lines[0] == "no model call was counted since the newest compaction"


def test_the_history_shows_every_turn_and_the_whole_summary(answered: Run) -> None:
    prompt = {"command_id": CONVERSATION, "origin": "shell"}
    events = [
        envelope(1, "prompt_queued", text="the first one", **prompt),
        envelope(
            2, "conversation_compacted", None, **compacted(summary="## A\nb\n## C")["compaction"]
        ),
        envelope(3, "prompt_queued", OTHER_TURN, text="the newest", **prompt),
    ]
    everything: Answer = ("conversations.list", {}, ONE)
    page: Answer = ("conversation.history", {"conversation_id": CONVERSATION}, {"events": events})
    code, out, _ = answered("history", "--verbose", CONVERSATION, answers=[everything, page])
    assert code == 0
    assert out.index("the first one") < out.index("## A\nb\n## C") < out.index("the newest")
    code, out, _ = answered("history", CONVERSATION, answers=[everything, page])
    assert "context compacted (,compact)" in out
    assert "## A" not in out
