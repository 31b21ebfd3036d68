"""A scripted daemon for each test, and `efr` on a terminal that talks to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.cli.fake_daemon import FakeDaemon
from tests.cli.programs import efr_on_terminal
from tests.harness.terminal import Terminal

Start = Callable[..., Terminal]


@pytest.fixture
def fake() -> Iterator[FakeDaemon]:
    with FakeDaemon() as daemon:
        yield daemon


@pytest.fixture
def start(fake: FakeDaemon) -> Iterator[Start]:
    """Starts `efr args…` on a terminal of its own; all are ended after the test."""
    with ExitStack() as stack:

        def begin(
            *args: str, env: dict[str, str] | None = None, columns: int = 80, rows: int = 24
        ) -> Terminal:
            together = {**fake.env, **(env or {})}
            terminal = efr_on_terminal(*args, env=together, columns=columns, rows=rows)
            return stack.enter_context(terminal)

        yield begin
