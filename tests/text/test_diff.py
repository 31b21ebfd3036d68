"""Unified diffs: the form, the limits, and that they lead from the old text to the new one."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.text.diff import file_diff, limit_lines, unified_diff
from efr.text.lines import matches, split_lines

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
SOME_LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\r\n", "\n", "e e\n"]), max_size=25)
LAST = st.sampled_from(["", "tail", "a"])
TEXTS = st.builds(lambda lines, last: "".join(lines) + last, SOME_LINES, LAST)


def apply(old: str, lines: tuple[str, ...]) -> str:
    """A plain reader of unified diffs: what `patch` would make of it."""
    source, out, at = split_lines(old), list[str](), 0
    for number, line in enumerate(lines[2:], start=2):
        head = HUNK.fullmatch(line)
        if head:
            first = int(head[1]) - (head[2] != "0")
            out += source[at:first]
            at = first
            continue
        if line.startswith("\\"):
            continue
        ended = number + 1 == len(lines) or not lines[number + 1].startswith("\\")
        text = line[1:] + ("\n" if ended else "")
        if line[0] in " -":
            assert source[at] == text
            at += 1
        if line[0] in " +":
            out.append(text)
    return "".join(out + source[at:])


@given(TEXTS, TEXTS)
def test_a_diff_leads_from_old_to_new(old: str, new: str) -> None:
    diff = file_diff("f", old, new)
    assert apply(old, diff.lines) == new
    if old == new:
        assert diff.lines == ()
        return
    assert diff.added == sum(line.startswith("+") for line in diff.lines[2:])
    assert diff.removed == sum(line.startswith("-") for line in diff.lines[2:])


@given(st.lists(st.integers(0, 8), max_size=30), st.lists(st.integers(0, 8), max_size=30))
def test_runs_are_equal_in_order_and_whole(old: list[int], new: list[int]) -> None:
    before, after = [str(n) for n in old], [str(n) for n in new]
    at = (0, 0)
    for match in matches(before, after):
        assert match.old >= at[0]
        assert match.new >= at[1]
        assert (
            before[match.old : match.old + match.size] == after[match.new : match.new + match.size]
        )
        assert (match.old, match.new) != at or at == (0, 0)
        at = (match.old + match.size, match.new + match.size)


def test_the_form_is_that_of_diff() -> None:
    old = "".join(f"{n}\n" for n in range(1, 21))
    new = old.replace("5\n", "five\n", 1).replace("18\n", "")
    assert unified_diff("src/a.py", old, new, 100) == (
        "--- src/a.py\n+++ src/a.py\n"
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        "@@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "diff"),
    [
        (None, "x\n", "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+x\n"),
        ("x\n", None, "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"),
        (None, "", "--- /dev/null\n+++ f\n"),
        ("a\n", "a", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"),
        ("a\n", "a\n", ""),
    ],
)
def test_missing_files_and_missing_newlines(old: str | None, new: str | None, diff: str) -> None:
    assert unified_diff("f", old, new, 100) == diff


def test_a_move_names_both_paths_even_without_a_change() -> None:
    assert file_diff("b", "x\n", "x\n", from_path="a").lines == ("--- a", "+++ b")


def test_a_path_that_would_break_the_header_is_quoted() -> None:
    diff = unified_diff('a\n"b"\x01', None, "", 10)
    assert diff == '--- /dev/null\n+++ "a\\n\\"b\\"\\001"\n'


def test_limits_count_what_they_leave_out() -> None:
    new = "".join(f"{n}\n" for n in range(500))
    cut = unified_diff("f", None, new, 200)
    assert cut.count("\n") == 201
    assert cut.endswith("\n+196\n... 303 more lines\n")
    assert limit_lines(["é", "b"], 5, max_bytes=3) == "é\n... 1 more lines\n"
    assert limit_lines(["x" * 100], 5, max_bytes=50) == "... 1 more lines\n"


def test_two_large_unlike_texts_are_compared_within_the_bound() -> None:
    choose = random.Random(4)
    old = "".join(f"{choose.randrange(400)}\n" for _ in range(30_000))
    new = "".join(f"{choose.randrange(400)}\n" for _ in range(30_000))
    diff = file_diff("f", old, new)
    assert apply(old, diff.lines) == new


def test_reversed_lines_are_no_trap() -> None:
    lines = [f"{n}\n" for n in range(20_000)]
    diff = file_diff("f", "".join(lines), "".join(reversed(lines)))
    assert diff.added == diff.removed == 19_999
