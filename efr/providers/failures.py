"""Words for a provider's failures: one sentence a person can act on, and the wire's error body.

Pure. A message of the server is quoted, already cut and without secrets; the rest is ours. The
command to log in is named here because every failure of a login ends in it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, Final

from efr.providers import errors as err
from efr.wire import types as t

_UNITS: Final = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))

LOGIN_COMMANDS: Final[Mapping[str, str]] = {
    "openai": "efr login openai",
    "openai-api": "efr login openai-api",
    "anthropic-api": "efr login anthropic-api",
    "compatible": "efr login compatible",
}

BASE_URLS: Final[Mapping[str, str]] = {
    "openai": "openai.subscription_base_url",
    "openai-api": "openai.api_base_url",
    "anthropic-api": "anthropic.base_url",
    "compatible": "compatible.base_url",
}


def error_body(error: err.ProviderError, provider: str) -> t.ErrorBody:
    """The body of a failed turn, or of a refused method."""
    code, data = _code(error)
    return t.ErrorBody(code, sentence(error, provider), data)


def _code(error: err.ProviderError) -> tuple[t.ErrorCode, dict[str, Any] | None]:
    match error:
        case err.Unauthorized() | err.NotLoggedIn() | err.TokenFailed():
            return t.ErrorCode.UNAUTHORIZED, None
        case err.RateLimited(retry_after_s=float(seconds)):
            return t.ErrorCode.BUSY, {"retry_after_ms": math.ceil(seconds * 1000)}
        case err.RateLimited() | err.Overloaded():
            return t.ErrorCode.BUSY, None
        case err.UnknownModel(model=model):
            return t.ErrorCode.INVALID, {"model": model}
        case err.ContextOverflow():
            return t.ErrorCode.INTERNAL, {"cause": "context_overflow"}
        case _:
            return t.ErrorCode.INTERNAL, None


def sentence(error: err.ProviderError, provider: str) -> str:
    """One sentence without secrets."""
    match error:
        case err.Unauthorized(message=message):
            told = f" ({message})" if message else ""
            return f"{provider} refused the login{told}{_way_out(provider)}"
        case err.NotLoggedIn():
            return f"no login for {provider}{_way_out(provider)}"
        case err.TokenFailed(cause=cause, passing=True):
            again = f"try again later, and if that does not help, {_way_out(provider)[2:]}"
            return f"the login for {provider} could not be renewed: {cause}: {again}"
        case err.TokenFailed(cause=cause):
            return f"the login for {provider} cannot be used: {cause}{_way_out(provider)}"
        case err.RateLimited(retry_after_s=None):
            return f"{provider} limits the rate of requests: try again later"
        case err.RateLimited(retry_after_s=float(seconds)):
            return f"{provider} limits the rate of requests: try again in {wait_text(seconds)}"
        case err.Overloaded():
            return f"{provider} has no capacity now: try again later"
        case err.ContextOverflow(message=message):
            return f"the conversation is larger than the model's window: {message}"
        case err.UnknownModel(model=model):
            return f"{provider} does not serve the model {model}: `efr models` lists what it does"
        case _:
            return _technical(error, provider)


def _way_out(provider: str) -> str:
    command = LOGIN_COMMANDS.get(provider)
    return f": run `{command}`" if command else ""


def _technical(error: err.ProviderError, provider: str) -> str:
    match error:
        case err.ApiError(status=None, message=message):
            return f"{provider}: {message}"
        case err.ApiError(status=status, message=message, foreign=True) if provider in BASE_URLS:
            told = f"{provider} answered {status}: {message}"
            return f"{told}: is {BASE_URLS[provider]} the address of the API?"
        case err.ApiError(status=status, message=message):
            return f"{provider} answered {status}: {message}"
        case err.TransportFailed(cause=cause, sent=False):
            return f"{provider} could not be reached: {cause}"
        case err.TransportFailed(cause=cause):
            return f"the answer of {provider} broke off: {cause}"
        case err.DecodeFailed(cause=cause):
            return f"the answer of {provider} could not be read: {cause}"
        case err.InvalidStream(problem=problem):
            return f"the answer of {provider} is out of order: {problem}"
        case err.Incomplete(empty=True):
            return f"{provider} sent an empty answer: its own log may say why"
        case err.Incomplete():
            return f"the answer of {provider} ended early"
        case _:
            return f"{provider} failed"


def wait_text(seconds: float) -> str:
    """Whole seconds, rounded up, in at most two units: 45s, 5m 3s, 3h 0m, 2d 4h."""
    left = max(math.ceil(seconds), 0)
    for (unit, size), (small, small_size) in itertools.pairwise(_UNITS):
        if left >= size:
            return f"{left // size}{unit} {left % size // small_size}{small}"
    return f"{left}s"
