"""The tables of a store: their columns and keys, what is a projection, and what needs none."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from efr.store import db, queries
from efr.store.migrate import migrate
from efr.store.projections import TABLES, empty
from efr.store.rebuild import rebuild
from efr.store.search.state import state
from efr.store.steps import STEPS, sql_of
from tests.store.samples import (
    CONVERSATION,
    TURN,
    append,
    appending,
    batch,
    created,
    new_database,
    opened,
    projections,
    queued,
    said,
    started,
)

# Columns that the storage page names; `*` marks the key. A column more is no fault.
COLUMNS: Final = {
    "events": "seq* conversation_id turn_id kind payload created_at",
    "conversations": "id* route shell_pid routed_seq tty updated_at last_seq",
    "turns": "id* wake",
    "approvals": "id*",
    "shells": "pty_id*",
    "receipts": "command_id* method result seq created_at",
    "outbox": "id* kind payload replay_safe claimed_at done_at",
    "recording_segments": "pty_id* start_seq* path bytes started_at closed_at",
    "turn_messages": "conversation_id turn_id* position* provider model message turn_seq",
    "compactions": "seq* conversation_id compaction_id has_summary compaction",
    "jobs": (
        "conversation_id* number* turn_id call_id command launch state started_at ends_by ended_at"
        " exit_code stopped_by output_bytes launcher_pid launcher_start start_seq info"
    ),
    "job_notices": "source_seq* conversation_id number turn_id",
    "search_docs": "seq* conversation_id kind text",
    "search_titles": "conversation_id* title first_seq",
    "search_state": "only* indexed_seq redaction_version",
    "conversation_deletes": "conversation_id* seq requested_at parts rows_done_at done_at",
    "devices": (
        "device_id* name public_key key_fingerprint node_stable_id user_id tailnet_stable_id"
        " scopes created_at last_seen_at revoked_at"
    ),
}
PROJECTIONS: Final = frozenset(
    ["conversations", "turns", "approvals", "shells", "compactions", "jobs", "job_notices"]
)
TYPES: Final = {
    ("events", "kind"): "TEXT",
    ("outbox", "replay_safe"): "INTEGER",
    ("devices", "public_key"): "BLOB",
}


@pytest.mark.parametrize("table", sorted(COLUMNS))
def test_a_table_has_its_columns_and_its_key(tmp_path: Path, table: str) -> None:
    with opened(new_database(tmp_path)) as conn:
        rows: list[Any] = conn.execute(f"PRAGMA table_info({table})").fetchall()
    found = {name: ("*" if key else "") for _, name, _, _, _, key in rows}
    wanted = COLUMNS[table].split()
    assert {one for one in wanted if one.endswith("*")} == {n + "*" for n, k in found.items() if k}
    assert {one.rstrip("*") for one in wanted} <= set(found)
    types = {name: kind for _, name, kind, _, _, _ in rows}
    assert all(types[name] == kind for (owner, name), kind in TYPES.items() if owner == table)


def test_every_table_is_named_and_seven_are_projections(tmp_path: Path) -> None:
    with opened(new_database(tmp_path)) as conn:
        names = conn.execute(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
            " AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
    assert {name for (name,) in names} == set(COLUMNS)
    assert set(TABLES) == PROJECTIONS


def test_the_log_alone_is_enough_to_go_on_after_a_number(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), started()), batch(said(), said(offset=5)))
        before = queries.events_after(conn, CONVERSATION, 2, 100, 1 << 20)
        db.transact(conn, lambda: empty(conn))
        assert projections(conn)["conversations"] == []
        assert queries.events_after(conn, CONVERSATION, 2, 100, 1 << 20) == before


def test_a_rebuild_leaves_what_is_no_projection_alone(tmp_path: Path) -> None:
    others = ("turn_messages", "outbox", "receipts", "devices", "recording_segments")
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued()))
        for table, values in (
            ("turn_messages", f"'{CONVERSATION}', '{TURN}', 0, 'p', 'm', '{{}}', 2"),
            ("turn_messages", f"'{CONVERSATION}', 'no turn', 0, 'p', 'm', '{{}}', 2"),
            ("devices", "'d', 'n', x'04', 'f', 's', 'u', 't', '[]', 1, NULL, NULL"),
            ("recording_segments", "'p', 0, 'x', 1, 1, 1"),
        ):
            conn.execute(f"INSERT INTO {table} VALUES ({values})")
        before = [conn.execute(f"SELECT * FROM {table}").fetchall() for table in others]
        rebuild(conn)
        assert [conn.execute(f"SELECT * FROM {table}").fetchall() for table in others] == before
        assert len(before[0]) == 2


def test_the_index_begins_empty_before_the_first_event(tmp_path: Path) -> None:
    path = tmp_path / "efr.sqlite"
    with opened(path) as conn:
        for step in STEPS[:8]:
            conn.execute(sql_of(step))
        conn.execute(
            "INSERT INTO events VALUES (1, NULL, NULL, 'daemon_started', '{}', 0)",
        )
        conn.pragma("user_version", 8)
    with opened(path) as conn:
        migrate(conn)
        assert state(conn).indexed_seq == 0
        for table in ("search_docs", "search_titles"):
            assert conn.execute(f"SELECT count(*) FROM {table}").get == 0
