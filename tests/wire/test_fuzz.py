"""Damaged fixtures and frames: a value, or a refusal that says where. Never anything else.

As many as take a few seconds; `make fuzz` does more, and throws them at a daemon too.
"""

from __future__ import annotations

import subprocess
import sys

from efr.wire.table import METHODS
from tests.wire import fuzz
from tests.wire.damage import FRAMES, damaged_file, damaged_frame

COUNT = 9_000


def test_a_damaged_fixture_is_a_value_or_a_bad_value_that_says_where() -> None:
    assert_both_sides(fuzz.files(range(COUNT), seed=0))


def test_a_damaged_frame_is_a_value_or_a_refusal_that_says_where() -> None:
    assert_both_sides(fuzz.frames(range(COUNT), seed=0))


def test_a_damaged_byte_stream_is_cut_the_same_however_it_arrives() -> None:
    assert_both_sides(fuzz.streams(range(COUNT // 10), seed=0))


def assert_both_sides(counts: fuzz.Counts) -> None:
    assert min(counts.taken, counts.refused) > counts.total // 20, "it finds one side alone"


def test_number_n_does_the_same_damage_every_time() -> None:
    for make in (damaged_file, damaged_frame):
        assert [make(n, 3) for n in range(300)] == [make(n, 3) for n in range(300)]
        assert [make(n, 3) for n in range(300)] != [make(n, 4) for n in range(300)]


def test_every_method_and_direction_has_a_frame() -> None:
    asked = {whole.method for whole in FRAMES if whole.from_client}
    answered = {whole.method for whole in FRAMES if not whole.from_client}
    assert asked - {""} == answered - {""} == set(METHODS)


def test_a_find_is_told_with_what_shows_it_again() -> None:
    def broken(number: int, seed: int) -> bool:
        raise KeyError(number)

    told = fuzz.find("frames", broken, 7, seed=3)
    assert "python -m tests.wire.fuzz --seed 3 --only 7 frames" in told
    assert "KeyError: 7" in told


def test_the_program_runs_and_tells_what_it_did() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.wire.fuzz", "--count", "40", "--seed", "5"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("seed 5") == 4, "files, frames, streams, daemon"
