"""The projections are a function of the log: replayed, they come out row by row the same."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.store.append import Appender
from efr.store.batch import Batch, Committed
from efr.store.projections import KINDS
from efr.store.rebuild import PAGE, rebuild
from efr.wire import events as ev
from tests.harness.clock import FakeClock
from tests.store.histories import History
from tests.store.samples import (
    CONVERSATION,
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


def write(directory: Path, seed: int, count: int) -> Path:
    """A random history, appended in groups of random size; everything must get in."""
    path = new_database(directory)
    random, history, clock = Random(seed), History(seed), FakeClock()
    with opened(path) as conn:
        appender = Appender(conn, clock)
        waiting: list[Batch] = []
        for _ in range(count):
            waiting.append(history.batch())
            if random.random() < 0.5:
                outcomes = appender.append(waiting).outcomes
                assert [o for o in outcomes if not isinstance(o, Committed)] == []
                waiting.clear()
                clock.advance(random.random())
    return path


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_a_rebuild_gives_the_rows_that_the_batches_gave(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write(tmp_path_factory.mktemp("store"), seed, 120)
    with opened(path) as conn:
        before = projections(conn)
        rebuild(conn)
        assert projections(conn) == before


def test_the_random_histories_hold_every_kind_that_a_projection_reads(tmp_path: Path) -> None:
    with opened(write(tmp_path, 1, 3000)) as conn:
        found = {str(row[0]) for row in conn.execute("SELECT DISTINCT kind FROM events")}
        before = projections(conn)
        count = rebuild(conn)

        assert found >= KINDS
        assert count > 2 * PAGE  # several pages
        assert projections(conn) == before
        assert [table for table, rows in before.items() if not rows] == []


def test_a_rebuild_heals_a_row_that_was_changed_by_hand(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), started()))
        before = projections(conn)
        conn.execute("UPDATE conversations SET title = 'x', status = 'idle'")
        conn.execute("DELETE FROM turns")
        rebuild(conn)
        assert projections(conn) == before


def test_a_damaged_record_hides_nothing_else(tmp_path: Path) -> None:
    """A payload that does not fit its kind counts as something that happened."""
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued()), batch(started()), batch(said()))
    with opened(tmp_path / "efr.sqlite") as conn:
        conn.execute("DROP TRIGGER events_never_change")
        conn.execute('UPDATE events SET payload = \'{"kind":"x"}\' WHERE seq IN (1, 3)')
        rebuild(conn)
        (row,) = projections(conn)["conversations"]
        (turn,) = projections(conn)["turns"]

    assert (row["id"], row["title"], row["last_seq"]) == (CONVERSATION, "fix the tests", 4)
    assert (turn["status"], turn["last_seq"]) == ("queued", 4)


def test_a_rebuild_that_fails_leaves_the_rows_as_they_were(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued()))
        before = projections(conn)
        conn.execute(
            "CREATE TEMP TRIGGER no BEFORE INSERT ON main.turns"
            " BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        with pytest.raises(Exception, match="no"):
            rebuild(conn)
        conn.execute("DROP TRIGGER temp.no")
        assert projections(conn) == before
        assert not conn.in_transaction


def test_rebuilding_the_kinds_needs_no_other(tmp_path: Path) -> None:
    """Kinds without a rule are not decoded: a rebuild of a long log reads what it needs."""
    assert "assistant_message_updated" not in KINDS
    assert "tool_call_output_updated" not in KINDS
    assert set(ev.EVENTS) > KINDS
