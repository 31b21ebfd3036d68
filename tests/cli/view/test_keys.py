"""Keys from bytes, the input row, the answer line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.cli.render.spans import text_of, width
from efr.cli.view.answer import LIMIT, AnswerLine, Typed
from efr.cli.view.keys import Key, KeyReader
from efr.cli.view.row import HINT, InputRow
from efr.cli.view.screen import Cursor

STREAMS = [
    (b"ab", [Key("text", "ab")]),
    ("größe🙂".encode(), [Key("text", "größe🙂")]),
    (b"a\rb", [Key("text", "a"), Key("enter"), Key("text", "b")]),
    (
        b"\t\n\x7f\x15\x0b\x17\x02",
        [Key(n) for n in ("tab", "newline", "backspace")]
        + [Key(n) for n in ("kill_to_start", "kill_to_end", "kill_to_blank", "background")],
    ),
    (
        b"\x1b[D\x1b[1;5C\x1bb\x1b\r",
        [Key(n) for n in ("left", "word_right", "word_left", "newline")],
    ),
    (b"\x1b[1;3A\x1bOC\x1b[3~", [Key("take_back"), Key("right"), Key("delete")]),
    (b"\x1b[A\x1b[24~\x1bOP", []),
    (b"\x1b[200~one\rtwo\x1b[31m\x1b[201~x", [Key("paste", "one\ntwo\x1b[31m"), Key("text", "x")]),
    (b"\x1b[200~\x1b[201~x", [Key("text", "x")]),
    (b"\x00\x1f", []),
    (b"\xffa", [Key("text", "\ufffda")]),
]


def joined(keys: list[Key]) -> list[Key]:
    """Neighbouring text as one key: a split may cut a run of letters."""
    found: list[Key] = []
    for key in keys:
        if found and key.name == found[-1].name == "text":
            found[-1] = Key("text", found[-1].text + key.text)
        else:
            found.append(key)
    return found


@pytest.mark.parametrize(("data", "keys"), STREAMS)
def test_keys(data: bytes, keys: list[Key]) -> None:
    assert KeyReader().feed(data) == keys


@settings(deadline=None)
@given(st.lists(st.sampled_from([s[0] for s in STREAMS]), max_size=4), st.data())
def test_the_split_does_not_matter(parts: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(parts)
    reader, keys, at = KeyReader(), [], 0
    while at < len(stream):
        step = data.draw(st.integers(1, 5))
        keys += reader.feed(stream[at : at + step])
        at += step

    assert joined(keys) == joined(KeyReader().feed(stream))


def test_escape_alone_is_a_key_only_when_nothing_follows() -> None:
    reader = KeyReader()

    assert reader.feed(b"a\x1b") == [Key("text", "a")]
    assert reader.escape_waits
    assert reader.feed(b"[D") == [Key("left")]
    assert reader.time_is_over() == []
    assert reader.feed(b"\x1b") == []
    assert reader.time_is_over() == [Key("esc")]


# --- the row ------------------------------------------------------------------------------------


def edited(text: str, *keys: str | tuple[str, str]) -> tuple[str, int]:
    row = InputRow(text)
    for key in keys:
        assert row.edit(Key(key) if isinstance(key, str) else Key(*key))
    return row.text, row.cursor


@pytest.mark.parametrize(
    ("text", "keys", "after"),
    [
        ("ab", [("text", "c")], ("abc", 3)),
        ("ab", ["left", ("text", "x")], ("axb", 2)),
        ("ab", ["home", "right", "backspace"], ("b", 0)),
        ("ab", ["home", "delete"], ("b", 0)),
        ("ab", ["home", "left", "backspace"], ("ab", 0)),
        ("e\u0301", ["backspace"], ("", 0)),
        ("a👩\u200d👧", ["backspace"], ("a", 1)),
        ("👍🏽b", ["home", "right", ("text", "x")], ("👍🏽xb", 3)),
        ("🇩🇪🇫🇷", ["left", "left", "delete"], ("🇫🇷", 0)),
        ("a1\ufe0f\u20e3b", ["left", "backspace"], ("ab", 1)),
        ("한\n", ["left", "left", "delete"], ("\n", 0)),
        ("\u0301a", ["left", "left", "delete"], ("a", 0)),
        ("one two", ["word_left"], ("one two", 4)),
        ("one two", ["word_left", "word_left", "word_right"], ("one two", 3)),
        ("one two-x", ["kill_word"], ("one two-", 8)),
        ("one two-x", ["kill_to_blank"], ("one ", 4)),
        ("a\nbc", ["kill_to_start"], ("a\n", 2)),
        ("a\nbc", ["home", "kill_to_end"], ("a\n", 2)),
        ("a", ["newline", ("paste", "x\ny\x1b[31m")], ("a\nx\ny␛[31m", 10)),
        ("ab", ["end"], ("ab", 2)),
    ],
)
def test_editing(text: str, keys: list[str | tuple[str, str]], after: tuple[str, int]) -> None:
    assert edited(text, *keys) == after


def test_a_key_that_does_not_edit_is_left_to_others() -> None:
    assert not InputRow("a").edit(Key("enter"))


def test_a_row_ends_behind_a_whole_character() -> None:
    row = InputRow("ab👩\u200d👧c")
    rows, cursor = row.rows(7)
    assert [text_of(line) for line in rows] == ["› ab", "  👩\u200d👧", "  c"]
    assert cursor == Cursor(2, 3)
    assert [text_of(line) for line in row.rows(5)[0]] == ["› ab", "  👩\u200d", "  👧", "  c"]


def test_the_row_takes_only_so_much() -> None:
    row = InputRow()
    row.edit(Key("paste", "x" * (256 * 1024)))
    row.edit(Key("text", "y"))

    assert len(row.text) == 256 * 1024


def test_an_empty_row_shows_its_hint_behind_the_cursor() -> None:
    rows, cursor = InputRow().rows(60)

    assert [text_of(row) for row in rows] == [f"›  {HINT}"]
    assert cursor == Cursor(0, 2)


def test_five_rows_show_around_the_cursor() -> None:
    row = InputRow("\n".join(str(n) for n in range(9)))
    rows, cursor = row.rows(20)

    assert [text_of(line) for line in rows] == ["  4", "  5", "  6", "  7", "  8"]
    assert cursor == Cursor(4, 3)
    row.cursor = 2
    rows, cursor = row.rows(20)
    assert [text_of(line) for line in rows] == ["› 0", "  1", "  2", "  3", "  4"]
    assert cursor == Cursor(1, 2)


@settings(deadline=None)
@given(st.text(st.sampled_from("ab \n日🙂"), max_size=80), st.integers(0, 80), st.integers(8, 40))
def test_the_rows_fit_and_hold_the_cursor(text: str, at: int, columns: int) -> None:
    row = InputRow(text)
    row.cursor = min(at, len(text))
    rows, cursor = row.rows(columns)

    assert all(width(line) <= columns for line in rows)
    assert 0 <= cursor.row < len(rows) <= 5
    assert cursor.column < columns


# --- the answer line ----------------------------------------------------------------------------


def line(*, shown: bool = True) -> AnswerLine:
    return AnswerLine("c", hidden=not shown, shown=shown)


@pytest.mark.parametrize(
    ("typed", "text", "result"),
    [
        (b"abc", b"abc", Typed.CHANGED),
        (b"abc\x7fd", b"abd", Typed.CHANGED),
        ("aé\x7fb".encode(), b"ab", Typed.CHANGED),
        (b"abc\x15x", b"x", Typed.CHANGED),
        (b"a\x1b[Db\x1bOCc\x1bxd", b"abcd", Typed.CHANGED),
        (b"\x01\x02\t", b"", Typed.NOTHING),
        (b"abc\rdef", b"abc", Typed.SEND),
        (b"\r", b"", Typed.SEND),
        (b"x" * (LIMIT + 9), b"x" * LIMIT, Typed.CHANGED),
    ],
)
def test_typing_an_answer(typed: bytes, text: bytes, result: Typed) -> None:
    answer = line()

    assert answer.feed(memoryview(typed)) is result
    assert bytes(answer.secret()) == text


def test_a_hidden_line_has_no_text() -> None:
    answer = line(shown=False)
    answer.feed(memoryview(b"hunter2"))

    assert answer.text == ""
    assert len(answer.secret()) == 7
    assert "hunter2" not in repr(answer)


def test_wiping_overwrites_the_one_buffer() -> None:
    answer = line(shown=False)
    answer.feed(memoryview(b"hunter2"))
    view = memoryview(answer._buffer)
    answer.wipe()

    assert bytes(view) == bytes(LIMIT)
