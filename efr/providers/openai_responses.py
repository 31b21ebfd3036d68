"""The OpenAI Responses API over HTTP: the subscription's backend and the public API.

A stream blocks the thread that iterates it. The body is built in openai_request, the events are
read in openai_stream, errors in openai_errors; this module sends, authorizes and refreshes once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from efr.base.cancel import Cancel
from efr.providers import openai_errors
from efr.providers.canonical import EditTool, ModelFacts, Request
from efr.providers.error_facts import ErrorFacts
from efr.providers.errors import ProviderError, Unauthorized
from efr.providers.http import HttpAnswer, HttpCall, join_url
from efr.providers.model_call import ModelCalls, Reader, Span, error_reader
from efr.providers.openai_request import BodyFacts, build_body, cache_key
from efr.providers.openai_stream import ResponsesReader
from efr.providers.provider import EventStream, Token, TokenSource
from efr.providers.retry import Verdict

SUBSCRIPTION_BASE_URL: Final = "https://chatgpt.com/backend-api/codex"
API_BASE_URL: Final = "https://api.openai.com/v1"

HeaderValues = Mapping[str, str]


class Backend(Struct, frozen=True):
    """Where the calls go and what goes with them."""

    id: str  # openai or openai-api
    base_url: str
    headers: HeaderValues = field(default_factory=dict)
    subscription: bool = False  # account and session headers, no output limit


def authorize(backend: Backend, token: Token) -> dict[str, str]:
    """The headers that every request of this backend carries."""
    headers = {"Authorization": f"Bearer {token.secret}", **backend.headers}
    if backend.subscription and token.account_id is not None:
        headers["chatgpt-account-id"] = token.account_id
    return headers


class ResponsesProvider:
    """One backend of the Responses API."""

    def __init__(self, backend: Backend, tokens: TokenSource, calls: ModelCalls) -> None:
        self._backend = backend
        self._tokens = tokens
        self._calls = calls

    @property
    def id(self) -> str:
        return self._backend.id

    def models(self) -> Sequence[ModelFacts]:
        return self._calls.models()

    def default_edit_tool(self) -> EditTool:
        return "apply_patch"

    def stream(self, request: Request, cancel: Cancel) -> EventStream:
        """One model call; a refused token that can be refreshed is refreshed once."""

        def judge_event(facts: ErrorFacts) -> ProviderError:
            return openai_errors.judge_event(facts, request.model, self._calls.now_us())

        def begin(span: Span) -> tuple[HttpAnswer, Reader]:
            answer, secret = self._open(span, request, cancel)
            return answer, ResponsesReader(error_reader(secret, judge_event))

        return self._calls.run(request, begin)

    def _open(self, span: Span, request: Request, cancel: Cancel) -> tuple[HttpAnswer, str]:
        token = self._tokens.access_token(cancel)
        try:
            return self._send(span, request, token, cancel), token.secret
        except Unauthorized:
            if not self._tokens.refreshable:
                raise
        self._tokens.invalidate(token.secret)
        token = self._tokens.access_token(cancel)
        return self._send(span, request, token, cancel), token.secret

    def _send(self, span: Span, request: Request, token: Token, cancel: Cancel) -> HttpAnswer:
        def judge(status: int, facts: ErrorFacts, wait_s: float | None) -> Verdict:
            now_us = self._calls.now_us()
            return openai_errors.judge_status(status, facts, request.model, wait_s, now_us)

        return self._calls.send(span, self._call(request, token), cancel, token.secret, judge)

    def _call(self, request: Request, token: Token) -> HttpCall:
        headers = {
            **authorize(self._backend, token),
            "Accept": "text/event-stream",
            "Content-Type": "application/json",
        }
        key = cache_key(request)
        if self._backend.subscription and key is not None:
            headers["session-id"] = key
        url = join_url(self._backend.base_url, "/responses")
        body = build_body(request, self._body_facts(request))
        return HttpCall("POST", url, headers, body.encode(), record=True)

    def _body_facts(self, request: Request) -> BodyFacts:
        facts = self._calls.facts(request.model)
        limit = request.max_output_tokens
        if facts is not None and facts.max_output_tokens is not None:
            limit = facts.max_output_tokens
        return BodyFacts(
            freeform=facts is not None and facts.freeform_tools,
            max_output_tokens=None if self._backend.subscription else limit,
        )
