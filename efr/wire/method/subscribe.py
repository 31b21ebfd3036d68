"""The method that follows a conversation (protocol: conversation.subscribe)."""

from typing import TypeAlias

from efr.wire.event.envelope import EventEnvelope
from efr.wire.scalars import ConversationId, Cursor, Params, Seq, Tagged
from efr.wire.shared.conversations import ConversationSummary
from efr.wire.shared.drafts import Draft, Live


class ConversationSubscribeParams(Params, frozen=True):
    """Follow a conversation: its events as they are recorded, and drafts on demand."""

    conversation_id: ConversationId
    after_seq: Seq | None = None  # the largest number the client has
    answers_input: bool = False  # a person at this client can answer a command that waits
    drafts: bool = False  # also send drafts


class SubscribeEvent(EventEnvelope, frozen=True, tag_field="kind", tag="event"):
    """One event of the conversation."""


class SubscribeSnapshot(Tagged, frozen=True, kw_only=True, tag="snapshot"):
    """Where a subscription starts that cannot go on where the client was."""

    conversation: ConversationSummary
    events: tuple[EventEnvelope, ...]  # the newest, oldest first
    history_cursor: Cursor | None = None  # absent when `events` has the first one
    hwm: Seq  # the newest number of the whole log
    live: Live | None = None  # the running model call, if there is one


class SubscribeDraft(Draft, frozen=True, tag_field="kind", tag="draft"):
    """What a running turn got before the log has it."""


ConversationSubscribeItem: TypeAlias = SubscribeEvent | SubscribeSnapshot | SubscribeDraft
