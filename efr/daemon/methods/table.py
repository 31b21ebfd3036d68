"""The method table: which function serves which method of the protocol.

Every method of `efr.wire.table.METHODS` is in it. One whose room this build lacks says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from efr.daemon.dispatch import Run
from efr.daemon.methods import (
    admin,
    conversations,
    deletes,
    logins,
    projects,
    search,
    shells,
    turns,
)
from efr.daemon.rooms import Rooms
from efr.threads.requests import Call
from efr.wire import types as t
from efr.wire.errors import refuse
from efr.wire.table import METHODS

SERVED: dict[str, Callable[[Rooms, Any, Call], Any]] = {
    "conversations.list": conversations.conversations_list,
    "conversations.recent": conversations.conversations_recent,
    "conversations.search": search.conversations_search,
    "conversations.watch": conversations.conversations_watch,
    "conversation.subscribe": conversations.conversation_subscribe,
    "conversation.history": conversations.conversation_history,
    "conversation.diff": conversations.conversation_diff,
    "conversation.search": search.conversation_search,
    "conversation.context": conversations.conversation_context,
    "conversation.compact": conversations.conversation_compact,
    "conversation.resume": conversations.conversation_resume,
    "conversation.delete": deletes.conversation_delete,
    "prompt.send": turns.prompt_send,
    "prompt.withdraw": turns.prompt_withdraw,
    "turn.interrupt": turns.turn_interrupt,
    "turn.steer": turns.turn_steer,
    "approval.respond": turns.approval_respond,
    "input.respond": turns.input_respond,
    "presence.set": turns.presence_set,
    "shell.interrupt": shells.shell_interrupt,
    "shell.status": shells.shell_status,
    "pty.attach": shells.pty_attach,
    "pty.write": shells.pty_write,
    "pty.resize": shells.pty_resize,
    "lease.report": turns.lease_report,
    "models.list": admin.models_list,
    "projects.list": projects.projects_list,
    "admin.status": admin.admin_status,
    "admin.config_reload": admin.admin_config_reload,
    "admin.project_add": projects.admin_project_add,
    "admin.project_remove": projects.admin_project_remove,
    "admin.login_openai": logins.admin_login_openai,
    "admin.login_api_key": logins.admin_login_api_key,
    "admin.logout": logins.admin_logout,
}


def methods_of(rooms: Rooms) -> dict[str, Run]:
    """Every method but `hello`, which each transport answers by itself."""
    return {
        name: partial(SERVED[name], rooms) if name in SERVED else partial(_not_built, rooms)
        for name in METHODS
        if name != "hello"
    }


def _not_built(rooms: Rooms, params: Any, call: Call) -> Any:
    name = call.method.name
    raise refuse(
        t.ErrorCode.INVALID,
        f"efrd {rooms.facts.version} does not serve {name} yet",
        {"method": name, "reason": "not_built"},
    )
