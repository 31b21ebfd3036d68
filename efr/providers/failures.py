"""Words for a provider's failures: one sentence a person can act on, and the wire's error body.

Pure. A message of the server is quoted, already cut and without secrets; the rest is ours. The
tool to log in is named here because every failure of a login ends in it.
"""

import itertools
import math
from typing import Final

_UNITS: Final = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))

LOGIN_COMMANDS: Final = {
    "openai": "efr login openai",
    "openai-api": "efr login openai-api",
    "anthropic-api": "efr login anthropic-api",
    "compatible": "efr login compatible",
}


def wait_text(seconds: float) -> str:
    """Whole seconds, rounded up, in at most two units: 45s, 5m 3s, 3h 0m, 2d 4h."""
    left = max(math.ceil(seconds), 0)
    for (unit, size), (small, small_size) in itertools.pairwise(_UNITS):
        if left >= size:
            return f"{left // size}{unit} {left % size // small_size}{small}"
    return f"{left}s"
