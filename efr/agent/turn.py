"""One turn, told from its start to its end. Runs on the conversation's worker; blocks all along.

Settings, scope, `turn_started`; then at most 64 model calls: take the steers, guard the size,
read the answer, run its tool calls one after another, send the results. Whatever stops it (an
interrupt, a failure, a bug) becomes one `TurnEnd`; nothing is raised out of `run`.
"""

from __future__ import annotations

import logging
from typing import Protocol

from efr.agent.accounting import Account, limits_of
from efr.agent.answer import Answer
from efr.agent.calls import Calls
from efr.agent.commit import TurnLog
from efr.agent.failures import TurnFailure, body_of, context_full, notice_of
from efr.agent.queue import Running, Steer
from efr.agent.rebuild import user_text
from efr.agent.services import Services
from efr.agent.setting_out import Setting, set_out
from efr.agent.turn_end import TurnEnd
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


class Owner(Protocol):
    """What a turn asks of its conversation."""

    @property
    def id(self) -> str: ...

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
        self._messages: list[Message] = []
        self._answer: Answer | None = None
        self._texts = 0  # messages of the turn that have text: the next one's index

    def run(self) -> TurnEnd:
        """The whole turn. Never raises for what goes wrong in it."""
        try:
            setting = self._begin()
            stop = self._loop(setting)
            event: ev.TurnCompleted | ev.TurnFailed | ev.TurnInterrupted = ev.TurnCompleted(
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
        return self._end(event)

    # The story -----------------------------------------------------------------------------

    def _begin(self) -> Setting:
        """Everything before the first call. Raises Refusal before `turn_started`."""
        setting = set_out(self._services, self._owner.id, self._running, self._log)
        limits = limits_of(setting.resolved.model, setting.settings.compaction)
        self._account = Account(limits, setting.base_tokens)
        self._setting = setting
        self._add(setting.prompt_message)
        return setting

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
        """One model call, recorded whole."""
        request = self._request(setting)
        account = self._counts()
        tokens = account.before_call(request)
        self._channel.context(account.context)
        if tokens > account.limits.hard_cap:
            raise context_full(tokens, account.limits.window)
        self._answer = answer = Answer(
            self._log, self._channel, self._services.ports.clock, self._texts
        )
        interval_s = self._services.ports.settings().conversation.update_interval_ms / 1000
        try:
            folded = answer.read(
                setting.resolved.provider, request, self._running.cancel, interval_s
            )
        except ContextOverflow as exc:
            raise context_full(tokens, account.limits.window) from exc
        self._answer = None
        self._texts += answer.has_text
        if folded.message.content:
            self._messages.append(folded.message)
        account.counted(folded.usage, folded.message)
        self._channel.context(account.context)
        return folded

    def _request(self, setting: Setting) -> Request:
        return Request(
            model=setting.resolved.model.id,
            messages=(*setting.history, *self._messages),
            system=setting.system,
            tools=setting.tools,
            max_output_tokens=setting.settings.model.max_output_tokens,
            effort=setting.resolved.effective.effort,
            conversation_id=self._owner.id,
        )

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
        if partial.content:
            self._messages.append(partial)
        if partial.content or answer.usage is not None:
            self._counts().counted(answer.usage, partial)
        answer.complete()

    def _end(self, event: ev.TurnCompleted | ev.TurnFailed | ev.TurnInterrupted) -> TurnEnd:
        resolved = self._setting.resolved if self._setting is not None else None
        return TurnEnd(
            running=self._running,
            event=event,
            open_questions=tuple(self._log.open_questions),
            open_calls=tuple(self._log.open_calls),
            messages=tuple(self._messages),
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
        self._messages.append(message)
        if self._account is not None:
            self._account.added(message)

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
