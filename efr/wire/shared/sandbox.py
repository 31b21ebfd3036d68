"""What a sandboxed call reports and how the sandbox is (protocol: sandbox)."""

from __future__ import annotations

from enum import StrEnum

from efr.wire.scalars import U16, U32, Path, Wire
from efr.wire.shared.grants import BusKind


class BlockReason(StrEnum):
    """Why the proxy refused a connection. Open."""

    NOT_ALLOWED = "not_allowed"
    PRIVATE_ADDRESS = "private_address"
    SNI_MISMATCH = "sni_mismatch"
    UPLOAD_LIMIT = "upload_limit"
    METHOD = "method"
    IP_LITERAL = "ip_literal"
    NOT_TLS = "not_tls"
    BAD_REQUEST = "bad_request"
    LIMIT = "limit"
    DENIED = "denied"
    UNKNOWN = "unknown"


class Blocked(Wire, frozen=True):
    """Connections that the proxy refused."""

    host: str
    port: U16
    reason: BlockReason
    count: U32 = 1


class BusRefused(Wire, frozen=True):
    """Messages that the bus filter refused."""

    bus: BusKind
    name: str | None = None
    member: str | None = None
    path: str | None = None
    count: U32 = 1


class SurfaceChange(Wire, frozen=True, kw_only=True):
    """A file that runs code changed."""

    path: Path
    rule: str
    key: str | None = None
    quarantined: bool


class ReportedFile(Wire, frozen=True):
    """A file in the report at a turn's end."""

    path: Path
    detail: str | None = None


class SandboxSummary(Wire, frozen=True):
    """What a sandboxed call did; names only, never a value or a file's content."""

    confined: bool  # false for the exit child
    cwd_changed: bool = False
    promoted: tuple[str, ...] = ()  # exported names that reached the hidden shell
    kept_out: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    background_stopped: tuple[str, ...] = ()
    survivors: tuple[str, ...] = ()  # programs that efr could not end
    blocked: tuple[Blocked, ...] = ()  # at most 32
    surface_changes: tuple[SurfaceChange, ...] = ()
    setup_error: str | None = None  # the command did not run
    cache_deletes: tuple[Path, ...] = ()
    cache_deletes_more: U32 = 0
    blocked_more: U32 = 0
    proxied: bool = False
    bus_refused: tuple[BusRefused, ...] = ()  # at most 16
    bus_refused_more: U32 = 0


class CacheMode(StrEnum):
    """How a contained call sees the caches."""

    OVERLAY = "overlay"
    TMP = "tmp"
    READONLY = "readonly"


class NetworkMode(StrEnum):
    """Which network a contained call has."""

    NONE = "none"
    PROXY = "proxy"


class BusProxyOff(StrEnum):
    """Why the bus filter is off. Open."""

    CONFIG = "config"
    NO_PROGRAM = "no_program"
    SELF_TEST = "self_test"
    OLD_VERSION = "old_version"
    UNKNOWN = "unknown"


class SandboxStatus(Wire, frozen=True, kw_only=True):
    """Whether the sandbox works here, and how."""

    available: bool
    reason: str | None = None
    fix: str | None = None
    landlock_abi: U32 | None = None
    errata: U32 | None = None  # a bit mask
    bwrap: Path | None = None
    bwrap_version: str | None = None
    cache_mode: CacheMode
    network_mode: NetworkMode
    warnings: tuple[str, ...] = ()
    netview: bool = False  # its self-test passed
    netview_off: bool = False  # the user turned it off
    proxy: bool = False  # its self-test passed
    bus_proxy: bool = False
    bus_proxy_off: BusProxyOff | None = None


class CheckOutcome(StrEnum):
    """How one check of the sandbox went."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIPPED = "skipped"


class SandboxCheck(Wire, frozen=True):
    """One check of the sandbox."""

    name: str
    outcome: CheckOutcome
    detail: str | None = None
    fix: str | None = None


class SandboxPaths(Wire, frozen=True, kw_only=True):
    """Where the sandbox's parts are."""

    launcher: Path | None = None
    launcher_source: Path | None = None
    launcher_sha256_ok: bool | None = None
    state: Path
    runtime: Path


class SandboxPathRole(StrEnum):
    """What a path is to a contained call."""

    WRITE_ROOT = "write_root"
    CACHE_OVERLAY = "cache_overlay"
    PRIVATE_TMP = "private_tmp"
    READ_ONLY = "read_only"
    MASKED = "masked"
    FLOOR = "floor"
    GRANTED = "granted"
