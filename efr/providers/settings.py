"""The part of the settings that this room reads, as Protocols: efr.config's tree fits them.

Types alone. config and providers stand on one floor, so the tree comes in through a constructor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

ProviderId = str
CacheTtl = Literal["auto", "5m", "1h"]


class ModelEntry(Protocol):
    """A model that a catalog lacks, or new limits for one that it has."""

    @property
    def id(self) -> str: ...
    @property
    def context_window(self) -> int | None: ...
    @property
    def max_output_tokens(self) -> int | None: ...


class ModelSettings(Protocol):
    """[model]"""

    @property
    def provider(self) -> ProviderId | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def effort(self) -> str | None: ...


class OpenAiSettings(Protocol):
    """[openai]"""

    @property
    def originator(self) -> str: ...
    @property
    def models(self) -> Sequence[str | ModelEntry]: ...
    @property
    def subscription_base_url(self) -> str | None: ...
    @property
    def api_base_url(self) -> str | None: ...
    @property
    def websocket(self) -> str: ...
    @property
    def organization(self) -> str | None: ...
    @property
    def project(self) -> str | None: ...


class AnthropicSettings(Protocol):
    """[anthropic]"""

    @property
    def base_url(self) -> str | None: ...
    @property
    def models(self) -> Sequence[str | ModelEntry]: ...
    @property
    def cache_ttl(self) -> CacheTtl: ...
    @property
    def workspace_id(self) -> str | None: ...


class CompatibleSettings(Protocol):
    """[compatible]"""

    @property
    def base_url(self) -> str | None: ...
    @property
    def models(self) -> Sequence[str | ModelEntry]: ...


class ProviderSettings(Protocol):
    """The whole file as far as it concerns models."""

    @property
    def model(self) -> ModelSettings: ...
    @property
    def openai(self) -> OpenAiSettings: ...
    @property
    def anthropic(self) -> AnthropicSettings: ...
    @property
    def compatible(self) -> CompatibleSettings: ...
