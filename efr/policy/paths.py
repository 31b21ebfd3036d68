"""Paths by their text: normal form, class, secrets, and what lies below.

Pure: nothing is looked up on a disk; links come in as further paths. Every form of the home (as
given, without links) is one place. Secret locations stand in `efr.policy.secret_places`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import Final

from msgspec import Struct

from efr.policy.needs import Place
from efr.policy.rules import PathClass
from efr.policy.secret_places import BROWSERS, LOGIN, SECRETS_ELSEWHERE, SECRETS_IN_HOME

# How messages call a class.
CLASS_WORDS: Final[dict[PathClass, str]] = {
    "secrets": "secrets",
    "scratch": "scratch",
    "user_config": "user config",
    "user_data": "user data",
    "system": "system",
}

# A process shows its environment, and through these links everything that it can reach.
_PROCESS: Final = r"/proc/(?:self|thread-self|[0-9]+)(?:/task/[0-9]+)?"
_SECRET_OF_PROCESS: Final = re.compile(
    rf"{_PROCESS}/(?:environ|root|cwd|fd|map_files|mem)(?:/.*)?", re.DOTALL
)
# Directories with such an entry below them.
_ABOVE_PROCESSES: Final = re.compile(rf"/|/proc|{_PROCESS}(?:/task)?")
# Below /dev, what shows nobody's data, and folders that hold nodes. The rest are devices: a disk
# holds every file, a terminal gives away what is typed into it.
_NO_DEVICE: Final = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|tty|stdin|stdout|stderr|(?:fd|shm|mqueue)(?:/.*)?"
    r"|pts|input|mapper|block|char|bus|cpu|dri|net|snd|vfio|disk(?:/by-[a-z]+)?)",
    re.DOTALL,
)
# Dot entries of the home that hold data and not settings.
DATA_IN_HOME: Final = (".local/share", ".local/state", ".cache")


def normal(path: str) -> str:
    """An absolute path without `.`, `..` and empty parts; `..` never leads above `/`."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def holds(root: str, path: str) -> bool:
    """Whether the path is the root or below it, by whole parts; both in normal form."""
    return path == root or path.startswith(root if root == "/" else root + "/")


def holders(path: str) -> Iterator[str]:
    """The path and every directory above it, for a path in normal form."""
    yield path
    while path != "/":
        path = path[: path.rindex("/")] or "/"
        yield path


