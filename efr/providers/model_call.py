"""One model call from request to last event: what all HTTP providers share.

Blocks the thread that iterates. Sends with the retry policy, decodes the stream, and keeps the
promise that nothing is sent again once the stream has begun. A span line in the log tells
provider, model, the server's request id and how long the conversation paused before the call.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from efr.base.clock import Clock
from efr.providers.canonical import Request, StreamEvent
from efr.providers.errors import Incomplete, InvalidStream
from efr.providers.http import HttpAnswer
from efr.providers.provider import EventStream
from efr.providers.sse import EventTooLarge, ServerEvent, SseDecoder
from efr.providers.transcript import Transcript

log = logging.getLogger("efr.providers")

_CONVERSATIONS_MAX: Final = 256  # whose last call is remembered for the log; older ones start anew


class Reader(Protocol):
    """Turns the events of one answer into canonical ones."""

    finished: bool

    def feed(self, event: ServerEvent) -> Iterator[StreamEvent]: ...

    def end(self) -> Iterator[StreamEvent]:
        """The connection ended: what can still be told. Not finished after it: incomplete."""
        ...


class CallLog:
    """Writes the span lines; any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last: OrderedDict[str, float] = OrderedDict()

    def begin(self, request: Request) -> str:
        """Notes the start of a call; the text of its gap."""
        key = request.conversation_id
        if key is None:
            return ""
        now = self._clock.monotonic()
        with self._lock:
            before = self._last.pop(key, None)
            self._last[key] = now
            while len(self._last) > _CONVERSATIONS_MAX:
                self._last.popitem(last=False)
        return "" if before is None else f" gap_ms={round((now - before) * 1000)}"

    def answered(self, provider: str, request: Request, request_id: str | None, gap: str) -> None:
        log.info(
            "provider_request provider=%s model=%s request_id=%s%s",
            provider,
            request.model,
            request_id or "-",
            gap,
        )


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
    decoder = SseDecoder()
    seen = False
    try:
        for chunk in answer.chunks():
            for event in _events(decoder, chunk):
                out = list(reader.feed(event))
                if not seen:
                    seen = True
                    at_first()
                if reader.finished:
                    answer.finish()
                if transcript is not None:
                    for one in out:
                        transcript.event(one)
                yield from out
                if reader.finished:
                    return
        yield from reader.end()
        if not reader.finished:
            raise Incomplete
    finally:
        answer.close()


def _events(decoder: SseDecoder, chunk: bytes) -> list[ServerEvent]:
    try:
        return decoder.feed(chunk)
    except EventTooLarge as exc:
        raise InvalidStream("an event that is too large") from exc
