"""The registry of projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.agent.place import Project
from efr.config.errors import ConfigError
from efr.daemon.projects import ProjectRegistry

ONE = "01a3c5d2-4b1e-7c3f-9a20-5d6e7f809112"
TWO = "01a3c5d2-4b1e-7c3f-9a20-5d6e7f809113"


def registry(tmp_path: Path, text: str | None) -> ProjectRegistry:
    path = tmp_path / "projects.toml"
    if text is not None:
        path.write_text(text)
    return ProjectRegistry(path)


def test_no_file_is_no_project(tmp_path: Path) -> None:
    assert registry(tmp_path, None).read() == ()


@pytest.mark.parametrize(
    "text",
    [
        f'[[project]]\nid = "{ONE}"\nroot = "/p/app/../app"\nname = "app"\n'
        f'[[project]]\nid = "{TWO}"\nroot = "/p/b"\n',
        f'project = [{{id = "{ONE}", root = "/p/app", name = "app"}},'
        f' {{id = "{TWO}", root = "/p/b/"}}]',
    ],
)
def test_both_forms_are_read_in_the_order_of_the_file(tmp_path: Path, text: str) -> None:
    found = registry(tmp_path, text).read()
    assert found == (Project(ONE, "/p/app", "app"), Project(TWO, "/p/b", None))


@pytest.mark.parametrize(
    "text",
    [
        "[[project",
        'x = 1\n[[project]]\nid = "a"\nroot = "/p"',
        f'[[project]]\nid = "{ONE}"\nroot = "p"',
        f'[[project]]\nid = "{ONE}"\nroot = "/p"\ncolor = "red"',
        '[[project]]\nid = "x"\nroot = "/p"',
        f'[[project]]\nid = "{ONE}"\nroot = "/p"\n[[project]]\nid = "{ONE}"\nroot = "/q"',
        f'[[project]]\nid = "{ONE}"\nroot = "/p"\n[[project]]\nid = "{TWO}"\nroot = "/q/../p"',
    ],
)
def test_a_broken_file_is_no_project_and_an_error_for_who_asks(tmp_path: Path, text: str) -> None:
    broken = registry(tmp_path, text)
    assert broken.all() == ()
    with pytest.raises(ConfigError, match=r"projects\.toml"):
        broken.read()
