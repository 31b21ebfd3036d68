"""What a read finds is what git itself says, layout by layout."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from efr.agent.git import Git, environment
from efr.agent.git_config import read_config
from efr.agent.repos import (
    WorkTree,
    branch_of,
    common_dir_of,
    find_work_tree,
    pointed_to,
    under_way,
)

ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


class NoGit:
    """Nobody may ask git: a read has to suffice."""

    def branch(self, root: str) -> str | None:
        raise AssertionError("git was asked")


def git(where: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(where), "-c", "protocol.file.allow=always", *arguments],
        env={**ENV, "HOME": str(where)},
        capture_output=True,
        check=True,
    )
    return os.fsdecode(done.stdout)


def init(where: Path, *options: str) -> Path:
    where.mkdir(parents=True, exist_ok=True)
    git(where, "init", "-q", "-b", "main", *options)
    return where


def committed(where: Path) -> Path:
    init(where)
    (where / "sub").mkdir(exist_ok=True)
    git(where, "commit", "-q", "--allow-empty", "-m", "x")
    return where


def told(directory: Path, home: Path) -> tuple[str | None, str | None]:
    """Root and branch as git says, in the environment of every git run of efr."""
    env = environment(ENV, (str(home),))

    def ask(*arguments: str) -> str | None:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments], env=env, capture_output=True, check=False
        )
        return os.fsdecode(done.stdout).removesuffix("\n") if done.returncode == 0 else None

    root = ask("rev-parse", "--show-toplevel")
    return root, ask("symbolic-ref", "--quiet", "--short", "HEAD") if root else None


def read(directory: Path, home: Path) -> tuple[str | None, str | None]:
    try:
        tree = find_work_tree(os.path.realpath(directory), (str(home),))
    except OSError:
        return None, None
    return (None, None) if tree is None else (tree.root, branch_of(tree, NoGit()))


def plain(base: Path) -> list[Path]:
    tree = committed(base / "tree")
    (tree / "a" / "b").mkdir(parents=True)
    inside = [tree / ".git", tree / ".git" / "refs" / "heads", tree / ".git" / "objects"]
    return [tree, tree / "a", tree / "a" / "b", base, *inside]


def detached(base: Path) -> list[Path]:
    tree = committed(base / "tree")
    git(tree, "checkout", "-q", "--detach")
    return [tree]


def unborn(base: Path) -> list[Path]:
    return [init(base / "tree")]


def slashes_in_the_branch(base: Path) -> list[Path]:
    tree = committed(base / "tree")
    git(tree, "checkout", "-q", "-b", "fix/größe")
    return [tree]


def linked(base: Path) -> list[Path]:
    main = committed(base / "main")
    git(main, "worktree", "add", "-q", "-b", "topic", str(base / "linked"))
    (base / "linked" / "deep").mkdir()
    return [base / "linked", base / "linked" / "deep", main]


def linked_to_a_bare_one(base: Path) -> list[Path]:
    main = committed(base / "main")
    git(base, "clone", "-q", "--bare", str(main), str(base / "bare.git"))
    git(base / "bare.git", "worktree", "add", "-q", str(base / "linked"), "main")
    return [base / "linked", base / "bare.git", base / "bare.git" / "refs"]


def submodule(base: Path) -> list[Path]:
    library = committed(base / "library")
    outer = committed(base / "outer")
    git(outer, "submodule", "add", "-q", str(library), "vendor/lib")
    (outer / "vendor" / "lib" / "deep").mkdir()
    return [outer / "vendor" / "lib", outer / "vendor" / "lib" / "deep", outer / "vendor"]


def bare(base: Path) -> list[Path]:
    outer = committed(base / "outer")
    init(outer / "bare.git", "--bare")
    return [outer / "bare.git", outer / "bare.git" / "objects", outer]


def bare_in_its_config(base: Path) -> list[Path]:
    tree = committed(base / "tree")
    git(tree, "config", "core.bare", "true")
    return [tree, tree / "sub"]


def a_separate_git_dir(base: Path) -> list[Path]:
    tree = init(base / "tree", "--separate-git-dir", str(base / "elsewhere"))
    return [tree, base / "elsewhere"]


def a_link_as_git_dir(base: Path) -> list[Path]:
    real = committed(base / "real")
    (base / "tree").mkdir()
    (base / "tree" / ".git").symlink_to(real / ".git")
    (base / "dangling").mkdir()
    (base / "dangling" / ".git").symlink_to(base / "nothing")
    return [base / "tree", base / "dangling"]


def empty_and_broken_ones(base: Path) -> list[Path]:
    outer = committed(base / "outer")
    for name in ("empty", "text", "nowhere", "no_refs", "head"):
        (outer / name).mkdir()
    (outer / "empty" / ".git").mkdir()
    (outer / "text" / ".git").write_bytes(b"\xff\xfe not a pointer")
    (outer / "nowhere" / ".git").write_text("gitdir: /nothing/here\n")
    for part in ("no_refs/.git/objects", "head/.git/objects", "head/.git/refs"):
        (outer / part).mkdir(parents=True)
    (outer / "no_refs" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (outer / "head" / ".git" / "HEAD").write_text("nonsense\n")
    return [outer / name for name in ("empty", "text", "nowhere", "no_refs", "head")]


def another_work_tree_in_the_config(base: Path) -> list[Path]:
    tree = committed(base / "tree")
    (base / "other").mkdir()
    git(tree, "config", "core.worktree", "../../other")
    return [tree]


def a_work_tree_of_its_own_config(base: Path) -> list[Path]:
    tree = committed(base / "tree")
    git(tree, "config", "extensions.worktreeConfig", "true")
    git(tree, "config", "--worktree", "core.worktree", str(base))
    return [tree]


def a_head_that_is_a_link(base: Path) -> list[Path]:
    tree = committed(base / "tree")
    (tree / ".git" / "HEAD").unlink()
    (tree / ".git" / "HEAD").symlink_to("refs/heads/main")
    return [tree]


def a_line_end_in_the_name(base: Path) -> list[Path]:
    return [committed(base / "two\nlines")]


def reached_through_a_link(base: Path) -> list[Path]:
    tree = committed(base / "tree")
    (base / "link").symlink_to(tree / "sub")
    return [base / "link"]


LAYOUTS: list[Callable[[Path], list[Path]]] = [
    plain,
    detached,
    unborn,
    slashes_in_the_branch,
    linked,
    linked_to_a_bare_one,
    submodule,
    bare,
    bare_in_its_config,
    a_separate_git_dir,
    a_link_as_git_dir,
    empty_and_broken_ones,
    another_work_tree_in_the_config,
    a_work_tree_of_its_own_config,
    a_head_that_is_a_link,
    a_line_end_in_the_name,
    reached_through_a_link,
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda one: one.__name__)
def test_a_read_finds_what_git_finds(layout: Callable[[Path], list[Path]], tmp_path: Path) -> None:
    home = tmp_path / "home"
    for directory in layout(home / "p"):
        assert read(directory, home) == told(directory, home), directory


def test_the_ceiling_is_home(tmp_path: Path) -> None:
    home = committed(tmp_path / "home")
    (home / "notes").mkdir()
    outer = committed(tmp_path)
    (outer / "beside").mkdir()
    assert read(home / "notes", home) == told(home / "notes", home) == (None, None)
    tree = find_work_tree(str(outer / "beside"), (str(home),))
    assert tree is not None
    assert tree.guarded
    assert told(outer / "beside", home)[0] == str(outer)


def test_a_work_tree_that_is_home_is_guarded(tmp_path: Path) -> None:
    home = tmp_path / "home"
    dots = committed(home / "dots")
    git(dots, "config", "core.worktree", str(home))
    tree = find_work_tree(str(dots), (str(home),))
    assert tree is not None
    assert (tree.root, tree.guarded) == (str(home), True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to own a file as somebody else")
@pytest.mark.parametrize("whose", [".", ".git"])
def test_another_owners_repository_is_none(tmp_path: Path, whose: str) -> None:
    tree = committed(tmp_path / "home" / "tree")
    os.chown(tree / whose, 12345, 12345)
    assert read(tree, tmp_path / "home") == told(tree, tmp_path / "home") == (None, None)


def test_a_gone_directory_and_a_file_are_in_no_work_tree(tmp_path: Path) -> None:
    tree = committed(tmp_path / "home" / "tree")
    (tree / "file").write_text("x")
    assert find_work_tree(str(tree / "file"), (str(tmp_path / "home"),)) is None
    with pytest.raises(FileNotFoundError):
        find_work_tree(str(tree / "gone"), (str(tmp_path / "home"),))


def test_a_branch_that_is_not_utf8_is_none(tmp_path: Path) -> None:
    tree = committed(tmp_path / "home" / "tree")
    (tree / ".git" / "HEAD").write_bytes(b"ref: refs/heads/gr\xf6\xdfe\n")
    found = find_work_tree(str(tree), (str(tmp_path / "home"),))
    assert found is not None
    assert branch_of(found, NoGit()) is None
    assert Git(ENV, (str(tmp_path / "home"),)).branch(str(tree)) is None


def test_a_root_that_is_not_utf8_is_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    tree = committed(Path(os.fsdecode(os.fsencode(home) + b"/gr\xf6\xdfe")))
    assert find_work_tree(str(tree), (str(home),)) is None


def test_where_a_linked_tree_and_a_submodule_lead(tmp_path: Path) -> None:
    main = linked(tmp_path / "home")[2]
    pointed = pointed_to(str(tmp_path / "home" / "linked"))
    assert pointed == str(main / ".git" / "worktrees" / "linked")
    assert common_dir_of(pointed) == str(main / ".git")


# Asking git.


def tables(tree: Path) -> WorkTree:
    """A repository that keeps its refs in tables says nothing in HEAD."""
    (tree / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    found = find_work_tree(str(tree), ("/home/nobody",))
    assert found is not None
    return found


def script(folder: Path, body: str) -> dict[str, str]:
    """An environment whose `git` is this script."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{body}\n")
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_git_is_asked_when_the_refs_are_in_tables(tmp_path: Path) -> None:
    tree = tables(committed(tmp_path / "tree"))
    body = 'printf "%s\\n" "$*" > "$0.asked"; env > "$0.env"; echo topic'
    env = script(tmp_path / "bin", body) | {
        "GIT_DIR": "/poison",
        "GIT_CONFIG_COUNT": "1",
        "XDG_DATA_HOME": "/kept",
    }
    assert branch_of(tree, Git(env, ("/home/u", "/var/home/u"))) == "topic"
    asked = (tmp_path / "bin" / "git.asked").read_text()
    assert asked == (
        f"-C {tree.root} -c core.fsmonitor=false -c core.hooksPath=/dev/null"
        " symbolic-ref --quiet --short HEAD\n"
    )
    seen = dict(
        line.split("=", 1) for line in (tmp_path / "bin" / "git.env").read_text().splitlines()
    )
    assert seen["GIT_CEILING_DIRECTORIES"] == "/home/u:/var/home/u:/"
    assert (seen["GIT_OPTIONAL_LOCKS"], seen["GIT_TERMINAL_PROMPT"]) == ("0", "0")
    assert (seen["HOME"], seen["XDG_DATA_HOME"]) == ("/home/u", "/kept")
    assert not {"GIT_DIR", "GIT_CONFIG_COUNT"} & set(seen)


