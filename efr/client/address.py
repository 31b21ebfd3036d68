"""Where the daemon listens, for a client (docs/config.md, "Roots")."""

from __future__ import annotations

import os
from collections.abc import Mapping

from efr.base.root_rules import RootError, runtime_root
from efr.client.errors import NoAddress

SOCKET_NAME = "daemon.sock"
PATH_LIMIT = 107  # bytes: sun_path of unix(7) without its NUL


def socket_path(env: Mapping[str, str]) -> str:
    """The path of the socket. Raises NoAddress, also for a path the kernel does not take."""
    try:
        root, _source = runtime_root(env, os.getuid())
    except RootError as exc:
        raise NoAddress(exc.why, exc.fix) from exc
    path = os.path.join(root, SOCKET_NAME)
    size = len(os.fsencode(path))
    if size > PATH_LIMIT:
        raise NoAddress(
            f"the socket path {path} has {size} bytes, the limit is {PATH_LIMIT}",
            "set EFR_RUNTIME_DIR to a shorter directory",
        )
    return path
