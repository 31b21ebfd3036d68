"""The listening Unix socket: bound privately, renamed into place, removed only when it is ours.

Owns no thread; `server.py` accepts on it. A stale socket is replaced, one that answers never is,
and anything that is not a socket stays untouched (unix(7), docs/architecture.md).
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
import tempfile
from pathlib import Path

from msgspec import Struct

from efr.base.roots import SOCKET_PATH_LIMIT

_BIND_PREFIX = ".bind-"
_BACKLOG = 128  # above the 64 connections, so a burst is accepted and closed, not refused
_ANSWER_S = 2.0  # how long a socket may take to accept before it counts as alive but stuck


class SocketTaken(Exception):
    """Something stands at the socket's path that efrd must not replace."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path


class Listener(Struct, frozen=True):
    """A bound, listening, non-blocking socket and the file it is reached by."""

    socket: socket.socket
    path: Path
    device: int
    inode: int

    @property
    def is_reached(self) -> bool:
        """Whether the file is there and is ours, so that clients find the socket."""
        try:
            facts = os.lstat(self.path)
        except OSError:
            return False  # the runtime root is gone, or somebody tidied up
        return (facts.st_dev, facts.st_ino) == (self.device, self.inode)

    def close(self) -> None:
        """Closes the socket and removes the file if it is still ours. May be called twice."""
        self.socket.close()
        if self.is_reached:
            self.path.unlink(missing_ok=True)


def bind(path: Path) -> Listener:
    """Listens at `path` with mode 0600. Raises SocketTaken, and OSError when it cannot bind."""
    if len(os.fsencode(path)) > SOCKET_PATH_LIMIT:
        raise OSError(f"{path}: longer than {SOCKET_PATH_LIMIT} bytes")
    check_free(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        listening.setblocking(False)
        facts = _place(listening, path)
        return Listener(listening, path, facts.st_dev, facts.st_ino)
    except BaseException:
        listening.close()
        raise


def remove_leftovers(runtime: Path, before_us: int) -> None:
    """Removes the private directories of binds that a kill interrupted before `before_us`."""
    for folder in runtime.glob(f"{_BIND_PREFIX}*"):
        if folder.is_dir() and folder.lstat().st_mtime_ns // 1000 < before_us:
            shutil.rmtree(folder, ignore_errors=True)


def check_free(path: Path) -> None:
    """Raises SocketTaken when another efrd listens there, or something that is no socket stands."""
    try:
        facts = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(facts.st_mode):
        raise SocketTaken(path, "is not a socket; efrd leaves it alone, remove it by hand")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_ANSWER_S)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return  # nobody listens: left by a daemon that was killed
        except OSError as exc:  # a full backlog, or no answer in time: somebody has it open
            raise SocketTaken(path, f"may be in use by another efrd ({exc})") from exc
    raise SocketTaken(path, "is in use by another efrd")


def _place(listening: socket.socket, path: Path) -> os.stat_result:
    """Binds in a fresh 0700 directory, so nobody can connect before the mode is 0600."""
    folder = Path(tempfile.mkdtemp(prefix=_BIND_PREFIX, dir=path.parent))
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # By the directory's descriptor: its own path may be longer than a socket's path can be.
        listening.bind(f"/proc/self/fd/{handle}/s")
        os.chmod(folder / "s", 0o600)
        facts = os.lstat(folder / "s")
        listening.listen(_BACKLOG)
        os.rename(folder / "s", path)
    finally:
        os.close(handle)
        shutil.rmtree(folder, ignore_errors=True)
    return facts
