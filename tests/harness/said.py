"""What the people of a conversation said and the model reads, worked out from the log alone."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from efr.agent.history import read_history
from efr.providers.canonical import Message, TextBlock, ToolResultBlock
from efr.store import db
from efr.wire import events as ev


def said_in_log(events: Sequence[tuple[int, ev.Event]]) -> list[str]:
    """The prompts of the turns that started and ended, in the order in which they started, each
    with the steers that a call read or that its end left unread."""
    prompts = {e.turn_id: e.text for _, e in events if isinstance(e, ev.PromptQueued)}
    resent = {seq for _, e in events if isinstance(e, ev.PromptQueued) for seq in e.steers}
    turns: dict[str, list[str]] = {}
    unread: dict[int, tuple[str, str]] = {}
    for seq, event in events:
        match event:
            case ev.TurnStarted(turn_id=turn_id):
                turns[turn_id] = [prompts[turn_id]]
            case ev.TurnSteered(turn_id=turn_id, text=text):
                unread[seq] = (turn_id, text)
            case ev.SteeringDelivered(turn_id=turn_id, steers=steers):
                turns[turn_id] += [unread.pop(one)[1] for one in steers]
            case ev.SteeringWithdrawn(steers=steers):
                for one in steers:
                    unread.pop(one)
            case _:
                pass
    for seq, (turn_id, text) in unread.items():
        if seq not in resent and turn_id in turns:  # else it came to a turn that never started
            turns[turn_id].append(text)
    return [text for texts in turns.values() for text in texts]


def said_to_model(messages: Sequence[Message]) -> list[str]:
    """The user's words in messages, without what efr puts before them."""
    found = []
    for message in messages:
        results = any(isinstance(block, ToolResultBlock) for block in message.content)
        texts = [block.text for block in message.content if isinstance(block, TextBlock)]
        if message.role == "user" and texts and not results:
            found.append(texts[-1])
    return found


def check_what_the_model_reads(database: Path) -> int:
    """That each conversation's next request holds what its people said, once and in order; returns
    how many texts that are. For conversations without a turn that runs and without a summary."""
    count = 0
    with closing(db.open(database, read_only=True)) as conn:
        for (conversation_id,) in conn.execute("SELECT id FROM conversations").fetchall():
            rows: Any = conn.execute(
                "SELECT seq, kind, payload FROM events WHERE conversation_id = ? ORDER BY seq",
                (conversation_id,),
            ).fetchall()
            events = [(seq, ev.decode_event(kind, text.encode())) for seq, kind, text in rows]
            history = read_history(conn, str(conversation_id))
            read = [text for turn in history.turns for text in said_to_model(turn.messages)]
            assert read == said_in_log(events)
            count += len(read)
    return count
