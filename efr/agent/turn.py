"""One turn, told from its start to its end. Runs on the conversation's worker; blocks all along.

Settings, scope, `turn_started`; then at most 64 model calls: take the steers, guard the size,
read the answer, run its tool calls one after another, send the results. Whatever stops it (an
interrupt, a failure, a bug) becomes one `TurnEnd`; nothing is raised out of `run`.
"""

from __future__ import annotations

import logging
from typing import Protocol

from msgspec.structs import replace

from efr.agent.accounting import Account
from efr.agent.answer import Answer
from efr.agent.calls import Calls
from efr.agent.commit import TurnLog
from efr.agent.compaction import Compacted, Compactor
from efr.agent.failures import TurnFailure, body_of, context_refused, notice_of
from efr.agent.fresh import Fresh, fresh_block
from efr.agent.guard import Breaker, Guard
from efr.agent.queue import Running, Steer
from efr.agent.rebuild import user_text
from efr.agent.services import Services
from efr.agent.setting_out import Setting, set_out
from efr.agent.turn_end import TurnEnd, saved_messages
from efr.base.cancel import Cancelled
from efr.providers.canonical import Block, Folded, Message, Request, ToolCallBlock
from efr.providers.errors import ContextOverflow, ProviderError
from efr.store.errors import StoreError
from efr.text.title import title_of
from efr.wire import events as ev
from efr.wire import types as t
from efr.wire.errors import ErrorBody

log = logging.getLogger("efr.agent")

MAX_CALLS = 64  # model calls of one turn: a loop that does not end by itself ends here

_RUNS_CALLS = frozenset({"tool_use", "end_turn"})  # after another stop the calls are not run


TurnEvent = ev.TurnCompleted | ev.TurnFailed | ev.TurnInterrupted


class Owner(Protocol):
    """What a turn asks of its conversation."""

    @property
    def id(self) -> str: ...

    @property
    def breaker(self) -> Breaker: ...

    def take_steers(self, running: Running, turn_log: TurnLog) -> list[Steer]: ...

    def close_steering(self, running: Running) -> bool: ...


