"""Tool calls as rows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.cli.render.calls import (
    CallName,
    Running,
    call_name,
    call_rows,
    changes_text,
    result_rows,
    running_rows,
)
from efr.cli.render.spans import CODE, Line, text_of, width
from efr.wire import events as ev
from efr.wire import types as t

ID = "019a9b1c-3d00-7a10-8b20-000000000001"
PATCH = """*** Begin Patch
*** Update File: a.py
*** Move to: b.py
@@
-x
+y
+z
*** Add File: new.txt
+1
*** Delete File: old.txt
*** End Patch"""


def texts(rows: list[Line]) -> list[str]:
    return [text_of(row) for row in rows]


def done(**members: object) -> ev.ToolCallCompleted:
    facts = {"output": "", "truncated": False, "is_error": False, **members}
    return ev.ToolCallCompleted(ID, ID, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tool", "given", "name"),
    [
        ("shell", {"command": "make\ncheck\n"}, CallName("$ ", ("make", "check"))),
        ("read_file", {"path": "a b"}, CallName("read ", ("a b",))),
        ("write_file", {"path": "x", "content": "…"}, CallName("write ", ("x",))),
        ("edit", {"path": "x"}, CallName("edit ", ("x",))),
        ("settings", {"operation": "set", "key": "log"}, CallName("settings ", ("set log",))),
        ("web", {"url": "http://x"}, CallName("web: ", ("http://x",))),
        ("other", {"n": 1}, CallName("other: ", ('{"n": 1}',))),
        ("shell", {"command": "a\x1b[2Jb"}, CallName("$ ", ("a␛[2Jb",))),
        ("shell", "not json", CallName("shell: ", ('"not json"',))),
        (
            "apply_patch",
            PATCH,
            CallName(
                "apply_patch ",
                ("move a.py → b.py +2 −1", "new.txt +1 −0", "delete old.txt"),
                parts=True,
            ),
        ),
        ("apply_patch", {"input": "junk"}, CallName("apply_patch ", ("(no file)",), parts=True)),
    ],
)
def test_call_name(tool: str, given: object, name: CallName) -> None:
    assert call_name(tool, given) == name


def test_freeform_input_shows_as_text() -> None:
    assert call_name("sql", "select\n1", freeform=True) == CallName("sql: ", ("select", "1"))


def test_a_short_call_is_one_row_for_each_line() -> None:
    assert texts(call_rows(CallName("$ ", ("make -j8", "echo hi")), 40)) == [
        "· $ make -j8",
        "    echo hi",
    ]


def test_a_long_call_is_cut_behind_a_blank_or_inside_a_word() -> None:
    name = CallName("$ ", ("rsync --archive --delete source/ target/ " + "x" * 40,))

    assert texts(call_rows(name, 30)) == [
        "· $ rsync --archive --delete \\",
        "        source/ target/ \\",
        "        " + "x" * 21 + "↩",
        "        " + "x" * 19,
    ]


@settings(deadline=None)
@given(st.text(st.sampled_from("ab  -日é"), min_size=1, max_size=200), st.integers(20, 60))
def test_a_committed_call_reads_back_as_typed(command: str, columns: int) -> None:
    rows = call_rows(CallName("$ ", (command,)), columns)

    assert "".join(span.text for row in rows for span in row if span.style == CODE) == (
        f"$ {command}"
    )
    assert all(width(row) <= columns for row in rows)
    assert all(text_of(row)[-1] in "\\↩" for row in rows[:-1])


def test_a_patch_is_broken_between_files_only() -> None:
    name = CallName("apply_patch ", ("aaaaaaaa +1", "bbbbbbbb +1", "cc +1"), parts=True)

    assert texts(call_rows(name, 30)) == [
        "· apply_patch aaaaaaaa +1,",
        "  bbbbbbbb +1, cc +1",
    ]


def test_a_running_call_shows_its_head_and_its_last_output() -> None:
    call = Running(
        CallName("$ ", ("make", "a", "b", "c", "d")), 65, "ctx 4%", "1\n2\n\n3\n4\n", "⠋"
    )

    assert texts(running_rows(call, 40)) == [
        "⠋ $ make  1m 05s  ctx 4%",
        "    a",
        "    b",
        "    2 more lines",
        "  │ 2",
        "  │ 3",
        "  │ 4",
    ]


def test_a_call_that_is_being_stopped_says_so() -> None:
    call = Running(CallName("$ ", ("sleep 99",)), 3, "ctx 4%", "", "⠋", stopping=True)

    assert texts(running_rows(call, 60)) == ["⠋ $ sleep 99  interrupting  3s  ctx 4%"]


@settings(deadline=None)
@given(st.integers(14, 60), st.text(st.sampled_from("ab 日\n"), max_size=60))
def test_running_rows_fit(columns: int, tail: str) -> None:
    name = CallName("$ ", ("make everything at once please",))
    rows = running_rows(Running(name, 3, "ctx 4%", tail, "⠋"), columns)

    assert all(width(row) <= columns for row in rows)


DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
RESULTS = [
    ("good", done(output="x"), 0.2, ["  ✓"]),
    ("slow", done(output="x"), 61, ["  ✓ 1m 01s"]),
    (
        "failed",
        done(output="1\n2\n3\n4\n[exit code 2, cwd /]", is_error=True, exit_code=2),
        1,
        ["  │ 2", "  │ 3", "  │ 4", "  ✗ exit 2 1s"],
    ),
    (
        "stopped",
        done(output="1\n2\n[stopped by the user, cwd /]", is_error=True, exit_code=130),
        2,
        ["  │ 1", "  │ 2", "  ✗ stopped by the user 2s"],
    ),
    (
        "shell gone",
        done(output="a note\n[the shell exited; the next call starts anew]", is_error=True),
        0,
        ["  │ a note", "  ✗ the shell exited"],
    ),
    (
        "wanted a secret",
        done(output="[stopped: it asked for hidden input, cwd /]", is_error=True, exit_code=130),
        0,
        ["  ✗ stopped: it asked for hidden input"],
    ),
    (
        "a bracket of its own",
        done(output="x\n[stop]\n[exit code 1]", is_error=True, exit_code=1),
        0,
        ["  │ x", "  │ [stop]", "  ✗ exit 1"],
    ),
    (
        "long lines",
        done(output="word " * 40 + "\n[exit code 1]", is_error=True, exit_code=1),
        0,
        [*["  │" + " word" * 15] * 2, "  │" + " word" * 10, "  ✗ exit 1"],
    ),
    (
        "an endless line",
        done(output="x" * 9999 + "\n[exit code 1]", is_error=True, exit_code=1),
        0,
        [*["  │ " + "x" * 76] * 2, "  │ " + "x" * 75 + "…", "  ✗ exit 1"],
    ),
    (
        "failed tool",
        done(output="no such file", is_error=True),
        0,
        ["  │ no such file", "  ✗ failed"],
    ),
    (
        "refused",
        done(output="", is_error=True, refusal="efr's config (floor)"),
        0,
        ["  ✗ efr's config (floor)"],
    ),
    ("left running", done(left_running=True), 30, ["  … still running 30s"]),
    ("diff", done(diff=DIFF), 0, ["  @@ -1,2 +1,2 @@", "   a", "  2 more lines", "  ✓"]),
    (
        "setup error",
        done(is_error=True, sandbox=t.SandboxSummary(confined=True, setup_error="no bwrap")),
        0,
        ["  ✗ no bwrap"],
    ),
    (
        "blocked",
        done(
            sandbox=t.SandboxSummary(
                confined=True,
                blocked=(t.Blocked("x.y", 443, t.BlockReason.NOT_ALLOWED, 2),),
                survivors=("sleep",),
            )
        ),
        0,
        ["  ✓", "  blocked x.y:443 (not allowed, 2 times)", "  could not be ended: sleep"],
    ),
]


@pytest.mark.parametrize(
    ("event", "elapsed", "rows"), [r[1:] for r in RESULTS], ids=[r[0] for r in RESULTS]
)
def test_result_rows(event: ev.ToolCallCompleted, elapsed: float, rows: list[str]) -> None:
    assert texts(result_rows(event, elapsed, 80, diff_lines=2)) == rows


def test_changes_are_grouped_by_kind() -> None:
    files = tuple(
        t.FileChange(path=name, kind=kind, added=1, removed=0)
        for name, kind in (
            ("a", t.ChangeKind.MODIFIED),
            ("b", t.ChangeKind.ADDED),
            ("c", t.ChangeKind.MODIFIED),
            ("d", t.ChangeKind.DELETED),
        )
    )

    assert changes_text(t.FileChanges(files, 2, 14, 3)) == "changed a, c; new b, 3 more (+14 −3)"
