"""A conversation's events as a transcript: turns in the order they started, each one together.

Pure: events in, lines out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from efr.cli.render.calls import call_name
from efr.cli.render.ending import compaction_text
from efr.cli.render.spans import MUTED, PLAIN, Line, Style, row
from efr.text.numbers import count_text
from efr.text.visible import visible_line, visible_text
from efr.wire import events as ev

_BOLD = PLAIN._replace(bold=True)
_TAIL_LINES = 5  # of a job's output: the end is what tells how it went

_RAN = frozenset((ev.TurnStarted, ev.ToolCallStarted, ev.AssistantMessageCompleted))

Shown = list[tuple[int, list[Line]]]  # each block with the number of its event


class _Turn(NamedTuple):
    """The blocks of one turn. `place` sorts it: where it started, else where it was queued.

    `kinds` are those of its events; a page may hold only a part of them.
    """

    place: int
    kinds: set[type[ev.Event]]
    blocks: Shown

    def note(self, *, newest: bool) -> str:
        """What became of a prompt that did not start, as far as these events tell."""
        if not self.kinds.isdisjoint(_RAN):
            return ""
        if ev.PromptWithdrawn in self.kinds or self.kinds >= {ev.PromptQueued, ev.TurnCancelled}:
            return "  it never started"
        return "  it waits" if newest and ev.PromptQueued in self.kinds else ""


def transcript(
    events: Iterable[ev.EventEnvelope],
    *,
    verbose: bool = False,
    newest: bool = True,
    oldest: bool = True,
) -> list[Line]:
    """The lines of the events, in the order of their numbers. `newest`: no event follows them;
    `oldest`: none is before them."""
    turns: dict[str, _Turn] = {}
    stopped: set[str] = set()  # turns that somebody asked to stop
    loose: Shown = []
    for envelope in events:
        event, seq = envelope.event, envelope.seq
        turn_id = getattr(event, "turn_id", None)
        lines = _lines(event, verbose=verbose)
        if isinstance(event, ev.TurnInterruptRequested):
            stopped.add(event.turn_id)
        elif isinstance(event, ev.ApprovalExpired) and event.turn_id in stopped:
            lines = _dim("  interrupted")
        if not isinstance(turn_id, str):
            if lines:
                loose.append((seq, lines))
            continue
        turn = turns.setdefault(turn_id, _Turn(seq, set(), []))
        if isinstance(event, ev.TurnStarted) and ev.TurnStarted not in turn.kinds:
            turns[turn_id] = turn._replace(place=seq)
        turn.kinds.add(type(event))
        if lines:
            turn.blocks.append((seq, lines))
    parts = [
        (turn.place, _turn_lines(turn, newest=newest, oldest=oldest)) for turn in turns.values()
    ] + loose
    parts = [(place, lines) for place, lines in parts if lines]
    return _apart([lines for _, lines in sorted(parts, key=lambda part: part[0])])


def _turn_lines(turn: _Turn, *, newest: bool, oldest: bool) -> list[Line]:
    lines = [line for _, block in turn.blocks for line in block]
    if lines and not oldest and ev.PromptQueued not in turn.kinds:
        lines.insert(0, row("  its prompt is on an older page", MUTED))
    note = turn.note(newest=newest)
    if lines and note:
        lines.append(row(note, MUTED))
    return lines


def _apart(parts: list[list[Line]]) -> list[Line]:
    """The parts with an empty line between two."""
    lines: list[Line] = []
    for part in parts:
        lines += [(), *part] if lines else part
    return lines


def _lines(event: ev.Event, *, verbose: bool) -> list[Line]:
    """What one event says."""
    if isinstance(event, ev.PromptQueued):
        return _said("> ", event.text)
    if isinstance(event, ev.TurnSteered):
        return _said("↳ ", event.text)
    if isinstance(event, ev.TurnStarted) and event.settings is not None:
        settings = event.settings
        words = [settings.mode.value, settings.model, settings.effort or ""]
        text = " · ".join(visible_line(word) for word in words if word)
        if (fallback := settings.fallback) is not None:
            text += f" (asked: {fallback.asked.value}; {visible_line(fallback.reason)})"
        return _dim(text)
    if isinstance(event, ev.AssistantMessageCompleted):
        return _dim(event.text)
    if isinstance(event, ev.ToolCallStarted):
        name = call_name(event.tool, event.input, freeform=event.freeform)
        whole = name.first if name.parts else name.head + "\n".join(name.lines)
        return _dim(f"· {whole}")
    if isinstance(event, ev.ToolCallCompleted):
        return _dim(_result(event))
    if isinstance(event, ev.ConversationCompacted):
        summary = f"\n{event.summary}" if verbose and event.summary else ""
        return _dim(compaction_text(event) + summary)
    return _ends(event, verbose=verbose) or (_details(event) if verbose else [])


def _result(event: ev.ToolCallCompleted) -> str:
    if not event.is_error:
        return "  still running" if event.left_running else "  ✓"
    if event.refusal:
        return f"  ✗ {event.refusal}"
    return "  ✗" if event.exit_code is None else f"  ✗ exit {event.exit_code}"


def _ends(event: ev.Event, *, verbose: bool) -> list[Line]:
    """How a turn or its prompt ended, and answers to questions."""
    if isinstance(event, ev.TurnCompleted | ev.TurnInterrupted | ev.TurnFailed):
        words = {ev.TurnCompleted: "completed", ev.TurnInterrupted: "interrupted"}
        text = words.get(type(event), "failed")
        if isinstance(event, ev.TurnFailed):
            text = f"failed: {event.error.message}"
        usage = event.usage
        if verbose and usage is not None:
            counts = f"{count_text(usage.input_tokens)} in, {count_text(usage.output_tokens)} out"
            text += f" · {counts}, {count_text(usage.cached_input_tokens)} cached"
        return _dim(text)
    if isinstance(event, ev.TurnCancelled):
        return _dim("stopped by a restart of efrd")
    if isinstance(event, ev.PromptWithdrawn):
        return _dim(f"taken back ({event.origin.value})")
    if isinstance(event, ev.ApprovalResolved):
        return _dim(f"  {event.decision.value} ({event.origin.value})")
    if isinstance(event, ev.ApprovalExpired):
        return _dim("  expired while away" if event.away else "  expired")
    return []


def _details(event: ev.Event) -> list[Line]:
    """What `--verbose` adds: why efr asked, exits of the sandbox and their judges, ends of jobs."""
    if isinstance(event, ev.ApprovalRequested):
        return _dim(f"  asked: {event.reason}") if event.reason else []
    if isinstance(event, ev.ExitRequested):
        kinds = ", ".join(kind.value for kind in event.kinds)
        return _dim(f"  exit ({kinds}, {event.source.value}): {event.record.action.line}")
    if isinstance(event, ev.ExitJudged):
        parts = [f"{event.judge.value}: {event.verdict.value}"]
        parts += [f"risk {event.risk.value}"] if event.risk else []
        parts += [event.category] if event.category else []
        parts += [event.rationale] if event.rationale else []
        parts += [f"record {event.record_sha256[:12]}"] if event.record_sha256 else []
        return _dim("  " + " · ".join(parts))
    if isinstance(event, ev.JobEnded):
        tail = "\n".join(event.tail.rstrip("\n").split("\n")[-_TAIL_LINES:])
        return _dim(f"{event.job_id} {event.state.value}" + (f"\n{tail}" if tail else ""))
    return []


def _said(mark: str, text: str) -> list[Line]:
    first, *more = visible_text(text).expandtabs(4).split("\n")
    return [row(mark + first, _BOLD), *(row("  " + line, _BOLD) for line in more)]


def _dim(text: str, style: Style = MUTED) -> list[Line]:
    shown = visible_text(text, keep_format=True).expandtabs(4)
    return [row(line, style) for line in shown.split("\n")]
