"""When a request is sent again, and after how long.

The policy is pure; send_with_retries blocks the calling thread, and a Cancel ends its waits.
A model call is sent again only when the server certainly did not act on it: no connection was
made, or the status says so. Never after the first byte of a stream, never after a timeout.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.providers.error_facts import Refusal
from efr.providers.errors import DecodeFailed, ProviderError, TransportFailed
from efr.providers.http import HttpAnswer, HttpCall, HttpClient
from efr.providers.transcript import Transcript

ATTEMPTS: Final = 4
SERVER_WAIT_MAX_S: Final = 60.0  # a longer wait is the user's to decide
_WAIT_MAX_S: Final = 366 * 86400.0
_BACKOFF_BASE_S: Final = 0.5
_BACKOFF_MAX_S: Final = 8.0
_ERROR_BODY_S: Final = 10.0  # how long the words of a refusal may take: the status says enough

SAFE_TO_REPEAT: Final = frozenset({408, 429, 500, 502, 503, 504})  # for a GET
NOT_ACTED_ON: Final = frozenset({408, 429, 503})  # for a POST

_NUMBER: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*")


class Random(Protocol):
    """Where jitter comes from: random.Random, or a fixed value in tests."""

    def random(self) -> float: ...


Pause = Callable[[Cancel, float], None]
"""Waits the given seconds, less when cancelled."""


class Verdict(Struct, frozen=True):
    """A provider's reading of an answer that is no success."""

    error: ProviderError
    again: bool = False
    wait_s: float | None = None  # what the server asks for


Judge = Callable[[HttpAnswer, bytes], Verdict]


class Sender(Struct, frozen=True):
    """The HTTP client with its clock, jitter and way to wait; a transcript when one is wanted."""

    http: HttpClient
    clock: Clock
    random: Random
    pause: Pause
    transcript: Transcript | None = None


def pause(cancel: Cancel, seconds: float) -> None:
    """The real wait."""
    cancel.wait(seconds)


def backoff_s(attempt: int, random: float) -> float:
    """The wait after the given attempt (from 1): half of it fixed, half random (0 to 1)."""
    whole = min(_BACKOFF_BASE_S * 2.0 ** (attempt - 1), _BACKOFF_MAX_S)
    return whole / 2 + whole / 2 * random


def server_wait_s(header: Callable[[str], str | None], now_us: int) -> float | None:
    """What retry-after-ms or Retry-After ask for; a date in the past is 0, nonsense None."""
    milliseconds = _number(header("retry-after-ms"))
    if milliseconds is not None:
        return sane_wait_s(milliseconds / 1000)
    text = header("retry-after")
    seconds = _number(text)
    if seconds is not None or text is None:
        return sane_wait_s(seconds)
    import email.utils  # takes long to load, and few servers answer with a date

    try:
        date = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return sane_wait_s(date.timestamp() - now_us / 1e6)


def sane_wait_s(seconds: float | None) -> float | None:
    """The wait that a server asks for: none in the past, and more than a year is nonsense."""
    return None if seconds is None or seconds > _WAIT_MAX_S else max(seconds, 0.0)


def send_with_retries(
    sender: Sender,
    call: HttpCall,
    cancel: Cancel,
    judge: Judge,
    patience_s: float = math.inf,
) -> HttpAnswer:
    """The first answer of status 2xx; the caller closes it. No try starts after patience_s.

    Raises what the judge made of the last verdict, TransportFailed, Cancelled.
    """
    attempt = 1
    last_start = sender.clock.monotonic() + patience_s
    while True:
        try:
            answer = _send(sender, call, cancel)
        except TransportFailed as exc:
            verdict = Verdict(exc, again=not exc.sent or call.method == "GET")
        else:
            if 200 <= answer.status < 300:
                return answer
            verdict = judge(answer, _error_body(answer))
        wait_s = verdict.wait_s
        if wait_s is None:
            wait_s = backoff_s(attempt, sender.random.random())
        too_late = sender.clock.monotonic() + wait_s > last_start
        if not verdict.again or attempt == ATTEMPTS or wait_s > SERVER_WAIT_MAX_S or too_late:
            raise verdict.error
        sender.pause(cancel, wait_s)
        cancel.raise_if_cancelled()
        attempt += 1


def send_once(sender: Sender, call: HttpCall, cancel: Cancel, judge: Judge) -> HttpAnswer:
    """The same without a second try."""
    answer = sender.http.send(call, cancel)
    if 200 <= answer.status < 300:
        return answer
    raise judge(answer, _error_body(answer)).error


def _send(sender: Sender, call: HttpCall, cancel: Cancel) -> HttpAnswer:
    transcript = sender.transcript if call.record else None
    if transcript is not None:
        transcript.request(call.method, call.url, call.headers, call.body or b"")
    answer = sender.http.send(call, cancel)
    if transcript is not None:
        transcript.response(answer.status, answer.headers)
    return answer


def refusal_of(answer: HttpAnswer, body: bytes) -> Refusal:
    """What a judge's answer says."""
    return Refusal(answer.status, answer.reason, body, answer.header("location"))


def _error_body(answer: HttpAnswer) -> bytes:
    """What a refusal says; the status alone decides when that cannot be read."""
    try:
        return answer.read_all(patience_s=_ERROR_BODY_S)
    except (TransportFailed, DecodeFailed):
        return b""


def header_of(headers: Mapping[str, str]) -> Callable[[str], str | None]:
    """A header reader over a plain mapping with lower-case names."""
    return lambda name: headers.get(name.lower())


def _number(text: str | None) -> float | None:
    match = _NUMBER.fullmatch(text) if text is not None else None
    value = float(match[1]) if match else None
    return value if value is not None and math.isfinite(value) else None
