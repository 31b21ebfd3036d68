"""The rows of the live zone: the open block, a call or a question, what waits, the status row.

Pure: the state of the session in, rows out.
"""

from __future__ import annotations

from math import ceil

from msgspec import Struct

from efr.cli.render import card
from efr.cli.render.calls import Running, running_rows, tail_rows
from efr.cli.render.spans import (
    EMPTY,
    MUTED,
    PLAIN,
    WARNING,
    Line,
    Span,
    cut_line,
    fold,
    hang,
    row,
    width,
)
from efr.cli.render.status import Status, context_text, spinner, status_row
from efr.cli.view.answer import AnswerLine
from efr.cli.view.calls import Call
from efr.cli.view.row import InputRow
from efr.cli.view.screen import Cursor, Size
from efr.cli.view.scroll import Kind
from efr.cli.view.turn import TurnView
from efr.text.visible import visible_line

HIDDEN_NOTE = "what you type is not shown"
SECRET_NOTE = "this looks like a password behind another program; what you type is not shown"
VISIBLE_NOTE = "the agent sees what the program shows"
MANUAL_NOTE = "Ctrl+\\ types a line into the command"
OFFER_S = 10.0  # silence of a call after which the line for typing is offered


class Queued(Struct, frozen=True):
    """A prompt of this view that waits behind the followed turn."""

    turn_id: str
    text: str


class Shown(Struct):
    """What the live zone is drawn from."""

    scope: str = ""
    motion: bool = True
    can_answer: bool = False  # keys answer a question here
    asking: str = ""  # the call whose question takes keys now
    view: TurnView | None = None
    answer: AnswerLine | None = None
    row: InputRow | None = None
    late: list[str] = []  # steers on their way
    queue: list[Queued] = []  # prompts that wait, the next one first
    stopping: bool = False  # the user asked to stop
    muted: bool = False  # keys go nowhere: a secret may be among them
    kept_keys: int = 0  # characters typed after a yes that the wait will get


def live_rows(
    shown: Shown, size: Size, now: float, tick: int
) -> tuple[list[Line], Cursor | None, bool]:
    """Rows, the cursor, and whether the last row is the status row alone that a tick changes."""
    view = shown.view
    if view is None:
        status = Status("interrupting" if shown.stopping else "sending", motion=shown.motion)
        return [status_row(status, tick, size.columns)], None, True
    columns = size.columns
    rows = [part for line in view.reply.open_lines() for part in fold(line, columns)]
    if _stands_apart(view, rows):
        rows.insert(0, EMPTY)
    inner, cursor = _inner_rows(shown, view, columns, now, tick)
    rows += inner
    rows += _waiting_rows(shown, view, columns)
    with_status = not inner
    if with_status:
        rows.append(status_row(_status(shown, view, now), tick, columns))
    if shown.row is not None and cursor is None and not _keys_are_taken(shown, view):
        typed, place = shown.row.rows(columns)
        cursor = Cursor(len(rows) + place.row, place.column)
        rows += typed
    elif cursor is not None:
        cursor = Cursor(cursor.row + len(rows) - len(inner), cursor.column)
    cut = max(len(rows) - max(size.rows - 1, 1), 0)
    if cursor is not None:
        cursor = Cursor(max(cursor.row - cut, 0), cursor.column)
    return rows[cut:], cursor, with_status and shown.row is None


def _stands_apart(view: TurnView, open_rows: list[Line]) -> bool:
    """Whether an empty row comes first, as it will once the live rows are committed."""
    if open_rows:
        return view.blocks.last is not None and not view.reply.runs_on
    call = view.calls.running
    if call is not None and call.allowed and view.blocks.last is Kind.ANSWER:
        return False
    return view.blocks.last is not None


def _keys_are_taken(shown: Shown, view: TurnView) -> bool:
    """Whether keys go to a question or to a command, or nowhere, and not to the row."""
    return (
        shown.muted or shown.answer is not None or (view.question is not None and shown.can_answer)
    )


