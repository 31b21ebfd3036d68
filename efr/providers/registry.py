"""Every provider, who answers new conversations, and the logins behind them.

Any thread may call. Network and disk happen on the caller's thread: login_api_key and
fetch_now block on the provider, the rest reads memory and the small credential files. Keys
that apply at a restart are read once here; model names, efforts and lists are read at each call.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from efr.base.cancel import Cancel
from efr.providers import anthropic_messages, chat_completions
from efr.providers.assembly import (
    ANTHROPIC,
    COMPATIBLE,
    DEMO,
    OPENAI,
    OPENAI_API,
    WITH_KEY,
    WITH_RECORD,
    Parts,
    make_backends,
    make_catalogs,
    make_check,
    make_providers,
)
from efr.providers.canonical import Effort, ModelFacts
from efr.providers.credentials import (
    CredentialStore,
    CredentialUnsafe,
    key_hint,
    key_problem,
)
from efr.providers.demo import MODEL as DEMO_MODEL
from efr.providers.demo import DemoProvider
from efr.providers.errors import ProviderError
from efr.providers.failures import error_body
from efr.providers.key_watch import KeyWatch
from efr.providers.logins import Logins, wire_time
from efr.providers.model_list import (
    ModelList,
    Resolved,
    choose_default,
    foreign_name,
    is_foreign,
    merged,
    resolve,
    too_large,
)
from efr.providers.oauth import Issuer, refresh
from efr.providers.provider import Provider
from efr.providers.retry import Sender
from efr.providers.settings import ModelEntry, ProviderSettings
from efr.providers.subscription import StoredTokens, SubscriptionLogin
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal, refuse

log = logging.getLogger("efr.providers")

IDS: Final = (OPENAI, OPENAI_API, ANTHROPIC, COMPATIBLE, DEMO)
FETCH_NEVER_S: Final = 3600.0  # the demo has no list to fetch; a login wakes the loop


class Active(NamedTuple):
    """The provider of new conversations, and why it is."""

    provider: Provider
    why: str


class Providers:
    """The registry; see the module."""

    def __init__(
        self,
        settings: Callable[[], ProviderSettings],
        credentials: CredentialStore,
        sender: Sender,
        state_dir: Path,
        issuer: Issuer,
    ) -> None:
        self._settings = settings
        self._credentials = credentials
        self._fetch_wanted: Callable[[], None] = _nobody
        self._warned: frozenset[tuple[str, str]] = frozenset()
        fixed = settings()
        self._logins = Logins(
            credentials, fixed.model.provider, fixed.compatible.base_url is not None
        )
        keys = {provider: KeyWatch(sender.clock) for provider in IDS}
        self._originator = fixed.openai.originator
        tokens = StoredTokens(credentials, sender.clock, partial(refresh, sender, issuer))
        self._parts = Parts(make_backends(fixed), credentials, sender, keys, tokens)
        self._subscription = SubscriptionLogin(credentials, sender, issuer)
        self._catalogs = make_catalogs(self._parts, state_dir)
        self._demo = DemoProvider(self._facts(DEMO))
        self._providers = {DEMO: self._demo, **make_providers(self._parts, self._facts)}

    # --- who answers ---

    def active(self) -> Active:
        """The provider that new conversations use; decides by the files as they are now."""
        chosen, why = self._logins.choose()
        return Active(self._providers[chosen], why)

    def get(self, provider: str) -> Provider:
        """Raises KeyError for an id that does not exist."""
        return self._providers[provider]

    def statuses(self) -> tuple[t.ProviderStatus, ...]:
        """One entry per provider, for admin.status."""
        active = self.active().provider.id
        return tuple(
            self._logins.status(provider, provider == active, self._parts.keys[provider].news())
            for provider in IDS
        )

    # --- models and settings ---

    def model_list(self, provider: str | None = None) -> ModelList:
        """The models on offer of a provider, the active one when not given."""
        provider = provider or self.active().provider.id
        settings = self._settings()
        name = settings.model.name
        catalog = self._catalogs[provider].state.entries if provider != DEMO else (DEMO_MODEL,)
        configured = _configured(settings, provider)
        if name is not None and (provider == DEMO or (provider == COMPATIBLE and not catalog)):
            configured = [*configured, name]  # nothing to check a name against: it counts
        for id_ in too_large(catalog, configured):
            self._warn_once("the window is above the model's largest, which is used", id_)
        preferred = anthropic_messages.DEFAULT_MODEL if provider == ANTHROPIC else None
        default = choose_default(name, catalog, configured, preferred)
        return ModelList(provider, merged(catalog, configured), default)

    def models(self) -> m.ModelsListResult:
        """The answer of models.list."""
        return m.ModelsListResult(self.model_list().on_wire(), self.catalog())

    def catalog(self) -> t.Catalog:
        """Whose list it is and how old."""
        provider = self.active().provider.id
        if provider == DEMO:
            return t.Catalog(provider=DEMO, origin=t.CatalogOrigin.BUILTIN)
        state = self._catalogs[provider].state
        return t.Catalog(
            provider=provider,
            origin=t.CatalogOrigin(state.origin),
            fetched_at=wire_time(state.fetched_at_us),
        )

    def resolve(self, model: str | None, effort: Effort | None) -> Resolved:
        """What a turn of the active provider runs with. Raises the wire's Refusal."""
        provider = self.active().provider.id
        settings = self._settings()
        name = settings.model.name
        foreign = name is not None and is_foreign(name, provider, _configured(settings, provider))
        if model is None and name is not None and foreign:
            raise foreign_name(name, provider)
        return resolve(self.model_list(provider), model, effort, settings.model.effort)

    def needs_list(self, model: str | None) -> bool:
        """Whether a prompt for this model must wait until the active provider's list is there."""
        provider = self.active().provider.id
        catalog = self._catalogs.get(provider)
        if catalog is None or catalog.state.origin != "missing":
            return False
        models = self.model_list(provider)
        name = model or models.default
        facts = models.get(name) if name is not None else None
        return facts is None or (provider == ANTHROPIC and facts.max_output_tokens is None)

    def setting_warnings(self) -> tuple[str, ...]:
        """What of the model settings of now does not do what it says, a sentence each."""
        provider = self.active().provider.id
        settings = self._settings()
        name, configured = settings.model.name, _configured(settings, provider)
        found = []
        if provider in (OPENAI, OPENAI_API) and settings.openai.websocket == "on":
            found.append("openai.websocket is on, and calls go over HTTP all the same")
        if name is not None and is_foreign(name, provider, configured):
            found.append(f"{name} is no model of {provider}: turns that name no model fail")
        if (catalog := self._catalogs.get(provider)) is not None:
            found += [
                f"the context_window of {id_} is above the model's largest, which is used"
                for id_ in too_large(catalog.state.entries, configured)
            ]
        return tuple(found)

    # --- the fetch loop's view ---

    def fetch_now(self, cancel: Cancel) -> None:
        """Fetches the active provider's list. Raises ProviderError, Cancelled; blocks to 60 s."""
        catalog = self._catalogs.get(self.active().provider.id)
        if catalog is not None:
            catalog.fetch_now(cancel)

    def when_next_fetch_s(self) -> float:
        """Seconds until the active provider's list is due; ask again after a wake-up."""
        catalog = self._catalogs.get(self.active().provider.id)
        return FETCH_NEVER_S if catalog is None else catalog.when_next_s()

    def on_fetch_wanted(self, wake: Callable[[], None]) -> None:
        """Who to wake when a login makes a fetch due; wake must not block."""
        self._fetch_wanted = wake

    # --- logins ---

    def login_api_key(
        self, provider: str, key: str, check: bool, cancel: Cancel
    ) -> m.AdminLoginApiKeyResult:
        """Checks (unless told not to) and stores a key. Raises the wire's Refusal, Cancelled."""
        self._refuse_bad_login(provider, key)
        if check:
            try:
                make_check(self._parts, provider)(key, cancel)
            except ProviderError as exc:
                raise Refusal(error_body(exc, provider)) from exc
        try:
            self._credentials.save_key(provider, key)
        except (CredentialUnsafe, OSError) as exc:
            raise refuse(t.ErrorCode.INTERNAL, f"the key cannot be stored: {exc}") from exc
        active = self._logged_in(provider, checked=check)
        return m.AdminLoginApiKeyResult(provider, key_hint(provider, key), check, active)

    def login_openai(self, say: Callable[[str], None], cancel: Cancel) -> str:
        """Logs in to the subscription; `say` gets the page to open. Returns the provider's id.

        Blocks for the browser, 10 min at most. Raises the wire's Refusal, Cancelled.
        """
        try:
            self._subscription.run(self._originator, say, cancel)
        except ProviderError as exc:
            raise Refusal(error_body(exc, OPENAI)) from exc
        self._logged_in(OPENAI, checked=True)
        return OPENAI

    def logout(self, provider: str) -> m.AdminLogoutResult:
        """Deletes a login. Raises the wire's Refusal."""
        if provider not in WITH_RECORD:
            raise refuse(t.ErrorCode.INVALID, f"{provider} is no provider with a login")
        try:
            deleted = self._credentials.delete(provider)
        except (CredentialUnsafe, OSError) as exc:
            raise refuse(t.ErrorCode.INTERNAL, f"the login cannot be deleted: {exc}") from exc
        if deleted:
            self._parts.keys[provider].renew(checked=False)
        return m.AdminLogoutResult(provider, deleted, self.active().provider.id == provider)

    # --- inside ---

    def _logged_in(self, provider: str, checked: bool) -> bool:
        """Forgets what was known of the old login, asks for the list; whether it is active."""
        self._parts.keys[provider].renew(checked=checked)
        active = self.active().provider.id == provider
        if active:
            self._catalogs[provider].hurry()
            self._fetch_wanted()
        return active

    def _refuse_bad_login(self, provider: str, key: str) -> None:
        if provider not in WITH_KEY:
            raise refuse(t.ErrorCode.INVALID, f"{provider} takes no API key")
        problem = key_problem(provider, key)
        if problem is not None:
            raise refuse(t.ErrorCode.INVALID, problem)
        if provider == COMPATIBLE and self._parts.backends.compatible.base_url is None:
            raise refuse(t.ErrorCode.INVALID, f"{chat_completions.BASE_URL_KEY} is not set")

    def _warn_once(self, what: str, which: str) -> None:
        """Reads are frequent; one line for each thing that is wrong is enough."""
        if (what, which) not in self._warned:
            self._warned = self._warned | {(what, which)}
            log.warning("%s: %s", what, which)

    def _facts(self, provider: str) -> Callable[[], Sequence[ModelFacts]]:
        return lambda: self.model_list(provider).default_first()


def _configured(settings: ProviderSettings, provider: str) -> Sequence[str | ModelEntry]:
    tables = {
        OPENAI: settings.openai.models,
        OPENAI_API: settings.openai.models,
        ANTHROPIC: settings.anthropic.models,
        COMPATIBLE: settings.compatible.models,
    }
    return tables.get(provider, ())


def _nobody() -> None:
    """Nobody waits for a fetch yet."""
