"""What the params and results of methods are built on."""

from __future__ import annotations

from efr.wire.scalars import Params, Wire


class NoParams(Params, frozen=True):
    """A method without params takes `{}`."""


class Nothing(Wire, frozen=True):
    """A result without members: `{}`."""
