"""Every text of the two tables: secrets that go and look-alikes that stay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from efr.text.redact import redact_command, redact_title

HERE = Path(__file__).parent
SIGNS = {
    "": "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0U1v2W3x4Y5z6",
    "h": "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
    "d": "1029384756",
    "u": "A1B2C3D4E5F6G7H8J9K0L1M2N3P4Q5R6",
}
LEAST = 120  # texts in each table


def texts(name: str) -> list[str]:
    """The texts of a table; comments, headings and empty lines are none."""
    lines = (HERE / name).read_text().splitlines()
    wanted = (line for line in lines if line and not line.startswith(("# ", "== ")))
    return [_whole(line) for line in wanted]


def _whole(line: str) -> str:
    """The text that a line stands for."""

    def signs(found: re.Match[str]) -> str:
        size, repeated = int(found[1]), SIGNS[found[2]]
        return (repeated * (size // len(repeated) + 1))[:size]

    text = line.replace(r"\\n", "\0").replace(r"\n", "\n").replace("\0", r"\n")
    return re.sub(r"<(\d+)([hdu]?)>", signs, text)


SECRETS, LOOKALIKES = texts("secrets.txt"), texts("lookalikes.txt")


def marked(text: str, mark: str) -> str:
    return re.sub("⟦[^⟧]*⟧", lambda _: mark, text)


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_goes_and_the_rest_stays(text: str) -> None:
    plain = text.replace("⟦", "").replace("⟧", "")

    assert redact_title(plain) == marked(text, "[***]")
    assert redact_command(plain) == marked(text, "[redacted]")
    assert redact_title(marked(text, "[***]")) == marked(text, "[***]")


@pytest.mark.parametrize("text", LOOKALIKES)
def test_a_look_alike_stays(text: str) -> None:
    assert redact_title(text) == text


def test_the_tables_are_whole() -> None:
    for table in (SECRETS, LOOKALIKES):
        assert len(set(table)) == len(table) >= LEAST
    assert all("⟦" in text for text in SECRETS)
    assert not any("⟦" in text for text in LOOKALIKES)
