"""One answer per command id: the stored result again, or the run that stores it.

A result is stored with its sequence numbers counted from the receipt's own (the numbers of a
batch are consecutive), and completed from the receipt's seq when it is read, so the first answer
and every retry are the same. Refusals that a retry cannot change are stored too. Of two requests
with one id at once one commits, the other gets its answer. Blocks on the store.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct

from efr.agent.commit import Commits
from efr.agent.ports import Readers
from efr.store import queries
from efr.store.batch import Batch, NewReceipt, Receipt
from efr.store.errors import DuplicateReceipt, StoreError
from efr.wire import codec
from efr.wire import types as t
from efr.wire.errors import ErrorBody, Refusal, refuse

log = logging.getLogger("efr.agent")

R = TypeVar("R")

_KEPT = frozenset({t.ErrorCode.INVALID, t.ErrorCode.NOT_FOUND, t.ErrorCode.CONFLICT})


class Form(Struct, Generic[R], frozen=True):
    """A method with receipts: its name, its result and where that holds numbers of the batch."""

    method: str
    result: type[R]
    numbered: Callable[[R, int], R]  # (result counted from 0, seq of the receipt) -> the answer

    def receipt(self, command_id: str, result: R, seq_of: int) -> NewReceipt:
        """The receipt of a batch; `seq_of` is the index of the event that number 0 means."""
        return NewReceipt(command_id, self.method, "done", codec.encode(result), seq_of)


class Receipts:
    """Looks receipts up and stores refusals. Any handler thread."""

    def __init__(self, readers: Readers, commits: Commits) -> None:
        self._readers = readers
        self._commits = commits

    def with_receipt(self, command_id: str, form: Form[R], run: Callable[[], R]) -> R:
        """The stored answer of `command_id`, else what `run` returns (or refuses).

        `run` appends the batch with `form.receipt` itself. Raises Refusal.
        """
        stored = self._find(command_id)
        if stored is not None:
            return self._again(stored, form)
        try:
            return run()
        except DuplicateReceipt as exc:
            return self._again(exc.receipt, form)
        except Refusal as exc:
            stored = self._keep(command_id, form.method, exc.body)
            if stored is not None:
                return self._again(stored, form)
            raise

    def _find(self, command_id: str) -> Receipt | None:
        return self._readers.read(lambda conn: queries.receipt(conn, command_id))

    def _keep(self, command_id: str, method: str, body: ErrorBody) -> Receipt | None:
        """Stores a refusal; returns the answer that another request stored before it."""
        if body.code not in _KEPT:
            return self._find(command_id)
        receipt = NewReceipt(command_id, method, "refused", codec.encode(body))
        try:
            self._commits.append(Batch(receipt=receipt))
        except DuplicateReceipt as exc:
            return exc.receipt
        except StoreError as exc:
            log.warning("a refusal could not be stored: %s", exc)
        return None

    def _again(self, stored: Receipt, form: Form[R]) -> R:
        if stored.method != form.method:
            raise refuse(
                t.ErrorCode.CONFLICT, f"this command id was used for {stored.method}"
            ) from None
        if stored.outcome == "refused":
            raise Refusal(codec.decode(stored.result, ErrorBody)) from None
        return form.numbered(codec.decode(stored.result, form.result), stored.seq or 0)
