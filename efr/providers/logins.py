"""Which providers have a login, and which of them answers new conversations.

Any thread. Reads the small credential files at each call, so a login counts at once; network and
secrets stay outside.
"""

from __future__ import annotations

import logging

from msgspec import Struct

from efr.providers.assembly import COMPATIBLE, DEMO, WITH_RECORD
from efr.providers.credentials import (
    ApiKey,
    Credential,
    CredentialStore,
    CredentialUnsafe,
    OauthTokens,
    key_hint,
)
from efr.providers.key_watch import KeyNews
from efr.wire import types as t

log = logging.getLogger("efr.providers")


class Login(Struct, frozen=True):
    """What the credential file of a provider says."""

    record: Credential | None
    unsafe: bool = False

    @property
    def present(self) -> bool:
        return self.record is not None or self.unsafe

    @property
    def saved_at_us(self) -> int:
        return self.record.saved_at_us if self.record is not None else 0


class Logins:
    """The logins as the files are now."""

    def __init__(
        self, store: CredentialStore, configured: str | None, compatible_is_set: bool
    ) -> None:
        self._store = store
        self._configured = configured
        self._compatible_is_set = compatible_is_set
        self._warned: frozenset[str] = frozenset()

    def choose(self) -> tuple[str, str]:
        """The provider of new conversations, and why it is."""
        if self._configured is not None:
            return self._configured, "model.provider names it"
        logins = {provider: self.read(provider) for provider in WITH_RECORD}
        usable = [p for p in WITH_RECORD if logins[p].present or self.needs_none(p)]
        if not usable:
            return DEMO, "no provider has a login"
        newest = max(usable, key=lambda p: logins[p].saved_at_us)
        if not logins[newest].present:
            return newest, "compatible.base_url is set"
        return newest, "the only login" if len(usable) == 1 else "the newest login"

    def needs_none(self, provider: str) -> bool:
        """Whether the provider answers without a login."""
        return provider == COMPATIBLE and self._compatible_is_set

    def read(self, provider: str) -> Login:
        """The login of a provider; one that is not private counts, so that its turns say why."""
        if provider not in WITH_RECORD:
            return Login(None)
        try:
            return Login(self._store.read(provider))
        except CredentialUnsafe as exc:
            self._warn_once(str(exc))
            return Login(None, unsafe=self._store.is_there(provider))

    def status(self, provider: str, active: bool, news: KeyNews) -> t.ProviderStatus:
        """What admin.status shows."""
        record = self.read(provider).record
        key = record if isinstance(record, ApiKey) else None
        tokens = record if isinstance(record, OauthTokens) else None
        kind = t.LoginKind.API_KEY if key else t.LoginKind.SUBSCRIPTION if tokens else None
        return t.ProviderStatus(
            provider=provider,
            logged_in=record is not None or self.needs_none(provider),
            expires_at=wire_time(tokens.expires_at_us) if tokens else None,
            active=active,
            login=kind,
            key_hint=key_hint(provider, key.key) if key else None,
            key_refused_at=wire_time(news.refused_at_us) if key else None,
            key_checked_at=wire_time(news.checked_at_us) if key else None,
        )

    def _warn_once(self, which: str) -> None:
        """Reads are frequent; one line for each login is enough."""
        if which not in self._warned:
            self._warned = self._warned | {which}
            log.warning("a login is refused: %s", which)


def wire_time(us: int | None) -> t.Time | None:
    return None if us is None else t.time_from_us(us)
