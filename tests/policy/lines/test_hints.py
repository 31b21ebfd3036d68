"""Hints: lines that may wait for keys, lines that reach the network."""

from __future__ import annotations

import pytest

from efr.policy.lines.hints import is_interactive, reaches_network
from efr.policy.lines.split import split_line


def hints(line: str) -> str:
    split = split_line(line, "/home/u")
    return "k" * is_interactive(line, split) + "n" * reaches_network(line, split)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls", ""),
        ("sudo ls", "k"),
        ("A=b /usr/bin/vim x", "k"),
        ("env -i nice -n 5 less x", "k"),
        ("command -v ssh", ""),
        ("command ssh h", "kn"),
        ("echo ssh", ""),
        ("x | ssh h y", "kn"),
        ("echo $(curl h)", "n"),
        ('echo "$(sudo x)"', "k"),
        ("(vim)", "k"),
        ("if true; then 'curl' h; fi", ""),
        ("curl h", "n"),
        ("rsync -a a/ b/", ""),
        ("rsync -a a/ h:b/", "n"),
        ("rsync rsync://h/m .", "n"),
        ("rsync ./a:b c", ""),
        ("git status", ""),
        ("git -C x --no-pager fetch", "n"),
        ("git stash push", ""),
        ("git", ""),
        ("npm test", ""),
        ("npm --silent run x", ""),
        ("npm ci", "n"),
        ("yarn", "n"),
        ("pacman", "n"),
        ("pacman -Qi zsh", ""),
        ("pacman --query zsh", ""),
        ("pacman -Rns zsh", ""),
        ("pacman -Si zsh", ""),
        ("pacman -Ssy zsh", "n"),
        ("pacman -S zsh", "n"),
        ("pacman -Syu", "n"),
        ("pacman -Fl zsh", ""),
        ("pacman -Fy", "n"),
        ("pacman -U x", "n"),
        ("pacman --sync x", "n"),
        ("sudo git push", "kn"),
        ("hostname", ""),
        ("hostname -I", ""),
        ("hostname -sf", "n"),
        ("hostname --fq", "n"),
        ("A=b", ""),
        ("", ""),
    ],
)
def test_hints(line: str, expected: str) -> None:
    assert hints(line) == expected
