"""One tool call: declared, judged, asked about, run, recorded.

The only caller of tools. The order in the log is fixed: the judgement comes first (it is pure),
then `tool_call_started`, the question if there is one, what happens while it runs, and
`tool_call_completed`. After an interrupt a call is recorded and answered as not run. The worker's
thread; blocks on people, programs and the store.
"""

from __future__ import annotations

import os
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from efr.agent.approvals import Question, Questions, Wake
from efr.agent.approver import approver
from efr.agent.call_watch import Watch
from efr.agent.commit import TurnLog
from efr.agent.failures import approval_notice
from efr.agent.permission import closed_files, judge
from efr.agent.ports import Shell
from efr.agent.queue import Running
from efr.agent.services import Services
from efr.agent.setting_out import Setting, next_start
from efr.policy.needs import CallNeeds, Decision
from efr.providers.canonical import ToolCallBlock, ToolResultBlock
from efr.shell.contract import Approver
from efr.shell.words import starts_shell
from efr.store.errors import NotPending
from efr.text.visible import visible_line
from efr.tools.changes import shown_path
from efr.tools.contract import BadInput, Tool, ToolContext, ToolResult, Where
from efr.tools.file_views import FileViews
from efr.wire import events as ev
from efr.wire import types as t

_SHELL = "shell"  # the tool whose commands a user may type into

DENIED = "The user refused this call. Do not try it another way; ask what they want instead."
STOPPED = "The user interrupted: this call was not run."
EXPIRED = "Nobody answered the question in time, so this call was not run."
AWAY = (
    "The user is away, so nobody answered the question and this call was not run. Go on without it"
    " and name it in your answer."
)


class Owner(Protocol):
    """What calls need of their conversation."""

    @property
    def id(self) -> str: ...

    @property
    def questions(self) -> Questions: ...

    @property
    def views(self) -> FileViews: ...


class _Call(Struct):
    """One call while it is worked on."""

    id: str
    block: ToolCallBlock
    setting: Setting
    turn_log: TurnLog
    running: Running
    started: bool = field(default=False)
    shown: str | None = None  # the preview of its question
    approved_by: Approver | None = None  # None: nobody had to be asked


