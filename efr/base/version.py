"""The build's version, in one place. It equals the version of pyproject.toml (a test compares them)."""

from __future__ import annotations

VERSION = "0.1.0"
