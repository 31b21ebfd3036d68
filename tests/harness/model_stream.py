"""Scripted answers, spelled as the event streams of three model APIs. Pure.

An answer is a list of pieces; each shape turns them into frames: bytes to send, or an action
(wait, break off, hang). The member order and the members follow the vendors' own types, which
tests/providers/test_vendor_clients.py holds this module to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

Json = Any


@dataclass(frozen=True)
class Action:
    """Something that is no bytes."""

    kind: Literal["wait", "break", "hang"]
    seconds: float = 0.0


Frame = bytes | Action


@dataclass(frozen=True)
class Call:
    """A tool call of a script."""

    name: str
    arguments: str
    call_id: str
    custom: bool = False

    def chunks(self, size: int) -> list[str]:
        return [self.arguments[at : at + size] for at in range(0, len(self.arguments), size)]


@dataclass(frozen=True)
class Answer:
    """One scripted answer; see `read_answer` for its JSON form."""

    pieces: list[dict[str, Json]] = field(default_factory=list)
    usage: dict[str, int] | None = None
    stop: str | None = None
    chunk_chars: int = 7  # of a call's arguments
    model: str = "fake-model"
    no_done: bool = False
    item: str = "1"  # makes ids of this answer different from those of others

    def calls(self, piece: dict[str, Json], first: int) -> list[Call]:
        given = piece["calls"] if "calls" in piece else [piece["call"]]
        return [
            Call(
                name=call["name"],
                arguments=call["arguments"]
                if isinstance(call["arguments"], str)
                else json.dumps(call["arguments"]),
                call_id=call.get("id", f"call_{self.item}_{first + number}"),
                custom=call.get("custom", False),
            )
            for number, call in enumerate(given)
        ]

    @property
    def has_calls(self) -> bool:
        return any("call" in piece or "calls" in piece for piece in self.pieces)

    def counts(self) -> dict[str, int]:
        return {"input": 0, "output": 0, "cached": 0, "reasoning": 0, "written": 0} | (
            self.usage or {}
        )


def read_answer(value: dict[str, Json], number: int) -> Answer:
    """The JSON form.

    {"pieces": [{"text": …} | {"reasoning": …} | {"call": {name, arguments, id?, custom?}}
      | {"calls": [… interleaved …]} | {"wait": seconds} | {"break": true} | {"hang": true}
      | {"malformed": text} | {"event": value}],
     "usage"?: {input, output, cached, reasoning, written}, "stop"?: …, "model"?: …,
     "no_done"?: true}
    """
    known = {
        key: value[key]
        for key in ("usage", "stop", "chunk_chars", "model", "no_done")
        if key in value
    }
    return Answer(pieces=value.get("pieces", []), item=str(number), **known)


def frames(shape: str, answer: Answer) -> Iterator[Frame]:
    """The frames of an answer in the shape of one API: responses, messages or chat."""
    return SHAPES[shape](answer)


def _sse(value: Json, event: str | None = None) -> bytes:
    head = f"event: {event}\n" if event else ""
    text = value if isinstance(value, str) else json.dumps(value)
    return f"{head}data: {text}\n\n".encode()


def _action(piece: dict[str, Json]) -> Frame | None:
    if "wait" in piece:
        return Action("wait", piece["wait"])
    if "break" in piece:
        return Action("break")
    if "hang" in piece:
        return Action("hang")
    if "malformed" in piece:
        return _sse(piece["malformed"])
    if "event" in piece:
        return _sse(piece["event"], piece["event"].get("type"))
    return None


# --- Responses API ---


class _Responses:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.number = -1
        self.output: list[dict[str, Json]] = []
        self.calls = 0

    def event(self, kind: str, **members: Json) -> bytes:
        self.number += 1
        return _sse({"type": kind, "sequence_number": self.number, **members}, kind)

    def response(self, status: str, **more: Json) -> dict[str, Json]:
        return {
            "id": f"resp_{self.answer.item}",
            "object": "response",
            "created_at": 1_791_000_000,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self.answer.model,
            "output": [],
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            **more,
        }

    def frames(self) -> Iterator[Frame]:
        yield self.event("response.created", response=self.response("in_progress"))
        yield self.event("response.in_progress", response=self.response("in_progress"))
        for piece in self.answer.pieces:
            action = _action(piece)
            if action is not None:
                yield action
            elif "text" in piece:
                yield from self.message(piece["text"])
            elif "reasoning" in piece:
                yield from self.reasoning(piece["reasoning"])
            else:
                yield from self.call(self.answer.calls(piece, self.calls))
        yield self.end()

    def end(self) -> bytes:
        counts = self.answer.counts()
        usage = {
            "input_tokens": counts["input"],
            "input_tokens_details": {
                "cached_tokens": counts["cached"],
                "cache_write_tokens": counts["written"],
            },
            "output_tokens": counts["output"],
            "output_tokens_details": {"reasoning_tokens": counts["reasoning"]},
            "total_tokens": counts["input"] + counts["output"],
        }
        more: dict[str, Json] = {"output": self.output}
        if self.answer.usage is not None:
            more["usage"] = usage
        match self.answer.stop:
            case "max_tokens":
                more["incomplete_details"] = {"reason": "max_output_tokens"}
            case "content_filter":
                more["incomplete_details"] = {"reason": "content_filter"}
            case _:
                return self.event("response.completed", response=self.response("completed", **more))
        return self.event("response.incomplete", response=self.response("incomplete", **more))

    def message(self, text: str | list[str]) -> Iterator[bytes]:
        pieces = [text] if isinstance(text, str) else text
        index, item_id = len(self.output), f"msg_{self.answer.item}_{len(self.output)}"
        where = {"item_id": item_id, "output_index": index, "content_index": 0}
        empty = {"type": "output_text", "text": "", "annotations": []}
        item = {"id": item_id, "type": "message", "role": "assistant"}
        yield self.event(
            "response.output_item.added",
            output_index=index,
            item={**item, "status": "in_progress", "content": []},
        )
        yield self.event("response.content_part.added", **where, part=empty)
        for piece in pieces:
            yield self.event("response.output_text.delta", **where, delta=piece, logprobs=[])
        whole = "".join(pieces)
        part = {**empty, "text": whole}
        yield self.event("response.output_text.done", **where, text=whole, logprobs=[])
        yield self.event("response.content_part.done", **where, part=part)
        done = {**item, "status": "completed", "content": [part]}
        self.output.append(done)
        yield self.event("response.output_item.done", output_index=index, item=done)

    def reasoning(self, text: str) -> Iterator[bytes]:
        index, item_id = len(self.output), f"rs_{self.answer.item}_{len(self.output)}"
        where = {"item_id": item_id, "output_index": index, "summary_index": 0}
        item = {"id": item_id, "type": "reasoning"}
        yield self.event(
            "response.output_item.added", output_index=index, item={**item, "summary": []}
        )
        part = {"type": "summary_text", "text": ""}
        yield self.event("response.reasoning_summary_part.added", **where, part=part)
        yield self.event("response.reasoning_summary_text.delta", **where, delta=text)
        yield self.event("response.reasoning_summary_text.done", **where, text=text)
        part = {**part, "text": text}
        yield self.event("response.reasoning_summary_part.done", **where, part=part)
        done = {**item, "summary": [part], "encrypted_content": f"sealed-{item_id}"}
        self.output.append(done)
        yield self.event("response.output_item.done", output_index=index, item=done)

    def call(self, calls: list[Call]) -> Iterator[bytes]:
        first = len(self.output)
        self.calls += len(calls)
        entries = []
        for number, call in enumerate(calls):
            member = "input" if call.custom else "arguments"
            item = {
                "id": f"{'ctc' if call.custom else 'fc'}_{self.answer.item}_{first + number}",
                "type": "custom_tool_call" if call.custom else "function_call",
                "call_id": call.call_id,
                "name": call.name,
            }
            if not call.custom:
                item["status"] = "in_progress"
            entries.append((first + number, call, member, item))
            yield self.event(
                "response.output_item.added",
                output_index=first + number,
                item={**item, member: ""},
            )
        chunks = [call.chunks(self.answer.chunk_chars) for _, call, _, _ in entries]
        for step in range(max((len(c) for c in chunks), default=0)):  # interleaved
            for (index, call, _, item), pieces in zip(entries, chunks, strict=True):
                if step < len(pieces):
                    yield self.event(
                        f"response.{_family(call)}.delta",
                        item_id=item["id"],
                        output_index=index,
                        delta=pieces[step],
                    )
        for index, call, member, item in entries:
            named = {} if call.custom else {"name": call.name}
            yield self.event(
                f"response.{_family(call)}.done",
                item_id=item["id"],
                output_index=index,
                **named,
                **{member: call.arguments},
            )
            done = {**item, member: call.arguments}
            if not call.custom:
                done["status"] = "completed"
            self.output.append(done)
            yield self.event("response.output_item.done", output_index=index, item=done)


def _family(call: Call) -> str:
    return "custom_tool_call_input" if call.custom else "function_call_arguments"


def _responses(answer: Answer) -> Iterator[Frame]:
    return _Responses(answer).frames()


# --- Messages API ---

_MESSAGE_STOPS = {"content_filter": "refusal"}


def _messages(answer: Answer) -> Iterator[Frame]:
    counts = answer.counts()
    usage = {
        "input_tokens": counts["input"] - counts["cached"] - counts["written"],
        "cache_creation_input_tokens": counts["written"],
        "cache_read_input_tokens": counts["cached"],
        "cache_creation": {
            "ephemeral_5m_input_tokens": counts["written"],
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": 1,
    }
    yield _event(
        "message_start",
        message={
            "id": f"msg_{answer.item}",
            "type": "message",
            "role": "assistant",
            "model": answer.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        },
    )
    yield _event("ping")
    index = calls = 0
    for piece in answer.pieces:
        action = _action(piece)
        if action is not None:
            yield action
        elif "text" in piece:
            texts = [piece["text"]] if isinstance(piece["text"], str) else piece["text"]
            deltas = [{"type": "text_delta", "text": text} for text in texts]
            yield from _block(index, {"type": "text", "text": ""}, deltas)
            index += 1
        elif "reasoning" in piece:
            thinking = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": piece["reasoning"]},
                {"type": "signature_delta", "signature": f"sig-{answer.item}-{index}=="},
            ]
            yield from _block(index, thinking, deltas)
            index += 1
        else:
            for call in answer.calls(piece, calls):
                start: Json = {"type": "tool_use", "id": call.call_id, "name": call.name}
                start["input"] = {}
                deltas = [
                    {"type": "input_json_delta", "partial_json": text}
                    for text in ["", *call.chunks(answer.chunk_chars)]
                ]
                yield from _block(index, start, deltas)
                index += 1
                calls += 1
    reason = answer.stop or ("tool_use" if answer.has_calls else "end_turn")
    yield _event(
        "message_delta",
        delta={"stop_reason": _MESSAGE_STOPS.get(reason, reason), "stop_sequence": None},
        usage={
            "output_tokens": counts["output"],
            "output_tokens_details": {"thinking_tokens": counts["reasoning"]},
        },
    )
    yield _event("message_stop")


def _block(index: int, start: Json, deltas: list[Json]) -> Iterator[bytes]:
    yield _event("content_block_start", index=index, content_block=start)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(kind: str, **members: Json) -> bytes:
    return _sse({"type": kind, **members}, kind)


# --- Chat completions ---

_CHAT_STOPS = {"max_tokens": "length", "end_turn": "stop", "tool_use": "tool_calls"}


def _chat(answer: Answer) -> Iterator[Frame]:
    def chunk(delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _sse({**head, "choices": [choice]})

    head = {
        "id": f"chatcmpl-{answer.item}",
        "object": "chat.completion.chunk",
        "created": 1_791_000_000,
        "model": answer.model,
    }
    yield chunk({"role": "assistant", "content": ""})
    calls = 0
    for piece in answer.pieces:
        action = _action(piece)
        if action is not None:
            yield action
        elif "text" in piece:
            for text in [piece["text"]] if isinstance(piece["text"], str) else piece["text"]:
                yield chunk({"content": text})
        elif "reasoning" in piece:
            yield chunk({"reasoning_content": piece["reasoning"]})
        else:
            group = answer.calls(piece, calls)
            yield from map(chunk, _chat_calls(group, calls, answer.chunk_chars))
            calls += len(group)
    reason = answer.stop or ("tool_use" if calls else "end_turn")
    yield chunk({}, _CHAT_STOPS.get(reason, reason))
    if answer.usage is not None:
        counts = answer.counts()
        usage = {
            "prompt_tokens": counts["input"],
            "completion_tokens": counts["output"],
            "total_tokens": counts["input"] + counts["output"],
            "prompt_tokens_details": {"cached_tokens": counts["cached"]},
            "completion_tokens_details": {"reasoning_tokens": counts["reasoning"]},
        }
        yield _sse({**head, "choices": [], "usage": usage})
    if not answer.no_done:
        yield b"data: [DONE]\n\n"


def _chat_calls(calls: list[Call], first: int, size: int) -> Iterator[Json]:
    for number, call in enumerate(calls):
        entry = {
            "index": first + number,
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }
        yield {"tool_calls": [entry]}
    chunks = [call.chunks(size) for call in calls]
    for step in range(max((len(c) for c in chunks), default=0)):  # interleaved
        for number, pieces in enumerate(chunks):
            if step < len(pieces):
                entry = {"index": first + number, "function": {"arguments": pieces[step]}}
                yield {"tool_calls": [entry]}


SHAPES: dict[str, Callable[[Answer], Iterator[Frame]]] = {
    "responses": _responses,
    "messages": _messages,
    "chat": _chat,
}
