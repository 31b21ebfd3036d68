"""Tool calls to rows: the name of a call, the call while it runs, the call when it ended.

Pure. A committed call can be read back in full: a row that was cut ends in a mark that says how
the next one goes on (docs/efr.md, "Tool calls").
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from efr.cli.render.diffs import diff_rows
from efr.cli.render.sandbox import sandbox_rows
from efr.cli.render.spans import (
    ACCENT,
    CODE,
    ERROR,
    MUTED,
    PLAIN,
    SUCCESS,
    Line,
    Span,
    cut_line,
    hang,
    join,
    row,
    wrap,
)
from efr.cli.render.times import clock_text
from efr.cli.render.width import cells, cut, split_at
from efr.text.visible import visible_line, visible_text

if TYPE_CHECKING:
    from efr.wire import events as ev
    from efr.wire import types as t

BLANK_MARK = "\\"  # the row was cut behind a blank, the next one is indented by 4
WORD_MARK = "↩"  # the row was cut inside a word, the next one starts at the same column
_INDENT = 4
_TAIL_LINES = 3
_DETAILS = ("command", "cmd", "path", "file", "url", "query")
_FILE_TOOLS = {"read_file": "read", "write_file": "write", "edit": "edit"}
# The shell tool's last line, written for the model: how the command ended, and where.
_END_LINE = (
    r"\[(?:(?P<code>exit code -?\d+)|(?P<why>stopped|not run|the shell exited|still running)"
    r"(?P<more>[^;]*?)(?:;.*?)?)(?:, cwd .*)?\]"
)
_WRAPPED_ROWS = 3  # of one line of output under a failed call
_PATCH_FILE = r"^\*\*\* (Add|Delete|Update) File: *(.*)$"
_PATCH_MOVE = r"^\*\*\* Move to: *(.*)$"


class CallName(Struct, frozen=True):
    """A call in words. `parts`: the lines are files of a patch, broken only between them."""

    head: str
    lines: tuple[str, ...]
    parts: bool = False

    @property
    def first(self) -> str:
        """The call on one row."""
        if self.parts:
            return self.head + ", ".join(self.lines)
        return self.head + self.lines[0]


def call_name(tool: str, given: object, *, freeform: bool = False) -> CallName:
    """What a call is called, from the name of its tool and its input as the model wrote it."""
    members = given if isinstance(given, dict) else {}
    if tool == "shell" and isinstance(members.get("command"), str):
        return CallName("$ ", _lines(members["command"]))
    if tool in _FILE_TOOLS and isinstance(members.get("path"), str):
        return CallName(f"{_FILE_TOOLS[tool]} ", _lines(members["path"]))
    if tool == "apply_patch":
        patch = given if isinstance(given, str) else members.get("input")
        return CallName("apply_patch ", tuple(_patch_files(str(patch or ""))), parts=True)
    if tool == "settings":
        words = (members.get(name) for name in ("operation", "key"))
        return CallName("settings ", (visible_line(" ".join(str(w) for w in words if w)),))
    if freeform and isinstance(given, str):
        return CallName(f"{visible_line(tool)}: ", _lines(given))
    detail = next((members[name] for name in _DETAILS if isinstance(members.get(name), str)), None)
    text = detail if detail is not None else json.dumps(given, ensure_ascii=False)
    return CallName(f"{visible_line(tool)}: ", _lines(text))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(visible_text(text.rstrip("\n")).expandtabs(4).split("\n"))


def _patch_files(patch: str) -> list[str]:
    """Each file of a patch: its path and counts, a delete, or a move."""
    files: list[list[str | int]] = []  # kind, path, moved to, added, removed
    for line in patch.splitlines():
        if found := re.match(_PATCH_FILE, line.strip()):
            files.append([found[1], found[2].strip(), "", 0, 0])
        elif not files:
            continue
        elif moved := re.match(_PATCH_MOVE, line.strip()):
            files[-1][2] = moved[1].strip()
        elif line.startswith(("+", "-")):
            place = 3 if line[0] == "+" else 4
            files[-1][place] = int(files[-1][place]) + 1
    return [_patch_file(*file) for file in files] or ["(no file)"]


def _patch_file(kind: str | int, path: str | int, to: str | int, *counts: str | int) -> str:
    shown = visible_line(str(path))
    if kind == "Delete":
        return f"delete {shown}"
    added, removed = counts
    changes = f" +{added} −{removed}" if added or removed else ""
    if to:
        return f"move {shown} → {visible_line(str(to))}{changes}"
    return f"{shown}{changes}"


class Running(Struct, frozen=True):
    """A call that runs. `elapsed_s` counts from the start, or from a yes; `tail` is its output."""

    name: CallName
    elapsed_s: float
    context: str
    tail: str
    spinner: str
    stopping: bool = False


def running_rows(call: Running, columns: int) -> list[Line]:
    """The call while it runs: one row, up to three more lines of the command, its last output."""
    facts = ["interrupting"] if call.stopping else []
    facts += [clock_text(call.elapsed_s)] if call.elapsed_s >= 1 else []
    facts += [call.context] if call.context else []
    end = "".join(f"  {fact}" for fact in facts)
    room = columns - 2 - cells(end)
    if room < 10:
        end, room = "", columns - 2
    first = cut(call.name.first, max(room, 1))
    rows = [join(row(call.spinner + " ", ACCENT), row(first, CODE), row(end, MUTED))]
    more = () if call.name.parts else call.name.lines[1:]
    shown = more if len(more) <= _TAIL_LINES else more[: _TAIL_LINES - 1]
    rows += [cut_line(row("    " + line, CODE), columns) for line in shown]
    if left := len(more) - len(shown):
        rows.append(cut_line(row(f"    {left} more lines", MUTED), columns))
    return rows + [cut_line(line, columns) for line in tail_rows(call.tail)]


def tail_rows(text: str) -> list[Line]:
    """The last three lines with text, behind a bar."""
    lines = [line.rstrip() for line in visible_text(text).expandtabs(8).split("\n")]
    last = [line for line in lines if line][-_TAIL_LINES:]
    return [(Span("  │ ", MUTED), Span(line)) for line in last]


def _wrapped_tail(text: str, columns: int) -> list[Line]:
    """The same, each line on up to three rows behind its bar."""
    room = max(columns - 4, 1)
    return [
        (bar, *part)
        for bar, line in tail_rows(text)
        for part in wrap(row(cut(line.text, room * _WRAPPED_ROWS), PLAIN), room)
    ]


def call_rows(name: CallName, columns: int) -> list[Line]:
    """The whole call, never shortened."""
    dot = Span("· ", ACCENT)
    if name.parts:
        return _part_rows(name, dot, columns)
    column = 2 + cells(name.head) if name.head == "$ " else 2
    lines = [name.head + name.lines[0], *name.lines[1:]]
    rows: list[Line] = []
    for index, line in enumerate(lines):
        start = (dot,) if index == 0 else (Span(" " * column),)
        for place, text, mark in _folded(line, 2 if index == 0 else column, column, columns):
            before = start if place is None else (Span(" " * place),)
            rows.append((*before, Span(text, CODE), *([Span(mark, MUTED)] if mark else [])))
    return rows


def _folded(text: str, first: int, base: int, columns: int) -> list[tuple[int | None, str, str]]:
    """(column, text, mark) of each row; column None is the first row, which starts at `first`."""
    rows: list[tuple[int | None, str, str]] = []
    place, column = None, first
    rest = text
    while cells(rest) > columns - column:
        room = max(columns - column - 1, 1)  # the mark
        head = split_at(rest, room)[0] or rest[:1]
        blank = head.rfind(" ") + 1
        if blank and cells(head[:blank]) * 2 >= room and head[:blank].strip():
            rows.append((place, head[:blank], BLANK_MARK))
            rest = rest[blank:]
            place = column = min(base + _INDENT, max(columns // 2, 0))
        else:
            rows.append((place, head, WORD_MARK))
            rest = rest[len(head) :]
            place = column = column if place is not None else base
    return [*rows, (place, rest, "")]


def _part_rows(name: CallName, dot: Span, columns: int) -> list[Line]:
    """The files of a patch, broken between files only."""
    rows: list[Line] = []
    current = name.head
    for index, part in enumerate(name.lines):
        text = part + (", " if index < len(name.lines) - 1 else "")
        if current.strip() and 2 + cells(current + text.rstrip()) > columns and index:
            rows.append((Span("  ") if rows else dot, Span(current.rstrip(), CODE)))
            current = ""
        current += text
    return [*rows, (Span("  ") if rows else dot, Span(current, CODE))]


def result_rows(
    done: ev.ToolCallCompleted, elapsed_s: float, columns: int, diff_lines: int
) -> list[Line]:
    """What stands under a call that ended: output or diff, the result, what the sandbox says."""
    setup_error = done.sandbox.setup_error if done.sandbox else None
    rows: list[Line] = []
    output, why = _told_apart(done.output)
    if done.is_error and not setup_error:
        rows += _wrapped_tail(output, columns)
    elif done.diff:
        rows += [
            ((Span("  "), *line) if line else line) for line in diff_rows(done.diff, diff_lines)
        ]
    if setup_error:
        rows += hang(row(f"  ✗ {visible_line(setup_error)}", ERROR), columns, 4)
    else:
        rows += hang(_result(done, elapsed_s, why), columns, 4)
    if done.changes is not None and not done.diff:
        rows += hang(row("  " + changes_text(done.changes), MUTED), columns, 4)
    return rows + sandbox_rows(done.sandbox, columns)


def _told_apart(output: str) -> tuple[str, str]:
    """(what the command printed, how it ended when not by itself)."""
    body, _, last = output.rstrip("\n").rpartition("\n")
    found = re.fullmatch(_END_LINE, last)
    if found is None:
        return output, ""
    return body, f"{found['why']}{found['more']}" if found["why"] else ""


def _result(done: ev.ToolCallCompleted, elapsed_s: float, told: str) -> Line:
    time = f" {clock_text(elapsed_s)}" if elapsed_s >= 1 else ""
    if done.left_running:
        return join(row("  … ", ACCENT), row(f"still running{time}", MUTED))
    if not done.is_error:
        return join(row("  ✓", SUCCESS), row(time, MUTED))
    why = visible_line(done.refusal or told) or _exit_text(done.exit_code)
    return join(row("  ✗ ", ERROR), row(why, PLAIN), row(time, MUTED))


def _exit_text(exit_code: int | None) -> str:
    return "failed" if exit_code in {None, 0} else f"exit {exit_code}"


def changes_text(changes: t.FileChanges) -> str:
    """Three files grouped by kind, the counts, how many more."""
    words = {"added": "new", "modified": "changed", "deleted": "deleted", "renamed": "renamed"}
    groups: dict[str, list[str]] = {}
    for file in changes.files[:_TAIL_LINES]:
        groups.setdefault(words[file.kind.value], []).append(visible_line(file.path))
    names = "; ".join(f"{word} {', '.join(paths)}" for word, paths in groups.items())
    more = max(len(changes.files) - _TAIL_LINES, 0) + changes.more
    rest = f", {more} more" if more else ""
    return f"{names}{rest} (+{changes.added} −{changes.removed})"
