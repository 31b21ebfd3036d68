"""What can be wrong with config.toml, with its place."""

from __future__ import annotations


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
