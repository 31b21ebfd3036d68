"""The seam between a turn and a model: what every provider and token source offers.

Types alone. A stream blocks the thread that iterates it; `cancel` ends it from another thread
with base's Cancelled.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from efr.base.cancel import Cancel
from efr.providers.canonical import EditTool, ModelFacts, Request, StreamEvent

EventStream = Generator[StreamEvent, None, None]


class Provider(Protocol):
    """One model API behind one login."""

    @property
    def id(self) -> str: ...

    def models(self) -> Sequence[ModelFacts]:
        """The facts in memory, the default first; never waits for a fetch."""
        ...

    def default_edit_tool(self) -> EditTool:
        """The edit tool of a model that says nothing itself."""
        ...

    def stream(self, request: Request, cancel: Cancel) -> EventStream:
        """One model call, sent when the first event is asked for.

        Raises a ProviderError or Cancelled from the iteration. Close it when it is left early.
        """
        ...


class Token:
    """What goes into the Authorization header; never shown."""

    __slots__ = ("account_id", "secret")

    def __init__(self, secret: str, account_id: str | None = None) -> None:
        self.secret = secret
        self.account_id = account_id

    def __repr__(self) -> str:
        return "Token(***)"


class TokenSource(Protocol):
    """Where a provider gets its token; asked at each call, so a new login works at once."""

    @property
    def refreshable(self) -> bool: ...

    def access_token(self, cancel: Cancel) -> Token:
        """May block on a refresh. Raises NotLoggedIn, TokenFailed, Cancelled."""
        ...

    def invalidate(self, refused_secret: str) -> None:
        """Forgets the cached token if it is still the refused one."""
        ...
