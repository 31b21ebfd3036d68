"""The effective view of the settings. `defaults.txt` is the view of an empty file."""

from __future__ import annotations

import tomllib
from pathlib import Path

from efr.config.effective import render
from efr.config.load import known_keys, read
from efr.config.schema import Settings

FILE = b"""
log = "info,efr.agent=debug"
[model]
provider = "openai"
system_prompt = "one\\ntwo"
[openai]
models = ["a", { id = "b", context_window = 2000 }]
[render.colors]
text = "#ff0000"
[[permissions.rules]]
action = "execute"
effect = "allow"
resource = { command = { program = "ls", max_options = 1 } }
matches = ["ls -l"]
"""


def lines(text: str) -> dict[str, str]:
    return dict(line.split(" = ", 1) for line in text.splitlines())


def test_every_key_is_shown_once_in_the_order_of_the_tables() -> None:
    shown = list(lines(render(Settings(), b"", {})))
    tables = {key for key in known_keys() if any(k.startswith(f"{key}.") for k in known_keys())}
    assert shown == [key for key in known_keys() if key not in tables]


def test_each_value_says_where_it_comes_from() -> None:
    shown = lines(render(read(FILE), FILE, {"screen": "env EFR_SCREEN", "log": "flag --log"}))
    assert shown["log"] == '"info,efr.agent=debug"  # flag --log'
    assert shown["screen"] == '"auto"  # env EFR_SCREEN'
    assert shown["model.provider"] == '"openai"  # file'
    assert shown["model.name"] == "(unset)  # default"
    assert shown["model.system_prompt"] == "<7 bytes>  # file"
    assert shown["openai.models"] == '["a", { id = "b", context_window = 2000 }]  # file'
    assert shown["anthropic.models"] == "(from the API)  # default"
    assert shown["compatible.models"] == "(from the server)  # default"
    assert shown["render.colors.text"] == '"#ff0000"  # file'
    assert shown["render.colors.diff.add"] == "(unset)  # default"
    assert shown["permissions.rules"] == (
        '[{ action = "execute", resource = { command = { program = "ls", max_options = 1 } },'
        ' effect = "allow", matches = ["ls -l"] }]  # file'
    )
    assert shown["shell.login"] == "true  # default"
    assert shown["conversation.max_queued"] == "16  # default"


def test_shown_values_are_toml() -> None:
    for key, line in lines(render(read(FILE), FILE, {})).items():
        value = line.rsplit("  # ", 1)[0]
        if value[0] not in "(<":
            assert tomllib.loads(f"x = {value}"), key


def test_the_view_of_an_empty_file_is_as_it_was() -> None:
    frozen = Path(__file__).with_name("defaults.txt").read_text()
    assert render(Settings(), b"", {}) == frozen
