from __future__ import annotations

from efr.wire import events as ev
from efr.wire import types as t
from tests.agent.scripted_model import calls, said, texts_of
from tests.agent.world import World


def test_a_first_prompt_runs_from_conversation_created_to_turn_completed(world: World) -> None:
    world.provider.answers(said("hello"))
    sent = world.send("  \n say hello\n")
    world.wait_end(sent.turn_id)

    assert world.kinds(sent.conversation_id) == [
        "conversation_created",
        "prompt_queued",
        "turn_started",
        "assistant_message_completed",
        "turn_completed",
    ]
    assert sent.seq == 2
    assert not sent.queued
