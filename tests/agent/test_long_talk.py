"""A conversation of 300 turns in a small window: compacted again and again, it forgets nothing that
was stated, never sends a request that is too large, and a restart changes no request."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from efr.agent.accounting import estimate_request
from efr.agent.frame import frame_of
from efr.agent.history import context_of, read_history
from efr.agent.settings import resolve
from efr.base.cancel import Cancel
from efr.providers.canonical import (
    CallUsage,
    Done,
    Message,
    ModelFacts,
    Request,
    StreamEvent,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallEnd,
    ToolCallStart,
    ToolResultBlock,
    UsageEvent,
    encode_message,
)
from efr.providers.provider import EventStream
from efr.tools.registry import ToolRegistry
from efr.wire import codec
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from tests.agent.scripted_model import ScriptedModels, ScriptedProvider
from tests.agent.world import World

WINDOW, CAP = 32_000, 30_400
TURNS = 300
WORDS = ("lorem", "ipsum", "dolor", "sit", "amet")
FACT = re.compile(r"FACT-[A-Z]+-\d+")
SMALL = ModelFacts("small-1", context_window=WINDOW, edit_tool="edit")


class Reader(ScriptedProvider):
    """A model that reads files and keeps facts: what it says is a function of the request alone,
    and it counts tokens as the estimate does."""

    def __init__(self, world: World) -> None:
        super().__init__(SMALL)
        self.world = world
        self.checks = 0
        self._compacted = False

    def stream(self, request: Request, cancel: Cancel) -> EventStream:
        self.requests.append(request)
        tokens = estimate_request(request)
        assert tokens <= CAP, f"a request of {tokens} tokens"
        if request.side_call:
            self._compacted = True
        elif self._compacted or len(self.requests) % 9 == 0:
            self._compacted = False
            self._compare_with_the_log(request)
        said = 0
        for event in self._answer(request):
            said += len(event.text) if isinstance(event, TextDelta) else 40
            yield event
        yield UsageEvent(CallUsage(tokens, said // 4))
        calls = not request.side_call and len(_results(request)) < _wanted(request)
        yield Done("tool_use" if calls else "end_turn")

    def _answer(self, request: Request) -> Iterator[StreamEvent]:
        if request.side_call:
            facts = sorted({fact for one in request.messages for fact in _facts(one)})
            yield TextDelta("## Task and state\n" + "\n".join(f"- {fact}" for fact in facts))
            return
        read = len(_results(request))
        if read < _wanted(request):
            name = f"{(_number(request) * 3 + read) % 12}.txt"
            path = str(self.world.home / "notes" / name)
            call_id = f"call-{_number(request)}-{read}"
            yield ToolCallStart(call_id, "read_file")
            yield ToolCallEnd(call_id, codec.encode({"path": path}).decode())
            return
        for word in f"turn {_number(request)} is done, and this is what I found in it".split():
            yield TextDelta(word + " ")

    def _compare_with_the_log(self, request: Request) -> None:
        """What a daemon that was killed now would send again is what was sent."""
        self.checks += 1
        world = self.world
        conversation_id = request.conversation_id or ""
        history = world.readers.read(lambda conn: read_history(conn, conversation_id, running=True))
        resolved = resolve(
            t.TurnSettings(), world.settings, world.models, world.limits, remote=False
        )
        frame = frame_of(conversation_id, resolved, world.settings, world.tools.definitions())
        rebuilt = context_of(history, frame).messages()
        assert _comparable(rebuilt) == _comparable(request.messages)
        ended = world.readers.read(lambda conn: read_history(conn, conversation_id))
        exact = [encode_message(one) for one in context_of(ended, frame).messages()]
        assert exact == [encode_message(one) for one in request.messages[: len(exact)]]


def _comparable(messages: Sequence[Message]) -> list[str]:
    """Without what a rebuild cannot know: the live state of a prompt and the provider's own ids."""
    shown = []
    names: dict[str, str] = {}
    for message in messages:
        blocks = []
        for block in message.content:
            if isinstance(block, TextBlock) and block.text.startswith("<live_state>"):
                continue
            if isinstance(block, ToolCallBlock | ToolResultBlock):
                text = encode_message(Message(message.role, (block,))).decode()
                name = names.setdefault(block.call_id, f"call {len(names)}")
                blocks.append(text.replace(block.call_id, name))
            else:
                blocks.append(str(block))
        shown.append(f"{message.role}: {blocks}")
    return shown


