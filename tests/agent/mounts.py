"""Whether a test may mount something, in a mount namespace of its own."""

from __future__ import annotations

import subprocess


def can_mount() -> bool:
    """Needs the right to unshare, as root has."""
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    return done.returncode == 0
