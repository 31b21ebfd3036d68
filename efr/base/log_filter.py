"""The text of a log filter, such as `info` or `info,efr.agent=debug`. Loads nothing."""

from __future__ import annotations

LEVELS = {"error": 40, "warn": 30, "info": 20, "debug": 10}  # the numbers of `logging`
DEFAULT_LEVEL = LEVELS["info"]


class BadLogFilter(Exception):
    """The filter names a level that does not exist."""


def parse_filter(text: str) -> dict[str, int]:
    """Logger name to level; the empty name is the level of everything else."""
    levels: dict[str, int] = {}
    for part in text.split(","):
        name, _, level = part.strip().rpartition("=")
        if level not in LEVELS:
            raise BadLogFilter(
                f"{part.strip()!r} is no log level; choose error, warn, info or debug"
            )
        levels[name.strip()] = LEVELS[level]
    return levels
