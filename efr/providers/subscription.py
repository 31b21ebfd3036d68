"""The tokens of a subscription: read at each call, refreshed before they end, logged in to.

Any thread. One refresh serves every caller that waits; the new record is on the disk before its
token is used. There is one login at a time, and it blocks its thread until the browser is back.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.providers import oauth
from efr.providers.callback import Callback, LoginRefused, NoAnswer
from efr.providers.credentials import (
    CredentialStore,
    CredentialUnsafe,
    OauthTokens,
    readable,
)
from efr.providers.errors import NotLoggedIn, TokenFailed
from efr.providers.failures import wait_text
from efr.providers.oauth import Issuer
from efr.providers.provider import Token
from efr.providers.retry import Sender
from efr.wire import types as t
from efr.wire.errors import refuse

PROVIDER: Final = "openai"
LOGIN_LIMIT_S: Final = 600.0
MARGIN_US: Final = 5 * 60 * 1_000_000  # a call that starts now may take some minutes

log = logging.getLogger("efr.providers")

Refresh = Callable[[OauthTokens, Cancel], OauthTokens]


class _Refreshing(Struct):
    """One refresh that some callers wait for."""

    over: bool = False
    failure: TokenFailed | None = None


class StoredTokens:
    """A token source over the subscription's record."""

    refreshable = True

    def __init__(self, store: CredentialStore, clock: Clock, refresh: Refresh) -> None:
        self._store = store
        self._clock = clock
        self._refresh = refresh
        self._changed = threading.Condition()  # guards the two below
        self._running: _Refreshing | None = None
        self._refused: str | None = None  # an access token that a server refused

    def access_token(self, cancel: Cancel) -> Token:
        """Raises NotLoggedIn, TokenFailed, Cancelled."""
        while True:
            record = self._record()
            if not self._is_due(record):
                return Token(record.access, record.account_id)
            mine, running = self._join()
            if mine:
                return self._lead(running, record, cancel)
            if self._follow(running, cancel):
                return self._as_it_is(self._record(), running.failure)

    def invalidate(self, refused_secret: str) -> None:
        """A server refused this access token: the next call refreshes."""
        with self._changed:
            self._refused = refused_secret

    def _record(self) -> OauthTokens:
        record = readable(self._store, PROVIDER)
        if record is None:
            raise NotLoggedIn
        if not isinstance(record, OauthTokens):
            raise TokenFailed("the stored login is no subscription")
        return record

    def _is_due(self, record: OauthTokens) -> bool:
        if self._is_refused(record):
            return True
        ends = record.expires_at_us
        if ends is None:
            return False
        margin = min(MARGIN_US, (ends - record.saved_at_us) // 2)  # a token of a minute is no use
        return ends - self._clock.now_us() <= margin  # if it is due as soon as it comes

    def _is_refused(self, record: OauthTokens) -> bool:
        with self._changed:
            return record.access == self._refused

    def _join(self) -> tuple[bool, _Refreshing]:
        """The refresh that runs, or a new one that is the caller's to do."""
        with self._changed:
            if self._running is not None:
                return False, self._running
            self._running = _Refreshing()
            return True, self._running

    def _lead(self, running: _Refreshing, record: OauthTokens, cancel: Cancel) -> Token:
        try:
            fresh = self._refresh(record, cancel)
            if self._record() == record:  # nobody logged in or out meanwhile
                self._save(fresh)
        except TokenFailed as exc:
            running.failure = exc
        finally:
            with self._changed:
                self._running = None
                running.over = True
                self._changed.notify_all()
        return self._as_it_is(self._record(), running.failure)

    def _follow(self, running: _Refreshing, cancel: Cancel) -> bool:
        """Waits for its end. True: it failed. Else look again: it may have been cancelled."""
        forget = cancel.on_cancel(self._wake)
        try:
            with self._changed:
                self._changed.wait_for(lambda: running.over or cancel.cancelled)
        finally:
            forget()
        cancel.raise_if_cancelled()
        return running.failure is not None

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _as_it_is(self, record: OauthTokens, failure: TokenFailed | None) -> Token:
        """The token on the disk; after a failed refresh only while it lives."""
        if failure is not None:
            ends = record.expires_at_us
            ended = ends is not None and ends <= self._clock.now_us()
            if ended or self._is_refused(record):
                if failure.passing:
                    raise TokenFailed(failure.cause, passing=True)
                raise TokenFailed(f"it has ended and was not renewed ({failure.cause})")
            log.warning("the login of %s could not be renewed: %s", PROVIDER, failure.cause)
        return Token(record.access, record.account_id)

    def _save(self, fresh: OauthTokens) -> None:
        try:
            self._store.save_tokens(PROVIDER, fresh)
        except (CredentialUnsafe, OSError) as exc:
            raise TokenFailed(f"the renewed login cannot be stored: {exc}") from exc


class SubscriptionLogin:
    """Logs in with a browser."""

    def __init__(
        self,
        store: CredentialStore,
        sender: Sender,
        issuer: Issuer,
        limit_s: float = LOGIN_LIMIT_S,
    ) -> None:
        self._store = store
        self._sender = sender
        self._issuer = issuer
        self._limit_s = limit_s
        self._slot = threading.Lock()  # held by the one login that waits

    def run(self, originator: str, say: Callable[[str], None], cancel: Cancel) -> None:
        """Says the page to open and waits for its end; the tokens are stored then.

        Raises the wire's Refusal, TokenFailed, Cancelled.
        """
        if not self._slot.acquire(blocking=False):
            raise refuse(t.ErrorCode.BUSY, "another login waits for its browser")
        try:
            tokens = self._tokens(originator, say, cancel)
            cancel.raise_if_cancelled()
            self._store.save_tokens(PROVIDER, tokens)
        except (CredentialUnsafe, OSError) as exc:
            raise refuse(t.ErrorCode.INTERNAL, f"the login cannot be stored: {exc}") from exc
        finally:
            self._slot.release()

    def _tokens(self, originator: str, say: Callable[[str], None], cancel: Cancel) -> OauthTokens:
        attempt = oauth.begin(self._issuer, originator)
        with self._open() as callback:
            say(attempt.url)
            try:
                code = callback.wait(attempt.is_state, self._limit_s, cancel)
            except LoginRefused as exc:
                raise refuse(t.ErrorCode.UNAUTHORIZED, f"the login was refused: {exc}") from exc
            except NoAnswer as exc:
                message = f"nobody finished the login within {wait_text(self._limit_s)}"
                raise refuse(t.ErrorCode.CANCELLED, message) from exc
        return oauth.exchange(self._sender, self._issuer, attempt, code, cancel)

    def _open(self) -> Callback:
        port = self._issuer.port
        try:
            return Callback.open(port, self._sender.clock)
        except OSError as exc:
            message = f"port {port} of 127.0.0.1 cannot be taken: {exc.strerror}"
            raise refuse(t.ErrorCode.BUSY, message) from exc
