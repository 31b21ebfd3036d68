"""Prompts that wait, steers that come late, and why a turn stopped (protocol: prompts)."""

from typing import TypeAlias

from efr.wire.scalars import Seq, Tagged, TurnId, Wire
from efr.wire.shared.places import RecentCommand, ShellContext
from efr.wire.shared.settings import TurnSettings


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