@pytest.mark.parametrize("body", ["exit 1", "exec sleep 60", "printf 'gr\\366\\337e\\n'"])
def test_a_git_that_fails_hangs_or_mumbles_tells_no_branch(tmp_path: Path, body: str) -> None:
    env = script(tmp_path / "bin", body)
    assert Git(env, ("/home/u",), limit_s=0.2).branch(str(tmp_path)) is None


def test_no_git_tells_no_branch(tmp_path: Path) -> None:
    assert Git({"PATH": str(tmp_path)}, ("/home/u",)).branch(str(tmp_path)) is None


def test_a_home_with_a_colon_is_no_ceiling() -> None:
    env = environment({}, ("/home/a:b", "/var/home/u"))
    assert env["GIT_CEILING_DIRECTORIES"] == "/var/home/u:/"


# Its configuration.


CONFIGS = [
    "[core]\n\tbare = false\n\tworktree = ../../x\n",
    '[Core]\n  WorkTree = "a b \\"c\\" \\\\ d"  ; comment\n',
    '[core]\nworktree = a\\\nb\n[remote "origin"]\n\turl = x\n[core] bare\n',
    '[core "sub"]\nworktree = no\n[core]\nworktree = one # two\nworktree =   three   four  \n',
    "# only\n; comments\n",
    '[core]\nworktree = "a;b" c\nbare = yes\n[extensions]\n\tworktreeConfig = true\n',
    "[core]\r\n\tworktree = crlf\r\n",
    "[core]\nworktree=\n",
]


