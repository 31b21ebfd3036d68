"""What can be wrong with config.toml, with its place, and with a change of the project registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

MARK: Final = "\ufeff"  # a byte order mark: some editors write one, and none shows it


class ConfigError(Exception):
    """One fault of the file or of an override. `line` and `column` count from 1; None: unknown."""

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.key = key

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}: " if self.line is not None else ""
        key = f"{self.key}: " if self.key else ""
        return f"{place}{key}{self.message}"


def marked() -> ConfigError:
    """The fault of a text that starts with the mark, which TOML does not take."""
    what = "the file starts with a byte order mark (U+FEFF); save it as UTF-8 without one"
    return ConfigError(what, line=1, column=1)


class RegistryError(Exception):
    """A change of the project registry that was not made."""


class AlreadyRegistered(RegistryError):
    """A project has this root."""

    def __init__(self, root: str, name: str) -> None:
        super().__init__(f"{root} is registered already, as {name}")
        self.root = root
        self.name = name


class NoSuchProject(RegistryError):
    """No project has this root."""

    def __init__(self, path: str) -> None:
        super().__init__(f"no project has the root {path}")
        self.path = path


class FileChanged(RegistryError):
    """Somebody else wrote the file while the change was being made."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was changed meanwhile")
        self.path = path


class WriteFailed(Exception):
    """config.toml was not written. The message says why, `path` which file, and `read_only` whether
    nobody with our rights can write there."""

    def __init__(self, path: Path, why: str, *, read_only: bool = False) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why
        self.read_only = read_only


class ChangedMeanwhile(WriteFailed):
    """Somebody else wrote the file after it was read for the change."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "it was changed meanwhile; nothing was written")


class LinkToNothing(WriteFailed):
    """The file is a link whose target does not exist."""

    def __init__(self, path: Path, target: str) -> None:
        super().__init__(path, f"it is a link to {target}, which does not exist")
        self.target = target
