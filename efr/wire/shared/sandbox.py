"""What a sandboxed call reports and how the sandbox is (protocol: sandbox)."""

from enum import StrEnum

from efr.wire.scalars import U16, U32, Path, Wire
from efr.wire.shared.grants import BusKind


class BlockReason(StrEnum):
    """Why the proxy refused a connection. Open."""

    NOT_ALLOWED = "not_allowed"  # no grant and no list allows the host
    PRIVATE_ADDRESS = "private_address"  # the name leads to a private address
    SNI_MISMATCH = "sni_mismatch"  # TLS names another host
    UPLOAD_LIMIT = "upload_limit"  # too much was sent
    METHOD = "method"  # the HTTP method is not allowed
    IP_LITERAL = "ip_literal"  # an address in place of a name
    NOT_TLS = "not_tls"  # the connection is not encrypted
    BAD_REQUEST = "bad_request"  # the proxy could not read the request
    LIMIT = "limit"  # too many connections
    DENIED = "denied"  # the host is on the deny list; no grant opens it
    UNKNOWN = "unknown"


class Blocked(Wire, frozen=True):
    """Connections that the proxy refused."""

    host: str
    port: U16
    reason: BlockReason
    count: U32 = 1  # how many there were


class BusRefused(Wire, frozen=True):
    """Messages that the bus filter refused."""

    bus: BusKind
    name: str | None = None  # whom the message was for
    member: str | None = None
    path: str | None = None
    count: U32 = 1  # how many there were


class SurfaceChange(Wire, frozen=True, kw_only=True):
    """A file that runs code changed."""

    path: Path
    rule: str  # why efr thinks that it runs code
    key: str | None = None  # the changed key of a config file
    quarantined: bool  # it was moved away until the user answers


class ReportedFile(Wire, frozen=True):
    """A file in the report at a turn's end."""

    path: Path
    detail: str | None = None


class SandboxSummary(Wire, frozen=True):
    """What a sandboxed call did; names only, never a value or a file's content."""

    confined: bool  # false for the exit child
    cwd_changed: bool = False  # the hidden shell's directory changed
    promoted: tuple[str, ...] = ()  # exported names that reached the hidden shell
    kept_out: tuple[str, ...] = ()  # exported names that stay in the sandbox
    dropped: tuple[str, ...] = ()  # exported names that are dropped
    background_stopped: tuple[str, ...] = ()  # programs stopped at the end of the call
    survivors: tuple[str, ...] = ()  # programs that efr could not end
    blocked: tuple[Blocked, ...] = ()  # at most 32
    surface_changes: tuple[SurfaceChange, ...] = ()
    setup_error: str | None = None  # the command did not run
    cache_deletes: tuple[Path, ...] = ()  # deletes in a real cache
    cache_deletes_more: U32 = 0  # left out of that list
    blocked_more: U32 = 0  # refusals left out of `blocked`
    proxied: bool = False  # the call ran with a proxy
    bus_refused: tuple[BusRefused, ...] = ()  # at most 16
    bus_refused_more: U32 = 0  # left out of that list


class CacheMode(StrEnum):
    """How a contained call sees the caches."""

    OVERLAY = "overlay"  # through an overlay
    TMP = "tmp"  # as an empty folder
    READONLY = "readonly"  # read-only


class NetworkMode(StrEnum):
    """Which network a contained call has."""

    NONE = "none"
    PROXY = "proxy"  # through efr's proxy


class BusProxyOff(StrEnum):
    """Why the bus filter is off. Open."""

    CONFIG = "config"  # the user turned it off
    NO_PROGRAM = "no_program"  # the program is not there
    SELF_TEST = "self_test"  # its self-test failed
    OLD_VERSION = "old_version"  # the program is too old
    UNKNOWN = "unknown"


class SandboxStatus(Wire, frozen=True, kw_only=True):
    """Whether the sandbox works here, and how."""

    available: bool
    reason: str | None = None  # why it does not
    fix: str | None = None  # what would help
    landlock_abi: U32 | None = None
    errata: U32 | None = None  # a bit mask
    bwrap: Path | None = None  # the bubblewrap program
    bwrap_version: str | None = None
    cache_mode: CacheMode
    network_mode: NetworkMode
    warnings: tuple[str, ...] = ()
    netview: bool = False  # its self-test passed
    netview_off: bool = False  # the user turned it off
    proxy: bool = False  # its self-test passed
    bus_proxy: bool = False  # the bus filter runs
    bus_proxy_off: BusProxyOff | None = None  # why it does not


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
    launcher_sha256_ok: bool | None = None  # the launcher is the one that efr built
    state: Path
    runtime: Path


class SandboxPathRole(StrEnum):
    """What a path is to a contained call."""

    WRITE_ROOT = "write_root"  # writable
    CACHE_OVERLAY = "cache_overlay"  # writable, but the real cache stays
    PRIVATE_TMP = "private_tmp"  # a folder of the call's own
    READ_ONLY = "read_only"  # readable
    MASKED = "masked"  # hidden
    FLOOR = "floor"  # protected: a write is an exit
    GRANTED = "granted"  # opened by a grant
