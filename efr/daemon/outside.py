"""What a daemon gets from outside of its process, so that a test can give it something else."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from efr.base.clock import Clock
from efr.base.ids import Ids
from efr.providers.oauth import Issuer

Fatal = Callable[[str, BaseException], None]
"""Takes the name of a thread that broke, and why: the daemon ends."""


class Outside(Struct, frozen=True):
    """Everything that comes from outside of the process."""

    env: Mapping[str, str]
    clock: Clock
    ids: Ids
    issuer: Issuer = field(default_factory=Issuer)  # of the subscription login
