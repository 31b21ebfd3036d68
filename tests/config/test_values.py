"""One value as a person types it."""

from __future__ import annotations

from typing import Any

import pytest

from efr.config.values import find, parsed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1000", 1000),
        ("1_000", 1000),
        ("+5", 5),
        ("-5", -5),
        ("0x10", 16),
        ("\u0663", "\u0663"),
        ("007", "007"),
        ("1__0", "1__0"),
        ("_1", "_1"),
        (" 5 ", " 5 "),
        ("5\n", "5\n"),
        ("5\ny = 1", "5\ny = 1"),
        ("1e5", "1e5"),
        ("1.0", "1.0"),
        ("1979-05-27", "1979-05-27"),
        ("inf", "inf"),
        ("true", "true"),
        ("9" * 5000, "9" * 5000),
        ("", ""),
    ],
)
def test_a_number_is_what_toml_takes_for_a_whole_one(text: str, value: Any) -> None:
    assert parsed(find("shell.idle_minutes"), text) == value
