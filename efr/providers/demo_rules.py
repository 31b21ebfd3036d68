"""What the offline demo does for which prompt: data first, small functions behind it.

Pure. A rule matches a prompt, names the tool calls of each step (several in one step run like a
model's parallel calls) and words an answer from their results. Every sentence is read off the
results: what a command did not say is not claimed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from efr.providers.canonical import Json

_SHOWN_LINES: Final = 20  # of a command's output in an answer
_SHELL_TIMEOUT_MAX_S: Final = 600  # the shell tool's own limit
_EXIT: Final = re.compile(r"^\[exit code (-?\d+)(, cwd .*)?\]$")  # the shell tool's last line


class DemoCall(Struct, frozen=True):
    """A tool call to make."""

    tool: str
    input: Mapping[str, Json]


class DemoResult(Struct, frozen=True):
    """What came back."""

    call: DemoCall
    output: str
    is_error: bool

    @property
    def exit_code(self) -> int | None:
        """Of a shell call that ended by itself."""
        found = _EXIT.match(self.output.rstrip().rpartition("\n")[2])
        return int(found[1]) if found else None

    @property
    def text(self) -> str:
        """The output without the shell tool's last line."""
        body, _, last = self.output.rstrip().rpartition("\n")
        return body if _EXIT.match(last) else self.output.rstrip()


Step = tuple[DemoCall, ...]


class Rule(Struct, frozen=True):
    """One kind of prompt."""

    pattern: re.Pattern[str]
    thought: str
    steps: Callable[[re.Match[str]], tuple[Step, ...]]
    say: Callable[[re.Match[str], Sequence[DemoResult]], str]
    intro: str = ""


def _shell(command: str, **more: Json) -> Step:
    return (DemoCall("shell", {"command": command, **more}),)


def _fixed(command: str) -> Callable[[re.Match[str]], tuple[Step, ...]]:
    return lambda match: (_shell(command),)


def _run(match: re.Match[str]) -> tuple[Step, ...]:
    return (_shell(match["command"].strip()),)


def _runs(match: re.Match[str]) -> tuple[Step, ...]:
    commands = [part.strip() for part in match["commands"].split(";;") if part.strip()]
    return (tuple(DemoCall("shell", {"command": command}) for command in commands),)


def _sleep(match: re.Match[str]) -> tuple[Step, ...]:
    seconds = int(match["seconds"])
    limit = min(seconds + 10, _SHELL_TIMEOUT_MAX_S)
    return (_shell(f"sleep {seconds}", timeout_seconds=limit),)


def _write(match: re.Match[str]) -> tuple[Step, ...]:
    content = match["text"].strip("\n") + "\n"
    return ((DemoCall("write_file", {"path": match["path"].strip(), "content": content}),),)


def _read(match: re.Match[str]) -> tuple[Step, ...]:
    return ((DemoCall("read_file", {"path": match["path"].strip()}),),)


def _nothing(match: re.Match[str]) -> tuple[Step, ...]:
    return ()


def quoted(text: str) -> str:
    """The last lines of an output as a code block."""
    lines = text.splitlines()
    left_out = len(lines) - _SHOWN_LINES
    head = f"(the last {_SHOWN_LINES} of {len(lines)} lines)\n" if left_out > 0 else ""
    return f"{head}```\n" + "\n".join(lines[-_SHOWN_LINES:]) + "\n```"


def not_done(result: DemoResult) -> str:
    """A call that gave no result to read: the shell tool's last line says why, else the first."""
    lines = result.text.strip().splitlines() or ["it gave no reason"]
    told = result.exit_code is None and lines[-1].startswith("[")
    return f"That did not work: {lines[-1][1:-1] if told else lines[0]}"


def _say_run(match: re.Match[str], results: Sequence[DemoResult]) -> str:
    return "\n\n".join(_told(result) for result in results)


def _told(result: DemoResult) -> str:
    command = result.call.input.get("command")
    if result.exit_code is None:
        lines = result.text.strip().splitlines() or ["it gave no reason"]
        if lines[-1].startswith("["):
            return f"`{command}` did not finish by itself: {lines[-1][1:-1]}."
        return f"`{command}` did not run: {lines[0].partition('. ')[0].removesuffix('.')}."
    ended = f"`{command}` ended with exit code {result.exit_code}"
    text = result.text.strip()
    return f"{ended} and printed:\n{quoted(text)}" if text else f"{ended} and printed nothing."


def _say_disk(match: re.Match[str], results: Sequence[DemoResult]) -> str:
    rows = [line.split() for line in results[0].text.splitlines()]
    disks = [row for row in rows if len(row) >= 6 and re.fullmatch(r"\d+%", row[4])]
    if results[0].exit_code is None or not disks:
        return not_done(results[0])
    _, size, used, free, percent, *mount = max(disks, key=lambda row: int(row[4][:-1]))
    return (
        f"The fullest file system is {' '.join(mount)}: {percent} used, {used} of {size}, "
        f"{free} free.\n{quoted(results[0].text)}"
    )


def _say_memory(match: re.Match[str], results: Sequence[DemoResult]) -> str:
    sizes = dict(re.findall(r"(?m)^(\w+):\s+(\d+) kB", results[0].text))
    if "MemTotal" not in sizes or "MemAvailable" not in sizes:
        return not_done(results[0])
    total, free = int(sizes["MemTotal"]), int(sizes["MemAvailable"])
    return (
        f"{free / 2**20:.1f} GiB of {total / 2**20:.1f} GiB of memory are available: "
        f"{100 * (total - free) // total}% are in use."
    )


