"""The readers against real zsh: what ran must be what was said, or the line is asked about."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.policy import fuzz
from tests.policy.recorder import OPTIONS, record
from tests.policy.trap_lines import Traps

needs_zsh = pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")


@needs_zsh
@pytest.mark.parametrize("seed", range(2))
def test_zsh_runs_what_the_readers_said(seed: int) -> None:
    claimed, faults = fuzz.run(2600, seed)
    assert faults == []
    assert claimed > 700


@needs_zsh
def test_the_lenient_split_finds_every_program_that_runs() -> None:
    ran, missed = fuzz.missed(300, 1)
    assert missed == []
    assert ran > 100


@needs_zsh
def test_the_recorder_sees_what_runs(tmp_path: Path) -> None:
    ran = {
        "ls a 'b c' | cat; (echo x &)": [("cat",), ("echo", "x"), ("ls", "a", "b c")],
        "zz a": [("zz", "a")],
        "ls $(rm x) > out": [("ls",), ("rm", "x")],
        "repeat 2 aa": [("aa",), ("aa",)],
        "'": [],
        "ls || aa": [("ls",)],
        "ls x*; aa": [],
    }
    found = record(list(ran), OPTIONS[0], tmp_path)
    assert [sorted(one.commands) for one in found.lines] == list(ran.values())
    assert found.made == {"out"}


@needs_zsh
def test_a_fault_is_found(tmp_path: Path) -> None:
    claim = fuzz.claim_of("ls a; rm b")
    assert claim is not None
    lie = fuzz.Claim("ls a; rm b > out", claim.commands[:1], (), True)
    found = list(fuzz.faults([lie], OPTIONS[0], tmp_path))
    assert len(found) == 2
    assert "ran ('rm', 'b')" in found[0]
    assert "a file 'out' appeared" in found[1]


def test_the_traps_are_the_same_for_a_seed() -> None:
    assert list(Traps(3).lines(50)) == list(Traps(3).lines(50))
    assert list(Traps(3).lines(50)) != list(Traps(4).lines(50))
