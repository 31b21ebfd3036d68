"""Sends a terminal's prompt to its conversation: reads, asks the machine, lets `slots` choose.

Routed prompts go one after another (their own gate), so two lines of one terminal never start two
conversations, and of two terminals one picks a conversation up. Handler threads; blocks on a
reader and the file system.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from efr.agent.followers import Followers
from efr.agent.hints import RepoHints
from efr.agent.place import Basis, Place, Projects, derive
from efr.agent.ports import Ports
from efr.agent.slots import Ask, Choice, Continue, Left, New, PickUp, Rules, SlotRow, choose
from efr.store import queries
from efr.store.rows import ConversationRow
from efr.text.redact import redact_title
from efr.wire import types as t

_CANDIDATES = 64  # conversations of a project that a new terminal may pick up; the newest count
_LEFT = 256  # slots remembered that lost their conversation


@dataclass(frozen=True)
class Routed:
    """Where a prompt goes, and what its terminal is told."""

    choice: Choice
    place: Place
    tty: str
    shell_pid: int | None
    told: t.PromptRoute


class Routing:
    """Which conversation a terminal's prompt goes to. Entered through `Agent`'s gate of routes."""

    def __init__(self, ports: Ports, followers: Followers) -> None:
        self._ports = ports
        self._followers = followers
        self._hints = RepoHints(ports.roots.state.path / "repo_hints.json", ports.clock)
        self._lock = threading.Lock()  # "routing": what left a slot
        self._left: OrderedDict[tuple[str, str], Left] = OrderedDict()

    def route(self, context: t.ShellContext, tty: str, *, new_conversation: bool) -> Routed:
        """Chooses; changes nothing but the day of a hint."""
        ports = self._ports
        place = derive(context.pwd, ports.host.home, ports.projects)
        with self._lock:
            left = self._left.get((tty, _key(place.route)))
        ask = Ask(tty, context.shell_pid, place.route, new_conversation, left)
        rows = ports.readers.read(lambda conn: _rows(conn, place.route))
        settings = ports.settings().conversation
        rules = Rules(
            now_us=ports.clock.now_us(),
            idle_hours=settings.tty_idle_hours,
            follow_project=settings.follow_project,
            shell_runs=self._shell_runs,
            follows=self._follows,
        )
        choice = choose(ask, rows, rules)
        hint = None
        if settings.repo_hint and place.basis is Basis.WORK_TREE and place.repo is not None:
            root = place.repo.root
            hint = t.RepoHintGitRepo(root=root) if self._hints.take(root) else None
        told = t.PromptRoute(
            scope=shown_place(place, context.pwd),
            switch=_switch(choice, ports.projects),
            hint=hint,
        )
        return Routed(choice, place, tty, context.shell_pid, told)

    def routed(self, routed: Routed) -> None:
        """The prompt is recorded: the slot has a conversation, and an earlier one lost it."""
        key = (routed.tty, _key(routed.place.route))
        with self._lock:
            self._left.pop(key, None)
        if isinstance(routed.choice, PickUp):
            self.moved(routed.choice.row, routed.tty)

    def moved(self, row: SlotRow, tty: str) -> None:
        """A conversation went to another terminal; its old one hears of it with its next prompt."""
        if row.tty is None or row.route is None or row.tty == tty:
            return
        self._remember((row.tty, _key(row.route)), Left(row.shell_pid, tty, row.title))

    def deleted(self, row: ConversationRow) -> None:
        """A conversation was deleted; its terminal starts anew."""
        if row.tty is not None and row.route is not None:
            self._remember((row.tty, _key(row.route)), Left(row.shell_pid, None, row.title))

    def _remember(self, key: tuple[str, str], left: Left) -> None:
        with self._lock:
            self._left[key] = left
            self._left.move_to_end(key)
            while len(self._left) > _LEFT:
                self._left.popitem(last=False)

    def _follows(self, row: SlotRow) -> bool:
        return row.tty is not None and self._followers.follows(row.conversation_id, row.tty)

    def _shell_runs(self, row: SlotRow) -> bool:
        """Whether the slot's shell is still the process it was: alive, and older than the row's
        last use. A later start with the same number is another program."""
        if row.shell_pid is None:
            return False
        started_us = self._ports.shell_start(row.shell_pid)
        return started_us is not None and started_us <= row.updated_us


def shown_place(place: Place, directory: str) -> t.Place:
    """The scope as a client shows it."""
    if place.project is not None:
        return t.Place(scope=place.route, name=place.project.title, dir=place.project.root)
    return t.Place(scope=place.route, dir=directory)


def _rows(conn: Any, route: t.RouteScope) -> list[SlotRow]:
    """Every slot, and what a terminal once held in this project."""
    rows = {row.id: row for row in queries.slots(conn)}
    if isinstance(route, t.RouteProject):
        for row in queries.conversations_of_route(conn, route, _CANDIDATES):
            rows.setdefault(row.id, row)
    return [_slot(row) for row in rows.values()]


def _slot(row: ConversationRow) -> SlotRow:
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
    )


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
    if row is None or row.route is None:
        return None
    if isinstance(row.route, t.RouteProject):
        wanted = row.route.value
        project = next((one for one in projects.all() if one.id == wanted), None)
        if project is not None:
            return t.Place(scope=row.route, name=project.title, dir=project.root)
    return t.Place(scope=row.route, dir=row.cwd or "/")


def _key(route: t.RouteScope) -> str:
    return route.value if isinstance(route, t.RouteProject) else ""
