"""The live-state block that stands before the user's text in every prompt message.

Pure: facts in, one text out. It is built anew for each turn, saved with it and sent again byte
for byte in later requests. It is the only place where command lines of the user's shell go, after
redaction; they live in memory until then and reach no event, receipt or log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from efr.agent.dotfiles import Dotfiles
from efr.agent.place import Place
from efr.agent.settings import STRICTNESS
from efr.text.redact import redact_command
from efr.text.visible import visible_line
from efr.wire import types as t

_LAST_COMMAND = 400  # characters of the last command; a longer one is a pasted script
_RECENT_LINE = 200
_RECENT_LINES = 20
_RECENT_BYTES = 4096  # all recent commands together; the oldest go first
_CUT = " [cut]"

_MODES = {
    t.Mode.MANUAL: "manual: nothing without a question but what the user's rules allow",
    t.Mode.CAUTIOUS: "cautious: reads outside secrets, writes in $SCRATCH and in the turn's"
    " project, and known read-only commands",
    t.Mode.AUTO: "auto: every command inside a sandbox; what leaves the sandbox is judged or asked",
    t.Mode.FULL: "full: everything as the user, without a sandbox",
}


class Host(Struct, frozen=True):
    """Facts of the machine that do not change while efrd runs."""

    home: str
    name: str
    os_name: str


class UserLines(Struct, frozen=True):
    """Command lines of the user's shell. Never shown by `repr`, never stored."""

    last_command: str | None = None
    recent: tuple[t.RecentCommand, ...] = ()

    def __repr__(self) -> str:
        return "UserLines(***)"


class Move(Struct, frozen=True):
    """The user went elsewhere since the previous prompt."""

    from_dir: str
    shell_stayed: str | None  # why the hidden shell did not follow; None: it did


class LiveState(Struct, frozen=True):
    """Everything that the block tells."""

    user_dir: str
    context: t.ShellContext | None
    lines: UserLines
    shell_dir: str  # where the next command starts
    move: Move | None
    place: Place
    host: Host
    now: datetime  # of the machine's time zone
    scratch: str | None
    settings: t.EffectiveSettings
    full_allowed: bool
    dotfiles: tuple[Dotfiles, ...] = ()


def render(state: LiveState) -> str:
    """The block, one fact per line."""
    facts = (
        _where(state),
        _commands(state),
        _scope(state.place),
        _dotfiles(state.dotfiles),
        _machine(state),
        _settings(state),
    )
    body = "\n".join(line for part in facts for line in part)
    return f"<live_state>\n{body}\n</live_state>"


def _where(state: LiveState) -> Iterator[str]:
    yield "Only the newest live_state block is current."
    previous = state.context.oldpwd if state.context else None
    before = f" (before that: {_shown(previous)})" if previous else ""
    yield f"The user's directory: {_shown(state.user_dir)}{before}"
    if state.shell_dir == state.user_dir:
        yield "Commands run in your hidden shell, which is in that directory."
    else:
        yield f"Commands run in your hidden shell, which is in {_shown(state.shell_dir)}."
    if state.move is not None:
        stayed = state.move.shell_stayed
        shell = "moved there too" if stayed is None else f"stayed: {stayed}"
        yield f"The user moved from {_shown(state.move.from_dir)}; the hidden shell {shell}."


def _commands(state: LiveState) -> Iterator[str]:
    status = state.context.last_status if state.context else None
    shown = "" if status is None else f" (exit status {status})"
    if state.lines.last_command:
        last = _cut(redact_command(state.lines.last_command), _LAST_COMMAND)
        yield f"The user's last command{shown}: {_quoted(last)}"
    elif status is not None:
        yield f"Exit status of the user's last command: {status}"
    recent = _recent(state.lines.recent)
    if recent:
        yield "Recent commands of the user, oldest first:"
        yield from recent


def _recent(commands: Sequence[t.RecentCommand]) -> list[str]:
    """The newest lines that fit, oldest first."""
    kept: list[str] = []
    size = 0
    for one in reversed(commands[-_RECENT_LINES:]):
        line = f"- {_cut(_shown(redact_command(one.command)), _RECENT_LINE)}{_facts(one)}"
        size += len(line.encode()) + 1
        if size > _RECENT_BYTES:
            break
        kept.append(line)
    return kept[::-1]


def _facts(command: t.RecentCommand) -> str:
    facts = []
    if command.status is not None:
        facts.append(f"status {command.status}")
    if command.cwd:
        facts.append(f"in {_shown(command.cwd)}")
    if command.ended_at:
        facts.append(f"ended {command.ended_at}")
    if command.duration_ms is not None:
        facts.append(f"took {command.duration_ms} ms")
    return f" ({', '.join(facts)})" if facts else ""


def _scope(place: Place) -> Iterator[str]:
    if place.project is not None:
        yield f"Scope: project {_shown(place.project.title)}, root {_shown(place.project.root)}"
    else:
        yield "Scope: outside registered projects"
    if place.repo is not None:
        branch = f"branch {_shown(place.repo.branch)}" if place.repo.branch else "detached HEAD"
        doing = place.repo.under_way
        waits = f"; a git {doing} is under way" if doing else ""
        yield f"Git work tree: {_shown(place.repo.root)}, {branch}{waits}"


def _dotfiles(found: Sequence[Dotfiles]) -> Iterator[str]:
    for one in found:
        yield f"The user's dotfiles are in {one.layout.value}: {_shown(one.git_dir)}"


def _machine(state: LiveState) -> Iterator[str]:
    yield f"Home: {_shown(state.host.home)}"
    name = (state.context.hostname if state.context else None) or state.host.name
    yield f"Host: {_shown(name)}, {_shown(state.host.os_name)}"
    yield f"Now: {state.now:%A %Y-%m-%d %H:%M %z}"
    if state.context is not None and state.context.ssh_connection:
        yield "The user is connected by SSH."
    if state.scratch is not None:
        yield (
            f"$SCRATCH: {_shown(state.scratch)} (throwaway files; writing there needs no question"
            f"{' but in manual' if state.settings.mode is t.Mode.MANUAL else ''})"
        )


def _settings(state: LiveState) -> Iterator[str]:
    settings = state.settings
    fallback = settings.fallback
    why = f" (the user asked for {fallback.asked.value}: {fallback.reason})" if fallback else ""
    effort = settings.effort or "the backend decides"
    yield f"Permission mode: {settings.mode.value}{why}"
    yield f"Model: {_shown(settings.model)}; effort: {effort}"
    yield "What runs without a question:"
    for mode in STRICTNESS:
        if mode is not t.Mode.FULL or state.full_allowed:
            yield f"- {_MODES[mode]}"
    yield (
        "Only the user switches this terminal's mode, model and effort (,mode ,model ,effort, or"
        " a bare line in sticky mode). The settings tool changes defaults alone, after a yes,"
        " from the next turn on. Never claim to have switched one."
    )


def _shown(text: str | None) -> str:
    """One line, so that no path can look like the end of the block."""
    return _inside(visible_line(text or ""))


def _inside(text: str) -> str:
    return text.replace("</live_state>", "<\u2215live_state>")


def _quoted(command: str) -> str:
    """Between backticks, or in a fence when that would not be one line."""
    if "\n" not in command and "`" not in command:
        return f"`{_shown(command)}`"
    fence = "```"
    while fence in command:
        fence += "`"
    return f"\n{fence}\n{_inside(command)}\n{fence}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + _CUT
