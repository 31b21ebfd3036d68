"""The page of `efr diff`: rows, list and totals."""

from __future__ import annotations

from efr.cli.render.diff_page import page, stat_rows, total_row
from efr.cli.render.spans import MUTED, Style, text_of
from efr.wire import types as t

DIFF = """\
diff --git a/x.py b/x.py
index 1..2 100644
--- a/x.py
+++ b/x.py
@@ -1,2 +1,3 @@
 def f():
--- a
+\treturn "\x1b[31m"
+++ b
\\ No newline at end of file
.env: ignored file, content not shown
... 12 more lines
"""


def test_every_row_is_there_and_nothing_of_it_can_drive_the_terminal() -> None:
    rows = page(DIFF)
    assert [text_of(one) for one in rows] == [
        "diff --git a/x.py b/x.py",
        "index 1..2 100644",
        "--- a/x.py",
        "+++ b/x.py",
        "@@ -1,2 +1,3 @@",
        " def f():",
        "--- a",
        '+   return "␛[31m"',
        "+++ b",
        "\\ No newline at end of file",
        ".env: ignored file, content not shown",
        "efrd cut 12 more lines",
    ]
    assert rows[6][0].style == Style("diff.remove"), "a removed line that looks like a header"
    assert rows[7][0].style == Style("diff.add")
    assert Style("syntax.keyword") in [span.style for span in rows[7]]
    assert rows[4][0].style == Style("diff.hunk")
    assert all(rows[place][0].style == MUTED for place in (0, 2, 9, 10, 11))


def test_a_long_diff_has_the_colours_of_its_signs_alone() -> None:
    rows = page(
        DIFF.replace(" def f():\n", " def f():\n" + " x\n" * 5001).replace("2 +1,3", "5003 +1,5004")
    )
    assert {span.style.role for one in rows for span in one} <= {
        "muted",
        "text",
        "diff.add",
        "diff.remove",
        "diff.hunk",
    }


def test_the_list_names_kinds_counts_and_what_is_left_out() -> None:
    kind = t.ChangeKind
    files = (
        t.FileChange(path="a\nb", kind=kind.RENAMED, from_="old", added=1, removed=0),
        t.FileChange(path="x.png", kind=kind.ADDED, added=0, removed=0, binary=True),
    )
    changes = t.FileChanges(files, 3, 10, 2)
    assert [text_of(one) for one in stat_rows(changes)] == [
        "renamed  +1 −0   old → a b",
        "new      binary  x.png",
        "3 more",
    ]
    assert text_of(total_row(changes)) == "5 files (+10 −2)"
