"""The user compacts a conversation, and looks at what fills its context."""

from __future__ import annotations

import threading

import pytest

from efr.agent.accounting import estimate_request
from efr.agent.queue import Compaction, State
from efr.base.cancel import Cancel, Cancelled
from efr.providers.canonical import Done, ModelFacts, TextDelta
from efr.providers.errors import Overloaded, RateLimited
from efr.tools.contract import ToolResult
from efr.wire import codec
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.dialogue import FULL, answer, call, compactions, run, summary, whole
from tests.agent.scripted_model import Hold, texts_of, usage
from tests.agent.world import World

LONG = "y" * 90_000  # more than a tail keeps


@pytest.fixture
def talk(world: World) -> str:
    """A conversation of two turns, of which the first is too long to keep."""
    world.provider.answers(answer("one"), answer("two"))
    first = world.send("first " + LONG)
    world.wait_end(first.turn_id)
    world.wait_end(world.send("second").turn_id)
    return first.conversation_id


def compact(
    world: World,
    conversation_id: str,
    focus: str | None = None,
    command_id: str | None = None,
    cancel: Cancel | None = None,
) -> m.ConversationCompactResult:
    params = m.ConversationCompactParams(
        command_id=command_id or world.ids.new(), conversation_id=conversation_id, focus=focus
    )
    return world.agent.conversation_compact(params, cancel or Cancel())


def refused(world: World, conversation_id: str) -> t.ErrorCode:
    with pytest.raises(Refusal) as refusal:
        compact(world, conversation_id)
    return refusal.value.body.code


def context(world: World, conversation_id: str, model: str | None = None) -> t.ContextEstimate:
    return report(world, conversation_id, model).estimate


def report(
    world: World, conversation_id: str, model: str | None = None
) -> m.ConversationContextResult:
    params = m.ConversationContextParams(conversation_id=conversation_id, model=model)
    return world.agent.conversation_context(params)


class Asking:
    """A request for a compaction on a thread of its own."""

    def __init__(self, world: World, conversation_id: str, command_id: str) -> None:
        self.cancel = Cancel()
        self.answers: list[m.ConversationCompactResult | Exception] = []

        def ask() -> None:
            try:
                self.answers.append(
                    compact(world, conversation_id, command_id=command_id, cancel=self.cancel)
                )
            except (Refusal, Cancelled) as exc:
                self.answers.append(exc)

        self._thread = threading.Thread(target=ask)
        self._thread.start()

    def join(self) -> m.ConversationCompactResult | Exception:
        self._thread.join(20)
        (answer,) = self.answers
        return answer


def test_a_compaction_is_recorded_with_its_answer_and_starts_no_turn(
    world: World, talk: str
) -> None:
    world.provider.answers(summary())
    command_id = world.ids.new()
    done = compact(world, talk, "the failing test", command_id)
    (event,) = compactions(world)
    assert done.seq == world.seq_of(event)
    assert codec.to_builtins(done.compaction) == {
        name: value for name, value in codec.to_builtins(event).items() if name != "kind"
    }
    assert (event.trigger, event.turn_id, event.focus) == (
        t.CompactionTrigger.MANUAL,
        None,
        "the failing test",
    )
    asked = world.provider.requests[-1]
    assert asked.side_call
    assert "the failing test" in asked.messages[-1].text
    assert world.kinds(talk)[-1] == "conversation_compacted"
    assert compact(world, talk, "the failing test", command_id) == done
    world.restart()
    assert compact(world, talk, "the failing test", command_id) == done
    run(world, "third", answer("three"), conversation_id=talk)
    shown = texts_of(world.provider.requests[-1])
    assert shown[2:] == [
        ("assistant", "one"),
        ("user", "<live_state>|second"),
        ("assistant", "two"),
        ("user", "<live_state>|third"),
    ]


def test_what_fits_the_tail_is_not_compacted(world: World) -> None:
    run(world, "first", answer("one"))
    assert refused(world, world.log.all[0].conversation_id or "") is t.ErrorCode.CONFLICT
    assert compactions(world) == []


def test_a_conversation_that_does_not_exist_is_not_found(world: World) -> None:
    assert refused(world, world.ids.new()) is t.ErrorCode.NOT_FOUND
    with pytest.raises(Refusal) as refusal:
        report(world, world.ids.new())
    assert refusal.value.body.code is t.ErrorCode.NOT_FOUND


