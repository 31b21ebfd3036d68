"""An exit in a question and in its record (protocol: exits, exit_record)."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from msgspec import field

from efr.wire.scalars import U8, U32, Path, Wire
from efr.wire.shared.grants import BusKind, ExitKind, ExitSource, Grant, Launch
from efr.wire.shared.judging import Judgement, Verdict
from efr.wire.shared.scopes import Scope


class ExitInfo(Wire, frozen=True):
    """What a question says about the exits of a call."""

    kinds: tuple[ExitKind, ...]  # each once
    launch: Launch  # how the call runs after a yes
    grants: tuple[Grant, ...] = ()  # exactly what a yes opens
    facts: tuple[str, ...] = ()  # one line each
    model_reason: str | None = None
    judged: Judgement | None = None  # when the classifier judged first
    user_only: bool = False
    always: str | None = None  # the rule in words; only with it a client offers allow_always


class PathClass(StrEnum):
    """What kind of place a path is."""

    SCRATCH = "scratch"
    USER_CONFIG = "user_config"
    USER_DATA = "user_data"
    SYSTEM = "system"
    SECRETS = "secrets"
    CACHE = "cache"
    BUILD_OUTPUT = "build_output"
    TRASH = "trash"


class ActionFacts(Wire, frozen=True, kw_only=True):
    """What a call wants to do."""

    tool: str
    line: str  # exactly
    cwd: Path
    scope: Scope  # of the turn
    exits: tuple[ExitKind, ...]
    grants: tuple[Grant, ...] = ()
    source: ExitSource
    edit: str | None = None  # what a file tool would write to a floor file, cut at 8 KiB
    background: bool = False
    watch: bool = False
    wake_turn: bool = False
    max_minutes: U32 | None = None


class TargetFact(Wire, frozen=True, kw_only=True, rename={"class_": "class"}):
    """A path that the call touches."""

    path: Path
    class_: PathClass | None = None
    in_write_root: bool
    floor: bool
    synced: bool
    exists: bool
    named_in_user_messages: bool
    backup_before_write: bool = False
    masked: bool = False


class HostFact(Wire, frozen=True):
    """A host that the call talks to."""

    host: str
    on_allow_list: bool
    named_in_user_messages: bool
    refused_by_proxy: bool
    project_remote: bool = False


class ProgramFact(Wire, frozen=True, kw_only=True):
    """A program that the call runs."""

    word: str
    resolved: Path | None = None  # an absolute path, or `builtin`
    in_write_root: bool
    changed_this_turn: bool


class GitCounts(Wire, frozen=True):
    """Files of a work tree by state."""

    modified: U32
    untracked: U32
    staged: U32


class GitItem(Wire, frozen=True):
    """Code that a git line runs outside the sandbox."""

    repo: Path
    item: str  # such as `hooks/pre-push`
    file: Path
    writable: bool  # a contained call can write the file


class GitCode(Wire, frozen=True):
    """The git code that made an exit one for the user alone."""

    checked: bool  # false: efr could not check
    items: tuple[GitItem, ...] = ()


PreviousExit: TypeAlias = tuple[ExitKind, Verdict]


class ExitFacts(Wire, frozen=True):
    """What efr found about an exit."""

    targets: tuple[TargetFact, ...] = ()
    hosts: tuple[HostFact, ...] = ()
    programs: tuple[ProgramFact, ...] = ()
    upload_patterns: tuple[str, ...] = ()
    repo_surface_changed_this_turn: bool = False
    git_status: GitCounts | None = None
    snapshot_covers: bool | None = None
    sandbox_export_names: tuple[str, ...] = ()
    previous_exits_this_turn: tuple[PreviousExit, ...] = ()
    refusals_in_a_row: U8 = field(default_factory=int)
    denials_in_a_row: U32 = 0
    denials_this_turn: U32 = 0
    outside_commands: tuple[str, ...] = ()
    desktop_read: bool = False
    git_code: GitCode | None = None


class ExitRecord(Wire, frozen=True):
    """Everything a judge sees of an exit."""

    version: U32
    user_messages: tuple[str, ...]  # newest last, at most 24 KiB, oldest dropped first
    action: ActionFacts
    facts: ExitFacts


class Needs(Wire, frozen=True):
    """What the model says a shell call needs; input of that tool, not of a method."""

    write: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    bus: BusKind | None = None
    device: str | None = None
    unmask: tuple[str, ...] = ()
    outside: bool = False
    reason: str | None = None