def _say_processes(match: re.Match[str], results: Sequence[DemoResult]) -> str:
    lines = results[0].text.strip().splitlines()
    if results[0].exit_code != 0 or len(lines) < 2:
        return not_done(results[0])
    return (
        f"{len(lines) - 1} processes run. The busiest, by processor time:\n"
        f"{quoted(chr(10).join(lines[:6]))}"
    )


def _say_files(match: re.Match[str], results: Sequence[DemoResult]) -> str:
    if results[0].exit_code != 0:
        return not_done(results[0])
    names = [name for name in results[0].text.splitlines() if name not in ("./", "../", "")]
    folders = sum(name.endswith("/") for name in names)
    return (
        f"{len(names)} entries: {folders} directories and {len(names) - folders} others.\n"
        f"{quoted(chr(10).join(names))}"
    )


def _say_git(match: re.Match[str], results: Sequence[DemoResult]) -> str:
    if results[0].exit_code != 0:
        return not_done(results[0])
    lines = results[0].text.splitlines()
    branch = next((line[3:] for line in lines if line.startswith("## ")), "no branch")
    changed = [line for line in lines if line and not line.startswith("## ")]
    if not changed:
        return f"Nothing has changed: the work tree of {branch} is clean."
    return f"{len(changed)} paths have changed on {branch}:\n{quoted(chr(10).join(changed))}"


def _say_written(match: re.Match[str], results: Sequence[DemoResult]) -> str:
    result = results[0]
    return not_done(result) if result.is_error else f"Done: {result.text.strip()}"


def _say_read(match: re.Match[str], results: Sequence[DemoResult]) -> str:
    result = results[0]
    if result.is_error:
        return not_done(result)
    count = len(result.text.splitlines())
    return f"{result.call.input['path']} has {count} lines:\n{quoted(result.text)}"


def _say_slept(match: re.Match[str], results: Sequence[DemoResult]) -> str:
    if results[0].exit_code == 0:
        return f"{match['seconds']} seconds have passed."
    return not_done(results[0])


def _say_count(match: re.Match[str], results: Sequence[DemoResult]) -> str:
    return "\n".join(str(number) for number in range(1, int(match["count"]) + 1))


def _say_text(match: re.Match[str], results: Sequence[DemoResult]) -> str:
    return match["text"].strip()


def _say_help(match: re.Match[str], results: Sequence[DemoResult]) -> str:
    return (
        "I can look at the disk, the memory, the processes, the files here and what changed in "
        "git, and I take `run: COMMAND`, `runs: COMMAND ;; COMMAND`, `read FILE`, "
        "`write FILE: TEXT`, `sleep N`, `count N` and `say: TEXT`. A real model answers the rest."
    )


def _prompt(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


RULES: Final = (
    Rule(_prompt(r"\s*run:\s*(?P<command>\S.*)"), "The user names a command.", _run, _say_run),
    Rule(
        _prompt(r"\s*runs:\s*(?P<commands>\S.*)"),
        "The user names several commands; they do not depend on each other.",
        _runs,
        _say_run,
    ),
    Rule(_prompt(r"\s*say:\s*(?P<text>\S.*)"), "Only words are needed.", _nothing, _say_text),
    Rule(
        _prompt(r"\s*write\s+(?P<path>[^\n:]+):\s?(?P<text>.*)"),
        "The user wants a file.",
        _write,
        _say_written,
    ),
    Rule(_prompt(r"\s*read\s+(?P<path>\S[^\n]*)"), "The user names a file.", _read, _say_read),
    Rule(_prompt(r"\s*sleep\s+(?P<seconds>\d{1,4})\s*"), "A pause is wanted.", _sleep, _say_slept),
    Rule(
        _prompt(r"\s*count\s+(?:to\s+)?(?P<count>\d{1,6})\s*"),
        "Numbers in order, one a line.",
        _nothing,
        _say_count,
    ),
    Rule(
        _prompt(r".*\b(disk|space|storage)\b.*"),
        "df tells how full each file system is.",
        _fixed("df -h"),
        _say_disk,
        "I look at the file systems.",
    ),
    Rule(
        _prompt(r".*\b(memory|ram)\b.*"),
        "The kernel tells it in /proc/meminfo.",
        _fixed("cat /proc/meminfo"),
        _say_memory,
        "I look at the memory.",
    ),
    Rule(
        _prompt(r".*\b(process(es)?|cpu|running)\b.*"),
        "ps lists the processes, the busiest first.",
        _fixed("ps aux --sort=-pcpu"),
        _say_processes,
        "I look at the processes.",
    ),
    Rule(
        _prompt(r".*\b(git|changed|changes)\b.*"),
        "git status tells the branch and what changed.",
        _fixed("git status --short --branch"),
        _say_git,
        "I look at the work tree.",
    ),
    Rule(
        _prompt(r".*\b(director(y|ies)|folder|files|what is here)\b.*"),
        "ls tells what is here.",
        _fixed("ls -1ap"),
        _say_files,
        "I look at the directory.",
    ),
    Rule(_prompt(r".*"), "Nothing I can look up.", _nothing, _say_help),
)  # the first that matches the whole prompt


def rule_for(prompt: str) -> tuple[Rule, re.Match[str]]:
    """The rule of a prompt; the last rule takes any."""
    for rule in RULES:
        match = rule.pattern.fullmatch(prompt)
        if match is not None:
            return rule, match
    raise AssertionError("the last rule matches every text")
