"""Who asks for a list or a resume: the terminal, its directory, and the shell's context."""

from __future__ import annotations

from typing import Any, NamedTuple

from efr.cli import prompt
from efr.cli.dialog import open_connection
from efr.cli.handover import Handover
from efr.cli.run import Run, directory, terminal_name
from efr.client.connection import Connection
from efr.wire import types as t
from efr.wire.codec import from_builtins


class Asker(NamedTuple):
    """The terminal that asks. `context` has the members of a `shell_context`."""

    origin: t.Origin
    context: dict[str, Any]

    @property
    def tty(self) -> str | None:
        """The terminal's device, None without one."""
        found: str | None = self.context.get("tty")
        return found

    @property
    def pwd(self) -> str:
        """The directory, whose scope comes first in a list."""
        return str(self.context["pwd"])

    @property
    def members(self) -> dict[str, Any]:
        """What the lists want to know of it."""
        return {"tty": self.tty, "pwd": self.pwd}

    def shell_context(self) -> t.ShellContext:
        """For `conversation.resume`."""
        return from_builtins(self.context, t.ShellContext)

    def connect(self, run: Run) -> Connection:
        """A connection that says hello for this terminal. Raises as `efr.client`."""
        return open_connection(run, origin=self.origin, tty=self.tty or "")


def asker_of(run: Run, given: Handover) -> Asker:
    """From the plugin's variables, else this directory and the terminal on stdin."""
    place = prompt.Place(directory(run.env), terminal_name())
    origin = t.Origin.SHELL if given.context else t.Origin.CLI
    return Asker(origin, prompt.context(given.context, place))
