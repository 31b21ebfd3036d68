"""The method that deletes a conversation."""

from __future__ import annotations

from functools import partial

from efr.daemon.rooms import Rooms, caller_of
from efr.threads.requests import Call, Later
from efr.wire import methods as m


def conversation_delete(rooms: Rooms, params: m.ConversationDeleteParams, call: Call) -> Later:
    """Deletes a conversation with everything that belongs to it. Waits for what runs in it."""
    delete = partial(rooms.deleter.delete, params, caller_of(call.peer))
    return rooms.waits.errand(call, delete)
