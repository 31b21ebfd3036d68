"""Which conversation a terminal's prompt goes to. Pure.

A terminal keeps one conversation per route: a registered project, or everything outside them.
Rows come from the store, what the machine knows (is that shell alive, who follows what) comes in
as functions. Facts: docs/conversations.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from efr.store.projections.conversations import route_of
from efr.wire import types as t

_HOUR_US = 3_600_000_000


class SlotRow(Struct, frozen=True):
    """A conversation as routing sees it."""

    conversation_id: str
    title: str | None
    tty: str | None
    route: t.RouteScope | None
    shell_pid: int | None
    routed_seq: int | None
    last_seq: int
    updated_us: int
    cwd: str | None
    scope: t.Scope | None = None
    used_us: int | None = None  # when its terminal last sent it something

    @property
    def key(self) -> t.RouteScope:
        """The slot it belongs to. A log from before routing has no route, but a scope."""
        if self.route is not None:
            return self.route
        return route_of(self.scope) if self.scope is not None else t.RouteOutside()


class Left(Struct, frozen=True):
    """What left a slot: moved to another terminal, or (without a tty) deleted."""

    row: SlotRow  # as it was in the slot
    tty: str | None


class Ask(Struct, frozen=True):
    """A prompt that names a terminal and no conversation."""

    tty: str
    shell_pid: int | None
    route: t.RouteScope
    new_conversation: bool
    left: Sequence[Left] = ()  # the terminal's slots


class Rules(Struct, frozen=True):
    """Now, the limits of the config, and what the machine knows."""

    now_us: int
    idle_hours: int
    follow_project: bool  # off: a terminal has one conversation, and none is picked up
    shell_runs: Callable[[SlotRow], bool]  # the slot's shell is the process it was
    follows: Callable[[SlotRow], bool]  # its terminal follows it

    def idle(self, row: SlotRow) -> bool:
        """Whether the conversation ended by time. 0 hours never end; time never runs backward."""
        idle_us = max(0, self.now_us - row.updated_us)
        return self.idle_hours > 0 and idle_us > self.idle_hours * _HOUR_US

    def held(self, row: SlotRow) -> bool:
        """Whether an open terminal holds it."""
        return row.tty is not None and (self.shell_runs(row) or self.follows(row))


class Continue(Struct, frozen=True):
    """The terminal's own conversation goes on; `back`: another one was current."""

    row: SlotRow
    back: bool


class PickUp(Struct, frozen=True):
    """The project's newest free conversation comes to this terminal."""

    row: SlotRow


class New(Struct, frozen=True):
    """A new conversation; `reason` and `from_row` only when the terminal hears of a switch."""

    reason: t.NewReason | None
    from_row: SlotRow | None


Choice = Continue | PickUp | New


def choose(ask: Ask, rows: Sequence[SlotRow], rules: Rules) -> Choice:
    """Decides by the rows of the terminal and of the route."""
    if ask.new_conversation:
        return New(None, None)
    own = [row for row in rows if row.tty == ask.tty and of_this_shell(row, ask.shell_pid, rules)]
    current = _newest(own)
    slot = _newest(row for row in own if not rules.follow_project or row.key == ask.route)
    gone = _gone(ask, rules)
    if gone is not None and (slot is None or _use(gone.row) > _use(slot)):
        return New(_left_reason(gone), current)
    if slot is not None and rules.idle(slot):
        return New(t.NewReasonIdle(hours=rules.idle_hours), current)
    if slot is not None:
        return Continue(slot, back=slot is not current)
    if rules.follow_project and isinstance(ask.route, t.RouteProject):
        free = [row for row in rows if _free(row, ask.route, rules)]
        if free:
            return PickUp(max(free, key=lambda row: row.last_seq))
    return New(t.NewReasonScope() if current is not None else None, current)


def of_this_shell(row: SlotRow, shell_pid: int | None, rules: Rules) -> bool:
    """The prompt's shell is the slot's, or runs inside it; a reused terminal has another."""
    if row.shell_pid is None or row.shell_pid == shell_pid:
        return True
    return rules.shell_runs(row)


def _use(row: SlotRow) -> int:
    return row.routed_seq or 0


def _newest(rows: Iterable[SlotRow]) -> SlotRow | None:
    return max(rows, key=_use, default=None)


def _gone(ask: Ask, rules: Rules) -> Left | None:
    """What last left the slot that the prompt is for, when it was this shell's."""
    found = [
        left
        for left in ask.left
        if (not rules.follow_project or left.row.key == ask.route)
        and of_this_shell(left.row, ask.shell_pid, rules)
    ]
    return max(found, key=lambda left: _use(left.row), default=None)


def _free(row: SlotRow, route: t.RouteScope, rules: Rules) -> bool:
    once_held = row.routed_seq is not None
    return once_held and row.route == route and not rules.idle(row) and not rules.held(row)


def _left_reason(left: Left) -> t.NewReason:
    if left.tty is None:
        return t.NewReasonScope()
    return t.NewReasonMoved(tty=left.tty, title=left.row.title)
