"""The end of a turn, a compaction, and the lines that say what went wrong.

Pure. Plain texts with their roles; the view and the pipe print the same ones.
"""

from __future__ import annotations

from msgspec import Struct

from efr.cli.render.calls import changes_text
from efr.cli.render.spans import ERROR, MUTED, WARNING, Line, Style, hang, row
from efr.cli.render.status import context_text
from efr.cli.render.times import took_text
from efr.text.numbers import count_text
from efr.text.visible import visible_line
from efr.wire import events as ev
from efr.wire import types as t

_STOPS = {
    t.StopReason.MAX_TOKENS: "the answer was cut: it reached the token limit",
    t.StopReason.REFUSAL: "the model refused to answer",
    t.StopReason.CONTENT_FILTER: "the provider's filter stopped the answer",
    t.StopReason.PAUSE_TURN: "the provider paused the answer",
    t.StopReason.UNKNOWN: "the answer stopped early",
}
_EMPTY = "the model gave an empty answer"
_LOGINS = frozenset({"openai", "openai-api", "anthropic-api", "compatible"})

End = ev.TurnCompleted | ev.TurnFailed | ev.TurnInterrupted


class Note(Struct, frozen=True):
    """One line for a person, and its role."""

    text: str
    style: Style = MUTED

    def rows(self, columns: int) -> list[Line]:
        """Wrapped with an indent of 2; never cut."""
        return hang(row(self.text, self.style), columns, 2)


def end_notes(end: End, elapsed_s: float, *, summary: bool = True) -> list[Note]:
    """What stands under a turn that ended: changes, what undo cannot cover, the end line."""
    notes: list[Note] = []
    if end.changes is not None and end.changes.files:
        notes.append(Note(changes_text(end.changes)))
    notes += _not_covered(end.undo)
    if isinstance(end, ev.TurnFailed):
        return [*notes, *error_notes(end.error)]
    if isinstance(end, ev.TurnCompleted) and end.stop is not None:
        text = _EMPTY if end.stop.empty else _STOPS.get(end.stop.reason, "")
        notes += [Note(text, WARNING)] if text else []
    if isinstance(end, ev.TurnInterrupted):
        return [*notes, Note(f"interrupted after {took_text(elapsed_s)}", WARNING)]
    return [*notes, Note(end_line(end, elapsed_s))] if summary else notes


def end_line(end: End, elapsed_s: float) -> str:
    """How long it took, how full the context is, the tokens out."""
    parts = [took_text(elapsed_s)]
    if end.context is not None:
        tokens, limit = count_text(end.context.tokens), count_text(end.context.limit)
        parts.append(f"{context_text(end.context)} ({tokens} of {limit})")
    elif end.usage is not None:
        parts.append(f"{count_text(end.usage.input_tokens)} in")
    if end.usage is not None:
        parts.append(f"{count_text(end.usage.output_tokens)} out")
    return " · ".join(parts)


def _not_covered(undo: t.UndoSummary | None) -> list[Note]:
    if undo is None or not undo.not_covered:
        return []
    names = visible_line(", ".join(undo.not_covered))
    more = f" and {undo.not_covered_more} more" if undo.not_covered_more else ""
    return [Note(f"undo does not cover {names}{more}")]


def error_notes(error: t.ErrorBody) -> list[Note]:
    """A failure and, where one command fixes it, that command."""
    notes = [Note(visible_line(error.message) or error.code.value, ERROR)]
    fix = error_fix(error.code.value, error.data)
    told = "efr login " in error.message  # the sentence names the way out itself
    return [*notes, Note(fix)] if fix and not told else notes


def error_fix(code: str, data: object) -> str:
    """The line that names the fix of a refused request or a failed turn, or ""."""
    facts = data if isinstance(data, dict) else {}
    provider, setting = facts.get("provider"), facts.get("setting")
    if setting == "model":
        return "choose another: ,model, or model.name in config.toml"
    if code == "unauthorized":
        name = provider if provider in _LOGINS else "openai"
        return f"log in: efr login {name}"
    return ""


def compaction_text(done: t.Compaction) -> str:
    """The one line that a compaction leaves."""
    sizes = f"{count_text(done.tokens_before)} -> {count_text(done.tokens_after)} tokens"
    turns = f"kept {done.kept_turns} {'turn' if done.kept_turns == 1 else 'turns'}"
    text = f"context compacted ({_trigger(done.trigger)}): {sizes}, {turns}, {_how(done)}"
    if done.trigger is t.CompactionTrigger.OVERFLOW:
        refused, window = count_text(done.tokens_before), count_text(done.window)
        text = f"a request of {refused} tokens did not fit the window of {window}; {text}"
    if done.tokens_after > done.limit:
        text += "; that freed too little: ,compact again, or ,new"
    return text


def _trigger(trigger: t.CompactionTrigger) -> str:
    return ",compact" if trigger is t.CompactionTrigger.MANUAL else trigger.value


def _how(done: t.Compaction) -> str:
    if done.summary is None:
        outputs = "output" if done.pruned_outputs == 1 else "outputs"
        return f"pruned {done.pruned_outputs} {outputs}"
    tokens = done.usage.output_tokens if done.usage else len(done.summary.encode()) // 4
    return f"summary {count_text(tokens)}"
