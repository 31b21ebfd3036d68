from __future__ import annotations

from msgspec.structs import replace

from efr.agent.slots import Ask, Continue, Left, New, PickUp, Rules, SlotRow, choose
from efr.wire import types as t

HOUR = 3_600_000_000
NOW = 1_000 * HOUR
T1, T2 = "/dev/pts/1", "/dev/pts/2"
OUTSIDE = t.RouteOutside()
APP = t.RouteProject(value="app")

HOME = SlotRow("home", "a home thing", T1, OUTSIDE, 100, 5, 50, NOW - HOUR, "/home/u")
IN_APP = SlotRow("app", "fix the tests", T1, APP, 100, 9, 90, NOW - HOUR, "/p/app")


def ask(
    route: t.RouteScope = OUTSIDE,
    tty: str = T1,
    shell_pid: int | None = 100,
    *,
    new: bool = False,
    left: Left | None = None,
) -> Ask:
    return Ask(tty, shell_pid, route, new, () if left is None else (left,))


def rules(
    alive: frozenset[int] = frozenset({100}), idle_hours: int = 12, *, follow: bool = True
) -> Rules:
    return Rules(
        now_us=NOW,
        idle_hours=idle_hours,
        follow_project=follow,
        shell_runs=lambda row: row.shell_pid in alive,
        follows=lambda row: False,
    )


def test_a_terminals_first_prompt_starts_a_conversation_without_a_switch() -> None:
    assert choose(ask(), [], rules()) == New(None, None)


def test_the_slots_conversation_goes_on() -> None:
    assert choose(ask(), [HOME], rules()) == Continue(HOME, back=False)


def test_going_back_to_another_scope_says_so() -> None:
    assert choose(ask(), [HOME, IN_APP], rules()) == Continue(HOME, back=True)
    assert choose(ask(APP), [HOME, IN_APP], rules()) == Continue(IN_APP, back=False)


def test_a_scope_the_terminal_was_never_in_starts_one_and_says_from_where() -> None:
    assert choose(ask(APP), [HOME], rules()) == New(t.NewReasonScope(), HOME)


def test_twelve_hours_are_not_idle_and_a_second_more_is() -> None:
    exact = replace(HOME, updated_us=NOW - 12 * HOUR)
    over = replace(HOME, updated_us=NOW - 12 * HOUR - 1_000_000)
    assert choose(ask(), [exact], rules()) == Continue(exact, back=False)
    assert choose(ask(), [over], rules()) == New(t.NewReasonIdle(hours=12), over)


def test_zero_hours_never_end_a_conversation() -> None:
    old = replace(HOME, updated_us=NOW - 90 * 24 * HOUR)
    assert choose(ask(), [old], rules(idle_hours=0)) == Continue(old, back=False)


def test_a_clock_that_went_back_makes_nothing_idle() -> None:
    future = replace(HOME, updated_us=NOW + 5 * HOUR)
    assert choose(ask(), [future], rules()) == Continue(future, back=False)


def test_an_idle_conversation_of_the_same_shell_is_not_replaced_by_a_pick_up() -> None:
    over = replace(IN_APP, updated_us=NOW - 13 * HOUR)
    free = replace(IN_APP, conversation_id="free", tty=None, shell_pid=None)
    assert choose(ask(APP), [over, free], rules()) == New(t.NewReasonIdle(hours=12), over)


def test_a_new_shell_in_a_reused_terminal_starts_anew_outside() -> None:
    assert choose(ask(shell_pid=200), [HOME], rules(alive=frozenset({200}))) == New(None, None)


def test_a_new_shell_in_a_reused_terminal_picks_up_in_a_project() -> None:
    choice = choose(ask(APP, shell_pid=200), [IN_APP], rules(alive=frozenset({200})))
    assert choice == PickUp(IN_APP)


def test_a_shell_inside_the_first_one_goes_on_with_its_conversation() -> None:
    choice = choose(ask(shell_pid=200), [HOME], rules(alive=frozenset({100, 200})))
    assert choice == Continue(HOME, back=False)


def test_a_new_terminal_picks_up_the_newest_free_conversation_of_its_project() -> None:
    older = replace(IN_APP, conversation_id="older", last_seq=80, shell_pid=7, tty="/dev/pts/7")
    newer = replace(IN_APP, shell_pid=8, tty="/dev/pts/8")
    choice = choose(ask(APP, T2, 300), [older, newer], rules(alive=frozenset({300})))
    assert choice == PickUp(newer)


def test_what_an_open_terminal_holds_is_not_picked_up() -> None:
    assert choose(ask(APP, T2, 300), [IN_APP], rules(frozenset({100, 300}))) == New(None, None)
    followed = replace(rules(frozenset({300})), follows=lambda row: row.tty == T1)
    assert choose(ask(APP, T2, 300), [IN_APP], followed) == New(None, None)


def test_outside_never_picks_up_and_a_scripts_conversation_is_never_picked_up() -> None:
    free = replace(HOME, tty=None, shell_pid=None)
    assert choose(ask(OUTSIDE, T2, 300), [free], rules()) == New(None, None)
    scripted = replace(IN_APP, tty=None, shell_pid=None, routed_seq=None)
    assert choose(ask(APP, T2, 300), [scripted], rules()) == New(None, None)


def test_follow_project_off_never_picks_up() -> None:
    free = replace(IN_APP, tty=None, shell_pid=None)
    assert choose(ask(APP, T2, 300), [free], rules(follow=False)) == New(None, None)
    assert choose(ask(APP, T2, 300), [free], rules()) == PickUp(free)


def test_an_idle_one_is_not_picked_up() -> None:
    old = replace(IN_APP, tty=None, shell_pid=None, updated_us=NOW - 13 * HOUR)
    assert choose(ask(APP, T2, 300), [old], rules()) == New(None, None)


def test_a_moved_conversation_leaves_a_line_and_picks_nothing_up() -> None:
    moved = replace(IN_APP, tty=T2, shell_pid=300)
    free = replace(IN_APP, conversation_id="free", tty=None, shell_pid=None)
    left = Left(IN_APP, T2)
    choice = choose(ask(APP, left=left), [HOME, moved, free], rules(frozenset({100, 300})))
    assert choice == New(t.NewReasonMoved(tty=T2, title="fix the tests"), HOME)


def test_a_deleted_conversation_leaves_a_new_one_and_picks_nothing_up() -> None:
    free = replace(IN_APP, conversation_id="free", tty=None, shell_pid=None)
    choice = choose(ask(APP, left=Left(IN_APP, None)), [HOME, free], rules())
    assert choice == New(t.NewReasonScope(), HOME)


def test_what_left_counts_for_the_same_shell_alone() -> None:
    free = replace(IN_APP, conversation_id="free", tty=None, shell_pid=None)
    asked = ask(APP, shell_pid=400, left=Left(IN_APP, None))
    assert choose(asked, [free], rules(frozenset({400}))) == PickUp(free)
    inside = choose(asked, [free], rules(frozenset({100, 400})))  # the first shell lives
    assert inside == New(t.NewReasonScope(), None)


def test_a_new_conversation_by_wish_is_no_switch() -> None:
    assert choose(ask(new=True), [HOME, IN_APP], rules()) == New(None, None)
