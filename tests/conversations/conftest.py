"""A daemon with one project, and terminals by number.

The tests of a module share a daemon; each has terminals, folders and a project `app` of its own. A
test that changes what belongs to all (settings, the registry as a whole) is marked `own_daemon`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conversations.terminals import Terminal, add_project, remove_project
from tests.harness.daemon import Daemon

Open = Callable[..., Terminal]

own_daemon = pytest.mark.parametrize("daemon", ["own"], indirect=True)

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def shared_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture
def daemon(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Daemon]:
    if getattr(request, "param", None) == "own":
        with Daemon(tmp_path) as own:
            yield own
    else:
        yield request.getfixturevalue("shared_daemon")


@pytest.fixture
def folder(daemon: Daemon) -> Path:
    """A folder below home that no other test has."""
    folder = daemon.home / "p" / f"t{next(_numbers)}"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def app(daemon: Daemon, folder: Path) -> Iterator[Path]:
    """The root of the project `app`."""
    root = folder / "app"
    (root / "src").mkdir(parents=True)
    project = add_project(daemon, root)
    yield root
    with daemon.client() as client:
        listed = client.call("projects.list")["projects"]
    if project in listed:
        remove_project(daemon, root)


@pytest.fixture(name="open_terminal")
def _open_terminal(daemon: Daemon) -> Iterator[Open]:
    """Opens terminals; those that are left are closed at the end."""
    base = 1000 * next(_numbers)
    opened: list[Terminal] = []

    def open_one(number: int = 1) -> Terminal:
        opened.append(Terminal(daemon, f"/dev/pts/{base + number}"))
        return opened[-1]

    yield open_one
    for terminal in opened:
        terminal.close()
