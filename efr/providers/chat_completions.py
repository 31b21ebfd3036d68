"""Any OpenAI-compatible server by its base URL, provider compatible; the key is optional.

A stream blocks the thread that iterates it. The mapping:

Request: POST <base>/chat/completions with `stream`; `Authorization: Bearer` only with a key.
- `model`, `messages`, `tools` (function form; left out when there are none), `max_tokens` (the
  configured limit, capped by the request's), `reasoning_effort` (only when an effort was chosen),
  option `parallel_tool_calls`. Nothing else is sent: many servers refuse what they do not know.
- `stream_options.include_usage` asks for the token count.
- A server that names one of these in a 400 or 422 is asked again in another form, and from then
  on this model is asked in that form alone: `stream_options` (left out), `parallel_tool_calls`
  (left out), `max_completion_tokens` (the limit's name), `reasoning_content` (sent back).
- The system prompt is a `system` message. Adjacent messages of one role are merged, texts with
  a blank line (chat templates of some models demand alternating roles).
- A call is an entry of the assistant's `tool_calls`, its arguments always the text of an object
  (freeform text or broken JSON goes as `{"input": …}`). Its result is a `tool` message right
  behind, in the order of the calls; a failed one starts with `Error: `; an open call gets a
  failed one. Images are `image_url` parts with a data URL. Reasoning is not sent back
  but where the server asks for it; the `extra_content` of a call is, as it came.

Stream, `choices[0].delta` (or `.message` of a server that answers in one piece):
- `content`, `refusal` (text or a list of text parts): text. `reasoning_content`, else
  `reasoning`: reasoning.
- `tool_calls[]`: a call starts when its name is known. Pieces are matched by index, without one
  by id, without both to the last call unless the piece brings a name. A new id with a name is a
  new call even at a used index. A missing id is made from the request (the same on a replay), a
  repeated one is told apart. Arguments may be an object. `function_call` is one more call,
  but of a server that tells each call in both forms.
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
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from efr.base.cancel import Cancel
from efr.providers import openai_errors
from efr.providers.canonical import EditTool, ModelFacts, Request, encode_message
from efr.providers.chat_request import BodyForm, build_body
from efr.providers.chat_stream import ChatReader
from efr.providers.error_facts import ErrorFacts
from efr.providers.errors import ApiError, ContextOverflow, ProviderError
from efr.providers.http import HttpAnswer, HttpCall, join_url
from efr.providers.model_call import ModelCalls, Reader, Span, error_reader
from efr.providers.provider import EventStream, Token
from efr.providers.retry import Verdict

BASE_URL_KEY: Final = "compatible.base_url"
_OVERFLOW: Final = re.compile(
    r"maximum context length|context size|context window|context length|too many tokens",
    re.IGNORECASE,
)
_OVERFLOW_TYPE: Final = "exceed_context_size_error"

_DIFFERENCES: Final[Sequence[tuple[str, Callable[[BodyForm], BodyForm]]]] = (
    ("stream_options", lambda form: replace(form, asks_usage=False)),
    ("max_completion_tokens", lambda form: replace(form, limit_name="max_completion_tokens")),
    ("parallel_tool_calls", lambda form: replace(form, says_parallel=False)),
    ("reasoning_content", lambda form: replace(form, returns_reasoning=True)),
)  # what a refusal names, and the form that its server takes

OptionalToken = Callable[[], Token | None]
"""The stored key, or None: this provider's key is optional."""


class CompatibleBackend(Struct, frozen=True):
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

    def __init__(self, backend: CompatibleBackend, token: OptionalToken, calls: ModelCalls) -> None:
        self._backend = backend
        self._token = token
        self._calls = calls
        self._forms: dict[str, BodyForm] = {}  # by model; what its server was found to take

    @property
    def id(self) -> str:
        return "compatible"

    def models(self) -> Sequence[ModelFacts]:
        return self._calls.models()

    def default_edit_tool(self) -> EditTool:
        return "edit"

    def stream(self, request: Request, cancel: Cancel) -> EventStream:
        """One model call."""

        def judge_event(facts: ErrorFacts) -> ProviderError:
            if _is_overflow(facts):
                return ContextOverflow(facts.message)
            return openai_errors.judge_event(facts, request.model, self._calls.now_us())

        def begin(span: Span) -> tuple[HttpAnswer, Reader]:
            token = self._token()
            answer = self._open(span, request, token, cancel)
            reader = ChatReader(error_reader(_secret(token), judge_event), _id_seed(request))
            return answer, reader

        return self._calls.run(request, begin)

    def _open(
        self, span: Span, request: Request, token: Token | None, cancel: Cancel
    ) -> HttpAnswer:
        """Sends; after a refusal that names a known difference, in the form it asks for."""

        def judge(status: int, facts: ErrorFacts, wait_s: float | None) -> Verdict:
            if status == 400 and _is_overflow(facts):
                return Verdict(ContextOverflow(facts.message))
            now_us = self._calls.now_us()
            return openai_errors.judge_status(status, facts, request.model, wait_s, now_us)

        form = self._forms.get(request.model, BodyForm())
        call = self._call(request, token, form)
        while True:
            try:
                return self._calls.send(span, call, cancel, _secret(token), judge)
            except ApiError as exc:
                form = form_after(exc, form)
                again = self._call(request, token, form)
                if again.body == call.body:
                    raise
            self._forms[request.model], call = form, again

    def _call(self, request: Request, token: Token | None, form: BodyForm) -> HttpCall:
        url = join_url(base_url_of(self._backend), "/chat/completions")
        facts = self._calls.facts(request.model)
        limits = [request.max_output_tokens, facts.max_output_tokens if facts else None]
        limit = min((limit for limit in limits if limit is not None), default=None)
        headers = {
            **authorize(token),
            "Accept": "text/event-stream",
            "Content-Type": "application/json",
        }
        body = build_body(request, limit, form)
        return HttpCall("POST", url, headers, body.encode(), record=True)


def form_after(refusal: ApiError, form: BodyForm) -> BodyForm:
    """The form that a refusal asks for; the same when it says nothing of it."""
    if refusal.status in (400, 422):
        for named, change in _DIFFERENCES:
            if named in refusal.message and change(form) != form:
                return change(form)
    return form


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