def _facts(message: Message) -> list[str]:
    return FACT.findall("\n".join(b.text for b in message.content if isinstance(b, TextBlock)))


def _results(request: Request) -> list[ToolResultBlock]:
    """The results since the newest prompt, or since the tail when the prompt is in a summary."""
    found: list[ToolResultBlock] = []
    for message in reversed(request.messages):
        results = [block for block in message.content if isinstance(block, ToolResultBlock)]
        if message.role == "user" and not results:
            break
        found += results
    return found


def _number(request: Request) -> int:
    """Of the newest turn that the request tells of."""
    for message in reversed(request.messages):
        for word in re.findall(r"prompt (\d+)|call-(\d+)-", encode_message(message).decode()):
            return int(word[0] or word[1])
    return 0


def _wanted(request: Request) -> int:
    return _number(request) % 3


STATED = {3: "FACT-STATED-3", 120: "FACT-STATED-120"}
FOCUS_AT, FOCUS = 200, "FACT-FOCUS-200"


def talk(folder: Path, turns: int, restarts: Collection[int]) -> tuple[Reader, list[ev.Event]]:
    """So many turns; a restart before each of those. The model, and the events of the log."""
    dice = random.Random(32)
    folder.mkdir()
    world = World(folder)
    notes = world.home / "notes"
    notes.mkdir()
    for number in range(12):
        (notes / f"{number}.txt").write_text(f"note {number} " * (150 + 90 * number))
    model = Reader(world)
    world.provider = model
    world.models = ScriptedModels(model, lambda: world.settings)
    world.tools = ToolRegistry()  # type: ignore[assignment]
    conversation_id = ""
    with world:
        for number in range(turns):
            if number in restarts:
                world.restart()
            if number == FOCUS_AT:
                params = m.ConversationCompactParams(
                    command_id=world.ids.new(), conversation_id=conversation_id, focus=FOCUS
                )
                world.agent.conversation_compact(params, Cancel())
            filler = " ".join(dice.choice(WORDS) for _ in range(60))
            text = f"prompt {number}: {STATED.get(number, '')} {filler}"
            sent = world.send(text, conversation_id=conversation_id or None)
            conversation_id = sent.conversation_id
            assert isinstance(world.wait_end(sent.turn_id), ev.TurnCompleted)
        return model, world.stored(conversation_id)


def test_three_hundred_turns_in_a_small_window(tmp_path: Path) -> None:
    restarts = random.Random(5).sample(range(1, TURNS), 12)
    model, events = talk(tmp_path / "one", TURNS, restarts)
    done = [event for event in events if isinstance(event, ev.ConversationCompacted)]
    assert len([one for one in done if one.trigger.value == "auto"]) >= 5
    summaries = [one.summary for one in done if one.summary is not None]  # others only prune
    assert set(FACT.findall(summaries[-1])) == {*STATED.values(), FOCUS}
    assert model.checks >= 50
    assert _breaks(model.requests) <= len(done)


def test_with_restarts_each_request_is_the_one_without(tmp_path: Path) -> None:
    turns = 24
    whole, events = talk(tmp_path / "one", turns, ())
    again, _ = talk(tmp_path / "two", turns, range(1, turns))
    assert any(isinstance(event, ev.ConversationCompacted) for event in events)
    assert _sent(again, tmp_path / "two") == _sent(whole, tmp_path / "one")


def _sent(model: Reader, folder: Path) -> list[list[bytes]]:
    """Every byte of every request, without what names the folder and the conversation."""
    ids = re.compile(re.escape(bytes(folder)) + rb"(?:/efr/data/scratch/[\w-]+)?")
    return [[ids.sub(b"NAME", encode_message(one)) for one in r.messages] for r in model.requests]


def _breaks(requests: Sequence[Request]) -> int:
    """How many requests do not start with the bytes of the one before: only a compaction may."""
    before: list[bytes] = []
    breaks = 0
    for request in requests:
        if request.side_call:
            continue
        messages = [encode_message(message) for message in request.messages]
        breaks += messages[: len(before)] != before
        before = messages
    return breaks
