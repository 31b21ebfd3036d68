"""Any OpenAI-compatible server by its base URL, provider compatible; the key is optional.

A stream blocks the thread that iterates it. The mapping:

Request: POST <base>/chat/completions with `stream`; `Authorization: Bearer` only with a key.
- `model`, `messages`, `tools` (function form; left out when there are none), `max_tokens` (the
  configured limit, capped by the request's), `reasoning_effort` (only when an effort was chosen),
  option `parallel_tool_calls`. Nothing else is sent: many servers refuse what they do not know.
- `stream_options.include_usage` asks for the token count. A server that names it in a 400 or 422
  is asked again without it, and from then on never again.
- The system prompt is a `system` message. Adjacent messages of one role are merged, texts with
  a blank line (chat templates of some models demand alternating roles).
- A call is an entry of the assistant's `tool_calls`, its arguments always the text of an object
  (freeform text or broken JSON goes as `{"input": …}`). Its result is a `tool` message right
  behind, in the order of the calls; a failed one starts with `Error: `; an open call gets a
  failed one. Images are `image_url` parts with a data URL. Reasoning is not sent back.

Stream, `choices[0].delta` (or `.message` of a server that answers in one piece):
- `content`, `refusal` (text or a list of text parts): text. `reasoning_content`, else
  `reasoning`: reasoning.
- `tool_calls[]`: a call starts when its name is known. Pieces are matched by index, without one
  by id, without both to the last call unless the piece brings a name. A new id with a name is a
  new call even at a used index. A missing id is made from the request (the same on a replay), a
  repeated one is told apart. Arguments may be an object. `function_call` is one more call.
- `finish_reason`: `length` is max_tokens, `content_filter` itself, all else tool_use with a call
  and end_turn without. Calls end there: complete, except that after `length` a call whose
  arguments are no whole object is invalid_stream. Empty arguments are `{}`.
- `usage` (last one counts) may come with any chunk, or never. `[DONE]` ends; so does the end of
  the connection after a finish reason; before one it is incomplete. An `error` object ends.

Errors are those of openai_errors, plus the words of servers that tell an overflow in a 400.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from efr.base.cancel import Cancel
from efr.providers import openai_errors
from efr.providers.canonical import EditTool, Json, ModelFacts, Request, encode_message
from efr.providers.chat_request import build_body
from efr.providers.chat_stream import ChatReader
from efr.providers.errors import (
    ApiError,
    ContextOverflow,
    DecodeFailed,
    Incomplete,
    ProviderError,
    Unauthorized,
)
from efr.providers.http import HttpAnswer, HttpCall, join_url
from efr.providers.key_watch import KeyWatch
from efr.providers.model_call import CallLog, read_stream
from efr.providers.openai_errors import ErrorFacts
from efr.providers.provider import EventStream, Token
from efr.providers.provider_json import NotJson, parse
from efr.providers.retry import Sender, Verdict, send_with_retries, server_wait_s

BASE_URL_KEY: Final = "compatible.base_url"
_OVERFLOW: Final = re.compile(
    r"maximum context length|context size|context window|context length|too many tokens",
    re.IGNORECASE,
)
_OVERFLOW_TYPE: Final = "exceed_context_size_error"

OptionalToken = Callable[[], Token | None]
"""The stored key, or None: this provider's key is optional."""


@dataclass(frozen=True)
class CompatibleBackend:
    """Where the calls go; None while no server is configured."""

    base_url: str | None


def authorize(token: Token | None) -> dict[str, str]:
    """The headers that every request carries."""
    return {} if token is None else {"Authorization": f"Bearer {token.secret}"}


def base_url_of(backend: CompatibleBackend) -> str:
    """Raises ApiError naming the key when none is set."""
    if backend.base_url is None:
        raise ApiError(None, "no_base_url", f"{BASE_URL_KEY} is not set")
    return backend.base_url