def test_a_turn_that_runs_is_a_conflict(world: World, talk: str) -> None:
    held = Hold()
    world.provider.answers([held, *answer("three")])
    sent = world.send("third")
    held.wait()
    assert refused(world, talk) is t.ErrorCode.CONFLICT
    held.go()
    world.wait_end(sent.turn_id)


def test_a_prompt_during_a_compaction_waits_and_runs_after_it(world: World, talk: str) -> None:
    drafts: list[t.Draft] = []
    leave = world.agent.drafts.listen(talk, drafts.append)
    held = Hold()
    world.provider.answers([held, *summary()], answer("three"))
    command_id = world.ids.new()
    asking, again = Asking(world, talk, command_id), None
    held.wait()
    assert world.agent.runs(talk)
    assert isinstance(drafts[-1].draft, t.DraftCompacting)
    again = Asking(world, talk, command_id)  # a retry waits for the same answer
    assert refused(world, talk) is t.ErrorCode.CONFLICT  # another one does not
    sent = world.send("third", conversation_id=talk)
    assert sent.queued
    held.go()
    world.wait_end(sent.turn_id)
    leave()
    done = asking.join()
    assert isinstance(done, m.ConversationCompactResult)
    assert again.join() == done
    kinds = world.kinds(talk)
    assert kinds.index("conversation_compacted") < kinds.index("turn_started", -5)
    assert not world.agent.runs(talk)


def test_who_asked_may_leave_and_the_compaction_goes_on(world: World, talk: str) -> None:
    held = Hold()
    world.provider.answers([held, *summary()])
    asking = Asking(world, talk, world.ids.new())
    held.wait()
    asking.cancel.cancel()
    assert isinstance(asking.join(), Cancelled)
    held.go()
    world.wait(ev.ConversationCompacted)


def test_a_delete_ends_a_compaction(world: World, talk: str) -> None:
    held = Hold()
    world.provider.answers([held, *summary()])
    asking = Asking(world, talk, world.ids.new())
    held.wait()
    world.agent.stop_compaction(talk, 20)
    assert not world.agent.runs(talk)
    assert isinstance(asking.join(), Cancelled)
    assert compactions(world) == []


def test_a_stop_of_the_daemon_ends_a_compaction(world: World, talk: str) -> None:
    held = Hold()
    world.provider.answers([held, *summary()])
    asking = Asking(world, talk, world.ids.new())
    held.wait()
    world.restart()
    assert isinstance(asking.join(), Cancelled)
    world.provider.forget()
    world.provider.answers(summary())
    assert compact(world, talk).compaction.summary is not None


def test_a_compaction_that_comes_with_the_stop_is_cancelled() -> None:
    state = State()
    state.stopping = True
    late = Compaction("command", None)
    assert state.begin(late)
    assert late.cancel.cancelled
    assert state.next(may_start=True) is late
    assert state.next(may_start=True) is None


def test_a_turn_that_was_stopped_counts_with_its_prompt(world: World) -> None:
    held = Hold()
    world.provider.answers([held, *answer("one")])
    first = world.send("first")
    held.wait()
    world.interrupt(first.conversation_id)
    world.wait_end(first.turn_id)
    found = report(world, first.conversation_id)
    assert found.counted is None
    assert found.cache == t.ContextCache(calls=0, input_tokens=0)
    kinds = [part.kind.value for part in found.estimate.parts]
    assert kinds == ["system_prompt", "tools", "prompts"]


def test_an_error_of_the_provider_keeps_its_code(world: World, talk: str) -> None:
    world.provider.answers([RateLimited(2.0)])
    assert refused(world, talk) is t.ErrorCode.BUSY
    world.provider.answers(summary("cut", "max_tokens"))
    assert refused(world, talk) is t.ErrorCode.INTERNAL
    world.provider.answers(summary())
    assert compact(world, talk).compaction.trigger is t.CompactionTrigger.MANUAL


def test_after_a_manual_compaction_the_automatic_ones_start_again(world: World, talk: str) -> None:
    here = {"conversation_id": talk}
    run(world, "full", answer("x", FULL), **here)
    for _ in range(2):
        run(world, "no summary comes", [Overloaded()], answer("x", FULL), **here)
    run(world, "so none is asked for", answer("x", FULL), **here)
    world.provider.answers(summary())
    compact(world, talk)
    run(world, "full", answer("x", FULL), **here)
    run(world, "again", summary(), answer("x"), **here)
    assert [one.trigger.value for one in compactions(world)] == ["manual", "auto"]


