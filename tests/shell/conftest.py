"""Fixtures of the hidden shell's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shell.rig import Rig, World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Makes rigs; all are taken down after the test, with nothing left."""
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def rig(world: World) -> Rig:
    """One plain rig."""
    return world.rig()
