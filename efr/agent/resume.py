"""`conversation.resume`: an older conversation becomes that of a terminal's slot again.

It goes to the slot of its own route, wherever the terminal is. One that an open terminal holds
stays there unless the request takes it. A conversation whose project is no longer registered goes
where its last directory belongs now: a slot of a project that is gone could not be reached. Inside
the agent's gate of routes; handler threads; blocks on the store and the file system.
"""

from __future__ import annotations

from msgspec import Struct

from efr.agent.conversation import Conversation
from efr.agent.forms import CONVERSATION_RESUME
from efr.agent.place import Place, Places
from efr.agent.ports import Caller
from efr.agent.routing import Routing, route_place, slot_row
from efr.agent.slots import SlotRow, of_this_shell
from efr.store import queries
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import refuse


class Resuming(Struct, frozen=True):
    """One request while it is worked on: the terminal, and the place of its directory."""

    params: m.ConversationResumeParams
    tty: str
    here: Place

    @property
    def shell_pid(self) -> int | None:
        return self.params.context.shell_pid


def begin(params: m.ConversationResumeParams, caller: Caller, places: Places) -> Resuming:
    """Checks what no state could make right. Blocks on the file system; before the gate."""
    tty = params.context.tty
    if caller.remote:
        raise refuse(t.ErrorCode.INVALID, "a remote device has no terminal here")
    if tty is None:
        raise refuse(t.ErrorCode.INVALID, "only a terminal can resume a conversation")
    return Resuming(params, tty, places.of(params.context.pwd))


def resume(
    routing: Routing, conversation: Conversation, asked: Resuming
) -> m.ConversationResumeResult:
    """Moves the conversation, or says who holds it. Raises Refusal, StoreError."""
    with conversation.gate.enter():
        conversation.check_open()
        row = _row(conversation)
        rules = routing.rules()
        elsewhere = row.tty is not None and row.tty != asked.tty and rules.held(row)
        if row.tty is not None and elsewhere and not asked.params.take:
            held = m.ConversationResumeHeld(tty=row.tty, title=row.title)
            _record(conversation, asked, held, [])
            return held
        route = _own_route(conversation, row)
        here = row.tty == asked.tty and of_this_shell(row, asked.shell_pid, rules)
        result = m.ConversationResumed(
            conversation_id=conversation.id,
            scope=_shown(conversation.services.ports.places, route, row, asked),
            title=row.title,
            updated_at=t.time_from_us(row.updated_us),
            shell_dir=routing.shell_dir(row),
            here=here,
            continues_here=asked.here.route == route or not rules.follow_project,
        )
        attached = ev.TerminalAttached(
            tty=asked.tty, route=route, shell_pid=asked.shell_pid, how=t.AttachHow.RESUMED
        )
        _record(conversation, asked, result, [attached])
    routing.moved(row, asked.tty)
    routing.filled(asked.tty, route, asked.shell_pid)
    return result


def _row(conversation: Conversation) -> SlotRow:
    row = conversation.services.ports.readers.read(
        lambda conn: queries.conversation(conn, conversation.id)
    )
    if row is None:
        raise refuse(t.ErrorCode.NOT_FOUND, "there is no such conversation")
    return slot_row(row)


def _record(
    conversation: Conversation,
    asked: Resuming,
    result: m.ConversationResumeResult,
    events: list[ev.Event],
) -> None:
    receipt = CONVERSATION_RESUME.receipt(asked.params.command_id, result, seq_of=0)
    conversation.append(events, receipt, is_input=False)


def _own_route(conversation: Conversation, row: SlotRow) -> t.RouteScope:
    places = conversation.services.ports.places
    route = row.key
    if isinstance(route, t.RouteOutside):
        return route
    if isinstance(route, t.RouteProject):
        known = any(one.id == route.value for one in places.projects.all())
        if known:
            return route
    return places.of(row.cwd).route if row.cwd is not None else t.RouteOutside()


def _shown(places: Places, route: t.RouteScope, row: SlotRow, asked: Resuming) -> t.Place:
    """The route with a directory where a prompt continues the conversation."""
    if isinstance(route, t.RouteOutside):
        if asked.here.route == route:
            return t.Place(scope=route, dir=asked.params.context.pwd)
        was_outside = row.cwd is not None and places.of(row.cwd).route == route
        return t.Place(scope=route, dir=row.cwd if was_outside and row.cwd else places.home)
    return route_place(route, row.cwd or places.home, places.projects)
