"""No secret is reached by any name: forms of its path, links, hard links, mounts, swapped names."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from efr.agent.permission import _looked_up
from efr.agent.same_place import guarded, other_names
from efr.policy.engine import decide
from efr.policy.needs import Access, CallNeeds, PathUse, Place
from efr.policy.paths import view
from efr.policy.secret_places import SECRETS_ELSEWHERE, SECRETS_IN_HOME
from efr.tools.contract import Where
from efr.tools.read_file import ReadFileTool
from efr.tools.shell import ShellTool
from efr.tools.write_file import WriteFileTool
from tests.agent.mounts import can_mount
from tests.tools.fakes import context

ROOT = Path(__file__).parents[2]
ACCESSES: tuple[Access, ...] = ("read", "read_tree", "write")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with every secret of the table as a file, and a project."""
    made = tmp_path / "home"
    for name in SECRETS_IN_HOME:
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name in (".ssh", ".gnupg", ".password-store", ".azure"):
            (path / "deep").mkdir(parents=True)
            (path / "deep" / "key").write_text("secret")
        else:
            path.write_text("secret")
    (made / "p" / "app").mkdir(parents=True)
    return made


def place_of(home: Path) -> Place:
    return Place(
        home=str(home),
        home_real=os.path.realpath(home),
        config_dir=f"{home}/.config/efr",
        data_dir=f"{home}/.local/share/efr",
        project_root=f"{home}/p/app",
    )


def effect(needs: CallNeeds, home: Path, mode: str = "cautious") -> str:
    place = place_of(home)
    return decide(_looked_up(needs, place), mode, "shell", place).effect


def file_call(path: str, access: Access, home: Path) -> str:
    return effect(CallNeeds("x", (PathUse(path, access),)), home)


def shell_line(line: str, home: Path) -> str:
    here = f"{home}/p/app"
    return effect(ShellTool().declare({"command": line}, Where(here, here, str(home))), home)


def forms(path: str, home: Path) -> Iterator[str]:
    """Texts that the kernel takes for the same path."""
    yield path
    yield path.replace("/", "//")
    yield f"{home}/p/app/../../{os.path.relpath(path, home)}"
    yield f"/proc/self/root{path}"
    yield f"/proc/self/cwd/../..{path}"
    yield f"/proc/self/cwd/../../{os.path.relpath(path, home)}"
    yield f"/proc/self/fd/3/../{os.path.relpath(path, home)}"
    yield f"/proc/thread-self/root/./{path}"
    yield f"/proc/{os.getpid()}/root{path}"
    yield f"/dev/../{path}"


def test_every_secret_of_the_table_is_closed_in_every_form(home: Path) -> None:
    for name in SECRETS_IN_HOME:
        for path in forms(f"{home}/{name}", home):
            assert file_call(path, "read", home) == "deny", path
        for access in ACCESSES:
            assert file_call(f"{home}/p/../{name}", access, home) == "deny", (name, access)
    for path in (*SECRETS_ELSEWHERE, "/proc/1/environ", "/proc/self/task/1/mem"):
        for access in ACCESSES:
            assert file_call(path, access, home) == "deny", (path, access)


@pytest.mark.parametrize("name", SECRETS_IN_HOME)
def test_no_line_reads_or_writes_a_secret(name: str, home: Path) -> None:
    lines = (
        *(f"cat ~/{name}", f"cat {home}/{name}", f"cat ../../{name}", f"cat < ~/{name}"),
        *(f"cat $HOME/{name}", f'cat "$HOME"/{name}', f"cat ~/p/../{name}", f"wc -l -- ~/{name}"),
        *(f"grep -f ~/{name} x", f"sort -o ~/{name} x", f"cp x ~/{name}", f"rm -f ~/{name}"),
        *(f"echo x > ~/{name}", f"cat /proc/self/root/{home}/{name}", f"diff x ~/{name}"),
        *(f"cd ~ && cat {name}", f"ls && cat ~/'{name}'", f"echo \\\\\ncat ~/{name}"),
        *(f"ln -s ~/{name} k", f"ln ~/{name} k", f"tee ~/{name}", f"cat ~/./{name}"),
    )
    for line in lines:
        assert shell_line(line, home) == "deny", line


