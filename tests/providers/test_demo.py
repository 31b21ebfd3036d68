"""The demo behaves like a model: it calls tools, reads their results and says what they say."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from efr.base.cancel import Cancel, Cancelled
from efr.providers.canonical import (
    Folded,
    Message,
    ReasoningBlock,
    Request,
    TextBlock,
    TextDelta,
    ToolDefinition,
    ToolResultBlock,
    fold,
)
from efr.providers.demo import BANNER, DemoProvider
from efr.providers.demo_rules import RULES, rule_for

TOOLS = tuple(
    ToolDefinition(name, "A tool.", {"type": "object"})
    for name in ("shell", "read_file", "write_file")
)
LIVE = TextBlock("<live_state>\nthe user is in /tmp\n</live_state>")


def no_wait(cancel: Cancel, seconds: float) -> None:
    """The tests do not wait for words."""


DEMO = DemoProvider(wait=no_wait)


def prompt(text: str) -> Message:
    return Message("user", (LIVE, TextBlock(text)))


def ask(*messages: Message, tools: tuple[ToolDefinition, ...] = TOOLS) -> Folded:
    return fold(DEMO.stream(Request("demo", messages, system="s", tools=tools), Cancel()))


def run_turn(text: str, folder: Path) -> tuple[str, list[str]]:
    """The visible text of a whole turn with real tools, and the commands that ran."""
    messages = [prompt(text)]
    texts: list[str] = []
    ran: list[str] = []
    for _ in range(5):
        folded = ask(*messages)
        texts.append(folded.message.text)
        messages.append(folded.message)
        if folded.stop_reason == "end_turn":
            return "\n".join(texts).strip(), ran
        results = []
        for call in folded.message.calls:
            output, failed = use(call.name, call.input, folder)
            ran.append(str(call.input))
            results.append(ToolResultBlock(call.call_id, output, failed))
        messages.append(Message("user", tuple(results)))
    raise AssertionError("the turn did not end")


def use(name: str, value: dict[str, str], folder: Path) -> tuple[str, bool]:
    if name == "read_file":
        return (folder / value["path"]).read_text(), False
    if name == "write_file":
        (folder / value["path"]).write_text(value["content"])
        return f"Wrote {value['path']} ({len(value['content'])} bytes).", False
    done = subprocess.run(
        ["sh", "-c", value["command"]], cwd=folder, capture_output=True, text=True
    )
    tail = f"[exit code {done.returncode}, cwd {folder}]"
    return done.stdout + done.stderr + tail, done.returncode != 0


@pytest.mark.parametrize("text", ["hello", "run: echo hi", "count 3", "why is the disk full?"])
def test_every_reply_begins_with_the_banner_line(text: str, tmp_path: Path) -> None:
    said, _ = run_turn(text, tmp_path)

    assert said.splitlines()[0] == BANNER
    assert said.count(BANNER) == 1
    assert "efr login" in BANNER


def test_a_command_is_run_and_its_output_told(tmp_path: Path) -> None:
    said, ran = run_turn("run: echo one && echo two", tmp_path)

    assert ran == ["{'command': 'echo one && echo two'}"]
    assert "ended with exit code 0 and printed:\n```\none\ntwo\n```" in said


def test_a_failed_command_is_told_as_it_was(tmp_path: Path) -> None:
    said, _ = run_turn("run: exit 3", tmp_path)

    assert said.endswith("`exit 3` ended with exit code 3 and printed nothing.")


def test_several_commands_are_parallel_calls_in_order() -> None:
    first = ask(prompt("runs: echo a ;; echo b;;echo c"))

    assert [call.input for call in first.message.calls] == [
        {"command": "echo a"},
        {"command": "echo b"},
        {"command": "echo c"},
    ]
    assert len({call.call_id for call in first.message.calls}) == 3


def test_a_long_output_is_cut_to_its_last_lines(tmp_path: Path) -> None:
    said, _ = run_turn("run: seq 100", tmp_path)

    assert "(the last 20 of 100 lines)" in said
    assert "\n80\n" not in said
    assert "\n81\n" in said


def test_files_are_written_and_read(tmp_path: Path) -> None:
    run_turn("write notes.txt: größe", tmp_path)
    said, _ = run_turn("read notes.txt", tmp_path)

    assert (tmp_path / "notes.txt").read_text() == "größe\n"
    assert "notes.txt has 1 lines:\n```\ngröße\n```" in said


def test_the_directory_is_counted(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    said, _ = run_turn("what is in this directory?", tmp_path)

    assert "2 entries: 1 directories and 1 others." in said


def test_changes_in_git_are_counted(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=tmp_path, check=True)
    (tmp_path / "new").touch()
    said, _ = run_turn("what changed in git?", tmp_path)

    assert "1 paths have changed on No commits yet on main:\n```\n?? new\n```" in said


def test_outside_git_the_demo_says_so(tmp_path: Path) -> None:
    said, _ = run_turn("what changed in git?", tmp_path)

    assert "That did not work: fatal: not a git repository" in said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("why is the disk full?", r"The fullest file system is /.*: \d+% used"),
        ("how much memory is left", r"GiB of memory are available: \d+% are in use"),
        ("which processes are running", r"\d+ processes run"),
    ],
)
def test_the_machine_is_looked_at(text: str, told: str, tmp_path: Path) -> None:

    said, _ = run_turn(text, tmp_path)

    assert re.search(told, said) or "That did not work" in said


def test_a_sleep_asks_for_enough_time() -> None:
    call = ask(prompt("sleep 45")).message.calls[0]

    assert call.input == {"command": "sleep 45", "timeout_seconds": 55}


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("The user said no. Ask them.", "did not run: The user said no."),
        (
            "half\n[still running after 30 s, cwd /]",
            "did not finish by itself: still running after 30 s, cwd /.",
        ),
        ("", "did not run: it gave no reason."),
    ],
)
def test_a_call_that_did_not_end_is_told_as_such(output: str, why: str) -> None:
    first = ask(prompt("run: rm -rf x"))
    denied = ToolResultBlock(first.message.calls[0].call_id, output, is_error=True)
    said = ask(prompt("run: rm -rf x"), first.message, Message("user", (denied,)))

    assert said.message.text == f"`rm -rf x` {why}"


def test_an_exit_code_without_a_directory_is_read_too() -> None:
    first = ask(prompt("run: true"))
    result = ToolResultBlock(first.message.calls[0].call_id, "[exit code 0]")
    said = ask(prompt("run: true"), first.message, Message("user", (result,)))

    assert said.message.text == "`true` ended with exit code 0 and printed nothing."


def test_a_count_streams_a_line_at_a_time_and_ends_when_cancelled() -> None:
    cancel = Cancel()
    numbers: list[str] = []
    stream = DEMO.stream(Request("demo", (prompt("count 100000"),)), cancel)
    for event in stream:
        if isinstance(event, TextDelta) and event.text.strip().isdigit():
            numbers.append(event.text)
        if len(numbers) == 70:
            break
    cancel.cancel()

    assert numbers == [f"{number}\n" for number in range(1, 71)]
    with pytest.raises(Cancelled):
        next(stream)


def test_a_text_is_said_as_it_is() -> None:
    text = ask(prompt("say: **größe** 🙂\n\n- a")).message.text

    assert text == f"{BANNER}\n\n**größe** 🙂\n\n- a"


def test_a_steer_is_followed_without_a_second_banner() -> None:
    first = ask(prompt("run: echo a"))
    result = ToolResultBlock(first.message.calls[0].call_id, "a\n[exit code 0, cwd /]")
    steer = Message("user", (result, TextBlock("say: changed")))

    assert ask(prompt("run: echo a"), first.message, steer).message.text == "changed"


def test_a_second_turn_starts_anew_and_its_call_ids_are_new(tmp_path: Path) -> None:
    first = ask(prompt("run: echo a"))
    result = ToolResultBlock(first.message.calls[0].call_id, "a\n[exit code 0, cwd /]")
    end = ask(prompt("run: echo a"), first.message, Message("user", (result,)))
    history = (prompt("run: echo a"), first.message, Message("user", (result,)), end.message)
    second = ask(*history, prompt("run: echo b"))

    assert second.message.text.strip() == BANNER
    assert second.message.calls[0].call_id != first.message.calls[0].call_id


def test_a_tool_that_is_not_on_offer_is_not_called() -> None:
    folded = ask(prompt("run: ls"), tools=())

    assert folded.message.calls == ()
    assert folded.message.text.endswith("I would need a tool that is not on offer: shell.")


def test_a_side_call_gives_a_summary_of_what_was_asked() -> None:
    first = ask(prompt("run: echo a"))
    request = Request(
        "demo",
        (prompt("run: echo a"), first.message, Message("user", (TextBlock("Summarize."),))),
        tools=TOOLS,
        side_call=True,
    )
    text = fold(DEMO.stream(request, Cancel())).message.text

    assert text.startswith("## Task and state\n- the user asked: run: echo a\n- ran: echo a")
    assert "Summarize." not in text
    assert text.endswith("## System tasks\nnone")

    summary = Message("user", (TextBlock(f"<conversation-summary>\n{text}"),))
    later = Request("demo", (summary, prompt("say: " + "b" * 900), first.message), side_call=True)
    text = fold(DEMO.stream(later, Cancel())).message.text
    assert "- the user asked: run: echo a\n- ran: echo a\n- the user asked: say: bbb" in text
    assert len(text) < 600


def test_an_answer_counts_its_tokens_and_thinks_first() -> None:
    folded = ask(prompt("hello"))

    assert isinstance(folded.message.content[0], ReasoningBlock)
    assert folded.usage is not None
    assert folded.usage.input_tokens > 10
    assert folded.usage.output_tokens > 10


def test_the_same_request_gives_the_same_answer() -> None:
    assert ask(prompt("runs: a ;; b")) == ask(prompt("runs: a ;; b"))


@pytest.mark.parametrize("text", ["", "   ", "\n", "what?", "run:", "write x", "sleep soon"])
def test_any_other_prompt_gets_help(text: str) -> None:
    assert rule_for(text)[0] is RULES[-1]
