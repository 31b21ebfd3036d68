"""Requests that wait long for a provider: they hold no handler thread.

A method answers `LATER` and goes on elsewhere: on an errand of its own, or after the next fetch
of the model list, which serves all prompts that wait for it in the order in which they came. A
cancelled request (also one whose connection ended) is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from efr.base.cancel import Cancelled
from efr.daemon.errors import error_body
from efr.daemon.item_stream import ItemStream
from efr.providers import failures
from efr.providers.errors import ProviderError
from efr.threads.catalog import CatalogFetcher
from efr.threads.errands import Errands
from efr.threads.handlers import CANCELLED, INTERNAL
from efr.threads.requests import LATER, Call, Later
from efr.wire import codec
from efr.wire import types as t
from efr.wire.errors import ErrorBody, refuse


class Waits:
    """What completes a request whose handler gave its thread back. Any thread."""

    def __init__(
        self, errands: Errands, lists: CatalogFetcher, provider: Callable[[], str]
    ) -> None:
        self._errands = errands
        self._lists = lists
        self._provider = provider  # the one whose list is fetched

    def errand(self, call: Call, work: Callable[[], Any]) -> Later:
        """Answers the call with what `work` returns, on a thread of its own. Raises Refusal."""
        if not self._errands.run(partial(_finish, call, work)):
            raise refuse(t.ErrorCode.BUSY, f"efrd has too many {call.method.name}; try again")
        return LATER

    def stream(self, call: Call, stream: ItemStream, work: Callable[[], None]) -> None:
        """Runs what fills a stream on a thread of its own, and ends it. Raises Refusal."""
        if not self._errands.run(partial(_fill, call.method.name, stream, work)):
            raise refuse(t.ErrorCode.BUSY, f"efrd has too many {call.method.name}; try again")

    def for_models(self, call: Call, again: Callable[[], Any]) -> Later:
        """Answers the call with what `again` returns once a list of models was fetched."""
        forget = self._lists.after_fetch(partial(self._fetched, call, again))
        call.cancel.on_cancel(forget)
        return LATER

    def _fetched(self, call: Call, again: Callable[[], Any], failure: Exception | None) -> None:
        if call.cancel.cancelled:
            return
        if failure is None:
            _finish(call, again)
        else:
            call.finish(self._body(failure))

    def _body(self, failure: Exception) -> ErrorBody:
        if isinstance(failure, ProviderError):
            return failures.error_body(failure, self._provider())
        return CANCELLED if isinstance(failure, Cancelled) else INTERNAL


def _fill(method: str, stream: ItemStream, work: Callable[[], None]) -> None:
    """Ends the stream when its work is done, or with the error that ended it."""
    try:
        work()
    except Exception as exc:  # noqa: BLE001 - every error of a method ends in its answer
        stream.end(error_body(method, exc))
        return
    stream.end()


def _finish(call: Call, work: Callable[[], Any]) -> None:
    """Answers the call with the result, or the error, of `work`; not when that waits again."""
    try:
        answer = work()
    except Exception as exc:  # noqa: BLE001 - every error of a method ends in its answer
        call.finish(error_body(call.method.name, exc))
        return
    if answer is not LATER:
        call.finish(codec.encode(answer))
