from __future__ import annotations

from typing import Any

import pytest

from efr.providers import errors as err
from efr.providers.failures import LOGIN_COMMANDS, error_body, wait_text
from efr.wire import types as t

CODE = t.ErrorCode


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (-3, "0s"),
        (0.2, "1s"),
        (45, "45s"),
        (60, "1m 0s"),
        (303, "5m 3s"),
        (10_800, "3h 0m"),
        (10_859, "3h 0m"),
        (187_200, "2d 4h"),
    ],
)
def test_waits_are_told_in_two_units(seconds: float, text: str) -> None:
    assert wait_text(seconds) == text


@pytest.mark.parametrize(
    ("error", "code", "data"),
    [
        (err.Unauthorized("no"), CODE.UNAUTHORIZED, None),
        (err.NotLoggedIn(), CODE.UNAUTHORIZED, None),
        (err.TokenFailed("expired"), CODE.UNAUTHORIZED, None),
        (err.RateLimited(120.0), CODE.BUSY, {"retry_after_ms": 120_000}),
        (err.RateLimited(), CODE.BUSY, None),
        (err.Overloaded(), CODE.BUSY, None),
        (err.UnknownModel("m"), CODE.INVALID, {"model": "m"}),
        (err.ContextOverflow("x"), CODE.INTERNAL, {"cause": "context_overflow"}),
        (err.ApiError(500, None, "m"), CODE.INTERNAL, None),
        (err.ApiError(None, None, "m"), CODE.INTERNAL, None),
        (err.TransportFailed("x"), CODE.INTERNAL, None),
        (err.TransportFailed("x", sent=False), CODE.INTERNAL, None),
        (err.DecodeFailed("x"), CODE.INTERNAL, None),
        (err.InvalidStream("x"), CODE.INTERNAL, None),
        (err.Incomplete(), CODE.INTERNAL, None),
        (err.ProviderError(), CODE.INTERNAL, None),
    ],
)
@pytest.mark.parametrize("provider", sorted(LOGIN_COMMANDS))
def test_every_failure_has_a_code_and_a_sentence(
    error: err.ProviderError, code: t.ErrorCode, data: Any, provider: str
) -> None:
    body = error_body(error, provider)

    assert (body.code, body.data) == (code, data)
    assert provider in body.message or isinstance(error, err.ContextOverflow)
    assert "\n" not in body.message


def test_a_rate_limit_tells_the_wait_and_a_login_its_command() -> None:
    assert "3h 0m" in error_body(err.RateLimited(10_800.0), "openai").message
    for error in (err.NotLoggedIn(), err.Unauthorized("no"), err.TokenFailed("it has ended")):
        assert error_body(error, "openai").message.endswith(": run `efr login openai`")
    passing = error_body(err.TokenFailed("the server answered 503", passing=True), "openai")
    assert passing.code is CODE.UNAUTHORIZED
    assert passing.message == (
        "the login for openai could not be renewed: the server answered 503: try again later, and"
        " if that does not help, run `efr login openai`"
    )
    assert "`efr models`" in error_body(err.UnknownModel("m"), "openai").message
