"""Recorded answers with events lost, doubled, swapped or changed: a ProviderError or an answer.

Whatever a server sends, nothing else may come out of a reader, what comes out can be stored, and
the next request can be built from it. The seed is fixed: a failure is the same each time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from efr.providers import anthropic_request, chat_request, openai_request
from efr.providers.anthropic_cache import Lifetimes
from efr.providers.canonical import (
    Message,
    Request,
    StreamFold,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    decode_message,
    encode_event,
    encode_message,
)
from efr.providers.chat_request import BodyForm
from efr.providers.errors import ProviderError
from efr.providers.openai_request import BodyFacts
from efr.providers.sse import ServerEvent, SseDecoder
from tests.providers.recorded import NAMES, reader_of, stream

ROUNDS = 60  # for each recording
STRANGE: list[Any] = [
    None,
    True,
    -1,
    0,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    [1],
    {},
    {"a": 1},
    [{}],
    [[]],
    2**64 - 1,
    1e300,
]
SHELL = ToolDefinition("shell", "Runs.", {"type": "object"})


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(inner, (*path, key))


def changed(event: ServerEvent, random: Random) -> ServerEvent:
    """The event with one value replaced, or one member left out."""
    if event.data == "[DONE]":
        return event
    root = {"": json.loads(event.data)}
    *way, last = ("", *random.choice(list(paths(root[""]))))
    place: Any = root
    for key in way:
        place = place[key]
    if way and isinstance(place, dict) and random.random() < 0.3:
        del place[last]
    else:
        place[last] = random.choice(STRANGE)
    return ServerEvent(event.type, json.dumps(root[""]))


def spoilt(name: str, random: Random) -> list[ServerEvent]:
    events = SseDecoder().feed(stream(name))
    for _ in range(random.randint(1, 3)):
        at, other = random.randrange(len(events)), random.randrange(len(events))
        match random.choice(["lost", "doubled", "swapped", "changed", "changed", "changed"]):
            case "lost" if len(events) > 1:
                del events[at]
            case "doubled":
                events.insert(at, events[other])
            case "swapped":
                events[at], events[other] = events[other], events[at]
            case _:
                events[at] = changed(events[at], random)
    return events


def read(name: str, events: list[ServerEvent]) -> Message:
    """Raises ProviderError."""
    reader, fold = reader_of(name), StreamFold()
    for event in events:
        if not reader.finished:
            for one in reader.feed(event):
                encode_event(one)
                fold.feed(one)
    for one in reader.end():
        fold.feed(one)
    return decode_message(encode_message(fold.result().message))


def next_body(name: str, answer: Message, tools: tuple[ToolDefinition, ...]) -> bytes:
    results = [ToolResultBlock(call.call_id, "out") for call in answer.calls]
    after = Message("user", (*results, TextBlock("go on")))
    request = Request("m", (Message("user", (TextBlock("hi"),)), answer, after), tools=tools)
    match name.partition("-")[0]:
        case "responses":
            text = openai_request.build_body(request, BodyFacts(True, None))
        case "messages":
            text = anthropic_request.build_body(request, 9, "low", Lifetimes("auto")).text
        case _:
            text = chat_request.build_body(request, None, BodyForm(returns_reasoning=True))
    return text.encode()


@pytest.mark.parametrize("name", NAMES)
def test_a_spoilt_answer_is_a_failure_or_an_answer(name: str) -> None:
    random = Random(name)
    read_whole = 0
    for _ in range(ROUNDS):
        events = spoilt(name, random)
        try:
            answer = read(name, events)
        except ProviderError:
            continue
        read_whole += 1
        for tools in ((SHELL,), ()):
            json.loads(next_body(name, answer, tools))

    assert 0 < read_whole < ROUNDS
