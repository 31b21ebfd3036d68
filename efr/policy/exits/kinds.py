"""The kinds of exits, and what a yes to one grants.

Pure values. The order of the kinds is that of the protocol.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

Kind = Literal[
    "write",
    "host",
    "host_view",
    "socket",
    "desktop_ipc",
    "bus",
    "device",
    "masked_read",
    "destructive",
    "outside",
    "privilege",
    "persistence",
    "upload",
    "synced_write",
    "above_root",
    "secret",
    "config",
]
# Only the user approves these, whatever their target.
USER_ONLY: Final = frozenset((
    "masked_read", "privilege", "persistence", "upload", "synced_write", "desktop_ipc",
    "above_root",
))  # fmt: skip
# These run without the sandbox once they are approved.
UNSANDBOXED: Final = frozenset((
    "privilege", "persistence", "upload", "outside", "synced_write", "above_root",
))  # fmt: skip
# Nobody may approve these.
CLOSED: Final = frozenset(("secret", "config"))

GrantKind = Literal[
    "write", "host", "open_network", "net_view", "socket", "bus", "device", "unmask", "desktop"
]


class Grant(Struct, frozen=True):
    """What one call gets beyond its sandbox. `made`: efr makes an empty file or folder first."""

    kind: GrantKind
    value: str = ""
    made: Literal["file", "dir"] | None = None


class Exit(Struct, frozen=True):
    """One way out. `grant` None: nothing is granted, or the line runs without the sandbox."""

    kind: Kind
    target: str = ""
    grant: Grant | None = None
    user_only: bool = False
    unsandboxed: bool = False
    source: Literal["predicted", "needs"] = "predicted"


def exit_of(
    kind: Kind, target: str = "", grant: Grant | None = None, *, only_user: bool = False
) -> Exit:
    """An exit with what its kind says; `only_user` for a write or device that nothing can bind."""
    return Exit(
        kind,
        target,
        grant,
        user_only=only_user or kind in USER_ONLY,
        unsandboxed=kind in UNSANDBOXED or (only_user and kind == "write"),
    )
