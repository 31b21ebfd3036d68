"""What one tool call declares, where the turn stands, and what the engine answers.

Frozen values without behaviour; any thread. The tools fill `CallNeeds`, the agent fills `Place` and
`Facts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Literal

from msgspec import Struct, field

Access = Literal["read", "read_tree", "write"]  # write: create, change, delete, chmod
FileKind = Literal["file", "dir", "block", "other", "missing"]


class Effect(IntEnum):
    """What happens to a call; a call gets the strictest effect of its requirements."""

    ALLOW = 0
    CONTAIN = 1  # run now, inside the sandbox
    ASK = 2
    DENY = 3


EFFECTS: dict[str, Effect] = {effect.name.lower(): effect for effect in Effect}


class PathUse(Struct, frozen=True):
    """One path a call touches: absolute, joined, but with its `.` and `..` still in it.

    `read_tree` is the path and anything below. The unfolded text matters: a link before `..`
    leads elsewhere, so the real path is looked up from it. `guessed`: only an abbreviated option
    says so; it asks like any other, but is no exit by itself. `unsure`: the path stands for any,
    because the line does not show where a word of it leads. `follows`: how many levels below a
    directory links are followed, as a pattern or an option does; None: all. `is_config`: it
    is settings whatever its name, as where git keeps a repository, or where a link of the home
    leads.
    """

    path: str
    access: Access
    guessed: bool = False
    unsure: Literal["", "moved", "made", "many", "climbs", "links"] = ""
    follows: int | None = 0
    is_config: bool = False


class SettingsChange(Struct, frozen=True):
    """A change of efr's own settings: what it is, and whether more runs without a question.

    `mark` is the same for the same change of the same text.
    """

    summary: str
    loosens: bool = False
    mark: str = ""


class Beyond(Struct, frozen=True):
    """What the model asks for beyond the sandbox; read in auto alone."""

    write: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    bus: Literal["system", "session"] | None = None
    device: str | None = None
    unmask: tuple[str, ...] = ()
    outside: bool = False
    reason: str = ""  # the model's words: shown to the person, never judged


class Facts(Struct, frozen=True):
    """What was looked up about a call. A fact that is missing counts as the stricter case."""

    kinds: Mapping[str, FileKind] = field(default_factory=dict)
    tracked: Mapping[str, int] = field(default_factory=dict)  # files that git tracks below
    links: Mapping[str, str] = field(default_factory=dict)  # declared path to its real one
    mount_roots: frozenset[str] = frozenset()
    mounted_nodes: frozenset[str] = frozenset()  # devices whose file system is mounted


NO_FACTS = Facts()


class CallNeeds(Struct, frozen=True):
    """Everything one call needs, written down before anything runs."""

    tool: str  # its name, for the question
    paths: tuple[PathUse, ...] = ()
    command: str | None = None  # the line as the model wrote it
    command_dir: str | None = None  # where it starts; None when nobody knows
    network: bool = False
    interactive: bool = False  # it may wait for keys
    nested: bool = False  # the line is typed into a program inside the hidden shell
    settings: SettingsChange | None = None
    deletes: tuple[str, ...] = ()  # files that go: asked about whatever else is allowed
    moves: tuple[tuple[str, str], ...] = ()  # (from, to): the same; both ends are also in `paths`
    beyond: Beyond = Beyond()
    facts: Facts = NO_FACTS
    command_dir_real: str | None = None  # the same without links; None: not looked up

    @property
    def declares_nothing(self) -> bool:
        return not (
            self.paths
            or self.command is not None
            or self.network
            or self.interactive
            or self.nested
            or self.settings
            or self.deletes
            or self.moves
        )


class Sandbox(Struct, frozen=True):
    """What a contained call may write, and what it cannot see. All paths are absolute.

    The turn's project and the scratch folder are write roots besides these.
    """

    write_roots: tuple[str, ...] = ()  # /tmp and its kin, caches, other projects, configured ones
    masks: tuple[str, ...] = ()  # besides the built-in ones
    mask_globs: tuple[str, ...] = (
        ".env",
        ".env.*",
        "!.env.example",
        "!.env.sample",
        "!.env.template",
    )
    floors: tuple[str, ...] = ()  # besides the built-in ones
    synced: tuple[str, ...] = ()
    proxy: bool = False  # judges hosts by itself
    bus_filter: bool = False  # lets bus calls that read through
    net_view: bool = False  # shows the host's network
    snapshots: bool = False  # what is destroyed comes back


class Place(Struct, frozen=True):
    """The machine and the turn, as far as a decision depends on them. All paths are absolute."""

    home: str
    home_real: str  # the same folder without links
    config_dir: str
    data_dir: str
    scratch: str | None = None  # the conversation's own folder
    project_root: str | None = None  # of the turn's registered project
    config_real: tuple[str, ...] = ()  # the config folder's real form, and where links in it lead
    data_real: str | None = None
    secret_paths: tuple[str, ...] = ()  # permissions.secret_paths, absolute
    projects: tuple[str, ...] = ()  # roots of every registered project
    sandbox: Sandbox | None = None  # None: auto runs as cautious
    full: bool = False  # full is allowed and not refused; else it runs as auto


class Cause(Struct, frozen=True):
    """Where one reason comes from, for the record.

    `kind`: rule, opaque, privileged, reaches_secret, reaches_config, sealed, write_sealed, no_rule,
    not_absolute, remote, interactive, settings, remote_settings, nothing, exit, nested, device,
    guard, own_command, delete.
    """

    kind: str
    layer: Literal["built_in", "user", "conversation"] | None = None
    number: int | None = None  # of the rule: the user's count on after the built-in ones
    index: int | None = None  # of the rule in its layer, from 0
    detail: str = ""  # the construct, the program, the kind of exit


class Decision(Struct, frozen=True):
    """The answer: `summary` for the question, `reason` why it is asked or refused.

    `refused` names each refused path with its class, for the model and the log. `causes` are those
    of the deciding effect. `contain` exists in auto alone.
    """

    effect: Literal["allow", "contain", "ask", "deny"]
    summary: str
    reason: str
    refused: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    local_only: bool = False  # only a person at this machine may answer
    expires_in_s: int | None = None  # of the question itself
