"""config.toml: defaults, every kind of fault with its place, overrides, restart keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.config import load
from efr.config.errors import ConfigError
from efr.config.schema import RESTART_KEYS, Settings


def test_a_missing_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load.load(tmp_path / "config.toml", {}) == Settings()


FAULTS = [
    ("[shel]\nx = 1", "shel: unknown key; did you mean shell?"),
    (
        "[shell]\nidle_minute = 1",
        "shell.idle_minute: unknown key; did you mean shell.idle_minutes?",
    ),
    ("[shell]\nidle_minutes = -1", "shell.idle_minutes: expected `int` >= 0"),
    ("[shell]\nidle_minutes = true", "shell.idle_minutes: expected `int`, got `bool`"),
    ("x = = 1", "line 1, column 5: Invalid value"),
    ("log = 'loud'", "log: 'loud' is no log level; choose error, warn, info or debug"),
    (
        "[openai]\nmodels = [{id = 'b', context_window = 2}]",
        "openai.models[0].context_window: expected `int` >= 1000",
    ),
    ("[render.colors.diff]\nad = 1", "render.colors.diff: invalid enum value 'ad'"),
    (
        "[compatible]\nbase_url = 'localhost'",
        "compatible.base_url: expected `str` matching regex '^https?://[^\\\\s/]+\\\\S*$'",
    ),
]


@pytest.mark.parametrize(("text", "error"), FAULTS)
def test_a_fault_is_named_with_its_place(text: str, error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load.read(text.encode())
    assert str(caught.value) == error


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ConfigError, match="not UTF-8"):
        load.read(b"log = '\xff'")


def test_a_variable_wins_over_the_file_and_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("log = 'info'\n[shell]\nlogin = false\n")
    settings = load.load(path, {"EFR_LOG": "debug", "EFR_SCREEN": ""})
    assert (settings.log, settings.screen, settings.shell.login) == ("debug", "auto", False)
    with pytest.raises(ConfigError, match=r"\(from env EFR_LOG\)"):
        load.load(path, {"EFR_LOG": "loud"})


def test_restart_keys_keep_their_running_value() -> None:
    old = load.read(b"screen = 'auto'\n[model]\nprovider = 'demo'\n")
    new = load.read(b"screen = 'vt100'\n[model]\nprovider = 'openai-api'\nname = 'x'\n")
    assert load.changed_restart_keys(old, new) == ("model.provider", "screen")
    kept = load.keep_restart_keys(old, new)
    assert (kept.screen, kept.model.provider, kept.model.name) == ("auto", "demo", "x")


def test_every_restart_key_is_a_key() -> None:
    assert set(load.known_keys()) >= RESTART_KEYS


def test_the_page_names_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "config.md").read_text()
    tables = {
        key
        for key in load.known_keys()
        if any(other.startswith(f"{key}.") for other in load.known_keys())
    }
    colors = {key for key in load.known_keys() if key.startswith("render.colors.")}
    missing = [k for k in load.known_keys() if k not in tables | colors and f"`{k}`" not in page]
    assert missing == []
    assert [
        k for k in colors if f"`{k.rpartition('.')[2]}`" not in page and k != "render.colors.diff"
    ] == []
