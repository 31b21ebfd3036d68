"""Markdown to rows: the looks of the blocks, and that the split of a text does not matter."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.cli.render.markdown import MarkdownStream, Options, render
from efr.cli.render.paint import ColorMode, Palette, paint_lines
from efr.cli.render.spans import Line, text_of, width

COLORS = Palette(ColorMode.SIXTEEN)
PIECES = st.lists(
    st.sampled_from(
        [
            *("# A title\n", "text *with* `code` and **more\n", "word ", "\n", "\n\n", "---\n"),
            *("- item\n", "  - nested\n", "1. one\n", "2. two\n\n", "   more\n", "- [x] done\n"),
            *("```py\n", "def f(): return 'x'\n", "```\n", "~~~\n", "    indented\n"),
            *("> quoted\n", "> - in it\n", "| a | b |\n", "|---|:-:|\n", "| 1 | `x\\|y` |\n"),
            *(
                "Title\n===\n",
                "[a](http://x.y)\n",
                "größe 日本語 🙂\n",
                "\t\ttabs\n",
                "\x1b[31mred\n",
            ),
            *("***\n", "1) other\n", "[r]: http://z\n", "![i](u)\n", "<b>html</b>\n", "&#27;[2J\n"),
        ]
    ),
    max_size=14,
)

CODE_START = re.compile(r"[`~\t]| {4}")  # a code row is never wrapped


def texts(lines: list[Line]) -> list[str]:
    return [text_of(line) for line in lines]


def shown(text: str, columns: int = 40) -> list[str]:
    return texts(render(text, Options(columns=columns)))


@settings(deadline=None)
@given(PIECES, st.lists(st.integers(1, 12), min_size=1, max_size=40), st.sampled_from([20, 40, 80]))
def test_the_split_does_not_matter(pieces: list[str], steps: list[int], columns: int) -> None:
    text = "".join(pieces)
    options = Options(columns=columns)
    stream, rows, at, turn = MarkdownStream(options), [], 0, 0
    while at < len(text):
        step = steps[turn % len(steps)]
        rows += stream.feed(text[at : at + step])
        stream.open_lines()  # a look ahead changes nothing
        at, turn = at + step, turn + 1
    rows += stream.finish()

    assert paint_lines(rows, COLORS) == paint_lines(render(text, options), COLORS)


@settings(deadline=None)
@given(PIECES)
def test_what_is_open_ends_as_the_finished_text_does(pieces: list[str]) -> None:
    text = "".join(pieces)
    stream = MarkdownStream(Options())
    rows = stream.feed(text)

    assert rows + stream.open_lines() == render(text, Options())


@settings(deadline=None)
@given(PIECES)
def test_no_row_holds_a_control_character_or_leaves_a_colour_open(pieces: list[str]) -> None:
    for line in render("".join(pieces), Options()):
        painted = paint_lines([line], COLORS)
        assert all(text.isprintable() for text in painted.removesuffix("\n").split("\x1b"))
        assert painted.count("\x1b[0m") * 2 == painted.count("\x1b[")


@settings(deadline=None)
@given(PIECES, st.sampled_from([10, 20, 33]))
def test_lists_quotes_and_tables_fit_the_terminal(pieces: list[str], columns: int) -> None:
    lines = [line for line in "".join(pieces).split("\n") if not CODE_START.match(line)]
    text = "\n".join(f"> {line}" for line in lines)

    assert all(width(line) <= columns for line in render(text, Options(columns=columns)))


BLOCKS = [
    ("heading", "## Two *it*", ["Two it"]),
    ("setext heading", "One\n===\nnext", ["One", "next"]),
    ("closed heading", "# One ##", ["One"]),
    ("paragraph keeps its lines", "one\ntwo\n\nthree", ["one", "two", "", "three"]),
    ("prose is not wrapped", "word " * 12, [("word " * 12).rstrip()]),
    ("rule", "a\n\n***", ["a", "", "─" * 40]),
    ("tight list", "- a\n- b\n  c", ["• a", "• b", "  c"]),
    ("loose list", "- a\n\n- b", ["• a", "", "• b"]),
    ("nested list", "- a\n  1. b\n  2. c\n- d", ["• a", "  1. b", "  2. c", "• d"]),
    ("numbers go on from the first", "3. a\n3. b\n\n9. c", ["3. a", "4. b", "", "5. c"]),
    ("task items", "- [ ] a\n- [x] b", ["[ ] a", "[x] b"]),
    ("wrapped item", "- " + "word " * 9, ["• word word word word word word word", "  word word"]),
    ("code in an item", "- a\n  ```\n  x = 1\n  ```\n- b", ["• a", "  x = 1", "• b"]),
    (
        "text behind a nested list",
        "- a\n  - b\n\n  more\n- c",
        ["• a", "  • b", "", "  more", "• c"],
    ),
    ("quote", "> a\n> b\nlazy\n\nc", ["│ a", "│ b", "│ lazy", "", "c"]),
    ("fence with a language", "```py\nx\n```", ["py", "x"]),
    ("fence with a file", "```rust src/main.rs\nx\n```", ["src/main.rs", "x"]),
    ("fence with a title", '```py title="a.py"\nx\n```', ["a.py", "x"]),
    ("plain fence has no label", "```text\nx\n```", ["x"]),
    ("fence keeps empty lines", "```\na\n\n\nb\n```", ["a", "", "", "b"]),
    ("longer fence holds a shorter one", "````\n```\n````\nx", ["```", "x"]),
    ("open fence", "```py\nx = 1", ["py", "x = 1"]),
    ("code rows are never wrapped", "```\n" + "x" * 60 + "\n```", ["x" * 60]),
    ("indented code", "a\n\n    x\n\n    y\n\nb", ["a", "", "x", "", "y", "", "b"]),
    ("image", "![a cat](cat.png)", ["[image: a cat]"]),
    ("reference in the same block", "[r]\n\n[r]: http://z", ["[r]"]),
    ("html is text", "<b>x</b>", ["<b>x</b>"]),
    ("escape codes are pictures", "a\x1b[2Jb\x07", ["a␛[2Jb␇"]),
    ("a named control character is none", "a&#27;b", ["a\ufffdb"]),
    (
        "table",
        "| a | right |\n|---|--:|\n| x | 1 |\n\nb",
        ["a │ right", "──┼──────", "x │     1", "", "b"],
    ),
    ("wide table without a row", f"| {'n' * 50} | b |\n|---|---|", ["n" * 40, "n" * 10, "b"]),
    (
        "wide table",
        "| name | text |\n|---|---|\n| " + "n" * 20 + " | " + "t " * 15 + "|\n| m | u |",
        [
            *("name: " + "n" * 20, "text: " + ("t " * 15).rstrip()),
            *("────────", "name: m", "text: u"),
        ],
    ),
]


@pytest.mark.parametrize(("text", "rows"), [b[1:] for b in BLOCKS], ids=[b[0] for b in BLOCKS])
def test_block(text: str, rows: list[str]) -> None:
    assert shown(text) == rows


FINAL = [
    ("part of a line is never final", "word", []),
    ("a paragraph of three lines waits", "a\nb\nc\n", []),
    ("from the fourth line on all but the last", "a\nb\nc\nd\n", ["a", "b", "c"]),
    ("and then each line", "a\nb\nc\nd\ne\n", ["a", "b", "c", "d"]),
    ("heading with its line", "# a\n", ["a"]),
    ("code line by line", "```\na\nb\n", ["a", "b"]),
    ("an item once the next one begins", "- a\n- b\n", ["• a"]),
    ("a nested item as well", "- a\n  - b\n", ["• a"]),
    ("a table as a whole", "|a|b|\n|-|-|\n|1|2|\n", []),
    ("a quote at the empty line", "> a\n> b\n", []),
    ("a quote behind it", "> a\n\n", ["│ a"]),
]


@pytest.mark.parametrize(("text", "rows"), [f[1:] for f in FINAL], ids=[f[0] for f in FINAL])
def test_what_is_final(text: str, rows: list[str]) -> None:
    assert texts(MarkdownStream(Options(columns=40)).feed(text)) == rows


def test_code_without_colour_keeps_its_backquotes() -> None:
    assert texts(render("run `ls`", Options(quotes=True))) == ["run `ls`"]


def test_highlighting_a_row_never_depends_on_a_later_one() -> None:
    code = '```py\nx = """a\nb"""\ndef f(): pass\n```'
    first = MarkdownStream(Options()).feed(code[: code.index("b")])

    assert render(code, Options())[: len(first)] == first
