"""Sends a terminal's prompt to its conversation: reads, asks the machine, lets `slots` choose.

Also what a resume needs of it: who holds a conversation, and what left which slot. Choices and
their records go one after another (the agent's gate of routes), so two lines of one terminal never
start two conversations, and of two terminals one picks a conversation up. Handler threads; blocks
on a reader and /proc.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from efr.agent.followers import Followers
from efr.agent.hints import RepoHints
from efr.agent.place import Basis, Place, Projects
from efr.agent.ports import Ports
from efr.agent.shell_life import ShellLives
from efr.agent.slots import Ask, Choice, Continue, Left, New, PickUp, Rules, SlotRow, choose
from efr.store import queries
from efr.store.rows import ConversationRow
from efr.text.redact import redact_title
from efr.wire import types as t

_CANDIDATES = 64  # conversations of a project that a new terminal may pick up; the newest count
_LEFT = 256  # slots remembered that lost their conversation


class Routed(Struct, frozen=True):
    """Where a prompt goes, and what its terminal is told."""

    choice: Choice
    place: Place
    tty: str
    shell_pid: int | None
    told: t.PromptRoute
    shell_dir: str | None  # where a hidden shell starts that came here; None: where the user is


class _Seen(Struct, frozen=True):
    """The rows that a choice is made from, at one moment."""

    rows: list[SlotRow]
    attached: frozenset[str]  # those whose terminal sent nothing since they came to it


class Routing:
    """Which conversation a terminal's prompt goes to. Entered through `Agent`'s gate of routes."""

    def __init__(self, ports: Ports, followers: Followers) -> None:
        self._ports = ports
        self._followers = followers
        self._lives = ShellLives(ports.shell_start)
        self._hints = RepoHints(ports.roots.state.path / "repo_hints.json", ports.clock)
        self._lock = threading.Lock()  # "routing": what left a slot
        self._left: OrderedDict[tuple[str, t.RouteScope], Left] = OrderedDict()
        self._begun_us = ports.clock.now_us()
        self._recalled: set[tuple[str, t.RouteScope | None]] = set()  # since the start

    def route(
        self, context: t.ShellContext, tty: str, place: Place, *, new_conversation: bool
    ) -> Routed:
        """Chooses; changes nothing."""
        left = self._left_of(tty, place.route, context.shell_pid)
        ask = Ask(tty, context.shell_pid, place.route, new_conversation, left)
        seen = self._ports.readers.read(lambda conn: _read(conn, tty, place.route))
        choice = choose(ask, seen.rows, self.rules())
        told = t.PromptRoute(
            scope=shown_place(place, context.pwd),
            switch=_switch(choice, self._ports.places.projects),
            hint=self._hint(place),
        )
        shell_dir = None
        if isinstance(choice, PickUp) or (
            isinstance(choice, Continue) and choice.row.conversation_id in seen.attached
        ):
            shell_dir = self.shell_dir(choice.row)
        return Routed(choice, place, tty, context.shell_pid, told, shell_dir)

    def routed(self, routed: Routed) -> None:
        """The prompt is recorded: the slot has a conversation, and an earlier one lost it."""
        if isinstance(routed.told.hint, t.RepoHintGitRepo):
            self._hints.shown(routed.told.hint.root)
        if isinstance(routed.choice, PickUp):
            self.moved(routed.choice.row, routed.tty)
        self.filled(routed.tty, routed.place.route, routed.shell_pid)

    def filled(self, tty: str, route: t.RouteScope, shell_pid: int | None) -> None:
        """The terminal's slot has a conversation from now on; the shell is there."""
        self._lives.seen(shell_pid)
        one_slot = not self._ports.settings().conversation.follow_project
        with self._lock:
            for key in [key for key in self._left if key[0] == tty]:
                if one_slot or key[1] == route:
                    del self._left[key]

    def moved(self, row: SlotRow, tty: str) -> None:
        """A conversation went to another terminal; its old one hears of it with its next prompt."""
        if row.tty is not None and row.tty != tty:
            self._remember(row.tty, Left(row, tty))

    def deleted(self, row: ConversationRow) -> None:
        """A conversation was deleted; its terminal starts anew, and so does one that lost it."""
        with self._lock:
            for key, left in self._left.items():
                if left.row.conversation_id == row.id:  # where it went is nowhere, under no title
                    self._left[key] = Left(replace(left.row, title=None), None)
        if row.tty is not None:
            self._remember(row.tty, Left(replace(slot_row(row), title=None), None))

    def rules(self) -> Rules:
        """The limits of now."""
        settings = self._ports.settings().conversation
        return Rules(
            now_us=self._ports.clock.now_us(),
            idle_hours=settings.tty_idle_hours,
            follow_project=settings.follow_project,
            shell_runs=lambda row: self._lives.runs(row.shell_pid, row.used_us),
            follows=self._follows,
        )

    def shell_dir(self, row: SlotRow) -> str | None:
        """Where the conversation last was: its hidden shell's directory, else its last turn's."""
        shell = self._ports.shells.peek(row.conversation_id)
        if shell is not None:
            return shell.cwd
        last = self._ports.readers.read(
            lambda conn: queries.last_directory(conn, row.conversation_id)
        )
        return last or row.cwd

    def _follows(self, row: SlotRow) -> bool:
        return row.tty is not None and self._followers.follows(row.conversation_id, row.tty)

    def _hint(self, place: Place) -> t.RepoHint | None:
        wanted = self._ports.settings().conversation.repo_hint
        if not wanted or place.basis is not Basis.WORK_TREE or place.repo is None:
            return None
        root = place.repo.root
        return t.RepoHintGitRepo(root=root) if self._hints.is_due(root) else None

    def _left_of(self, tty: str, route: t.RouteScope, shell_pid: int | None) -> list[Left]:
        one_slot = not self._ports.settings().conversation.follow_project
        start = self._ports.shell_start(shell_pid) if shell_pid is not None else None
        if start is None or start.at_us <= self._begun_us:  # else it had nothing before the start
            self._recall(tty, None if one_slot else route)
        with self._lock:
            return [left for key, left in self._left.items() if key[0] == tty]

    def _recall(self, tty: str, route: t.RouteScope | None) -> None:
        """What left the slot before the start, once: the store tells it."""
        with self._lock:
            if (tty, route) in self._recalled:
                return
            self._recalled.add((tty, route))
        found = self._ports.readers.read(lambda conn: queries.left_slot(conn, tty, route))
        if found is not None:
            left = _left(found)
            with self._lock:
                self._left.setdefault((tty, left.row.key), left)

    def _remember(self, tty: str, left: Left) -> None:
        key = (tty, left.row.key)
        with self._lock:
            self._left[key] = left
            self._left.move_to_end(key)
            while len(self._left) > _LEFT:
                self._left.popitem(last=False)


