"""Roots, ids, cancellation and files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

from efr.base import files, roots
from efr.base.cancel import Cancel, Cancelled
from efr.base.ids import SystemIds
from efr.base.root_rules import _is_private_dir
from efr.base.version import VERSION
from tests.harness.clock import FakeClock

HOME = {"HOME": "/home/u"}


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["version"] == VERSION


@pytest.mark.parametrize(
    ("env", "path", "source"),
    [
        ({**HOME, "EFR_DATA_DIR": "/d", "EFR_HOME": "/h"}, "/d", "dir_variable"),
        ({**HOME, "EFR_DATA_DIR": "", "EFR_HOME": "/h"}, "/h/data", "efr_home"),
        ({**HOME, "XDG_DATA_HOME": "/x"}, "/x/efr", "xdg"),
        ({**HOME, "XDG_DATA_HOME": "relative"}, "/home/u/.local/share/efr", "xdg"),
        (HOME, "/home/u/.local/share/efr", "xdg"),
    ],
)
def test_a_root_has_one_order(env: dict[str, str], path: str, source: str) -> None:
    found = roots.find_roots({"XDG_RUNTIME_DIR": "/run/x", **env}, 1000)
    assert found.data == roots.Root(Path(path), source)


@pytest.mark.parametrize(
    ("name", "variable", "below_home"),
    [
        ("config", "XDG_CONFIG_HOME", ".config"),
        ("data", "XDG_DATA_HOME", ".local/share"),
        ("state", "XDG_STATE_HOME", ".local/state"),
        ("runtime", "XDG_RUNTIME_DIR", None),
    ],
)
def test_each_root_has_a_variable_of_its_own(
    name: str, variable: str, below_home: str | None
) -> None:
    base = {**HOME, "XDG_RUNTIME_DIR": "/run/x"}
    own = f"EFR_{name.upper()}_DIR"

    def found(**env: str) -> tuple[roots.Root, set[str]]:
        """The root, and which other ones are not where they were."""
        every, plain = roots.find_roots({**base, **env}, 1000), roots.find_roots(base, 1000)
        names = {"config", "data", "state", "runtime"} - {name}
        return getattr(every, name), {
            one for one in names if getattr(every, one) != getattr(plain, one)
        }

    assert found(**{own: "/own"}) == (roots.Root(Path("/own"), "dir_variable"), set())
    assert found(**{own: "/own", variable: "/x"})[0].path == Path("/own")
    assert found(**{variable: "/x"}) == (roots.Root(Path("/x/efr"), "xdg"), set())
    assert found(EFR_HOME="/h")[0] == roots.Root(Path("/h", name), "efr_home")
    if below_home is not None:
        assert found()[0] == roots.Root(Path(HOME["HOME"], below_home, "efr"), "xdg")


def test_the_last_runtime_folder_has_to_be_private(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    uid = os.geteuid()
    assert _is_private_dir(str(folder), uid)
    assert not _is_private_dir(str(folder), uid + 1)
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "file").touch(mode=0o700)
    assert not any(_is_private_dir(str(tmp_path / name), uid) for name in ("link", "file", "none"))
    for mode in (0o750, 0o755, 0o1700, 0o500):
        folder.chmod(mode)
        assert not _is_private_dir(str(folder), uid)


def test_a_relative_root_is_refused_and_names_its_variable() -> None:
    with pytest.raises(roots.RootError, match="EFR_STATE_DIR is 'here'"):
        roots.find_roots({**HOME, "EFR_STATE_DIR": "here", "XDG_RUNTIME_DIR": "/r"}, 1000)


def test_no_runtime_directory_names_the_variable_that_helps() -> None:
    with pytest.raises(roots.RootError, match="set EFR_RUNTIME_DIR"):
        roots.runtime_root(HOME, 4_000_000)


def test_four_own_variables_need_no_home() -> None:
    env = {f"EFR_{name}_DIR": f"/r/{name}" for name in ("CONFIG", "DATA", "STATE", "RUNTIME")}
    assert roots.find_roots(env, 1000).socket == Path("/r/RUNTIME/daemon.sock")


def test_a_socket_path_of_108_bytes_is_refused() -> None:
    def with_length(size: int) -> roots.Roots:
        folder = "/" + "r" * (size - len("/" + "/daemon.sock"))
        return roots.find_roots({**HOME, "EFR_RUNTIME_DIR": folder}, 1000)

    with_length(107).check_socket_path()
    with pytest.raises(roots.RootError, match="108 bytes"):
        with_length(108).check_socket_path()


def test_ids_only_grow_also_when_the_clock_goes_back() -> None:
    clock = FakeClock()
    ids = SystemIds(clock)
    made = [ids.new() for _ in range(5000)]
    clock.set_wall(1_000_000)
    made += [ids.new() for _ in range(5000)]
    assert made == sorted(set(made))
    assert {(one[14], one[19] in "89ab") for one in made} == {("7", True)}


def test_a_waker_runs_once_and_at_once_when_too_late() -> None:
    cancel, ran = Cancel(), []
    cancel.on_cancel(lambda: ran.append("a"))
    cancel.on_cancel(lambda: ran.append("taken back"))()
    waiter = threading.Thread(target=cancel.wait)
    waiter.start()
    cancel.cancel()
    cancel.cancel()
    waiter.join(5)
    cancel.on_cancel(lambda: ran.append("late"))
    assert (ran, waiter.is_alive()) == (["a", "late"], False)
    with pytest.raises(Cancelled):
        cancel.raise_if_cancelled()


def test_an_atomic_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    files.write_atomic(target, b"one")
    files.write_atomic(target, b"two", 0o644)
    assert target.read_bytes() == b"two"
    assert (target.stat().st_mode & 0o777, os.listdir(tmp_path)) == (0o644, ["file"])


def test_a_private_file_is_refused_once_others_can_reach_it(tmp_path: Path) -> None:
    folder = files.make_private_dir(tmp_path / "secrets")
    secret = folder / "key"
    files.write_atomic(secret, b"k")
    assert files.read_private(secret, 10) == b"k"
    secret.chmod(0o640)
    with pytest.raises(files.NotPrivate, match="wants mode 0600"):
        files.read_private(secret, 10)
    link = folder / "link"
    link.symlink_to(secret)
    with pytest.raises(files.NotPrivate, match="symbolic link"):
        files.read_private(link, 10)
    secret.chmod(0o600)
    with pytest.raises(files.NotPrivate, match="larger than 0 bytes"):
        files.read_private(secret, 0)
    folder.chmod(0o755)
    with pytest.raises(files.NotPrivate, match="wants mode 0700"):
        files.read_private(secret, 10)


def test_a_log_line_holds_no_control_characters() -> None:
    code = "import logging; from efr.base import log; log.set_up('info', journal=True); "
    code += r"logging.getLogger('efr.x').info('\x1b[2J größe\t🙂\r\x9b31m\x7f')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "INFO efr.x: ␛[2J größe\t🙂␍\ufffd31m␡\n"
