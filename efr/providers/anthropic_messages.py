"""The Anthropic Messages API, provider anthropic-api.

A stream blocks the thread that iterates it. The body is built in anthropic_request, cache markers
in anthropic_cache, events are read in anthropic_stream, errors in anthropic_errors.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from efr.base.cancel import Cancel
from efr.providers import anthropic_errors, openai_errors
from efr.providers.anthropic_cache import Lifetimes
from efr.providers.anthropic_request import build_body
from efr.providers.anthropic_stream import MessagesReader
from efr.providers.canonical import EditTool, Json, ModelFacts, Request
from efr.providers.errors import ProviderError, Unauthorized, UnknownModel
from efr.providers.http import HttpAnswer, HttpCall, join_url
from efr.providers.key_watch import KeyWatch
from efr.providers.model_call import CallLog, read_stream
from efr.providers.provider import EventStream, Token, TokenSource
from efr.providers.retry import Sender, Verdict, send_with_retries, server_wait_s

log = logging.getLogger("efr.providers.anthropic")

BASE_URL: Final = "https://api.anthropic.com/v1"
DEFAULT_MODEL: Final = "claude-opus-5-5"
_VERSION: Final = "2023-06-01"
_BETA: Final = "thinking-binding-controls-2026-08-01"
_DEFAULT_EFFORT: Final = "medium"


@dataclass(frozen=True)
class AnthropicBackend:
    """Where the calls go and what goes with them."""

    base_url: str
    workspace_id: str | None
    lifetimes: Lifetimes


def authorize(backend: AnthropicBackend, token: Token) -> dict[str, str]:
    """The headers that every request carries."""
    headers = {"Authorization": f"Bearer {token.secret}", "anthropic-version": _VERSION}
    if backend.workspace_id is not None:
        headers["anthropic-workspace-id"] = backend.workspace_id
    return headers


class MessagesProvider:
    """The one backend of the Messages API."""

    def __init__(
        self,
        backend: AnthropicBackend,
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
        return "anthropic-api"

    def models(self) -> Sequence[ModelFacts]:
        return self._models()

    def default_edit_tool(self) -> EditTool:
        return "edit"

    def stream(self, request: Request, cancel: Cancel) -> EventStream:
        """One model call."""
        gap = self._calls.begin(request)
        generation = self._keys.begin()
        token = self._tokens.access_token(cancel)
        call = self._call(request, token)
        try:
            answer = send_with_retries(self._sender, call, cancel, self._judge(request, token))
        except Unauthorized:
            self._keys.call_refused(generation)
            raise
        self._calls.answered(self.id, request, answer.header("request-id"), gap)
        reader = MessagesReader(self._error_reader(request, token))
        yield from read_stream(
            answer, reader, lambda: self._keys.call_worked(generation), self._sender.transcript
        )

    def _judge(self, request: Request, token: Token) -> Callable[[HttpAnswer, bytes], Verdict]:
        def judge(answer: HttpAnswer, body: bytes) -> Verdict:
            facts = openai_errors.read_body(body, answer.reason, token.secret)
            wait_s = server_wait_s(answer.header, self._sender.clock.now_us())
            spent = anthropic_errors.spend_limit_reached(body)
            return anthropic_errors.judge_status(answer.status, facts, request.model, wait_s, spent)

        return judge

    def _call(self, request: Request, token: Token) -> HttpCall:
        facts = next((facts for facts in self.models() if facts.id == request.model), None)
        default = facts.default_effort if facts is not None else None
        effort = request.effort or default or _DEFAULT_EFFORT
        limit = _output_limit(request, facts)
        body = build_body(request, limit, effort, self._backend.lifetimes)
        log.debug("%s", body.markers)
        headers = {
            **authorize(self._backend, token),
            "anthropic-beta": _BETA,
            "Accept": "text/event-stream",
            "Content-Type": "application/json",
        }
        url = join_url(self._backend.base_url, "/messages")
        return HttpCall("POST", url, headers, body.text.encode(), record=True)

    def _error_reader(self, request: Request, token: Token) -> Callable[[Json], ProviderError]:
        def read_error(value: Json) -> ProviderError:
            facts = openai_errors.read_value(value, "the answer failed", token.secret)
            return anthropic_errors.judge_event(facts, request.model)

        return read_error


def _output_limit(request: Request, facts: ModelFacts | None) -> int:
    """max_tokens, which this API demands. Raises UnknownModel when nothing tells it."""
    limits = [request.max_output_tokens, facts.max_output_tokens if facts else None]
    known = [limit for limit in limits if limit is not None]
    if not known:
        raise UnknownModel(request.model)
    return min(known)