def shown_place(place: Place, directory: str) -> t.Place:
    """The scope as a client shows it."""
    if place.project is not None:
        return t.Place(scope=place.route, name=place.project.title, dir=place.project.root)
    return t.Place(scope=place.route, dir=directory)


def slot_row(row: ConversationRow) -> SlotRow:
    """A stored conversation as routing sees it."""
    return SlotRow(
        conversation_id=row.id,
        title=None if row.title is None else redact_title(row.title),
        tty=row.tty,
        route=row.route,
        shell_pid=row.shell_pid,
        routed_seq=row.routed_seq,
        last_seq=row.last_seq,
        updated_us=row.updated_at,
        cwd=row.cwd,
        scope=row.scope,
        used_us=row.routed_at,
    )


def _left(found: queries.LeftSlot) -> Left:
    row = SlotRow(
        conversation_id=found.conversation_id,
        title=None if found.title is None else redact_title(found.title),
        tty=found.tty,
        route=found.route,
        shell_pid=found.shell_pid,
        routed_seq=found.used_seq,
        last_seq=found.used_seq,
        updated_us=found.used_at,
        cwd=None,
        scope=found.scope,
        used_us=found.used_at,
    )
    return Left(row, found.to)


def _read(conn: Any, tty: str, route: t.RouteScope) -> _Seen:
    """The terminal's slots, and what a terminal once held in this project."""
    own = queries.conversations_of_tty(conn, tty)
    rows = {row.id: row for row in own}
    if isinstance(route, t.RouteProject):
        for row in queries.conversations_of_route(conn, route, _CANDIDATES):
            rows.setdefault(row.id, row)
    attached = frozenset(row.id for row in own if _only_attached(conn, row))
    return _Seen([slot_row(row) for row in rows.values()], attached)


def _only_attached(conn: Any, row: ConversationRow) -> bool:
    newest = queries.event(conn, row.routed_seq) if row.routed_seq is not None else None
    return newest is not None and newest.kind == "terminal_attached"


def _switch(choice: Choice, projects: Projects) -> t.RouteSwitch | None:
    match choice:
        case Continue(row=row, back=True):
            return t.RouteSwitchBack(title=row.title, updated_at=t.time_from_us(row.updated_us))
        case PickUp(row=row):
            return t.RouteSwitchPickedUp(title=row.title, updated_at=t.time_from_us(row.updated_us))
        case New(reason=reason, from_row=from_row) if reason is not None:
            return t.RouteSwitchNew(from_=_place_of(from_row, projects), reason=reason)
        case _:
            return None


def _place_of(row: SlotRow | None, projects: Projects) -> t.Place | None:
    """Where the terminal's conversation was until now."""
    return None if row is None else route_place(row.key, row.cwd or "/", projects)


def route_place(route: t.RouteScope, directory: str, projects: Projects) -> t.Place:
    """A slot's key as a client shows it. A project that is no longer registered has no name."""
    if isinstance(route, t.RouteProject):
        project = next((one for one in projects.all() if one.id == route.value), None)
        if project is not None:
            return t.Place(scope=route, name=project.title, dir=project.root)
    return t.Place(scope=route, dir=directory)
