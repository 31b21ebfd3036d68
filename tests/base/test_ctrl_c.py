"""Ctrl+C while a program of ours loads: it ends by the signal, with no word and no crash."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from efr.base.ctrl_c import Raising, end_at_once

ROOT = Path(__file__).parents[2]
# Presses Ctrl+C at the moment when the named module is looked for.
PRESS = """
import os, sys
wanted = sys.argv.pop(1)
class Press:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Press())
"""
PROGRAMS = {
    "efr": "from efr_cli import main\nmain()",
    "efrd": "from efrd import main\nmain()",
    "orjson": "from efr.base import ctrl_c\nctrl_c.end_at_once()\nimport orjson",
}


@pytest.mark.parametrize(
    ("program", "module", "args"),
    [
        ("efr", "enum", ["send", "hi"]),  # the first that the interpreter has not loaded itself
        ("efr", "efr.cli.run", ["send", "hi"]),
        ("efr", "json", ["send", "hi"]),
        ("efr", "efr.client.link", ["send", "hi"]),
        ("efr", "msgspec._core", ["status"]),
        ("efr", "decimal", ["status"]),  # by msgspec, while its C part starts
        ("efr", "efr.client.connection", ["status"]),
        ("efrd", "docopt", ["--print-config"]),
        ("efrd", "apsw", ["--print-config"]),
        ("orjson", "uuid", []),  # by orjson, which crashes on an exception there
    ],
)
def test_ctrl_c_in_the_middle_of_an_import_ends_the_program_without_a_word(
    tmp_path: Path, program: str, module: str, args: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRESS + PROGRAMS[program], module, *args],
        env={"PYTHONPATH": str(ROOT), "EFR_HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def test_an_ignored_ctrl_c_stays_ignored() -> None:
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        end_at_once()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        with Raising():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, old)


def test_ctrl_c_raises_where_something_has_to_be_put_back_and_only_there() -> None:
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        end_at_once()
        with Raising(), Raising(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, old)
