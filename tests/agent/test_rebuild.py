from __future__ import annotations

import pytest

from efr.agent.rebuild import UNFINISHED, rebuild_turn, repaired, user_text
from efr.providers.canonical import Message, TextBlock, ToolCallBlock, ToolResultBlock
from efr.wire import events as ev
from efr.wire import types as t

T = "turn"


def prompt(text: str) -> ev.PromptQueued:
    return ev.PromptQueued(turn_id=T, command_id="c", text=text, origin=t.Origin.SHELL)


def said(index: int, text: str) -> ev.AssistantMessageCompleted:
    return ev.AssistantMessageCompleted(turn_id=T, index=index, text=text)


def streamed(index: int, offset: int, delta: str) -> ev.AssistantMessageUpdated:
    return ev.AssistantMessageUpdated(turn_id=T, index=index, offset=offset, delta=delta)


def called(call_id: str, tool: str = "shell") -> ev.ToolCallStarted:
    return ev.ToolCallStarted(turn_id=T, call_id=call_id, tool=tool, input={"command": "ls"})


def answered(call_id: str, output: str) -> ev.ToolCallCompleted:
    return ev.ToolCallCompleted(
        turn_id=T, call_id=call_id, output=output, truncated=False, is_error=False
    )


def rebuilt(*events: ev.Event) -> list[Message]:
    return rebuild_turn(list(enumerate(events, start=1)))


def call(call_id: str, name: str = "shell") -> ToolCallBlock:
    return ToolCallBlock(call_id, name, {"command": "ls"})


def assistant(*blocks: TextBlock | ToolCallBlock) -> Message:
    return Message("assistant", blocks)


def results(*pairs: tuple[str, str]) -> Message:
    return Message("user", tuple(ToolResultBlock(call_id, text) for call_id, text in pairs))


def test_a_turn_with_calls() -> None:
    assert rebuilt(
        prompt("do it"),
        streamed(0, 0, "I "),
        said(0, "I look"),
        called("a"),
        called("b"),
        answered("a", "one"),
        answered("b", "two"),
        said(1, "done"),
        ev.TurnCompleted(turn_id=T),
    ) == [
        user_text("do it"),
        assistant(TextBlock("I look"), call("a"), call("b")),
        results(("a", "one"), ("b", "two")),
        assistant(TextBlock("done")),
    ]


def test_calls_one_after_another_share_the_message_only_until_a_result_comes() -> None:
    assert rebuilt(
        prompt("p"), called("a"), answered("a", "1"), called("b"), answered("b", "2")
    ) == [
        user_text("p"),
        assistant(call("a")),
        results(("a", "1")),
        assistant(call("b")),
        results(("b", "2")),
    ]


def test_text_that_was_never_completed_is_the_last_message() -> None:
    assert rebuilt(prompt("p"), streamed(0, 0, "half "), streamed(0, 5, "a word")) == [
        user_text("p"),
        assistant(TextBlock("half a word")),
    ]


def test_a_steer_stands_where_it_was_read_and_one_nobody_read_is_left_out() -> None:
    steered = ev.TurnSteered(turn_id=T, text="faster")
    unread = ev.TurnSteered(turn_id=T, text="never read")
    assert rebuilt(
        prompt("p"),
        steered,
        said(0, "a"),
        unread,
        ev.SteeringDelivered(turn_id=T, steers=(2,)),
        said(1, "b"),
        ev.TurnCompleted(turn_id=T),
    ) == [
        user_text("p"),
        assistant(TextBlock("a")),
        user_text("faster"),
        assistant(TextBlock("b")),
    ]


def test_in_an_older_log_a_completed_turn_read_its_steers_in_place() -> None:
    steered = ev.TurnSteered(turn_id=T, text="faster")
    messages = rebuilt(
        prompt("p"), said(0, "a"), steered, said(1, "b"), ev.TurnCompleted(turn_id=T)
    )
    assert [message.text for message in messages] == ["p", "a", "faster", "b"]


def test_a_call_that_never_ended_gets_a_result() -> None:
    assert rebuilt(prompt("p"), called("a")) == [
        user_text("p"),
        assistant(call("a")),
        Message("user", (ToolResultBlock("a", UNFINISHED, is_error=True),)),
    ]


def test_freeform_input_stays_the_text_it_was() -> None:
    event = ev.ToolCallStarted(
        turn_id=T, call_id="a", tool="apply_patch", input="*** Begin Patch", freeform=True
    )
    block = rebuilt(prompt("p"), event)[1].calls[0]
    assert (block.input, block.freeform) == ("*** Begin Patch", True)


def test_open_pairs_are_closed_and_stray_results_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    unfinished = ToolResultBlock("b", UNFINISHED, is_error=True)
    messages = [
        results(("stray", "x")),
        assistant(call("a"), call("b")),
        results(("a", "1")),
        assistant(call("b")),
        user_text("next"),
        assistant(call("b")),
    ]
    assert repaired(messages) == [
        assistant(call("a"), call("b")),
        Message("user", (unfinished, ToolResultBlock("a", "1"))),
        assistant(call("b")),
        Message("user", (unfinished,)),
        user_text("next"),
        assistant(call("b")),
        Message("user", (unfinished,)),
    ]
    assert len(caplog.records) == 1


def test_whole_messages_are_left_as_they_are() -> None:
    messages = [
        user_text("p"),
        assistant(call("a")),
        results(("a", "1")),
        assistant(TextBlock("d")),
    ]
    assert all(a is b for a, b in zip(repaired(messages), messages, strict=True))


def test_a_steer_that_no_call_read_stands_at_the_end_of_a_turn_that_was_cut() -> None:
    events: list[tuple[int, ev.Event]] = [
        (1, prompt("p")),
        (2, ev.TurnSteered(turn_id=T, text="read")),
        (3, ev.SteeringDelivered(turn_id=T, steers=(2,))),
        (4, ev.TurnSteered(turn_id=T, text="taken back")),
        (5, ev.TurnSteered(turn_id=T, text="sent again")),
        (6, ev.TurnSteered(turn_id=T, text="unread")),
        (7, said(0, "half")),
        (8, ev.SteeringWithdrawn(turn_id=T, steers=(4,), origin=t.Origin.SHELL)),
        (9, ev.TurnCancelled(turn_id=T)),
    ]
    messages = [message.text for message in rebuild_turn(events, resent={5})]
    assert messages == ["p", "read", "half", "unread"]


def test_what_is_known_up_to_an_event_is_not_built_again() -> None:
    events: list[tuple[int, ev.Event]] = [
        (1, prompt("p")),
        (2, said(0, "known")),
        (3, ev.TurnSteered(turn_id=T, text="steer")),
        (4, said(1, "also known")),
        (5, ev.SteeringDelivered(turn_id=T, steers=(3,))),
        (6, said(2, "new")),
    ]
    assert [message.text for message in rebuild_turn(events, after=4)] == ["steer", "new"]
