"""A daemon, and terminals whose zsh has the plugin loaded and the real `efr` on its PATH."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from efr.client import connect
from tests.harness.daemon import Daemon
from tests.harness.terminal import Terminal

ROOT = Path(__file__).parents[2]
PROMPT = "%"
OLD_FZF = "#!/bin/sh\necho 0.38.0\n"  # Debian 12's, too old for the picker

Zsh = Callable[..., Terminal]


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path) as running:
        yield running


@pytest.fixture
def zsh(daemon: Daemon, tmp_path: Path) -> Iterator[Zsh]:
    """Opens terminals; each shows a prompt when it is given out. `fzf`: the one on the PATH."""
    with terminals_of(daemon, tmp_path) as begin:
        yield begin


@contextmanager
def terminals_of(daemon: Daemon, folder: Path) -> Iterator[Zsh]:
    """What opens terminals of a daemon; they are closed at the end."""
    programs = folder / "bin"
    programs.mkdir()
    launcher = programs / "efr"
    launcher.write_text(
        f"#!{sys.executable} -P\nimport sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "import efr_cli; efr_cli.main()\n"
    )
    launcher.chmod(0o755)
    start = folder / "zsh-start"
    start.mkdir()
    (start / ".zshrc").write_text(
        f"PROMPT='{PROMPT}%# '\nPROMPT_EOL_MARK=\nunset zle_bracketed_paste\n"
        'eval "$(efr init zsh)"\n'
    )
    opened: list[Terminal] = []

    def begin(*, fzf: Path | str = OLD_FZF, **size: int) -> Terminal:
        picker = programs / "fzf"
        picker.unlink(missing_ok=True)
        if isinstance(fzf, Path):
            picker.symlink_to(fzf)
        else:
            picker.write_text(fzf)
            picker.chmod(0o755)
        terminal = Terminal(
            ["zsh", "-i"],
            {
                **daemon.env,
                "PATH": f"{programs}:{daemon.env['PATH']}",
                "ZDOTDIR": str(start),
                "TERM": "xterm-256color",
                "EFR_TERMINAL_BG": "dark",  # nobody here answers the question for it
            },
            daemon.home,
            **size,
        )
        opened.append(terminal)
        prompts(terminal, 1)
        return terminal

    try:
        yield begin
    finally:
        for terminal in opened:
            terminal.close()


def prompts(terminal: Terminal, count: int) -> None:
    """Waits until the shell has shown its prompt so many times."""
    terminal.wait_for(
        lambda t: sum(row.startswith(("%# ", "%#")) for row in t.everything.splitlines()) >= count,
        30,
    )


def wait_until_found(daemon: Daemon, *words: str) -> None:
    """The index follows the log in the background; asks until each word is found."""
    deadline = time.monotonic() + 20
    with connect(daemon.env) as efr:
        for word in words:
            while not any(
                row.hit is not None for row in efr.call("conversations.search", query=word).rows
            ):
                assert time.monotonic() < deadline, f"{word} was not indexed"
