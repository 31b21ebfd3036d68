"""The one place that asks the permission engine.

`judge` is called for every tool call, before anything runs and before it is recorded. It looks up
where the call's paths really lead (a link is judged by its target too) and reads the config of
now, so a changed rule counts from the next call on. Blocks on the file system for that look.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from efr.agent.home_links import is_linked
from efr.agent.ports import Ports
from efr.agent.repos import in_repository
from efr.agent.same_place import (
    Guarded,
    TooMany,
    guarded,
    links_below,
    other_names,
    process_entries,
)
from efr.agent.setting_out import Setting
from efr.config.rules import rules_of
from efr.policy import engine
from efr.policy.needs import CallNeeds, Decision, PathUse, Place
from efr.policy.paths import holds, normal, view
from efr.tools.contract import Closed
from efr.wire import types as t


def judge(ports: Ports, setting: Setting, needs: CallNeeds, origin: t.Origin) -> Decision:
    """What happens to one call."""
    mode = setting.resolved.effective.mode
    place = _place(ports, setting)
    rules = engine.Rules(user=rules_of(ports.settings()))
    return engine.decide(_looked_up(needs, place), mode.value, origin.value, place, rules)


def closed_files(ports: Ports, setting: Setting) -> Closed:
    """Why a file may not be opened, whatever its name: a secret, or a file of the open database.

    To close any handle of such a file takes away the locks that SQLite has on it (POSIX).
    """
    place, ours = _place(ports, setting), ports.roots.database_files

    def why(facts: os.stat_result) -> str | None:
        if any(_is(path, facts) for path in ours):
            return "a file of efr's database, which only efrd itself opens"
        is_secret = facts.st_nlink > 1 and _known(place).is_closed(facts)
        return "another name of a file that is closed" if is_secret else None

    return why


def _is(path: Path, facts: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(path.stat(), facts)
    return False


def _looked_up(needs: CallNeeds, place: Place) -> CallNeeds:
    """The call with where its paths and its directory really lead."""
    start = needs.command_dir
    try:
        return replace(
            needs,
            paths=tuple(dict.fromkeys(_with_targets(needs.paths, place))),
            command_dir_real=None if start is None else os.path.realpath(start),
        )
    except (OSError, ValueError):  # it goes while it is looked at, or no path can have that name
        writes = any(use.access == "write" for use in needs.paths)
        anywhere = PathUse("/", "write" if writes else "read_tree", unsure="moved")
        return replace(needs, paths=(*needs.paths, anywhere))


def _with_targets(paths: tuple[PathUse, ...], place: Place) -> Iterator[PathUse]:
    """Each path, its real target when it runs through a link, and what of the secrets and of efr's
    settings it reaches by another name of the same file or directory."""
    known = _known(place) if paths else None
    for use in paths:
        yield use
        real = os.path.realpath(use.path)
        if real != normal(use.path):
            yield replace(use, path=real)
        if use.access == "write" and (
            in_repository(real) or is_linked(real, place.home, place.project_root)
        ):
            yield replace(use, path=real, is_config=True)
        for entry in process_entries(use.path):
            yield replace(use, path=entry)
        if known is None:
            continue
        for name in other_names(real, known):
            yield replace(use, path=name)
        yield from _through_links(use, real)
        if use.access != "read":
            for target, secret in known.linked:
                if target != real and holds(real, target):
                    yield replace(use, path=os.path.dirname(secret))


def _through_links(use: PathUse, real: str) -> Iterator[PathUse]:
    """What a pattern or an option reaches through links below a directory."""
    if use.access != "read_tree" or use.follows == 0:
        return
    try:
        for target in links_below(real, use.follows):
            yield PathUse(target, "read_tree" if os.path.isdir(target) else "read")
    except TooMany:
        yield PathUse("/", "read_tree", unsure="links")


def _known(place: Place) -> Guarded:
    """What nothing may reach by another name."""
    return guarded(place.config_real, view(place).secrets)


def _place(ports: Ports, setting: Setting) -> Place:
    home, config = ports.host.home, str(ports.roots.config.path)
    data = str(ports.roots.data.path)
    project = ports.places.project_now(setting.place, setting.user_dir)
    return Place(
        home=home,
        home_real=os.path.realpath(home),
        config_dir=config,
        data_dir=data,
        scratch=setting.scratch,
        project_root=_widens(project.root, home) if project is not None else None,
        config_real=tuple(_real_config(Path(config))),
        data_real=os.path.realpath(data),
        secret_paths=tuple(
            _expanded(path, home) for path in ports.settings().permissions.secret_paths
        ),
    )


def _widens(root: str, home: str) -> str | None:
    """A project root at or above home widens nothing."""
    return None if holds(normal(root), normal(home)) else root


def _real_config(folder: Path) -> Iterator[str]:
    """The config folder's real form, and where links in it lead (a file of a dotfiles tree)."""
    yield os.path.realpath(folder)
    try:
        links = [Path(entry.path) for entry in os.scandir(folder) if entry.is_symlink()]
    except OSError:
        return
    for link in links:
        yield os.path.realpath(link)


def _expanded(path: str, home: str) -> str:
    return home + path[1:] if path == "~" or path.startswith("~/") else path
