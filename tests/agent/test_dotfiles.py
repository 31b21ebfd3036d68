"""Where dotfiles are kept in git."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.agent.dotfiles import Dotfiles, Layout, find_dotfiles
from tests.agent.test_repos import git, init


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "notes").mkdir(parents=True)
    return home


def bare(where: Path, work_tree: str | None = None) -> Path:
    init(where, "--bare")
    if work_tree is not None:
        git(where, "config", "core.worktree", work_tree)
        git(where, "config", "core.bare", "false")
    return where


def found(home: Path, data_home: str | None = None) -> list[tuple[Layout, str]]:
    return [
        (one.layout, str(Path(one.git_dir).relative_to(home)))
        for one in find_dotfiles((str(home),), data_home)
    ]


def test_a_plain_home_has_none(home: Path) -> None:
    (home / ".cache").mkdir()
    assert find_dotfiles((str(home),), None) == ()


def test_a_work_tree_at_home(home: Path) -> None:
    init(home)
    assert found(home) == [(Layout.HOME, ".git")]


def test_a_git_file_at_home_counts_and_one_that_leads_elsewhere_does_not(home: Path) -> None:
    init(home, "--separate-git-dir", str(home / ".dots.git"))
    assert found(home)[0] == (Layout.HOME, ".git")
    git(home / ".dots.git", "config", "core.worktree", str(home / "notes"))
    assert found(home) == []


@pytest.mark.parametrize(
    "place", [".local/share/yadm/repo.git", ".config/yadm/repo.git", ".yadm/repo.git"]
)
def test_yadm(home: Path, place: str) -> None:
    bare(home / place)
    assert found(home) == [(Layout.YADM, place)]


def test_yadm_follows_the_data_home(home: Path) -> None:
    bare(home / "data" / "yadm" / "repo.git")
    assert found(home, str(home / "data")) == [(Layout.YADM, "data/yadm/repo.git")]
    assert found(home, "data") == []


@pytest.mark.parametrize("named", ["HOME", "~", "~/", "..", "../notes/.."])
def test_a_bare_repository_whose_work_tree_is_home(home: Path, named: str) -> None:
    bare(home / ".cfg", named.replace("HOME", str(home)))
    assert found(home) == [(Layout.BARE, ".cfg")]


def test_a_link_that_leads_nowhere_hides_none(home: Path) -> None:
    bare(home / ".cfg", str(home))
    (home / ".loop").symlink_to(home / ".loop")
    (home / ".file").write_text("x")
    assert found(home) == [(Layout.BARE, ".cfg")]


def test_other_bare_repositories_are_none(home: Path) -> None:
    bare(home / ".one")  # used with --work-tree alone
    bare(home / ".two", str(home / "notes"))
    bare(home / "visible", str(home))
    assert found(home) == []


def test_all_of_them_in_their_order(home: Path) -> None:
    init(home)
    bare(home / ".yadm" / "repo.git")
    bare(home / ".config" / "yadm" / "repo.git")
    bare(home / ".dots", str(home))
    bare(home / ".cfg", str(home))
    assert found(home) == [
        (Layout.HOME, ".git"),
        (Layout.YADM, ".config/yadm/repo.git"),
        (Layout.YADM, ".yadm/repo.git"),
        (Layout.BARE, ".cfg"),
        (Layout.BARE, ".dots"),
    ]


def test_a_linked_home_is_named_by_either_form(tmp_path: Path) -> None:
    real = tmp_path / "var" / "home"
    real.mkdir(parents=True)
    given = tmp_path / "home"
    given.symlink_to(real)
    homes = (str(given), str(real))
    bare(real / ".given", str(given))
    bare(real / ".real", str(real))
    init(real)
    assert find_dotfiles(homes, None) == (
        Dotfiles(Layout.HOME, f"{given}/.git"),
        Dotfiles(Layout.BARE, f"{given}/.given"),
        Dotfiles(Layout.BARE, f"{given}/.real"),
    )
