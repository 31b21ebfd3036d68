"""A turn as its events and drafts tell it: committed blocks, and what is still open.

Pure: items and the time in, rows out. The same object serves the terminal and the pipe, which
differ in where blocks go. Rules: docs/efr.md, "The view of a turn". Handlers are found by the
event's kind, so that a family of events loads when its first one comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from efr.cli.render import card, ending
from efr.cli.render.calls import call_name, call_rows, result_rows
from efr.cli.render.ending import End, Note
from efr.cli.render.spans import MUTED, PLAIN, WARNING, Line, hang, row
from efr.cli.view.activity import Activity
from efr.cli.view.calls import Call, Calls
from efr.cli.view.reply import Reply, Writer
from efr.cli.view.scroll import Blocks, Kind
from efr.text.visible import visible_line, visible_text
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t

Envelope = ev.EventEnvelope | m.SubscribeEvent

# After one of these the drafts from before it show nothing new.
_ENDS_DRAFTS = frozenset(
    {
        "assistant_message_completed",
        "tool_call_started",
        "turn_completed",
        "turn_failed",
        "turn_interrupted",
    }
)


class TurnOptions(Struct, frozen=True):
    """How a turn is shown."""

    diff_lines: int = 20
    summary: bool = True


class TurnView:
    """One followed turn. `columns` is asked for at each block, so a resize counts at once."""

    def __init__(
        self,
        turn_id: str,
        blocks: Blocks,
        writer: Callable[[], Writer],
        columns: Callable[[], int],
        options: TurnOptions,
    ) -> None:
        self.turn_id = turn_id
        self.blocks = blocks
        self.columns = columns
        self.options = options
        self.reply = Reply(blocks, writer)
        self.calls = Calls()
        self.activity = Activity()
        self.question: card.Question | None = None
        self.question_at = 0.0
        self.question_committed = False
        self.steers: dict[int, str] = {}  # unread ones by the number of their event
        self.away = False
        self.end: End | None = None
        self.withdrawn = False
        self.cancelled = False
        self.interrupt_wanted = False
        self.refused_calls: list[str] = []  # what a script is told about
        self._front: dict[str, ev.ToolCallStarted] = {}  # calls of a turn that runs before ours
        self._answered_here: dict[str, t.ApprovalDecision] = {}
        self._interrupted: set[str] = set()  # turns that somebody asked to stop
        self._started_at: float | None = None
        self._asked_s = 0.0  # time that passed while the user was asked
        self._shown_seq = 0  # newest event that ended what drafts show
        self._report: tuple[t.ReportedFile, ...] = ()
        self._left: dict[str, str] = {}  # commands left running, by their calls
        self._handlers = self._of_the_turn()
        self._others = self._of_others()

    def _of_the_turn(self) -> dict[str, Callable[[Any, float], None]]:
        """Who takes an event of the followed turn."""
        return {
            "turn_started": self._turn_started,
            "turn_completed": self._turn_ended,
            "turn_failed": self._turn_ended,
            "turn_interrupted": self._turn_ended,
            "turn_cancelled": self._turn_cancelled,
            "prompt_withdrawn": self._prompt_withdrawn,
            "turn_interrupt_requested": self._interrupt_requested,
            "turn_steered": self._turn_steered,
            "steering_withdrawn": self._steering_withdrawn,
            "steering_delivered": self._steering_delivered,
            "assistant_message_updated": self._message_updated,
            "assistant_message_completed": self._message_completed,
            "tool_call_started": self._call_started,
            "tool_call_output_updated": self._call_output,
            "tool_call_input_changed": self._call_input,
            "tool_call_completed": self._call_completed,
            "approval_requested": self._approval_requested,
            "approval_resolved": self._approval_resolved,
            "approval_expired": self._approval_expired,
            "always_rule_saved": self._rule_saved,
            "exit_review_started": self._review_started,
            "exit_judged": self._exit_judged,
            "classifier_paused": self._classifier_paused,
            "turn_surface_report": self._surface_report,
            "conversation_compacted": self._compacted,
            "job_started": self._job_started,
        }

    def _of_others(self) -> dict[str, Callable[[Any, float], None]]:
        """Who takes an event of the conversation that is not the turn's."""
        return {
            "conversation_compacted": self._compacted,
            "presence_changed": self._presence_changed,
            "job_ended": self._job_ended,
            "job_watch_matched": self._job_watch,
            "shell_command_detached": self._left_running,
            "shell_command_input_changed": self._left_asks,
            "shell_command_ended": self._left_ended,
        }

    @property
    def over(self) -> bool:
        """Whether nothing of the turn follows."""
        return self.end is not None or self.withdrawn or self.cancelled

    @property
    def started(self) -> bool:
        """Whether the turn runs or ran."""
        return self._started_at is not None

    def elapsed_s(self, now: float) -> float | None:
        """Seconds since the turn started, without the time the user was asked."""
        if self._started_at is None:
            return None
        asked = now - self.question_at if self.question else 0.0
        return max(now - self._started_at - self._asked_s - asked, 0.0)

    def take_event(self, envelope: Envelope, now: float) -> None:
        """An event of the conversation, in order."""
        event = envelope.event
        kind = ev.kind_of(event)
        turn_id = getattr(event, "turn_id", None)
        if turn_id == self.turn_id:
            self.activity.heard(now)
            if isinstance(event, ev.TurnSteered):
                self.steers[envelope.seq] = event.text
            if kind in _ENDS_DRAFTS:
                self._shown_seq = envelope.seq
            handler = self._handlers.get(kind)
        elif turn_id is not None:
            self._take_front(event, now)
            return
        else:
            handler = self._others.get(kind)
        if handler is not None:
            handler(event, now)

    def take_draft(self, draft: t.Draft, now: float) -> None:
        """A draft. One of another turn or older than what ended it changes nothing."""
        if draft.turn_id != self.turn_id or self.over:
            return
        self.activity.heard(now)
        part = draft.draft
        if isinstance(part, t.DraftContext):
            self.activity.counts(t.ContextUse(part.tokens, part.limit, part.window))
        elif isinstance(part, t.DraftReasoning):
            self.activity.thinks(part.title)
        elif draft.after_seq < self._shown_seq:
            return
        elif isinstance(part, t.DraftText):
            self.activity.writes()
            self.reply.update(part.index, part.offset, part.delta)
        elif isinstance(part, t.DraftToolInput):
            self.activity.prepares(part.tool, part.bytes)
        else:
            self.activity.compacts()

    def take_live(self, live: t.Live, now: float) -> None:
        """The running model call of a snapshot."""
        if live.turn_id != self.turn_id:
            return
        self.activity.heard(now)
        if live.reasoning is not None:
            self.activity.thinks(live.reasoning_title)
        if live.text:
            self.activity.writes()
            self.reply.update(live.index, 0, live.text)

    def note(self, text: str, *, warning: bool = False) -> None:
        """A line of our own."""
        self.add_note(Note(text, WARNING if warning else MUTED))

    def add_note(self, note: Note) -> None:
        """A line of our own in its role."""
        self.blocks.add(Kind.NOTE, note.rows(self.columns()))

    def answered(self, call_id: str, decision: t.ApprovalDecision) -> None:
        """The user answered the question here; the event that says so names no other client."""
        self._answered_here[call_id] = decision

    def not_answered(self, call_id: str) -> None:
        """The daemon did not take the answer: the question is still open."""
        self._answered_here.pop(call_id, None)

    def is_answered(self, call_id: str) -> bool:
        """Whether the user answered that question here and the event is still to come."""
        return call_id in self._answered_here

    def _answer_row(self, event: ev.ApprovalResolved) -> Line:
        """Whose answer stands: another client's when the opposite was said here."""
        here = self._answered_here.get(event.call_id)
        no = t.ApprovalDecision.DENY
        is_own = here is not None and (here is no) == (event.decision is no)
        return card.answer_row(event.decision, "" if is_own else event.origin.value)

    # --- the turn -----------------------------------------------------------------------------

    def _turn_started(self, event: ev.TurnStarted, now: float) -> None:
        self._started_at, self._asked_s = now, 0.0
        self._front.clear()
        self.question = None
        self.activity.waits_for_model()

    def _turn_ended(self, event: End, now: float) -> None:
        self.reply.close()
        elapsed = self.elapsed_s(now) or 0.0
        self.question = None
        self.end = event
        if event.context is not None:
            self.activity.context = event.context
        notes = [Note(f"{visible_line(f.path)} runs code later") for f in self._report]
        notes += ending.end_notes(event, elapsed, summary=self.options.summary)
        rows = [line for note in notes for line in note.rows(self.columns())]
        self.blocks.add(Kind.END, rows)

    def _turn_cancelled(self, event: ev.TurnCancelled, now: float) -> None:
        self.reply.close()
        self.cancelled = True
        ran = "the turn was stopped" if self.started else "the prompt did not run: send it again"
        self.note(f"efrd restarted; {ran}", warning=True)

    def _prompt_withdrawn(self, event: ev.PromptWithdrawn, now: float) -> None:
        self.withdrawn = True
        self.note("the prompt was taken back before it ran")

    def _interrupt_requested(self, event: ev.TurnInterruptRequested, now: float) -> None:
        self._interrupted.add(event.turn_id)
        self.activity.interrupts()

    def _surface_report(self, event: ev.TurnSurfaceReport, now: float) -> None:
        self._report = event.files

    # --- steers -------------------------------------------------------------------------------

    def _turn_steered(self, event: ev.TurnSteered, now: float) -> None:
        """Kept by `take_event`, which knows the number."""

    def _steering_delivered(self, event: ev.SteeringDelivered, now: float) -> None:
        self.reply.close()
        for seq in event.steers:
            if (text := self.steers.pop(seq, None)) is not None:
                self.blocks.add(Kind.STEER, user_rows(text, self.columns()))

    def _steering_withdrawn(self, event: ev.SteeringWithdrawn, now: float) -> None:
        for seq in event.steers:
            self.steers.pop(seq, None)

    # --- messages and calls -------------------------------------------------------------------

    def _message_updated(self, event: ev.AssistantMessageUpdated, now: float) -> None:
        self.activity.writes()
        self.reply.update(event.index, event.offset, event.delta)

    def _message_completed(self, event: ev.AssistantMessageCompleted, now: float) -> None:
        self.reply.complete(event.index, event.text)
        self.activity.waits_for_model()

    def _call_started(self, event: ev.ToolCallStarted, now: float) -> None:
        self.reply.close()
        self.calls.start(event, now)
        self.activity.runs(event.tool)

    def _call_output(self, event: ev.ToolCallOutputUpdated, now: float) -> None:
        if call := self.calls.get(event.call_id):
            call.tail = event.tail
            call.quiet_since = now

    def _call_input(self, event: ev.ToolCallInputChanged, now: float) -> None:
        if call := self.calls.get(event.call_id):
            call.wait, call.looks_secret = event.input, event.looks_secret
            call.quiet_since = now

    def _call_completed(self, event: ev.ToolCallCompleted, now: float) -> None:
        call = self.calls.end(event.call_id)
        if call is None:
            return
        columns = self.columns()
        rows = call_rows(call.name, columns)
        if not call.refused:
            elapsed = call.elapsed_s(now)
            rows += result_rows(event, elapsed, columns, self.options.diff_lines)
        if call.refused or event.refusal:
            why = visible_line(event.refusal) if event.refusal else "not allowed"
            self.refused_calls.append(f"{call.name.first}: {why}")
        glued = (call.allowed or call.refused) and self.blocks.last is Kind.ANSWER
        self.blocks.add(Kind.CALL, rows, glued=glued)
        self.activity.waits_for_model()

    # --- questions ----------------------------------------------------------------------------

    def _approval_requested(self, event: ev.ApprovalRequested, now: float) -> None:
        call = self.calls.get(event.call_id)
        if call is None:
            return
        call.asks, call.interactive = True, event.interactive
        self._ask(card.Question(event, call.tool, call.name), now)

    def _ask(self, question: card.Question, now: float) -> None:
        self.reply.close()
        self.question, self.question_at, self.question_committed = question, now, False

    def commit_question(self) -> None:
        """Writes the card whole, because it is taller than the screen or nobody can answer."""
        if self.question is not None and not self.question_committed:
            self.question_committed = True
            self.blocks.add(Kind.QUESTION, card.card_rows(self.question, self.columns()))

    def _close_question(self, call_id: str, answer: Line, now: float) -> Call | None:
        call = self.calls.get(call_id)
        if self.question is not None and self.question.asked.call_id == call_id:
            self._asked_s += now - self.question_at
            glued = self.question_committed and self.blocks.last is Kind.QUESTION
            self.question = None
            self.blocks.add(Kind.ANSWER, [answer], glued=glued)
        if call is not None:
            call.asks = False
            call.started_at = call.quiet_since = now
        return call

    def _approval_resolved(self, event: ev.ApprovalResolved, now: float) -> None:
        call = self._close_question(event.call_id, self._answer_row(event), now)
        if call is not None:
            call.allowed = event.decision is not t.ApprovalDecision.DENY
            call.refused = not call.allowed

    def _approval_expired(self, event: ev.ApprovalExpired, now: float) -> None:
        call = self._close_question(event.call_id, self._expired_row(event), now)
        if call is not None:
            call.refused = True

    def _expired_row(self, event: ev.ApprovalExpired) -> Line:
        """Why nobody answered: the event itself knows only of an absence."""
        stopped = event.turn_id in self._interrupted
        return card.expired_row(away=event.away, interrupted=stopped)

    def _rule_saved(self, event: ev.AlwaysRuleSaved, now: float) -> None:
        self.note(card.always_text(event.outcome))

    def _review_started(self, event: ev.ExitReviewStarted, now: float) -> None:
        self.activity.reviews()

    def _exit_judged(self, event: ev.ExitJudged, now: float) -> None:
        if event.judge is t.JudgeKind.CLASSIFIER:
            risk = f", risk {event.risk.value}" if event.risk else ""
            why = f": {visible_line(event.rationale)}" if event.rationale else ""
            verdict = event.verdict.value.replace("_", " ")
            self.note(f"the reviewer says {verdict}{risk}{why}")

    def _classifier_paused(self, event: ev.ClassifierPaused, now: float) -> None:
        self.note(f"the reviewer pauses after {event.denials} denials; you are asked", warning=True)

    # --- the turn in front --------------------------------------------------------------------

    def _take_front(self, event: ev.Event, now: float) -> None:
        """Something of another turn of the conversation: only its questions and its tool count."""
        if self.started:
            return
        if isinstance(event, ev.ToolCallStarted):
            self._front[event.call_id] = event
            self.activity.front = event.tool
        elif isinstance(event, ev.ToolCallCompleted):
            self.activity.front = ""
        elif isinstance(event, ev.ApprovalRequested) and event.call_id in self._front:
            call = self._front[event.call_id]
            name = call_name(call.tool, call.input, freeform=call.freeform)
            self._ask(card.Question(event, call.tool, name, in_front=True), now)
        elif isinstance(event, ev.ApprovalResolved):
            self._close_question(event.call_id, self._answer_row(event), now)
        elif isinstance(event, ev.TurnInterruptRequested):
            self._interrupted.add(event.turn_id)
        elif isinstance(event, ev.ApprovalExpired):
            self._close_question(event.call_id, self._expired_row(event), now)

    # --- the conversation ---------------------------------------------------------------------

    def _compacted(self, event: ev.ConversationCompacted, now: float) -> None:
        self.note(ending.compaction_text(event))
        self.activity.waits_for_model()

    def _presence_changed(self, event: ev.PresenceChanged, now: float) -> None:
        self.away = event.presence is t.Presence.AWAY

    def _job_started(self, event: ev.JobStarted, now: float) -> None:
        self.note(f"{event.job.id} started: {visible_line(event.job.command)}")

    def _job_watch(self, event: ev.JobWatchMatched, now: float) -> None:
        self.note(f"{event.job_id} printed: {visible_line(event.line)}")

    def _job_ended(self, event: ev.JobEnded, now: float) -> None:
        code = f" with {event.exit_code}" if event.exit_code is not None else ""
        self.note(f"{event.job_id} {event.state.value.replace('_', ' ')}{code}")

    def _left_running(self, event: ev.ShellCommandDetached, now: float) -> None:
        from efr.cli.render import left

        self._left[event.call_id] = left.line_text(event.command)
        self.note(left.left_text(event), warning=event.input is not t.InputWait.NONE)

    def _left_asks(self, event: ev.ShellCommandInputChanged, now: float) -> None:
        from efr.cli.render import left

        if text := left.changed_text(event, self._left_name(event.call_id)):
            self.note(text, warning=True)

    def _left_ended(self, event: ev.ShellCommandEnded, now: float) -> None:
        from efr.cli.render import left

        self.note(left.ended_text(event, self._left_name(event.call_id)))

    def _left_name(self, call_id: str) -> str:
        return self._left.get(call_id, "the command left running")


def open_question(events: tuple[ev.EventEnvelope, ...]) -> list[ev.EventEnvelope]:
    """The call that waits for an answer at the end of `events`, and its question; or nothing."""
    calls: dict[str, ev.EventEnvelope] = {}
    asked: dict[str, ev.EventEnvelope] = {}
    for envelope in events:
        event = envelope.event
        if isinstance(event, ev.ToolCallStarted):
            calls[event.call_id] = envelope
        elif isinstance(event, ev.ApprovalRequested):
            asked[event.call_id] = envelope
        elif isinstance(event, ev.ApprovalResolved | ev.ApprovalExpired):
            asked.pop(event.call_id, None)
    return [one for call_id in asked for one in (calls.get(call_id), asked[call_id]) if one][-2:]


def user_rows(text: str, columns: int) -> list[Line]:
    """What the user said in the middle of a turn, as it stands in the reply."""
    first, *more = visible_text(text).split("\n")
    style = PLAIN._replace(bold=True)
    rows = hang(row(f"> {first}", style), columns, 2)
    return rows + [line for text in more for line in hang(row(f"  {text}", style), columns, 2)]
