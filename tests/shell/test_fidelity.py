"""What programs print and what the model reads: the table of `fidelity.toml`, run for real."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.shell.rig import Rig, World

_ALLOWED = {
    "about",
    "line",
    "output",
    "output_starts",
    "output_ends",
    "output_lines",
    "output_bytes",
    "output_bytes_at_most",
    "omitted",
}


def _load() -> list[dict[str, Any]]:
    table = tomllib.loads(Path(__file__).with_name("fidelity.toml").read_text())
    cases: list[dict[str, Any]] = table.pop("case")
    assert not table
    for case in cases:
        assert set(case) <= _ALLOWED, case
        assert len(case) >= 3, case
    return cases


CASES = _load()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """One shell for the whole table: no case may change what the next one prints."""
    world = World(tmp_path_factory.mktemp("fidelity"))
    rig = world.rig()
    rig.run("true")  # its thread is there before the first test
    yield rig
    world.close()


def test_the_table_is_large_enough() -> None:
    assert len(CASES) >= 40
    assert len({case["about"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=[case["about"] for case in CASES])
def test_output_reads_as_the_table_says(shared: Rig, case: dict[str, Any]) -> None:
    end = shared.run(case["line"])
    output = end.output

    assert end.kind == "exited"
    assert output == case.get("output", output)
    assert output.startswith(case.get("output_starts", ""))
    assert output.endswith(case.get("output_ends", ""))
    size = len(output.encode())
    assert size == case.get("output_bytes", size)
    assert size <= case.get("output_bytes_at_most", size)
    assert len(output.splitlines()) == case.get("output_lines", len(output.splitlines()))
    if "omitted" in case:
        note = re.search(r"\n?\[\.\.\. ([0-9]+) bytes omitted \.\.\.\]\n", output)
        assert note is not None
        assert end.truncated
        newline_kept = note[0].startswith("\n") and "\n" in output[: note.start()]
        kept = size - len(note[0]) + newline_kept
        assert int(note[1]) == case["omitted"] - kept
