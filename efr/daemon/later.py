"""What efrd loads late, so that its start is short: at first use, or soon in a daemon that stays.

Files of a running daemon may be replaced by those of a newer version. A module that is loaded long
after the others would then be of another version than they are. Used on `main`.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Final

SETTLED_S: Final = 10.0  # after the start: a daemon that is there this long stays

LATER: Final = (
    "difflib",
    "email.utils",
    "tomllib",
    "msgspec.inspect",
    "orjson",
    "efr.config.edit",
    "efr.config.faults",
    "efr.config.places",
    "efr.config.project_inline",
    "efr.config.rules",
    "efr.providers.connections",
    "efr.shell.hidden",
)

_log = logging.getLogger("efr.daemon")


def load() -> None:
    """Loads all of it. What cannot be loaded, as in the middle of an upgrade, is told, and costs
    its first user alone."""
    for name in LATER:
        try:
            import_module(name)
        except Exception:  # noqa: BLE001 - a half-written file may raise anything
            _log.exception("%s cannot be loaded", name)
