"""Edits of a `projects.toml` whose projects stand in one inline list: `project = [{ … }]`.

Pure. A module of its own: tomlkit takes long to load, and few files are written so. Each edit
returns the new text, None when the list is no inline one.
"""

from __future__ import annotations

import tomlkit
from tomlkit.items import Array


def appended(text: str, members: str) -> str | None:
    """With one more project; `members` is what stands between its braces."""
    document = tomlkit.parse(text)
    projects = document["project"]
    if not isinstance(projects, Array):
        return None
    projects.append(tomlkit.parse(f"x = {{ {members} }}")["x"])
    return document.as_string()


def without(text: str, index: int) -> str | None:
    """Without the project at that place."""
    document = tomlkit.parse(text)
    projects = document["project"]
    if not isinstance(projects, Array):
        return None
    del projects[index]
    return document.as_string()
