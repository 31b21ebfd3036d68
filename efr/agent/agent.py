"""The front door of the agent: what the daemon's methods call.

`Agent` owns the parts that conversations share; `loaded.py` keeps the conversations. Every method
may be called from any handler thread, blocks until its change is on disk, and raises `Refusal` to
say no. Nothing here runs a turn: a conversation's worker does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from typing import Protocol, TypeVar

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
from efr.agent.loaded import Loaded
from efr.agent.manual import await_answer
from efr.agent.notices import Notices
from efr.agent.place import Place
from efr.agent.ports import Caller, NoModelsYet, Ports
from efr.agent.prompts import Sending
from efr.agent.receipts import Form, Receipts
from efr.agent.refusals import refusing
from efr.agent.report import report
from efr.agent.routing import Routed, Routing, slot_row
from efr.agent.services import Services
from efr.agent.shell_life import of_first_shell
from efr.agent.shell_stops import SHELL_INTERRUPT, shell_interrupt
from efr.agent.slots import Continue, PickUp
from efr.base.cancel import Cancel
from efr.store.errors import DeletedConversation
from efr.store.rows import ConversationRow
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal

R = TypeVar("R")


class _Names(Protocol):
    """Params that name a conversation."""

    @property
    def conversation_id(self) -> str: ...


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
        self._loaded = Loaded(self._services)

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
            lambda: self._in(params, lambda one: requests.withdraw(one, params, caller)),
        )

    def turn_interrupt(
        self, params: m.TurnInterruptParams, caller: Caller
    ) -> m.TurnInterruptResult:
        """Stops the running turn."""
        return self._once(
            params.command_id,
            TURN_INTERRUPT,
            lambda: self._in(params, lambda one: requests.interrupt(one, params, caller)),
        )

    def turn_steer(self, params: m.TurnSteerParams, caller: Caller) -> m.TurnSteerResult:
        """Text for the running turn, or (late) a prompt."""
        return self._once(
            params.command_id,
            TURN_STEER,
            lambda: self._in(params, lambda one: requests.steer(one, params, caller)),
        )

    def approval_respond(
        self, params: m.ApprovalRespondParams, caller: Caller
    ) -> m.ApprovalRespondResult:
        """Answers a question."""
        return self._once(
            params.command_id,
            APPROVAL_RESPOND,
            lambda: self._in(params, lambda one: requests.answer(one, params, caller)),
        )

    def input_respond(self, params: m.InputRespondParams, caller: Caller) -> None:
        """Types a line into a running command. Keeps no receipt."""
        with refusing():
            self._in(params, lambda one: inputs.input_respond(one, params, caller))
            self._in(params, inputs.note_input)

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
            begun = self._in(params, lambda one: requests.begin_compaction(one, params))
            return await_answer(begun, cancel)

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
            self._loaded.use(conversation_id, inputs.note_input)

    def runs(self, conversation_id: str) -> bool:
        """Whether a turn or a compaction runs or waits there; its shell is not idle then."""
        loaded = self._loaded.get(conversation_id)
        return loaded is not None and not loaded.state.idle

    def runs_full(self) -> bool:
        """Whether a turn runs in full mode anywhere."""
        running = [loaded.state.running for loaded in self._loaded.all()]
        return any(one is not None and one.mode is t.Mode.FULL for one in running)

    def stop_compaction(self, conversation_id: str, limit_s: float) -> None:
        """Ends a compaction that the user asked for, and waits for its end."""
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
        loaded = self._loaded.drop(row.id)
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
        for conversation in self._loaded.stop():
            conversation.stop()
        return self._services.ports.workers.stop(deadline)

    # Inside --------------------------------------------------------------------------------

    def _once(self, command_id: str, form: Form[R], run: Callable[[], R]) -> R:
        with refusing():
            return self._services.receipts.with_receipt(command_id, form, run)

    def _in(self, params: _Names, fn: Callable[[Conversation], R]) -> R:
        return self._loaded.use(params.conversation_id, fn)

    def _prompt_send(self, params: m.PromptSendParams, caller: Caller) -> m.PromptSendResult:
        prompts.check(params, caller)
        context = of_first_shell(params.context, self._services.ports.first_shell)
        params = replace(params, context=context)
        if self._services.ports.models.needs_list(params.settings.model):
            raise NoModelsYet
        resolved = self._services.resolve(params.settings, remote=caller.remote)
        sending = Sending(params, caller, resolved.effective)
        if params.conversation_id is not None:
            return self._loaded.use(params.conversation_id, lambda one: prompts.queue(one, sending))
        if params.context is None or sending.tty is None:
            head = prompts.created(self._services, sending)
            return self._loaded.begin(lambda new: prompts.queue(new, sending, [head]))
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
                head: list[ev.Event] = []
                result = self._queue(row.conversation_id, sending, head, routed)
            case PickUp(row=row):
                head = prompts.head_of(routed, sending.caller)
                result = self._queue(row.conversation_id, sending, head, routed)
            case _:
                head = prompts.head_of(routed, sending.caller)
                result = self._loaded.begin(
                    lambda new: prompts.queue(new, sending, head, routed.told)
                )
        self._routing.routed(routed)
        return result

    def _queue(
        self, conversation_id: str, sending: Sending, head: list[ev.Event], routed: Routed
    ) -> m.PromptSendResult:
        return self._loaded.use(
            conversation_id,
            lambda one: prompts.queue(one, sending, head, routed.told, routed.shell_dir),
        )

    def _resume(
        self, params: m.ConversationResumeParams, caller: Caller
    ) -> m.ConversationResumeResult:
        context = of_first_shell(params.context, self._services.ports.first_shell)
        params = replace(params, context=context)
        asked = resume.begin(params, caller, self._services.ports.places)
        with self._routes.enter():
            return self._loaded.use(
                params.conversation_id, lambda one: resume.resume(self._routing, one, asked)
            )

    def _presence_set(self, params: m.PresenceSetParams) -> m.PresenceSetResult:
        def change(chosen: Sequence[Conversation]) -> m.PresenceSetResult:
            return inputs.presence_set(self._services, chosen, params)

        if params.conversation_id is not None:
            return self._loaded.use(params.conversation_id, lambda one: change([one]))
        leaves = params.presence is t.Presence.AWAY
        return self._loaded.use_all_with_input(change, but_away=leaves)
