"""A running efrd takes up what is saved to its settings, and tells terminals what is wrong."""

from __future__ import annotations

import os
import shutil
import signal
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


@pytest.fixture(name="running", scope="module")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture(name="daemon")
def _daemon(running: Daemon) -> Daemon:
    """The one daemon of these tests, with the file it began with."""
    running.write_settings(DEMO)
    with running.client() as client:
        client.call("admin.config_reload")
    return running


def replace(path: Path, text: str) -> None:
    """A save by rename, at once."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(path)


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


def test_the_projects_of_the_terminals_follow_their_file(daemon: Daemon, tmp_path: Path) -> None:
    text = '[[project]]\nid = "00000000-0000-7000-8000-0000000000aa"\nroot = "/srv/thing"\n'
    write_atomic(daemon.roots.projects_file, text.encode())
    while daemon.roots.scopes.read_text() != "/srv/thing\tthing\n":
        continue


def test_a_link_is_followed_through_renames_loss_and_return_of_its_target(
    daemon: Daemon, tmp_path: Path
) -> None:
    file, real = daemon.roots.config_file, tmp_path / "dotfiles" / "efr.toml"
    real.parent.mkdir()
    real.write_text(DEMO)
    with daemon.client() as client:
        file.unlink()
        file.symlink_to(real)
        config_when(client, lambda one: one.get("symlink_target") == str(real))
        replace(real, f"{DEMO}[remote]\nport = 4000\n")
        config_when(client, lambda one: one.get("restart_needed") == ["remote.port"])
        real.unlink()
        config = config_when(client, lambda one: one.get("restart_needed") == ["model.provider"])
        assert not config["exists"], "a link to nothing is no file: the defaults"
        replace(real, DEMO)
        config = config_when(client, lambda one: "restart_needed" not in one)
        assert config["exists"]
    file.unlink()


def test_two_saves_within_ten_milliseconds_are_one_reload(daemon: Daemon) -> None:
    with daemon.client() as client:
        applied = daemon.log.count("apply")
        texts = ('[model]\nprovider = "openai"\n', f'screen = "vt100"\n{DEMO}')
        saves = [daemon.roots.config.path / name for name in ("first", "second")]
        for save, text in zip(saves, texts, strict=True):
            save.write_text(text)
        for save in saves:
            save.replace(daemon.roots.config_file)
        config = config_when(client, lambda one: "restart_needed" in one)
        assert config["restart_needed"] == ["screen"], "the first of them was never read"
    assert daemon.log.count("apply") == applied, "and restart keys alone apply nothing"


def test_a_thousand_reloads_under_running_turns(daemon: Daemon) -> None:
    """By the method, by signals and by the watch at once: each whole, none mixed."""
    texts = [
        f"{DEMO}[shell]\nidle_minutes = {n}\n[conversation]\nmax_queued = {n}\n" for n in (1, 2)
    ]
    with daemon.client() as client, daemon.client("shell", tty=TTY) as shell:
        context = {"pwd": "/", "tty": TTY, "shell_pid": os.getpid()}
        sent = send(shell, "count to 100", context=context)
        for number in range(100):
            replace(daemon.roots.config_file, texts[number % 2])
            daemon.signal(signal.SIGHUP)
            waiting = {client.request("admin.config_reload") for _ in range(10)}
            while waiting:
                frame = client.read()
                if "item" in frame:
                    assert frame["item"] == {"applied": True}
                else:
                    waiting.discard(frame["id"])
        items = follow(shell, sent)
        assert items[-1]["event"]["kind"] == "turn_completed"
        status = client.call("admin.status")["config"]
        assert "reload_error" not in status
    assert "Traceback" not in daemon.log


def test_a_config_folder_that_is_missing_is_made_and_watched(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        daemon.stop()
        shutil.rmtree(daemon.roots.config.path)
        daemon.start()
        assert daemon.roots.config.path.stat().st_mode & 0o777 == 0o700
        with daemon.client() as client:
            daemon.roots.config_file.write_text('[model]\nprovider = "openai"\n')
            config_when(client, lambda one: bool(one.get("restart_needed")))