class ChatProvider:
    """One compatible server."""

    def __init__(
        self,
        backend: CompatibleBackend,
        token: OptionalToken,
        models: Callable[[], Sequence[ModelFacts]],
        sender: Sender,
        keys: KeyWatch,
        calls: CallLog,
    ) -> None:
        self._backend = backend
        self._token = token
        self._models = models
        self._sender = sender
        self._keys = keys
        self._calls = calls
        self._asks_usage = True  # written once by whichever call learns otherwise

    @property
    def id(self) -> str:
        return "compatible"

    def models(self) -> Sequence[ModelFacts]:
        return self._models()

    def default_edit_tool(self) -> EditTool:
        return "edit"

    def stream(self, request: Request, cancel: Cancel) -> EventStream:
        """One model call."""
        gap = self._calls.begin(request)
        generation = self._keys.begin()
        token = self._token()
        try:
            answer = self._open(request, token, cancel)
        except Unauthorized:
            self._keys.call_refused(generation)
            raise
        self._calls.answered(self.id, request, answer.header("x-request-id"), gap)
        reader = ChatReader(self._error_reader(request, token), _id_seed(request))
        if "json" in (answer.header("content-type") or ""):
            yield from _whole_answer(answer, reader)
            self._keys.call_worked(generation)
            return
        yield from read_stream(
            answer, reader, lambda: self._keys.call_worked(generation), self._sender.transcript
        )

    def _open(self, request: Request, token: Token | None, cancel: Cancel) -> HttpAnswer:
        judge = self._judge(request, token)
        try:
            return send_with_retries(
                self._sender, self._call(request, token, self._asks_usage), cancel, judge
            )
        except ApiError as exc:
            refused = exc.status in (400, 422) and "stream_options" in exc.message
            if not refused or not self._asks_usage:
                raise
        self._asks_usage = False
        return send_with_retries(self._sender, self._call(request, token, False), cancel, judge)

    def _call(self, request: Request, token: Token | None, usage: bool) -> HttpCall:
        url = join_url(base_url_of(self._backend), "/chat/completions")
        facts = next((facts for facts in self.models() if facts.id == request.model), None)
        limits = [request.max_output_tokens, facts.max_output_tokens if facts else None]
        limit = min((limit for limit in limits if limit is not None), default=None)
        headers = {
            **authorize(token),
            "Accept": "text/event-stream",
            "Content-Type": "application/json",
        }
        body = build_body(request, limit, usage)
        return HttpCall("POST", url, headers, body.encode(), record=True)

    def _judge(
        self, request: Request, token: Token | None
    ) -> Callable[[HttpAnswer, bytes], Verdict]:
        def judge(answer: HttpAnswer, body: bytes) -> Verdict:
            now_us = self._sender.clock.now_us()
            facts = openai_errors.read_body(body, answer.reason, _secret(token))
            if answer.status == 400 and _is_overflow(facts):
                return Verdict(ContextOverflow(facts.message))
            wait_s = server_wait_s(answer.header, now_us)
            return openai_errors.judge_status(answer.status, facts, request.model, wait_s, now_us)

        return judge

    def _error_reader(
        self, request: Request, token: Token | None
    ) -> Callable[[Json], ProviderError]:
        def read_error(value: Json) -> ProviderError:
            facts = openai_errors.read_value(value, "the answer failed", _secret(token))
            if _is_overflow(facts):
                return ContextOverflow(facts.message)
            return openai_errors.judge_event(facts, request.model, self._sender.clock.now_us())

        return read_error


def _whole_answer(answer: HttpAnswer, reader: ChatReader) -> EventStream:
    try:
        value = parse(answer.read_all().decode("utf-8", "replace"))
    except NotJson as exc:
        raise DecodeFailed(str(exc)) from exc
    if not isinstance(value, dict):
        raise DecodeFailed("an answer that is no object")
    yield from reader.feed_value(value)
    yield from reader.end()
    if not reader.finished:
        raise Incomplete


def _is_overflow(facts: ErrorFacts) -> bool:
    return facts.type == _OVERFLOW_TYPE or _OVERFLOW.search(facts.message) is not None


def _secret(token: Token | None) -> str | None:
    return None if token is None else token.secret


def _id_seed(request: Request) -> str:
    """Eight characters that tell this request from the others of its conversation.

    It has one more answered call or prompt than any before it, and the newest message is new.
    """
    newest = encode_message(request.messages[-1]) if request.messages else b""
    return hashlib.sha256(b"%d " % len(request.messages) + newest).hexdigest()[:8]
