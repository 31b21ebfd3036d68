"""The numbers and codes of docs/operations.md are those of the code."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

from efr.agent import conversation, loaded, turn, turn_files
from efr.base.roots import SOCKET_PATH_LIMIT
from efr.config.schema import Shell, Snapshot
from efr.daemon import attachments, heaps, main, subscriptions, upkeep, watches
from efr.providers import catalog_fetch
from efr.snapshots import room
from efr.store import collect, db, feed
from efr.threads import config_watch, errands, handlers, writer
from efr.threads.connection import Limits
from efr.wire.frames import MAX_VALUES
from efr.wire.framing import MAX_FRAME

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
DAY_US = 86_400 * 1_000_000
MIB = 1 << 20


def rows(title: str) -> dict[str, str]:
    """The table of a section: first cell to second."""
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", section, re.MULTILINE)
    return {name.strip(): value.strip() for name, value in cells if not name.startswith("-")}


def test_the_limits_are_those_of_the_code() -> None:
    limits = Limits()
    wait_s = catalog_fetch.PATIENCE_S + catalog_fetch.DEADLINE_S
    retries = f"{conversation._RETRIES}, one every {conversation._RETRY_S:g} s"
    found = rows("Limits")
    assert found.pop("limit") == "number"
    assert found == {
        "connections of the socket": str(limits.connections),
        "requests in flight of a connection": str(limits.in_flight),
        "threads that run requests": str(handlers.HANDLERS),
        "requests that wait for such a thread": str(handlers.QUEUE_SIZE),
        "logins and the like at a time": str(errands.ERRANDS),
        "values in one frame of a client": f"{MAX_VALUES:,}",
        "frames that wait for one client": str(limits.out_frames),
        "bytes that wait for one client": f"{limits.out_bytes // MIB} MiB",
        "a frame": f"{MAX_FRAME // MIB} MiB",
        "events that wait for a subscriber": str(subscriptions.QUEUE_SIZE),
        "changes that wait for a watch of the list": str(watches.QUEUE_SIZE),
        "commits that the search index may be behind in memory": str(feed.BACKLOG),
        "conversations kept loaded that rest": str(loaded.KEPT),
        "heaps of the C library": str(heaps.HEAPS),
        "jobs that wait for the writer": str(writer.INBOX),
        "time for a stop": f"{main.STOP_S:g} s",
        "time that a stranger's lock on the database may take": f"{db.BUSY_TIMEOUT_MS / 1000:g} s",
        "tries to record a turn's end on a full disk": retries,
        "wait of a prompt for a first list of models": f"{wait_s:g} s",
        "quiet after a save before the settings are read": f"{config_watch.QUIET_S * 1000:g} ms",
        "idle time of a hidden shell": f"{Shell().idle_minutes} min",
        "output that waits for one attached client": f"{attachments.STEPS} steps, "
        f"{attachments.WAITING // MIB} MiB",
        "recordings": f"{collect.AGE_LIMIT_US // DAY_US} days, {collect.SIZE_LIMIT >> 30} GiB",
        "model calls of one turn": str(turn.MAX_CALLS),
        "a snapshot": f"{room.LIMIT_S:g} s; {Snapshot().max_files:,} files, `snapshot.max_files`",
        "a snapshot after an interrupt": f"{turn_files.HURRY_S:g} s",
        "snapshots": f"{Snapshot().keep_turns} turns of a conversation, "
        f"{Snapshot().max_age_days} days",
        "answers to commands without a conversation": f"{upkeep.LONE_RECEIPTS_US // DAY_US} days",
        "length of the socket's path": f"{SOCKET_PATH_LIMIT} bytes",
    }


def test_the_exit_codes_are_those_of_the_code() -> None:
    codes = re.findall(r"^\| (\d) \| ", PAGE, re.MULTILINE)
    assert codes == [str(main.EXIT_STOPPED), str(main.EXIT_FAILED), "2", str(main.EXIT_LOCKED)]


def test_the_copy_that_it_shows_is_whole(tmp_path: Path) -> None:
    home = tmp_path / "home"
    data = home / ".local" / "share" / "efr"
    data.mkdir(parents=True)
    with sqlite3.connect(data / "efr.sqlite") as live:
        live.executescript("PRAGMA journal_mode=WAL; CREATE TABLE t (x); INSERT INTO t VALUES (7)")
    program = PAGE.split("python3 - <<'END'\n")[1].split("END\n")[0]
    env = {"HOME": str(home)}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, check=True)
    live.close()
    copy = sqlite3.connect(tmp_path / "efr-backup.sqlite")
    assert copy.execute("SELECT x FROM t").fetchall() == [(7,)]
    copy.close()
