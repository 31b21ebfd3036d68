"""A write to what a link of the home leads to is a write to the user's settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from efr.agent.permission import _looked_up
from efr.policy.engine import Rules, decide
from efr.policy.needs import Access, CallNeeds, PathUse, Place
from efr.policy.rules import Rule, Under

HOME_LINKS = {
    ".zshrc": "zsh/zshrc",
    ".config/nvim": "nvim",
    ".config/git/config": "git/config",
    ".local/bin/tool": "bin/tool",
    "shortcut": "notes",
    ".config/gone": "gone",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A project of dotfiles, and a home whose links lead into it."""
    home = tmp_path / "home"
    project = home / "dotfiles"
    for name in ("zsh", "nvim", "git", "bin", "notes"):
        (project / name).mkdir(parents=True)
    for link, target in HOME_LINKS.items():
        (home / link).parent.mkdir(parents=True, exist_ok=True)
        (home / link).symlink_to(project / target)
    return Place(
        home=str(home),
        home_real=str(home),
        config_dir=f"{home}/.config/efr",
        data_dir=f"{home}/.local/share/efr",
        project_root=str(project),
    )


def effect(place: Place, path: str, access: Access = "write", rules: Rules | None = None) -> str:
    use = PathUse(f"{place.project_root}/{path}", access)
    call = CallNeeds("write_file", (use,))
    return decide(_looked_up(call, place), "cautious", "shell", place, rules or Rules()).effect


@pytest.mark.parametrize(
    "path", ["zsh/zshrc", "nvim/init.lua", "nvim/lua/x.lua", "git/config", "bin/tool", "gone"]
)
def test_what_a_link_leads_to_is_written_after_a_question(place: Place, path: str) -> None:
    assert effect(place, path) == "ask"
    assert effect(place, path, "read") == "allow"
    allowed = Rules((Rule("write", Under(str(place.project_root)), "allow"),))
    assert effect(place, path, rules=allowed) == "allow"


@pytest.mark.parametrize("path", ["zsh/other", "README.md", "notes/a", "git/config.d/x"])
def test_everything_else_of_the_project_is_written_at_once(place: Place, path: str) -> None:
    assert effect(place, path) == "allow"


def test_a_link_to_the_whole_project_or_above_it_changes_nothing(place: Place) -> None:
    Path(place.home, ".config", "all").symlink_to(str(place.project_root))
    Path(place.home, ".home").symlink_to(place.home)
    assert effect(place, "README.md") == "allow"
    inner = replace(place, project_root=f"{place.project_root}/nvim")
    assert effect(inner, "init.lua") == "allow"
