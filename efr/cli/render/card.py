"""A question about a call, as a card: what a yes allows, what runs, the facts, the keys.

Pure. What runs is never cut: a card taller than the screen is committed whole and only its row
of keys stays live (docs/efr.md, "Approvals").
"""

from __future__ import annotations

from msgspec import Struct

from efr.cli.render.calls import CallName
from efr.cli.render.diffs import whole_rows
from efr.cli.render.spans import (
    ACCENT,
    CODE,
    ERROR,
    MUTED,
    PLAIN,
    SUCCESS,
    WARNING,
    Line,
    Span,
    Style,
    fold,
    hang,
    join,
    row,
    wrap,
)
from efr.cli.render.times import clock_text
from efr.text.visible import visible_line, visible_text
from efr.wire import events as ev
from efr.wire import types as t

BAR = Span("│ ", MUTED)
_IN_SECONDS = 600
_TITLES = {
    "shell": "run this command",
    "read_file": "read this file",
    "write_file": "write this file",
    "edit": "edit this file",
    "apply_patch": "apply this patch",
    "settings": "change this setting",
}
_KIND_NAMES = {
    "write": "writable for this call",
    "host": "reachable for this call",
    "socket": "socket open for this call",
    "bus": "message bus open for this call",
    "device": "device open for this call",
    "unmask": "readable for this call",
    "desktop": "control socket open for this call",
}


class Question(Struct, frozen=True):
    """A question with the call that it is about. `in_front`: of the turn that runs before ours."""

    asked: ev.ApprovalRequested
    tool: str
    name: CallName
    in_front: bool = False

    @property
    def can_always(self) -> bool:
        """Whether it offers a rule."""
        return self.asked.exit is not None and self.asked.exit.always is not None


def card_rows(question: Question, columns: int) -> list[Line]:
    """Title and body, without the row of keys."""
    title = f"? {_title(question)}"
    if question.in_front:
        title += " (the running turn asks)"
    rows = hang(row(title, WARNING), columns, 2)
    room = max(columns - 2, 1)
    body: list[Line] = [part for line in _call(question.name) for part in fold(line, room)]
    body += [part for line in _facts(question) for part in wrap(line, room)]
    if question.asked.diff_preview:
        preview = question.asked.diff_preview
        lines = whole_rows(preview)
        if question.tool == "settings" and not preview.startswith("---"):
            lines[0] = row(visible_line(preview.partition("\n")[0]), WARNING)  # it loosens
        body += [part for line in lines for part in fold(line, room)]
    return rows + [(BAR, *line) for line in body]


def _title(question: Question) -> str:
    exit_info = question.asked.exit
    if exit_info is None:
        return _TITLES.get(question.tool, f"run {visible_line(question.tool)}")
    if isinstance(exit_info.launch, t.LaunchUnsandboxed):
        return "run this outside the sandbox"
    grants = [text for grant in exit_info.grants if (text := grant_text(grant))]
    return grants[0] if len(grants) == 1 else "open this for the call"


def grant_text(grant: t.Grant) -> str:
    """What a grant opens, in words."""
    if isinstance(grant, t.GrantWrite | t.GrantSocket | t.GrantDevice | t.GrantUnmask):
        kind = str(grant.__struct_config__.tag)
        return f"{visible_line(grant.path)} {_KIND_NAMES[kind]}"
    if isinstance(grant, t.GrantHost):
        return f"{visible_line(grant.host)}:{grant.port} {_KIND_NAMES['host']}"
    if isinstance(grant, t.GrantBus | t.GrantBusFilter):
        return f"{grant.bus.value} {_KIND_NAMES['bus']}"
    if isinstance(grant, t.GrantDesktop):
        return f"{grant.desktop.value} {_KIND_NAMES['desktop']}"
    if isinstance(grant, t.GrantOpenNetwork):
        return "the network open for this call"
    return "the host's network visible for this call" if isinstance(grant, t.GrantNetView) else ""


def _call(name: CallName) -> list[Line]:
    first, *more = name.lines
    head = row(name.head + first, CODE)
    return [head, *(row("  " + line, CODE) for line in more)]


def _facts(question: Question) -> list[Line]:
    """Muted rows: why it asks, efr's facts, the model's own reason; warnings in their role."""
    lines: list[Line] = []
    asked = question.asked
    summary = _summary(question)
    lines += [row(line, MUTED) for line in summary]
    if asked.exit is not None:
        if isinstance(asked.exit.launch, t.LaunchUnsandboxed):
            lines.append(row("it runs with all rights of your user", WARNING))
        grants = [text for grant in asked.exit.grants if (text := grant_text(grant))]
        lines += [row(f"opens: {text}", MUTED) for text in grants[1:] and grants]
        lines += [row(visible_line(fact), MUTED) for fact in asked.exit.facts]
        if asked.exit.model_reason:
            lines.append(row(f'the model says: "{visible_line(asked.exit.model_reason)}"', MUTED))
        if asked.exit.always:
            lines.append(row(f"always: {visible_line(asked.exit.always)}", MUTED))
    if asked.interactive:
        lines.append(row("it may wait for what you type", MUTED))
    return lines


def _summary(question: Question) -> list[str]:
    """The daemon's summary without what the card already shows."""
    text = visible_text(question.asked.summary)
    if question.name.head == "$ ":
        shown = "\n".join(question.name.lines)
        for form in (shown, shown.replace("\n", "\\n")):
            text = text.replace(f"command {form}", "", 1)
    first, *more = text.split("\n")
    first = first.removeprefix(f"{question.tool}:").strip(" ;")
    return [line for line in (first, *(part.strip() for part in more)) if line]


def key_row(question: Question, left_s: int | None) -> Line:
    """The keys that answer, and the time left of a question that ends by itself."""
    parts = [_key("y", "allow"), _key("n", "deny")]
    if question.can_always:
        parts.append(_key("a", "always"))
    if left_s is not None:
        parts.append(row(f"{_left_text(left_s)} left", WARNING))
    return (BAR, *join(*((*((Span("  "),) if i else ()), *part) for i, part in enumerate(parts))))


def _left_text(left_s: int) -> str:
    """A short time is counted in seconds; the user's own limit may be days."""
    return f"{max(left_s, 0)}s" if left_s < _IN_SECONDS else clock_text(left_s)


def _key(key: str, word: str) -> Line:
    return (Span(key, ACCENT._replace(bold=True)), Span(f" {word}", PLAIN))


def answer_row(decision: t.ApprovalDecision, origin: str) -> Line:
    """The line that replaces an answered card. `origin`: another client that answered, or ""."""
    elsewhere = f" on {origin}" if origin else ""
    if decision is t.ApprovalDecision.DENY:
        return _answer("✗", ERROR, f"denied{elsewhere}")
    return _answer("✓", SUCCESS, f"allowed{elsewhere}")


def expired_row(*, away: bool, interrupted: bool = False) -> Line:
    """The line of a question that ended without an answer."""
    if interrupted:
        return _answer("✗", ERROR, "interrupted")
    return _answer("✗", ERROR, "expired while you were away" if away else "expired")


def always_text(outcome: t.AlwaysOutcome) -> str:
    """What became of the rule that an answer asked for."""
    if isinstance(outcome, t.AlwaysSaved):
        return f"rule {outcome.index} saved: {visible_line(outcome.rule)}"
    if isinstance(outcome, t.AlwaysNotSaved):
        return f"the rule was not saved ({outcome.reason.value.replace('_', ' ')})"
    return "the rule was not saved"


def _answer(mark: str, style: Style, text: str) -> Line:
    return (Span(mark, style), Span(f" {text}", MUTED))
