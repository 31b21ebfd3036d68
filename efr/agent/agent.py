"""The front door of the agent: what the daemon's methods call.

`Agent` owns the loaded conversations and the parts they share. Every method may be called from
any handler thread, blocks until its change is on disk, and raises `Refusal` to say no. Nothing
here runs a turn: a conversation's worker does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any, TypeVar

from msgspec.structs import replace

from efr.agent import inputs, prompts, requests, resume
from efr.agent.commit import Commits
from efr.agent.conversation import Conversation
from efr.agent.drafts import DraftHub
from efr.agent.followers import Followers
from efr.agent.forms import (
    APPROVAL_RESPOND,
    CONVERSATION_COMPACT,
    CONVERSATION_RESUME,
    PRESENCE_SET,
    PROMPT_SEND,
    PROMPT_WITHDRAW,
    TURN_INTERRUPT,
    TURN_STEER,
)
from efr.agent.gate import Gate
from efr.agent.history import is_away
from efr.agent.manual import await_answer
from efr.agent.notices import Notices
from efr.agent.place import Place
from efr.agent.ports import Caller, NoModelsYet, Ports
from efr.agent.prompts import Sending
from efr.agent.receipts import Form, Receipts
from efr.agent.refusals import refusing
from efr.agent.report import report
from efr.agent.routing import Routing, slot_row
from efr.agent.services import Services
from efr.agent.shell_life import of_first_shell
from efr.agent.shell_stops import SHELL_INTERRUPT, shell_interrupt
from efr.agent.slots import Continue, PickUp
from efr.base.cancel import Cancel
from efr.store import queries
from efr.store.errors import DeletedConversation
from efr.store.rows import ConversationRow
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal, refuse

R = TypeVar("R")


class Agent:
    """All conversations of the daemon."""

    def __init__(self, ports: Ports) -> None:
        commits = Commits(ports.writer)
        self.followers = Followers(ports.clock)
        self.notices = Notices(ports.roots.notices, ports.clock, ports.timer, self.followers)
        self.drafts = DraftHub(
            ports.clock,
            ports.timer,
            lambda: ports.settings().conversation.draft_interval_ms / 1000,
        )
        self._services = Services(
            ports=ports,
            commits=commits,
            receipts=Receipts(ports.readers, commits),
            drafts=self.drafts,
            followers=self.followers,
            notices=self.notices,
        )
        self._routing = Routing(ports, self.followers)
        self._routes = Gate()  # routed prompts, one after another
        self._lock = threading.Lock()  # "agent": which conversations are loaded
        self._loaded: dict[str, Conversation] = {}
        self._stopping = False

    # Methods of the protocol ---------------------------------------------------------------

    def prompt_send(self, params: m.PromptSendParams, caller: Caller) -> m.PromptSendResult:
        """Queues a prompt in the conversation it names, its terminal's, or a new one.

        Raises NoModelsYet, with nothing changed, when it must wait for a list of models.
        """
        return self._once(params.command_id, PROMPT_SEND, lambda: self._prompt_send(params, caller))

    def prompt_withdraw(
        self, params: m.PromptWithdrawParams, caller: Caller
    ) -> m.PromptWithdrawResult:
        """Takes a waiting prompt back."""
        return self._once(
            params.command_id,
            PROMPT_WITHDRAW,
            lambda: requests.withdraw(self._open(params.conversation_id), params, caller),
        )

    def turn_interrupt(
        self, params: m.TurnInterruptParams, caller: Caller
    ) -> m.TurnInterruptResult:
        """Stops the running turn."""
        return self._once(
            params.command_id,
            TURN_INTERRUPT,
            lambda: requests.interrupt(self._open(params.conversation_id), params, caller),
        )

    def turn_steer(self, params: m.TurnSteerParams, caller: Caller) -> m.TurnSteerResult:
        """Text for the running turn, or (late) a prompt."""
        return self._once(
            params.command_id,
            TURN_STEER,
            lambda: requests.steer(self._open(params.conversation_id), params, caller),
        )

    def approval_respond(
        self, params: m.ApprovalRespondParams, caller: Caller
    ) -> m.ApprovalRespondResult:
        """Answers a question."""
        return self._once(
            params.command_id,
            APPROVAL_RESPOND,
            lambda: requests.answer(self._open(params.conversation_id), params, caller),
        )

    def input_respond(self, params: m.InputRespondParams, caller: Caller) -> None:
        """Types a line into a running command. Keeps no receipt."""
        with refusing():
            inputs.input_respond(self._open(params.conversation_id), params, caller)

    def presence_set(self, params: m.PresenceSetParams, caller: Caller) -> m.PresenceSetResult:
        """The user says whether they are there: for one conversation, or all with input."""
        return self._once(params.command_id, PRESENCE_SET, lambda: self._presence_set(params))

    def shell_interrupt(self, params: m.ShellInterruptParams) -> m.ShellInterruptResult:
        """Stops a command that was left running, or closes its hidden shell."""
        return self._once(
            params.command_id, SHELL_INTERRUPT, lambda: shell_interrupt(self._services, params)
        )

    def conversation_resume(
        self, params: m.ConversationResumeParams, caller: Caller
    ) -> m.ConversationResumeResult:
        """Makes a conversation that of a slot of the caller's terminal."""
        return self._once(
            params.command_id, CONVERSATION_RESUME, lambda: self._resume(params, caller)
        )

    def conversation_compact(
        self, params: m.ConversationCompactParams, cancel: Cancel
    ) -> m.ConversationCompactResult:
        """Compacts a conversation now. Blocks until it is done; `cancel` ends the wait alone.

        Raises NoModelsYet, with nothing changed, when it must wait for a list of models.
        """
        if self._services.ports.models.needs_list(None):
            raise NoModelsYet

        def run() -> m.ConversationCompactResult:
            conversation = self._open(params.conversation_id)
            return await_answer(requests.begin_compaction(conversation, params), cancel)

        return self._once(params.command_id, CONVERSATION_COMPACT, run)

    def conversation_context(
        self, params: m.ConversationContextParams
    ) -> m.ConversationContextResult:
        """What fills the context of a conversation's next request; sizes and labels alone."""
        with refusing():
            return report(self._services, params)

    # For the daemon ------------------------------------------------------------------------

    def typed(self, conversation_id: str) -> None:
        """Keys went to a hidden shell by another way (`pty.write`): that is input too."""
        with refusing():
            inputs.note_input(self._open(conversation_id))

    def runs(self, conversation_id: str) -> bool:
        """Whether a turn or a compaction runs or waits there; its shell is not idle then."""
        with self._lock:
            loaded = self._loaded.get(conversation_id)
        return loaded is not None and not loaded.state.idle

    def runs_full(self) -> bool:
        """Whether a turn runs in full mode anywhere."""
        with self._lock:
            states = [loaded.state for loaded in self._loaded.values()]
        running = [state.running for state in states]
        return any(one is not None and one.mode is t.Mode.FULL for one in running)

    def stop_compaction(self, conversation_id: str, limit_s: float) -> None:
        """Ends a compaction that the user asked for, and waits for its end."""
        with self._lock:
            loaded = self._loaded.get(conversation_id)
        asked = None if loaded is None else loaded.stop_compaction()
        if asked is not None:
            wait([asked.reply], timeout=limit_s)

    def is_held(self, row: ConversationRow) -> bool:
        """Whether the terminal of the conversation's slot is open: its shell is the process it
        was, or it follows."""
        return self._routing.rules().held(slot_row(row))

    def deleted(self, row: ConversationRow) -> None:
        """The conversation was deleted: nothing of it stays loaded, and the next prompt of its
        terminal starts a new one."""
        with self._lock:
            loaded = self._loaded.pop(row.id, None)
        if loaded is not None:
            loaded.stop()
            with loaded.state.lock:
                loaded.state.gone = True
        self._routing.deleted(row)

    def stop(self, deadline: float) -> list[str]:
        """Interrupts the running turns and waits until their ends are recorded.

        Waiting prompts stay for the next start. Returns the threads that missed the monotonic
        deadline. May be called twice.
        """
        with self._lock:
            self._stopping = True
            loaded = list(self._loaded.values())
        for conversation in loaded:
            conversation.stop()
        return self._services.ports.workers.stop(deadline)

    # Inside --------------------------------------------------------------------------------

    def _once(self, command_id: str, form: Form[R], run: Callable[[], R]) -> R:
        with refusing():
            return self._services.receipts.with_receipt(command_id, form, run)

    def _open(self, conversation_id: str) -> Conversation:
        """The conversation, loaded when it is not. Raises `not_found`."""
        with self._lock:
            loaded = self._loaded.get(conversation_id)
        if loaded is None:
            away = self._services.ports.readers.read(lambda conn: _away(conn, conversation_id))
            if away is None:
                raise refuse(t.ErrorCode.NOT_FOUND, "there is no such conversation")
            loaded = self._load(conversation_id, away=away)
        return loaded

    def _load(self, conversation_id: str, *, away: bool = False) -> Conversation:
        with self._lock:
            if self._stopping:
                raise refuse(t.ErrorCode.CANCELLED, "efrd stops")
            loaded = self._loaded.get(conversation_id)
            if loaded is None:
                loaded = Conversation(conversation_id, away, self._services)
                self._loaded[conversation_id] = loaded
            return loaded

    def _prompt_send(self, params: m.PromptSendParams, caller: Caller) -> m.PromptSendResult:
        prompts.check(params, caller)
        context = of_first_shell(params.context, self._services.ports.first_shell)
        params = replace(params, context=context)
        if self._services.ports.models.needs_list(params.settings.model):
            raise NoModelsYet
        resolved = self._services.resolve(params.settings, remote=caller.remote)
        sending = Sending(params, caller, resolved.effective)
        if params.conversation_id is not None:
            return prompts.queue(self._open(params.conversation_id), sending)
        if params.context is None or sending.tty is None:
            head = prompts.created(self._services, sending)
            return self._start(lambda new: prompts.queue(new, sending, [head]))
        place = self._services.ports.places.of(params.context.pwd)
        with self._routes.enter():
            try:
                return self._route(sending, params.context, sending.tty, place)
            except (DeletedConversation, Refusal) as exc:
                if isinstance(exc, Refusal) and exc.body.code is not t.ErrorCode.NOT_FOUND:
                    raise
            # A delete came between the choice and its record: the prompt goes elsewhere.
            return self._route(sending, params.context, sending.tty, place)

    def _route(
        self, sending: Sending, context: t.ShellContext, tty: str, place: Place
    ) -> m.PromptSendResult:
        """A prompt of a terminal; inside the gate of routes."""
        new = sending.params.new_conversation
        routed = self._routing.route(context, tty, place, new_conversation=new)
        match routed.choice:
            case Continue(row=row):
                result = prompts.queue(
                    self._open(row.conversation_id),
                    sending,
                    told=routed.told,
                    shell_dir=routed.shell_dir,
                )
            case PickUp(row=row):
                head = prompts.head_of(routed, sending.caller)
                result = prompts.queue(
                    self._open(row.conversation_id), sending, head, routed.told, routed.shell_dir
                )
            case _:
                head = prompts.head_of(routed, sending.caller)
                result = self._start(lambda new: prompts.queue(new, sending, head, routed.told))
        self._routing.routed(routed)
        return result

    def _resume(
        self, params: m.ConversationResumeParams, caller: Caller
    ) -> m.ConversationResumeResult:
        context = of_first_shell(params.context, self._services.ports.first_shell)
        params = replace(params, context=context)
        asked = resume.begin(params, caller, self._services.ports.places)
        with self._routes.enter():
            return resume.resume(self._routing, self._open(params.conversation_id), asked)

    def _start(self, first: Callable[[Conversation], R]) -> R:
        """A new conversation with its first prompt. Nothing of it stays when that fails."""
        conversation = self._load(self._services.ports.ids.new())
        try:
            return first(conversation)
        except BaseException:
            with conversation.state.lock:
                conversation.state.gone = True
            with self._lock:
                self._loaded.pop(conversation.id, None)
            raise

    def _presence_set(self, params: m.PresenceSetParams) -> m.PresenceSetResult:
        if params.conversation_id is not None:
            chosen = [self._open(params.conversation_id)]
        else:
            with self._lock:
                chosen = [one for one in self._loaded.values() if one.presence.had_input]
        return inputs.presence_set(self._services, chosen, params)


def _away(conn: Any, conversation_id: str) -> bool | None:
    """Whether the user is away there; None when there is no such conversation."""
    if queries.conversation(conn, conversation_id) is None:
        return None
    return is_away(conn, conversation_id)
