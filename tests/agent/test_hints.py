from __future__ import annotations

import stat
from pathlib import Path

import pytest

from efr.agent.hints import RepoHints
from efr.wire import codec
from tests.harness.clock import FakeClock

DAY_S = 24 * 3600


def test_a_repository_is_told_once_a_day_also_after_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()
    file = tmp_path / "state" / "repo_hints.json"
    hints = RepoHints(file, clock)
    assert hints.is_due("/p/tool")
    assert hints.is_due("/p/tool")
    hints.shown("/p/tool")
    assert not hints.is_due("/p/tool")
    assert hints.is_due("/p/other")
    assert not RepoHints(file, clock).is_due("/p/tool")
    clock.advance(DAY_S)
    assert RepoHints(file, clock).is_due("/p/tool")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_broken_file_costs_a_hint_too_much(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "repo_hints.json"
    file.write_text("{ not json")
    hints = RepoHints(file, FakeClock())
    assert hints.is_due("/p/tool")
    hints.shown("/p/tool")
    assert not hints.is_due("/p/tool")
    assert len(caplog.records) == 1


def test_old_days_are_forgotten_first(tmp_path: Path) -> None:
    clock = FakeClock()
    file = tmp_path / "h.json"
    old = {f"/p/{number}": "2026-09-01" for number in range(300)} | {"/yesterday": "2026-10-02"}
    file.write_bytes(codec.encode(old))
    RepoHints(file, clock).shown("/new")
    kept = codec.decode(file.read_bytes(), dict[str, str])
    assert len(kept) == 256
    assert {"/yesterday", "/new"} <= set(kept)
