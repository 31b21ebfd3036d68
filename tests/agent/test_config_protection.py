"""No tool writes efr's settings, by whatever name it reaches them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from efr.agent.same_place import guarded, other_names
from efr.config.project_text import Project
from efr.policy.needs import CallNeeds, PathUse
from efr.wire import events as ev
from tests.agent.mounts import can_mount
from tests.agent.scripted_model import calls, said
from tests.agent.world import World

ROOT = Path(__file__).parents[2]


def settings_of(world: World) -> Path:
    """A config root whose file is a link into a dotfiles tree."""
    config = world.roots.config.path
    config.mkdir(parents=True)
    real = world.home / "dotfiles" / "efr" / "config.toml"
    real.parent.mkdir(parents=True)
    real.write_text("# mine\n")
    world.roots.config_file.symlink_to(real)
    (config / "projects.toml").write_text("")
    return real


def link(target: Path | str, name: Path) -> Path:
    name.symlink_to(target)
    return name


def hard(target: Path, name: Path) -> Path:
    os.link(target, name)
    return name


Make = Callable[[World, Path], Path | str]
CLOSED: dict[str, Make] = {
    "the file": lambda world, real: world.roots.config_file,
    "a new file beside it": lambda world, real: world.roots.config.path / "new.toml",
    "the file behind the link": lambda world, real: real,
    "the directory": lambda world, real: world.roots.config.path,
    "dots": lambda world, real: f"{world.home}/x/../dotfiles/./efr//config.toml",
    "a link to the file": lambda world, real: link(real, world.home / "l"),
    "a link to the link": lambda world, real: link(world.roots.config_file, world.home / "l"),
    "through a link to the directory": lambda world, real: (
        link(world.roots.config.path, world.home / "l") / "config.toml"
    ),
    "a link before dots": lambda world, real: (
        f"{link(real.parent, world.home / 'l')}/../efr/config.toml"
    ),
    "a hard link to the file": lambda world, real: hard(real, world.home / "h"),
    "a link to a hard link": lambda world, real: link(
        hard(world.roots.config.path / "projects.toml", world.home / "h"), world.home / "l"
    ),
    "the missing target of a link in the root": lambda world, real: link(
        world.home / "gone.toml", world.roots.config.path / "other.toml"
    ).readlink(),
    "another process's root": lambda world, real: f"/proc/{os.getpid()}/root{real}",
}
ASKED: dict[str, Make] = {
    "a directory above the file": lambda world, real: real.parent,
    "a directory high above it": lambda world, real: world.home,
    "a directory above the root": lambda world, real: world.roots.config.path.parent,
    "a link to one above": lambda world, real: link(real.parent, world.home / "l"),
    "the top": lambda world, real: "/",
    "a file beside it": lambda world, real: real.parent / "other.toml",
}


@pytest.mark.parametrize("name", [*CLOSED, *ASKED])
def test_a_write_that_reaches_the_settings_is_refused_and_one_above_asks(
    world: World, name: str
) -> None:
    real = settings_of(world)
    path = str((CLOSED | ASKED)[name](world, real))
    world.tools.write.needs = CallNeeds("write", paths=(PathUse(path, "write"),))
    world.provider.answers(calls(("write", "{}")), said("done"))
    sent = world.send("go")
    if name in ASKED:
        world.wait(ev.ApprovalRequested)
        world.interrupt(sent.conversation_id)
        world.wait_end(sent.turn_id)
        return
    world.wait_end(sent.turn_id)
    refused = world.wait(ev.ToolCallCompleted)
    assert refused.is_error
    assert refused.refusal is not None
    assert world.tools.write.runs == []


@pytest.mark.parametrize("above", ["efr", "x/../efr", "l"])
def test_a_project_around_the_file_still_asks_before_it_goes(world: World, above: str) -> None:
    settings_of(world)
    project = Project("00000000-0000-7000-8000-0000000000aa", str(world.home / "dotfiles"))
    world.registry.projects.append(project)
    link(world.home / "dotfiles" / "efr", world.home / "dotfiles" / "l")
    path = f"{world.home}/dotfiles/{above}"
    world.tools.write.needs = CallNeeds("write", paths=(PathUse(path, "write"),))
    world.provider.answers(calls(("write", "{}")), said("done"))
    sent = world.send("go", pwd=world.home / "dotfiles")
    asked = world.wait(ev.ApprovalRequested)
    assert "efr's settings lie below" in (asked.reason or "")
    world.interrupt(sent.conversation_id)
    world.wait_end(sent.turn_id)


def test_reading_the_settings_is_free(world: World) -> None:
    real = settings_of(world)
    uses = tuple(PathUse(str(path), "read") for path in (real, world.roots.config_file))
    world.tools.look.needs = CallNeeds("look", paths=uses)
    world.provider.answers(calls(("look", "{}")), said("done"))
    world.wait_end(world.send("go").turn_id)
    assert len(world.tools.look.runs) == 1


_MOUNTED = """
import subprocess, sys
from efr.agent.same_place import guarded, other_names
config, above, mount = sys.argv[1:]
known = guarded([config])
subprocess.run(["mount", "--bind", config, mount], check=True)
print(list(other_names(f"{mount}/config.toml", known)), list(other_names(f"{mount}/new", known)))
subprocess.run(["mount", "--bind", above, mount], check=True)
print(list(other_names(mount, known)))
"""


@pytest.mark.skipif(not can_mount(), reason="needs the right to mount")
def test_a_second_mount_is_seen(tmp_path: Path) -> None:
    config = tmp_path / "above" / "efr"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("")
    mount = tmp_path / "mount"
    mount.mkdir()
    line = [sys.executable, "-c", _MOUNTED, str(config), str(config.parent), str(mount)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["unshare", "-m", *line], env=env, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        f"['{config}/config.toml'] ['{config}/new']",
        f"['{config.parent}']",
    ], done.stderr


def test_what_is_guarded_has_no_other_name_for_itself(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("")
    known = guarded([str(tmp_path), str(tmp_path / "gone")])
    for path in (tmp_path, tmp_path / "config.toml", tmp_path / "new", tmp_path.parent, Path("/")):
        assert list(other_names(str(path), known)) == [], path
    assert list(other_names("/\0", known)) == []
