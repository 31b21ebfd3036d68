"""The Anthropic Messages API, provider anthropic-api.

A stream blocks the thread that iterates it. The body is built in anthropic_request, cache markers
in anthropic_cache, events are read in anthropic_stream, errors in anthropic_errors.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.providers import anthropic_errors
from efr.providers.anthropic_cache import Lifetimes
from efr.providers.anthropic_request import build_body
from efr.providers.anthropic_stream import MessagesReader
from efr.providers.canonical import EditTool, ModelFacts, Request
from efr.providers.error_facts import ErrorFacts
from efr.providers.errors import ProviderError, UnknownModel
from efr.providers.http import HttpAnswer, HttpCall, join_url
from efr.providers.model_call import ModelCalls, Reader, Span, error_reader
from efr.providers.provider import EventStream, Token, TokenSource
from efr.providers.retry import Verdict

log = logging.getLogger("efr.providers.anthropic")

BASE_URL: Final = "https://api.anthropic.com/v1"
DEFAULT_MODEL: Final = "claude-opus-5-5"
_VERSION: Final = "2023-06-01"
_BETA: Final = "thinking-binding-controls-2026-08-01"
_DEFAULT_EFFORT: Final = "medium"


class AnthropicBackend(Struct, frozen=True):
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

    def __init__(self, backend: AnthropicBackend, tokens: TokenSource, calls: ModelCalls) -> None:
        self._backend = backend
        self._tokens = tokens
        self._calls = calls

    @property
    def id(self) -> str:
        return "anthropic-api"

    def models(self) -> Sequence[ModelFacts]:
        return self._calls.models()

    def default_edit_tool(self) -> EditTool:
        return "edit"

    def stream(self, request: Request, cancel: Cancel) -> EventStream:
        """One model call."""

        def judge(status: int, facts: ErrorFacts, wait_s: float | None) -> Verdict:
            return anthropic_errors.judge_status(status, facts, request.model, wait_s)

        def judge_event(facts: ErrorFacts) -> ProviderError:
            return anthropic_errors.judge_event(facts, request.model)

        def begin(span: Span) -> tuple[HttpAnswer, Reader]:
            token = self._tokens.access_token(cancel)
            call = self._call(request, token)
            answer = self._calls.send(span, call, cancel, token.secret, judge)
            return answer, MessagesReader(error_reader(token.secret, judge_event))

        return self._calls.run(request, begin)

    def _call(self, request: Request, token: Token) -> HttpCall:
        facts = self._calls.facts(request.model)
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


def _output_limit(request: Request, facts: ModelFacts | None) -> int:
    """max_tokens, which this API demands. Raises UnknownModel when nothing tells it."""
    limits = [request.max_output_tokens, facts.max_output_tokens if facts else None]
    known = [limit for limit in limits if limit is not None]
    if not known:
        raise UnknownModel(request.model)
    return min(known)
