"""The file from which terminals read the projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.config.project_text import Project
from efr.config.projects import ProjectRegistry
from efr.daemon.projects import ScopesFile, scope_lines
from tests.harness.clock import CountingIds


def registry(tmp_path: Path) -> ProjectRegistry:
    return ProjectRegistry(tmp_path / "projects.toml", CountingIds())


def test_a_line_holds_a_root_and_a_name_and_nothing_that_breaks_it() -> None:
    projects = (
        Project("1", "/p/größe", "größe 🙂"),
        Project("2", "/p/lib"),
        Project("3", "/p/a\tb", "tab"),
        Project("4", "/p/a\nb", "line end"),
        Project("5", "/p/x", "two\nlines\x1b[31m"),
    )
    assert scope_lines(projects).decode() == (
        "/p/größe\tgröße 🙂\n/p/lib\tlib\n/p/x\ttwo lines␛[31m\n"
    )


def test_a_change_by_hand_is_written_when_a_turn_sees_it(tmp_path: Path) -> None:
    known = registry(tmp_path)
    file = tmp_path / "run" / "scopes"
    scopes = ScopesFile(file, known)
    scopes.refresh()
    assert file.read_bytes() == b""
    known.add("/p/app", "app")
    assert file.read_bytes() == b""
    assert [one.root for one in scopes.all()] == ["/p/app"]
    assert file.read_bytes() == b"/p/app\tapp\n"
    before = file.stat().st_ino
    scopes.all()
    scopes.refresh()
    assert file.stat().st_ino == before


def test_a_file_that_cannot_be_written_costs_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known = registry(tmp_path)
    known.add("/p/app", "app")
    (tmp_path / "run").write_text("a file in the way")
    scopes = ScopesFile(tmp_path / "run" / "scopes", known)
    assert [one.root for one in scopes.all()] == ["/p/app"]
    assert scopes.all()
    assert len(caplog.records) == 1
