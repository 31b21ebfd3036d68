"""Programs that run commands as another user, and where they hide on a line.

Pure. Asked of every line, whatever else allows it.
"""

from __future__ import annotations

import re
from typing import Final

from efr.policy.lines.inner import RUNNERS
from efr.policy.reader import SimpleCommand

PRIVILEGED: Final = frozenset(("sudo", "sudoedit", "doas", "su", "pkexec", "run0"))
# Programs that run the program among their words.
WRAPPERS: Final = frozenset((
    "env", "nice", "nohup", "time", "timeout", "command", "builtin", "exec", "stdbuf", "ionice",
    "chrt", "taskset", "setsid", "flock", "xargs", "watch", "unbuffer", "noglob", "nocorrect", "-",
    *RUNNERS,
))  # fmt: skip
# One of the names as the last part of a word.
_IN_TEXT: Final = re.compile(
    rf"(?<![A-Za-z0-9_.-])(?:{'|'.join(sorted(PRIVILEGED))})(?![A-Za-z0-9_./-])"
)


def privileged_in(command: SimpleCommand) -> str | None:
    """The privileged program that a simple command runs, also behind a wrapper, or None."""
    program, *rest = (word.text for word in command.words)
    words = [program, *rest] if _base(program) in WRAPPERS or program == "-" else [program]
    return next((name for name in map(_base, words) if name in PRIVILEGED), None)


def privileged_in_text(line: str) -> str | None:
    """A privileged name anywhere in a line that cannot be read, or None."""
    found = _IN_TEXT.search(line)
    return None if found is None else found[0]


def _base(word: str) -> str:
    return word.rpartition("/")[2]
