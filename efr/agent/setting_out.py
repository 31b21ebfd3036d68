"""The start of a turn: what it runs with, where it acts, and what the model reads first.

One read of the store, then scope, settings, `turn_started`, `$SCRATCH`, the hidden shell's move
and the prompt message with its live-state block. Blocks on the store, the file system and the
hidden shell; runs on the conversation's worker.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from efr.agent import system_prompt
from efr.agent.accounting import DEFAULT_WINDOW
from efr.agent.commit import TurnLog
from efr.agent.history import History, messages_for, read_history
from efr.agent.instructions import instructions
from efr.agent.place import Place
from efr.agent.preamble import LiveState, Move, render
from efr.agent.queue import Prompt, Running
from efr.agent.scratch import NoScratch, ensure_scratch
from efr.agent.services import Services
from efr.agent.settings import Resolved
from efr.config.schema import Settings
from efr.providers.canonical import EditTool, Message, TextBlock, ToolDefinition
from efr.providers.provider import Provider
from efr.shell.errors import ShellError
from efr.store import queries
from efr.store.errors import UnknownConversation
from efr.store.rows import ConversationRow
from efr.wire import events as ev

log = logging.getLogger("efr.agent")

_EDIT_TOOLS = frozenset({"apply_patch", "edit"})


@dataclass(frozen=True)
class Setting:
    """Everything that stays the same for the turn."""

    resolved: Resolved
    settings: Settings
    history: tuple[Message, ...]
    prompt_message: Message
    system: str
    tools: tuple[ToolDefinition, ...]
    place: Place
    user_dir: str
    shell_start: str  # where a new hidden shell starts
    scratch: str | None
    base_tokens: int | None  # the last real count, when the next estimate may start from it

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
    settings = ports.settings()
    tools = offered(ports.tools.definitions(), resolved)
    scratch = _scratch(ports.roots.scratch, row)
    move = _follow_user(services, conversation_id, prompt, history, user_dir)
    shell = ports.shells.peek(conversation_id)
    live = LiveState(
        user_dir=user_dir,
        context=prompt.context,
        lines=prompt.lines,
        shell_dir=shell.cwd if shell is not None else prompt.shell_dir,
        move=move,
        place=place,
        dotfiles=ports.places.dotfiles(),
        host=ports.host,
        scratch=scratch,
        settings=resolved.effective,
        full_allowed=settings.permissions.allow_full,
    )
    past = messages_for(
        history,
        resolved.provider.id,
        resolved.model.id,
        [one.name for one in tools],
        resolved.model.context_window or DEFAULT_WINDOW,
    )
    return Setting(
        resolved=resolved,
        settings=settings,
        history=tuple(past),
        prompt_message=_prompt_message(live, prompt.text, past),
        system=settings.model.system_prompt or system_prompt.built_in(),
        tools=tools,
        place=place,
        user_dir=user_dir,
        shell_start=prompt.shell_dir or user_dir,
        scratch=scratch,
        base_tokens=_base(history, resolved),
    )


def _prompt_message(live: LiveState, text: str, past: Sequence[Message]) -> Message:
    """The live state, the project's instructions when they are news, then the user's words."""
    told = instructions(live.place.project, live.user_dir, past)
    blocks = (render(live), text) if told is None else (render(live), told, text)
    return Message("user", tuple(TextBlock(block) for block in blocks))


def offered(
    definitions: Sequence[ToolDefinition], resolved: Resolved
) -> tuple[ToolDefinition, ...]:
    """The registry's tools in its order, with one edit tool: the model's, or the only one."""
    known = _EDIT_TOOLS & {one.name for one in definitions}
    edit = {_edit_tool(resolved)} if len(known) > 1 else known
    return tuple(one for one in definitions if one.name not in known or one.name in edit)


def _edit_tool(resolved: Resolved) -> EditTool:
    """The model's own, else the one that every listed model shares, else the provider's."""
    if resolved.model.edit_tool is not None:
        return resolved.model.edit_tool
    return _shared_edit_tool(resolved.provider) or resolved.provider.default_edit_tool()


def _shared_edit_tool(provider: Provider) -> EditTool | None:
    listed = {one.edit_tool for one in provider.models() if one.edit_tool is not None}
    return listed.pop() if len(listed) == 1 else None


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


def _base(history: History, resolved: Resolved) -> int | None:
    newest = history.newest
    same = newest is not None and newest.model == resolved.model.id
    return newest.context_tokens if newest is not None and same else None
