"""What the model knows of files: the content it last read or wrote, per conversation.

A write of an existing file counts on that knowledge: it is refused when the file was never read
here or changed since. Used by the conversation's worker alone; lost with the daemon, which costs
one more read.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Final, Literal

_MOST_FILES: Final = 4096  # 100 bytes each; more are read again

View = Literal["current", "changed", "unseen"]


class FileViews:
    """Digests of what the model saw, by real path; the ones used longest ago are dropped first."""

    def __init__(self) -> None:
        self._digests: OrderedDict[str, bytes] = OrderedDict()

    def saw(self, path: str, content: bytes) -> None:
        """The model read or wrote the file with this content."""
        self._digests[path] = _digest(content)
        self._digests.move_to_end(path)
        while len(self._digests) > _MOST_FILES:
            self._digests.popitem(last=False)

    def compare(self, path: str, content: bytes) -> View:
        """Whether the model saw just this content, another one, or none."""
        known = self._digests.get(path)
        if known is None:
            return "unseen"
        return "current" if known == _digest(content) else "changed"


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
