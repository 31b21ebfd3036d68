"""Models, providers, folders, config and projects (protocol: models, daemon status)."""

from enum import StrEnum

from efr.wire.scalars import U32, U64, Path, ProjectId, Time, Wire


class ModelSource(StrEnum):
    """Where a model's facts come from."""

    BUILTIN = "builtin"  # the provider's catalog
    CONFIG = "config"


class ModelInfo(Wire, frozen=True, kw_only=True):
    """A model that a prompt may name."""

    id: str
    efforts: tuple[str, ...] = ()  # empty: not known
    default_effort: str | None = None
    default: bool = False  # for a prompt that names none; at most one
    source: ModelSource
    context_window: U64 | None = None  # that efr uses
    max_context_window: U64 | None = None  # the largest that the config may set
    prefer_websockets: bool = False  # the provider prefers its WebSocket for this model


class CatalogOrigin(StrEnum):
    """Where the list of models comes from."""

    BACKEND = "backend"  # fetched from the provider
    CACHE = "cache"  # an earlier fetch
    BUILTIN = "builtin"  # a list in efr itself
    MISSING = "missing"  # none yet


class Catalog(Wire, frozen=True, kw_only=True):
    """The list of models of the active provider."""

    provider: str | None = None
    origin: CatalogOrigin
    fetched_at: Time | None = None


class LoginKind(StrEnum):
    """How the user is logged in."""

    SUBSCRIPTION = "subscription"  # in a browser
    API_KEY = "api_key"  # with a key


class ProviderStatus(Wire, frozen=True):
    """One provider and its login."""

    provider: str  # such as `openai-api`
    logged_in: bool
    expires_at: Time | None = None  # of a token that can be refreshed
    active: bool = False  # the provider of new conversations
    login: LoginKind | None = None
    key_hint: str | None = None  # the known prefix and the last four characters
    key_refused_at: Time | None = None  # absent while the key works
    # when the provider last answered the key; absent when unknown
    key_checked_at: Time | None = None


class RootSource(StrEnum):
    """What named a root folder."""

    DIR_VARIABLE = "dir_variable"  # the variable of this one folder
    EFR_HOME = "efr_home"  # `$EFR_HOME`
    XDG = "xdg"  # an XDG variable or its default
    RUN_USER = "run_user"  # /run/user/UID


class RootDir(Wire, frozen=True):
    """One root folder."""

    path: Path
    source: RootSource


class Roots(Wire, frozen=True):
    """The four root folders."""

    config: RootDir
    data: RootDir
    state: RootDir
    runtime: RootDir


class ConfigFileError(Wire, frozen=True):
    """What is wrong with the config file."""

    message: str
    line: U32 | None = None  # from 1
    column: U32 | None = None  # from 1
    key: str | None = None  # dotted


class HeldConfig(Wire, frozen=True):
    """A change of the config held back while full mode ran."""

    loosens: tuple[str, ...]  # the keys that loosen


class ConfigStatus(Wire, frozen=True):
    """The config file and its last reload."""

    path: Path  # of config.toml
    exists: bool
    symlink_target: Path | None = None
    reload_error: ConfigFileError | None = None  # of the last reload
    restart_needed: tuple[str, ...] = ()  # dotted keys
    held: HeldConfig | None = None


class FullRefusal(StrEnum):
    """Why full mode is refused although the config allows it. Open."""

    ROOT = "root"  # efrd runs as root
    SNAPSHOT_OFF = "snapshot_off"  # snapshots are off
    UNDO_OFF = "undo_off"  # undo is off
    NO_ZSH = "no_zsh"  # there is no zsh
    UNKNOWN = "unknown"


class FullMode(Wire, frozen=True):
    """Whether full mode may run."""

    allowed: bool  # the config allows it
    refused: FullRefusal | None = None  # why it is refused all the same


class ReloadResult(Wire, frozen=True):
    """What a reload of the config did."""

    applied: bool
    error: ConfigFileError | None = None
    restart_needed: tuple[str, ...] = ()  # dotted keys that count only after a restart
    warnings: tuple[str, ...] = ()  # one sentence each, each once


class ProjectInfo(Wire, frozen=True):
    """A registered project."""

    id: ProjectId
    root: Path  # absolute, normalised
    name: str | None = None
