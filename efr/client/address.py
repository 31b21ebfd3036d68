"""Where the daemon listens, for a client: needs the runtime root alone (docs/config.md, "Roots").

Light, because the command's fast path asks it first.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from efr.base.roots import SOCKET_PATH_LIMIT, RootError, runtime_root

SOCKET_NAME = "daemon.sock"


def socket_path(env: Mapping[str, str]) -> str:
    """The path of the socket. Raises RootError, also for a path the kernel does not take."""
    path = f"{runtime_root(env, os.getuid()).path}/{SOCKET_NAME}"
    size = len(os.fsencode(path))
    if size > SOCKET_PATH_LIMIT:
        raise RootError(
            f"the socket path {path} has {size} bytes, the limit is {SOCKET_PATH_LIMIT}; "
            "set EFR_RUNTIME_DIR to a shorter directory"
        )
    return path