class PathView(Struct, frozen=True, dict=True):  # a dict for what is cached
    """One `Place` in normal form, and the questions that a decision asks about a path."""

    home: str
    home_real: str
    scratch: str | None = None
    project_root: str | None = None
    projects: tuple[str, ...] = ()
    sealed: tuple[str, ...] = ()  # closed to everybody, whatever a rule says
    config: tuple[str, ...] = ()  # efr's settings: read freely, never written
    data: tuple[str, ...] = ()  # efr's own files: likewise, but for the scratch folder
    secrets: frozenset[str] = frozenset()  # the sealed ones included

    @cached_property
    def _above_secrets(self) -> dict[str, list[str]]:
        """Every directory with a secret strictly below it, and which."""
        found: dict[str, list[str]] = {}
        for secret in sorted(self.secrets):
            for above in islice(holders(secret), 1, None):
                found.setdefault(above, []).append(secret)
        return found

    def form(self, path: str) -> str:
        """The normal form, with the home as it was given."""
        path = normal(path)
        if self.home_real != self.home and holds(self.home_real, path):
            return normal(self.home + path[len(self.home_real) :])
        return path

    def shown(self, path: str) -> str:
        """For a person: `~` for the home."""
        return "~" + path[len(self.home) :] if holds(self.home, path) else path

    def class_of(self, path: str, *, is_config: bool = False) -> PathClass:
        """The class of a path that `form` gave; what a repository holds makes git run programs."""
        if self._is_secret(path):
            return "secrets"
        found = self._plain_class(path)
        is_config = is_config or ".git" in path.lower().split("/")  # on any file system
        return "user_config" if is_config and found in ("scratch", "user_data") else found

    def expanded(self, path: str) -> str:
        """The form of a path that may start with `~`."""
        is_home = path == "~" or path.startswith("~/")
        return self.form(self.home + path[1:] if is_home else path)

    def _is_secret(self, path: str) -> bool:
        if any(above in self.secrets for above in holders(path)):
            return True
        if holds(self.home, path) and LOGIN.fullmatch(path, len(self.home) + 1):
            return True
        return _SECRET_OF_PROCESS.fullmatch(path) is not None

    def through_process(self, path: str) -> str | None:
        """The entry of a process that an unfolded path goes through; what a `..` behind it folds.

        Such a link leads another process elsewhere than us, so nothing behind it can be judged.
        """
        if "/proc" not in path:
            return None
        parts: list[str] = []
        for part in path.split("/"):
            if part == "..":
                del parts[-1:]
            elif part not in ("", "."):
                parts.append(part)
                if _SECRET_OF_PROCESS.fullmatch("/" + "/".join(parts)):
                    return "/" + "/".join(parts)
        return None

    def is_sealed(self, path: str) -> bool:
        """Whether no rule opens it."""
        return any(holds(root, path) for root in self.sealed)

    def _plain_class(self, path: str) -> PathClass:
        if self.scratch is not None and holds(self.scratch, path):
            return "scratch"
        if not holds(self.home, path):
            return "system"
        inside = path[len(self.home) + 1 :]
        if not inside.startswith("."):
            return "user_data"
        is_data = any(holds(data, inside) for data in DATA_IN_HOME)
        return "user_data" if is_data else "user_config"

    def is_device(self, path: str) -> bool:
        """Whether a read there takes what no file's permissions guard."""
        return path.startswith("/dev/") and _NO_DEVICE.fullmatch(path) is None

    def in_project(self, path: str) -> bool:
        """Whether a write there is below the turn's project; the root itself is not."""
        root = self.project_root
        return root is not None and path != root and holds(root, path)

    def write_seal(self, path: str) -> str | None:
        """Whose files they are when nobody but efr writes this path, else None."""
        if any(holds(root, path) for root in self.config):
            return "efr's settings"
        if self.scratch is not None and holds(self.scratch, path):
            return None
        return "efr's data" if any(holds(root, path) for root in self.data) else None

    def seal_below(self, path: str) -> str | None:
        """Whose files lie strictly below a directory and would go with it."""
        if any(is_above(path, root) for root in self.config):
            return "efr's settings"
        return "efr's data" if any(is_above(path, root) for root in self.data) else None

    def shows_processes(self, path: str) -> bool:
        """Whether the environment of a process lies below a directory."""
        return _ABOVE_PROCESSES.fullmatch(path) is not None

    def shows_logins(self, path: str) -> bool:
        """Whether files of a browser's profile may lie below a directory."""
        roots = (f"{self.home}/{root}" for root in BROWSERS)
        return any(holds(path, root) or holds(root, path) for root in roots)

    def secrets_below(self, path: str) -> Sequence[str]:
        """The secret locations strictly below a directory."""
        return self._above_secrets.get(path, ())


@lru_cache(maxsize=64)  # a turn asks for each of its calls
def view(place: Place) -> PathView:
    """The place in normal form. A folder at a home, above one or at `/` widens nothing.

    Raises ValueError for a home that is relative or `/`, or whose forms lie inside each other.
    """
    home, home_real = normal(place.home), normal(place.home_real)
    if not place.home.startswith("/") or not place.home_real.startswith("/") or home == "/":
        raise ValueError(f"{place.home!r} ({place.home_real!r}) is no home")
    if home != home_real and (holds(home, home_real) or holds(home_real, home)):
        raise ValueError(f"the homes {home!r} and {home_real!r} lie inside each other")
    plain = PathView(home, home_real)
    data = (place.data_dir,) if place.data_real is None else (place.data_dir, place.data_real)
    sealed = tuple(plain.form(f"{root}/secrets") for root in data)
    inside = (f"{place.home}/{name}" for name in SECRETS_IN_HOME)
    named = (*inside, *SECRETS_ELSEWHERE, *place.secret_paths)
    return PathView(
        home,
        home_real,
        scratch=_widening(plain, place.scratch),
        project_root=_widening(plain, place.project_root),
        projects=tuple(map(plain.form, place.projects)),
        sealed=sealed,
        config=tuple(map(plain.form, (place.config_dir, *place.config_real))),
        data=tuple(map(plain.form, data)),
        secrets=frozenset((*sealed, *map(plain.form, named))),
    )


def _widening(plain: PathView, root: str | None) -> str | None:
    if root is None:
        return None
    root = plain.form(root)
    return None if holds(root, plain.home) or holds(root, plain.home_real) else root


def is_above(path: str, root: str) -> bool:
    """Whether the root lies strictly below the path."""
    return path != root and holds(path, root)
