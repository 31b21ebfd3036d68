"""Where a client looks for the daemon: the same place as `efr.base.roots` names."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from efr.base.roots import RootError, runtime_root
from efr.client.address import PATH_LIMIT, socket_path
from efr.client.errors import NoAddress

ENVIRONMENTS: list[Mapping[str, str]] = [
    {"EFR_RUNTIME_DIR": "/a/b"},
    {"EFR_RUNTIME_DIR": "/a//b/./c/"},
    {"EFR_RUNTIME_DIR": "", "EFR_HOME": "/h"},
    {"EFR_RUNTIME_DIR": "/a", "EFR_HOME": "/h", "XDG_RUNTIME_DIR": "/x"},
    {"EFR_HOME": "/h/", "XDG_RUNTIME_DIR": "/x"},
    {"XDG_RUNTIME_DIR": "/x"},
    {"XDG_RUNTIME_DIR": "relative"},
    {"EFR_HOME": "relative"},
    {"EFR_RUNTIME_DIR": "relative", "EFR_HOME": "/h"},
    {"EFR_RUNTIME_DIR": "/"},
    {},
]


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_the_rule_is_that_of_the_roots(env: Mapping[str, str]) -> None:
    try:
        expected = str(runtime_root(env, os.getuid()).path / "daemon.sock")
    except RootError:
        with pytest.raises(NoAddress):
            socket_path(env)
    else:
        assert socket_path(env) == expected


def test_a_path_that_the_kernel_does_not_take() -> None:
    fits = "/" + "x" * (PATH_LIMIT - 1 - len("/daemon.sock"))

    assert socket_path({"EFR_RUNTIME_DIR": fits}).endswith("x/daemon.sock")
    with pytest.raises(NoAddress, match="108 bytes") as caught:
        socket_path({"EFR_RUNTIME_DIR": fits + "x"})
    assert "EFR_RUNTIME_DIR" in caught.value.fix
