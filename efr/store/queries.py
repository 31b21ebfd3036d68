"""Every query of the store under one name. Each is `fn(connection, …)`: pass it to a reader."""

from __future__ import annotations

from efr.store.compactions import (
    CompactionRow,
    CountedUse,
    compactions,
    counted_use,
    newest_compaction,
    newest_pruning,
    resent_steers,
    turn_end,
    turn_start,
)
from efr.store.conversations import (
    conversation,
    conversations_of_route,
    conversations_of_scope,
    conversations_of_tty,
    conversations_page,
    conversations_recent,
    last_directory,
    open_turns,
    pending_approvals,
    prompt_turns,
    slots,
    summary,
    turn,
    turns,
)
from efr.store.history import event, events_after, high_water, newest_events, turn_events
from efr.store.left_slots import LeftSlot, left_slot
from efr.store.receipts import receipt
from efr.store.reconcile import OpenWork, open_work
from efr.store.rows import (
    ConversationRow,
    PendingQuestion,
    StoredCompaction,
    StoredEvent,
    TurnRow,
)
from efr.store.turn_messages import SavedMessage, turn_messages

__all__ = [
    "CompactionRow",
    "ConversationRow",
    "CountedUse",
    "LeftSlot",
    "OpenWork",
    "PendingQuestion",
    "SavedMessage",
    "StoredCompaction",
    "StoredEvent",
    "TurnRow",
    "compactions",
    "conversation",
    "conversations_of_route",
    "conversations_of_scope",
    "conversations_of_tty",
    "conversations_page",
    "conversations_recent",
    "counted_use",
    "event",
    "events_after",
    "high_water",
    "last_directory",
    "left_slot",
    "newest_compaction",
    "newest_events",
    "newest_pruning",
    "open_turns",
    "open_work",
    "pending_approvals",
    "prompt_turns",
    "receipt",
    "resent_steers",
    "slots",
    "summary",
    "turn",
    "turn_end",
    "turn_events",
    "turn_messages",
    "turn_start",
    "turns",
]
