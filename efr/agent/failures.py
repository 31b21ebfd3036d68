"""What a failed turn says: the error body of `turn_failed`, and the line for the terminal.

Pure. Every failure that a turn knows has one row here; anything else is a bug and has none. The
messages are one sentence without secrets. Source: agent document, failure map.
"""

from __future__ import annotations

import math

from efr.agent.notices import notice_line
from efr.agent.settings import SettingsRefused
from efr.providers import errors as provider
from efr.providers.failures import LOGIN_COMMANDS, wait_text
from efr.store.errors import StoreError, StoreFull
from efr.text.redact import redact_title
from efr.text.title import title_of
from efr.wire import events as ev
from efr.wire import types as t
from efr.wire.errors import ErrorBody

_CODE = t.ErrorCode


class TurnFailure(Exception):
    """The turn cannot go on; `body` says why."""

    def __init__(self, body: ErrorBody) -> None:
        super().__init__(body.message)
        self.body = body


def context_full(tokens: int, window: int) -> TurnFailure:
    """The request does not fit into the model's window."""
    return TurnFailure(
        ErrorBody(
            _CODE.INTERNAL,
            f"the conversation does not fit into the model's context any more ({tokens} of {window}"
            " tokens); start a new one with ,new or choose a model with a larger window",
            {"cause": "context_overflow", "tokens": tokens, "window": window},
        )
    )


def body_of(exc: Exception) -> ErrorBody | None:
    """The body of a failure that is no bug; None for a bug."""
    match exc:
        case SettingsRefused(body=body) | TurnFailure(body=body):
            return body
        case provider.ProviderError():
            return _provider_body(exc)
        case StoreFull():
            return ErrorBody(_CODE.INTERNAL, "the disk is full, so nothing could be recorded")
        case StoreError():
            return ErrorBody(_CODE.INTERNAL, "the database could not be written")
        case _:
            return None


def _provider_body(exc: provider.ProviderError) -> ErrorBody:
    match exc:
        case provider.Unauthorized(message=message):
            return ErrorBody(_CODE.UNAUTHORIZED, message or "the provider refused the login")
        case provider.NotLoggedIn():
            return ErrorBody(_CODE.UNAUTHORIZED, "no login is stored for the provider")
        case provider.TokenFailed(cause=cause):
            return ErrorBody(_CODE.UNAUTHORIZED, f"the login could not be used: {cause}")
        case provider.RateLimited(retry_after_s=None):
            return ErrorBody(_CODE.BUSY, "the provider's rate limit is reached")
        case provider.RateLimited(retry_after_s=float() | int() as seconds):
            return ErrorBody(
                _CODE.BUSY,
                f"the provider's rate limit is reached; try again in {wait_text(seconds)}",
                {"retry_after_ms": math.ceil(seconds * 1000)},
            )
        case provider.Overloaded():
            return ErrorBody(_CODE.BUSY, "the provider has no capacity now")
        case provider.UnknownModel(model=model):
            return ErrorBody(
                _CODE.INVALID, f"the provider does not serve the model {model}", {"model": model}
            )
        case provider.ContextOverflow(message=message):
            return ErrorBody(_CODE.INTERNAL, message, {"cause": "context_overflow"})
        case provider.ApiError(message=message):
            return ErrorBody(_CODE.INTERNAL, f"the provider refused the request: {message}")
        case provider.TransportFailed(cause=cause):
            return ErrorBody(_CODE.INTERNAL, f"the connection to the provider failed: {cause}")
        case provider.DecodeFailed():
            return ErrorBody(_CODE.INTERNAL, "the provider's answer could not be read")
        case provider.InvalidStream(problem=problem):
            return ErrorBody(_CODE.INTERNAL, f"the provider's answer broke off: {problem}")
        case provider.Incomplete():
            return ErrorBody(_CODE.INTERNAL, "the provider's answer ended too early")
        case _:
            return ErrorBody(_CODE.INTERNAL, "the model call failed")


def notice_of(
    event: ev.TurnCompleted | ev.TurnFailed | ev.TurnInterrupted,
    title: str,
    provider_id: str | None,
) -> str | None:
    """The line for a terminal that does not look; nothing for an interrupt."""
    name = f'"{redact_title(title)}"'
    if isinstance(event, ev.TurnCompleted):
        return notice_line(f"efr: {name} is done; efr history shows the answer")
    if isinstance(event, ev.TurnInterrupted):
        return None
    login = ""
    command = LOGIN_COMMANDS.get(provider_id or "")
    if event.error.code is _CODE.UNAUTHORIZED and command is not None:
        login = f"(log in: {command})"
    return notice_line(f"efr: {name} failed: {event.error.message}", login)


def approval_notice(summary: str) -> str:
    """The line for a terminal that does not see the question."""
    first = redact_title(summary.split("\n", 1)[0])
    return notice_line(f"efr asks: {first}", "(efr history shows it, a , line answers)")


def not_run_notice(prompt: str) -> str:
    """The line for a terminal whose waiting prompt a restart of efrd did not run."""
    name = redact_title(title_of(prompt))
    return notice_line(f'efr: efrd restarted before it ran "{name}";', "send it again")
