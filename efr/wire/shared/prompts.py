"""Prompts that wait, steers that come late, and why a turn stopped (protocol: prompts)."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from efr.wire.scalars import Seq, Tagged, TurnId, Wire
from efr.wire.shared.settings import TurnSettings
from efr.wire.shared.shells import RecentCommand, ShellContext


class LateSteerQueue(Tagged, frozen=True, tag="queue"):
    """A late steer becomes a prompt with these."""

    context: ShellContext | None = None
    last_command: str | None = None  # as in prompt.send
    settings: TurnSettings = TurnSettings()
    recent_commands: tuple[RecentCommand, ...] = ()  # as in prompt.send


LateSteer: TypeAlias = LateSteerQueue


class WithdrawTurn(Tagged, frozen=True, tag="turn"):
    """The prompt of this turn."""

    turn_id: TurnId


class WithdrawNewestFromTty(Tagged, frozen=True, tag="newest_from_tty"):
    """The newest waiting prompt of a terminal."""

    tty: str


WithdrawTarget: TypeAlias = WithdrawTurn | WithdrawNewestFromTty


class WithdrawnPrompt(Wire, frozen=True):
    """A prompt taken back."""

    turn_id: TurnId
    seq: Seq  # of prompt_withdrawn
    text: str


class WithdrawnSteer(Wire, frozen=True):
    """A steer taken back."""

    seq: Seq  # of turn_steered
    text: str


class ResentSteers(Wire, frozen=True):
    """Unread steers that became a prompt."""

    turn_id: TurnId  # the new turn
    seq: Seq  # of its prompt_queued
    steers: tuple[Seq, ...]


class StopReason(StrEnum):
    """Why the model stopped. Open."""

    END_TURN = "end_turn"  # the model was done
    MAX_TOKENS = "max_tokens"  # the answer was cut
    REFUSAL = "refusal"  # the model refused
    CONTENT_FILTER = "content_filter"  # the provider cut the answer
    PAUSE_TURN = "pause_turn"  # the provider paused the answer
    UNKNOWN = "unknown"


class StopInfo(Wire, frozen=True):
    """Why a turn stopped, when that is not a normal answer."""

    reason: StopReason
    empty: bool = False  # the last model call gave neither text nor a tool call
