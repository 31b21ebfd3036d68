"""A connection of a command that asks and prints: hello with the terminal it runs in."""

from __future__ import annotations

from efr.cli.run import Run, terminal_name
from efr.client.address import socket_path
from efr.client.connection import Connection
from efr.wire import types as t


def open_connection(
    run: Run,
    *,
    origin: t.Origin = t.Origin.CLI,
    tty: str | None = None,
    capabilities: t.Capabilities | None = None,
) -> Connection:
    """Connects and says hello. `tty` None: the terminal on stdin. Raises as `efr.client`."""
    connection = Connection.open(socket_path(run.env), run.ids)
    try:
        tty = (terminal_name() if tty is None else tty) or None
        connection.hello(origin, tty=tty, capabilities=capabilities)
    except BaseException:
        connection.close()
        raise
    return connection
