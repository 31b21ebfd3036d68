"""Where a Messages API request carries cache markers, and how long each lives.

Pure: positions are worked out from the messages on each call and nothing is stored, so they are
the same after a restart. At most four markers, in the order of the text: S on the system block
(else the last tool), A on the last anchor before the tail, P on the user message before the
tail, T on the last message. The API refuses a one-hour marker behind a five-minute one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from efr.providers.settings import CacheTtl

ANCHOR_TOKENS: Final = 20000  # a tool loop gets a new anchor before much of it must be re-read
_BYTES_PER_TOKEN: Final = 4

HOUR: Final = "1h"
MINUTES: Final = "5m"


class Lifetimes(Struct, frozen=True):
    """anthropic.cache_ttl: one time for all, or auto."""

    setting: CacheTtl


class Marked(Struct, frozen=True):
    """What the placing needs of one message."""

    from_user: bool
    has_results: bool
    text: str


class Markers(Struct, frozen=True):
    """Times by place; the slots are kept for the log line."""

    setting: CacheTtl
    system: str | None = None
    messages: Mapping[int, str] = field(default_factory=dict)
    slots: tuple[str, ...] = ()

    def describe(self) -> str:
        return f"cache_ttl={self.setting} markers={','.join(self.slots) or '-'}"


def place_markers(
    messages: Sequence[Marked], has_head: bool, side_call: bool, lifetimes: Lifetimes
) -> Markers:
    """The markers of one request. has_head: there is a system block or a tool."""
    tail = len(messages) - 1
    anchors = _anchors(messages[:-1] if side_call else messages)
    new_anchor = tail in anchors
    places = {
        "A": max((index for index in anchors if index < tail), default=None),
        "P": max((i for i in range(tail) if messages[i].from_user), default=None),
        "T": tail if messages and messages[tail].from_user else None,
    }
    times = {
        "S": _time(lifetimes, HOUR),
        "A": _time(lifetimes, HOUR),
        "P": _time(lifetimes, HOUR if new_anchor else MINUTES),
        "T": _time(lifetimes, HOUR if new_anchor else MINUTES),
    }
    slots = [f"S{times['S']}"] if has_head else []
    by_message: dict[int, str] = {}
    for slot, index in places.items():  # the first slot of a message has the longer time
        if index is not None and index not in by_message:
            by_message[index] = times[slot]
            slots.append(f"{slot}{times[slot]}")
    system = times["S"] if has_head else None
    return Markers(lifetimes.setting, system, by_message, tuple(slots))


def _time(lifetimes: Lifetimes, automatic: str) -> str:
    return automatic if lifetimes.setting == "auto" else lifetimes.setting


def _anchors(messages: Sequence[Marked]) -> set[int]:
    """User messages that open a turn, or behind which too much has gathered."""
    anchors: set[int] = set()
    tokens = 0
    for index, message in enumerate(messages):
        tokens += -(-len(message.text.encode()) // _BYTES_PER_TOKEN)
        opens = not message.has_results
        if message.from_user and (opens or tokens > ANCHOR_TOKENS):
            anchors.add(index)
            tokens = 0
    return anchors