def test_names_of_secrets_are_listed_by_nobody_who_expands_them(home: Path) -> None:
    assert shell_line("echo ~/.ssh/*", home) == "allow"  # names alone: echo opens nothing
    assert shell_line("ls ~/.ssh", home) == "deny"
    assert shell_line("cat ~/.ssh/*", home) == "deny"
    assert shell_line("cat ~/.s*/id", home) == "ask"
    assert shell_line("cat ~root/.ssh/id", home) == "ask"
    assert shell_line(f"cat ~{home.name}/.ssh/id", home) == "deny"
    assert shell_line(f"cd ~{home.name} && cat .netrc", home) == "deny"


def links(home: Path) -> Iterator[tuple[str, str]]:
    """(a path through a link of some kind, what the link is)."""
    app = home / "p" / "app"
    (app / "link").symlink_to(home / ".ssh" / "deep" / "key")
    yield f"{app}/link", "a link to a file"
    (app / "folder").symlink_to("../../.ssh")
    yield f"{app}/folder/deep/key", "a relative link to a directory"
    (app / "chain").symlink_to("folder/deep")
    yield f"{app}/chain/key", "a link through a link"
    (app / "dangling").symlink_to(home / ".ssh" / "new")
    yield f"{app}/dangling", "a dangling link"
    (app / "deeper").symlink_to(home / ".config")
    yield f"{app}/deeper/../.netrc", "a `..` behind a link"
    (app / "root").symlink_to("/proc/self/root")
    yield f"{app}/root{home}/.netrc", "a link to the root of a process"
    (app / "cwd").symlink_to(f"/proc/{os.getpid()}/cwd")
    yield f"{app}/cwd/../../../../../../../../..{home}/.netrc", "a link to a process's directory"
    (app / "own").symlink_to("/proc/self/cwd")
    yield f"{app}/own/../../.netrc", "a link to the directory of whoever opens it"


def test_no_link_leads_to_a_secret(home: Path) -> None:
    for path, kind in links(home):
        for access in ("read", "write"):
            assert file_call(path, access, home) == "deny", (kind, access)
        line = f"cat {path}"
        assert shell_line(line, home) == "deny", kind


def test_no_hard_link_leads_to_a_secret(home: Path) -> None:
    app = home / "p" / "app"
    os.link(home / ".ssh" / "deep" / "key", app / "notes")
    os.link(home / ".netrc", app / "other")
    (app / "plain").write_text("x")
    os.link(app / "plain", app / "twice")
    for name in ("notes", "other"):
        assert file_call(f"{app}/{name}", "read", home) == "deny"
        assert shell_line(f"cat {name}", home) == "deny"
    assert file_call(f"{app}/twice", "read", home) == "allow"


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        # a pattern stands for links, and a search may go through them
        ("cat ./docs/*", "deny"),
        ("cat ./*/k", "deny"),
        ("cat ./*/*/key", "deny"),
        ("head -1 ./d*", "allow"),
        ("ls ./**/key", "deny"),
        ("rg -L x .", "deny"),
        ("grep -R x .", "deny"),
        ("find -L . -name key", "deny"),
        ("du -L", "deny"),
        ("diff -r . ../other", "deny"),
        # these stay where they are
        ("rg x .", "allow"),
        ("grep -r x .", "allow"),
        ("find . -name key", "allow"),
        ("ls -R", "allow"),
    ],
)
def test_links_below_a_directory(line: str, effect: str, home: Path) -> None:
    docs = home / "p" / "app" / "docs"
    docs.mkdir()
    (docs / "k").symlink_to(home / ".ssh" / "deep" / "key")
    (docs / "plain").symlink_to("/etc/hostname")
    (home / "p" / "other").mkdir()
    assert shell_line(line, home) == effect


def test_a_directory_of_too_many_entries_asks_when_links_are_followed(home: Path) -> None:
    many = home / "p" / "app" / "many"
    many.mkdir()
    for number in range(3100):
        (many / str(number)).touch()
    assert shell_line("cat ./many/*", home) == "ask"
    assert shell_line("rg x many", home) == "allow"


