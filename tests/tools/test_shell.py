"""The tool `shell`: what it declares, and the text of every end."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from efr.base.cancel import Cancel
from efr.policy.needs import CallNeeds, PathUse
from efr.shell.contract import CallEnd, CallWatcher, EndKind, ShellCall
from efr.tools.contract import BadInput, ToolContext, ToolResult, Where
from efr.tools.shell import ShellTool
from tests.tools.fakes import FakeHiddenShell, context

WHERE = Where("/home/u/notes", "/home/u/p", "/home/u")


def run(shell: FakeHiddenShell, **input: object) -> ToolResult:
    return ShellTool().run({"command": "make", **input}, context(Path("/home/u"), shell))


def test_it_declares_line_start_paths_and_hints() -> None:
    line = "sudo curl -o out https://h < ~/in"
    assert ShellTool().declare({"command": line}, WHERE) == CallNeeds(
        "shell",
        paths=(
            PathUse("/home/u/in", "read"),
            PathUse("/home/u/p/curl", "read"),
            PathUse("/home/u/p/out", "read"),
            PathUse("/home/u/p/https://h", "read"),
        ),
        command=line,
        command_dir="/home/u/p",
        command_dir_real="/home/u/p",
        network=True,
        interactive=True,
    )


@pytest.mark.parametrize(
    ("workdir", "directory"),
    [("a/../b", "/home/u/p/b"), ("~/x", "/home/u/x"), ("/srv", "/srv"), (".", "/home/u/p")],
)
def test_a_workdir_is_read_and_starts_the_line(workdir: str, directory: str) -> None:
    needs = ShellTool().declare({"command": "ls", "workdir": workdir}, WHERE)
    assert needs.command == "ls"
    assert needs.command_dir == directory
    assert needs.paths[0].access == "read"
    assert {use.access for use in needs.paths} == {"read"}


@pytest.mark.parametrize(
    ("input", "message"),
    [
        ({}, "command"),
        ({"command": ""}, "command"),
        ({"command": 1}, "command"),
        ({"command": "ls", "cwd": "/"}, "cwd"),
        ({"command": "ls", "timeout_seconds": 0}, "timeout_seconds"),
        ({"command": "ls", "timeout_seconds": 601}, "timeout_seconds"),
        ({"command": "ls", "timeout_seconds": "5"}, "timeout_seconds"),
        ({"command": "ls", "nested_shell": True}, "nested_shell is not available"),
        ({"command": "ls", "workdir": ""}, "path is empty"),
        ({"command": "ls", "background": True}, "background"),
        ('{"command": "ls"', "not a JSON object"),
        ([], "object"),
        (None, "object"),
    ],
)
def test_bad_input_is_told(input: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        ShellTool().declare(input, WHERE)


@pytest.mark.parametrize(
    ("end", "output", "is_error"),
    [
        (CallEnd("exited", 0, "a\nb\n"), "a\nb\n[exit code 0, cwd /p]", False),
        (CallEnd("exited", 0), "[exit code 0, cwd /p]", False),
        (CallEnd("exited", 2, "oops"), "oops\n[exit code 2, cwd /p]", True),
        (CallEnd("exited", 0, cwd="/x\ny"), "[exit code 0, cwd /x y]", False),
        (CallEnd("exited", 0, "x", note="A note."), "x\nA note.\n[exit code 0, cwd /p]", False),
        (
            CallEnd("not_run", output="zsh: parse error"),
            "zsh: parse error\n[not run: zsh could not read the line, cwd /p]",
            True,
        ),
        (
            CallEnd("timed_out", output="50%", left_running=True, note="It waits for input."),
            "50%\nIt waits for input.\n[still running after 30 s; the shell takes no other command"
            " until it ends, cwd /p]",
            True,
        ),
        (CallEnd("interrupted", 130, "x"), "x\n[stopped by the user, cwd /p]", True),
        (
            CallEnd("interrupted", left_running=True),
            "[stopped by the user, but it could not be ended and still runs, cwd /p]",
            True,
        ),
        (
            CallEnd("needs_input", 130, "Password:"),
            "Password:\n[stopped: it asked for hidden input and nobody could type it, cwd /p]",
            True,
        ),
        (CallEnd("busy"), "[not run: an earlier command still runs in this shell, cwd /p]", True),
        (CallEnd("failed"), "[not run: the shell did not start]", True),
    ],
)
def test_every_end_has_its_text(end: CallEnd, output: str, is_error: bool) -> None:
    result = run(FakeHiddenShell("/p", end))
    assert (result.output, result.is_error) == (output, is_error)
    assert (result.exit_code, result.left_running) == (end.exit_code, end.left_running)


def test_the_end_of_the_shell_names_no_directory() -> None:
    end = CallEnd("shell_exited", 1, "bye")
    assert ShellTool().run({"command": "exit"}, _gone(end)).output == (
        "bye\n[the shell exited; the next call starts a new one in the user's directory]"
    )


def _gone(end: CallEnd) -> ToolContext:
    class Gone(FakeHiddenShell):
        def run(self, call: ShellCall, cancel: Cancel, watcher: CallWatcher) -> CallEnd:
            return end

    return context(Path("/home/u"), Gone("/p"))


def test_long_output_keeps_both_ends_and_the_last_line() -> None:
    lines = "".join(f"line {n}\n" for n in range(100_000))
    result = run(FakeHiddenShell("/p", CallEnd("exited", 0, lines)))
    assert result.truncated
    assert result.output.startswith("line 0\nline 1\n")
    assert result.output.endswith("line 99999\n[exit code 0, cwd /p]")
    assert "bytes omitted ...]\n" in result.output
    assert len(result.output.encode()) <= 32 * 1024 + len("\n[exit code 0, cwd /p]")
    assert run(FakeHiddenShell("/p", CallEnd("exited", 0, "x", truncated=True))).truncated


@pytest.mark.parametrize(("line", "interactive"), [("sudo ls", True), ("ls", False)])
def test_the_line_runs_as_it_was_judged(line: str, interactive: bool) -> None:
    shell = FakeHiddenShell("/p")
    run(shell, command=line, timeout_seconds=7)
    (call,) = shell.calls
    assert (call.line, call.timeout_s, call.interactive) == (line, 7.0, interactive)
    assert not call.nested


def test_a_shell_that_stands_elsewhere_goes_where_the_line_was_judged(tmp_path: Path) -> None:
    shell = FakeHiddenShell(str(tmp_path), strays=["/elsewhere"])
    result = run(shell)
    assert (shell.moves, shell.ran_in) == ([str(tmp_path)], [str(tmp_path)])
    assert result.output == f"[exit code 0, cwd {tmp_path}]"


def test_a_directory_that_became_a_link_while_the_question_waited_runs_nothing(
    tmp_path: Path,
) -> None:
    start, other = tmp_path / "start", tmp_path / "other"
    for one in (start, other):
        one.mkdir()
    shell = FakeHiddenShell(str(start))
    asked = context(tmp_path, shell)
    needs = ShellTool().declare({"command": "make"}, asked.where)
    start.rmdir()
    start.symlink_to(other)
    shell.strays = [str(other), str(other)]
    result = ShellTool().run({"command": "make"}, replace(asked, needs=needs))
    assert (result.is_error, shell.ran_in) == (True, [])


def test_nothing_runs_where_it_was_not_judged(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    lost = FakeHiddenShell(gone, strays=["/elsewhere"])
    assert run(lost).output == f"There is no directory {gone}. Nothing ran."
    driven = FakeHiddenShell(str(tmp_path), strays=["/elsewhere", "/elsewhere"])
    why = "not run: the shell stands in another directory than the line was judged for"
    assert run(driven).output == f"[{why}, cwd /elsewhere]"
    assert lost.ran_in == driven.ran_in == []


@pytest.mark.parametrize(
    ("kind", "goes_to", "left", "goes_back"),
    [
        ("exited", None, False, True),
        ("exited", "/elsewhere", False, False),
        ("timed_out", None, True, False),
        ("shell_exited", None, False, False),
    ],
)
def test_a_workdir_holds_for_one_call(
    tmp_path: Path, kind: EndKind, goes_to: str | None, left: bool, goes_back: bool
) -> None:
    start, sub = str(tmp_path), str(tmp_path / "sub")
    (tmp_path / "sub").mkdir()
    shell = FakeHiddenShell(start, CallEnd(kind, 0, left_running=left), goes_to)
    result = run(shell, workdir="sub")
    assert shell.ran_in == [sub]
    assert shell.moves == ([sub, start] if goes_back else [sub])
    if kind == "exited":
        assert result.output == f"[exit code 0, cwd {goes_to or start}]"


def test_a_workdir_that_cannot_be_entered_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    shell = FakeHiddenShell(str(tmp_path), refuses=frozenset((f"{tmp_path}/sub",)))
    refused, missing = run(shell, workdir="sub"), run(shell, workdir="gone")
    assert refused.output == (
        f"The shell could not change to {tmp_path}/sub: a command still runs. Nothing ran."
    )
    assert missing.output == f"There is no directory {tmp_path}/gone. Nothing ran."
    assert refused.is_error
    assert missing.is_error
    assert shell.calls == []


def test_a_shell_that_cannot_go_back_says_so(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    shell = FakeHiddenShell(str(tmp_path), refuses=frozenset((str(tmp_path),)))
    assert run(shell, workdir="sub").output == (
        f"The shell could not change to {tmp_path}: a command still runs.\n"
        f"[exit code 0, cwd {tmp_path}/sub]"
    )


def test_a_command_has_no_preview() -> None:
    assert ShellTool().preview({"command": "ls"}, WHERE) is None
