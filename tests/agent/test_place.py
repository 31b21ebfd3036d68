from __future__ import annotations

import os
from pathlib import Path

import pytest

from efr.agent.place import Basis, LookTimedOut, NoProjects, Place, Places
from efr.config.project_text import Project
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


def place(directory: Path | str, home: Path, *projects: Project) -> Place:
    return Places(str(home), Registry(*projects)).of(str(directory))


def scope(directory: Path | str, home: Path, *projects: Project) -> t.Scope:
    return place(directory, home, *projects).scope


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
    assert place(home, home).basis is Basis.HOME_OR_ROOT
    assert place(home / "notes", home).basis is Basis.ELSEWHERE


def test_a_work_tree_that_is_not_registered_is_a_path(home: Path) -> None:
    tool = work_tree(home / "p" / "tool")
    (tool / "deep" / "er").mkdir(parents=True)
    found = place(tool / "deep" / "er", home)
    assert found.scope == t.ScopePath(value=str(tool))
    assert found.repo is not None
    assert found.repo.branch == "main"
    assert found.route == t.RouteOutside()


def test_a_detached_head_has_no_branch(home: Path) -> None:
    tool = work_tree(home / "p" / "tool", "0" * 40 + "\n")
    found = place(tool, home)
    assert found.repo is not None
    assert found.repo.branch is None


def test_a_linked_worktree_and_a_submodule_have_a_git_file(home: Path) -> None:
    main = work_tree(home / "p" / "main")
    linked = home / "p" / "linked"
    linked.mkdir()
    git_dir = main / ".git" / "worktrees" / "linked"
    git_dir.mkdir(parents=True)
    (git_dir / "HEAD").write_text("ref: refs/heads/topic\n")
    (git_dir / "commondir").write_text("../..\n")
    (linked / ".git").write_text(f"gitdir: {git_dir}\n")
    found = place(linked, home)
    assert found.scope == t.ScopePath(value=str(linked))
    assert found.repo is not None
    assert found.repo.branch == "topic"


def test_a_git_that_is_no_repository_counts_for_nothing(home: Path) -> None:
    (home / "p" / "empty" / ".git").mkdir(parents=True)
    (home / "p" / "text").mkdir()
    (home / "p" / "text" / ".git").write_bytes(b"\xff\xfe not a pointer")
    assert scope(home / "p" / "empty", home) == t.ScopeMachine()
    assert scope(home / "p" / "text", home) == t.ScopeMachine()


def test_a_root_is_taken_as_it_stands(home: Path) -> None:
    (home / "lnk").symlink_to(home / "p" / "app")
    app = Project("id-app", str(home / "lnk"))
    assert scope(home / "lnk" / "src", home, app) == t.ScopeProject(value="id-app")
    assert scope(home / "p" / "app" / "src", home, app) == t.ScopeMachine()


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


# More of the table, and links.


def test_a_root_at_or_above_home_is_a_project_when_it_is_registered(home: Path) -> None:
    everything = Project("id-root", "/")
    assert scope("/", home, everything) == t.ScopeProject(value="id-root")
    assert scope("/etc", home, everything) == t.ScopeProject(value="id-root")
    inside = Project("id-home", str(home))
    assert scope(home / "p", home, everything, inside) == t.ScopeProject(value="id-home")
    assert scope(home.parent, home, everything, inside) == t.ScopeProject(value="id-root")


def test_a_work_tree_outside_home_is_a_path(tmp_path: Path, home: Path) -> None:
    tree = work_tree(tmp_path / "srv" / "x")
    (tree / "sub").mkdir()
    assert place(tree / "sub", home) == Place(
        t.ScopePath(value=str(tree)), Basis.WORK_TREE, None, place(tree, home).repo
    )


def test_a_project_tells_its_work_tree_too(home: Path) -> None:
    app = Project("id-app", str(work_tree(home / "p" / "app")))
    found = place(home / "p" / "app" / "src", home, app)
    assert found.basis is Basis.REGISTERED
    assert found.repo is not None
    assert (found.repo.root, found.repo.branch) == (app.root, "main")


def test_a_project_outside_of_any_work_tree_has_no_repo(home: Path) -> None:
    app = Project("id-app", str(home / "p" / "app"))
    assert place(home / "p" / "app", home, app).repo is None