def test_the_parts_of_the_context_add_up_and_hold_no_word(world: World, talk: str) -> None:
    world.tools.look.do = lambda input, ctx: ToolResult(output="secret output " * 200)
    run(world, "look please", call('{"word": "hidden"}'), answer("seen"), conversation_id=talk)
    found = report(world, talk)
    parts = {part.kind: part for part in found.estimate.parts}
    assert found.estimate.tokens == sum(part.tokens for part in found.estimate.parts)
    run(world, "next", answer("x"), conversation_id=talk)
    sent = world.provider.requests[-1]
    assert found.estimate.tokens + estimate_request(sent) >= estimate_request(sent)
    kind = t.ContextPartKind
    assert parts[kind.PROMPTS].items == 3
    assert parts[kind.ANSWERS].items == 3
    assert parts[kind.TOOL_CALLS].items == parts[kind.TOOL_OUTPUTS].items == 1
    assert parts[kind.TOOL_OUTPUTS].tokens > 600
    assert parts[kind.TOOLS].items == len(sent.tools)
    assert len(found.largest) == 5
    assert found.largest[0].kind is kind.PROMPTS
    assert found.largest[0].tokens > 20_000
    text = codec.encode(found).decode()
    for word in ("secret", "hidden", "yyy", "please", "seen"):
        assert word not in text


def test_the_estimate_is_that_of_the_request_without_its_new_prompt(
    world: World, talk: str
) -> None:
    found = report(world, talk)
    run(world, "third", answer("three"), conversation_id=talk)
    sent = world.provider.requests[-1]
    without = type(sent)(sent.model, sent.messages[:-1], system=sent.system, tools=sent.tools)
    assert found.estimate.tokens == estimate_request(without)


def test_the_newest_count_is_told_until_a_compaction(world: World, talk: str) -> None:
    found = report(world, talk)
    turns = [one.turn_id for one in world.log.all if one.kind == "turn_completed"]
    assert found.counted == t.ContextCount(turn_id=turns[1] or "", tokens=100)
    assert found.limits == t.ContextLimits(
        window=272_000, window_known=True, trigger=206_720, hard_cap=258_400, auto=True
    )
    assert (found.cache.calls, found.cache.input_tokens) == (2, 180)
    world.provider.answers(summary())
    done = compact(world, talk)
    found = report(world, talk)
    assert found.counted is None
    (told,) = found.compactions
    assert (told.seq, told.trigger) == (done.seq, t.CompactionTrigger.MANUAL)
    assert told.tokens_after == done.compaction.tokens_after == found.estimate.tokens
    assert (found.cache.calls, found.cache.input_tokens) == (3, 5180)
    kinds = [part.kind.value for part in found.estimate.parts]
    assert kinds == ["system_prompt", "tools", "fresh", "summary", "prompts", "answers"]


def test_the_context_is_counted_for_another_model(world: World, talk: str) -> None:
    world.provider.facts = (*world.provider.facts, ModelFacts("other", edit_tool="apply_patch"))
    found = report(world, talk, "other")
    assert found.model == "other"
    assert found.limits.window == 128_000
    assert not found.limits.window_known
    with pytest.raises(Refusal) as refusal:
        report(world, talk, "nobody")
    assert refusal.value.body.code is t.ErrorCode.INVALID


def test_the_turn_that_runs_counts_as_far_as_the_log_has_it(world: World, talk: str) -> None:
    before = context(world, talk).tokens
    held = Hold()
    world.tools.look.do = lambda input, ctx: ToolResult(output="x" * 4000)
    world.provider.answers(call("{}"), [held, TextDelta("done"), usage(), Done("end_turn")])
    sent = world.send("third", conversation_id=talk)
    held.wait()
    assert context(world, talk).tokens > before + 1000
    held.go()
    world.wait_end(sent.turn_id)


def test_a_compacted_conversation_repeats_its_requests(world: World, talk: str) -> None:
    world.provider.answers(summary())
    compact(world, talk)
    run(world, "third", answer("three"), conversation_id=talk)
    third = whole(world.provider.requests[-1])
    world.restart()
    run(world, "fourth", answer("four"), conversation_id=talk)
    assert whole(world.provider.requests[-1])[: len(third)] == third
