"""Terminals' prompts through the whole agent: slots, switches, pick-ups and hints."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from efr.config.project_text import Project
from efr.config.schema import Conversation, Settings
from efr.providers.canonical import Done, TextDelta
from efr.store import db, queries
from efr.store.batch import Batch, NewEvent
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.scripted import LIMIT_S
from tests.agent.scripted_model import Hold, said, usage
from tests.agent.world import PHONE, World

T2 = "/dev/pts/9"
HOUR_S = 3600


@pytest.fixture
def app(world: World) -> Path:
    root = world.home / "p" / "app"
    root.mkdir(parents=True)
    world.registry.projects.append(
        Project("00000000-0000-7000-8000-00000000000a", str(root), "app")
    )
    return root


def prompt(
    world: World, pwd: Path | None = None, tty: str = "/dev/pts/3", pid: int = 4242, **more: Any
) -> m.PromptSendResult:
    """A prompt that ran to its end."""
    world.living.setdefault(pid, 0)
    world.provider.answers(said("ok"))
    context = world.context(pwd, tty=tty, shell_pid=pid)
    sent = world.send("go on", context=context, **more)
    world.wait_end(sent.turn_id)
    return sent


def switch(sent: m.PromptSendResult) -> t.RouteSwitch | None:
    assert sent.route is not None
    return sent.route.switch


def test_project_home_project_gives_two_conversations_and_says_so(world: World, app: Path) -> None:
    first = prompt(world, app)
    home = prompt(world)
    back = prompt(world, app)
    again = prompt(world, app)
    assert first.conversation_id == back.conversation_id == again.conversation_id
    assert home.conversation_id != first.conversation_id
    place = t.Place(
        scope=t.RouteProject(value=world.registry.projects[0].id), name="app", dir=str(app)
    )
    assert first.route == t.PromptRoute(scope=place)
    assert switch(home) == t.RouteSwitchNew(from_=place, reason=t.NewReasonScope())
    assert home.route is not None
    assert home.route.scope == t.Place(scope=t.RouteOutside(), dir=str(world.home))
    assert isinstance(switch(back), t.RouteSwitchBack)
    assert switch(again) is None


def test_slots_are_as_before_after_a_restart(world: World, app: Path) -> None:
    first, home = prompt(world, app), prompt(world)
    world.restart()
    assert prompt(world, app).conversation_id == first.conversation_id
    assert prompt(world).conversation_id == home.conversation_id


def test_an_idle_conversation_ends_and_a_new_one_starts(world: World) -> None:
    first = prompt(world)
    world.clock.advance(12 * HOUR_S + 1)
    second = prompt(world)
    assert second.conversation_id != first.conversation_id
    reason = switch(second)
    assert isinstance(reason, t.RouteSwitchNew)
    assert reason.reason == t.NewReasonIdle(hours=12)


def test_a_wall_clock_that_jumps_ahead_starts_a_new_one(world: World) -> None:
    first = prompt(world)
    world.clock.set_wall(world.clock.now_us() + 13 * HOUR_S * 1_000_000)
    assert prompt(world).conversation_id != first.conversation_id


def test_a_wall_clock_that_jumps_ahead_touches_no_running_turn(world: World) -> None:
    held = Hold()
    world.provider.answers(
        [TextDelta("a"), held, TextDelta("b"), usage(), Done("end_turn")], said("new")
    )
    first = world.send("one")
    held.wait()
    world.clock.set_wall(world.clock.now_us() + 13 * HOUR_S * 1_000_000)
    second = world.send("two")
    assert second.conversation_id != first.conversation_id
    world.wait_end(second.turn_id)
    held.go()
    assert isinstance(world.wait_end(first.turn_id), ev.TurnCompleted)
    (message,) = (
        one.event
        for one in world.log.all
        if isinstance(one.event, ev.AssistantMessageCompleted)
        and one.conversation_id == first.conversation_id
    )
    assert message.text == "ab"


def test_zero_hours_keep_it_for_ever(world: World) -> None:
    world.settings = Settings(conversation=Conversation(tty_idle_hours=0))
    first = prompt(world)
    world.clock.advance(90 * 24 * HOUR_S)
    assert prompt(world).conversation_id == first.conversation_id


def test_a_wish_for_a_new_one_is_no_switch_and_keeps_the_other_slots(
    world: World, app: Path
) -> None:
    home, first = prompt(world), prompt(world, app)
    new = prompt(world, app, new_conversation=True)
    assert new.conversation_id != first.conversation_id
    assert switch(new) is None
    assert prompt(world, app).conversation_id == new.conversation_id
    assert prompt(world).conversation_id == home.conversation_id


def test_a_new_terminal_picks_up_and_its_shell_starts_in_the_last_directory(
    world: World, app: Path
) -> None:
    (app / "src").mkdir()
    first = prompt(world, app / "src")
    del world.living[4242]
    second = prompt(world, app, tty=T2, pid=77)
    assert second.conversation_id == first.conversation_id
    assert isinstance(switch(second), t.RouteSwitchPickedUp)
    attached = world.wait(ev.TerminalAttached)
    assert (attached.tty, attached.shell_pid, attached.how) == (T2, 77, t.AttachHow.PICKED_UP)
    assert world.seq_of(attached) == second.seq - 1
    block = world.provider.requests[1].messages[-1].content[0].text  # type: ignore[union-attr]
    assert f"hidden shell, which is in {app / 'src'}." in block


def test_of_two_new_terminals_at_once_one_picks_up(world: World, app: Path) -> None:
    first = prompt(world, app)
    del world.living[4242]
    world.living |= {77: 0, 88: 0}
    world.provider.answers(said("a"), said("b"))
    barrier = threading.Barrier(2)
    sent: list[m.PromptSendResult] = []

    def send(tty: str, pid: int) -> None:
        context = world.context(app, tty=tty, shell_pid=pid)
        barrier.wait(LIMIT_S)
        sent.append(world.send("go on", context=context))

    threads = [threading.Thread(target=send, args=one) for one in ((T2, 77), ("/dev/pts/8", 88))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    for one in sent:
        world.wait_end(one.turn_id)
    assert [one.conversation_id == first.conversation_id for one in sent].count(True) == 1


def test_two_first_lines_of_one_terminal_at_once_share_a_conversation(world: World) -> None:
    world.provider.answers(said("a"), said("b"))
    barrier = threading.Barrier(2)
    sent: list[m.PromptSendResult] = []

    def send() -> None:
        barrier.wait(LIMIT_S)
        sent.append(world.send("go on"))

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    for one in sent:
        world.wait_end(one.turn_id)
    assert sent[0].conversation_id == sent[1].conversation_id


def test_the_other_terminal_hears_where_its_conversation_went(world: World, app: Path) -> None:
    first = prompt(world, app)
    start = world.living.pop(4242)
    second = prompt(world, app, tty=T2, pid=77)
    assert second.conversation_id == first.conversation_id
    world.living[4242] = start
    third = prompt(world, app)
    assert third.conversation_id != first.conversation_id
    told = switch(third)
    assert isinstance(told, t.RouteSwitchNew)
    assert told.reason == t.NewReasonMoved(tty=T2, title="go on")


def test_a_conversation_of_a_script_is_never_picked_up(world: World, app: Path) -> None:
    script = prompt(world, app, tty=None, pid=None)  # type: ignore[arg-type]
    assert script.route is None
    terminal = prompt(world, app)
    assert terminal.conversation_id != script.conversation_id
    created = world.wait(ev.ConversationCreated)
    assert created.tty is None
    assert isinstance(created.route, t.RouteProject)


def test_a_reused_pid_is_another_shell(world: World) -> None:
    first = prompt(world)
    world.clock.advance(60)
    world.living[4242] = world.clock.now_us()
    second = prompt(world, pid=9999)
    assert second.conversation_id != first.conversation_id
    assert switch(second) is None


def test_a_prompt_without_a_directory_has_no_route(world: World) -> None:
    world.provider.answers(said("ok"))
    sent = world.send("go", context=None)
    world.wait_end(sent.turn_id)
    assert world.wait(ev.ConversationCreated).route is None
    assert world.wait(ev.TurnStarted).cwd == str(world.home)


def test_a_phone_names_no_terminal(world: World) -> None:
    with pytest.raises(Refusal) as caught:
        world.send("go", PHONE)
    assert caught.value.body.code is t.ErrorCode.INVALID
    world.provider.answers(said("ok"))
    sent = world.send("go", PHONE, context=None, settings=t.TurnSettings(mode=t.Mode.AUTO))
    world.wait_end(sent.turn_id)
    started = world.wait(ev.TurnStarted)
    assert started.settings is not None
    assert started.settings.mode is t.Mode.CAUTIOUS


def test_a_repository_that_is_no_project_is_told_once_a_day(world: World) -> None:
    tool = world.home / "p" / "tool"
    for part in ("objects", "refs"):
        (tool / ".git" / part).mkdir(parents=True)
    (tool / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    first, second = prompt(world, tool), prompt(world, tool)
    assert first.route is not None
    assert second.route is not None
    assert first.route.hint == t.RepoHintGitRepo(root=str(tool))
    assert second.route.hint is None
    world.settings = Settings(conversation=Conversation(repo_hint=False))
    world.clock.advance(25 * HOUR_S)
    third = prompt(world, tool)
    assert third.route is not None
    assert third.route.hint is None


def test_a_failed_first_prompt_leaves_no_conversation(world: World) -> None:
    with pytest.raises(Refusal):
        world.send("go", settings=t.TurnSettings(model="nope"))
    first = prompt(world)
    assert switch(first) is None
    assert world.kinds(first.conversation_id).count("prompt_queued") == 1


class Meddling(dict[int, int]):
    """Shells whose look-up lets something happen first, once."""

    def __init__(self, shells: dict[int, int], meddle: Callable[[], None]) -> None:
        super().__init__(shells)
        self._meddle: list[Callable[[], None]] = [meddle]

    def get(self, pid: int, default: Any = None) -> Any:
        if self._meddle:
            self._meddle.pop()()
        return super().get(pid, default)


@pytest.mark.parametrize("loaded", [True, False])
def test_a_delete_between_choice_and_record_sends_the_prompt_elsewhere(
    world: World, app: Path, loaded: bool
) -> None:
    first = prompt(world, app)
    del world.living[4242]
    if not loaded:
        world.restart()

    def delete() -> None:
        gone = ev.ConversationDeleted(origin=t.Origin.SHELL)
        world.writer.append(Batch(events=(NewEvent(first.conversation_id, gone),))).result()

    world.living = Meddling(world.living, delete)
    second = prompt(world, app, tty=T2, pid=77)
    assert second.conversation_id != first.conversation_id
    assert switch(second) is None


def test_a_conversation_from_before_routing_goes_on_and_gets_its_route(
    world: World, app: Path
) -> None:
    old, inside = prompt(world), prompt(world, app, tty=T2, pid=77)
    world.stop()
    with closing(db.open(world.roots.database)) as conn:
        conn.execute("UPDATE conversations SET route = NULL, shell_pid = NULL, routed_seq = NULL")
    world.log = type(world.log)()
    world.start()
    again = prompt(world)
    assert again.conversation_id == old.conversation_id
    assert switch(again) is None
    assert prompt(world, app, tty=T2, pid=77).conversation_id == inside.conversation_id
    rows = world.readers.read(lambda conn: queries.conversations_of_tty(conn, T2))
    assert [(row.route, row.shell_pid) for row in rows] == [
        (t.RouteProject(value=world.registry.projects[0].id), 77)
    ]