class Calls:
    """Runs the calls of one conversation's turns, one at a time."""

    def __init__(self, services: Services, owner: Owner) -> None:
        self._services = services
        self._owner = owner

    def run(
        self, setting: Setting, turn_log: TurnLog, running: Running, block: ToolCallBlock
    ) -> ToolResultBlock:
        """Blocks until the call is answered. Raises StoreError; a tool's bug passes through."""
        call = _Call(self._services.ports.ids.new(), block, setting, turn_log, running)
        if running.cancel.cancelled:
            return self._answer(call, _failed(STOPPED))
        tool = self._services.ports.tools.get(block.name)
        if tool is None or not setting.offers(block.name):
            return self._answer(call, _failed(_not_offered(setting, block.name)))
        where = self._where(setting)
        try:
            needs = tool.declare(block.input, where)
        except BadInput as exc:
            return self._answer(call, _failed(str(exc)))
        decision = judge(self._services.ports, setting, needs, running.prompt.origin)
        self._start(call, needs)
        if decision.effect == "deny":
            return self._answer(call, _failed(_refused_text(decision)), refusal=decision.reason)
        if decision.effect == "ask":
            refused = self._ask(call, tool, where, needs, decision)
            if refused is not None:
                return self._answer(call, _failed(refused))
        call.approved_by = approver(decision, setting.resolved.effective.mode)
        return self._answer(call, self._execute(call, tool, where, needs))

    def skip(
        self, setting: Setting, turn_log: TurnLog, running: Running, block: ToolCallBlock, why: str
    ) -> ToolResultBlock:
        """Records a call as not run."""
        call = _Call(self._services.ports.ids.new(), block, setting, turn_log, running)
        return self._answer(call, _failed(why))

    # The steps -----------------------------------------------------------------------------

    def _where(self, setting: Setting) -> Where:
        ports, project = self._services.ports, setting.place.project
        return Where(
            user_dir=setting.user_dir,
            shell_dir=next_start(ports, self._owner.id, setting.shell_start),
            home=ports.host.home,
            scratch=setting.scratch,
            project_root=project.root if project is not None else None,
            closed=closed_files(ports, setting),
        )

    def _start(self, call: _Call, needs: CallNeeds | None) -> None:
        is_command = call.block.name == _SHELL and needs is not None
        call.turn_log.record(
            ev.ToolCallStarted(
                turn_id=call.turn_log.turn_id,
                call_id=call.id,
                tool=call.block.name,
                input=call.block.input,
                freeform=call.block.freeform,
                manual_input=is_command and _takes_a_line(needs),
                launch=t.LaunchDirect() if is_command else None,
            )
        )
        call.started = True

    def _ask(
        self, call: _Call, tool: Tool, where: Where, needs: CallNeeds, decision: Decision
    ) -> str | None:
        """Asks the user. None: they allow it; else what the model is told."""
        questions = self._owner.questions
        limit_s = self._limit_s(decision)
        question = questions.park(call.id, limit_s, local_only=decision.local_only)
        try:
            call.shown = tool.preview(call.block.input, where)
            summary = decision.summary + _elsewhere(needs, where)
            self._request(call, needs, replace(decision, summary=summary), limit_s)
            wake = questions.wait(question, call.running.cancel)
            if wake is not Wake.ANSWERED:
                wake = self._expire(call, question, wake)
        finally:
            questions.close(question)
        return self._told(call, question, wake)

    def _limit_s(self, decision: Decision) -> int | None:
        """How long the question lives: its own limit or the user's, whichever ends first."""
        user_s = self._services.ports.settings().conversation.approval_timeout_secs
        limits = [one for one in (user_s, decision.expires_in_s) if one is not None]
        return min(limits, default=None)

    def _request(
        self, call: _Call, needs: CallNeeds, decision: Decision, limit_s: int | None
    ) -> None:
        done = call.turn_log.record(
            ev.ApprovalRequested(
                turn_id=call.turn_log.turn_id,
                call_id=call.id,
                summary=decision.summary,
                diff_preview=call.shown,
                interactive=needs.interactive,
                expires_in_secs=limit_s,
                local_only=decision.local_only,
                reason=decision.reason or None,
            )
        )
        tty = call.running.prompt.tty
        text = approval_notice(decision.summary)
        self._services.notices.tell(self._owner.id, tty, done.last_seq, text)

    def _expire(self, call: _Call, question: Question, wake: Wake) -> Wake:
        """Records that nobody answered; an answer that the store took before still counts."""
        event = ev.ApprovalExpired(
            turn_id=call.turn_log.turn_id, call_id=call.id, away=wake is Wake.AWAY
        )
        try:
            call.turn_log.record(event)
        except NotPending:
            self._owner.questions.answer_of(question)
            return Wake.ANSWERED
        return wake

    def _told(self, call: _Call, question: Question, wake: Wake) -> str | None:
        if wake is Wake.ANSWERED:
            call.turn_log.answered(call.id)
        if call.running.cancel.cancelled or wake is Wake.INTERRUPTED:
            return STOPPED
        if wake is Wake.AWAY:
            return AWAY
        if wake is Wake.LIMIT:
            return EXPIRED
        return None if question.decision is t.ApprovalDecision.ALLOW else DENIED

    def _execute(self, call: _Call, tool: Tool, where: Where, needs: CallNeeds) -> ToolResult:
        """Runs it. The call is the one that takes typed answers meanwhile."""
        ports = self._services.ports
        watch = Watch(
            call.turn_log,
            call.id,
            ports.clock,
            lambda: ports.settings().conversation.update_interval_ms / 1000,
            lambda: self._services.followers.can_answer(self._owner.id),
        )
        context = ToolContext(
            call_id=call.id,
            where=where,
            cancel=call.running.cancel,
            shell=lambda: self._shell(call.setting),
            watcher=watch,
            clock=ports.clock,
            views=self._owner.views,
            shown=call.shown,
            needs=needs,
            approved_by=call.approved_by,
        )
        cancel, files = call.running.cancel, call.setting.files
        before = files.before(needs, cancel)
        if cancel.cancelled:
            return _failed(STOPPED)
        call.running.call_id = call.id
        try:
            result = tool.run(call.block.input, context)
        finally:
            call.running.call_id = None
        watch.finish()
        changes = files.after(before, cancel) if before else None
        return result if changes is None else replace(result, changes=changes)

    def _shell(self, setting: Setting) -> Shell:
        return self._services.ports.shells.for_conversation(
            self._owner.id, setting.shell_start, setting.scratch
        )

    def _answer(
        self, call: _Call, result: ToolResult, *, refusal: str | None = None
    ) -> ToolResultBlock:
        """Records the end; what the model reads is what the event holds."""
        if not call.started:
            self._start(call, None)
        call.turn_log.record(
            ev.ToolCallCompleted(
                turn_id=call.turn_log.turn_id,
                call_id=call.id,
                output=result.output,
                truncated=result.truncated,
                is_error=result.is_error,
                exit_code=result.exit_code,
                refusal=refusal,
                changes=result.changes,
                diff=result.diff,
                left_running=result.left_running,
            )
        )
        return ToolResultBlock(call.block.call_id, result.output, is_error=result.is_error)


def _elsewhere(needs: CallNeeds, where: Where) -> str:
    """A row of the question: a line that does not start where the user is says where it does."""
    start = needs.command_dir
    if start is None or os.path.realpath(start) == os.path.realpath(where.user_dir):
        return ""
    return f"\nruns in {visible_line(shown_path(start, replace(where, project_root=None)))}"


def _failed(text: str) -> ToolResult:
    return ToolResult(output=text, is_error=True)


def _not_offered(setting: Setting, name: str) -> str:
    names = ", ".join(one.name for one in setting.tools)
    return f"There is no tool {name} here. Use one of: {names}."


def _refused_text(decision: Decision) -> str:
    """A settled no: every reason, and that other ways end the same."""
    lines = [f"efr refused this call: {decision.reason}."]
    lines += [f"- {one}" for one in decision.refused]
    lines.append("Do not try to reach the same by another way; say what you needed.")
    return "\n".join(lines)


def _takes_a_line(needs: CallNeeds | None) -> bool:
    """Whether the user may type one for a command that reports no wait: a shell that reads lines
    would run it."""
    return needs is not None and not needs.nested and not starts_shell(needs.command or "")
