"""The settings of now: the file, the variables and flags over it, and what the last reload said.

Any thread reads `current`; one reload at a time replaces it as a whole. A reload checks the whole
file first, so an error changes nothing; keys that need a restart keep their running value and are
listed until the file has that value again. While a turn runs in full mode, what loosens is held:
those keys keep their value until the user asks for a reload, or the file no longer loosens.
Facts: docs/config.md, "When a change applies".
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from efr.config.errors import ConfigError
from efr.config.keys import RESTART_KEYS
from efr.config.load import OVERRIDES, changed_restart_keys, keep_keys, load, override
from efr.config.loosening import loosened
from efr.config.schema import Settings
from efr.wire import types as t

_log = logging.getLogger("efr.daemon")


class Overrides(Struct, frozen=True):
    """What stands over the file for the life of the process."""

    env: Mapping[str, str]
    log: str | None = None  # efrd --log
    screen: str | None = None  # efrd --screen


def read_settings(path: Path, overrides: Overrides) -> Settings:
    """The settings as a start with these overrides takes them. Raises ConfigError."""
    settings = load(path, overrides.env)
    for key, value in (("log", overrides.log), ("screen", overrides.screen)):
        if value is not None:
            settings = override(settings, key, value, f"flag --{key}")
    return settings


def overridden(overrides: Overrides) -> dict[str, str]:
    """What stands over the file, by key: the source that `--print-config` names."""
    found = {key: f"env {name}" for name, key in OVERRIDES.items() if overrides.env.get(name)}
    flags = {"log": overrides.log, "screen": overrides.screen}
    return found | {key: f"flag --{key}" for key, value in flags.items() if value is not None}


class LiveSettings:
    """Owns the running settings."""

    def __init__(self, path: Path, overrides: Overrides, settings: Settings) -> None:
        self._path = path
        self._overrides = overrides
        self._settings = settings
        self._reloading = threading.Lock()  # "reload": held over the file's read, so that one
        # reload follows another; whoever asks waits for the outcome
        self._error: ConfigError | None = None
        self._restart_needed: tuple[str, ...] = ()
        self._listeners: list[Callable[[Settings], None]] = []
        self._told: list[Callable[[t.ReloadResult], None]] = []
        self._odd: Callable[[Settings], Sequence[str]] = lambda wanted: ()
        self._warned: frozenset[str] = frozenset()
        self._full_runs: Callable[[], bool] = lambda: False
        self._held: tuple[str, ...] = ()

    def current(self) -> Settings:
        """The settings of now: a frozen value, safe to keep for one piece of work."""
        return self._settings

    def on_change(self, listener: Callable[[Settings], None]) -> None:
        """Calls `listener` with the new settings after a reload that changed something.

        Registered before the threads start; called on the thread that asked for the reload.
        """
        self._listeners.append(listener)

    def on_reload(self, listener: Callable[[t.ReloadResult], None]) -> None:
        """Calls `listener` with the outcome of every reload; as `on_change` otherwise."""
        self._told.append(listener)

    def warn_with(self, odd: Callable[[Settings], Sequence[str]]) -> None:
        """`odd` tells what to warn of in a file's settings, a sentence each, once they apply."""
        self._odd = odd

    def hold_while(self, full_runs: Callable[[], bool]) -> None:
        """`full_runs` tells whether a turn runs in full mode now."""
        self._full_runs = full_runs

    @property
    def path(self) -> Path:
        """The file, or the link to it."""
        return self._path

    def overridden(self) -> dict[str, str]:
        """The sources of the keys that a variable or a flag sets."""
        return overridden(self._overrides)

    def reload(self, *, by_user: bool = False) -> t.ReloadResult:
        """Reads the file again. Blocks; any thread. A user who asks lets a held change go."""
        with self._reloading:
            result = self._reload(by_user)
            for listener in self._told:
                listener(result)
        return result

    def _reload(self, by_user: bool) -> t.ReloadResult:
        try:
            wanted = read_settings(self._path, self._overrides)
        except ConfigError as exc:
            self._error = exc
            _log.warning("the settings stay as they are: %s: %s", self._path, exc)
            return t.ReloadResult(applied=False, error=config_file_error(exc))
        before = self._settings
        self._restart_needed = changed_restart_keys(before, wanted)
        fresh = self._hold(before, keep_keys(before, wanted, RESTART_KEYS), by_user)
        self._settings = fresh
        if fresh != before:
            _log.info("the settings of %s apply", self._path)
            for listener in self._listeners:
                listener(fresh)
        return t.ReloadResult(
            applied=True,
            error=None if self._error is None else config_file_error(self._error),
            restart_needed=self._restart_needed,
            warnings=self._warnings(wanted),
        )

    def _hold(self, before: Settings, fresh: Settings, by_user: bool) -> Settings:
        """`fresh` without what loosens, while that is held; the error says which keys."""
        self._error = None
        holds = not by_user and (bool(self._held) or self._full_runs())
        self._held = loosened(before, fresh) if holds else ()
        if not self._held:
            return fresh
        keys = ", ".join(self._held)
        self._error = ConfigError(
            f"held while full mode runs, because it loosens permissions: {keys};"
            " efr config reload lets it go"
        )
        _log.warning("%s: %s", self._path, self._error)
        return keep_keys(before, fresh, self._held)

    def _warnings(self, wanted: Settings) -> tuple[str, ...]:
        """What is newly odd: each comes once, and again after it was put right in between."""
        odd = tuple(self._odd(wanted))
        fresh = tuple(sentence for sentence in odd if sentence not in self._warned)
        self._warned = frozenset(odd)
        for sentence in fresh:
            _log.warning("%s: %s", self._path, sentence)
        return fresh

    def status(self) -> t.ConfigStatus:
        """What `admin.status` tells about the file. Blocks on the file system."""
        error = self._error
        return t.ConfigStatus(
            path=str(self._path),
            exists=self._path.exists(),
            symlink_target=os.path.realpath(self._path) if self._path.is_symlink() else None,
            reload_error=config_file_error(error) if error is not None else None,
            restart_needed=self._restart_needed,
            held=t.HeldConfig(self._held) if self._held else None,
        )


def config_file_error(exc: ConfigError) -> t.ConfigFileError:
    """A fault of the file in the form of the protocol."""
    return t.ConfigFileError(message=exc.message, line=exc.line, column=exc.column, key=exc.key)
