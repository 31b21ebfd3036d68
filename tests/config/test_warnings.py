"""What a good file is warned of."""

from __future__ import annotations

import pytest

from efr.config.load import read
from efr.config.warnings import foreign_model, warnings

SOCKET = (
    "[[permissions.rules]]\naction = 'exit'\neffect = '{}'\n"
    "resource = {{ exit = {{ kind = 'socket', path = '{}' }} }}\n"
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ()),
        ("screen = 'ghostty'", ('screen = "ghostty": this efrd has one kind of screen',)),
        ("network.bus_filter = false", ("network.bus_filter is off",)),
        (SOCKET.format("allow", "~/.ssh/x"), ("permissions.rules[0] does nothing: ~/.ssh/x is a",)),
        (SOCKET.format("deny", "~/.ssh/x"), ()),
        (SOCKET.format("allow", "/run/x"), ()),
        (
            "permissions.secret_paths = ['~/s']\n" + SOCKET.format("allow", "~/s/x"),
            ("permissions.rules[0] does nothing: ~/s/x is a secret",),
        ),
        (
            "sandbox.mask = ['~/s']\n" + SOCKET.format("allow", "~/s"),
            ("permissions.rules[0] does nothing: ~/s is masked",),
        ),
        (
            "sandbox.protect = ['/s']\n" + SOCKET.format("allow", "/s/../s/x"),
            ("permissions.rules[0] does nothing: /s/../s/x is protected",),
        ),
    ],
)
def test_warnings(text: str, told: tuple[str, ...]) -> None:
    found = warnings(read(text.encode()))
    assert len(found) == len(told)
    assert all(one.startswith(start) for one, start in zip(found, told, strict=True)), found


def test_a_foreign_model_is_told_unless_it_is_listed() -> None:
    model = "model = { provider = 'openai', name = 'claude-x' }\n"
    assert foreign_model(read(model.encode())) is not None
    assert foreign_model(read(f"{model}openai.models = ['claude-x']\n".encode())) is None
    assert foreign_model(read(b"model.name = 'claude-x'")) is None
