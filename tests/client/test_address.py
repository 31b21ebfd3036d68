"""Where a client looks for the daemon: the same place as the daemon's own paths name."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from efr.base.roots import RootError, runtime_root
from efr.client.address import PATH_LIMIT, socket_path
from efr.client.errors import NoAddress

ENVIRONMENTS: list[tuple[Mapping[str, str], str]] = [
    ({"EFR_RUNTIME_DIR": "/a/b"}, "/a/b"),
    ({"EFR_RUNTIME_DIR": "/a//b/./c/"}, "/a/b/c"),
    ({"EFR_RUNTIME_DIR": "", "EFR_HOME": "/h"}, "/h/runtime"),
    ({"EFR_RUNTIME_DIR": "/a", "EFR_HOME": "/h", "XDG_RUNTIME_DIR": "/x"}, "/a"),
    ({"EFR_HOME": "/h/", "XDG_RUNTIME_DIR": "/x"}, "/h/runtime"),
    ({"XDG_RUNTIME_DIR": "/x"}, "/x/efr"),
    ({"XDG_RUNTIME_DIR": "/x/"}, "/x/efr"),
    ({"EFR_RUNTIME_DIR": "/"}, ""),
    ({"EFR_HOME": "/"}, "/runtime"),
    ({"EFR_HOME": "relative"}, "EFR_HOME is 'relative'"),
    ({"EFR_RUNTIME_DIR": "relative", "EFR_HOME": "/h"}, "EFR_RUNTIME_DIR is 'relative'"),
]


@pytest.mark.parametrize(("env", "where"), ENVIRONMENTS)
def test_the_socket_is_where_the_runtime_root_is(env: Mapping[str, str], where: str) -> None:
    if " is " in where:
        with pytest.raises(NoAddress, match=where) as caught:
            socket_path(env)
        assert "to an absolute path" in caught.value.fix
        with pytest.raises(RootError, match=where):
            runtime_root(env, os.getuid())
    else:
        assert socket_path(env) == f"{where}/daemon.sock"
        assert str(runtime_root(env, os.getuid()).path / "daemon.sock") == f"{where}/daemon.sock"


@pytest.mark.parametrize("env", [{}, {"XDG_RUNTIME_DIR": "relative"}])
def test_without_variables_it_is_below_run_user_or_nowhere(env: Mapping[str, str]) -> None:
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
