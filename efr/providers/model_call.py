"""One model call from request to last event: what all HTTP providers share.

Blocks the thread that iterates. Sends with the retry policy, decodes the stream, and keeps the
promise that nothing is sent again once the stream has begun. A span line in the log tells
provider, model, the server's request id and how long the conversation paused before the call.
"""

from __future__ import annotations

import itertools
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.providers.canonical import ModelFacts, Request, StreamEvent
from efr.providers.error_facts import ErrorFacts, ReadError, page_words, read_refusal, read_value
from efr.providers.errors import (
    ApiError,
    DecodeFailed,
    Incomplete,
    InvalidStream,
    ProviderError,
    Unauthorized,
)
from efr.providers.http import BODY_LIMIT_BYTES, HttpAnswer, HttpCall
from efr.providers.key_watch import KeyWatch
from efr.providers.provider import EventStream
from efr.providers.retry import Sender, Verdict, refusal_of, send_with_retries, server_wait_s
from efr.providers.sse import EventTooLarge, ServerEvent, SseDecoder
from efr.providers.transcript import Transcript

log = logging.getLogger("efr.providers")

_REQUEST_ID_HEADERS: Final = ("x-request-id", "request-id")
_REQUEST_ID: Final = re.compile(r"[\w.:/+=-]{1,128}", re.ASCII)
_BEFORE_TEXT: Final = b"\xef\xbb\xbf \t\r\n"  # a byte order mark and blanks
_HEAD_MAX_BYTES: Final = 64 * 1024  # of blanks; more is a stream that says nothing
_CONVERSATIONS_MAX: Final = 256  # whose last call is remembered for the log; older ones start anew


class Reader(Protocol):
    """Turns the events of one answer into canonical ones."""

    finished: bool

    def feed(self, event: ServerEvent) -> Iterator[StreamEvent]: ...

    def end(self) -> Iterator[StreamEvent]:
        """The connection ended: what can still be told. Not finished after it: incomplete."""
        ...


JudgeStatus = Callable[[int, ErrorFacts, float | None], Verdict]
"""What a status other than 2xx means; the last is the wait that a header asks for."""