def test_a_secret_that_is_a_link_is_closed_at_both_ends(home: Path) -> None:
    (home / ".ssh").rename(home / "p" / "keys")
    (home / ".ssh").symlink_to(home / "p" / "keys")
    assert file_call(f"{home}/p/keys/deep/key", "read", home) == "deny"
    assert file_call(f"{home}/p/keys", "read_tree", home) == "deny"
    assert file_call(f"{home}/p", "read_tree", home) == "ask"
    assert file_call(f"{home}/p/app", "read_tree", home) == "allow"


def test_a_name_that_looks_alike_is_another_file(home: Path) -> None:
    for name in (".ѕsh", ".SSH", ".ssh\u200b", ".ssh ", "．ssh"):
        assert not (home / name).exists()
        assert file_call(f"{home}/{name}/key", "read", home) == "allow"


_MOUNTED = """
import subprocess, sys
from pathlib import Path
from tests.agent.test_secret_paths import file_call
home, mount = Path(sys.argv[1]), sys.argv[2]
found = []
def look(source, *paths):
    subprocess.run(["mount", "--bind", source, mount], check=True)
    found.extend(file_call(mount + path, access, home) for path, access in paths)
look(f"{home}/.ssh", ("/deep/key", "read"), ("/new", "write"), ("", "read_tree"))
look(str(home), ("/.netrc", "read"), ("/.ssh/deep/key", "write"), ("", "read_tree"))
look("/", (f"{home}/.netrc", "read"), ("", "read_tree"), ("/usr", "read"))
subprocess.run(["mount", "-t", "tmpfs", "x", mount], check=True)
found.append(file_call(mount + "/x", "read", home))
print(" ".join(found))
"""


@pytest.mark.skipif(not can_mount(), reason="needs the right to mount")
def test_no_second_mount_leads_to_a_secret(home: Path, tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    mount.mkdir()
    line = [sys.executable, "-c", _MOUNTED, str(home), str(mount)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["unshare", "-m", *line], env=env, capture_output=True, text=True)
    expected = "deny deny deny deny deny ask deny ask allow allow"
    assert done.stdout.strip() == expected, done.stderr


def test_a_device_in_the_place_of_a_secret_closes_no_other_device(home: Path) -> None:
    known = guarded((), ("/dev/null", str(home / ".netrc")))
    assert list(other_names("/dev/null", known)) == []
    assert list(other_names("/dev/zero", known)) == []


_EXCHANGE, _AT_FDCWD = 2, -100  # RENAME_EXCHANGE of renameat2(2): never without the name


@contextlib.contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Swaps two names over and over on a real thread."""
    libc = ctypes.CDLL(None, use_errno=True)
    stop, begun = threading.Event(), threading.Event()
    names = (os.fsencode(one), os.fsencode(other))

    def swap() -> None:
        while not stop.is_set():
            assert libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _EXCHANGE) == 0
            begun.set()

    thread = threading.Thread(target=swap, name="swapper")
    thread.start()
    try:
        assert begun.wait(10)
        yield
    finally:
        stop.set()
        thread.join(timeout=10)
        assert not thread.is_alive()


@pytest.mark.parametrize("kind", ["link", "hard link", "directory link"])
def test_a_name_swapped_between_check_and_use_shows_no_secret(kind: str, home: Path) -> None:
    app, key = home / "p" / "app", home / ".ssh" / "deep" / "key"
    (app / "sub").mkdir()
    (app / "sub" / "key").write_text("harmless")
    name, other = app / "sub" / "key", app / "other"
    if kind == "link":
        other.symlink_to(key)
    elif kind == "hard link":
        os.link(key, other)
    else:
        name, other = app / "sub", app / "other"
        other.symlink_to(key.parent)
    known = guarded((), view(place_of(home)).secrets)
    ctx = context(app, home=home)

    def closed(facts: os.stat_result) -> str | None:
        return "closed" if known.is_closed(facts) else None

    ctx = replace(ctx, where=Where(str(app), str(app), str(home), closed=closed))
    outputs: set[str] = set()
    with swapping(name, other):
        for _ in range(150):
            outputs.add(ReadFileTool().run({"path": "sub/key"}, ctx).output)
            WriteFileTool().run({"path": "sub/key", "content": "model"}, ctx)
    assert not any("secret" in output for output in outputs)
    assert key.read_text() == "secret"