class Turn:
    """One turn of one conversation."""

    def __init__(self, services: Services, owner: Owner, calls: Calls, running: Running) -> None:
        self._services = services
        self._owner = owner
        self._running = running
        self._channel = services.drafts.begin(owner.id, running.turn_id, 0)
        self._log = TurnLog(services.commits, self._channel, owner.id, running.turn_id)
        self._calls = calls
        self._setting: Setting | None = None
        self._account: Account | None = None
        self._guard: Guard | None = None
        self._answer: Answer | None = None
        self._texts = 0  # messages of the turn that have text: the next one's index

    def run(self) -> TurnEnd:
        """The whole turn. Never raises for what goes wrong in it."""
        try:
            setting = self._begin()
            stop = self._loop(setting)
            event: TurnEvent = ev.TurnCompleted(
                turn_id=self._running.turn_id,
                usage=self._usage,
                context=self._context,
                stop=stop,
            )
        except Cancelled:
            event = self._interrupted()
        except Exception as exc:  # noqa: BLE001 - the top of the turn: every failure is its end
            stopped = self._running.cancel.cancelled and isinstance(exc, ProviderError)
            event = self._interrupted() if stopped else self._failed(exc)
        self._channel.end()
        end = self._end(self._with_changes(event))
        self._guard = None  # it knows this turn: the history goes with it, not with the next gc
        return end

    # The story -----------------------------------------------------------------------------

    def _begin(self) -> Setting:
        """Everything before the first call. Raises Refusal before `turn_started`."""
        setting = set_out(self._services, self._owner.id, self._running, self._log)
        self._account = account = Account(setting.frame.limits, setting.base_tokens)
        self._setting = setting
        self._guard = self._guard_of(setting, account)
        self._add(setting.prompt_message)
        return setting

    def _guard_of(self, setting: Setting, account: Account) -> Guard:
        ports = self._services.ports
        window, project = setting.frame.limits.window, setting.place.project
        where = Fresh(self._owner.id, setting.user_dir, project, window)
        compactor = Compactor(
            setting.frame,
            setting.context,
            setting.stopped,
            lambda cancel: fresh_block(where, ports.places, ports.shells, cancel),
            ports.ids.new,
        )
        return Guard(setting.frame, setting.context, account, self._owner.breaker, compactor, self)

    def _loop(self, setting: Setting) -> t.StopInfo | None:
        """Calls the model until it asks for nothing more. Returns why it stopped, if unusual."""
        for _ in range(MAX_CALLS):
            self._running.cancel.raise_if_cancelled()
            for steer in self._owner.take_steers(self._running, self._log):
                self._add(user_text(steer.text))
            folded = self._call(setting)
            calls = folded.message.calls
            if calls and folded.stop_reason in _RUNS_CALLS:
                self._run_calls(setting, calls)
                continue
            if calls:
                self._skip_calls(setting, calls, folded.stop_reason)
            if self._owner.close_steering(self._running):
                return _stop_of(folded)
        raise TurnFailure(
            ErrorBody(
                t.ErrorCode.INTERNAL, f"the turn made {MAX_CALLS} model calls, which is the limit"
            )
        )

    def _call(self, setting: Setting) -> Folded:
        """One model call, recorded whole; sent once more when it was refused as too large."""
        guard, account = self._guarded(), self._counts()
        turn_id, cancel = self._running.turn_id, self._running.cancel
        try:
            folded = self._read(setting, guard.request(turn_id, cancel))
        except ContextOverflow as exc:
            self._close_answer()
            request = guard.refused(exc, turn_id, cancel)
            try:
                folded = self._read(setting, request)
            except ContextOverflow as again:
                window = account.limits.window
                raise context_refused(account.tokens, window, again.message) from again
        if folded.message.content:
            setting.context.add(folded.message)
        account.counted(folded.usage, folded.message)
        self._channel.context(account.context)
        return folded

    def _read(self, setting: Setting, request: Request) -> Folded:
        self._channel.context(self._counts().context)
        self._answer = answer = Answer(
            self._log, self._channel, self._services.ports.clock, self._texts
        )
        interval_s = self._services.ports.settings().conversation.update_interval_ms / 1000
        provider = setting.resolved.provider
        folded = answer.read(provider, request, self._running.cancel, interval_s)
        self._answer = None
        self._texts += answer.has_text
        return folded

    # What the guard says -------------------------------------------------------------------

    def begin_compaction(self, trigger: t.CompactionTrigger) -> None:
        """A compaction starts: told to those who look."""
        self._channel.context(self._counts().context)
        self._channel.compacting(trigger)

    def end_compaction(self, done: Compacted | None) -> None:
        """It ended; None: it gave nothing. The turn's messages so far are saved with its record,
        so that its cut means the same after a crash."""
        self._channel.compacted()
        if done is None:
            return
        setting = self._setting
        assert setting is not None  # only a turn that has begun compacts
        provider, model = setting.resolved.provider.id, setting.resolved.model.id
        messages = saved_messages(self._running.turn_id, provider, model, setting.context.own)
        self._log.record(done.event, messages=messages)

    def _run_calls(self, setting: Setting, calls: tuple[ToolCallBlock, ...]) -> None:
        """One after another, also when the model asked in parallel; an interrupt answers the
        rest as not run."""
        results: list[Block] = []
        try:
            for call in calls:
                results.append(self._calls.run(setting, self._log, self._running, call))
        finally:
            if results:
                self._add(Message("user", tuple(results)))
        self._running.cancel.raise_if_cancelled()

    def _skip_calls(self, setting: Setting, calls: tuple[ToolCallBlock, ...], reason: str) -> None:
        """The answer was cut or refused: its calls are recorded and answered as not run."""
        why = f"This call was not run: the answer ended with {reason}."
        results = tuple(
            self._calls.skip(setting, self._log, self._running, call, why) for call in calls
        )
        self._add(Message("user", results))

    # The ends ------------------------------------------------------------------------------

    def _with_changes(self, event: TurnEvent) -> TurnEvent:
        """The end with what the turn changed in files; without, when that cannot be told."""
        if self._setting is None:
            return event
        try:
            changes, undo = self._setting.files.end(self._running.cancel)
        except Exception:  # a fault here must not take the turn's end away
            log.exception("the changed files of a turn are not known")
            return event
        return replace(event, changes=changes, undo=undo)

    def _interrupted(self) -> ev.TurnInterrupted | ev.TurnFailed:
        try:
            self._close_answer()
        except StoreError as exc:
            return self._failed(exc)
        return ev.TurnInterrupted(
            turn_id=self._running.turn_id, usage=self._usage, context=self._context
        )

    def _failed(self, exc: Exception) -> ev.TurnFailed:
        setting = self._setting
        body = body_of(exc, setting.resolved.provider.id if setting is not None else "")
        if body is None:
            log.exception("a turn failed by a bug", exc_info=exc)
            body = ErrorBody(t.ErrorCode.INTERNAL, "a fault of efrd ended the turn; see its log")
        try:
            self._close_answer()
        except StoreError as again:
            log.error("the text of a failed turn could not be recorded: %s", again)
        return ev.TurnFailed(
            turn_id=self._running.turn_id, error=body, usage=self._usage, context=self._context
        )

    def _close_answer(self) -> None:
        """Text streamed before the end is completed, so the log shows what the user saw."""
        answer, self._answer = self._answer, None
        if answer is None:
            return
        partial = answer.partial()
        setting = self._setting
        if partial.content and setting is not None:
            setting.context.add(partial)
        self._texts += answer.has_text
        if partial.content or answer.usage is not None:
            self._counts().counted(answer.usage, partial)
        answer.complete()

    def _end(self, event: TurnEvent) -> TurnEnd:
        resolved = self._setting.resolved if self._setting is not None else None
        return TurnEnd(
            running=self._running,
            event=event,
            open_questions=tuple(self._log.open_questions),
            open_calls=tuple(self._log.open_calls),
            messages=tuple(self._setting.context.own) if self._setting is not None else (),
            provider=resolved.provider.id if resolved is not None else "",
            model=resolved.model.id if resolved is not None else "",
            notice=notice_of(
                event,
                title_of(self._running.prompt.text),
                resolved.provider.id if resolved is not None else None,
            ),
        )

    # Small things --------------------------------------------------------------------------

    def _add(self, message: Message) -> None:
        assert self._setting is not None  # nothing is added before _begin
        self._setting.context.add(message)
        self._counts().added(message)

    def _guarded(self) -> Guard:
        assert self._guard is not None  # made in _begin, before any call
        return self._guard

    def _counts(self) -> Account:
        assert self._account is not None  # made in _begin, before any call
        return self._account

    @property
    def _usage(self) -> t.Usage | None:
        return self._account.usage if self._account is not None else None

    @property
    def _context(self) -> t.ContextUse | None:
        return self._account.context if self._account is not None else None


def _stop_of(folded: Folded) -> t.StopInfo | None:
    """Absent for a normal answer."""
    empty = not folded.message.text and not folded.message.calls
    if folded.stop_reason in _RUNS_CALLS and not empty:
        return None
    reason = "end_turn" if folded.stop_reason in _RUNS_CALLS else folded.stop_reason
    return t.StopInfo(reason=t.StopReason(reason), empty=empty)
