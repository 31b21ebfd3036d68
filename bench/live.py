"""A real daemon on throwaway roots for the measurements, on the built-in model."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.run import daemon, make_env, write_config


@contextlib.contextmanager
def running() -> Iterator[dict[str, str]]:
    """A daemon; yields the environment in which `efr` finds it."""
    home = Path(tempfile.mkdtemp(prefix="efr-bench-", dir="/tmp"))
    try:
        env = make_env(home, dict(os.environ))
        env["HOME"] = str(home)
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed efr is compiled
        write_config(home, "demo")
        with daemon(home, env):
            yield env
    finally:
        shutil.rmtree(home, ignore_errors=True)


def pid_of(env: dict[str, str]) -> int:
    """The daemon's process id, from its own hint."""
    import json

    hint = json.loads((Path(env["EFR_HOME"]) / "runtime" / "daemon.json").read_text())
    pid: int = hint["pid"]
    return pid
