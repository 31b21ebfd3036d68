"""What a failed turn says: the error body of `turn_failed`, and the line for the terminal.

Pure. Every failure that a turn knows has its words here or in its room; anything else is a bug
and has none. The messages are one sentence without secrets. Source: agent document, failure map.
"""

from __future__ import annotations

from efr.agent.notices import notice_line
from efr.agent.refusals import store_sentence
from efr.providers.errors import ProviderError
from efr.providers.failures import LOGIN_COMMANDS, error_body
from efr.store.errors import StoreError
from efr.text.redact import redact_title
from efr.wire import events as ev
from efr.wire import types as t
from efr.wire.errors import ErrorBody, Refusal

_CODE = t.ErrorCode


class TurnFailure(Exception):
    """The turn cannot go on; `body` says why."""

    def __init__(self, body: ErrorBody) -> None:
        super().__init__(body.message)
        self.body = body


def context_full(
    tokens: int,
    window: int,
    *,
    only_new: bool = False,
    told: str | None = None,
    no_summary: str | None = None,
) -> TurnFailure:
    """The request does not fit into the model's window. `only_new`: no compaction helps.

    told: the provider's own words, when it was the one that refused the request. no_summary: why
    the last try to make room gave no summary.
    """
    compact = "" if only_new else "compact it with ,compact, "
    failed = f"; no summary came: {no_summary}" if no_summary and not only_new else ""
    return _does_not_fit(
        "the conversation does not fit into the model's context any more"
        f" ({tokens} of {window} tokens); {compact}start a new one with ,new or choose a model with"
        f" a larger window{failed}{_in_its_words(told)}",
        tokens,
        window,
    )


def words_too_long(tokens: int, window: int) -> TurnFailure:
    """What the user said last does not fit, whatever stands before it."""
    return _does_not_fit(
        f"what you sent does not fit into the model's context ({tokens} of {window} tokens); send"
        " less, put it in a file that the model reads in parts, or choose a model with a larger"
        " window",
        tokens,
        window,
    )


def window_too_small(tokens: int, window: int, model: str) -> TurnFailure:
    """No request at all fits: what stands around the messages is too large."""
    return _does_not_fit(
        f"the window of {model} is too small for efr: the system prompt and the tools alone take"
        f" {tokens} of its {window} tokens; choose a model with a larger window",
        tokens,
        window,
    )


def context_refused(tokens: int, window: int, told: str) -> TurnFailure:
    """The provider refused the request twice, the second time after a compaction."""
    return _does_not_fit(
        "the provider refused the request as too large, and the compacted one as well"
        f" ({tokens} of {window} tokens); start a new conversation with ,new{_in_its_words(told)}",
        tokens,
        window,
    )


def _in_its_words(told: str | None) -> str:
    return f" (the provider says: {told})" if told else ""


def _does_not_fit(message: str, tokens: int, window: int) -> TurnFailure:
    data = {"cause": "context_overflow", "tokens": tokens, "window": window}
    return TurnFailure(ErrorBody(_CODE.INTERNAL, message, data))


def body_of(exc: Exception, provider_id: str) -> ErrorBody | None:
    """The body of a failure that is no bug; None for a bug."""
    match exc:
        case Refusal(body=body) | TurnFailure(body=body):
            return body
        case ProviderError():
            return error_body(exc, provider_id)
        case StoreError():
            return ErrorBody(_CODE.INTERNAL, store_sentence(exc))
        case _:
            return None


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
    line = notice_line(f"efr: {name} failed: {event.error.message}")
    command = LOGIN_COMMANDS.get(provider_id or "")
    if event.error.code is _CODE.UNAUTHORIZED and command is not None and command not in line:
        line = notice_line(line, f"(log in: {command})")
    return line


def approval_notice(summary: str) -> str:
    """The line for a terminal that does not see the question."""
    first = redact_title(summary.split("\n", 1)[0])
    return notice_line(f"efr asks: {first}", "(the next , line shows the question)")
