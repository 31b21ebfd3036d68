"""Says in the log when nobody can reach the daemon any more: its socket's file is gone.

Who is connected keeps working, and nothing is made anew: the folder may have been removed on
purpose, or be another daemon's by now. Looked at once a minute, on the `timer` thread.
"""

from __future__ import annotations

import logging

from efr.threads.listener import Listener

_log = logging.getLogger("efr.daemon")


class SocketCheck:
    """Remembers whether it said so."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._told = False

    def look(self) -> None:
        """One look; one line for all of them."""
        if self._told or self._listener.is_reached:
            return
        self._told = True
        _log.error(
            "%s is gone: no new client can connect until efrd is started again",
            self._listener.path,
        )
