"""The stored answers of write commands: one per command id, in the batch of its events."""

from __future__ import annotations

from efr.store.batch import NewReceipt, Receipt
from efr.store.db import Connection
from efr.store.errors import DuplicateReceipt


def receipt(conn: Connection, command_id: str) -> Receipt | None:
    """The stored answer of a command id, or None."""
    row = conn.execute(
        "SELECT command_id, method, outcome, result, seq FROM receipts WHERE command_id = ?",
        (command_id,),
    ).fetchone()
    if row is None:
        return None
    stored_id, method, outcome, result, seq = row
    return Receipt(stored_id, method, outcome, result.encode(), seq)


def store(conn: Connection, new: NewReceipt, seq: int | None, at_us: int) -> None:
    """Keeps an answer. Raises DuplicateReceipt when the command id has one."""
    if (stored := receipt(conn, new.command_id)) is not None:
        raise DuplicateReceipt(stored)
    conn.execute(
        "INSERT INTO receipts (command_id, method, outcome, result, seq, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (new.command_id, new.method, new.outcome, new.result.decode(), seq, at_us),
    )


def drop_old(conn: Connection, before_us: int) -> int:
    """Deletes the answers from before that time whose conversation is gone, or that never had
    one; says how many. Every other answer stays as long as its conversation."""
    conn.execute(
        "DELETE FROM receipts WHERE created_at < ?"
        " AND (seq IS NULL OR seq IN (SELECT seq FROM conversation_deletes))",
        (before_us,),
    )
    return conn.changes()
