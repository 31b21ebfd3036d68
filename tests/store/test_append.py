"""Batches: whole or absent, numbered without a gap, refused inside the transaction."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from efr.store import queries
from efr.store.append import Appender
from efr.store.batch import Batch, Committed, NewEvent, NewOutbox, Receipt, TurnMessage
from efr.store.db import Connection
from efr.store.errors import (
    ConversationExists,
    DeletedConversation,
    DuplicateReceipt,
    NotPending,
    UnknownConversation,
)
from efr.wire import events as ev
from efr.wire import types as t
from efr.wire.errors import BadValue, ErrorBody
from tests.harness.clock import FakeClock
from tests.store.samples import (
    CALL,
    CONVERSATION,
    OTHER,
    TURN,
    a_receipt,
    allowed,
    an_id,
    append,
    appending,
    asked,
    batch,
    created,
    kinds,
    opened,
    queued,
    refused,
    said,
    started,
)


def test_a_batch_gets_numbers_one_time_and_its_receipt(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        (first,) = append(appender, created())
        (second,) = append(appender, batch(queued(), started(), receipt=a_receipt(an_id(7))))

        assert first == Committed(1, 1, 1_791_028_800_000_000, None)
        assert second == Committed(2, 3, 1_791_028_800_000_000, 3)
        assert queries.receipt(conn, an_id(7)) == Receipt(an_id(7), "prompt.send", "done", b"{}", 3)
        assert kinds(conn) == ["conversation_created", "prompt_queued", "turn_started"]


def test_a_receipt_may_carry_the_number_of_another_event(tmp_path: Path) -> None:
    with appending(tmp_path) as (_, appender):
        append(appender, created())
        (done,) = append(appender, batch(queued(), said(), receipt=a_receipt(an_id(7), seq_of=0)))
        assert done.receipt_seq == 2


def test_a_refusal_without_an_event_is_kept_without_a_number(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        (done,) = append(appender, Batch(receipt=a_receipt(an_id(7))))
        stored = queries.receipt(conn, an_id(7))

        assert (done.first_seq, done.last_seq, done.receipt_seq) == (1, 0, None)
        assert stored is not None
        assert stored.seq is None


def test_an_empty_batch_writes_nothing(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        before = conn.total_changes()
        (done,) = append(appender, Batch())
        assert (done.first_seq, done.last_seq) == (2, 1)
        assert conn.total_changes() == before


def test_a_refused_batch_leaves_no_row_and_the_next_takes_its_numbers(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        outbox = NewOutbox("notify", b"{}", replay_safe=True)
        bad = Batch(
            (
                NewEvent(CONVERSATION, queued()),
                NewEvent(CONVERSATION, said()),
                NewEvent(OTHER, said()),
            ),
            receipt=a_receipt(an_id(7)),
            outbox=(outbox,),
        )
        assert isinstance(refused(appender, bad), UnknownConversation)
        (good,) = append(appender, batch(queued()))

        assert good.first_seq == 2
        assert kinds(conn) == ["conversation_created", "prompt_queued"]
        assert queries.receipt(conn, an_id(7)) is None
        assert conn.execute("SELECT count(*) FROM outbox").get == 0


def test_a_refused_batch_takes_no_other_of_its_commit_with_it(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        done = appender.append(
            (batch(queued()), batch(said(), conversation=OTHER), batch(started()), batch(said()))
        )
        assert [type(outcome) for outcome in done.outcomes] == [
            Committed,
            UnknownConversation,
            Committed,
            Committed,
        ]
        assert [entry.seq for entry in done.entries] == [2, 3, 4]
        assert kinds(conn)[1:] == [
            "prompt_queued",
            "turn_started",
            "assistant_message_updated",
        ]


def test_a_second_receipt_of_a_command_is_refused_with_the_first(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        done = appender.append(
            (
                batch(queued(), receipt=a_receipt(an_id(7), b'{"n":1}')),
                batch(queued(an_id(0x11)), receipt=a_receipt(an_id(7), b'{"n":2}')),
            )
        )
        error = done.outcomes[1]
        assert isinstance(error, DuplicateReceipt)
        assert error.receipt == Receipt(an_id(7), "prompt.send", "done", b'{"n":1}', 2)
        assert kinds(conn) == ["conversation_created", "prompt_queued"]


def test_only_an_open_question_takes_an_answer(tmp_path: Path) -> None:
    with appending(tmp_path) as (_, appender):
        append(appender, created(), batch(queued(), started(), asked()))
        append(appender, batch(allowed()))
        second = refused(appender, batch(allowed()))
        late = refused(appender, batch(ev.ApprovalExpired(TURN, call_id=CALL)))
        strange = refused(appender, batch(allowed(an_id(0x999))))

        assert [type(error) for error in (second, late, strange)] == [NotPending] * 3
        assert isinstance(second, NotPending)
        assert second.call_id == CALL


def test_of_two_answers_in_one_commit_the_first_counts(tmp_path: Path) -> None:
    with appending(tmp_path) as (_, appender):
        append(appender, created(), batch(queued(), started(), asked()))
        done = appender.append((batch(allowed()), batch(allowed())))
        assert [type(outcome) for outcome in done.outcomes] == [Committed, NotPending]


def test_a_surface_question_takes_one_answer(tmp_path: Path) -> None:
    question = ev.SurfaceQuestionRequested(TURN, call_id=CALL, question_id=an_id(0x500), changes=())
    answer = ev.SurfaceQuestionAnswered(TURN, question_id=an_id(0x500), keep=True)
    with appending(tmp_path) as (_, appender):
        append(appender, created(), batch(queued(), started(), question, answer))
        assert isinstance(refused(appender, batch(answer)), NotPending)


def test_a_conversation_is_born_once(tmp_path: Path) -> None:
    with appending(tmp_path) as (_, appender):
        append(appender, created())
        assert isinstance(refused(appender, created()), ConversationExists)


def test_a_deleted_conversation_takes_no_event_and_is_not_born_again(tmp_path: Path) -> None:
    with appending(tmp_path) as (_, appender):
        append(appender, created(), batch(queued()))
        append(appender, batch(ev.ConversationDeleted(t.Origin.CLI)))
        for late in (batch(said()), batch(queued(an_id(0x11))), created()):
            assert isinstance(refused(appender, late), DeletedConversation)


def test_an_event_behind_the_delete_in_one_batch_is_refused(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        both = batch(ev.ConversationDeleted(t.Origin.CLI), said())
        assert isinstance(refused(appender, both), DeletedConversation)
        assert kinds(conn) == ["conversation_created"]


def test_a_delete_names_the_parts_and_leaves_a_tombstone_alone(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        shell = ev.ShellStarted(pty_id=an_id(0x1000), cwd="/")
        append(appender, created(), batch(queued(), started(), asked(), shell))
        append(appender, batch(ev.ConversationDeleted(t.Origin.CLI)))

        row = conn.execute("SELECT conversation_id, seq, parts, done_at FROM conversation_deletes")
        assert row.fetchall() == [
            (CONVERSATION, 6, f'{{"ptys":["{an_id(0x1000)}"],"undos":[],"slots":[]}}', None)
        ]
        assert queries.conversation(conn, CONVERSATION) is None
        assert queries.turns(conn, CONVERSATION) == []
        assert queries.pending_approvals(conn, None) == []


def test_text_that_is_no_unicode_is_refused_alone(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        done = appender.append((batch(said("\ud800")), batch(said("fine"))))
        assert isinstance(done.outcomes[0], BadValue)
        assert isinstance(done.outcomes[1], Committed)
        assert kinds(conn) == ["conversation_created", "assistant_message_updated"]


def test_numbers_go_on_after_a_restart_and_after_the_clock_went_back(tmp_path: Path) -> None:
    clock = FakeClock()
    with appending(tmp_path) as (_, appender):
        append(appender, created())
    clock.set_wall(1)
    with opened(tmp_path / "efr.sqlite") as conn:
        (done,) = append(Appender(conn, clock), batch(queued()))
        assert (done.first_seq, done.at_us) == (2, 1)


def test_an_unknown_kind_is_kept_whole(tmp_path: Path) -> None:
    strange = ev.decode_event("cat_seen", b'{"kind":"cat_seen","name":"Tom","turn_id":"x"}')
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(strange))
        (stored,) = queries.newest_events(conn, CONVERSATION, None, 1, 1000)[0]
        assert (stored.kind, stored.turn_id) == ("cat_seen", None)
        assert stored.payload == b'{"kind":"cat_seen","name":"Tom","turn_id":"x"}'


def test_the_log_cannot_be_changed_by_hand(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued()), created(OTHER))
        with pytest.raises(apsw.ConstraintError, match="never changes"):
            conn.execute("UPDATE events SET kind = 'x'")
        with pytest.raises(apsw.ConstraintError, match="never goes"):
            conn.execute("DELETE FROM events WHERE seq = 1")
        before = conn.execute("SELECT * FROM events").fetchall()
        for instead in (
            "INSERT OR REPLACE INTO events SELECT * FROM events",
            "REPLACE INTO events VALUES (2, NULL, NULL, 'x', '{}', 1)",
            "INSERT INTO events SELECT * FROM events WHERE 1 ON CONFLICT DO UPDATE SET kind = ''",
        ):
            with pytest.raises(apsw.ConstraintError, match="written once"):
                conn.execute(instead)
        assert conn.execute("SELECT * FROM events").fetchall() == before

        append(appender, batch(ev.ConversationDeleted(t.Origin.CLI)))
        conn.execute("DELETE FROM events WHERE conversation_id = ? AND seq < 4", (CONVERSATION,))
        for seq in (3, 4):  # another conversation's, and the tombstone itself
            with pytest.raises(apsw.ConstraintError, match="never goes"):
                conn.execute("DELETE FROM events WHERE seq = ?", (seq,))
        assert kinds(conn) == ["conversation_created", "conversation_deleted"]
        _assert_tombstones_stay(conn)


def _assert_tombstones_stay(conn: Connection) -> None:
    """What lets events go is written once, for an event of the log, and then it stands."""
    before = conn.execute("SELECT * FROM conversation_deletes").fetchall()
    seq = conn.execute("SELECT seq FROM events WHERE conversation_id = ?", (OTHER,)).get
    for change, fault in (
        (f"UPDATE conversation_deletes SET conversation_id = '{OTHER}'", "never changes"),
        ("UPDATE conversation_deletes SET seq = 99", "never changes"),
        ("UPDATE conversation_deletes SET parts = '{}', done_at = 1", "never changes"),
        ("DELETE FROM conversation_deletes", "never goes"),
        (f"INSERT INTO conversation_deletes VALUES ('{OTHER}', 99, 1, '{{}}', 1, 1)", "once"),
        (f"INSERT INTO conversation_deletes VALUES ('{OTHER}', {seq}, 1, '{{}}', 1, 1)", "once"),
        ("REPLACE INTO conversation_deletes SELECT * FROM conversation_deletes", "once"),
        (
            "INSERT INTO conversation_deletes SELECT * FROM conversation_deletes WHERE 1"
            " ON CONFLICT DO UPDATE SET seq = 99",
            "once",
        ),
    ):
        with pytest.raises(apsw.ConstraintError, match=fault):
            conn.execute(change)
    assert conn.execute("SELECT * FROM conversation_deletes").fetchall() == before
    conn.execute("UPDATE conversation_deletes SET rows_done_at = 1, done_at = 1")


def compacted(through: str, **members: object) -> ev.ConversationCompacted:
    return ev.ConversationCompacted(
        **{  # type: ignore[arg-type]
            "compaction_id": an_id(0x700),
            "trigger": t.CompactionTrigger.MANUAL,
            "model": "m",
            "window": 1000,
            "limit": 900,
            "tokens_before": 800,
            "tokens_after": 100,
            "through_turn": through,
            "kept_turns": 0,
            **members,
        }
    )


def three_turns(appender: Appender) -> list[str]:
    turns = [an_id(0x10), an_id(0x11), an_id(0x12)]
    append(appender, created())
    for turn in turns:
        append(appender, batch(queued(turn), started(turn)))
        append(
            appender,
            batch(
                ev.TurnCompleted(turn),
                messages=(
                    TurnMessage(turn, 0, "p", "m", b'{"role":"user"}'),
                    TurnMessage(turn, 1, "p", "m", b'{"role":"assistant"}'),
                ),
            ),
        )
    return turns


@pytest.mark.parametrize(
    ("through", "members", "left"),
    [
        (1, {"summary": "s"}, [2]),
        (1, {"summary": "s", "through_message": 1}, [1, 2]),
        (2, {"summary": "s"}, []),
        (1, {}, [0, 1, 2]),
    ],
)
def test_a_summary_drops_the_messages_of_the_turns_it_covers(
    tmp_path: Path, through: int, members: dict[str, object], left: list[int]
) -> None:
    with appending(tmp_path) as (conn, appender):
        turns = three_turns(appender)
        saved = queries.turn_messages(conn, CONVERSATION)
        assert [(m.turn_id, m.position) for m in saved] == [
            (turn, position) for turn in turns for position in (0, 1)
        ]
        assert [m.turn_seq for m in saved][::2] == [4, 7, 10]
        append(appender, batch(compacted(turns[through], **members)))

        kept = {m.turn_id for m in queries.turn_messages(conn, CONVERSATION)}
        assert kept == {turns[i] for i in left}


def test_a_summary_within_a_running_turn_drops_every_turn_before_it(tmp_path: Path) -> None:
    running = an_id(0x20)
    with appending(tmp_path) as (conn, appender):
        three_turns(appender)
        append(appender, batch(queued(running), started(running)))
        append(appender, batch(compacted(running, summary="s", through_message=2)))
        assert queries.turn_messages(conn, CONVERSATION) == []


def test_a_late_event_of_a_covered_turn_drops_no_later_turn(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        turns = three_turns(appender)
        append(appender, batch(ev.ToolCallOutputUpdated(turns[0], an_id(0x30), "late", 4)))
        append(appender, batch(compacted(turns[0], summary="s")))
        kept = {m.turn_id for m in queries.turn_messages(conn, CONVERSATION)}
        assert kept == set(turns[1:])
        assert queries.turn_end(conn, CONVERSATION, turns[0]) == 4


def test_the_newest_compaction_and_the_newest_summary_are_found(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        turns = three_turns(appender)
        append(appender, batch(compacted(turns[0], summary="s")))
        append(appender, batch(compacted(turns[1], pruned_outputs=3)))
        newest = queries.newest_compaction(conn, CONVERSATION, with_summary=False)
        summary = queries.newest_compaction(conn, CONVERSATION, with_summary=True)

        assert newest is not None
        assert summary is not None
        assert (newest.seq, summary.seq) == (12, 11)
        assert b'"summary":"s"' in summary.compaction
        assert b'"kind"' not in summary.compaction
        assert queries.newest_pruning(conn, CONVERSATION) == newest
        sizes = [
            (c.seq, c.trigger, c.tokens_before, c.tokens_after)
            for c in queries.compactions(conn, CONVERSATION)
        ]
        assert sizes == [(11, "manual", 800, 100), (12, "manual", 800, 100)]


def test_counted_tokens_are_told_of_turns_and_compactions(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        turns = three_turns(appender)
        used = t.Usage(input_tokens=70, output_tokens=5, cached_input_tokens=60, context_tokens=75)
        append(appender, batch(queued(an_id(0x13)), started(an_id(0x13))))
        append(
            appender, batch(ev.TurnFailed(an_id(0x13), ErrorBody(t.ErrorCode.INTERNAL, "x"), used))
        )
        append(appender, batch(compacted(turns[0], summary="s", usage=used)))
        found = queries.counted_use(conn, CONVERSATION)
        assert [(one.seq, one.turn_id) for one in found] == [(13, an_id(0x13)), (14, None)]
        assert found[0].input_tokens == 70
        assert found[0].cached_input_tokens == 60
        assert found[0].cache_write_tokens == 0
        assert found[1].context_tokens == 75


def test_a_refusal_that_somebody_keeps_holds_up_no_checkpoint(tmp_path: Path) -> None:
    """Its traceback holds the statement that found the reason."""
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        kept = [refused(appender, created()), refused(appender, batch(allowed()))]
        assert conn.txn_state("main") == apsw.SQLITE_TXN_NONE
        append(appender, batch(said()))
        frames, moved = conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        assert frames == moved > 0
        assert [type(one) for one in kept] == [ConversationExists, NotPending]
