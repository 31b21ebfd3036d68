"""Where the daemon listens, for a client (docs/config.md, "Roots").

The rule of `efr.base.roots.runtime_root` once more, on plain strings: that module's own imports
take as long as the whole rest of the command's way to its first frame. A test holds the two
together over a table of environments.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from efr.client.errors import NoAddress

SOCKET_NAME = "daemon.sock"
PATH_LIMIT = 107  # bytes: sun_path of unix(7) without its NUL


def socket_path(env: Mapping[str, str]) -> str:
    """The path of the socket. Raises NoAddress, also for a path the kernel does not take."""
    path = f"{_runtime_root(env)}/{SOCKET_NAME}"
    size = len(os.fsencode(path))
    if size > PATH_LIMIT:
        raise NoAddress(
            f"the socket path {path} has {size} bytes, the limit is {PATH_LIMIT}",
            "set EFR_RUNTIME_DIR to a shorter directory",
        )
    return path


def _runtime_root(env: Mapping[str, str]) -> str:
    """The runtime root: its own variable, EFR_HOME, XDG, then /run/user."""
    for variable, below in (("EFR_RUNTIME_DIR", ""), ("EFR_HOME", "/runtime")):
        if value := env.get(variable, ""):
            if not os.path.isabs(value):
                raise NoAddress(f"{variable} is {value!r}", f"set {variable} to an absolute path")
            return _plain(value) + below
    xdg = env.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(xdg):
        return f"{_plain(xdg)}/efr"
    fallback = f"/run/user/{os.getuid()}"
    if _is_private_dir(fallback):
        return f"{fallback}/efr"
    raise NoAddress(
        f"no runtime directory: XDG_RUNTIME_DIR is not set and {fallback} is not a directory of "
        "yours with mode 0700",
        "set EFR_RUNTIME_DIR",
    )


def _plain(path: str) -> str:
    """As pathlib writes a path: no doubled slash, no dot, no slash at the end."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    return "/" + "/".join(parts) if parts else ""


def _is_private_dir(path: str) -> bool:
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    owned = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid()
    return owned and stat.S_IMODE(facts.st_mode) == 0o700
