"""Methods of prompts and running turns (protocol: methods 14 to 17)."""

from efr.wire.scalars import CommandId, ConversationId, Params, Seq, TurnId, Wire
from efr.wire.shared.places import RecentCommand, ShellContext
from efr.wire.shared.scopes import PromptRoute
from efr.wire.shared.settings import EffectiveSettings, TurnSettings


class PromptSendParams(Params, frozen=True, kw_only=True):
    """Send a prompt; its answer comes as events of the conversation."""

    command_id: CommandId
    conversation_id: ConversationId | None = None  # absent: the daemon finds it from the terminal
    new_conversation: bool = False  # start a new one; not together with `conversation_id`
    text: str
    context: ShellContext | None = None  # the shell that the prompt was typed in
    last_command: str | None = None  # for the preamble only; never recorded
    settings: TurnSettings = TurnSettings()  # absent members: those of the config
    recent_commands: tuple[RecentCommand, ...] = ()  # oldest first; for the preamble only


class PromptSendResult(Wire, frozen=True):
    """Where the prompt went."""

    conversation_id: ConversationId
    turn_id: TurnId  # the turn that will answer
    seq: Seq  # of prompt_queued
    queued: bool  # another turn runs, so it waits
    settings: EffectiveSettings | None = None  # what it would run with now; always there today
    route: PromptRoute | None = None  # only for a prompt with a terminal and without a conversation
