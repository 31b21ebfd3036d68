"""Builds every backend, catalog and provider from the settings of the start.

Runs once, on the thread that starts the daemon; does no I/O but for the catalogs' cache files.
The keys read here apply at a restart: base URLs, headers and the cache lifetime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from efr.providers import anthropic_messages, openai_models, openai_responses
from efr.providers.anthropic_cache import Lifetimes
from efr.providers.anthropic_messages import AnthropicBackend, MessagesProvider
from efr.providers.canonical import ModelFacts
from efr.providers.catalog import Catalog
from efr.providers.catalog_fetch import (
    CheckKey,
    anthropic_fetch,
    check_key,
    compatible_fetch,
    list_url,
    openai_fetch,
)
from efr.providers.chat_completions import (
    ChatProvider,
    CompatibleBackend,
    authorize,
    base_url_of,
)
from efr.providers.credentials import CredentialStore, StoredKey
from efr.providers.key_watch import KeyWatch
from efr.providers.model_call import CallLog, ModelCalls
from efr.providers.openai_responses import Backend, ResponsesProvider
from efr.providers.provider import Provider, TokenSource
from efr.providers.retry import Sender
from efr.providers.settings import ProviderSettings

OPENAI: Final = "openai"
OPENAI_API: Final = "openai-api"
ANTHROPIC: Final = "anthropic-api"
COMPATIBLE: Final = "compatible"
DEMO: Final = "demo"

WITH_RECORD: Final = (OPENAI, OPENAI_API, ANTHROPIC, COMPATIBLE)
WITH_KEY: Final = (OPENAI_API, ANTHROPIC, COMPATIBLE)

FactsOf = Callable[[str], Callable[[], Sequence[ModelFacts]]]


class Backends(Struct, frozen=True):
    """Where each provider's requests go, and how they are authorized."""

    subscription: Backend
    api: Backend
    anthropic: AnthropicBackend
    compatible: CompatibleBackend


class Parts(Struct, frozen=True):
    """What all providers share."""

    backends: Backends
    store: CredentialStore
    sender: Sender
    keys: Mapping[str, KeyWatch]
    tokens: TokenSource  # of the subscription


def make_backends(settings: ProviderSettings) -> Backends:
    """The backends as the settings are now."""
    openai, anthropic = settings.openai, settings.anthropic
    api_headers = {"openai-organization": openai.organization, "openai-project": openai.project}
    return Backends(
        subscription=Backend(
            OPENAI,
            openai.subscription_base_url or openai_responses.SUBSCRIPTION_BASE_URL,
            {"originator": openai.originator},
            subscription=True,
        ),
        api=Backend(
            OPENAI_API,
            openai.api_base_url or openai_responses.API_BASE_URL,
            {name: value for name, value in api_headers.items() if value is not None},
        ),
        anthropic=AnthropicBackend(
            anthropic.base_url or anthropic_messages.BASE_URL,
            anthropic.workspace_id,
            Lifetimes(anthropic.cache_ttl),
        ),
        compatible=CompatibleBackend(settings.compatible.base_url),
    )


def make_catalogs(parts: Parts, state_dir: Path) -> Mapping[str, Catalog]:
    """One catalog per provider that has a list; reads the cache files."""
    sender, store, keys, backends = parts.sender, parts.store, parts.keys, parts.backends
    api_key, anthropic_key = StoredKey(store, OPENAI_API), StoredKey(store, ANTHROPIC)
    optional = StoredKey(store, COMPATIBLE).optional
    openai_file = state_dir / "model_catalog.json"
    return {
        OPENAI: Catalog(
            backends.subscription.base_url,
            openai_file,
            openai_models.BUILTIN,
            openai_fetch(sender, backends.subscription, parts.tokens, keys[OPENAI]),
            sender.clock,
        ),
        OPENAI_API: Catalog(
            backends.api.base_url,
            openai_file,
            openai_models.BUILTIN,
            openai_fetch(sender, backends.api, api_key, keys[OPENAI_API]),
            sender.clock,
        ),
        ANTHROPIC: Catalog(
            backends.anthropic.base_url,
            state_dir / "anthropic_model_catalog.json",
            (),
            anthropic_fetch(sender, backends.anthropic, anthropic_key, keys[ANTHROPIC]),
            sender.clock,
        ),
        COMPATIBLE: Catalog(
            backends.compatible.base_url or "",
            state_dir / "compatible_model_catalog.json",
            (),
            compatible_fetch(sender, backends.compatible, optional, keys[COMPATIBLE]),
            sender.clock,
        ),
    }


def make_providers(parts: Parts, facts: FactsOf) -> Mapping[str, Provider]:
    """Every provider that asks a server, by id."""
    sender, store, keys, backends = parts.sender, parts.store, parts.keys, parts.backends
    log = CallLog(sender.clock)

    def calls(provider: str) -> ModelCalls:
        return ModelCalls(provider, facts(provider), sender, keys[provider], log)

    api_key, anthropic_key = StoredKey(store, OPENAI_API), StoredKey(store, ANTHROPIC)
    optional_key = StoredKey(store, COMPATIBLE).optional
    return {
        OPENAI: ResponsesProvider(backends.subscription, parts.tokens, calls(OPENAI)),
        OPENAI_API: ResponsesProvider(backends.api, api_key, calls(OPENAI_API)),
        ANTHROPIC: MessagesProvider(backends.anthropic, anthropic_key, calls(ANTHROPIC)),
        COMPATIBLE: ChatProvider(backends.compatible, optional_key, calls(COMPATIBLE)),
    }


def make_check(parts: Parts, provider: str) -> CheckKey:
    """How a key of this provider is checked: one request that runs no model."""
    backends, sender = parts.backends, parts.sender
    if provider == ANTHROPIC:
        return check_key(
            sender,
            list_url(backends.anthropic.base_url, "limit=1"),
            lambda token: anthropic_messages.authorize(backends.anthropic, token),
        )
    if provider == OPENAI_API:
        return check_key(
            sender,
            list_url(backends.api.base_url),
            lambda token: openai_responses.authorize(backends.api, token),
        )
    return check_key(sender, list_url(base_url_of(backends.compatible)), authorize)
