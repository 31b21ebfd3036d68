"""A program that runs without a question is the program, whatever the user's shell calls so."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.conftest import Zsh, prompts
from tests.harness.daemon import Daemon


def test_an_alias_or_function_of_a_read_only_program_is_not_run(
    zsh: Zsh, daemon: Daemon, tmp_path: Path
) -> None:
    (daemon.home / ".zshrc").write_text(
        "alias df='touch aliased; df'\nls() { touch functioned; command ls \"$@\" }\n"
    )
    terminal = zsh()
    for count, line in enumerate(("df -h", "ls -1ap"), 2):
        terminal.type(f", run: {line}\r")
        prompts(terminal, count)
    assert "y allow" not in terminal.everything
    assert "Filesystem" in terminal.everything
    assert [p.name for p in daemon.home.iterdir() if p.name.endswith("ed")] == []
