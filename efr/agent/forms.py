"""The methods of the agent that keep receipts, and where their results hold sequence numbers.

Data with one small function each: a stored result counts its numbers from the receipt's seq.
Numbers of earlier events (the steers of an interrupt) are absolute and stay.
"""

from __future__ import annotations

from typing import Any, Final, cast

from msgspec.structs import replace

from efr.agent.receipts import Form
from efr.wire import methods as m
from efr.wire import types as t


def _prompt_send(result: m.PromptSendResult, base: int) -> m.PromptSendResult:
    return replace(result, seq=base + result.seq)


def _turn_steer(result: m.TurnSteerResult, base: int) -> m.TurnSteerResult:
    return replace(result, seq=base + result.seq)


def _approval(result: m.ApprovalRespondResult, base: int) -> m.ApprovalRespondResult:
    return replace(result, seq=base + result.seq)


def _presence(result: m.PresenceSetResult, base: int) -> m.PresenceSetResult:
    return result if result.seq is None else replace(result, seq=base + result.seq)


def _withdrawn(prompt: t.WithdrawnPrompt, base: int) -> t.WithdrawnPrompt:
    return replace(prompt, seq=base + prompt.seq)


def _prompt_withdraw(result: m.PromptWithdrawResult, base: int) -> m.PromptWithdrawResult:
    return m.PromptWithdrawResult(_withdrawn(result.withdrawn, base))


def _turn_interrupt(result: m.TurnInterruptResult, base: int) -> m.TurnInterruptResult:
    resent = result.resent
    return replace(
        result,
        seq=base + result.seq,
        resent=None if resent is None else replace(resent, seq=base + resent.seq),
        withdrawn=tuple(_withdrawn(one, base) for one in result.withdrawn),
    )


def _compact(result: m.ConversationCompactResult, base: int) -> m.ConversationCompactResult:
    return replace(result, seq=base + result.seq)


def _resume(result: m.ConversationResumeResult, base: int) -> m.ConversationResumeResult:
    return result  # it holds no number


PROMPT_SEND: Final = Form("prompt.send", m.PromptSendResult, _prompt_send)
PROMPT_WITHDRAW: Final = Form("prompt.withdraw", m.PromptWithdrawResult, _prompt_withdraw)
TURN_STEER: Final = Form("turn.steer", m.TurnSteerResult, _turn_steer)
TURN_INTERRUPT: Final = Form("turn.interrupt", m.TurnInterruptResult, _turn_interrupt)
APPROVAL_RESPOND: Final = Form("approval.respond", m.ApprovalRespondResult, _approval)
PRESENCE_SET: Final = Form("presence.set", m.PresenceSetResult, _presence)
CONVERSATION_COMPACT: Final = Form("conversation.compact", m.ConversationCompactResult, _compact)
# A union of results is no type to mypy; the codec reads it all the same.
CONVERSATION_RESUME: Final[Form[m.ConversationResumeResult]] = Form(
    "conversation.resume", cast(Any, m.ConversationResumeResult), _resume
)
