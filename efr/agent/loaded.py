"""The conversations that are loaded: those in use, and the ones used last.

A conversation of which nothing runs, waits or is timed is let go when many came after it: the log
has all that it knew, but for what costs one more read. So efrd does not grow with each script that
ever asked something. Any thread; the lock "loaded" guards the table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

from efr.agent.conversation import Conversation
from efr.agent.gate import GateShut
from efr.agent.history import is_away
from efr.agent.services import Services
from efr.store import queries
from efr.wire import types as t
from efr.wire.errors import Refusal, refuse

R = TypeVar("R")

KEPT: Final = 64  # more than a person has in use
_LOOKED_AT: Final = 8  # of the oldest, with each request


class Loaded:
    """The table."""

    def __init__(self, services: Services, kept: int = KEPT) -> None:
        self._services = services
        self._kept = kept
        self._lock = threading.Lock()
        self._table: dict[str, Conversation] = {}  # the one used last at the end
        self._had_input: set[str] = set()  # ids of those that were let go
        self._stopping = False

    def use(self, conversation_id: str, fn: Callable[[Conversation], R]) -> R:
        """What `fn` returns or raises. Raises `not_found` when there is no such conversation.

        `fn` enters the gate before it changes anything: one that was let go just before has it
        shut, and is opened anew.
        """
        self._let_go()
        while True:
            try:
                return fn(self._open(conversation_id))
            except GateShut:
                continue

    def use_all_with_input(self, fn: Callable[[Sequence[Conversation]], R], *, but_away: bool) -> R:
        """The same with every conversation that had input since the start of efrd. `but_away`:
        not with those that were let go, in which the user is away."""
        while True:
            try:
                return fn(self._with_input(but_away=but_away))
            except GateShut:
                continue

    def get(self, conversation_id: str) -> Conversation | None:
        """It, when it is loaded."""
        with self._lock:
            return self._table.get(conversation_id)

    def all(self) -> list[Conversation]:
        with self._lock:
            return list(self._table.values())

    def begin(self, fn: Callable[[Conversation], R]) -> R:
        """The same with one that begins. Nothing of it stays when `fn` raises."""
        self._let_go()
        conversation_id = self._services.ports.ids.new()
        while True:
            conversation = self._load(conversation_id, away=False)
            try:
                return fn(conversation)
            except GateShut:
                continue
            except BaseException:
                with conversation.state.lock:
                    conversation.state.gone = True
                self.drop(conversation_id)
                raise

    def drop(self, conversation_id: str) -> Conversation | None:
        """It is gone; returns it when it was loaded."""
        with self._lock:
            self._had_input.discard(conversation_id)
            return self._table.pop(conversation_id, None)

    def stop(self) -> list[Conversation]:
        """From here on none is loaded; returns those that are."""
        with self._lock:
            self._stopping = True
            return list(self._table.values())

    def _open(self, conversation_id: str) -> Conversation:
        with self._lock:
            found = self._table.pop(conversation_id, None)
            if found is not None and not found.gate.is_shut:
                self._table[conversation_id] = found
                return found
        away = self._services.ports.readers.read(lambda conn: _away(conn, conversation_id))
        if away is None:
            raise refuse(t.ErrorCode.NOT_FOUND, "there is no such conversation")
        return self._load(conversation_id, away=away)

    def _load(self, conversation_id: str, *, away: bool) -> Conversation:
        with self._lock:
            if self._stopping:
                raise refuse(t.ErrorCode.CANCELLED, "efrd stops")
            found = self._table.get(conversation_id)
            if found is None or found.gate.is_shut:
                found = Conversation(conversation_id, away, self._services)
                self._table[conversation_id] = found
            return found

    def _let_go(self) -> None:
        """Of those used longest ago, the ones that rest."""
        with self._lock:
            over = len(self._table) - self._kept
            oldest = list(islice(self._table.values(), min(over, _LOOKED_AT))) if over > 0 else []
        for one in oldest:
            if one.let_go():
                with self._lock:
                    if self._table.get(one.id) is one:
                        del self._table[one.id]
                    if one.presence.had_input:
                        self._had_input.add(one.id)

    def _with_input(self, *, but_away: bool) -> list[Conversation]:
        with self._lock:
            found = [one for one in self._table.values() if one.presence.had_input]
            gone = set() if but_away else self._had_input - {one.id for one in found}
        for conversation_id in gone:
            try:
                found.append(self._open(conversation_id))
            except Refusal as refusal:
                if refusal.body.code is not t.ErrorCode.NOT_FOUND:
                    raise
        return found


def _away(conn: Any, conversation_id: str) -> bool | None:
    """Whether the user is away there; None when there is no such conversation."""
    if queries.conversation(conn, conversation_id) is None:
        return None
    return is_away(conn, conversation_id)
