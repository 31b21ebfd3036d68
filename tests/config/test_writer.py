"""Writing config.toml: links, races, what cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from efr.base.files import write_atomic
from efr.config.edit import with_key
from efr.config.errors import ChangedMeanwhile, ConfigError, LinkToNothing, WriteFailed
from efr.config.writer import change, open_original, save

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / "efr" / "config.toml"


def test_a_missing_file_is_made_private_with_its_directory(path: Path) -> None:
    save(open_original(path), "log = 'warn'\n")
    assert path.read_text() == "log = 'warn'\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_the_file_behind_links_is_written_and_the_links_stay(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "efr.toml"
    real.parent.mkdir()
    real.write_text("# mine\n")
    second = tmp_path / "second"
    second.symlink_to(real)
    path.parent.mkdir()
    path.symlink_to(second)
    original = open_original(path)
    assert original.real == real
    save(original, "# mine\nlog = 'warn'\n")
    assert real.read_text() == "# mine\nlog = 'warn'\n"
    assert (path.readlink(), second.readlink()) == (second, real)


def test_a_link_to_nothing_is_refused(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(tmp_path / "gone" / "efr.toml")
    with pytest.raises(LinkToNothing, match="which does not exist"):
        open_original(path)
    path.unlink()
    path.symlink_to(path)  # a loop
    with pytest.raises(LinkToNothing):
        open_original(path)
    assert path.is_symlink()


def test_a_text_that_a_load_would_refuse_is_never_written(path: Path) -> None:
    save(open_original(path), "log = 'warn'\n")
    with pytest.raises(ConfigError, match="must be"):
        save(open_original(path), "log = 'loud'\n")
    assert path.read_text() == "log = 'warn'\n"


def test_nothing_is_written_onto_a_change_of_somebody_else(path: Path, tmp_path: Path) -> None:
    original = open_original(path)
    path.parent.mkdir()
    path.write_text("")  # it appeared, if empty
    with pytest.raises(ChangedMeanwhile):
        save(original, "log = 'warn'\n")
    original = open_original(path)
    write_atomic(path, b"log = 'debug'\n")
    with pytest.raises(ChangedMeanwhile):
        save(original, "log = 'warn'\n")
    original = open_original(path)
    same = tmp_path / "same.toml"
    same.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(same)  # the same text in another file
    with pytest.raises(ChangedMeanwhile):
        save(original, "log = 'warn'\n")
    assert same.read_text() == "log = 'debug'\n"


def test_a_change_is_planned_anew_three_times(path: Path) -> None:
    seen = []

    def plan(original: object) -> str:
        seen.append(original)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {len(seen)}\n")
        return "log = 'warn'\n"

    with pytest.raises(ChangedMeanwhile):
        change(path, plan)
    assert len(seen) == 3
    assert path.read_text() == "# 3\n"
    assert change(path, lambda original: original.text) is None, "nothing to do"
    assert change(path, lambda original: None) is None


def test_a_directory_that_cannot_be_written_changes_nothing(path: Path, tmp_path: Path) -> None:
    """Below /proc nobody makes a file, not even root."""
    path.parent.symlink_to("/proc/self/task")
    with pytest.raises(WriteFailed, match="it cannot be written"):
        save(open_original(path), "log = 'warn'\n")
    occupied = tmp_path / "occupied"
    occupied.write_text("")
    with pytest.raises(WriteFailed, match="it cannot be written"):
        save(open_original(occupied / "config.toml"), "log = 'warn'\n")
    assert occupied.read_text() == ""


def test_bytes_that_are_no_text_are_not_edited(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        open_original(path)


_ADD = """
import sys
from pathlib import Path
from efr.config.edit import with_key
from efr.config.load import read
from efr.config.errors import ChangedMeanwhile
from efr.config.writer import change

def plan(original):
    text = original.text or ""
    known = list(read(text.encode()).sandbox.env_deny)
    return with_key(text, "sandbox.env_deny", [*known, name])

for number in range(15):
    name = f"{sys.argv[2]}_{number}"
    while True:
        try:
            change(Path(sys.argv[1]), plan)
            break
        except ChangedMeanwhile:
            pass
"""


def test_two_processes_that_change_at_once_lose_nothing(path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    writers = [
        subprocess.Popen([sys.executable, "-c", _ADD, str(path), name], env=env)
        for name in ("A", "B")
    ]
    assert [one.wait(30) for one in writers] == [0, 0]
    text = path.read_text()
    assert text.count('"A_') == text.count('"B_') == 15
    assert sorted(one.name for one in path.parent.iterdir()) == ["config.toml"]
    assert with_key(text, "sandbox.env_deny", []) == "[sandbox]\nenv_deny = []\n"


def test_a_link_to_a_device_is_never_replaced(tmp_path: Path) -> None:
    link = tmp_path / "config.toml"
    device = tmp_path / "device"
    os.mkfifo(device)  # as little a file as a device is
    link.symlink_to(device)
    with pytest.raises(ConfigError, match="no regular file"):
        open_original(link)
    assert device.is_fifo()
