"""What holds for every test: no thread is left behind, and a busy machine fails none."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

LEFT_LIMIT_S = 5

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + LEFT_LIMIT_S
    left = [t for t in threading.enumerate() if t not in before]
    for thread in left:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert [t.name for t in left if t.is_alive()] == []
