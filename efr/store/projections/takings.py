"""How a conversation came into the slots of terminals, and how long it was used there.

A slot is a terminal and a route. Read from the conversation's own events, also by its end: the
tombstone keeps what this says.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from efr.store.db import Connection


class Taking(NamedTuple):
    """At `seq` a conversation took the slot. `shell_pid` and the last use (an event there, and its
    time in microseconds) are what they were when it left, or are now."""

    seq: int
    tty: str
    route: str | None  # JSON
    shell_pid: int | None
    used_seq: int | None  # None, as the next: an older tombstone does not tell
    used_at: int | None


def takings(conn: Connection, conversation_id: str) -> list[Taking]:
    """All of a conversation in the order of the log; their last use is not looked up yet."""
    rows = conn.execute(
        "SELECT seq, payload ->> '$.tty', payload -> '$.route', payload ->> '$.shell_pid', seq,"
        " created_at FROM events WHERE conversation_id = ?"
        " AND kind IN ('conversation_created', 'terminal_attached')"
        " AND payload ->> '$.tty' IS NOT NULL ORDER BY seq",
        (conversation_id,),
    )
    return [Taking(*row) for row in rows]


def with_use(conn: Connection, conversation_id: str, took: Taking, until_seq: int) -> Taking:
    """It with its last use: the prompts that its terminal sent before `until_seq`."""
    prompts: list[Any] = conn.execute(
        "SELECT seq, created_at, payload ->> '$.context.shell_pid' FROM events"
        " WHERE conversation_id = ? AND kind = 'prompt_queued' AND seq BETWEEN ? AND ?"
        " AND payload ->> '$.context.tty' = ? ORDER BY seq",
        (conversation_id, took.seq, until_seq, took.tty),
    ).fetchall()
    if not prompts:
        return took
    pids = [took.shell_pid, *(pid for _, _, pid in prompts)]
    used_seq, used_at, _ = prompts[-1]
    pid = next((pid for pid in pids if pid is not None), None)
    return took._replace(shell_pid=pid, used_seq=used_seq, used_at=used_at)


def with_uses(conn: Connection, conversation_id: str, end_seq: int) -> list[Taking]:
    """All of a conversation that ends at `end_seq`, each with its last use."""
    found = takings(conn, conversation_id)
    ends = [*(one.seq for one in found[1:]), end_seq]
    return [
        with_use(conn, conversation_id, one, end) for one, end in zip(found, ends, strict=False)
    ]
