"""Starting, locking and stopping a real efrd."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from efr.base.inotify import Inotify
from efr.store.steps import NEWEST
from tests.harness.daemon import DEMO, ROOT, Daemon, DaemonFailed
from tests.harness.raw_client import LIMIT_S, RawClient
from tests.store.make_databases import FOLDER, name_of
from tests.store.test_faults import needs_namespaces


@pytest.fixture(name="daemon")
def _daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path)
    yield daemon
    daemon.close()


def status_of(daemon: Daemon) -> dict[str, object]:
    with daemon.client() as client:
        found: dict[str, object] = client.call("admin.status")
    return found


# The lock and the socket.


def test_a_second_efrd_on_the_same_data_exits_with_3(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start()
    other = Daemon(tmp_path / "other", env={"EFR_DATA_DIR": str(daemon.roots.data.path)})
    try:
        code, output = other.run_to_end()
    finally:
        other.close()
    assert (code, "another efrd runs" in output) == (3, True)
    assert output.count("\n") == 1, "one clear line"
    assert status_of(daemon)["pid"] == daemon.pid


@needs_namespaces
def test_a_second_efrd_in_a_container_is_refused(daemon: Daemon) -> None:
    """It sees other process ids and the same files, as with a shared home."""
    daemon.start()
    second = ["unshare", "-Urpf", sys.executable, str(ROOT / "efrd.py")]
    done = subprocess.run(second, env=daemon.env, capture_output=True, text=True, timeout=30)
    assert (done.returncode, "another efrd runs" in done.stderr) == (3, True)
    assert status_of(daemon)["pid"] == daemon.pid


def test_a_second_efrd_on_the_same_socket_is_refused(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start()
    other = Daemon(tmp_path / "other", env={"EFR_RUNTIME_DIR": str(daemon.roots.runtime.path)})
    before = os.stat(daemon.socket)
    mark = {"EDITOR": f"{daemon.roots.zsh}/1/no-editor"}  # as in a hidden shell of the first one
    with subprocess.Popen(["sleep", "600"], env=mark) as runs:
        try:
            code, output = other.run_to_end()
            assert runs.poll() is None
        finally:
            runs.kill()
            other.close()
    assert (code, "in use by another efrd" in output) == (1, True)
    assert os.stat(daemon.socket).st_ino == before.st_ino
    assert json.loads(daemon.roots.daemon_json.read_text())["pid"] == daemon.pid
    assert status_of(daemon)["pid"] == daemon.pid


def test_after_a_kill_the_next_start_takes_lock_and_socket(daemon: Daemon) -> None:
    daemon.start()
    first = status_of(daemon)
    daemon.kill()
    assert daemon.socket.exists()
    daemon.start()
    second = status_of(daemon)
    assert second["daemon_id"] == first["daemon_id"]
    assert second["pid"] != first["pid"]
    hint = json.loads(daemon.roots.daemon_json.read_text())
    assert hint == {
        "pid": second["pid"],
        "socket": str(daemon.socket),
        "protocol": 1,
        "daemon_id": second["daemon_id"],
    }


def test_a_file_at_the_socket_path_stops_the_start_and_stays(daemon: Daemon) -> None:
    daemon.socket.parent.mkdir(mode=0o700)
    daemon.socket.write_text("mine")
    code, output = daemon.run_to_end()
    assert (code, "is not a socket" in output) == (1, True)
    assert daemon.socket.read_text() == "mine"
    daemon.socket.unlink()
    daemon.start()


def test_no_socket_opens_before_the_migrations_are_through(daemon: Daemon) -> None:
    daemon.roots.database.parent.mkdir(parents=True, mode=0o700)
    shutil.copy(FOLDER / name_of(NEWEST - 1), daemon.roots.database)
    daemon.roots.backups.write_text("in the way of the copy")
    daemon.socket.parent.mkdir(mode=0o700)
    watched = Inotify()
    try:
        watched.watch(str(daemon.socket.parent))
        code, output = daemon.run_to_end()
        names = {change.name for change in watched.read()}
    finally:
        watched.close()
    assert code == 1
    assert "the database was not changed" in output
    assert "daemon.sock" not in names
    daemon.roots.backups.unlink()
    daemon.start()
    assert daemon.socket.exists()
    assert [path.name for path in daemon.roots.backups.iterdir()] == [f"efr.sqlite.{NEWEST - 1}"]
    assert _writable_handles(daemon, daemon.roots.database) == 1


def _writable_handles(daemon: Daemon, path: Path) -> int:
    """How many descriptors of the daemon may write a file."""
    folder = Path(f"/proc/{daemon.pid}/fd")
    handles = [one.name for one in folder.iterdir() if os.readlink(one) == str(path)]
    assert len(handles) > 4, "the readers have theirs"
    flags = [Path(f"/proc/{daemon.pid}/fdinfo/{one}").read_text() for one in handles]
    found = [re.search(r"^flags:\s*(\d+)", one, re.MULTILINE) for one in flags]
    return sum(one is not None and int(one[1], 8) & os.O_ACCMODE != os.O_RDONLY for one in found)


def test_a_socket_path_of_108_bytes_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    runtime = "/tmp/" + "r" * (108 - len("/tmp/" + "/daemon.sock"))
    daemon = Daemon(tmp_path, env={"EFR_RUNTIME_DIR": runtime})
    try:
        code, output = daemon.run_to_end()
    finally:
        daemon.close()
    assert code == 1
    assert "108 bytes" in output
    assert "EFR_RUNTIME_DIR" in output
    assert not daemon.roots.lock_file.exists()
    assert not Path(runtime).exists()


def test_the_lock_is_not_inherited_by_what_outlives_efrd(daemon: Daemon) -> None:
    daemon.start()
    with open(f"/proc/{daemon.pid}/fdinfo/{_lock_descriptor(daemon)}") as info:
        flags = re.search(r"^flags:\s*(\d+)", info.read(), re.MULTILINE)
    assert flags is not None
    assert int(flags[1], 8) & os.O_CLOEXEC
    daemon.kill()
    daemon.start()


def _lock_descriptor(daemon: Daemon) -> str:
    for name in os.listdir(f"/proc/{daemon.pid}/fd"):
        if os.readlink(f"/proc/{daemon.pid}/fd/{name}") == str(daemon.roots.lock_file):
            return name
    raise AssertionError("nobody holds the lock")


# Files of a start.


def test_a_file_that_is_no_id_stops_the_start(daemon: Daemon) -> None:
    daemon.roots.data.path.mkdir(parents=True)
    daemon.roots.daemon_id_file.write_text("x")
    code, output = daemon.run_to_end()
    assert (code, "daemon_id" in output) == (1, True)
    assert daemon.roots.daemon_id_file.read_text() == "x"
    assert not daemon.roots.database.exists()


def test_a_config_with_an_unknown_key_stops_the_start(daemon: Daemon) -> None:
    daemon.write_settings(DEMO + "[shell]\nidle_hours = 2\n")
    code, output = daemon.run_to_end()
    assert (code, "shell.idle_hours" in output) == (1, True)
    assert not daemon.roots.database.exists()
    daemon.write_settings(DEMO)
    daemon.start()


def test_a_database_that_is_none_stops_the_start_and_stays(daemon: Daemon) -> None:
    daemon.roots.data.path.mkdir(parents=True)
    garbage = b"this is no database " * 1000
    daemon.roots.database.write_bytes(garbage)
    code, output = daemon.run_to_end()
    assert code == 1
    assert f"{daemon.roots.database} is damaged or no database" in output
    assert "nothing was changed" in output
    assert "no backup" in output
    assert output.count("\n") == 1, "one clear line"
    assert daemon.roots.database.read_bytes() == garbage
    assert not daemon.socket.exists()
    log = daemon.roots.database.rename(daemon.roots.data.path / "efr.sqlite-wal")
    code, output = daemon.run_to_end()
    assert (code, output.count("\n")) == (1, 1)
    assert f"{daemon.roots.database}: the file is missing" in output
    assert log.read_bytes() == garbage
    log.unlink()
    daemon.start()


def test_everything_that_is_made_is_private(daemon: Daemon) -> None:
    daemon.start()
    assert status_of(daemon)["protocol"] == 1
    for root in (daemon.roots.data, daemon.roots.state, daemon.roots.runtime):
        for path in [root.path, *root.path.rglob("*")]:
            assert path.lstat().st_mode & 0o077 == 0, path


def test_leftovers_of_a_killed_start_are_removed(daemon: Daemon) -> None:
    daemon.start()
    daemon.kill()
    half = daemon.roots.runtime.path / ".daemon.json.abc.efr-tmp"
    half.write_text("{")
    os.utime(half, (1, 1))
    bind = daemon.roots.runtime.path / ".bind-abc"
    bind.mkdir()
    os.utime(bind, (1, 1))
    daemon.start()
    assert not half.exists()
    assert not bind.exists()


# Flags.


def test_the_config_is_printed_beside_a_running_efrd(daemon: Daemon) -> None:
    daemon.start()
    done = subprocess.run(
        [sys.executable, str(ROOT / "efrd.py"), "--print-config", "--log", "warn"],
        env=daemon.env,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert 'model.provider = "demo"  # file\n' in done.stdout
    assert 'log = "warn"  # flag --log\n' in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--help"], 0), (["--version"], 0), (["--nothing"], 2), (["x"], 2)]
)
def test_the_usage_has_its_exit_codes(arguments: list[str], code: int) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "efrd.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == code
    told = [f"efrd: these arguments do not fit: {arguments[0]}", "Usage:"] if code else []
    assert done.stderr.splitlines()[:2] == told


def test_the_projections_are_built_anew_by_hand(tmp_path: Path, daemon: Daemon) -> None:
    daemon.start()
    with daemon.client() as client:
        sent = client.call("prompt.send", prompt("hello"))
        follow_to_end(client, sent)
    daemon.stop()
    before = rows(daemon, "conversations")
    with sqlite3.connect(daemon.roots.database) as conn:
        conn.execute("UPDATE conversations SET title = 'broken'")
    conn.close()
    daemon.flags = ["--rebuild-projections"]
    code, _ = daemon.run_to_end()
    assert code == 0
    assert rows(daemon, "conversations") == before


def rows(daemon: Daemon, table: str) -> list[object]:
    conn = sqlite3.connect(daemon.roots.database)
    try:
        return conn.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
    finally:
        conn.close()


# Ready, and the stop.


def test_a_client_can_connect_once_it_is_ready(daemon: Daemon) -> None:
    daemon.start()  # waits for READY=1
    with RawClient(daemon.socket) as client:
        assert client.hello()["protocol"] == 1


def test_a_stop_says_so_and_leaves_nothing(daemon: Daemon) -> None:
    daemon.start()
    daemon.signal(signal.SIGTERM)
    daemon.wait_for("STOPPING=1")
    assert daemon.wait() == 0
    assert not daemon.socket.exists()
    assert not daemon.roots.daemon_json.exists()
    wal = daemon.roots.database.with_name("efr.sqlite-wal")
    assert not wal.exists() or wal.stat().st_size == 0


def test_sigint_stops_like_sigterm(daemon: Daemon) -> None:
    daemon.start()
    daemon.signal(signal.SIGINT)
    assert daemon.wait() == 0


def test_a_stop_during_a_turn_records_it_and_ends_in_time(daemon: Daemon) -> None:
    daemon.start()
    with daemon.client() as client:
        sent = client.call("prompt.send", prompt("count to 100000"))
        request = client.request("conversation.subscribe", subscribe(sent, drafts=True))
        while client.read().get("item", {}).get("kind") != "draft":
            pass
        assert daemon.stop() == 0
        frames = client.read_to_end()
    assert [f for f in frames if f.get("id") == request][-1]["error"]["code"] == "cancelled"
    daemon.start()
    with daemon.client() as client:
        page = client.call("conversation.history", {"conversation_id": sent["conversation_id"]})
    kinds = [one["event"]["kind"] for one in page["events"]]
    assert kinds[-1] == "turn_interrupted"
    assert kinds[:2] == ["conversation_created", "prompt_queued"]


def test_a_stop_does_not_wait_for_a_client_that_never_reads(daemon: Daemon) -> None:
    daemon.start()
    with RawClient(daemon.socket, receive_buffer=4096) as stuck:
        stuck.hello()
        sent = stuck.call("prompt.send", prompt("count to 100000"))
        stuck.request("conversation.subscribe", subscribe(sent, drafts=True))
        with daemon.client() as other:
            other.call("admin.status")
        assert daemon.stop() == 0


def test_a_second_sigterm_ends_it_at_once(daemon: Daemon) -> None:
    daemon.start()
    with RawClient(daemon.socket, receive_buffer=4096) as stuck:
        stuck.hello()
        sent = stuck.call("prompt.send", prompt("count to 100000"))
        for _ in range(8):
            stuck.request("conversation.subscribe", subscribe(sent, drafts=True))
        daemon.signal(signal.SIGTERM)
        daemon.wait_for("STOPPING=1")
        daemon.signal(signal.SIGTERM)
        assert daemon.wait() in (0, 1)
    daemon.start()
    assert status_of(daemon)["pid"] == daemon.pid


def test_sighup_reloads_the_settings(daemon: Daemon) -> None:
    daemon.start()
    daemon.write_settings('[model]\nprovider = "openai"\n')
    daemon.signal(signal.SIGHUP)
    with daemon.client() as client:
        config = client.call("admin.config_reload")  # waits for the one that runs
        assert config == {"applied": True, "restart_needed": ["model.provider"]}
        assert client.call("admin.status")["config"]["restart_needed"] == ["model.provider"]
    assert daemon.stop() == 0


def test_sigusr1_dumps_every_thread(daemon: Daemon) -> None:
    daemon.start()
    daemon.signal(signal.SIGUSR1)
    status_of(daemon)
    assert daemon.stop() == 0
    for name in ("main", "socket-server", "store-writer", "store-reader-4", "handler-8", "timer"):
        assert f"thread {name} (most recent call last)" in daemon.log


def test_sigpipe_of_a_dead_client_is_ignored(daemon: Daemon) -> None:
    daemon.start()
    daemon.signal(signal.SIGPIPE)
    for _ in range(20):
        client = RawClient(daemon.socket)
        client.request("hello", {"protocol": 1, "origin": "cli"})
        client.close()
    assert status_of(daemon)["pid"] == daemon.pid


def test_a_missing_runtime_root_is_noticed_by_a_restart_alone(daemon: Daemon) -> None:
    daemon.start()
    with daemon.client() as client:
        shutil.rmtree(daemon.roots.runtime.path)
        assert client.call("admin.status")["pid"] == daemon.pid
        assert daemon.stop() == 0
    daemon.start()
    assert status_of(daemon)["pid"] == daemon.pid


def test_a_start_that_fails_late_lets_go_of_everything(daemon: Daemon) -> None:
    daemon.socket.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(daemon.socket))
        taken.listen()
        with pytest.raises(DaemonFailed) as caught:
            daemon.start()
        assert caught.value.code == 1
    daemon.socket.unlink()
    daemon.start()


def prompt(text: str) -> dict[str, object]:
    command = os.urandom(16).hex()
    return {"command_id": command, "text": text}


def subscribe(sent: dict[str, object], *, drafts: bool = False) -> dict[str, object]:
    return {
        "conversation_id": sent["conversation_id"],
        "after_seq": sent["seq"],
        "drafts": drafts,
    }


def follow_to_end(client: RawClient, sent: dict[str, object]) -> list[str]:
    """The kinds of the turn's events, to its end."""
    request = client.request("conversation.subscribe", subscribe(sent))
    kinds: list[str] = []
    while not kinds or kinds[-1] not in {"turn_completed", "turn_failed", "turn_interrupted"}:
        frame = client.read()
        assert frame.get("id") == request, frame
        kinds.append(frame["item"]["event"]["kind"])
    return kinds


def test_closed_standard_streams_stop_no_start(tmp_path: Path) -> None:
    with Daemon(tmp_path, streams="<&- >&- 2>&-") as daemon:
        ends = [os.readlink(f"/proc/{daemon.pid}/fd/{number}") for number in range(3)]
        assert ends == ["/dev/null"] * 3
        with daemon.client() as client:
            assert client.call("admin.status")["pid"] == daemon.pid


@pytest.mark.parametrize(
    ("where", "code", "told"),
    [
        ("> /dev/full", 1, "efrd: the output cannot be written: No space left on device\n"),
        (">&-", 0, ""),
    ],
)
def test_settings_printed_where_nothing_can_be_written(
    tmp_path: Path, where: str, code: int, told: str
) -> None:
    with closing(Daemon(tmp_path, flags=["--print-config"], streams=where)) as daemon:
        assert daemon.run_to_end() == (code, told)
