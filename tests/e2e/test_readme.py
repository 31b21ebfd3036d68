"""The README's example for scripts runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.harness.daemon import ROOT, Daemon


def test_the_example_for_scripts(daemon: Daemon, tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    example = found[1]
    assert len(example.splitlines()) <= 15
    (daemon.home / "a-file").write_text("x")
    done = subprocess.run(
        [sys.executable, "-c", example],
        env={**daemon.env, "PYTHONPATH": str(ROOT)},
        cwd=daemon.home,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "a-file" in done.stdout
