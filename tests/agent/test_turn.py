from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from efr.agent.context import SUMMARY_HEAD, Context
from efr.agent.instructions import FRESH_HEAD
from efr.agent.place import LookTimedOut
from efr.agent.ports import NoModelsYet
from efr.config.schema import Conversation, Model, Settings
from efr.providers import errors as provider
from efr.providers.canonical import (
    CallUsage,
    Done,
    ModelFacts,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageEvent,
)
from efr.store import queries
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.scripted_model import Hold, Step, calls, said, texts_of, usage
from tests.agent.world import CALLER, World

ONE = ("look", '{"path": "a"}')
COMMAND = "00000000-0000-7000-8000-00000000c0de"


def test_a_first_prompt_runs_from_conversation_created_to_turn_completed(world: World) -> None:
    world.provider.answers(said("hello"))
    sent = world.send("say hello")
    end = world.wait_end(sent.turn_id)

    assert world.kinds(sent.conversation_id) == [
        "conversation_created",
        "prompt_queued",
        "turn_started",
        "assistant_message_completed",
        "turn_completed",
    ]
    assert sent.seq == 2
    assert not sent.queued
    assert end == ev.TurnCompleted(
        turn_id=sent.turn_id,
        usage=t.Usage(input_tokens=100, output_tokens=10, context_tokens=110),
        context=t.ContextUse(tokens=110, limit=206_720, window=272_000),
    )


def test_creation_prompt_and_receipt_are_one_batch(world: World) -> None:
    world.provider.answers(said("hello"))
    sent = world.send("hi")
    world.wait_end(sent.turn_id)
    created, queued = world.log.all[:2]
    assert (created.kind, queued.kind) == ("conversation_created", "prompt_queued")
    assert created.at_us == queued.at_us
    event = queued.event
    assert isinstance(event, ev.PromptQueued)
    receipt = world.readers.read(lambda conn: queries.receipt(conn, event.command_id))
    assert receipt is not None
    assert receipt.seq == queued.seq


def test_a_tool_call_is_recorded_in_order_and_its_result_sent(world: World) -> None:
    world.provider.answers(calls(ONE, text="I look"), said("it says: did"))
    sent = world.send("look at a")
    world.wait_end(sent.turn_id)

    assert world.kinds(sent.conversation_id)[2:] == [
        "turn_started",
        "assistant_message_completed",
        "tool_call_started",
        "tool_call_completed",
        "assistant_message_completed",
        "turn_completed",
    ]
    assert texts_of(world.provider.requests[1]) == [
        ("user", "<live_state>|look at a"),
        ("assistant", "I look|call look"),
        ("user", "result did {'path': 'a'}"),
    ]
    texts = [
        e for e in world.stored(sent.conversation_id) if isinstance(e, ev.AssistantMessageCompleted)
    ]
    assert [(one.index, one.text) for one in texts] == [(0, "I look"), (1, "it says: did")]


