"""The text of one message, put together from drafts, updates and its completion.

Pure. Offsets are bytes of UTF-8. An update that repeats what a draft said changes nothing; a
draft that starts past the held text waits for the update that fills the gap.
"""

from __future__ import annotations


class MessageText:
    """What is held of a message."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.size_bytes = 0

    @property
    def text(self) -> str:
        """Everything held."""
        return "".join(self._parts)

    def take(self, offset: int, delta: str) -> str:
        """The part of `delta` that is new, "" when it repeats or lies behind a gap."""
        if offset > self.size_bytes:
            return ""
        data = delta.encode("utf-8", "surrogatepass")
        known = self.size_bytes - offset
        if known >= len(data):
            return ""
        fresh = delta if known == 0 else data[known:].decode("utf-8", "replace")
        self._parts.append(fresh)
        self.size_bytes += len(data) - known
        return fresh

    def complete(self, text: str) -> str | None:
        """What `text`, the whole message, adds; None when it contradicts what is held."""
        held = self.text
        if not text.startswith(held):
            return None
        return text[len(held) :]
