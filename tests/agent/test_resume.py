"""An older conversation becomes that of a terminal's slot again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from efr.config.schema import Conversation, Settings
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.scripted_model import Hold, calls, said
from tests.agent.test_routing import HOUR_S, T2, app, prompt, switch
from tests.agent.world import CALLER, PHONE, SHELL_PID, TTY, World

__all__ = ["app"]  # a fixture

T3 = "/dev/pts/8"


def resume(
    world: World,
    conversation_id: str,
    pwd: Path | None = None,
    tty: str | None = TTY,
    pid: int | None = SHELL_PID,
    **more: Any,
) -> m.ConversationResumeResult:
    if pid is not None:
        world.living.setdefault(pid, 0)
    fields: dict[str, Any] = {
        "command_id": world.ids.new(),
        "conversation_id": conversation_id,
        "context": world.context(pwd, tty=tty, shell_pid=pid),
        **more,
    }
    return world.agent.conversation_resume(m.ConversationResumeParams(**fields), CALLER)


def resumed(world: World, conversation_id: str, **where: Any) -> m.ConversationResumed:
    found = resume(world, conversation_id, **where)
    assert isinstance(found, m.ConversationResumed)
    return found


def app_place(world: World) -> t.Place:
    project = world.registry.projects[0]
    return t.Place(scope=t.RouteProject(value=project.id), name="app", dir=project.root)


def live_state(world: World, request: int) -> str:
    text: str = world.provider.requests[request].messages[-1].content[0].text  # type: ignore[union-attr]
    return text


def test_an_older_conversation_continues_in_its_project(world: World, app: Path) -> None:
    old = prompt(world, app)
    prompt(world, app, new_conversation=True)
    world.clock.advance(3 * 24 * HOUR_S)
    before = world.clock.now_us()
    found = resumed(world, old.conversation_id, pwd=app)
    assert found == m.ConversationResumed(
        conversation_id=old.conversation_id,
        scope=app_place(world),
        title="go on",
        updated_at=t.time_from_us(before - 3 * 24 * HOUR_S * 1_000_000),
        shell_dir=str(app),
        here=False,
        continues_here=True,
    )
    attached = world.wait(ev.TerminalAttached)
    assert attached == ev.TerminalAttached(
        tty=TTY, route=found.scope.scope, shell_pid=SHELL_PID, how=t.AttachHow.RESUMED
    )
    next_one = prompt(world, app)
    assert next_one.conversation_id == old.conversation_id
    assert switch(next_one) is None
    texts = [one.role for one in world.provider.requests[-1].messages]
    assert texts == ["user", "assistant", "user"]  # its context


def test_from_elsewhere_it_waits_in_its_own_slot(world: World, app: Path) -> None:
    old, home = prompt(world, app), prompt(world)
    prompt(world, app, new_conversation=True)
    found = resumed(world, old.conversation_id)
    assert (found.scope, found.continues_here, found.here) == (app_place(world), False, False)
    assert prompt(world).conversation_id == home.conversation_id
    assert prompt(world, app).conversation_id == old.conversation_id


def test_what_the_terminal_holds_is_here_and_becomes_current(world: World, app: Path) -> None:
    inside, home = prompt(world, app), prompt(world)
    found = resumed(world, inside.conversation_id)
    assert (found.here, found.continues_here) == (True, False)
    back = prompt(world)
    assert back.conversation_id == home.conversation_id
    assert isinstance(switch(back), t.RouteSwitchBack)  # the resumed one was current


def test_an_outside_conversation_says_where_it_continues(world: World, app: Path) -> None:
    (world.home / "notes").mkdir()
    old = prompt(world, world.home / "notes")
    prompt(world, world.home / "notes", new_conversation=True)
    outside = t.RouteOutside()
    found = resumed(world, old.conversation_id, pwd=app)
    assert found.scope == t.Place(scope=outside, dir=str(world.home / "notes"))
    assert not found.continues_here
    here = resumed(world, old.conversation_id)
    assert here.scope == t.Place(scope=outside, dir=str(world.home))
    assert here.continues_here


def test_held_by_another_open_terminal_nothing_moves(world: World, app: Path) -> None:
    theirs = prompt(world, app, tty=T2, pid=77)
    count = len(world.stored(theirs.conversation_id))
    found = resume(world, theirs.conversation_id, pwd=app)
    assert found == m.ConversationResumeHeld(tty=T2, title="go on")
    assert len(world.stored(theirs.conversation_id)) == count
    assert prompt(world, app, tty=T2, pid=77).conversation_id == theirs.conversation_id


def test_taken_it_moves_and_the_other_terminal_hears_of_it(world: World, app: Path) -> None:
    theirs = prompt(world, app, tty=T2, pid=77)
    assert not resumed(world, theirs.conversation_id, pwd=app, take=True).here
    told = prompt(world, app, tty=T2, pid=77)
    assert told.conversation_id != theirs.conversation_id
    reason = switch(told)
    assert isinstance(reason, t.RouteSwitchNew)
    assert reason.reason == t.NewReasonMoved(tty=TTY, title="go on")
    assert reason.from_ is None
    assert switch(prompt(world, app, tty=T2, pid=77)) is None
    assert prompt(world, app).conversation_id == theirs.conversation_id


def test_a_closed_terminal_holds_nothing(world: World, app: Path) -> None:
    theirs = prompt(world, app, tty=T2, pid=77)
    del world.living[77]
    assert resumed(world, theirs.conversation_id, pwd=app).scope == app_place(world)


def test_a_terminal_that_follows_holds(world: World, app: Path) -> None:
    theirs = prompt(world, app, tty=T2, pid=77)
    del world.living[77]
    following = world.agent.followers.join(theirs.conversation_id, False, T2)
    assert isinstance(resume(world, theirs.conversation_id), m.ConversationResumeHeld)
    following.leave()
    world.agent.followers.report_lease(9, T2, [theirs.conversation_id])
    assert isinstance(resume(world, theirs.conversation_id), m.ConversationResumeHeld)
    world.clock.advance(61)
    assert isinstance(resume(world, theirs.conversation_id), m.ConversationResumed)


def test_the_one_that_was_in_the_slot_is_free(world: World, app: Path) -> None:
    old = prompt(world, app)
    new = prompt(world, app, new_conversation=True)
    resumed(world, old.conversation_id, pwd=app)
    assert prompt(world, app, tty=T2, pid=77).conversation_id == new.conversation_id


def test_a_script_s_conversation_can_be_resumed(world: World, app: Path) -> None:
    script = prompt(world, app, tty=None, pid=None)  # type: ignore[arg-type]
    resumed(world, script.conversation_id, pwd=app)
    assert prompt(world, app).conversation_id == script.conversation_id


def test_the_hidden_shell_starts_where_the_conversation_last_was(world: World, app: Path) -> None:
    (app / "src").mkdir()
    old = prompt(world, app)
    world.writer.append(_cwd_changed(old.conversation_id, app / "src")).result()
    prompt(world, app, new_conversation=True)
    assert resumed(world, old.conversation_id).shell_dir == str(app / "src")
    world.restart()  # what a resume left is in the log
    assert prompt(world, app).conversation_id == old.conversation_id
    assert f"hidden shell, which is in {app / 'src'}." in live_state(world, -1)
    prompt(world, app)
    assert "hidden shell, which is in that directory." in live_state(world, -1)


def test_a_hidden_shell_that_runs_stays_where_it_is(world: World, app: Path) -> None:
    (app / "src").mkdir()
    old = prompt(world, app)
    shell = world.shells.for_conversation(old.conversation_id, str(app / "src"), None)
    prompt(world, app, new_conversation=True)
    assert resumed(world, old.conversation_id).shell_dir == str(app / "src")
    prompt(world, app)
    assert shell.moves == []
    assert f"hidden shell, which is in {app / 'src'}." in live_state(world, -1)


def _cwd_changed(conversation_id: str, to: Path) -> Any:
    from efr.store.batch import Batch, NewEvent

    event = ev.CwdChanged(pty_id="00000000-0000-7000-8000-0000000000aa", cwd=str(to))
    return Batch(events=(NewEvent(conversation_id, event),))


def test_a_removed_project_s_conversation_goes_where_its_directory_belongs(
    world: World, app: Path
) -> None:
    old = prompt(world, app)
    (project,) = world.registry.projects
    world.registry.projects.clear()
    found = resumed(world, old.conversation_id)
    assert found.scope == t.Place(scope=t.RouteOutside(), dir=str(world.home))
    assert prompt(world).conversation_id == old.conversation_id
    again = type(project)("00000000-0000-7000-8000-00000000000b", project.root, "app again")
    world.registry.projects.append(again)
    prompt(world, app, new_conversation=True)
    later = prompt(world, app)
    world.registry.projects[0] = project
    found = resumed(world, later.conversation_id, pwd=app)
    assert found.scope.scope == t.RouteProject(value=project.id)
    assert found.continues_here


def test_one_conversation_per_terminal_continues_everywhere(world: World, app: Path) -> None:
    world.settings = Settings(conversation=Conversation(follow_project=False))
    old = prompt(world, app)
    assert prompt(world).conversation_id == old.conversation_id
    new = prompt(world, new_conversation=True)
    assert prompt(world, app).conversation_id == new.conversation_id
    found = resumed(world, old.conversation_id)
    assert found.continues_here
    assert prompt(world).conversation_id == prompt(world, app).conversation_id
    assert prompt(world).conversation_id == old.conversation_id
    resumed(world, old.conversation_id, tty=T2, pid=77, take=True)
    told = prompt(world)
    assert told.conversation_id not in (old.conversation_id, new.conversation_id)
    reason = switch(told)
    assert isinstance(reason, t.RouteSwitchNew)
    assert reason.reason == t.NewReasonMoved(tty=T2, title="go on")


def test_a_new_terminal_in_a_project_does_not_pick_up_without_follow_project(
    world: World, app: Path
) -> None:
    world.settings = Settings(conversation=Conversation(follow_project=False))
    old = prompt(world, app)
    del world.living[SHELL_PID]
    new = prompt(world, app, tty=T2, pid=77)
    assert new.conversation_id != old.conversation_id
    assert switch(new) is None


def test_what_cannot_be_resumed(world: World) -> None:
    old = prompt(world)
    unknown = "00000000-0000-7000-8000-0000000000ff"
    cases: list[tuple[t.ErrorCode, str, dict[str, Any]]] = [
        (t.ErrorCode.NOT_FOUND, unknown, {}),
        (t.ErrorCode.INVALID, old.conversation_id, {"tty": None}),
    ]
    for code, conversation_id, where in cases:
        with pytest.raises(Refusal) as caught:
            resume(world, conversation_id, **where)
        assert caught.value.body.code is code
    params = m.ConversationResumeParams(
        command_id=world.ids.new(), conversation_id=old.conversation_id, context=world.context()
    )
    with pytest.raises(Refusal) as caught:
        world.agent.conversation_resume(params, PHONE)
    assert caught.value.body.code is t.ErrorCode.INVALID


def test_the_same_command_resumes_once(world: World, app: Path) -> None:
    old = prompt(world, app)
    command = world.ids.new()
    first = resume(world, old.conversation_id, pwd=app, command_id=command)
    world.clock.advance(60)
    assert resume(world, old.conversation_id, pwd=app, command_id=command) == first
    assert world.kinds(old.conversation_id).count("terminal_attached") == 1
    theirs = prompt(world, app, tty=T2, pid=77)
    command = world.ids.new()
    held = resume(world, theirs.conversation_id, command_id=command)
    del world.living[77]
    assert resume(world, theirs.conversation_id, command_id=command, take=True) == held


def test_no_secret_of_a_title_is_told(world: World) -> None:
    world.provider.answers(said("ok"))
    sent = world.send("use --password=hunter2sekrit now")
    world.wait_end(sent.turn_id)
    found = resumed(world, sent.conversation_id)
    assert found.title == "use --password=[***] now"
    held = resume(world, sent.conversation_id, tty=T2, pid=77)
    assert held == m.ConversationResumeHeld(tty=TTY, title=found.title)
    stored = world.database_bytes()
    assert stored.count(b"hunter2sekrit") > 0  # the prompt itself


def test_a_picked_up_conversation_may_have_a_running_turn(world: World, app: Path) -> None:
    hold = Hold()
    world.living[77] = 0
    world.provider.answers([hold, *said("first")], said("second"))
    running = world.send("go on", context=world.context(app))
    hold.wait()
    del world.living[SHELL_PID]  # its terminal closed
    waiting = world.send("and then", context=world.context(app, tty=T2, shell_pid=77))
    assert waiting.conversation_id == running.conversation_id
    assert waiting.queued
    assert isinstance(switch(waiting), t.RouteSwitchPickedUp)
    hold.go()
    world.wait_end(running.turn_id)
    assert isinstance(world.wait_end(waiting.turn_id), ev.TurnCompleted)


def test_a_running_turn_goes_on_while_its_conversation_moves(world: World, app: Path) -> None:
    hold = Hold()
    world.provider.answers([hold, *calls(("look", "{}"))], said("done"))
    running = world.send("go on", context=world.context(app))
    hold.wait()
    assert isinstance(
        resume(world, running.conversation_id, tty=T2, pid=77), m.ConversationResumeHeld
    )
    resumed(world, running.conversation_id, tty=T2, pid=77, take=True)
    hold.go()
    assert isinstance(world.wait_end(running.turn_id), ev.TurnCompleted)


def test_a_prompt_that_is_refused_costs_no_hint(world: World) -> None:
    tool = world.home / "p" / "tool"
    for part in ("objects", "refs"):
        (tool / ".git" / part).mkdir(parents=True)
    (tool / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    hold = Hold()
    world.settings = Settings(conversation=Conversation(max_queued=1))
    world.provider.answers([hold, *said("a")], said("b"), said("c"))
    running, waiting = world.send("one"), world.send("two")
    hold.wait()
    with pytest.raises(Refusal):
        world.send("three", context=world.context(tool))
    hold.go()
    world.wait_end(running.turn_id)
    world.wait_end(waiting.turn_id)
    sent = world.send("three", context=world.context(tool))
    world.wait_end(sent.turn_id)
    assert sent.route is not None
    assert sent.route.hint == t.RepoHintGitRepo(root=str(tool))


def test_a_deleted_conversation_starts_its_terminal_anew(world: World, app: Path) -> None:
    from efr.store import queries
    from efr.store.batch import Batch, NewEvent

    home, old = prompt(world), prompt(world, app)
    row = world.readers.read(lambda conn: queries.conversation(conn, old.conversation_id))
    assert row is not None
    gone = ev.ConversationDeleted(origin=t.Origin.SHELL)
    world.writer.append(Batch(events=(NewEvent(old.conversation_id, gone),))).result()
    world.agent.deleted(row)
    with pytest.raises(Refusal):
        resume(world, old.conversation_id)
    told = prompt(world, app)
    assert told.conversation_id not in (home.conversation_id, old.conversation_id)
    reason = switch(told)
    assert isinstance(reason, t.RouteSwitchNew)
    assert reason.reason == t.NewReasonScope()
    assert reason.from_ == t.Place(scope=t.RouteOutside(), dir=str(world.home))
