"""The build's version, in one place; a test compares it with pyproject.toml."""

from __future__ import annotations

VERSION = "0.1.0"
