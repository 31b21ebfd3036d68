"""What the results of methods are built on."""

from efr.wire.scalars import Wire


class Nothing(Wire, frozen=True):
    """A result without members: `{}`."""
