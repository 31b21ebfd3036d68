"""The OpenAI Responses API over HTTP: the subscription's backend and the public API.

A stream blocks the thread that iterates it. The body is built in openai_request, the events are
read in openai_stream, errors in openai_errors; this module sends, authorizes and refreshes once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from efr.base.cancel import Cancel
from efr.providers import openai_errors
from efr.providers.canonical import EditTool, Json, ModelFacts, Request
from efr.providers.errors import ProviderError, Unauthorized
from efr.providers.http import HttpAnswer, HttpCall, join_url
from efr.providers.key_watch import KeyWatch
from efr.providers.model_call import CallLog, read_stream
from efr.providers.openai_request import BodyFacts, build_body, cache_key
from efr.providers.openai_stream import ResponsesReader
from efr.providers.provider import EventStream, Token, TokenSource
from efr.providers.retry import Sender, Verdict, send_with_retries, server_wait_s

SUBSCRIPTION_BASE_URL: Final = "https://chatgpt.com/backend-api/codex"
API_BASE_URL: Final = "https://api.openai.com/v1"

HeaderValues = Mapping[str, str]


@dataclass(frozen=True)
class Backend:
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

    def __init__(
        self,
        backend: Backend,
        tokens: TokenSource,
        models: Callable[[], Sequence[ModelFacts]],
        sender: Sender,
        keys: KeyWatch,
        calls: CallLog,
    ) -> None:
        self._backend = backend
        self._tokens = tokens
        self._models = models
        self._sender = sender
        self._keys = keys
        self._calls = calls

    @property
    def id(self) -> str:
        return self._backend.id

    def models(self) -> Sequence[ModelFacts]:
        return self._models()

    def default_edit_tool(self) -> EditTool:
        return "apply_patch"

    def stream(self, request: Request, cancel: Cancel) -> EventStream:
        """One model call; a refused token that can be refreshed is refreshed once."""
        gap = self._calls.begin(request)
        generation = self._keys.begin()
        try:
            answer, secret = self._open(request, cancel)
        except Unauthorized:
            self._keys.call_refused(generation)
            raise
        self._calls.answered(self.id, request, answer.header("x-request-id"), gap)
        reader = ResponsesReader(self._error_reader(request, secret))
        yield from read_stream(
            answer, reader, lambda: self._keys.call_worked(generation), self._sender.transcript
        )

    def _open(self, request: Request, cancel: Cancel) -> tuple[HttpAnswer, str]:
        token = self._tokens.access_token(cancel)
        try:
            return self._send(request, token, cancel), token.secret
        except Unauthorized:
            if not self._tokens.refreshable:
                raise
        self._tokens.invalidate(token.secret)
        token = self._tokens.access_token(cancel)
        return self._send(request, token, cancel), token.secret

    def _send(self, request: Request, token: Token, cancel: Cancel) -> HttpAnswer:
        def judge(answer: HttpAnswer, body: bytes) -> Verdict:
            now_us = self._sender.clock.now_us()
            facts = openai_errors.read_body(body, answer.reason, token.secret)
            wait_s = server_wait_s(answer.header, now_us)
            return openai_errors.judge_status(answer.status, facts, request.model, wait_s, now_us)

        return send_with_retries(self._sender, self._call(request, token), cancel, judge)

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
        facts = next((facts for facts in self.models() if facts.id == request.model), None)
        limit = request.max_output_tokens
        if facts is not None and facts.max_output_tokens is not None:
            limit = facts.max_output_tokens
        return BodyFacts(
            freeform=facts is not None and facts.freeform_tools,
            max_output_tokens=None if self._backend.subscription else limit,
        )

    def _error_reader(self, request: Request, secret: str) -> Callable[[Json], ProviderError]:
        def read_error(value: Json) -> ProviderError:
            facts = openai_errors.read_value(value, "the answer failed", secret)
            return openai_errors.judge_event(facts, request.model, self._sender.clock.now_us())

        return read_error
