"""Methods that read and change the project registry. Only a person's own terminal may change it."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath

from efr.agent.place import LookTimedOut, Places
from efr.config.project_text import Project
from efr.config.projects import Change
from efr.daemon.rooms import Rooms
from efr.text.visible import visible_line
from efr.threads.requests import Call
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal, refuse

_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # ends a line, or moves a cursor


def projects_list(rooms: Rooms, params: m.ProjectsListParams, call: Call) -> m.ProjectsListResult:
    """The registered projects, in the order of their file."""
    registry = rooms.projects.registry
    return m.ProjectsListResult(
        file=str(registry.path), projects=tuple(map(_info, registry.read()))
    )


def admin_project_add(
    rooms: Rooms, params: m.AdminProjectAddParams, call: Call
) -> m.AdminProjectAddResult:
    """Registers a directory, or the work tree that holds it. Blocks on the file system."""
    root = _root_of(params, rooms.projects.places)
    name = _name_of(params.name, root)
    change = rooms.projects.registry.add(root, name)
    rooms.projects.worktrees.record(change.project.id, root)
    return _changed(rooms, change)


def admin_project_remove(
    rooms: Rooms, params: m.AdminProjectRemoveParams, call: Call
) -> m.AdminProjectRemoveResult:
    """Takes out the project with this root: as it is named, else without links."""
    _refuse_relative(params.path)
    change = rooms.projects.registry.remove(params.path, os.path.realpath(params.path))
    rooms.projects.worktrees.forget(change.project.id)
    return _changed(rooms, change)


def _changed(rooms: Rooms, change: Change) -> m.ProjectChanged:
    rooms.projects.scopes.refresh()
    return m.ProjectChanged(
        project=_info(change.project), file=str(change.file), reload=rooms.settings.reload()
    )


def _info(project: Project) -> t.ProjectInfo:
    return t.ProjectInfo(id=project.id, root=project.root, name=project.name)


def _root_of(params: m.AdminProjectAddParams, places: Places) -> str:
    """The root to register, without links. Raises Refusal."""
    _refuse_relative(params.path)
    try:
        root = os.path.realpath(params.path, strict=True)
        tree = places.work_tree(root) if params.git_root else None
    except (OSError, LookTimedOut) as exc:
        raise _invalid(f"{params.path} is no directory") from exc
    if not os.path.isdir(root):
        raise _invalid(f"{params.path} is no directory")
    if not params.git_root:
        return _utf8(root)
    if tree is not None and not tree.guarded:
        root = tree.root
    if places.is_at_or_above_home(root):
        raise _invalid(
            f"{root} is too wide for a project that was not named; efr project add {root} registers"
            " it all the same"
        )
    return _utf8(root)


def _name_of(name: str | None, root: str) -> str:
    """The name that was given, else the last part of the root."""
    given = (name or "").strip() or PurePosixPath(root).name or root
    if not _BREAKS.search(given):
        return given
    if name is not None and name.strip():
        raise _invalid("a project's name is one line without control characters")
    return visible_line(given)


def _refuse_relative(path: str) -> None:
    if not path.startswith("/"):
        raise _invalid(f"{path} is not absolute")


def _utf8(root: str) -> str:
    try:
        root.encode()
    except UnicodeEncodeError:
        raise _invalid("the directory's real name is not UTF-8") from None
    return root


def _invalid(message: str) -> Refusal:
    return refuse(t.ErrorCode.INVALID, message)
