"""The C library's heaps, in a process of its own: what it says of them itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from efr.daemon.heaps import HEAPS
from tests.harness.daemon import ROOT

THREADS = 12
_TAKES_MEMORY = f"""
import ctypes, sys, threading
from efr.daemon.heaps import keep_few_heaps
if sys.argv[2] == "few":
    keep_few_heaps()
here = threading.Barrier({THREADS} + 1)
def take():
    held = [bytes(20_000) for _ in range(20)]
    here.wait()
    here.wait()
threads = [threading.Thread(target=take) for _ in range({THREADS})]
for thread in threads:
    thread.start()
here.wait()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
here.wait()
"""


@pytest.mark.parametrize("how", ["few", "as they come"])
def test_threads_share_few_heaps(tmp_path: Path, how: str) -> None:
    told = tmp_path / "heaps.xml"
    subprocess.run([sys.executable, "-c", _TAKES_MEMORY, str(told), how], cwd=ROOT, check=True)
    count = told.read_text().count("<heap nr=")
    assert (count <= HEAPS) == (how == "few")
