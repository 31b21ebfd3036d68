"""The start of a turn: what it runs with, where it acts, and what the model reads first.

One read of the store, then scope, settings, `turn_started`, `$SCRATCH`, the hidden shell's move
and the prompt message with its live-state block. Blocks on the store, the file system and the
hidden shell; runs on the conversation's worker.
"""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from efr.agent.commit import TurnLog
from efr.agent.context import Context
from efr.agent.frame import Frame, frame_of
from efr.agent.history import History, base_tokens, context_of, read_history
from efr.agent.instructions import news
from efr.agent.place import Place
from efr.agent.ports import Ports
from efr.agent.preamble import LiveState, Move, render
from efr.agent.queue import Prompt, Running
from efr.agent.scratch import NoScratch, ensure_scratch
from efr.agent.services import Services
from efr.agent.settings import Resolved
from efr.agent.turn_files import TurnFiles
from efr.config.schema import Settings
from efr.providers.canonical import Message, TextBlock, ToolDefinition
from efr.shell.errors import ShellError
from efr.store import queries
from efr.store.errors import UnknownConversation
from efr.store.rows import ConversationRow
from efr.tools.contract import Where
from efr.wire import events as ev
from efr.wire import types as t

log = logging.getLogger("efr.agent")


class Setting(Struct, frozen=True):
    """What a turn works with."""

    frame: Frame
    context: Context  # what the model reads; the turn adds to it
    stopped: tuple[str, ...]  # earlier turns that did not end by themselves
    prompt_message: Message
    place: Place
    user_dir: str
    shell_start: str  # where a new hidden shell starts
    scratch: str | None
    base_tokens: int | None  # the last real count, when the next estimate may start from it
    files: TurnFiles

    @property
    def resolved(self) -> Resolved:
        """What the turn runs with, and who answers it."""
        return self.frame.resolved

    @property
    def settings(self) -> Settings:
        """The config as the turn began."""
        return self.frame.settings

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        return self.frame.tools

    def offers(self, tool: str) -> bool:
        """Whether the model was told of this tool."""
        return any(one.name == tool for one in self.tools)


def set_out(
    services: Services, conversation_id: str, running: Running, turn_log: TurnLog
) -> Setting:
    """Starts the turn in the log. Raises Refusal before that, StoreError."""
    ports, prompt = services.ports, running.prompt
    row, history = ports.readers.read(lambda conn: _read(conn, conversation_id))
    user_dir = _user_dir(prompt, row, ports.host.home)
    place = ports.places.of(user_dir)
    resolved = services.resolve(prompt.settings, remote=prompt.remote)
    running.mode = resolved.effective.mode
    _record_start(turn_log, running, row, user_dir, place, resolved)
    frame = frame_of(conversation_id, resolved, ports.settings(), ports.tools.definitions())
    scratch = _scratch(ports.roots.scratch, row)
    move = _follow_user(services, conversation_id, prompt, history, user_dir)
    shell_start = prompt.shell_dir or user_dir
    live = LiveState(
        user_dir=user_dir,
        context=prompt.context,
        lines=prompt.lines,
        shell_dir=next_start(ports, conversation_id, shell_start),
        move=move,
        place=place,
        dotfiles=ports.places.dotfiles(),
        host=ports.host,
        now=datetime.fromtimestamp(ports.clock.now_us() / 1_000_000).astimezone(),
        scratch=scratch,
        settings=resolved.effective,
        full_allowed=frame.settings.permissions.allow_full,
    )
    context = context_of(history, frame, running.turn_id)
    root = place.project.root if place.project is not None else None
    where = Where(user_dir, user_dir, ports.host.home, scratch, root)
    return Setting(
        frame=frame,
        context=context,
        stopped=tuple(history.stopped),
        prompt_message=_prompt_message(
            live, _instructions(services, live, frame, context), prompt.text
        ),
        place=place,
        user_dir=user_dir,
        shell_start=shell_start,
        scratch=scratch,
        base_tokens=base_tokens(history, resolved.model.id),
        files=_files(services, turn_log, frame, where),
    )


def next_start(ports: Ports, conversation_id: str, start_dir: str) -> str:
    """Where the conversation's next command starts. Waits for a file system, but not for ever."""
    shell = ports.shells.peek(conversation_id)
    known = start_dir if shell is None else shell.cwd
    return ports.places.looked_up(
        known, lambda: ports.shells.start_of_next(conversation_id, start_dir)
    )


def _files(services: Services, turn_log: TurnLog, frame: Frame, where: Where) -> TurnFiles:
    ports = services.ports
    is_auto = frame.resolved.effective.mode is t.Mode.AUTO
    named = ports.places.projects if is_auto else None
    settings = frame.settings.snapshot
    return TurnFiles(ports.snapshots, settings, turn_log, where, named, ports.clock)


def _instructions(
    services: Services, live: LiveState, frame: Frame, context: Context
) -> str | None:
    """What the project tells and the conversation does not know; None outside projects."""
    project = live.place.project
    if project is None:
        return None
    files = services.ports.places.instructions(project, live.user_dir)
    return news(files, frame.limits.window, context.messages())


def _prompt_message(live: LiveState, told: str | None, text: str) -> Message:
    """The live state, the project's instructions when they are news, then the user's words."""
    blocks = (render(live), text) if told is None else (render(live), told, text)
    return Message("user", tuple(TextBlock(block) for block in blocks))


def _read(conn: Any, conversation_id: str) -> tuple[ConversationRow, History]:
    row = queries.conversation(conn, conversation_id)
    if row is None:
        raise UnknownConversation(conversation_id)
    return row, read_history(conn, conversation_id)


def _user_dir(prompt: Prompt, row: ConversationRow, home: str) -> str:
    """The prompt's directory, else the conversation's last one, else home."""
    told = prompt.context.pwd if prompt.context is not None else None
    return told or row.cwd or home


def _record_start(
    turn_log: TurnLog,
    running: Running,
    row: ConversationRow,
    user_dir: str,
    place: Place,
    resolved: Resolved,
) -> None:
    events: list[ev.Event] = [
        ev.TurnStarted(
            turn_id=running.turn_id,
            cwd=user_dir,
            scope=place.scope,
            settings=resolved.effective,
        )
    ]
    if row.scope is not None and row.scope != place.scope:
        events.append(ev.ScopeChanged(turn_id=running.turn_id, from_=row.scope, to=place.scope))
    turn_log.record(*events)


def _scratch(root: Path, row: ConversationRow) -> str | None:
    """The conversation's directory; None (and a warning) when it cannot be made."""
    try:
        return str(ensure_scratch(root, row.id, row.title or "", row.created_at))
    except NoScratch as exc:
        log.warning("no $SCRATCH for a conversation: %s", exc)
        return None


def _follow_user(
    services: Services, conversation_id: str, prompt: Prompt, history: History, user_dir: str
) -> Move | None:
    """Moves the hidden shell after the user, unless a command still runs in it."""
    if history.newest is None or history.newest.cwd == user_dir or prompt.shell_dir is not None:
        return None
    shell = services.ports.shells.peek(conversation_id)
    stayed = None
    if shell is not None and shell.cwd != user_dir:
        if shell.busy:
            stayed = "a command still runs in it"
        else:
            try:
                shell.move_to(user_dir)
            except ShellError as exc:
                stayed = str(exc)
    return Move(history.newest.cwd, stayed)
