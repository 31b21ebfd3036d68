"""Methods of models, projects, the sandbox and the daemon itself (protocol: methods 31 to 42)."""

from typing import TypeAlias

from msgspec import field

from efr.wire.scalars import U32, U64, DaemonId, Params, Path, Secret, Tagged, Time, Wire
from efr.wire.shared.grants import ExitKind
from efr.wire.shared.sandbox import SandboxCheck, SandboxPathRole, SandboxPaths, SandboxStatus
from efr.wire.shared.settings import Mode
from efr.wire.shared.status import (
    Catalog,
    ConfigStatus,
    FullMode,
    ModelInfo,
    ProjectInfo,
    ProviderStatus,
    ReloadResult,
    Roots,
)


class ModelsListParams(Params, frozen=True):
    """List the models that a prompt may name."""


class ModelsListResult(Wire, frozen=True):
    """The catalog's models, then the config's."""

    models: tuple[ModelInfo, ...]
    catalog: Catalog | None = None


class ProjectsListParams(Params, frozen=True):
    """List the registered projects."""


class ProjectsListResult(Wire, frozen=True):
    """The projects in the order of their file."""

    file: Path
    projects: tuple[ProjectInfo, ...]


class SandboxExplainParams(Params, frozen=True):
    """Tell what a path is to a contained call."""

    path: Path  # absolute, or relative to `cwd`
    cwd: Path | None = None


class SandboxExplainResult(Wire, frozen=True, kw_only=True):
    """What may be done with the path, and why."""

    path: Path  # absolute
    project: Path | None = None  # its root
    mode: Mode
    role: SandboxPathRole
    read: bool
    write: bool
    reason: str  # one sentence
    write_exit: ExitKind | None = None  # the exit that a write would be


class AdminStatusParams(Params, frozen=True):
    """Tell how the daemon is."""


class AdminStatusResult(Wire, frozen=True):
    """The daemon as it is."""

    daemon_id: DaemonId
    version: str
    protocol: U32
    pid: U32
    started_at: Time
    screen_backend: str  # the program that draws screens
    conversations: U32  # with work in progress
    shells: U32  # hidden shells that run
    providers: tuple[ProviderStatus, ...]
    catalog: Catalog | None = None
    roots: Roots | None = None  # always there today
    config: ConfigStatus | None = None  # always there today
    sandbox: SandboxStatus | None = None
    sandbox_paths: SandboxPaths | None = None
    full_mode: FullMode | None = None


class AdminConfigReloadParams(Params, frozen=True):
    """Read the config file again now."""


AdminConfigReloadResult: TypeAlias = ReloadResult


class AdminProjectAddParams(Params, frozen=True):
    """Register a project."""

    path: Path  # absolute
    name: str | None = None
    git_root: bool = False  # register the root of the work tree that holds `path`


class AdminProjectRemoveParams(Params, frozen=True):
    """Remove a project from the registry."""

    path: Path  # the project's root


class ProjectChanged(Wire, frozen=True):
    """The project, the file that was written, and the reload after it."""

    project: ProjectInfo
    file: Path  # that was written
    reload: ReloadResult  # that followed


AdminProjectAddResult: TypeAlias = ProjectChanged
AdminProjectRemoveResult: TypeAlias = ProjectChanged


class AdminLoginOpenaiParams(Params, frozen=True):
    """Log in to an OpenAI subscription with a browser."""


class LoginAuthorizeUrl(Tagged, frozen=True, tag="authorize_url"):
    """The page to open in a browser."""

    url: str


class LoginDone(Tagged, frozen=True, tag="completed"):
    """The login worked."""

    provider: str


AdminLoginOpenaiItem: TypeAlias = LoginAuthorizeUrl | LoginDone


def _yes() -> bool:
    return True


class AdminLoginApiKeyParams(Params, frozen=True):
    """Store an API key."""

    provider: str  # such as `openai-api`
    key: Secret
    check: bool = field(default_factory=_yes)  # ask the provider whether it takes the key

    def __repr__(self) -> str:
        return f"AdminLoginApiKeyParams(provider={self.provider!r}, key=[redacted])"


class AdminLoginApiKeyResult(Wire, frozen=True):
    """The key is stored."""

    provider: str
    key_hint: str  # the known prefix and the last four characters
    checked: bool  # false: the check was skipped
    active: bool  # the provider is the one of new conversations


class AdminLogoutParams(Params, frozen=True):
    """Remove a login."""

    provider: str


class AdminLogoutResult(Wire, frozen=True):
    """What was removed."""

    provider: str
    logged_out: bool  # false: nothing was stored
    active: bool = False  # the provider is the one of new conversations


class AdminSandboxCheckParams(Params, frozen=True):
    """Check the sandbox now."""


class AdminSandboxCheckResult(Wire, frozen=True):
    """The sandbox, checked now."""

    status: SandboxStatus
    checks: tuple[SandboxCheck, ...]
    launch_us: U64 | None = None  # what a launch took
    snapshot_launch_us: U64 | None = None  # what a launch with a snapshot took
