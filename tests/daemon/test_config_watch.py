"""A running efrd takes up what is saved to its settings, and tells terminals what is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from efr.base.files import write_atomic
from tests.daemon.test_methods import follow, send
from tests.harness.daemon import DEMO, Daemon
from tests.harness.raw_client import RawClient

TTY = "/dev/pts/77"
BROKEN = DEMO + "[shell]\nidle_minutes = -1\n"


@pytest.fixture(name="daemon")
def _daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path) as daemon:
        yield daemon


def config_when(client: RawClient, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The state of the config once it fits; the test's own limit ends a wait for ever."""
    while not fits(config := client.call("admin.status")["config"]):
        continue
    return dict(config)


def test_a_save_applies_without_a_command(daemon: Daemon) -> None:
    with daemon.client() as client:
        write_atomic(daemon.roots.config_file, b'[model]\nprovider = "openai"\n')
        config = config_when(client, lambda one: bool(one.get("restart_needed")))
        assert config["restart_needed"] == ["model.provider"]
        daemon.roots.config_file.unlink()
        daemon.write_settings(DEMO)
        assert "restart_needed" not in config_when(client, lambda one: "restart_needed" not in one)
    assert daemon.stop() == 0


def test_an_error_is_told_once_at_the_active_terminals_and_the_status_has_its_place(
    daemon: Daemon, tmp_path: Path
) -> None:
    context = {"pwd": str(tmp_path), "tty": TTY, "shell_pid": os.getpid()}
    with daemon.client("shell", tty=TTY) as shell:
        follow(shell, send(shell, "hello", context=context))
    notices = daemon.roots.notices / "pts-77"
    notices.unlink(missing_ok=True)
    with daemon.client() as client:
        write_atomic(daemon.roots.config_file, BROKEN.encode())
        error = config_when(client, lambda one: "reload_error" in one)["reload_error"]
        assert error["key"] == "shell.idle_minutes"
        assert client.call("admin.config_reload")["applied"] is False, "the same error again"
        assert notices.read_text().count("\n") == 1
        assert "config.toml has an error" in notices.read_text()
        write_atomic(daemon.roots.config_file, DEMO.encode())
        config_when(client, lambda one: "reload_error" not in one)
    assert daemon.stop() == 0


def test_a_config_folder_that_is_missing_is_made_and_watched(daemon: Daemon) -> None:
    daemon.stop()
    daemon.roots.config_file.unlink()
    daemon.roots.config.path.rmdir()
    daemon.start()
    assert daemon.roots.config.path.stat().st_mode & 0o777 == 0o700
    with daemon.client() as client:
        daemon.roots.config_file.write_text('[model]\nprovider = "openai"\n')
        config_when(client, lambda one: bool(one.get("restart_needed")))


def test_the_projects_of_the_terminals_follow_their_file(daemon: Daemon, tmp_path: Path) -> None:
    text = '[[project]]\nid = "00000000-0000-7000-8000-0000000000aa"\nroot = "/srv/thing"\n'
    write_atomic(daemon.roots.projects_file, text.encode())
    while daemon.roots.scopes.read_text() != "/srv/thing\tthing\n":
        continue
