"""Status row, first lines, ends, cards, diffs: small pure things as tables."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from efr.cli.render import card, ending
from efr.cli.render.calls import CallName
from efr.cli.render.diffs import diff_rows, files_of, whole_rows
from efr.cli.render.opening import Here, first_lines, tilde, turn_scope
from efr.cli.render.progress import wanted
from efr.cli.render.spans import WARNING, Line, text_of, width
from efr.cli.render.status import Status, context_line, spinner, status_row
from efr.cli.render.times import clock_text, took_text
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t

ID = "019a9b1c-3d00-7a10-8b20-000000000001"
NOW_US = t.time_to_us("2026-10-03T12:00:00Z")
USE = t.ContextUse(tokens=100, limit=230, window=300)
FULL = Status("waiting for the model", 65, USE, away=True, scope="app")


def texts(rows: list[Line]) -> list[str]:
    return [text_of(row) for row in rows]


# --- status row ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (80, "⠋ waiting for the model  1m 05s  ctx 43%  away  app"),
        (50, "⠋ waiting for the mod…  1m 05s  ctx 43%  away  app"),
        (41, "⠋ waiting fo…  1m 05s  ctx 43%  away  app"),
        (39, "⠋ waiting for t…  1m 05s  ctx 43%  away"),
        (30, "⠋ waiting fo…  1m 05s  ctx 43%"),
        (20, "⠋ waiting f…  1m 05s"),
        (16, "⠋ waiting for t…"),
        (6, "⠋ wai…"),
        (2, "⠋"),
        (1, "⠋"),
    ],
)
def test_status_row_loses_its_end_first(columns: int, text: str) -> None:
    assert text_of(status_row(FULL, 0, columns)) == text


@settings(deadline=None)
@given(st.integers(1, 100), st.integers(0, 500), st.booleans())
def test_status_row_fits(columns: int, tick: int, motion: bool) -> None:
    assert width(status_row(replace(FULL, motion=motion), tick, columns)) <= columns


def test_the_time_shows_from_one_second_on() -> None:
    assert text_of(status_row(Status("writing", 0.9), 0, 80)) == "⠋ writing"
    assert text_of(status_row(Status("writing", 1.0), 0, 80)) == "⠋ writing  1s"


def test_without_motion_nothing_moves() -> None:
    rows = {status_row(Status("writing", motion=False), tick, 80) for tick in range(40)}

    assert [text_of(row) for row in rows] == ["• writing"]
    assert spinner(3) != spinner(4)


@pytest.mark.parametrize(
    ("tokens", "text", "role"),
    [
        (0, "ctx 0%", "success"),
        (114, "ctx 49%", "success"),
        (115, "ctx 50%", "warning"),
        (206, "ctx 89%", "warning"),
        (207, "ctx 90%", "error"),
        (460, "ctx 200%", "error"),
    ],
)
def test_context_colour(tokens: int, text: str, role: str) -> None:
    line = context_line(t.ContextUse(tokens, 230, 300))

    assert (text_of(line), line[0].style.role) == (text, role)


@pytest.mark.parametrize(
    ("seconds", "clock", "took"),
    [
        (0, "0s", "0.0s"),
        (9.94, "9s", "9.9s"),
        (12.3, "12s", "12s"),
        (65, "1m 05s", "1m 05s"),
        (3725, "1h 02m 05s", "1h 02m 05s"),
    ],
)
def test_times(seconds: float, clock: str, took: str) -> None:
    assert (clock_text(seconds), took_text(seconds)) == (clock, took)


# --- first lines --------------------------------------------------------------------------------

APP = t.Place(scope=t.RouteProject(ID), name="app", dir="/home/me/p/app")
NOTES = t.Place(scope=t.RouteOutside(), dir="/home/me/notes")
HOME = t.Place(scope=t.RouteOutside(), dir="/home/me")
HERE = Here(NOW_US, "/home/me")
TWO_HOURS_AGO = "2026-10-03T10:00:00Z"


def sent(**members: object) -> m.PromptSendResult:
    return m.PromptSendResult(ID, ID, 1, False, **members)  # type: ignore[arg-type]


def routed(place: t.Place, **members: object) -> m.PromptSendResult:
    return sent(route=t.PromptRoute(place, **members))  # type: ignore[arg-type]


OPENINGS = [
    (routed(APP), ["app"]),
    (routed(NOTES), ["○ no project · ~/notes"]),
    (
        routed(APP, switch=t.RouteSwitchBack(title="fix the tests", updated_at=TWO_HOURS_AGO)),
        ["app", '↪ back to "fix the tests" in app (2 h ago)'],
    ),
    (
        routed(APP, switch=t.RouteSwitchNew(from_=HOME, reason=t.NewReasonScope())),
        ["app", "↪ new conversation for app (from ~)"],
    ),
    (
        routed(
            APP,
            switch=t.RouteSwitchPickedUp(
                title="fix the proxy test", updated_at="2026-10-03T11:35:00Z"
            ),
        ),
        ["app", '↪ picked up "fix the proxy test" in app (25 min ago); ,new starts fresh'],
    ),
    (
        routed(NOTES, switch=t.RouteSwitchNew(from_=APP, reason=t.NewReasonScope())),
        ["○ no project · ~/notes", "↪ new conversation outside projects (from app)"],
    ),
    (
        routed(APP, switch=t.RouteSwitchNew(reason=t.NewReasonIdle(12))),
        ["app", "↪ new conversation for app: the last one was idle for 12 h"],
    ),
    (
        routed(APP, switch=t.RouteSwitchNew(reason=t.NewReasonMoved("/dev/pts/4", "old one"))),
        ["app", '↪ new conversation for app: "old one" went to /dev/pts/4'],
    ),
    (
        routed(NOTES, hint=t.RepoHintGitRepo("/home/me/p/tool")),
        [
            "○ no project · ~/notes",
            "○ ~/p/tool is a git repo but not a project: writes there ask you. "
            "efr project add ~/p/tool registers it.",
        ],
    ),
    (
        sent(
            settings=t.EffectiveSettings(
                t.Mode.CAUTIOUS,
                "m1",
                fallback=t.ModeFallback(t.Mode.AUTO, "no sandbox here"),
            )
        ),
        ["auto was asked, cautious runs: no sandbox here"],
    ),
    (m.PromptSendResult(ID, ID, 1, True), ["waits behind the running turn"]),
    (
        routed(APP, switch=t.RouteSwitchBack(title="a\x1b[2J\nb", updated_at=TWO_HOURS_AGO)),
        ["app", '↪ back to "a␛[2J b" in app (2 h ago)'],
    ),
]


@pytest.mark.parametrize(("result", "lines"), OPENINGS)
def test_first_lines(result: m.PromptSendResult, lines: list[str]) -> None:
    assert first_lines(result, HERE) == lines


def test_settings_of_the_prompt_follow_the_scope() -> None:
    here = replace(HERE, asked=t.TurnSettings(t.Mode.AUTO, "gpt-5.4", "high"))

    assert first_lines(routed(APP), here) == ["app · auto · gpt-5.4 · high"]


def test_a_prompt_without_a_route_gets_its_scope_from_the_turn() -> None:
    started = ev.TurnStarted(ID, "/home/me/x", t.ScopePath("/home/me/x"))
    here = replace(HERE, asked=t.TurnSettings(effort="high"))

    assert turn_scope(started, HERE) == ("○", "○ no project · ~/x")
    assert turn_scope(started, here) == ("○", "○ no project · ~/x · high")


@pytest.mark.parametrize(
    ("path", "shown"),
    [("/home/me", "~"), ("/home/me/a", "~/a"), ("/home/men", "/home/men"), ("/a\nb", "/a b")],
)
def test_tilde(path: str, shown: str) -> None:
    assert tilde(path, "/home/me") == shown


# --- ends ---------------------------------------------------------------------------------------

USAGE = t.Usage(12_345, 678)
CHANGES = t.FileChanges(
    (t.FileChange(path="a.py", kind=t.ChangeKind.MODIFIED, added=3, removed=1),), 0, 3, 1
)
ENDS = [
    (ev.TurnCompleted(ID), ["2.0s"]),
    (ev.TurnCompleted(ID, USAGE), ["2.0s · 12k in · 678 out"]),
    (ev.TurnCompleted(ID, USAGE, USE), ["2.0s · ctx 43% (100 of 230) · 678 out"]),
    (ev.TurnCompleted(ID, changes=CHANGES), ["changed a.py (+3 −1)", "2.0s"]),
    (
        ev.TurnCompleted(ID, stop=t.StopInfo(t.StopReason.MAX_TOKENS)),
        ["the answer was cut: it reached the token limit", "2.0s"],
    ),
    (
        ev.TurnCompleted(ID, stop=t.StopInfo(t.StopReason.END_TURN, empty=True)),
        ["the model gave an empty answer", "2.0s"],
    ),
    (
        ev.TurnCompleted(ID, undo=t.UndoSummary(not_covered=("/etc/x",), not_covered_more=2)),
        ["undo does not cover /etc/x and 2 more", "2.0s"],
    ),
    (ev.TurnInterrupted(ID), ["interrupted after 2.0s"]),
    (ev.TurnFailed(ID, t.ErrorBody(t.ErrorCode.INTERNAL, "it broke")), ["it broke"]),
    (
        ev.TurnFailed(
            ID, t.ErrorBody(t.ErrorCode.UNAUTHORIZED, "no key", {"provider": "anthropic-api"})
        ),
        ["no key", "log in: efr login anthropic-api"],
    ),
    (
        ev.TurnFailed(ID, t.ErrorBody(t.ErrorCode.UNAUTHORIZED, "no: run `efr login compatible`")),
        ["no: run `efr login compatible`"],
    ),
    (
        ev.TurnFailed(ID, t.ErrorBody(t.ErrorCode.INVALID, "no such model", {"setting": "model"})),
        ["no such model", "choose another: ,model, or model.name in config.toml"],
    ),
]


@pytest.mark.parametrize(("end", "lines"), ENDS)
def test_end_notes(end: ending.End, lines: list[str]) -> None:
    assert [note.text for note in ending.end_notes(end, 2.04)] == lines


def test_without_a_summary_only_the_end_line_goes() -> None:
    notes = ending.end_notes(ev.TurnCompleted(ID, changes=CHANGES), 2, summary=False)

    assert [note.text for note in notes] == ["changed a.py (+3 −1)"]


def compaction(**members: object) -> t.Compaction:
    facts: dict[str, object] = {
        "compaction_id": ID,
        "trigger": t.CompactionTrigger.AUTO,
        "model": "m",
        "window": 300_000,
        "limit": 230_000,
        "tokens_before": 231_000,
        "tokens_after": 24_000,
        "through_turn": ID,
        "kept_turns": 3,
        "summary": "s",
        "usage": t.Usage(1, 3_200),
        **members,
    }
    return t.Compaction(**facts)  # type: ignore[arg-type]


COMPACTIONS = [
    (
        compaction(),
        "context compacted (auto): 231k -> 24k tokens, kept 3 turns, summary 3.2k",
    ),
    (
        compaction(trigger=t.CompactionTrigger.MANUAL, kept_turns=1),
        "context compacted (,compact): 231k -> 24k tokens, kept 1 turn, summary 3.2k",
    ),
    (
        compaction(summary=None, pruned_outputs=12),
        "context compacted (auto): 231k -> 24k tokens, kept 3 turns, pruned 12 outputs",
    ),
    (
        compaction(trigger=t.CompactionTrigger.OVERFLOW),
        "a request of 231k tokens did not fit the window of 300k; context compacted (overflow): "
        "231k -> 24k tokens, kept 3 turns, summary 3.2k",
    ),
    (
        compaction(tokens_after=240_000),
        "context compacted (auto): 231k -> 240k tokens, kept 3 turns, summary 3.2k; "
        "that freed too little: ,compact again, or ,new",
    ),
]


@pytest.mark.parametrize(("done", "text"), COMPACTIONS)
def test_compaction_text(done: t.Compaction, text: str) -> None:
    assert ending.compaction_text(done) == text


# --- cards --------------------------------------------------------------------------------------


def asked(summary: str = "shell: command make", **members: object) -> ev.ApprovalRequested:
    return ev.ApprovalRequested(ID, ID, summary, **members)  # type: ignore[arg-type]


def question(event: ev.ApprovalRequested, tool: str = "shell") -> card.Question:
    return card.Question(event, tool, CallName("$ ", ("make",)))


CARDS = [
    (asked(), "shell", ["? run this command", "│ $ make"]),
    (
        asked("shell: command make; write /etc/x (system)\nmake all"),
        "shell",
        ["? run this command", "│ $ make", "│ write /etc/x (system)", "│ make all"],
    ),
    (
        asked(interactive=True),
        "shell",
        ["? run this command", "│ $ make", "│ it may wait for what you type"],
    ),
    (
        asked("write_file: write x", diff_preview="--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+hi\n"),
        "write_file",
        [
            *("? write this file", "│ $ make", "│ write x"),
            *("│ --- a/x", "│ +++ b/x", "│ @@ -0,0 +1 @@", "│ +hi"),
        ],
    ),
    (
        asked(
            exit=t.ExitInfo(
                (t.ExitKind.OUTSIDE,),
                t.LaunchUnsandboxed(),
                facts=("it pushes",),
                model_reason="I must",
                always="git push in app",
            )
        ),
        "shell",
        [
            *("? run this outside the sandbox", "│ $ make"),
            *("│ it runs with all rights of your user", "│ it pushes"),
            *('│ the model says: "I must"', "│ always: git push in app"),
        ],
    ),
    (
        asked(
            exit=t.ExitInfo(
                (t.ExitKind.HOST,), t.LaunchContained(), grants=(t.GrantHost("x.y", 443),)
            )
        ),
        "shell",
        ["? x.y:443 reachable for this call", "│ $ make"],
    ),
]


@pytest.mark.parametrize(("event", "tool", "rows"), CARDS)
def test_card(event: ev.ApprovalRequested, tool: str, rows: list[str]) -> None:
    assert texts(card.card_rows(question(event, tool), 60)) == rows


def test_a_change_of_settings_that_loosens_warns_above_its_difference() -> None:
    loosens = "This change loosens permissions: permissions.mode."
    diff = "--- /c\n+++ /c\n@@ -1 +1 @@\n-mode = 1\n+mode = 2\n"
    summary = 'settings: settings: set permissions.mode = "auto"; loosens permissions'
    event = asked(summary, diff_preview=f"{loosens}\n{diff}")
    rows = card.card_rows(question(event, "settings"), 60)
    assert texts(rows)[0] == "? change this setting"
    (warned,) = [line for line in rows[1:] if line[-1].style == WARNING]
    assert text_of(warned) == f"│ {loosens}"
    plain = card.card_rows(question(asked(summary, diff_preview=diff), "settings"), 60)
    assert [line for line in plain[1:] if line[-1].style == WARNING] == []


def test_a_card_is_never_cut() -> None:
    command = "x" * 300
    rows = card.card_rows(card.Question(asked(""), "shell", CallName("$ ", (command,))), 20)

    assert "".join(text_of(row).removeprefix("│ ") for row in rows[1:]) == f"$ {command}"
    assert all(width(row) <= 20 for row in rows)


def test_keys_offer_always_only_with_a_rule() -> None:
    info = t.ExitInfo((t.ExitKind.HOST,), t.LaunchContained(), always="r")

    assert text_of(card.key_row(question(asked()), None)) == "│ y allow  n deny"
    assert text_of(card.key_row(question(asked(exit=info)), 90)) == (
        "│ y allow  n deny  a always  90s left"
    )


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (card.answer_row(t.ApprovalDecision.ALLOW, ""), "✓ allowed"),
        (card.answer_row(t.ApprovalDecision.DENY, "phone"), "✗ denied on phone"),
        (card.expired_row(away=True), "✗ expired while you were away"),
    ],
)
def test_answer_row(row: Line, text: str) -> None:
    assert text_of(row) == text


# --- diffs --------------------------------------------------------------------------------------

TWO_FILES = (
    "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1 @@\n--- a comment\n keep\n"
    "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,3 @@\n+1\n+2\n+3\n... 7 more lines\n"
)


def test_a_removed_line_that_looks_like_a_header_is_none() -> None:
    first, second = files_of(TWO_FILES)

    assert (first.path, first.word, len(first.lines)) == ("x.sql", "", 3)
    assert (second.path, second.word, second.more) == ("new.txt", "new", 7)


def test_the_limit_holds_for_each_file() -> None:
    assert texts(diff_rows(TWO_FILES, 2)) == [
        *("x.sql", "@@ -1,2 +1 @@", "--- a comment", "1 more line"),
        *("new.txt new", "@@ -0,0 +1,3 @@", "+1", "9 more lines"),
    ]
    assert diff_rows(TWO_FILES, 0) == []


def test_a_question_shows_the_whole_diff() -> None:
    assert texts(whole_rows("--- a/x\n+++ b/x\n")) == ["--- a/x", "+++ b/x"]


# --- progress of the tab ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "env", "answer"),
    [
        ("on", {}, True),
        ("off", {"WT_SESSION": "1"}, False),
        ("auto", {}, False),
        ("auto", {"WT_SESSION": "1"}, True),
        ("auto", {"TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.2.0"}, True),
        ("auto", {"TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.1.3"}, False),
        ("auto", {"TERM_PROGRAM": "kitty", "TERM_PROGRAM_VERSION": "0.47.1"}, True),
        ("auto", {"WT_SESSION": "1", "TMUX": "x"}, False),
        ("auto", {"WT_SESSION": "1", "TERM": "screen-256color"}, False),
    ],
)
def test_progress_is_for_terminals_that_know_it(
    setting: str, env: dict[str, str], answer: bool
) -> None:
    assert wanted(setting, env) is answer