class CallLog:
    """When each conversation's last call began; any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last: OrderedDict[str, float] = OrderedDict()

    def begin(self, provider: str, request: Request) -> Span:
        """Notes the start of a call."""
        return Span(provider, request.model, self._gap(request.conversation_id))

    def _gap(self, key: str | None) -> str:
        if key is None:
            return ""
        now = self._clock.monotonic()
        with self._lock:
            before = self._last.pop(key, None)
            self._last[key] = now
            while len(self._last) > _CONVERSATIONS_MAX:
                self._last.popitem(last=False)
        return "" if before is None else f" gap_ms={round((now - before) * 1000)}"


class Span(Struct):
    """The log line of one call: written once, when its answer begins or when there is none."""

    provider: str
    model: str
    gap: str
    request_id: str = "-"  # of the newest answer, also of one that refused

    def heard(self, answer: HttpAnswer, secret: str | None) -> None:
        ids = (answer.header(name) for name in _REQUEST_ID_HEADERS)
        told = next((one for one in ids if one), "")
        hidden = not _REQUEST_ID.fullmatch(told) or (secret is not None and secret in told)
        self.request_id = "-" if hidden else told

    def write(self, failure: Exception | None = None) -> None:
        log.info(
            "provider_request provider=%s model=%s request_id=%s%s%s",
            self.provider,
            self.model,
            self.request_id,
            self.gap,
            f" failed={type(failure).__name__}" if failure is not None else "",
        )


class ModelCalls(Struct, frozen=True):
    """What the calls of one provider go through."""

    provider: str
    models: Callable[[], Sequence[ModelFacts]]
    sender: Sender
    keys: KeyWatch
    log: CallLog

    def facts(self, model: str) -> ModelFacts | None:
        return next((facts for facts in self.models() if facts.id == model), None)

    def now_us(self) -> int:
        return self.sender.clock.now_us()

    def run(
        self, request: Request, begin: Callable[[Span], tuple[HttpAnswer, Reader]]
    ) -> EventStream:
        """One model call: begin sends it, then its answer is read. Notes how the key fared."""
        span = self.log.begin(self.provider, request)
        generation = self.keys.begin()
        try:
            answer, reader = begin(span)
        except ProviderError as exc:
            if isinstance(exc, Unauthorized):
                self.keys.call_refused(generation)
            span.write(exc)
            raise
        span.write()
        yield from read_stream(
            answer, reader, lambda: self.keys.call_worked(generation), self.sender.transcript
        )

    def send(
        self, span: Span, call: HttpCall, cancel: Cancel, secret: str | None, judge: JudgeStatus
    ) -> HttpAnswer:
        """The first answer of status 2xx. Raises what the judge made of another, Cancelled."""

        def read(answer: HttpAnswer, body: bytes) -> Verdict:
            span.heard(answer, secret)
            facts = read_refusal(refusal_of(answer, body), secret)
            return judge(answer.status, facts, server_wait_s(answer.header, self.now_us()))

        answer = send_with_retries(self.sender, call, cancel, read)
        span.heard(answer, secret)
        return answer


def error_reader(secret: str | None, judge: Callable[[ErrorFacts], ProviderError]) -> ReadError:
    """Reads an error inside a stream."""
    return lambda value: judge(read_value(value, "the answer failed", secret))


def read_stream(
    answer: HttpAnswer,
    reader: Reader,
    at_first: Callable[[], None],
    transcript: Transcript | None = None,
) -> EventStream:
    """The canonical events of an open answer; closes it. at_first runs at the first event.

    Raises Incomplete, InvalidStream, DecodeFailed, TransportFailed, Cancelled, and the reader's
    errors.
    """
    seen = False
    try:
        for event in _server_events(answer):
            out = list(reader.feed(event))
            if not seen:
                seen = True
                at_first()
            if reader.finished:
                answer.finish()
            yield from _recorded(out, transcript)
            if reader.finished:
                return
        yield from _recorded(list(reader.end()), transcript)
        if not reader.finished:
            raise Incomplete(empty=not seen)
    finally:
        answer.close()


def _server_events(answer: HttpAnswer) -> Iterator[ServerEvent]:
    """The events of a stream; a server that answers in one piece has sent one event.

    Told by the first byte: no event begins with a bracket, and content types are often wrong.
    """
    chunks = answer.chunks()
    head = _head(chunks)
    first = head.lstrip(_BEFORE_TEXT)[:1]
    if first in (b"{", b"["):
        yield ServerEvent("message", _rest(head, chunks).decode("utf-8", "replace"))
        return
    if first == b"<":
        words = page_words(_rest(head, chunks).decode("utf-8", "replace"))
        raise ApiError(answer.status, "no_events", words or "no stream of events", foreign=True)
    decoder = SseDecoder()
    for chunk in itertools.chain([head], chunks):
        try:
            events = decoder.feed(chunk)
        except EventTooLarge as exc:
            raise InvalidStream("an event that is too large") from exc
        yield from events


def _head(chunks: Iterator[bytes]) -> bytes:
    """The body until its first byte of text; all of it when there is none."""
    head = b""
    for chunk in chunks:
        head += chunk
        if head.lstrip(_BEFORE_TEXT) or len(head) > _HEAD_MAX_BYTES:
            break
    return head


def _rest(head: bytes, chunks: Iterator[bytes]) -> bytes:
    """The whole body. Raises DecodeFailed above the limit."""
    body = bytearray(head)
    for chunk in chunks:
        body += chunk
        if len(body) > BODY_LIMIT_BYTES:
            raise DecodeFailed(f"an answer of more than {BODY_LIMIT_BYTES} bytes")
    return bytes(body)


def _recorded(events: list[StreamEvent], transcript: Transcript | None) -> Iterator[StreamEvent]:
    if transcript is not None:
        for event in events:
            transcript.event(event)
    yield from events
