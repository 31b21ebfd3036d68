"""The methods of the protocol: who may call which, and what they take and give. Pure.

Facts: protocol, method table. The types of a method are looked up when they are asked for, so
that reading this table loads none of them.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from efr.wire.scalars import Params
from efr.wire.shared.connection import ScopeName


class Caller(StrEnum):
    """Whose connection it is."""

    USER = "user"  # the Unix socket, a process of the user's
    MODEL = "model"  # the Unix socket, a process that the model's commands started
    UNPROVED = "unproved"  # a remote device before its proof
    PHONE = "phone"  # a remote device after its proof


# What a device may hold at most; admin and terminal never leave the machine.
PHONE_SCOPES: Final = frozenset({ScopeName.READ, ScopeName.OPERATE, ScopeName.APPROVE})

_MOST: Final = frozenset({Caller.USER, Caller.MODEL, Caller.PHONE})
_ANY: Final = frozenset(Caller)
_PEOPLE: Final = frozenset({Caller.USER, Caller.PHONE})
_AT_HOME: Final = frozenset({Caller.USER, Caller.MODEL})
_USER: Final = frozenset({Caller.USER})
_REMOTE: Final = frozenset({Caller.UNPROVED, Caller.PHONE})


class Method(Struct, frozen=True, dict=True):  # a dict for what is cached
    """One method.

    `callers` is who may call it at all, whatever scopes the connection holds; `capability` is
    the key in the daemon's hello that says it answers the method, where there is one.
    """

    name: str
    scope: ScopeName
    stream: bool = False
    command_id: bool = False
    capability: str | None = None
    callers: frozenset[Caller] = _MOST

    @property
    def for_phone(self) -> bool:
        """Whether a proved device may call it."""
        return Caller.PHONE in self.callers and self.scope in PHONE_SCOPES

    @property
    def for_model(self) -> bool:
        """Whether a command that the agent started may call it: it holds `read` alone."""
        return Caller.MODEL in self.callers and self.scope is ScopeName.READ

    @cached_property
    def params(self) -> type[Params]:
        """The type of the params."""
        found: type[Params] = self._type("Params")
        return found

    @cached_property
    def result(self) -> Any:
        """The type of the result, or the union of the items of a stream."""
        return self._type("Item" if self.stream else "Result")

    def _type(self, what: str) -> Any:
        from efr.wire import methods

        words = self.name.replace(".", "_").split("_")
        return getattr(methods, "".join(word.capitalize() for word in words) + what)


_READ, _OPERATE, _APPROVE = ScopeName.READ, ScopeName.OPERATE, ScopeName.APPROVE
_TERMINAL, _ADMIN = ScopeName.TERMINAL, ScopeName.ADMIN

_ALL: Final = (
    Method("hello", _READ, callers=_ANY),
    Method("conversations.list", _READ),
    Method("conversations.recent", _READ),
    Method("conversations.search", _READ, capability="search", callers=_PEOPLE),
    Method("conversations.watch", _READ, stream=True, capability="conversations_watch"),
    Method("conversation.subscribe", _READ, stream=True),
    Method("conversation.history", _READ),
    Method("conversation.search", _READ, capability="search", callers=_PEOPLE),
    Method("conversation.context", _READ),
    Method("conversation.diff", _READ),
    Method("conversation.compact", _OPERATE, command_id=True),
    Method("conversation.resume", _OPERATE, command_id=True),
    Method("conversation.delete", _TERMINAL, command_id=True),
    Method("prompt.send", _OPERATE, command_id=True),
    Method("prompt.withdraw", _OPERATE, command_id=True),
    Method("turn.interrupt", _OPERATE, command_id=True),
    Method("turn.steer", _OPERATE, command_id=True),
    Method("turn.undo", _OPERATE, command_id=True, callers=_AT_HOME),
    Method("approval.respond", _APPROVE, command_id=True),
    Method("input.respond", _TERMINAL, callers=_AT_HOME),
    Method("presence.set", _OPERATE, command_id=True),
    Method("jobs.list", _READ),
    Method("jobs.stop", _OPERATE, command_id=True),
    Method("call.background", _TERMINAL, command_id=True),
    Method("shell.interrupt", _TERMINAL, command_id=True),
    Method("shell.status", _READ),
    Method("pty.attach", _TERMINAL, stream=True),
    Method("pty.write", _TERMINAL),
    Method("pty.resize", _TERMINAL),
    Method("lease.report", _READ),
    Method("models.list", _READ),
    Method("projects.list", _READ),
    Method("sandbox.explain", _READ),
    Method("sandbox.surface_respond", _APPROVE, command_id=True, callers=_USER),
    Method("admin.status", _ADMIN, capability="admin"),
    Method("admin.config_reload", _ADMIN, capability="admin"),
    Method("admin.project_add", _ADMIN, capability="admin"),
    Method("admin.project_remove", _ADMIN, capability="admin"),
    Method("admin.login_openai", _ADMIN, stream=True, capability="admin"),
    Method("admin.login_api_key", _ADMIN, capability="admin"),
    Method("admin.logout", _ADMIN, capability="admin"),
    Method("admin.sandbox_check", _ADMIN, capability="admin"),
    Method("device.pair_start", _ADMIN, stream=True),
    Method("device.pair_confirm", _ADMIN),
    Method("device.enroll", _READ, capability="device_prove", callers=_REMOTE),
    Method("device.prove", _READ, capability="device_prove", callers=_REMOTE),
    Method("device.list", _ADMIN),
    Method("device.revoke", _ADMIN),
)

METHODS: Final[dict[str, Method]] = {method.name: method for method in _ALL}
