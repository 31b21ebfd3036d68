"""Methods of models, projects, the sandbox and the daemon itself (protocol: methods 31 to 42)."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import field

from efr.wire.method.base import NoParams
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

ModelsListParams: TypeAlias = NoParams


class ModelsListResult(Wire, frozen=True):
    """The catalog's models, then the config's."""

    models: tuple[ModelInfo, ...]
    catalog: Catalog | None = None


ProjectsListParams: TypeAlias = NoParams


class ProjectsListResult(Wire, frozen=True):
    """The projects in the order of their file."""

    file: Path
    projects: tuple[ProjectInfo, ...]


class SandboxExplainParams(Params, frozen=True):
    """What a path is to a contained call."""

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


AdminStatusParams: TypeAlias = NoParams


class AdminStatusResult(Wire, frozen=True):
    """The daemon as it is."""

    daemon_id: DaemonId
    version: str
    protocol: U32
    pid: U32
    started_at: Time
    screen_backend: str
    conversations: U32  # with work in progress
    shells: U32  # hidden shells that run
    providers: tuple[ProviderStatus, ...]
    catalog: Catalog | None = None
    roots: Roots | None = None
    config: ConfigStatus | None = None
    sandbox: SandboxStatus | None = None
    sandbox_paths: SandboxPaths | None = None
    full_mode: FullMode | None = None


AdminConfigReloadParams: TypeAlias = NoParams
AdminConfigReloadResult: TypeAlias = ReloadResult


class AdminProjectAddParams(Params, frozen=True):
    """Register a project."""

    path: Path  # absolute
    name: str | None = None
    git_root: bool = False  # register the root of the work tree that holds `path`


class AdminProjectRemoveParams(Params, frozen=True):
    """Remove a project from the registry."""

    path: Path


class ProjectChanged(Wire, frozen=True):
    """The project, the file that was written, and the reload after it."""

    project: ProjectInfo
    file: Path
    reload: ReloadResult


AdminProjectAddResult: TypeAlias = ProjectChanged
AdminProjectRemoveResult: TypeAlias = ProjectChanged


AdminLoginOpenaiParams: TypeAlias = NoParams


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

    provider: str
    key: Secret
    check: bool = field(default_factory=_yes)  # ask the provider whether it takes the key

    def __repr__(self) -> str:
        return f"AdminLoginApiKeyParams(provider={self.provider!r}, key=[redacted])"


class AdminLoginApiKeyResult(Wire, frozen=True):
    """The key is stored."""

    provider: str
    key_hint: str
    checked: bool
    active: bool


class AdminLogoutParams(Params, frozen=True):
    """Remove a login."""

    provider: str


class AdminLogoutResult(Wire, frozen=True):
    """What was removed."""

    provider: str
    logged_out: bool  # false: nothing was stored
    active: bool = False


AdminSandboxCheckParams: TypeAlias = NoParams


class AdminSandboxCheckResult(Wire, frozen=True):
    """The sandbox, checked now."""

    status: SandboxStatus
    checks: tuple[SandboxCheck, ...]
    launch_us: U64 | None = None
    snapshot_launch_us: U64 | None = None
