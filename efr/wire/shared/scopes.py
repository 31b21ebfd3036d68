"""Where a turn acts and which conversation a terminal holds there (protocol: scope and route)."""

from enum import StrEnum
from typing import TypeAlias

from efr.wire.scalars import U32, Path, ProjectId, Tagged, Time, Wire


class ScopeMachine(Tagged, frozen=True, tag="machine"):
    """The machine as a whole: home, `/`, nowhere known."""


class ScopePath(Tagged, frozen=True, tag="path"):
    """One directory that is not a registered project."""

    value: Path


class ScopeProject(Tagged, frozen=True, tag="project"):
    """A registered project."""

    value: ProjectId


Scope: TypeAlias = ScopeMachine | ScopePath | ScopeProject


class RouteProject(Tagged, frozen=True, tag="project"):
    """A terminal's slot for a registered project."""

    value: ProjectId


class RouteOutside(Tagged, frozen=True, tag="outside"):
    """A terminal's slot for everything outside registered projects."""


class RouteUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


RouteScope: TypeAlias = RouteProject | RouteOutside | RouteUnknown


class Place(Wire, frozen=True, kw_only=True):
    """A scope as a client shows it."""

    scope: RouteScope
    name: str | None = None  # of the project
    dir: Path  # the root of the project, or the working directory outside projects


class NewReasonScope(Tagged, frozen=True, tag="scope"):
    """The terminal came into another scope."""


class NewReasonIdle(Tagged, frozen=True, tag="idle"):
    """The old conversation was idle for too long."""

    hours: U32


class NewReasonMoved(Tagged, frozen=True, tag="moved"):
    """The conversation went to another terminal."""

    tty: str  # where it went
    title: str | None = None


class NewReasonUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


NewReason: TypeAlias = NewReasonScope | NewReasonIdle | NewReasonMoved | NewReasonUnknown


class RouteSwitchBack(Tagged, frozen=True, kw_only=True, tag="back"):
    """The terminal's earlier conversation of this scope goes on."""

    title: str | None = None
    updated_at: Time


class RouteSwitchPickedUp(Tagged, frozen=True, kw_only=True, tag="picked_up"):
    """The project's newest free conversation came here."""

    title: str | None = None
    updated_at: Time


class RouteSwitchNew(Tagged, frozen=True, kw_only=True, tag="new", rename={"from_": "from"}):
    """A new conversation started."""

    from_: Place | None = None  # the place of the earlier conversation
    reason: NewReason


class RouteSwitchUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


RouteSwitch: TypeAlias = RouteSwitchBack | RouteSwitchPickedUp | RouteSwitchNew | RouteSwitchUnknown


class RepoHintGitRepo(Tagged, frozen=True, tag="git_repo"):
    """The prompt came from a git repository that is not registered."""

    root: Path


class RepoHintUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


RepoHint: TypeAlias = RepoHintGitRepo | RepoHintUnknown


class PromptRoute(Wire, frozen=True):
    """Where a prompt went, for its terminal."""

    scope: Place  # where the prompt acts
    switch: RouteSwitch | None = None  # only when the terminal's conversation changed
    hint: RepoHint | None = None  # at most once a day for each repository


class AttachHow(StrEnum):
    """How a conversation came to a terminal's slot. Open."""

    PICKED_UP = "picked_up"  # a prompt picked it up
    RESUMED = "resumed"  # the user resumed it
    UNKNOWN = "unknown"
