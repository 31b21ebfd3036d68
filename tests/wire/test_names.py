"""`types`, `events` and `methods`: every name is there, and none is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from efr.wire import events, methods, types

MODULES = [types, events, methods]


@pytest.mark.parametrize("module", MODULES)
def test_every_listed_name_is_there(module: Any) -> None:
    for home, names in module.HOMES.items():
        assert list(names) == sorted(names)
        for name in names:
            assert getattr(module, name) is getattr(import_module(home), name)


@pytest.mark.parametrize("module", MODULES)
def test_every_type_of_a_listed_module_is_listed(module: Any) -> None:
    for home, names in module.HOMES.items():
        source = import_module(home)
        if home.rsplit(".", 1)[0] not in ("efr.wire.shared", "efr.wire.method"):
            continue
        own = {
            name
            for name, value in vars(source).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == home
        }
        assert own <= set(names)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"efr\.wire\.types has no Nonsense"):
        getattr(types, "Nonsense")  # noqa: B009 - mypy knows that it is not there


def test_the_names_load_nothing_and_a_prompt_loads_little() -> None:
    script = """
import sys
from efr.wire import events, methods as m, types as t
assert "msgspec" not in sys.modules
m.HelloParams(protocol=1, origin=t.Origin.CLI)
m.PromptSendParams(command_id="", text="")
print(*sorted(n for n in sys.modules if n.startswith("efr.wire.")))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    loaded = done.stdout.split()
    assert done.stderr == ""
    assert "efr.wire.method.prompts" in loaded
    assert not {"efr.wire.event.union", "efr.wire.shared.exits", "efr.wire.method.admin"} & set(
        loaded
    )
