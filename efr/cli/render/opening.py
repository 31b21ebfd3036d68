"""The first lines of a reply: where the prompt went, and what is worth knowing about it.

Pure. Their texts are a contract (docs/efr.md, "First lines").
"""

from __future__ import annotations

from msgspec import Struct

from efr.cli.render.status import OUTSIDE
from efr.text.numbers import age_text
from efr.text.visible import visible_line
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t

NO_PROJECT = f"{OUTSIDE} no project"


class Here(Struct, frozen=True):
    """What the lines are told from: the time, the home directory, what the prompt asked for."""

    now_us: int
    home: str
    asked: t.TurnSettings = t.TurnSettings()


def tilde(path: str, home: str) -> str:
    """A path as a person writes it."""
    if home and (path == home or path.startswith(home.rstrip("/") + "/")):
        path = "~" + path[len(home.rstrip("/")) :]
    return visible_line(path)


def scope_name(place: t.Place) -> str:
    """The short name: the project, or the sign for outside."""
    if isinstance(place.scope, t.RouteProject):
        return visible_line(place.name or place.dir.rstrip("/").rpartition("/")[2])
    return OUTSIDE


def scope_text(place: t.Place, home: str) -> str:
    """`app`, or `○ no project · ~/notes`."""
    if isinstance(place.scope, t.RouteProject):
        return scope_name(place)
    return f"{NO_PROJECT} · {tilde(place.dir, home)}"


def turn_scope(started: ev.TurnStarted, here: Here) -> tuple[str, str]:
    """The short name and the line of a turn's scope, for a prompt that came without a route."""
    if isinstance(started.scope, t.ScopeProject):
        name = visible_line(started.cwd.rstrip("/").rpartition("/")[2])
        return name, f"a project · {tilde(started.cwd, here.home)}{_asked(here)}"
    return OUTSIDE, f"{NO_PROJECT} · {tilde(started.cwd, here.home)}{_asked(here)}"


def _asked(here: Here) -> str:
    """The settings that the prompt came with."""
    asked = (here.asked.mode, here.asked.model, here.asked.effort)
    return "".join(f" · {visible_line(str(word))}" for word in asked if word)


def first_lines(sent: m.PromptSendResult, here: Here) -> list[str]:
    """The lines of an accepted prompt, the scope line first."""
    lines: list[str] = []
    route = sent.route
    if route is not None:
        lines.append(scope_text(route.scope, here.home) + _asked(here))
        lines += _switch(route, here)
        if isinstance(route.hint, t.RepoHintGitRepo):
            root = tilde(route.hint.root, here.home)
            lines.append(
                f"{OUTSIDE} {root} is a git repo but not a project: writes there ask you. "
                f"efr project add {root} registers it."
            )
    if sent.settings is not None and sent.settings.fallback is not None:
        fallback = sent.settings.fallback
        why = visible_line(fallback.reason)
        lines.append(f"{fallback.asked.value} was asked, {sent.settings.mode.value} runs: {why}")
    if sent.queued:
        lines.append("waits behind the running turn")
    return lines


def _switch(route: t.PromptRoute, here: Here) -> list[str]:
    switch = route.switch
    place = _in(route.scope)
    if isinstance(switch, t.RouteSwitchBack):
        return [f"↪ back to {_title(switch.title)} {place} ({_age(switch.updated_at, here)})"]
    if isinstance(switch, t.RouteSwitchPickedUp):
        age = _age(switch.updated_at, here)
        return [f"↪ picked up {_title(switch.title)} {place} ({age}); ,new starts fresh"]
    if isinstance(switch, t.RouteSwitchNew):
        return [f"↪ new conversation {_for(route.scope)}{_why(switch, here)}"]
    return []


def _why(switch: t.RouteSwitchNew, here: Here) -> str:
    reason = switch.reason
    if isinstance(reason, t.NewReasonIdle):
        return f": the last one was idle for {reason.hours} h"
    if isinstance(reason, t.NewReasonMoved):
        title = f"{_title(reason.title)} " if reason.title else "the last one "
        return f": {title}went to {visible_line(reason.tty)}"
    if switch.from_ is None:
        return ""
    came_from = switch.from_
    inside = isinstance(came_from.scope, t.RouteProject)
    return f" (from {scope_name(came_from) if inside else tilde(came_from.dir, here.home)})"


def _in(place: t.Place) -> str:
    inside = isinstance(place.scope, t.RouteProject)
    return f"in {scope_name(place)}" if inside else "outside projects"


def _for(place: t.Place) -> str:
    inside = isinstance(place.scope, t.RouteProject)
    return f"for {scope_name(place)}" if inside else "outside projects"


def _title(title: str | None) -> str:
    return f'"{visible_line(title)}"' if title else "(no title)"


def _age(at: t.Time, here: Here) -> str:
    return age_text((here.now_us - t.time_to_us(at)) / 1_000_000)
