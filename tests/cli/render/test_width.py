"""Widths of text without the tables of wcwidth."""

from __future__ import annotations


def test_what_needs_no_table_is_as_wide_as_the_table_says() -> None:
    from wcwidth import wcwidth

    from efr.cli.render import width

    letters = {chr(code) for code in range(0xC0, 0x300)}
    assert [c for c in width._NARROW | letters if wcwidth(c) != 1] == []