def test_a_work_tree_that_names_home_is_the_machine(home: Path) -> None:
    dots = work_tree(home / "dots")
    (dots / ".git" / "config").write_text(f"[core]\n\tworktree = {home}\n")
    found = place(dots, home)
    assert (found.scope, found.basis) == (t.ScopeMachine(), Basis.HOME_OR_ROOT)
    assert found.repo is None


def test_a_gone_directory_inside_a_project_is_still_the_project(home: Path) -> None:
    app = Project("id-app", str(home / "p" / "app"))
    assert scope(home / "p" / "app" / "gone", home, app) == t.ScopeProject(value="id-app")
    tree = work_tree(home / "p" / "tool")
    assert scope(tree / "gone", home) == t.ScopeMachine()


def test_the_given_form_counts_before_the_real_one(home: Path) -> None:
    one, two = home / "one", home / "two"
    two.mkdir()
    one.mkdir()
    (one / "link").symlink_to(two)
    first, second = Project("id-1", str(one)), Project("id-2", str(two))
    assert scope(one / "link", home, first, second) == t.ScopeProject(value="id-1")


@pytest.mark.parametrize("root_form", ["given", "real"])
@pytest.mark.parametrize("directory_form", ["given", "real"])
def test_a_linked_home_with_the_root_in_either_form(
    tmp_path: Path, root_form: str, directory_form: str
) -> None:
    real = tmp_path / "var" / "home" / "u"
    (real / "p" / "app").mkdir(parents=True)
    (tmp_path / "home").symlink_to(tmp_path / "var" / "home")
    forms = {"given": tmp_path / "home" / "u", "real": real}
    app = Project("id-app", str(forms[root_form] / "p" / "app"))
    directory = forms[directory_form] / "p" / "app"
    assert scope(directory, forms["given"], app) == t.ScopeProject(value="id-app")
    for home in forms.values():
        assert place(home, forms["given"], app).basis is Basis.HOME_OR_ROOT
        assert place(home.parent, forms["given"], app).basis is Basis.HOME_OR_ROOT


def test_a_file_system_that_does_not_answer_leaves_the_name(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def too_slow(what: str, fn: object) -> Place:
        raise LookTimedOut(what)

    app = Project("id-app", str(home / "p" / "app"))
    places = Places(str(home), Registry(app), look=too_slow)  # type: ignore[arg-type]
    assert places.of(f"{home}/p/app/../app/src").scope == t.ScopeProject(value="id-app")
    assert places.of(str(home / "p")).scope == t.ScopeMachine()
    assert places.dotfiles() == ()
    assert "does not answer" in caplog.text


def test_what_counts_as_at_or_above_home(tmp_path: Path) -> None:
    real = tmp_path / "var" / "home"
    real.mkdir(parents=True)
    (tmp_path / "home").symlink_to(real)
    places = Places(str(tmp_path / "home"), NoProjects())
    for path in ("/", str(tmp_path), str(real), str(tmp_path / "home"), f"{real}/x/.."):
        assert places.is_at_or_above_home(path), path
    assert not places.is_at_or_above_home(f"{real}/x")


def test_a_turns_project_as_the_registry_is_now(home: Path) -> None:
    app, inner = (
        Project("1", str(home / "p" / "app")),
        Project("2", str(home / "p" / "app" / "src")),
    )
    link = home / "link"
    link.symlink_to(home / "p" / "app")

    def now(directory: Path, *projects: Project) -> Project | None:
        places = Places(str(home), Registry(*projects))
        return places.project_now(begun, str(directory))

    begun = place(link, home, app)
    assert begun.project == app
    assert now(link, app) == app
    assert now(link) is None, "it was taken out"
    link.unlink()
    link.symlink_to(home / "p" / "app" / "src")
    assert now(link, app, inner) == app, "a link that leads elsewhere now changes nothing"
    assert now(home / "p" / "app" / "src", app, inner) == inner
    begun = place(home / "notes", home, app)
    assert now(home / "notes", Project("3", str(home / "notes"))) == Project(
        "3", str(home / "notes")
    )
    assert now(home / "notes", app) is None
