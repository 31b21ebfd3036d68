"""An exit in a question and in its record (protocol: exits, exit_record)."""

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
    model_reason: str | None = None  # the model's own words
    judged: Judgement | None = None  # when the classifier judged first
    user_only: bool = False  # only the user may approve
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

    tool: str  # such as `shell`
    line: str  # exactly
    cwd: Path
    scope: Scope  # of the turn
    exits: tuple[ExitKind, ...]
    grants: tuple[Grant, ...] = ()
    source: ExitSource
    edit: str | None = None  # what a file tool would write to a floor file, cut at 8 KiB
    background: bool = False  # the call starts a job
    watch: bool = False  # the job has a watch
    wake_turn: bool = False  # a job notice started the turn
    max_minutes: U32 | None = None  # only for a call that starts a job


class TargetFact(Wire, frozen=True, kw_only=True, rename={"class_": "class"}):
    """A path that the call touches."""

    path: Path
    class_: PathClass | None = None
    in_write_root: bool
    floor: bool  # a protected file, such as ~/.zshrc
    synced: bool  # a synced folder holds it
    exists: bool
    named_in_user_messages: bool
    backup_before_write: bool = False  # efr copies the file before
    masked: bool = False  # the sandbox hides the path


class HostFact(Wire, frozen=True):
    """A host that the call talks to."""

    host: str
    on_allow_list: bool
    named_in_user_messages: bool
    refused_by_proxy: bool
    project_remote: bool = False  # the host of a project's git remote


class ProgramFact(Wire, frozen=True, kw_only=True):
    """A program that the call runs."""

    word: str
    resolved: Path | None = None  # an absolute path, or `builtin`
    in_write_root: bool  # a contained call can write it
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
    upload_patterns: tuple[str, ...] = ()  # such as `git push`
    repo_surface_changed_this_turn: bool = False  # a file that runs code changed in this turn
    git_status: GitCounts | None = None
    snapshot_covers: bool | None = None  # an undo can bring the targets back
    sandbox_export_names: tuple[str, ...] = ()  # names of exported variables
    # each is a list of two: the exit and its verdict
    previous_exits_this_turn: tuple[PreviousExit, ...] = ()
    refusals_in_a_row: U8 = field(default_factory=int)
    denials_in_a_row: U32 = 0
    denials_this_turn: U32 = 0
    outside_commands: tuple[str, ...] = ()  # the commands that leave the sandbox
    desktop_read: bool = False  # the desktop command only reads or reloads
    git_code: GitCode | None = None


class ExitRecord(Wire, frozen=True):
    """Everything a judge sees of an exit."""

    version: U32  # 1
    user_messages: tuple[str, ...]  # newest last, at most 24 KiB, oldest dropped first
    action: ActionFacts
    facts: ExitFacts


class Needs(Wire, frozen=True):
    """What the model says a shell call needs; input of that tool, not of a method."""

    write: tuple[str, ...] = ()  # paths, at most 8
    hosts: tuple[str, ...] = ()  # at most 8
    sockets: tuple[str, ...] = ()  # at most 2
    bus: BusKind | None = None
    device: str | None = None
    unmask: tuple[str, ...] = ()  # paths, at most 4
    outside: bool = False
    reason: str | None = None  # at most 300 characters