def test_an_answer_without_text_takes_no_index(world: World) -> None:
    world.provider.answers(calls(ONE), said("done"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    assert world.wait(ev.AssistantMessageCompleted).index == 0


def test_calls_of_one_answer_run_one_after_another(world: World) -> None:
    world.provider.answers(calls(("look", '{"n": 1}'), ("look", '{"n": 2}')), said("done"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    assert [kind for kind in world.kinds(sent.conversation_id) if kind.startswith("tool")] == [
        "tool_call_started",
        "tool_call_completed",
        "tool_call_started",
        "tool_call_completed",
    ]
    assert world.tools.look.runs == [{"n": 1}, {"n": 2}]


def test_offsets_of_updates_and_drafts_count_bytes_and_add_up(tmp_path: Path) -> None:
    settings = Settings(conversation=Conversation(update_interval_ms=0, draft_interval_ms=0))
    text = "größe 🙂 ja"
    with World(tmp_path, settings) as world:
        drafts: list[t.Draft] = []
        held = Hold()
        world.provider.answers([held, *map(TextDelta, text), usage(), Done("end_turn")])
        sent = world.send("go")
        held.wait()
        world.agent.drafts.listen(sent.conversation_id, drafts.append)
        held.go()
        world.wait_end(sent.turn_id)

        updates = [
            e
            for e in world.stored(sent.conversation_id)
            if isinstance(e, ev.AssistantMessageUpdated)
        ]
        parts = [d.draft for d in drafts if isinstance(d.draft, t.DraftText)]
    for offset_of in ([(u.offset, u.delta) for u in updates], [(p.offset, p.delta) for p in parts]):
        size = 0
        for offset, delta in offset_of:
            assert offset == size
            size += len(delta.encode())
        assert "".join(delta for _, delta in offset_of) == text


def wait_a_while(world: World) -> Step:
    return lambda _: world.clock.advance(0.15)


def test_updates_come_once_per_interval_and_the_whole_text_at_the_end(world: World) -> None:
    words = [str(n) * 80 for n in range(6)]
    steps = [step for word in words for step in (TextDelta(word), wait_a_while(world))]
    world.provider.answers([*steps, usage(), Done("end_turn")])
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    stored = world.stored(sent.conversation_id)
    updates = [e for e in stored if isinstance(e, ev.AssistantMessageUpdated)]
    assert [(u.offset, u.delta) for u in updates] == [
        (0, "".join(words[:3])),
        (240, "".join(words[3:])),
    ]
    assert world.wait(ev.AssistantMessageCompleted).text == "".join(words)


@pytest.mark.parametrize("word", ["a ", "größer ", "w" * 40])
def test_the_log_of_a_slow_answer_stays_below_three_times_its_text(world: World, word: str) -> None:
    """At 80 bytes in ten intervals and more; below that an update every ten intervals is little."""
    per_word_s = max(0.02, len(word.encode()) / 200)
    wait: Step = lambda _: world.clock.advance(per_word_s)  # noqa: E731 - a step is a function
    steps = [step for _ in range(400) for step in (TextDelta(word), wait)]
    world.provider.answers([*steps, usage(), Done("end_turn")])
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    rows: Any = world.readers.read(
        lambda conn: conn.execute(
            "SELECT kind, length(payload) FROM events WHERE kind LIKE 'assistant_message_%'"
        ).fetchall()
    )
    assert len(rows) > 3
    assert sum(size for _, size in rows) <= 3 * len(word.encode()) * 400


def test_a_few_words_wait_ten_intervals(world: World) -> None:
    steps = [step for n in range(15) for step in (TextDelta(f"{n:02} "), wait_a_while(world))]
    world.provider.answers([*steps, usage(), Done("end_turn")])
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    stored = world.stored(sent.conversation_id)
    updates = [e for e in stored if isinstance(e, ev.AssistantMessageUpdated)]
    assert [(u.offset, u.delta) for u in updates] == [(0, "".join(f"{n:02} " for n in range(15)))]


def test_a_second_text_block_of_an_answer_stands_after_a_blank_line(tmp_path: Path) -> None:
    settings = Settings(conversation=Conversation(update_interval_ms=0))
    with World(tmp_path, settings) as world:
        steps: list[Step] = [
            TextDelta("one"),
            ReasoningDelta("hm"),
            TextDelta("two"),
            usage(),
            Done("end_turn"),
        ]
        world.provider.answers(steps)
        sent = world.send("go")
        world.wait_end(sent.turn_id)
        stored = world.stored(sent.conversation_id)
    updates = [e.delta for e in stored if isinstance(e, ev.AssistantMessageUpdated)]
    assert "".join(updates) == "one\n\ntwo"
    assert [e.text for e in stored if isinstance(e, ev.AssistantMessageCompleted)] == ["one\n\ntwo"]


def test_a_lone_surrogate_becomes_the_replacement_character(world: World) -> None:
    world.provider.answers([TextDelta("a\ud83d"), TextDelta("b"), usage(), Done("end_turn")])
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    assert world.wait(ev.AssistantMessageCompleted).text == "a\ufffdb"


def test_arguments_that_are_no_json_are_kept_as_text_and_answered(world: World) -> None:
    world.provider.answers(calls(("look", '{"command": "ls"')), said("sorry"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    assert world.wait(ev.ToolCallStarted).input == '{"command": "ls"'
    completed = world.wait(ev.ToolCallCompleted)
    assert completed.is_error
    assert "not JSON" in completed.output
    assert isinstance(world.wait(ev.TurnCompleted), ev.TurnCompleted)


def test_a_broken_order_of_the_stream_fails_the_turn_and_runs_no_call(world: World) -> None:
    world.provider.answers(
        [TextDelta("half"), ToolCallStart("a", "look"), ToolCallDelta("b", "{}")]
    )
    sent = world.send("go")
    end = world.wait_end(sent.turn_id)
    assert isinstance(end, ev.TurnFailed)
    assert end.error.code is t.ErrorCode.INTERNAL
    assert world.wait(ev.AssistantMessageCompleted).text == "half"
    assert world.tools.look.runs == []


@pytest.mark.parametrize(
    ("error", "code", "data"),
    [
        (provider.Unauthorized(), "unauthorized", None),
        (provider.NotLoggedIn(), "unauthorized", None),
        (provider.TokenFailed("refresh refused"), "unauthorized", None),
        (provider.RateLimited(120.0), "busy", {"retry_after_ms": 120_000}),
        (provider.RateLimited(), "busy", None),
        (provider.Overloaded(), "busy", None),
        (provider.UnknownModel("m"), "invalid", {"model": "m"}),
        (provider.ApiError(500, None, "oops"), "internal", None),
        (provider.TransportFailed("reset"), "internal", None),
        (provider.DecodeFailed("x"), "internal", None),
        (provider.InvalidStream("x"), "internal", None),
        (provider.Incomplete(), "internal", None),
    ],
)
def test_a_providers_failure_is_the_turns(
    world: World, error: provider.ProviderError, code: str, data: object
) -> None:
    world.provider.answers([TextDelta("so far"), error])
    sent = world.send("go")
    end = world.wait_end(sent.turn_id)
    assert isinstance(end, ev.TurnFailed)
    assert (end.error.code, end.error.data) == (code, data)
    assert world.wait(ev.AssistantMessageCompleted).text == "so far"


def test_an_overflow_of_the_context_names_cause_and_way_out(world: World) -> None:
    world.provider.answers([provider.ContextOverflow("too long")])
    sent = world.send("go")
    end = world.wait_end(sent.turn_id)
    assert isinstance(end, ev.TurnFailed)
    assert end.error.code is t.ErrorCode.INTERNAL
    assert end.error.data["cause"] == "context_overflow"
    assert set(end.error.data) == {"cause", "tokens", "window"}
    assert ",new" in end.error.message


def test_a_request_above_the_hard_cap_is_never_sent(world: World) -> None:
    world.provider.facts = (ModelFacts("small", context_window=1000),)
    sent = world.send("x" * 8000)
    end = world.wait_end(sent.turn_id)
    assert isinstance(end, ev.TurnFailed)
    assert end.error.data["cause"] == "context_overflow"
    assert end.error.data["window"] == 1000
    assert world.provider.requests == []


def test_sixty_five_calls_fail_naming_the_limit_and_every_call_has_a_result(world: World) -> None:
    world.provider.answers(*[calls(ONE) for _ in range(64)])
    sent = world.send("loop")
    end = world.wait_end(sent.turn_id)
    assert isinstance(end, ev.TurnFailed)
    assert end.error.code is t.ErrorCode.INTERNAL
    assert "64" in end.error.message
    kinds = world.kinds(sent.conversation_id)
    assert kinds.count("tool_call_started") == kinds.count("tool_call_completed") == 64


def test_stop_reasons_that_are_not_normal_are_told(world: World) -> None:
    world.provider.answers(said("so far", "max_tokens"), said("no", "refusal"), said(""))
    for reason, empty in (("max_tokens", False), ("refusal", False), ("end_turn", True)):
        sent = world.send("go")
        end = world.wait_end(sent.turn_id)
        assert isinstance(end, ev.TurnCompleted)
        assert end.stop == t.StopInfo(reason=t.StopReason(reason), empty=empty)


def test_calls_of_an_answer_that_was_refused_are_not_run(world: World) -> None:
    steps: list[Step] = [
        ToolCallStart("a", "look"),
        ToolCallEnd("a", "{}"),
        usage(),
        Done("refusal"),
    ]
    world.provider.answers(steps)
    sent = world.send("go")
    end = world.wait_end(sent.turn_id)
    assert isinstance(end, ev.TurnCompleted)
    assert world.tools.look.runs == []
    assert world.wait(ev.ToolCallCompleted).is_error


def test_usage_is_the_sum_of_the_calls(world: World) -> None:
    call: list[Step] = [ToolCallStart("a", "look"), ToolCallEnd("a", "{}")]
    first = UsageEvent(CallUsage(100, 10, cached_input_tokens=60))
    second = UsageEvent(CallUsage(300, 30))
    world.provider.answers(
        [*call, first, Done("tool_use")], [TextDelta("x"), second, Done("end_turn")]
    )
    sent = world.send("go")
    end = world.wait_end(sent.turn_id)
    assert isinstance(end, ev.TurnCompleted)
    assert end.usage == t.Usage(400, 40, cached_input_tokens=60, context_tokens=330)


def test_settings_that_do_not_fit_refuse_the_prompt_and_leave_the_log_alone(world: World) -> None:
    world.provider.facts = (ModelFacts("gpt-5.5", efforts=("low", "high")),)
    with pytest.raises(Refusal) as caught:
        world.send("go", settings=t.TurnSettings(effort="ultra"))
    assert caught.value.body.code is t.ErrorCode.INVALID
    assert caught.value.body.data["choices"] == ["low", "high"]
    assert world.readers.read(queries.high_water) == 0


def test_settings_that_stopped_fitting_while_queued_fail_the_turn_before_it_starts(
    world: World,
) -> None:
    held = Hold()
    world.provider.answers([held, *said("first")])
    first = world.send("one")
    held.wait()
    second = world.send("two", settings=t.TurnSettings(effort="high"))
    assert second.queued
    world.provider.facts = (ModelFacts("scripted-1", efforts=("low",)),)
    held.go()
    end = world.wait_end(second.turn_id)
    assert isinstance(end, ev.TurnFailed)
    assert end.error.data["setting"] == "effort"
    assert end.context is None
    started = [
        e.turn_id for e in world.stored(first.conversation_id) if isinstance(e, ev.TurnStarted)
    ]
    assert started == [first.turn_id]


def test_auto_without_a_sandbox_is_recorded_as_cautious_with_the_reason(world: World) -> None:
    world.provider.answers(said("hi"))
    sent = world.send("go", settings=t.TurnSettings(mode=t.Mode.AUTO))
    assert sent.settings is not None
    assert sent.settings.mode is t.Mode.CAUTIOUS
    started = world.wait(ev.TurnStarted)
    assert started.settings == sent.settings
    assert started.settings.fallback is not None
    assert started.settings.fallback.asked is t.Mode.AUTO
    world.wait_end(sent.turn_id)


def test_the_model_gets_exactly_the_edit_tool_that_suits_it(world: World) -> None:
    world.provider.answers(said("a"), said("b"))
    world.wait_end(world.send("go").turn_id)
    world.provider.facts = (ModelFacts("patcher", edit_tool="apply_patch"),)
    world.wait_end(world.send("go").turn_id)
    first, second = [[one.name for one in r.tools] for r in world.provider.requests]
    assert first == ["look", "write", "forbidden", "keys", "edit"]
    assert second == ["look", "write", "forbidden", "keys", "apply_patch"]


def test_the_only_edit_tool_there_is_suits_every_model(world: World) -> None:
    world.tools.all = [tool for tool in world.tools.all if tool.name != "edit"]
    world.provider.answers(said("a"))
    world.wait_end(world.send("go").turn_id)
    names = [one.name for one in world.provider.requests[0].tools]
    assert names == ["look", "write", "forbidden", "keys", "apply_patch"]


def test_a_call_of_the_tool_that_is_not_on_offer_is_answered_with_advice(world: World) -> None:
    world.provider.answers(calls(("apply_patch", "{}")), said("sorry"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    completed = world.wait(ev.ToolCallCompleted)
    assert completed.is_error
    assert "edit" in completed.output
    assert world.tools.get("apply_patch").runs == []  # type: ignore[union-attr]


def test_the_request_holds_the_system_prompt_and_what_the_config_says(tmp_path: Path) -> None:
    settings = Settings(model=Model(system_prompt="Be brief.", max_output_tokens=77))
    with World(tmp_path, settings) as world:
        world.provider.answers(said("a"))
        sent = world.send("go", settings=t.TurnSettings(effort="high"))
        world.wait_end(sent.turn_id)
        request = world.provider.requests[0]
    assert (request.system, request.max_output_tokens, request.effort) == ("Be brief.", 77, "high")
    assert request.conversation_id == sent.conversation_id


def test_the_built_in_system_prompt_says_how_efr_works(world: World) -> None:
    world.provider.answers(said("a"))
    world.wait_end(world.send("go").turn_id)
    system = world.provider.requests[0].system
    assert system is not None
    words = ("comma", "hidden zsh", "does not see", "$SCRATCH", "sed -i", "job notice", "literal")
    blocks = ("<live_state>", "<project_instructions>", FRESH_HEAD, SUMMARY_HEAD, "[efr:")
    for word in (*words, *blocks):
        assert word in system


def test_scope_changed_stands_in_the_batch_of_turn_started(world: World) -> None:
    tool = world.home / "p" / "tool"
    for part in ("objects", "refs"):
        (tool / ".git" / part).mkdir(parents=True)
    (tool / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    world.provider.answers(said("a"), said("b"))
    first = world.send("one")
    world.wait_end(first.turn_id)
    second = world.send("two", pwd=tool)
    world.wait_end(second.turn_id)
    changed = world.wait(ev.ScopeChanged)
    assert (changed.from_, changed.to) == (t.ScopeMachine(), t.ScopePath(value=str(tool)))
    assert world.seq_of(changed) == world.seq_of(world.wait(ev.TurnStarted, 2)) + 1


def test_scratch_is_made_and_named_in_the_preamble(world: World) -> None:
    world.provider.answers(said("a"))
    sent = world.send("look for space")
    world.wait_end(sent.turn_id)
    (folder,) = world.roots.scratch.iterdir()
    assert folder.name.startswith("2026-10-03-look-for-space-")
    block = world.provider.requests[0].messages[0].content[0]
    assert str(folder) in block.text  # type: ignore[union-attr]


def test_a_bug_in_a_turn_fails_it_and_the_next_prompt_runs(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    held = Hold()

    def bug(input: object, ctx: object) -> None:
        raise ZeroDivisionError("a bug of a tool")

    world.tools.look.do = bug  # type: ignore[assignment]
    world.provider.answers([held, *calls(ONE)], said("second"))
    first = world.send("one")
    held.wait()
    second = world.send("two")
    held.go()
    end = world.wait_end(first.turn_id)
    assert isinstance(end, ev.TurnFailed)
    assert end.error.code is t.ErrorCode.INTERNAL
    assert isinstance(world.wait_end(second.turn_id), ev.TurnCompleted)
    assert sum("ZeroDivisionError" in (r.exc_text or "") for r in caplog.records) == 1
    kinds = world.kinds(first.conversation_id)
    assert kinds.count("tool_call_started") == kinds.count("tool_call_completed") == 1


def test_two_conversations_run_at_once(world: World) -> None:
    one, two = Hold(), Hold()
    world.provider.answers([one, *said("from one")], [two, *said("from two")])
    first = world.send("one")
    one.wait()
    second = world.send("two", context=world.context(tty="/dev/pts/9", shell_pid=9))
    two.wait()
    assert first.conversation_id != second.conversation_id
    assert world.workers.count == 2
    two.go()
    world.wait_end(second.turn_id)
    one.go()
    world.wait_end(first.turn_id)


def test_a_second_prompt_waits_its_turn(world: World) -> None:
    held = Hold()
    world.provider.answers([held, *said("first")], said("second"))
    first = world.send("one")
    held.wait()
    second = world.send("two")
    assert (first.queued, second.queued) == (False, True)
    held.go()
    world.wait_end(second.turn_id)
    kinds = world.kinds(first.conversation_id)
    assert kinds == [
        "conversation_created",
        "prompt_queued",
        "turn_started",
        "prompt_queued",
        "assistant_message_completed",
        "turn_completed",
        "turn_started",
        "assistant_message_completed",
        "turn_completed",
    ]
    assert texts_of(world.provider.requests[1]) == [
        ("user", "<live_state>|one"),
        ("assistant", "first"),
        ("user", "<live_state>|two"),
    ]


def test_a_worker_exists_only_while_there_is_work(world: World) -> None:
    world.provider.answers(said("a"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    assert world.workers.stop(world.clock.monotonic() + 20) == []
    assert world.workers.count == 0


def test_a_wall_clock_that_jumps_back_changes_no_order(world: World) -> None:
    def back(_cancel: object) -> None:
        world.clock.set_wall(world.clock.now_us() - 3_600_000_000)

    world.provider.answers(
        [TextDelta("a"), back, TextDelta("b"), usage(), Done("end_turn")], said("c")
    )
    first = world.send("one")
    world.wait_end(first.turn_id)
    second = world.send("two")
    world.wait_end(second.turn_id)
    assert second.conversation_id == first.conversation_id
    seqs = [one.seq for one in world.log.all]
    assert seqs == sorted(seqs)
    assert texts_of(world.provider.requests[1])[1] == ("assistant", "ab")


def test_a_live_snapshot_shows_the_running_call(world: World) -> None:
    held = Hold()
    world.provider.answers(
        [TextDelta("half an "), held, TextDelta("answer"), usage(), Done("end_turn")]
    )
    sent = world.send("go")
    held.wait()
    live = world.agent.drafts.live(sent.conversation_id)
    assert live is not None
    assert (live.turn_id, live.index, live.text, live.text_bytes) == (
        sent.turn_id,
        0,
        "half an ",
        8,
    )
    assert live.after_seq == world.seq_of(world.wait(ev.TurnStarted))
    held.go()
    world.wait_end(sent.turn_id)
    assert world.agent.drafts.live(sent.conversation_id) is None


def test_context_drafts_come_before_and_after_each_call(world: World) -> None:
    held = Hold()
    world.provider.answers([held, *said("a")])
    sent = world.send("go")
    held.wait()
    drafts: list[t.Draft] = []
    world.agent.drafts.listen(sent.conversation_id, drafts.append)
    held.go()
    world.wait_end(sent.turn_id)
    contexts = [d.draft.tokens for d in drafts if isinstance(d.draft, t.DraftContext)]
    assert len(contexts) == 2
    assert contexts[1] == 110


def test_an_unknown_conversation_is_not_found(world: World) -> None:
    with pytest.raises(Refusal) as caught:
        world.send("go", conversation_id=world.ids.new())
    assert caught.value.body.code is t.ErrorCode.NOT_FOUND


@pytest.mark.parametrize(
    "more",
    [
        {"text": "  \n "},
        {
            "text": "x",
            "new_conversation": True,
            "conversation_id": "019a9b11-0000-7000-8000-000000000001",
        },
    ],
)
def test_params_that_break_a_rule_are_invalid(world: World, more: dict[str, object]) -> None:
    params = m.PromptSendParams(command_id=world.ids.new(), **more)  # type: ignore[arg-type]
    with pytest.raises(Refusal) as caught:
        world.agent.prompt_send(params, CALLER)
    assert caught.value.body.code is t.ErrorCode.INVALID


def test_a_prompt_before_the_first_list_of_models_changes_nothing(world: World) -> None:
    world.models.missing = True
    with pytest.raises(NoModelsYet):
        world.send("go", command_id=COMMAND)
    assert world.readers.read(queries.high_water) == 0
    assert world.readers.read(lambda conn: queries.receipt(conn, COMMAND)) is None
    world.models.missing = False
    world.provider.answers(said("a"))
    world.wait_end(world.send("go", command_id=COMMAND).turn_id)
    world.models.missing = True
    assert world.send("go", command_id=COMMAND).queued is False, "the stored answer needs no list"


@pytest.mark.parametrize("how", ["completed", "failed"])
def test_the_history_of_a_turn_goes_with_it_and_waits_for_no_garbage_collector(
    world: World, how: str
) -> None:
    def contexts() -> int:
        return sum(isinstance(one, Context) for one in gc.get_objects())

    world.provider.answers(calls(*[ONE]), said("done") if how == "completed" else [])
    gc.freeze()  # what is there already is not looked at: in a long run that takes seconds
    gc.disable()
    try:
        end = world.wait_end(world.send("go").turn_id)
        world.stop()
        assert contexts() == 0
    finally:
        gc.enable()
        gc.unfreeze()
    assert isinstance(end, ev.TurnCompleted if how == "completed" else ev.TurnFailed)


def test_a_directory_on_a_dead_mount_holds_no_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = "/mnt/dead"

    def look(what: str, fn: Callable[[], object]) -> object:
        if what == dead:
            raise LookTimedOut(what)
        return fn()

    def hangs(conversation_id: str, start_dir: str) -> str:
        raise AssertionError("a look that nobody can end")

    monkeypatch.setattr(world.agent._services.ports.places, "_look", look)
    monkeypatch.setattr(world.shells, "start_of_next", hangs)
    world.provider.answers(calls(*[ONE]), said("done"))
    end = world.wait_end(world.send("go", pwd=dead).turn_id)
    assert isinstance(end, ev.TurnCompleted)
    assert "which is in that directory" in str(world.provider.requests[0].messages[-1])
