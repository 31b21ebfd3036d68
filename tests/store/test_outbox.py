"""The outbox: in order, once, and settled by a start."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.store.batch import Batch, NewOutbox
from efr.store.errors import NotClaimed
from efr.store.outbox import OutboxRow, claim_next, mark_done, settle_after_stop
from efr.store.receipts import drop_old
from tests.store.samples import a_receipt, an_id, append, appending, batch, created, queued

NOTIFY = NewOutbox("notify", b'{"n":1}', replay_safe=True)
SIGNAL = NewOutbox("signal", b'{"n":2}', replay_safe=False)


def test_rows_are_claimed_in_order_and_done_once(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, Batch(outbox=(NOTIFY, SIGNAL)))
        first = claim_next(conn, 1)
        assert first == OutboxRow(1, "notify", b'{"n":1}', True)
        assert claim_next(conn, 2) == OutboxRow(2, "signal", b'{"n":2}', False)
        assert claim_next(conn, 3) is None
        mark_done(conn, 1, 4)
        with pytest.raises(NotClaimed):
            mark_done(conn, 1, 5)
        with pytest.raises(NotClaimed):
            mark_done(conn, 99, 5)


def test_a_row_that_nobody_claimed_is_not_done(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, Batch(outbox=(NOTIFY,)))
        with pytest.raises(NotClaimed):
            mark_done(conn, 1, 5)


def test_a_start_cancels_what_is_bound_to_the_process_and_requeues_the_rest(
    tmp_path: Path,
) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, Batch(outbox=(NOTIFY, SIGNAL, NOTIFY)))
        claim_next(conn, 1)
        claim_next(conn, 1)
        for _ in range(2):
            settle_after_stop(conn, 9)
            states = conn.execute("SELECT id, claimed_at, cancelled_at FROM outbox").fetchall()
            assert states == [(1, None, None), (2, 1, 9), (3, None, None)]
        with pytest.raises(NotClaimed):
            mark_done(conn, 2, 10)
        assert [getattr(claim_next(conn, 11), "id", None) for _ in range(3)] == [1, 3, None]


def test_old_answers_without_an_event_go_and_the_others_stay(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), receipt=a_receipt(an_id(7))))
        append(appender, Batch(receipt=a_receipt(an_id(8))))
        assert drop_old(conn, 1_791_028_800_000_000) == 0
        assert drop_old(conn, 1_791_028_800_000_001) == 1
        left = conn.execute("SELECT command_id FROM receipts").fetchall()
        assert left == [(an_id(7),)]
