"""`efr version`: the build and the protocol it speaks. Needs no daemon."""

from __future__ import annotations

from efr.base.version import VERSION
from efr.cli.dial import PROTOCOL
from efr.cli.run import Run


def version(run: Run) -> int:
    """Prints one line."""
    run.say(f"efr {VERSION}, protocol {PROTOCOL}")
    return 0
