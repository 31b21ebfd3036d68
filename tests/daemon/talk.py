"""A model for long talks with a real daemon: what it says is a function of a seed, it counts tokens
as its request's size, and it keeps what it was asked. The checks of what it was asked are here too.
Serves the three API shapes on a thread of its own."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

from efr.agent.context import STUB
from tests.harness import model_server
from tests.harness.model_server import SHAPES, Script, Server

Json = Any

FACT = re.compile(r"FACT-\d+")
SUMMARY = "Write a summary of all"
_MARKER = re.compile(r',"cache_control":\{[^}]*\}')
_TOO_LONG = {
    "messages": ("invalid_request_error", None, "prompt is too long: {0} tokens > {1} maximum"),
    "responses": ("invalid_request_error", "context_length_exceeded", "{0} of {1}"),
    "chat": ("invalid_request_error", "context_length_exceeded", "{0} of {1}"),
}


@dataclass(frozen=True)
class Asked:
    """One request."""

    text: str
    tokens: int
    window: int
    after_kill: int  # how often the daemon was killed before it

    @property
    def body(self) -> Json:
        return json.loads(self.text)

    @property
    def messages(self) -> list[Json]:
        body = self.body
        found: list[Json] = body["input"] if "input" in body else body["messages"]
        return found

    @property
    def is_side(self) -> bool:
        return SUMMARY in json.dumps(self.messages[-1])

    @property
    def refused(self) -> bool:
        return self.tokens > self.window

    @property
    def facts(self) -> set[str]:
        return set(FACT.findall(self.text))

    @property
    def form(self) -> str:
        """The part that the provider's cache reads, without its markers, up to its end."""
        body = json.loads(_MARKER.sub("", self.text))
        head = [body.get("system"), body.get("instructions"), body["tools"]]
        parts = [json.dumps(one) for one in (*head, *_flat(self._of(body)))]
        return "".join(parts).rstrip('"}]')

    @staticmethod
    def _of(body: Json) -> list[Json]:
        found: list[Json] = body["input"] if "input" in body else body["messages"]
        return found


def _flat(messages: list[Json]) -> Iterator[Json]:
    """Each block of a message by itself: a message of one role may grow."""
    for message in messages:
        if "type" not in message and isinstance(message["content"], list):
            yield from ([message["role"], block] for block in message["content"])
        else:
            yield message


class Talker:
    """The model."""

    def __init__(self, seed: int, windows: dict[str, int]) -> None:
        self.asked: list[Asked] = []
        self.kills = 0
        self._dice = random.Random(seed)
        self._windows = windows
        self._lock = threading.Lock()
        talker = self

        class Handler(model_server.Handler):
            script = Script({"models": [{"id": name} for name in windows]})

            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers["content-length"])).decode()
                path = self.path.partition("?")[0]
                shape = next(name for end, name in SHAPES.items() if path.endswith(end))
                number, answer = talker.answer(shape, text)
                try:
                    self._play(shape, number, answer)
                except OSError:
                    self.close_connection = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, shape: str, text: str) -> tuple[int, Json]:
        """The number of the request, and the answer in the form of the model server."""
        window = self._windows[json.loads(text)["model"]]
        asked = Asked(text, len(text.encode()) // 4, window, self.kills)
        with self._lock:
            self.asked.append(asked)
            number = len(self.asked)
            if asked.refused:
                kind, code, words = _TOO_LONG[shape]
                error = {"type": kind, "code": code, "message": words.format(asked.tokens, window)}
                return number, {"error": {"status": 400, "body": {"error": error}}}
            return number, self._said(asked) | {"usage": self._usage(asked)}

    def _usage(self, asked: Asked) -> Json:
        """Some answers have no count."""
        told = self._dice.random() < 0.9
        return {"input": asked.tokens, "output": 40} if told else {"input": 0, "output": 0}

    def _said(self, asked: Asked) -> Json:
        if asked.is_side:
            facts = " ".join(sorted(asked.facts))
            return {"pieces": [{"text": f"## Task and state\n{facts}\n"}]}
        chance = self._dice.random()
        if chance < 0.03:
            return {"pieces": [{"text": "part of it"}, {"break": True}]}
        pieces: list[Json] = [{"reasoning": "hm " * 9}] if self._dice.random() < 0.4 else []
        if chance > 0.5:
            return {"pieces": [*pieces, {"text": "größe 🙂 " * self._dice.randrange(1, 200)}]}
        lines = self._dice.choice((1, 10, 300, 3000, 30_000))
        command = {"command": f"head -n {lines} lots.txt"}
        calls: list[Json] = [{"name": "shell", "arguments": command}]
        if self._dice.random() < 0.3:
            calls.append({"name": "read_file", "arguments": {"path": "notes.txt"}})
        if self._dice.random() < 0.1:
            calls.append({"name": "no_such_tool", "arguments": {}})
        return {"pieces": [*pieces, {"text": "I look. "}, {"calls": calls}]}


def faults(asked: list[Asked]) -> list[str]:
    """What no provider takes, and what costs its cache without a reason."""
    found = [f"request {n}: {one}" for n, a in enumerate(asked) for one in _unanswered(a.messages)]
    found += [
        f"request {n}: {a.tokens} of {a.window} tokens"
        for n, a in enumerate(asked)
        if a.tokens > a.window * 95 // 100
    ]
    turns = [(n, one) for n, one in enumerate(asked) if not one.is_side]
    for (first, before), (number, after) in pairwise(turns):
        between = asked[first + 1 : number]
        if between or before.refused or before.body["model"] != after.body["model"]:
            continue  # a summary, or another model
        if before.after_kill != after.after_kill:
            continue  # a turn that was cut has no live state any more
        if after.text.count(STUB) > before.text.count(STUB):
            continue  # outputs were pruned
        if not after.form.startswith(before.form):
            found.append(f"request {number} does not start with the one before")
    return found


def _unanswered(messages: list[Json]) -> Iterator[str]:
    """Calls without results right behind them, and results without calls."""
    calls: list[str] = []
    for message in messages:
        for kind, name in _ids(message):
            if kind == "call":
                calls.append(name)
            elif name in calls:
                calls.remove(name)
            else:
                yield f"a result of {name} without its call"
        is_item = "type" in message  # an item of the Responses API may stand in between
        if not is_item and message["role"] == "assistant" and calls and not _has_calls(message):
            yield f"no result of {calls}"
    if calls:
        yield f"no result of {calls}"


def _has_calls(message: Json) -> bool:
    return any(kind == "call" for kind, _ in _ids(message))


def _ids(message: Json) -> Iterator[tuple[str, str]]:
    match message:
        case {"type": "function_call" | "custom_tool_call", "call_id": name}:
            yield "call", name
        case {"type": "function_call_output" | "custom_tool_call_output", "call_id": name}:
            yield "result", name
        case {"role": "tool", "tool_call_id": name}:
            yield "result", name
        case {"role": "assistant", "tool_calls": [*calls]}:
            yield from (("call", one["id"]) for one in calls)
        case {"content": [*blocks]}:
            for block in blocks:
                if block["type"] == "tool_use":
                    yield "call", block["id"]
                elif block["type"] == "tool_result":
                    yield "result", block["tool_use_id"]
