"""Every declared key: its default, both ends of its range, one step outside, and a wrong type."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import inspect

from efr.config.declared import Declared, declared, members, tables
from efr.config.errors import ConfigError
from efr.config.forms import Range
from efr.config.keys import KEYS, RESTART_KEYS
from efr.config.load import known_keys, read, value_of
from efr.config.schema import Settings
from efr.config.toml import inline

ALL = list(declared().values())


def set_to(key: str, value: Any) -> Any:
    """What a file with just this key gives."""
    return value_of(read(f"{key} = {inline(value)}\n".encode()), key)


def test_types_and_texts_are_declared_for_the_same_keys_in_the_same_order() -> None:
    assert [one.name for one in ALL] == list(KEYS)
    names = {table.name for table in tables() if table.name}
    assert set(known_keys()) == {*KEYS, *names}


def test_the_restart_keys() -> None:
    assert sorted(RESTART_KEYS) == [
        "anthropic.base_url",
        "anthropic.cache_ttl",
        "anthropic.workspace_id",
        "compatible.base_url",
        "model.provider",
        "openai.api_base_url",
        "openai.organization",
        "openai.originator",
        "openai.project",
        "openai.subscription_base_url",
        "openai.websocket",
        "remote.enabled",
        "remote.port",
        "screen",
    ]


def is_list(one: Declared) -> bool:
    return any(isinstance(kind, inspect.VarTupleType) for kind in members(one.kind))


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_a_key_takes_its_default_and_refuses_another_type(one: Declared) -> None:
    if one.default is not None:
        value = list(one.default) if isinstance(one.default, tuple) else one.default
        assert set_to(one.name, value) == one.default
    with pytest.raises(ConfigError, match=f"{one.name}: must be .*, not 2.5"):
        set_to(one.name, 2.5)
    assert value_of(Settings(), one.name) == one.default


@pytest.mark.parametrize("one", [one for one in ALL if isinstance(one.key.range, Range)], ids=str)
def test_a_number_is_taken_up_to_both_ends(one: Declared) -> None:
    assert isinstance(one.key.range, Range)
    low, high = one.key.range
    assert set_to(one.name, low) == low
    for outside in (low - 1, *(() if high is None else (high + 1,))):
        with pytest.raises(ConfigError, match=f"{one.name}: must be .*, not {outside}"):
            set_to(one.name, outside)
    if high is not None:
        assert set_to(one.name, high) == high


@pytest.mark.parametrize("one", [one for one in ALL if one.choices], ids=lambda one: one.name)
def test_an_enum_takes_its_choices_alone(one: Declared) -> None:
    for choice in one.choices:
        assert set_to(one.name, choice) == choice
    with pytest.raises(ConfigError, match="must be one of"):
        set_to(one.name, one.choices[0] + "x")


GOOD_AND_BAD: list[tuple[str, list[Any], list[Any]]] = [
    ("model.name", ["gpt-5.4", " x "], ["", "  ", "\n"]),
    ("model.effort", ["high", "x-y_2"], ["", "High", "a b", "x" * 33]),
    (
        "compatible.base_url",
        ["http://h", "https://h:1/v1?x"],
        ["h", "ftp://h", "http:///x", "http://a b", "http://"],
    ),
    ("shell.program", ["/bin/zsh"], ["zsh", "~/zsh", ""]),
    ("permissions.secret_paths", [["~", "~/x", "/"]], [["x"], ["~u/x"], ["./x"], [""]]),
    (
        "sandbox.write_roots",
        [["~/x", "/srv/x", "/a/../b"]],
        [["~"], ["/"], ["~/"], ["~/."], ["/a/.."], ["~/x/../.."], ["x"]],
    ),
    (
        "sandbox.mask_globs",
        [["*.key", "!a/b", ".env"]],
        [[""], ["!"], ["/x"], ["a//b"], ["../x"], ["a/.."], ["x/"]],
    ),
    ("sandbox.env_deny", [["AWS_*", "_X", "*"]], [["1X"], ["A-B"], [""], ["A.B"]]),
    ("sandbox.rebuildable", [["target", ".venv", "..."]], [[""], ["a/b"], ["."], [".."]]),
    (
        "network.allow",
        [["h", "a.b:8443", "*.b.org"]],
        [
            ["http://a"],
            ["1.2.3.4"],
            ["a:0"],
            ["a:70000"],
            ["*"],
            ["a*.b"],
            ["[::1]"],
            ["-a.b"],
            ["a..b"],
            [""],
        ],
    ),
    ("remote.port", [0, 1024, 65535], [1, 1023, 65536, -1]),
    (
        "render.colors.text",
        [0, 15, "7", "07", "15", "red", "bright-blue", "#00fFaa"],
        [16, -1, "16", "Red", "#00ff", "bright-", ""],
    ),
    (
        "openai.models",
        [["m", {"id": "m", "context_window": 1000, "max_output_tokens": 999}]],
        [
            [""],
            [{"id": " "}],
            [{"id": "m", "context_window": 999}],
            [{"id": "m", "context_window": 100_000_001}],
            [{"id": "m", "max_output_tokens": 0}],
            [{"id": "m", "context_window": 1000, "max_output_tokens": 1000}],
        ],
    ),
    ("log", ["warn", "info,efr.agent=debug"], ["", "loud", "info,,"]),
]


@pytest.mark.parametrize(("key", "good", "bad"), GOOD_AND_BAD)
def test_a_form_takes_and_refuses(key: str, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        set_to(key, value)
    for value in bad:
        with pytest.raises(ConfigError, match="must be"):
            set_to(key, value)
