"""The names that braces stand for are those that zsh makes of them."""

from __future__ import annotations

import random
import shlex
import shutil
import subprocess

import pytest

from efr.policy.lines.split import split_line

PIECES = ["{", "}", ",", "a", "b", "1", "..", "3", "{", "}", ",", "-", "'x,'", "c"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize("seed", range(2))
def test_zsh_makes_no_name_that_is_not_found(seed: int) -> None:
    choose = random.Random(seed)
    # The quotes keep a brace in front from being a group's.
    words = ["''" + "".join(choose.choices(PIECES, k=choose.randrange(10))) for _ in range(1500)]
    shown = (shlex.quote(f"print -rN -- {word} && print") for word in words)
    script = "".join(f"eval {one} 2>/dev/null || print ERROR\n" for one in shown)
    done = subprocess.run(
        ["zsh", "-f"], input=script, env={}, capture_output=True, text=True, timeout=50
    )
    known = 0
    for word, row in zip(words, done.stdout.splitlines(), strict=True):
        if "ERROR" in row:
            continue
        commands = split_line(f"cat {word}", "/h").commands
        found = {name.text for command in commands for name in command.words[1:]}
        assert set(row.rstrip("\0").split("\0")) <= found | {""}, word
        known += 1
    assert known > 1000
