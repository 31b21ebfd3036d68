"""A child of a test: kills itself at each statement of an append, and looks at what is left.

For each statement it forks, and the fork dies by SIGKILL right before that statement of a batch
that holds a bit of everything. Prints one JSON list: for each of them, how many numbers were given,
and how many rows of the batch are there. argv: a directory.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from itertools import count
from pathlib import Path

from efr.store import db, queries
from efr.store.append import Appender
from efr.store.batch import Batch, NewEvent, NewOutbox, TurnMessage
from efr.store.rebuild import rebuild
from efr.wire import events as ev
from tests.harness.clock import FakeClock
from tests.store.samples import (
    CONVERSATION,
    TURN,
    a_receipt,
    an_id,
    append,
    asked,
    batch,
    created,
    new_database,
    opened,
    projections,
    queued,
    said,
    started,
)

LAST = Batch(
    tuple(
        NewEvent(CONVERSATION, event)
        for event in (asked(), ev.ShellStarted(pty_id=an_id(5), cwd="/"), said(), said())
    ),
    receipt=a_receipt(an_id(7)),
    messages=(TurnMessage(TURN, 0, "demo", "demo", b"{}"),),
    outbox=(NewOutbox("mail", b"{}", True),),
)


def main() -> None:
    directory = Path(sys.argv[1])
    seen = []
    for number in count(1):
        path = new_database(directory)
        for rest in ("-wal", "-shm"):
            path.with_name(path.name + rest).unlink(missing_ok=True)
        with opened(path) as conn:
            append(Appender(conn, FakeClock()), created(), batch(queued(), started()))
        if (fork := os.fork()) == 0:
            append_until(path, number)
            os._exit(0)
        _, status = os.waitpid(fork, 0)
        seen.append(left(path))
        if not os.WIFSIGNALED(status):
            break
    print(json.dumps(seen))


def append_until(path: Path, number: int) -> None:
    """Dies right before that statement."""
    conn = db.open(path)
    appender = Appender(conn, FakeClock())
    statements = count(1)

    def trace(*_: object) -> bool:
        if next(statements) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    conn.exec_trace = trace
    append(appender, LAST)


def left(path: Path) -> dict[str, object]:
    """What the next start finds."""
    with opened(path) as conn:
        newest = queries.high_water(conn)
        rows = (
            conn.execute("SELECT count(*) FROM approvals").get,
            conn.execute("SELECT count(*) FROM shells").get,
            conn.execute("SELECT count(*) FROM receipts").get,
            conn.execute("SELECT count(*) FROM turn_messages").get,
            conn.execute("SELECT count(*) FROM outbox").get,
        )
        before = projections(conn)
        rebuild(conn)
        sound = projections(conn) == before and conn.execute("PRAGMA quick_check").get == "ok"
        return {"newest": newest, "rows": sum(map(int, rows)), "sound": sound}


if __name__ == "__main__":
    main()
