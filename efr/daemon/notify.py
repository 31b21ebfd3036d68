"""Tells systemd that efrd is ready, stopping, or reloading (sd_notify(3)).

Without `NOTIFY_SOCKET` nothing is sent. A service manager that is gone is no reason to fail.
"""

from __future__ import annotations

import logging
import socket

_log = logging.getLogger("efr.daemon")


class Notifier:
    """Sends state lines to the socket that the service manager named."""

    def __init__(self, address: str | None) -> None:
        self._address = address

    def send(self, state: str) -> None:
        """Sends one state, such as `READY=1`."""
        if not self._address:
            return
        # A leading @ names the abstract namespace (unix(7)).
        name = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
                sock.sendto(state.encode(), name)
        except OSError as exc:
            _log.warning("cannot tell the service manager %s: %s", state, exc)