@pytest.mark.parametrize("text", CONFIGS)
def test_a_config_reads_as_git_reads_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_bytes(text.encode())
    listed = git(tmp_path, "config", "--file", str(file), "--null", "--list")
    wanted = {}
    for entry in listed.split("\0")[:-1]:
        name, _, value = entry.partition("\n")
        if name.count(".") == 1:
            wanted[name] = value if "\n" in entry else "true"
    assert read_config(text) == wanted


def test_a_broken_config_is_read_up_to_its_fault() -> None:
    assert read_config('[core]\nbare = true\nworktree = "open\n') == {"core.bare": "true"}
    assert read_config("[core]\nbare = no\n[core\n") == {"core.bare": "no"}


def test_what_git_waits_with_is_told(tmp_path: Path) -> None:
    root = committed(tmp_path / "r")
    for branch, text in (("one", "a"), ("two", "b")):
        git(root, "checkout", "-q", "-b", branch, "main")
        (root / "file").write_text(text)
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", text)

    def doing() -> str | None:
        tree = find_work_tree(str(root), ("/home/u",))
        assert tree is not None
        return under_way(tree)

    assert doing() is None
    for what in ("rebase", "merge", "cherry-pick"):
        with pytest.raises(subprocess.CalledProcessError):  # a conflict
            git(root, what, "one")
        assert doing() == what
        git(root, what, "--abort")
        assert doing() is None
    git(root, "bisect", "start")
    assert doing() == "bisect"
