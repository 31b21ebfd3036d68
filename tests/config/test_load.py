"""config.toml: defaults, every kind of fault with its place, overrides, restart keys."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from efr.config import load
from efr.config.errors import ConfigError
from efr.config.keys import RESTART_KEYS
from efr.config.schema import Settings


def test_a_missing_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load.load(tmp_path / "config.toml", {}) == Settings()


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    os.mkfifo(path)
    for name in (path, "/dev/zero", tmp_path):
        with pytest.raises(ConfigError, match="cannot read"):
            load.load(name, {})
    path.unlink()
    path.write_bytes(b"#" * (load.SIZE_LIMIT + 1))
    with pytest.raises(ConfigError, match="more than 1048576 bytes"):
        load.load(path, {})


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "{a=" * 3000])
def test_a_file_that_nests_without_end_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="too deep"):
        load.read(text.encode())


RULE = "[[permissions.rules]]\naction = 'execute'\neffect = 'allow'\n"
GOOD_RULE = f"{RULE}resource = {{ command = {{ program = 'ls' }} }}\n"

FAULTS = [
    # Syntax, with the parser's place, also at the end of the file.
    ("x = = 1", "line 1, column 5: Invalid value"),
    ("x = 1\nx = 2\n", "line 2, column 6: Cannot overwrite a value"),
    (
        "# ü\n[shell",
        "line 2, column 7: Expected ']' at the end of a table declaration, and the file ends here",
    ),
    # Unknown keys: the place is that of the key, the hint the nearest one.
    ("[shel]\nx = 1", "line 1, column 1: shel: unknown key; did you mean shell?"),
    (
        "[shell]\nidle_minute = 1",
        "line 2, column 1: shell.idle_minute: unknown key; did you mean shell.idle_minutes?",
    ),
    (
        "idle_minutes = 1",
        "line 1, column 1: idle_minutes: unknown key; did you mean shell.idle_minutes?",
    ),
    ("zzzz = 1", "line 1, column 1: zzzz: unknown key"),
    (
        "[render.colors.diff]\nad = 1",
        "line 2, column 1: render.colors.diff.ad: unknown key; did you mean"
        " render.colors.diff.add?",
    ),
    (
        "shell = { login = true, 'prögram' = 1 }",
        "line 1, column 25: shell.prögram: unknown key; did you mean shell.program?",
    ),
    (
        f"{GOOD_RULE}{GOOD_RULE}{RULE}resource = {{ command = {{ 'ü' = 1, program = 'x' }} }}\n",
        "line 12, column 26: permissions.rules[2].resource.command.ü: unknown key",
    ),
    (
        f"{RULE}resourc = 'any'\n",
        "line 4, column 1: permissions.rules[0].resourc: unknown key; did you mean"
        " permissions.rules[0].resource?",
    ),
    # Types: the place is that of the value.
    (
        "[shell]\nidle_minutes = true",
        "line 2, column 16: shell.idle_minutes: must be a whole number, not true",
    ),
    (
        "[shell]\nidle_minutes = 60.0",
        "line 2, column 16: shell.idle_minutes: must be a whole number, not 60.0",
    ),
    (
        "log = '''\nü'''\nscreen = 1979-05-27",
        "line 3, column 10: screen: must be a text, not 1979-05-27",
    ),
    ("shell = 1", "line 1, column 9: shell: must be a table, not 1"),
    (
        "[sandbox]\nmask = [\n  '~/ü', # ü\n  '~/x', 3,\n]",
        "line 4, column 10: sandbox.mask[2]: must be a text, not 3",
    ),
    (
        "[render]\ncolors = { text = 'red', diff = { add = true } }",
        "line 2, column 41: render.colors.diff.add: must be a whole number or a text, not true",
    ),
    (
        "permissions.rules = ['x']",
        'line 1, column 22: permissions.rules[0]: must be a table, not "x"',
    ),
    (RULE, "line 1, column 1: permissions.rules[0].resource: is missing"),
    ("openai.models = ['', {}]", "line 1, column 22: openai.models[1].id: is missing"),
    # Rules: the place is that of the rule.
    (
        f"{GOOD_RULE}{RULE}resource = {{ command = {{ program = 'a b' }} }}\n",
        "line 5, column 1: permissions.rules[1].resource.command.program: efr does not take this"
        " rule: one word of letters, digits and - _ . / : , + @ % = that does not start with - or"
        " =",
    ),
    (
        "[[permissions.rules]]\naction = 'any'\nresource = 'any'\neffect = 'contain'\n",
        "line 1, column 1: permissions.rules[0].effect: must be one of allow, ask, deny, not"
        ' "contain"',
    ),
    (
        f"{RULE}resource = {{ }}\n",
        "line 1, column 1: permissions.rules[0].resource: must name one of class, under, command"
        " and exit",
    ),
    (
        f"{RULE}resource = {{ under = '~/x', class = 'system' }}\n",
        "line 1, column 1: permissions.rules[0].resource: must name one of class, under, command"
        " and exit",
    ),
    # Ranges: the place is that of the value.
    (
        "[shell]\nidle_minutes = -1",
        "line 2, column 16: shell.idle_minutes: must be from 0 to 525600, not -1",
    ),
    (
        "# ü\r\nlog = 'loud' # ü\r\n",
        "line 2, column 7: log: must be error, warn, info or debug, also as in"
        ' info,efr.agent=debug, not "loud"',
    ),
    (
        "permissions.mode = 'fast'",
        "line 1, column 20: permissions.mode: must be one of manual, cautious, auto, full, not"
        ' "fast"',
    ),
    (
        "[openai]\nmodels = ['a', {id = 'b', context_window = 2}]",
        "line 2, column 16: openai.models[1]: must be an id, or { id, context_window (from 1000 to"
        " 100000000), max_output_tokens (from 1 to 1000000, below the window) }, not"
        ' { id = "b", context_window = 2 }',
    ),
    (
        "[compatible]\nbase_url = 'localhost'",
        "line 2, column 12: compatible.base_url: must be an address that starts with http:// or"
        ' https://, not "localhost"',
    ),
    # The order: shapes, then rules, then ranges, each in the order of the file.
    (
        "screen = 'x'\n[shell]\nlogin = 1",
        "line 3, column 9: shell.login: must be true or false, not 1",
    ),
    (
        f"screen = 'x'\n{RULE}resource = {{ }}\n",
        "line 2, column 1: permissions.rules[0].resource: must name one of class, under, command"
        " and exit",
    ),
    (
        "[shell]\nidle_minutes = -1\n[model]\nname = ''\n[shell.x]\n",
        "line 5, column 1: shell.x: unknown key",
    ),
    (
        "[remote]\nport = 80\n[model]\nname = ''\n",
        "line 2, column 8: remote.port: must be 0, or from 1024 to 65535, not 80",
    ),
]


@pytest.mark.parametrize(("text", "error"), FAULTS)
def test_a_fault_is_named_with_its_place(text: str, error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load.read(text.encode())
    assert str(caught.value) == error


def test_a_long_value_is_cut_in_its_message() -> None:
    with pytest.raises(ConfigError) as caught:
        load.read(f"screen = '{'x' * 500}'".encode())
    assert len(str(caught.value)) < 200


def test_bytes_that_are_no_text_are_refused_with_their_place() -> None:
    with pytest.raises(ConfigError) as caught:
        load.read("# ü\nlog = '".encode() + b"\xff'")
    assert str(caught.value) == "line 2, column 8: the file is not UTF-8 (byte 12)"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "screen = true\n".encode("utf-8-sig"),
            "line 1, column 1: the file starts with a byte order mark (U+FEFF); save it as UTF-8"
            " without one",
        ),
        (
            "screen = true\n".encode("utf-16"),
            "line 1, column 1: the file is UTF-16; save it as UTF-8",
        ),
    ],
)
def test_a_mark_that_no_editor_shows_is_named(text: bytes, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load.read(text)
    assert str(caught.value) == fault


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"cannot read {tmp_path}: Is a directory"):
        load.load(tmp_path, {})


def test_a_variable_wins_over_the_file_and_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("log = 'info'\n[shell]\nlogin = false\n")
    settings = load.load(path, {"EFR_LOG": "debug", "EFR_SCREEN": ""})
    assert (settings.log, settings.screen, settings.shell.login) == ("debug", "auto", False)
    with pytest.raises(ConfigError, match=r"^log: must be .* \(from env EFR_LOG\)$"):
        load.load(path, {"EFR_LOG": "loud"})
    with pytest.raises(ConfigError, match=r"^screen: must be one of .* \(from env EFR_SCREEN\)$"):
        load.load(path, {"EFR_SCREEN": "big"})


def test_restart_keys_keep_their_running_value() -> None:
    old = load.read(b"screen = 'auto'\n[model]\nprovider = 'demo'\n")
    new = load.read(b"screen = 'vt100'\n[model]\nprovider = 'openai-api'\nname = 'x'\n")
    assert load.changed_restart_keys(old, new) == ("model.provider", "screen")
    kept = load.keep_keys(old, new, RESTART_KEYS)
    assert (kept.screen, kept.model.provider, kept.model.name) == ("auto", "demo", "x")
