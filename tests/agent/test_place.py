from __future__ import annotations

import os
from pathlib import Path

import pytest

from efr.agent.place import Basis, NoProjects, Project, derive, holds, normal
from efr.wire import types as t


class Registry:
    def __init__(self, *projects: Project) -> None:
        self._projects = projects

    def all(self) -> tuple[Project, ...]:
        return self._projects


def work_tree(root: Path, head: str = "ref: refs/heads/main\n") -> Path:
    git = root / ".git"
    (git / "objects").mkdir(parents=True)
    (git / "refs").mkdir()
    (git / "HEAD").write_text(head)
    return root


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home" / "u"
    (home / "p" / "app" / "src").mkdir(parents=True)
    (home / "p" / "application").mkdir()
    (home / "notes").mkdir()
    return home


def scope(directory: Path | str, home: Path, *projects: Project) -> t.Scope:
    return derive(str(directory), str(home), Registry(*projects)).scope


def test_a_directory_at_or_below_a_registered_root_is_that_project(home: Path) -> None:
    app = Project("id-app", str(home / "p" / "app"))
    expected = t.ScopeProject(value="id-app")
    assert scope(home / "p" / "app", home, app) == expected
    assert scope(home / "p" / "app" / "src", home, app) == expected
    assert scope(home / "p" / "application", home, app) == t.ScopeMachine()


def test_home_and_everything_above_it_is_the_machine_also_with_dotfiles_in_git(home: Path) -> None:
    work_tree(home)
    for directory in (home, home.parent, Path("/"), home / "notes"):
        assert scope(directory, home) == t.ScopeMachine()
    assert derive(str(home), str(home), NoProjects()).basis is Basis.HOME_OR_ROOT
    assert derive(str(home / "notes"), str(home), NoProjects()).basis is Basis.ELSEWHERE


def test_a_work_tree_that_is_not_registered_is_a_path(home: Path) -> None:
    tool = work_tree(home / "p" / "tool")
    (tool / "deep" / "er").mkdir(parents=True)
    place = derive(str(tool / "deep" / "er"), str(home), NoProjects())
    assert place.scope == t.ScopePath(value=str(tool))
    assert place.repo is not None
    assert place.repo.branch == "main"
    assert place.route == t.RouteOutside()


def test_a_detached_head_has_no_branch(home: Path) -> None:
    tool = work_tree(home / "p" / "tool", "0" * 40 + "\n")
    place = derive(str(tool), str(home), NoProjects())
    assert place.repo is not None
    assert place.repo.branch is None


def test_a_linked_worktree_and_a_submodule_have_a_git_file(home: Path) -> None:
    main = work_tree(home / "p" / "main")
    linked = home / "p" / "linked"
    linked.mkdir()
    git_dir = main / ".git" / "worktrees" / "linked"
    git_dir.mkdir(parents=True)
    (git_dir / "HEAD").write_text("ref: refs/heads/topic\n")
    (linked / ".git").write_text(f"gitdir: {git_dir}\n")
    place = derive(str(linked), str(home), NoProjects())
    assert place.scope == t.ScopePath(value=str(linked))
    assert place.repo is not None
    assert place.repo.branch == "topic"


def test_a_git_that_is_no_repository_counts_for_nothing(home: Path) -> None:
    (home / "p" / "empty" / ".git").mkdir(parents=True)
    (home / "p" / "text").mkdir()
    (home / "p" / "text" / ".git").write_bytes(b"\xff\xfe not a pointer")
    assert scope(home / "p" / "empty", home) == t.ScopeMachine()
    assert scope(home / "p" / "text", home) == t.ScopeMachine()


def test_a_link_into_a_project_is_the_project(home: Path) -> None:
    app = Project("id-app", str(home / "p" / "app"))
    link = home / "link"
    link.symlink_to(home / "p" / "app" / "src")
    assert scope(link, home, app) == t.ScopeProject(value="id-app")


def test_the_deepest_registered_root_wins(home: Path) -> None:
    app = Project("id-app", str(home / "p" / "app"))
    inner = Project("id-x", str(home / "p" / "app" / "vendor" / "x"))
    directory = home / "p" / "app" / "vendor" / "x" / "a"
    directory.mkdir(parents=True)
    assert scope(directory, home, app, inner) == t.ScopeProject(value="id-x")


def test_home_is_a_project_only_when_it_was_registered_by_name(home: Path) -> None:
    assert scope(home, home, Project("id-home", str(home))) == t.ScopeProject(value="id-home")


def test_a_deleted_or_a_relative_directory_is_the_machine(home: Path) -> None:
    assert scope(home / "gone" / "away", home) == t.ScopeMachine()
    assert scope("relative", home) == t.ScopeMachine()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to own a file as somebody else")
def test_another_users_repository_is_none(home: Path) -> None:
    tool = work_tree(home / "p" / "tool")
    os.chown(tool / ".git", 12345, 12345)
    assert scope(tool, home) == t.ScopeMachine()


def test_normal_form_folds_and_compares_whole_parts() -> None:
    assert normal("/a//b/./c/../d/") == "/a/b/d"
    assert normal("/../..") == "/"
    assert holds("/p/app", "/p/app/src")
    assert not holds("/p/app", "/p/application")
    assert holds("/", "/anything")
