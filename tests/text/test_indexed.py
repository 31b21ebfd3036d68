"""What goes into the index: cut, cleaned, redacted."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.text.indexed import LINE_END, TEXT_LIMIT, indexed_command, indexed_text, title_in

KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fix  the\ttests ", "fix the tests"),
        ("one\r\n\r\n  two\rthree", "one|two|three"),
        ("\x1b[1;31mred\x1b[0m \x1b]0;title\x07and \x9b2Kblue", "red and blue"),
        ("nul\x00 bell\x07 del\x7f c1\x85next", "nul bell del c1|next"),
        (f"use {KEY} now", "use [***] now"),
        (f"use ghp_\x1b[0m{KEY[4:]} now", "use [***] now"),
        ("größe 🙂 gut", "größe 🙂 gut"),
        (" \n\t\n", ""),
    ],
)
def test_cleaning(text: str, expected: str) -> None:
    assert indexed_text(text) == expected.replace("|", LINE_END)


@given(st.text() | st.text(st.characters(max_codepoint=0xA0)))
def test_no_control_character_is_left(text: str) -> None:
    assert not any(unicodedata.category(sign) == "Cc" for sign in indexed_text(text))


def test_a_long_text_is_cut_between_words() -> None:
    cut = indexed_text("wörd " * 20_000)
    assert TEXT_LIMIT - 300 < len(cut.encode()) <= TEXT_LIMIT
    assert cut.endswith("wörd")


@pytest.mark.parametrize("before", range(TEXT_LIMIT - 45, TEXT_LIMIT + 1))
def test_a_cut_leaves_no_start_of_a_secret(before: int) -> None:
    text = "x " * (before // 2) + KEY + " tail"
    assert "ghp_" not in indexed_text(text)


def test_a_text_without_a_blank_is_cut_at_the_limit() -> None:
    assert len(indexed_text("x" * 50_000)) == TEXT_LIMIT
    assert len(indexed_text("é" * 50_000).encode()) == TEXT_LIMIT


def test_a_command_has_no_heredoc_and_no_secret() -> None:
    command = f"cat > f <<'EOF'\nsecret words\nEOF\nexport TOKEN={KEY}"
    assert indexed_command(command) == f"cat > f <<'EOF'{LINE_END}export TOKEN=[***]"


def test_a_title_is_redacted_before_it_is_cut() -> None:
    prompt = "x" * 60 + f" {KEY} and so on for a while\nmore"
    title = title_in(indexed_text(f"\n  {prompt}"))
    assert title == "x" * 60 + " [***] and so on..."
    assert len(title_in(indexed_text("word " * 40))) <= 80
