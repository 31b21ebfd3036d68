"""Where a write leads, seen from the sandbox: which exit it is and what a yes would bind.

Pure. The first class that fits decides; a fact that is missing counts as the stricter case.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Literal

from efr.policy.envelope import Envelope
from efr.policy.exits.kinds import Exit, Grant, exit_of
from efr.policy.needs import Facts
from efr.policy.paths import holders, holds

Made = Mapping[str, Literal["file", "dir"]]  # what the line's programs make, by path


def write_exit(path: str, envelope: Envelope, facts: Facts, made: Made) -> Exit | None:
    """The exit of a write to a path in normal form, or None: the sandbox takes it."""
    view = envelope.view
    if view.class_of(path) == "secrets":
        return exit_of("secret", path)
    if view.write_seal(path) is not None:
        return exit_of("config", path)
    if envelope.is_at_or_above_root(path):
        return exit_of("above_root", path)
    if envelope.is_floor(path):
        return exit_of("persistence", path)
    if envelope.is_masked(path):
        return exit_of("write", path, only_user=True)
    if envelope.writes(path):
        return None
    if envelope.is_synced(path):
        return exit_of("synced_write", path)
    grant = _bind(path, envelope, facts, made) if holds(view.home, path) else None
    return exit_of("write", path, grant, only_user=grant is None)


def read_exit(path: str, envelope: Envelope) -> Exit | None:
    """The exit of a read, or None."""
    if envelope.view.class_of(path) == "secrets":
        return exit_of("secret", path)
    return exit_of("masked_read", path, Grant("unmask", path)) if envelope.is_masked(path) else None


def _bind(path: str, envelope: Envelope, facts: Facts, made: Made) -> Grant | None:
    """What is opened for one write; None: nothing that would not open too much."""
    kind = facts.kinds.get(path)
    if kind == "dir":
        return Grant("write", path)
    if kind != "missing":
        parent = _parent(path)
        return Grant("write", path if envelope.is_shared(parent) else parent)
    if path in made:
        return Grant("write", path, made[path])
    above = islice(holders(path), 1, None)
    nearest = next((one for one in above if facts.kinds.get(one) != "missing"), "/")
    return None if envelope.is_shared(nearest) else Grant("write", nearest)


def _parent(path: str) -> str:
    return path[: path.rindex("/")] or "/"
