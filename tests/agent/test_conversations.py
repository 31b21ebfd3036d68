"""What the model gets of earlier turns, from prompt to prompt and over restarts."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from efr.agent.rebuild import UNFINISHED
from efr.config.schema import Compaction, Settings
from efr.providers.canonical import (
    Done,
    Message,
    ModelFacts,
    Request,
    TextDelta,
    encode_message,
)
from efr.shell.errors import ShellDidNotStart
from efr.store.batch import Batch, NewEvent
from efr.wire import events as ev
from efr.wire import types as t
from tests.agent.scripted import LIMIT_S
from tests.agent.scripted_model import calls, said, texts_of, usage
from tests.agent.world import World

ONE = ("look", "{}")


def whole(request: Request) -> list[bytes]:
    return [encode_message(message) for message in request.messages]


def test_every_request_begins_with_the_one_before_also_over_a_restart(world: World) -> None:
    for number in range(12):
        raw = [{"type": "reasoning", "n": number}]
        world.provider.answers(
            calls(ONE, text=f"I look {number}"),
            [TextDelta(f"answer {number}"), usage(), Done("end_turn", raw)],
        )
        sent = world.send(f"prompt {number}", last_command=f"command {number}")
        world.wait_end(sent.turn_id)
        if number % 4 == 3:
            world.restart()
    before: list[bytes] = []
    for request in world.provider.requests:
        messages = whole(request)
        assert messages[: len(before)] == before
        before = messages
    assert len(before) == 12 * 4 - 1


def test_after_200_turns_and_a_restart_the_request_holds_them_all(world: World) -> None:
    world.provider.answers(*(said(f"answer {number}") for number in range(201)))
    for number in range(200):
        world.wait_end(world.send(f"prompt {number}").turn_id)
    last = whole(world.provider.requests[-1])
    world.restart()
    world.wait_end(world.send("and now").turn_id)
    after = whole(world.provider.requests[-1])
    assert len(last) == 399
    assert after[: len(last)] == last
    assert len(after) == len(last) + 2


def test_a_providers_own_items_go_back_to_the_same_model_alone(world: World) -> None:
    raw = [{"type": "reasoning", "encrypted": "opaque"}]
    world.provider.facts = (ModelFacts("scripted-1"), ModelFacts("scripted-2"))
    world.provider.answers([TextDelta("a"), usage(), Done("end_turn", raw)], said("b"), said("c"))
    for model in ("scripted-1", "scripted-2", "scripted-1"):
        world.wait_end(world.send("go", settings=t.TurnSettings(model=model)).turn_id)
    raws = [
        [one.provider_raw for one in r.messages if one.role == "assistant"]
        for r in world.provider.requests
    ]
    assert raws == [[], [None], [raw, None]]


def test_damaged_messages_are_rebuilt_from_the_log(world: World) -> None:
    world.provider.answers(calls(ONE, text="I look"), said("done"), said("next"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    world.stop()
    conn = apsw.Connection(str(world.roots.database))
    conn.execute("UPDATE turn_messages SET message = '{\"role\": 7}' WHERE position = 1")
    conn.close()
    world.start()
    world.wait_end(world.send("again").turn_id)
    assert texts_of(world.provider.requests[2]) == [
        ("user", "go"),
        ("assistant", "I look|call look"),
        ("user", "result did {}"),
        ("assistant", "done"),
        ("user", "<live_state>|again"),
    ]


def test_a_turn_that_a_crash_cut_is_rebuilt_with_every_call_answered(
    world: World, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"

    def crash(input: object, ctx: object) -> object:
        """Keeps what is on disk now: what a kill at this moment would leave."""
        copy.mkdir()
        for path in world.roots.data.path.glob("efr.sqlite*"):
            (copy / path.name).write_bytes(path.read_bytes())
        return world.tools.write.do(input, ctx)  # type: ignore[arg-type]

    world.tools.look.do = crash  # type: ignore[assignment]
    world.provider.answers(calls(ONE, text="I look"), said("done"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    world.stop()
    for path in world.roots.data.path.glob("efr.sqlite*"):
        path.unlink()
    for path in copy.iterdir():
        (world.roots.data.path / path.name).write_bytes(path.read_bytes())
    world.start()
    world.provider.answers(said("back"))
    again = world.send("again", conversation_id=sent.conversation_id)
    world.wait_end(again.turn_id)
    shown = texts_of(world.provider.requests[-1])
    assert shown[:2] == [("user", "go"), ("assistant", "I look|call look")]
    assert shown[2][1].startswith("result! ")
    assert shown[2][1] != f"result! {UNFINISHED}"  # the restart recorded what the model reads
    assert shown[3] == ("user", "<live_state>|again")


def test_turns_beyond_the_net_are_named_as_missing(world: World) -> None:
    world.settings = Settings(compaction=Compaction(auto=False))
    world.provider.facts = (ModelFacts("m", context_window=100_000),)
    big = "x" * 300_000  # tokens of the provider's count stay small: only the net is asked here
    for _ in range(4):
        world.provider.answers([TextDelta(big), usage(10, 10), Done("end_turn")])
        world.wait_end(world.send("go").turn_id)
    world.provider.answers(said("end"))
    world.wait_end(world.send("again").turn_id)
    first = world.provider.requests[-1].messages[0]
    assert isinstance(first, Message)
    assert "2 earlier turns" in first.text


def test_the_next_estimate_starts_from_the_last_count_of_the_same_model(world: World) -> None:
    drafts: list[t.Draft] = []
    world.provider.answers([TextDelta("a"), usage(50_000, 10), Done("end_turn")])
    first = world.send("go")
    world.wait_end(first.turn_id)
    leave = world.agent.drafts.listen(first.conversation_id, drafts.append)
    world.provider.answers(said("b"))
    world.wait_end(world.send("again").turn_id)
    leave()
    tokens = [d.draft.tokens for d in drafts if isinstance(d.draft, t.DraftContext)]
    assert 50_010 < tokens[0] < 52_000


def test_the_hidden_shell_follows_the_user(world: World) -> None:
    world.provider.answers(said("a"), said("b"), said("c"), said("d"))
    one, two = world.home / "one", world.home / "two"
    for folder in (one, two):
        folder.mkdir()
    sent = world.send("go", pwd=one)
    world.wait_end(sent.turn_id)
    shell = world.shells.for_conversation(sent.conversation_id, str(one), None)
    world.wait_end(world.send("go", pwd=two).turn_id)
    assert shell.moves == [str(two)]
    shell.busy = True
    world.wait_end(world.send("go", pwd=one).turn_id)
    assert shell.moves == [str(two)]
    shell.busy = False
    shell.refuses = ShellDidNotStart("zsh", "it is gone")
    world.wait_end(world.send("go", pwd=two, settings=t.TurnSettings()).turn_id)
    blocks = [r.messages[-1].content[0].text for r in world.provider.requests]  # type: ignore[union-attr]
    assert f"moved from {one}; the hidden shell moved there too" in blocks[1]
    assert f"which is in {two}." in blocks[2]
    assert "stayed: a command still runs in it" in blocks[2]


def test_a_model_that_ran_in_another_directory_is_left_there(world: World) -> None:
    world.provider.answers(said("a"), said("b"))
    sent = world.send("go")
    world.wait_end(sent.turn_id)
    shell = world.shells.for_conversation(sent.conversation_id, "/elsewhere", None)
    world.wait_end(world.send("go").turn_id)
    assert shell.moves == []


def test_command_lines_reach_the_preamble_redacted_and_nothing_else(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    world.provider.answers(said("a"))
    sent = world.send(
        "go",
        last_command="export API_TOKEN=abc; curl -H 'Authorization: Bearer xsecretx' http://h",
        recent_commands=(t.RecentCommand("echo harmless-words"),),
    )
    world.wait_end(sent.turn_id)
    block = world.provider.requests[0].messages[0].content[0].text  # type: ignore[union-attr]
    assert "API_TOKEN=[redacted]" in block
    assert "echo harmless-words" in block
    for event in world.stored(sent.conversation_id):
        assert "harmless-words" not in repr(event)
        assert "API_TOKEN" not in repr(event)
    assert "xsecretx" not in block
    assert b"xsecretx" not in world.database_bytes()
    assert "harmless-words" not in caplog.text
    assert "xsecretx" not in caplog.text


def test_a_failed_turn_is_part_of_the_history(world: World) -> None:
    world.provider.answers([TextDelta("half"), RuntimeError("bug")], said("b"))
    sent = world.send("one")
    assert isinstance(world.wait_end(sent.turn_id), ev.TurnFailed)
    world.wait_end(world.send("two").turn_id)
    assert texts_of(world.provider.requests[1])[:2] == [
        ("user", "<live_state>|one"),
        ("assistant", "half"),
    ]


def test_a_late_event_of_an_earlier_turn_does_not_move_it(world: World) -> None:
    """As that of a command that it left running."""
    world.provider.answers(calls(ONE), said("one"), said("two"), said("three"))
    first = world.send("first")
    world.wait_end(first.turn_id)
    world.wait_end(world.send("second").turn_id)
    call_id = world.wait(ev.ToolCallStarted).call_id
    late = ev.ToolCallOutputUpdated(turn_id=first.turn_id, call_id=call_id, tail="x", bytes=1)
    world.writer.append(Batch((NewEvent(first.conversation_id, late),))).result(LIMIT_S)
    world.wait_end(world.send("third").turn_id)
    before, after = (whole(request) for request in world.provider.requests[-2:])
    assert after[: len(before)] == before
