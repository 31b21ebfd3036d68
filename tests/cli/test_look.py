"""What the terminal can show: colour modes, links, the user's palette."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.cli.look import color_mode, is_smart, look
from efr.cli.render.paint import ColorMode


def configured(folder: Path, text: str) -> dict[str, str]:
    (folder / "config").mkdir(exist_ok=True)
    (folder / "config" / "config.toml").write_text(text)
    return {"EFR_HOME": str(folder), "HOME": str(folder), "TERM": "xterm-256color"}


@pytest.mark.parametrize(
    ("env", "mode"),
    [
        ({}, ColorMode.SIXTEEN),
        ({"COLORTERM": "truecolor"}, ColorMode.TRUE),
        ({"COLORTERM": "24bit"}, ColorMode.TRUE),
        ({"COLORTERM": "truecolor", "NO_COLOR": "1"}, ColorMode.NONE),
        ({"NO_COLOR": ""}, ColorMode.SIXTEEN),
    ],
)
def test_color_mode(env: dict[str, str], mode: ColorMode) -> None:
    assert color_mode(env) is mode


@pytest.mark.parametrize(("term", "smart"), [("xterm", True), ("dumb", False), ("", False)])
def test_a_dumb_terminal_gets_the_pipes_view(term: str, smart: bool) -> None:
    assert is_smart({"TERM": term}) is smart


def test_no_terminal_gets_no_escape_code(tmp_path: Path) -> None:
    colors = look(configured(tmp_path, ""), terminal=False).colors

    assert (colors.mode, colors.links) == (ColorMode.PLAIN, False)


def test_links_are_for_terminals_that_hide_their_target(tmp_path: Path) -> None:
    env = configured(tmp_path, "")

    assert look(env, terminal=True).colors.links
    assert not look({**env, "TERM": "linux"}, terminal=True).colors.links


def test_the_users_colours_win_over_the_palette_file(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('[colors]\naccent = "red"\ncode = 4\ndiff.add = "#00ff00"\n')
    text = '[render]\npalette = "~/p.toml"\n[render.colors]\naccent = "blue"\n'
    looks = look(configured(tmp_path, text), terminal=True).colors.looks

    assert (looks["accent"].color, looks["code"].color, looks["diff.add"].color) == (
        4,
        4,
        "#00ff00",
    )


@pytest.mark.parametrize(
    ("config", "file", "fault"),
    [
        ('[render]\npalette = "/none.toml"\n', "", "config.toml: render.palette /none.toml"),
        ('[render]\npalette = "~/p.toml"\n', "[colors]\nx = 1\n", "x is no colour role"),
        ('[render]\npalette = "~/p.toml"\n', "[colors\n", "render.palette"),
        ('[render.colors]\ncode = "crimson"\n', "", 'not "crimson"; the defaults are used'),
        ("[render\n", "", "the defaults are used"),
    ],
)
def test_a_fault_is_one_line_and_the_defaults(
    tmp_path: Path, config: str, file: str, fault: str
) -> None:
    (tmp_path / "p.toml").write_text(file)
    found = look(configured(tmp_path, config), terminal=True)

    assert fault in found.fault
    assert found.colors.looks["code"].color == 6
