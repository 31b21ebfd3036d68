"""A question that one key answers: `y` is yes, everything else is no.

Needs a terminal on stdin. Keys from before the question do not count, and what follows the key
(the rest of an arrow's sequence, a pasted line) is thrown away. The question stands on stderr, so
it shows when stdout is a pipe.
"""

from __future__ import annotations

import os
import select
import sys

from efr.base.ctrl_c import Raising
from efr.cli.printing import columns_of
from efr.cli.render.width import cells, cut
from efr.cli.run import is_terminal
from efr.cli.view.keymode import KeyMode
from efr.cli.waiting import ERASE_ROW

_KEYS = " [y/N] "
_LEAST_NAME = 12  # columns that still tell which one is meant
_LOOK_S = 1.0  # a Ctrl+C that comes right before the wait counts that late at most
_READ = 64  # bytes: one key and the rest of its sequence


def can_ask() -> bool:
    """Whether somebody can answer: stdin is a terminal, and it is ours now."""
    return is_terminal(0) and is_terminal(2)


def ask(question: str, *, keep: bool = True) -> bool:
    """Asks on one line and blocks for one key. `keep` False: the line goes with the answer.

    False as well when the terminal belongs to another job. Raises KeyboardInterrupt at Ctrl+C.
    """
    with Raising():
        keys = KeyMode(0)
        if not keys.set():
            return False
        try:
            keys.discard()
            _show(question + _KEYS)
            key = _read_key(keys)
            return key == b"y"
        finally:
            keys.discard()
            _show("\n" if keep else ERASE_ROW)
            keys.restore()


def fitting(before: str, name: str, after: str) -> str:
    """A question about something with a name, which is cut so that the question stays one row."""
    columns = columns_of(2)
    if columns is None:
        return before + name + after
    room = columns - cells(before + after + _KEYS) - 1  # the cursor stands behind it
    return before + cut(name, max(room, _LEAST_NAME)) + after


def _read_key(keys: KeyMode) -> bytes:
    """What one key sends; empty when the terminal is gone."""
    while not select.select([keys.descriptor], [], [], _LOOK_S)[0]:
        continue
    try:
        return os.read(keys.descriptor, _READ)
    except OSError:
        return b""


def _show(text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(text)
    sys.stderr.flush()
