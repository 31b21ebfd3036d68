"""Which family of events a kind belongs to, in the protocol's order.

The families are imported when their first event is read: a command that follows one turn does
not pay for all 55 kinds. A test holds this table against the declared events.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from msgspec import Struct

KINDS: Final[dict[str, str]] = {
    "conversation_created": "turns",
    "conversation_deleted": "turns",
    "terminal_attached": "turns",
    "prompt_queued": "turns",
    "prompt_withdrawn": "turns",
    "prompt_held": "turns",
    "turn_started": "turns",
    "scope_changed": "turns",
    "turn_steered": "turns",
    "steering_delivered": "turns",
    "steering_withdrawn": "turns",
    "turn_interrupt_requested": "turns",
    "turn_interrupted": "turns",
    "turn_completed": "turns",
    "turn_failed": "turns",
    "turn_cancelled": "turns",
    "assistant_message_updated": "messages",
    "assistant_message_completed": "messages",
    "tool_call_started": "calls",
    "tool_call_output_updated": "calls",
    "tool_call_input_changed": "calls",
    "tool_call_completed": "calls",
    "approval_requested": "questions",
    "approval_resolved": "questions",
    "approval_expired": "questions",
    "always_rule_saved": "questions",
    "exit_requested": "questions",
    "exit_review_started": "questions",
    "exit_judged": "questions",
    "classifier_paused": "questions",
    "presence_changed": "questions",
    "cache_delete_applied": "questions",
    "home_file_changed": "questions",
    "sandbox_surface_changed": "questions",
    "surface_question_requested": "questions",
    "surface_question_answered": "questions",
    "turn_surface_report": "questions",
    "sandbox_unavailable": "questions",
    "conversation_compacted": "work",
    "snapshot_taken": "work",
    "undo_applied": "work",
    "job_started": "work",
    "job_watch_matched": "work",
    "job_ended": "work",
    "job_notice": "work",
    "job_notice_held": "work",
    "job_port_forwarded": "work",
    "shell_started": "shells",
    "shell_exited": "shells",
    "cwd_changed": "shells",
    "shell_command_detached": "shells",
    "shell_command_input_changed": "shells",
    "shell_command_ended": "shells",
    "login_completed": "shells",
    "logout_completed": "shells",
}
# Events of the daemon as a whole: their envelope names no conversation.
OF_DAEMON: Final = frozenset({"sandbox_unavailable", "login_completed", "logout_completed"})
_LOADED: Final[dict[str, type[Struct]]] = {}


def event_class(kind: str) -> type[Struct] | None:
    """The declared type of a kind; None for a kind that this version does not know."""
    known = _LOADED.get(kind)
    if known is None and kind in KINDS:
        module = import_module(f"efr.wire.event.{KINDS[kind]}")
        known = getattr(module, "".join(word.capitalize() for word in kind.split("_")))
        _LOADED[kind] = known
    return known
