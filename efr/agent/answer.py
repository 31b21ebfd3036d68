"""One model call: from the provider's stream to drafts, log updates and a folded message.

Text goes to the drafts at once and to the log as `assistant_message_updated` by time and size;
offsets count UTF-8 bytes. Whatever ends the stream, the text so far is completed in the log, so
it shows what the user saw. The worker's thread; blocks on the provider and the store.
"""

from __future__ import annotations

import logging
from contextlib import closing

from efr.agent.commit import TurnLog
from efr.agent.drafts import Channel
from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.providers.canonical import (
    CallUsage,
    Folded,
    Message,
    Raw,
    ReasoningDelta,
    Request,
    StreamEvent,
    StreamFold,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from efr.providers.provider import Provider
from efr.providers.provider_json import clean_text
from efr.wire import events as ev

log = logging.getLogger("efr.agent")

_UPDATE_BYTES = 64 * 1024  # text kept back at most: an update stays small beside a frame's 16 MiB
# An update costs about 130 bytes around its text. A shorter text waits for more, or ten intervals,
# so that the log of an answer stays below three times its text at any model's speed.
_SHORT_BYTES = 160
_SHORT_WAITS = 10
_RAW_SHOWN = 128  # characters of an unknown stream item in the debug log


class Answer:
    """The state of one call. One caller."""

    def __init__(self, turn: TurnLog, channel: Channel, clock: Clock, index: int) -> None:
        self._turn = turn
        self._channel = channel
        self._clock = clock
        self._index = index
        self._fold = StreamFold()
        self._text_open = False
        self._pending: list[str] = []
        self._pending_bytes = 0
        self._recorded_bytes = 0
        self._since: float | None = None  # when the oldest pending text came
        self._inputs: dict[str, tuple[int, str, int]] = {}  # position, tool, bytes
        self.completed = False

    def read(
        self, provider: Provider, request: Request, cancel: Cancel, interval_s: float
    ) -> Folded:
        """Blocks until the answer is whole. Raises ProviderError, Cancelled, StoreError."""
        self._channel.begin_answer(self._index)
        with closing(provider.stream(request, cancel)) as stream:
            for event in stream:
                self._take(event)
                self._update(interval_s)
                cancel.raise_if_cancelled()
        folded = self._fold.result()
        self.complete()
        return folded

    def complete(self) -> None:
        """Records the whole text, when there is any; the message is not open any more."""
        if self.completed:
            return
        if text := self._fold.text:
            self._turn.record(
                ev.AssistantMessageCompleted(
                    turn_id=self._turn.turn_id, index=self._index, text=text
                )
            )
        self.completed = True
        self._channel.end_answer()

    @property
    def has_text(self) -> bool:
        return bool(self._fold.text)

    @property
    def usage(self) -> CallUsage | None:
        """The count, as far as the provider told one."""
        return self._fold.usage

    def partial(self) -> Message:
        """Text and reasoning of a call that did not end well; never a tool call."""
        return self._fold.partial()

    def _take(self, event: StreamEvent) -> None:
        event = _clean(event)
        self._fold.feed(event)
        match event:
            case TextDelta(text=text):
                self._add_text(text)
            case ReasoningDelta(text=text):
                self._text_open = self._text_open and not text
                self._channel.reasoning(text)
            case ToolCallStart(call_id=call_id, name=name):
                self._text_open = False
                self._grow_input(call_id, name, 0)
            case ToolCallDelta(call_id=call_id, arguments=arguments):
                self._grow_input(call_id, "", len(arguments.encode()))
            case Raw(value=value):
                log.debug("an unknown stream item: %.*s", _RAW_SHOWN, value)
            case _:
                pass

    def _add_text(self, text: str) -> None:
        """A second block of text follows the first after a blank line, as the fold joins them."""
        if not text:
            return
        if not self._text_open and (self._recorded_bytes or self._pending):
            text = "\n\n" + text
        self._text_open = True
        self._pending.append(text)
        self._pending_bytes += len(text.encode())
        if self._since is None:
            self._since = self._clock.monotonic()
        self._channel.text(text)

    def _update(self, interval_s: float) -> None:
        """Records what came since the last update, when it is time or enough."""
        if self._since is None:
            return
        if self._pending_bytes < _SHORT_BYTES:
            interval_s *= _SHORT_WAITS
        waited = self._clock.monotonic() - self._since
        if waited < interval_s and self._pending_bytes < _UPDATE_BYTES:
            return
        delta = "".join(self._pending)
        self._turn.record(
            ev.AssistantMessageUpdated(
                turn_id=self._turn.turn_id,
                index=self._index,
                offset=self._recorded_bytes,
                delta=delta,
            )
        )
        self._recorded_bytes += self._pending_bytes
        self._pending, self._pending_bytes, self._since = [], 0, None

    def _grow_input(self, call_id: str, name: str, more_bytes: int) -> None:
        position, tool, size = self._inputs.get(call_id, (len(self._inputs), name, 0))
        self._inputs[call_id] = (position, tool, size + more_bytes)
        self._channel.tool_input(position, tool, size + more_bytes)


def _clean(event: StreamEvent) -> StreamEvent:
    """The event without lone surrogates: they cannot be stored."""
    match event:
        case TextDelta(text=text):
            return TextDelta(clean_text(text))
        case ReasoningDelta(text=text):
            return ReasoningDelta(clean_text(text))
        case ToolCallDelta(call_id=call_id, arguments=arguments):
            return ToolCallDelta(call_id, clean_text(arguments))
        case ToolCallEnd(call_id=call_id, arguments=arguments):
            return ToolCallEnd(call_id, clean_text(arguments))
        case _:
            return event
