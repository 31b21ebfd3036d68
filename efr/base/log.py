"""Log set-up: one line per record to stderr (or JSON lines to a file), filtered by level and room.

A filter reads `info` or `info,efr.agent=debug`. No prompt, command line or key is logged at any
level; that is a rule for the callers, checked by tests that search the logs.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Final

from efr.base.log_filter import DEFAULT_LEVEL, parse_filter

_KEPT: Final = "\n\t"
_PICTURES: Final = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in _KEPT},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}  # Unicode's block "Control Pictures"


def set_up(level_filter: str, *, journal: bool = False, json_file: Path | None = None) -> None:
    """Sends the log to stderr (without times when the journal adds its own) and to `json_file`."""
    levels = parse_filter(level_filter)
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    stream = logging.StreamHandler(sys.stderr)
    stamp = "" if journal else "%(asctime)s "
    stream.setFormatter(_PlainLines(f"{stamp}%(levelname)s %(name)s: %(message)s"))
    root.addHandler(stream)
    if json_file is not None:
        json_handler = logging.FileHandler(json_file, encoding="utf-8")
        json_handler.setFormatter(_JsonLines())
        root.addHandler(json_handler)
    root.setLevel(levels.get("", DEFAULT_LEVEL))
    for name, level in levels.items():
        if name:
            logging.getLogger(name).setLevel(level)


class _PlainLines(logging.Formatter):
    """A line that a terminal shows as it is: what a server said may hold its control characters."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).translate(_PICTURES)


class _JsonLines(logging.Formatter):
    """One JSON object per record."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "at": self.formatTime(record),
            "level": record.levelname.lower(),
            "room": record.name,
            "thread": record.threadName,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)
