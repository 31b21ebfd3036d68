"""The world of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.snapshots.world import World, world_in


@pytest.fixture
def world(tmp_path: Path) -> World:
    return world_in(tmp_path)