def _status(shown: Shown, view: TurnView, now: float) -> Status:
    asks = view.question is not None and not shown.can_answer
    state = view.activity.text(now, started=view.started, asks=asks)
    return Status(
        state="interrupting" if shown.stopping else state,
        elapsed_s=view.elapsed_s(now),
        context=view.activity.context,
        away=view.away,
        scope=shown.scope,
        motion=shown.motion,
    )


def _inner_rows(
    shown: Shown, view: TurnView, columns: int, now: float, tick: int
) -> tuple[list[Line], Cursor | None]:
    """What hides the status row: a question, an answer line, or a running call."""
    if view.question is not None and shown.can_answer:
        return _question_rows(shown, view, columns, now), None
    call = view.calls.running
    if call is None or view.question is not None:
        return [], None
    rows = _call_rows(shown, view, call, columns, now, tick)
    if shown.answer is not None:
        return _with_answer(rows, shown, call, columns)
    if may_offer(call, now):
        rows.append(cut_line(row(f"  {MANUAL_NOTE}", MUTED), columns))
    return rows, None


def may_offer(call: Call, now: float) -> bool:
    """Whether the line for typing is offered: a silent call that takes one."""
    return call.manual_input and now - call.quiet_since >= OFFER_S


def question_is_tall(view: TurnView, size: Size) -> bool:
    """Whether the open card does not fit above its keys."""
    if view.question is None:
        return False
    return len(card.card_rows(view.question, size.columns)) + 1 > max(size.rows - 1, 1)


def _question_rows(shown: Shown, view: TurnView, columns: int, now: float) -> list[Line]:
    """The card; its row of keys only while they answer."""
    question = view.question
    if question is None:
        return []
    body = [] if view.question_committed else card.card_rows(question, columns)
    if shown.asking != question.asked.call_id:
        return body
    expires = question.asked.expires_in_secs
    left = None if expires is None else ceil(expires - (now - view.question_at))
    return [*body, cut_line(card.key_row(question, left), columns)]


def _call_rows(
    shown: Shown, view: TurnView, call: Call, columns: int, now: float, tick: int
) -> list[Line]:
    use = view.activity.context
    running = Running(
        name=call.name,
        elapsed_s=call.elapsed_s(now),
        context=context_text(use) if use is not None else "",
        tail=call.tail,
        spinner=spinner(tick, motion=shown.motion),
        stopping=shown.stopping or view.activity.stopping,
    )
    return running_rows(running, columns)


def _with_answer(
    rows: list[Line], shown: Shown, call: Call, columns: int
) -> tuple[list[Line], Cursor | None]:
    """The open line of an answer under its call, with its note."""
    line = shown.answer
    if line is None:
        return rows, None
    note = VISIBLE_NOTE if line.shown else SECRET_NOTE if call.looks_secret else HIDDEN_NOTE
    if shown.kept_keys and call.looks_secret:
        note += f" ({shown.kept_keys} characters are there)"
    rows += [(Span("  "), *part) for part in hang(row(note, WARNING), max(columns - 2, 1), 2)]
    last = tail_rows(call.tail)[-1:]
    asked = visible_line("".join(span.text for span in last[0][1:])) if last else ""
    shown_line: Line = (Span("  › ", MUTED), Span(f"{asked} " if asked else "", MUTED))
    text = line.text
    shown_line = (*shown_line, Span(text, PLAIN)) if text else shown_line
    folded = fold(shown_line, max(columns - 1, 1))
    place = Cursor(len(rows) + len(folded) - 1, min(width(folded[-1]), columns - 1))
    return rows + folded, place


def _waiting_rows(shown: Shown, view: TurnView, columns: int) -> list[Line]:
    texts = [f"↳ steer: {_first(text)}" for text in (*view.steers.values(), *shown.late)]
    texts += [f"↳ queued: {_first(queued.text)}" for queued in shown.queue]
    return [cut_line(row(text, MUTED), columns) for text in texts]


def _first(text: str) -> str:
    return visible_line(text.strip().split("\n")[0])
