"""The context of a conversation never runs out: guards, pruning, summaries, restarts."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from efr.agent.accounting import estimate, estimate_request
from efr.agent.context import STUB, SUMMARY_HEAD
from efr.agent.summary import SECTIONS
from efr.config.project_text import Project
from efr.config.schema import Compaction, Settings
from efr.providers.canonical import (
    Done,
    ModelFacts,
    StopReason,
    TextDelta,
)
from efr.providers.errors import ContextOverflow, Overloaded
from efr.tools.contract import ToolResult
from efr.wire import events as ev
from efr.wire import types as t
from tests.agent.dialogue import FULL, answer, call, compactions, run, summary, whole
from tests.agent.scripted_model import Hold, texts_of, usage
from tests.agent.world import World


def conversation(world: World) -> str:
    found = next(one.conversation_id for one in world.log.all if one.kind == "turn_started")
    assert found is not None
    return found


def big_output(world: World, tokens: int) -> None:
    """The tool `look` answers with so many tokens more than a stub has."""
    output = "x" * (len(STUB) + tokens * 4)
    world.tools.look.do = lambda input, ctx: ToolResult(output=output)


def test_a_full_context_is_compacted_before_the_call_and_the_turn_goes_on(world: World) -> None:
    run(world, "first", answer("one", 50_000))
    run(world, "second " + "y" * 80_000, answer("two", FULL))
    ended = run(world, "third", summary(), answer("three"))
    assert isinstance(ended, ev.TurnCompleted)
    (done,) = compactions(world)
    turns = [e.turn_id for e in world.stored(conversation(world)) if isinstance(e, ev.TurnStarted)]
    assert done.trigger is t.CompactionTrigger.AUTO
    assert done.turn_id == turns[2]
    assert (done.through_turn, done.through_message) == (turns[1], 1)
    assert done.kept_turns == 2
    assert done.tokens_before > 206_720 > done.tokens_after
    assert (done.window, done.limit) == (272_000, 206_720)
    assert done.usage is not None
    assert done.usage.output_tokens == 50
    side, request = world.provider.requests[2:]
    assert done.tokens_after == estimate_request(request)
    shown = texts_of(request)
    assert shown[0][1].startswith("<fresh-context>")
    assert SUMMARY_HEAD in shown[1][1]
    assert "all of it" in shown[1][1]
    assert shown[2:] == [("assistant", "two"), ("user", "<live_state>|third")]
    assert side.side_call
    assert not request.side_call


def test_a_side_call_repeats_the_request_and_asks_for_the_sections(world: World) -> None:
    run(world, "first", answer("one", FULL))
    run(world, "second", summary(), answer("two"))
    first, side, _ = world.provider.requests
    assert (side.system, side.tools, side.model, side.effort) == (
        first.system,
        first.tools,
        first.model,
        first.effort,
    )
    assert whole(side)[: len(whole(first))] == whole(first)
    asked = side.messages[-1].text
    places = [asked.index(f"## {name}") for name in SECTIONS]
    assert places == sorted(places)
    assert side.max_output_tokens == 8000 + 24000


@pytest.mark.parametrize(
    ("window", "most", "words"),
    [(272_000, None, 2000), (32_000, None, 1000), (272_000, 1200, 300), (272_000, 50, 100)],
)
def test_a_summary_is_asked_for_that_fits_the_answer(
    world: World, window: int, most: int | None, words: int
) -> None:
    facts = ModelFacts("m", context_window=window, max_output_tokens=most, edit_tool="edit")
    world.provider.facts = (facts,)
    run(world, "first " + "y" * 70_000, answer("one", window * 8 // 10))
    run(world, "second", summary(), answer("two"))
    asked = world.provider.requests[1].messages[-1].text
    assert f"Use at most about {words} words." in asked


def test_below_the_trigger_nothing_is_compacted(world: World) -> None:
    run(world, "first", answer("one", 205_000))
    run(world, "second", answer("two"))
    assert compactions(world) == []


@pytest.mark.parametrize(("tokens", "compacted"), [(206_719, False), (206_720, True)])
def test_a_compaction_starts_at_the_trigger_and_not_before(
    world: World, tokens: int, compacted: bool
) -> None:
    run(world, "first " + "y" * 90_000, answer("one"))
    prompt = run(world, "go", answer("two", 1_000))
    assert isinstance(prompt, ev.TurnCompleted)
    size = estimate([world.provider.requests[-1].messages[-1]])
    run(world, "go", answer("three", tokens - size))
    answers = [summary(), answer("four")] if compacted else [answer("four")]
    run(world, "go", *answers)
    assert [one.tokens_before for one in compactions(world)] == [tokens] * compacted


def test_compactions_that_free_too_little_are_not_tried_for_ever(world: World) -> None:
    world.settings = Settings(compaction=Compaction(auto_at=10))
    run(world, "first " + "y" * 60_000, answer("one", 30_000))
    for number in range(2):
        run(world, f"{number} " + "y" * 60_000, summary("s" * 120_000), answer("ok", 60_000))
    assert [one.tokens_after > 27_200 for one in compactions(world)] == [True, True]
    run(world, "third " + "y" * 60_000, answer("ok", 80_000))
    run(world, "fourth " + "y" * 60_000, answer("ok", 100_000))
    assert len(compactions(world)) == 2


def test_without_auto_a_request_above_the_cap_fails_and_is_never_sent(world: World) -> None:
    world.settings = Settings(compaction=Compaction(auto=False))
    run(world, "first", answer("one", 230_000))
    run(world, "still below the cap", answer("two", 258_390))
    ended = run(world, "third " + "z" * 4000)
    assert isinstance(ended, ev.TurnFailed)
    assert ended.error.code is t.ErrorCode.INTERNAL
    assert isinstance(ended.error.data, dict)
    assert ended.error.data["cause"] == "context_overflow"
    assert ended.error.data["window"] == 272_000
    assert ",compact" in ended.error.message
    assert len(world.provider.requests) == 2


def test_a_refused_request_is_compacted_and_sent_once_more(world: World) -> None:
    run(world, "first", answer("one"))
    too_large = ContextOverflow("too long")
    ended = run(world, "second", [too_large], summary(), answer("two"))
    assert isinstance(ended, ev.TurnCompleted)
    (done,) = compactions(world)
    assert done.trigger is t.CompactionTrigger.OVERFLOW
    assert len(world.provider.requests) == 4


def test_a_second_refusal_fails_with_both_facts(world: World) -> None:
    run(world, "first", answer("one"))
    too_large = ContextOverflow("300 tokens are too many")
    ended = run(world, "second", [too_large], summary(), [too_large])
    assert isinstance(ended, ev.TurnFailed)
    assert ended.error.message.endswith("(the provider says: 300 tokens are too many)")
    assert "refused the request as too large" in ended.error.message
    assert "compacted" in ended.error.message
    assert len(compactions(world)) == 1
    assert len(world.provider.requests) == 4


def test_a_refused_summary_is_asked_for_once_more_and_smaller(world: World) -> None:
    for number in range(8):
        run(world, f"{number} " + "y" * 40_000, answer("ok"))
    run(world, "last", answer("ok", FULL))
    run(world, "now", [ContextOverflow("too long")], summary(), answer("done"))
    refused, smaller = world.provider.requests[-3:-1]
    assert refused.side_call
    assert smaller.side_call
    assert estimate_request(smaller) < estimate_request(refused)
    assert len(compactions(world)) == 1


def test_where_the_estimate_is_too_large_the_side_call_is_whole_all_the_same(world: World) -> None:
    for number in range(6):
        run(world, f"{number} " + "y" * 190_000, answer("ok", (number + 1) * 30_000))
    run(world, "full by the provider's count", answer("ok", 210_000))
    run(world, "now", summary(), answer("done"))
    (done,) = compactions(world)
    assert (done.omitted_messages, done.pruned_outputs) == (0, 0)
    before, side = world.provider.requests[-3:-1]
    assert whole(side)[: len(whole(before))] == whole(before)
    assert estimate_request(side) > 258_400


def test_without_auto_a_refused_request_fails_the_turn(world: World) -> None:
    world.settings = Settings(compaction=Compaction(auto=False))
    run(world, "first", answer("one"))
    ended = run(world, "second", [ContextOverflow("300 tokens are too many")])
    assert isinstance(ended, ev.TurnFailed)
    assert ended.error.message.endswith("(the provider says: 300 tokens are too many)")
    assert isinstance(ended.error.data, dict)
    assert ended.error.data["cause"] == "context_overflow"


def test_after_two_compactions_that_do_not_help_no_third_is_tried(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "efr.agent")
    run(world, "first", answer("one", FULL))
    run(world, "second", [Overloaded()], answer("two", FULL))
    run(world, "third", summary("", "end_turn"), answer("three", FULL))
    ended = run(world, "fourth", answer("four", FULL))
    assert isinstance(ended, ev.TurnCompleted)
    assert compactions(world) == []
    assert len([one for one in caplog.messages if "a compaction (auto) failed" in one]) == 2
    run(world, "fifth", answer("five", 100))  # there is room again, as far as a count tells
    run(world, "sixth", answer("six", FULL))
    run(world, "seventh", summary(), answer("seven"))
    assert len(compactions(world)) == 1


@pytest.mark.parametrize("stop", ["max_tokens", "content_filter", "refusal"])
def test_a_summary_that_was_cut_off_is_not_recorded(world: World, stop: StopReason) -> None:
    run(world, "first", answer("one", FULL))
    ended = run(world, "second", summary("half", stop), answer("two"))
    assert isinstance(ended, ev.TurnCompleted)
    assert compactions(world) == []


@pytest.mark.parametrize(("tokens", "pruned"), [(19_999, False), (20_000, True)])
def test_pruning_alone_is_done_only_when_it_frees_enough(
    world: World, tokens: int, pruned: bool
) -> None:
    big_output(world, tokens)
    run(world, "first", call("{}"), answer("one"))
    run(world, "second " + "y" * 164_000, answer("two", FULL))
    answers = [answer("three")] if pruned else [summary(), answer("three")]
    run(world, "third", *answers)
    (done,) = compactions(world)
    assert (done.summary is None) is pruned
    assert (done.fresh is None) is pruned
    if pruned:
        assert done.pruned_outputs == 1
        assert done.pruned_tokens == 20_000
        assert done.tokens_after == done.tokens_before - done.pruned_tokens
        shown = texts_of(world.provider.requests[-1])
        assert shown[2] == ("user", f"result {STUB}")
        assert shown[0] == ("user", "<live_state>|first")


def test_a_pruning_holds_for_every_later_request_also_over_a_restart(world: World) -> None:
    big_output(world, 30_000)
    run(world, "first", call("{}"), answer("one"))
    run(world, "second " + "y" * 164_000, answer("two", FULL))
    run(world, "third", answer("three"))
    before = whole(world.provider.requests[-1])
    world.restart()
    run(world, "fourth", answer("four"), conversation_id=compactions_of(world)[0])
    assert whole(world.provider.requests[-1])[: len(before)] == before


def compactions_of(world: World) -> tuple[str, int]:
    """The one conversation, and how many compactions it has in the database."""
    rows: Any = world.readers.read(
        lambda conn: conn.execute(
            "SELECT conversation_id, count(*) FROM compactions GROUP BY conversation_id"
        ).fetchall()
    )
    ((conversation_id, count),) = rows
    return str(conversation_id), int(count)


def test_the_tail_never_starts_with_results(world: World) -> None:
    big_output(world, 15_000)
    run(
        world,
        "work",
        call("{}", tokens=20_000),
        call('{"n": 2}', tokens=40_000),
        call('{"n": 3}', tokens=FULL),
        summary(),
        answer("done"),
    )
    (done,) = compactions(world)
    assert done.through_message == 5  # prompt, 2 calls with results, then the last call
    shown = texts_of(world.provider.requests[-1])
    assert [role for role, _ in shown[2:]] == ["assistant", "user"]
    assert shown[2][1] == "call look"


def test_a_turn_is_compacted_between_two_of_its_calls(world: World) -> None:
    drafts: list[t.Draft] = []
    held = Hold()
    world.provider.answers([held, *answer("one")])
    first = world.send("first")
    held.wait()
    leave = world.agent.drafts.listen(first.conversation_id, drafts.append)
    held.go()
    world.wait_end(first.turn_id)
    drafts.clear()
    run(world, "go", call("{}", tokens=FULL), summary(), answer("done", 9000))
    leave()
    parts = [one.draft for one in drafts if not isinstance(one.draft, t.DraftText)]
    kinds = [type(part).__name__ for part in parts if not isinstance(part, t.DraftToolInput)]
    at = kinds.index("DraftCompacting")
    assert kinds[at - 1] == kinds[at + 1] == "DraftContext"
    full, after = [part for part in parts if isinstance(part, t.DraftContext)][-3:-1]
    assert full.tokens >= FULL
    assert after.tokens == compactions(world)[0].tokens_after
    kinds_of_log = world.kinds(first.conversation_id)
    at = kinds_of_log.index("conversation_compacted")
    assert kinds_of_log[at - 1] == "tool_call_completed"
    assert kinds_of_log[at + 1] == "assistant_message_completed"


def test_an_interrupt_stops_the_summary(world: World) -> None:
    run(world, "first", answer("one", FULL))
    held = Hold()
    world.provider.answers([held, *summary()])
    sent = world.send("second")
    held.wait()
    world.interrupt(sent.conversation_id)
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnInterrupted)
    assert held.cancelled.is_set()
    assert compactions(world) == []


def test_the_messages_of_covered_turns_are_deleted_and_later_requests_repeat(world: World) -> None:
    run(world, "first", answer("one"))
    run(world, "second", answer("two", FULL))
    run(world, "third " + "y" * 90_000, summary(), answer("three"))
    conversation_id, count = compactions_of(world)
    assert count == 1
    before = whole(world.provider.requests[-1])
    run(world, "fourth", answer("four"))
    fourth = whole(world.provider.requests[-1])
    assert fourth[: len(before)] == before
    world.restart()
    run(world, "fifth", answer("five"), conversation_id=conversation_id)
    assert whole(world.provider.requests[-1])[: len(fourth)] == fourth
    saved = world.readers.read(
        lambda conn: conn.execute("SELECT count(DISTINCT turn_id) FROM turn_messages").fetchone()
    )
    assert saved == (3,)  # third, fourth, fifth


def test_an_output_larger_than_the_window_is_cut_and_the_turn_goes_on(world: World) -> None:
    world.provider.facts = (ModelFacts("small", context_window=32_000, edit_tool="edit"),)
    big_output(world, 100_000)
    run(world, "first", answer("one", 4_000))
    ended = run(world, "go", call("{}", tokens=5_000), answer("done", 20_000))
    assert isinstance(ended, ev.TurnCompleted)
    sent = world.provider.requests[-1]
    assert estimate_request(sent) < 30_400
    assert "bytes omitted" in texts_of(sent)[-1][1]
    ended = run(world, "again", call("{}", tokens=24_000), summary(), answer("done"))
    assert isinstance(ended, ev.TurnCompleted)
    assert len(compactions(world)) == 1
    assert all(estimate_request(one) <= 30_400 for one in world.provider.requests)


def test_a_prompt_larger_than_the_window_fails_and_the_conversation_goes_on(world: World) -> None:
    world.provider.facts = (ModelFacts("small", context_window=32_000, edit_tool="edit"),)
    ended = run(world, "z" * 200_000)
    assert isinstance(ended, ev.TurnFailed)
    assert ",compact" not in ended.error.message
    assert world.provider.requests == []
    ended = run(world, "shorter", summary(), answer("ok"))
    assert isinstance(ended, ev.TurnCompleted)
    (done,) = compactions(world)
    assert (done.omitted_turns, done.omitted_messages) == (1, 1)
    shown = texts_of(world.provider.requests[-1])
    assert "1 earlier turn (1 message)" in shown[2][1]
    assert all(estimate_request(one) <= 30_400 for one in world.provider.requests)


def test_a_long_history_is_compacted_for_a_model_with_a_smaller_window(world: World) -> None:
    world.provider.facts = (ModelFacts("large", context_window=1_000_000, edit_tool="edit"),)
    for number in range(10):
        run(world, f"{number} " + "y" * 190_000, answer("ok"))
    world.provider.facts = (ModelFacts("small", context_window=272_000, edit_tool="edit"),)
    run(world, "now", summary(), answer("done"))
    (done,) = compactions(world)
    assert done.omitted_messages > 0
    side, request = world.provider.requests[-2:]
    assert estimate_request(side) <= 258_400
    assert "did not fit" in side.messages[-1].text
    before = whole(request)
    assert "did not fit" in texts_of(request)[2][1]
    world.restart()
    run(world, "next", answer("ok"), conversation_id=compactions_of(world)[0])
    assert whole(world.provider.requests[-1])[: len(before)] == before


def test_turns_beyond_the_net_are_summarised_as_far_as_they_fit(world: World) -> None:
    world.provider.facts = (ModelFacts("m", context_window=100_000, edit_tool="edit"),)
    big = "x" * 300_000  # the provider's count stays small: only the net of bytes is asked here
    for number in range(3):
        run(world, str(number), [TextDelta(big), usage(10, 10), Done("end_turn")])
    run(world, "now", summary(), answer("done"))
    (done,) = compactions(world)
    assert done.omitted_turns == 2
    assert done.summary is not None


def test_turns_that_did_not_end_by_themselves_are_named_to_the_summary(world: World) -> None:
    failed = run(world, "paint the shed", [Overloaded()])
    assert isinstance(failed, ev.TurnFailed)
    run(world, "first", answer("one", FULL))
    run(world, "the newest task", summary(), answer("two"))
    side, request = world.provider.requests[-2:]
    assert '- "paint the shed" (failed)' in side.messages[-1].text
    assert request.messages[-1].text.endswith("the newest task")


def test_the_fresh_block_holds_what_the_project_tells(world: World, tmp_path: Path) -> None:
    root = tmp_path / "app"
    root.mkdir()
    (root / "AGENTS.md").write_text("Use tabs.")
    world.registry.projects.append(
        Project("00000000-0000-7000-8000-00000000000a", str(root), "app")
    )
    run(world, "first", answer("one", FULL), pwd=root)
    run(world, "second", summary(), answer("two"), pwd=root)
    (done,) = compactions(world)
    assert done.fresh is not None
    assert f"The user's directory: {root}" in done.fresh
    assert "Use tabs." in done.fresh
    run(world, "third", answer("three"), pwd=root)
    told = [message.text.count("Use tabs.") for message in world.provider.requests[-1].messages]
    assert told == [1, 0, 0, 0, 0]


def test_a_compaction_in_a_turn_that_a_crash_cut_keeps_its_place(
    world: World, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()

    def crash(input: object, ctx: object) -> ToolResult:
        if input == {"crash": 1}:
            for path in world.roots.data.path.glob("efr.sqlite*"):
                (copy / path.name).write_bytes(path.read_bytes())
        return ToolResult(output="fine")

    world.tools.look.do = crash
    two = '{"a": 1}', '{"b": 2}'
    world.provider.answers(
        call(*two), call(*two, tokens=FULL), summary(), call('{"crash": 1}'), answer("done")
    )
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    kept = whole(world.provider.requests[-2])
    world.stop()
    for path in world.roots.data.path.glob("efr.sqlite*"):
        path.unlink()
    for path in copy.iterdir():
        (world.roots.data.path / path.name).write_bytes(path.read_bytes())
    world.start()
    world.provider.forget()
    run(world, "again", answer("back"), conversation_id=sent.conversation_id)
    again = whole(world.provider.requests[-1])
    assert again[: len(kept)] == kept


def test_a_fresh_block_takes_a_quarter_of_the_window_at_most(world: World, tmp_path: Path) -> None:
    world.provider.facts = (ModelFacts("small", context_window=32_000, edit_tool="edit"),)
    root = tmp_path / "app"
    (root / "sub").mkdir(parents=True)
    for folder in (root, root / "sub"):
        (folder / "AGENTS.md").write_text("w" * 30_000)
    project = Project("00000000-0000-7000-8000-00000000000a", str(root), "app")
    world.registry.projects.append(project)
    run(world, "first", answer("one", 25_000), pwd=root / "sub")
    run(world, "second", summary(), answer("two"), pwd=root / "sub")
    (done,) = compactions(world)
    assert done.fresh is not None
    assert len(done.fresh.encode()) <= 32_000
    assert done.fresh.startswith("<fresh-context>")
    assert done.fresh.endswith("</fresh-context>")


def test_where_nothing_lies_before_the_newest_words_nothing_is_tried(world: World) -> None:
    drafts: list[t.Draft] = []
    world.provider.facts = (ModelFacts("small", context_window=32_000, edit_tool="edit"),)
    held = Hold()
    world.provider.answers([held, *call("{}", tokens=27_000)], summary(), answer("done"))
    sent = world.send("z" * 100_000)
    held.wait()
    leave = world.agent.drafts.listen(sent.conversation_id, drafts.append)
    held.go()
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnCompleted)
    leave()
    assert len([one for one in drafts if isinstance(one.draft, t.DraftCompacting)]) == 1
    assert len(compactions(world)) == 1


def test_usage_of_a_turn_does_not_count_its_summary(world: World) -> None:
    run(world, "first", answer("one", FULL))
    ended = run(world, "second", summary(), [TextDelta("a"), usage(70, 7), Done("end_turn")])
    assert isinstance(ended, ev.TurnCompleted)
    assert ended.usage == t.Usage(input_tokens=70, output_tokens=7, context_tokens=77)


def test_a_call_without_a_count_after_a_compaction_leaves_the_estimate(world: World) -> None:
    run(world, "first", answer("one", FULL))
    ended = run(world, "second", summary(), [Overloaded()])
    assert isinstance(ended, ev.TurnFailed)
    assert ended.context is not None
    assert ended.context.tokens == compactions(world)[0].tokens_after


def test_a_prompt_that_can_never_fit_costs_no_compaction_and_the_next_one_runs(
    world: World,
) -> None:
    world.provider.facts = (ModelFacts("small", context_window=32_000, edit_tool="edit"),)
    run(world, "first", answer("one", 5_000))
    for _ in range(3):
        ended = run(world, "z" * 200_000)
        assert isinstance(ended, ev.TurnFailed)
        assert "what you sent does not fit into the model's context" in ended.error.message
        assert ",new" not in ended.error.message
    assert len(world.provider.requests) == 1
    assert isinstance(run(world, "shorter", summary(), answer("ok")), ev.TurnCompleted)


def test_a_window_that_is_smaller_than_the_system_prompt_says_so(world: World) -> None:
    world.provider.facts = (ModelFacts("tiny", context_window=200, edit_tool="edit"),)
    ended = run(world, "go")
    assert isinstance(ended, ev.TurnFailed)
    assert "the window of tiny is too small for efr" in ended.error.message
    assert "of its 200 tokens; choose a model with a larger window" in ended.error.message
    assert ",new" not in ended.error.message
    assert world.provider.requests == []


def test_a_full_conversation_says_why_no_summary_came(world: World) -> None:
    world.provider.facts = (ModelFacts("small", context_window=32_000, edit_tool="edit"),)
    run(world, "first " + "y" * 30_000, answer("one", 9_000))
    run(world, "second " + "y" * 30_000, answer("two", 20_000))
    for _ in range(2):
        ended = run(world, "third " + "y" * 50_000, summary("half", "max_tokens"))
        assert isinstance(ended, ev.TurnFailed)
        assert "no summary came: the answer reached its token limit" in ended.error.message
    ended = run(world, "fourth")  # no third try, and still the reason
    assert isinstance(ended, ev.TurnFailed)
    assert "no summary came: the answer reached its token limit" in ended.error.message
    assert len(world.provider.requests) == 4
