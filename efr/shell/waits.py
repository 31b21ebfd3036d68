"""What a running command waits for: decided from what a look saw, and told once per change.

`decide` is pure. The tracker belongs to whoever holds the shell's lock. Rules:
docs/hidden-shell.md, "Waits for input".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from efr.shell.contract import InputState
from efr.shell.limits import Limits
from efr.shell.terminal import Modes

NOTHING: Final = InputState()

_SECRET: Final = re.compile(
    r"\b(?:password|passphrase|passcode|verification code|one-time code|one time code)|\bpin\b"
)
Row = tuple[str, int]  # the cursor's row, and the column in it


def decide(
    modes: Modes | None,
    quiet_s: float,
    alternate: bool,
    row: Callable[[], Row],
    limits: Limits,
) -> InputState:
    """What a program that is not the shell waits for. `row` is asked for only when it matters."""
    if modes is None or alternate:
        return NOTHING
    if modes.canonical and not modes.echo:
        if quiet_s < limits.hidden_quiet_s:
            return NOTHING
        return InputState("hidden", False, _prompt(row()[0], limits))
    if quiet_s < limits.visible_quiet_s:
        return NOTHING
    text, column = row()
    if not text[:column].strip():
        return NOTHING
    secret = not modes.canonical and _SECRET.search(text.lower()) is not None
    return InputState("visible", secret, _prompt(text, limits))


def _prompt(text: str, limits: Limits) -> str | None:
    return text.strip()[: limits.prompt_chars] or None


class InputTracker:
    """What was last reported, and for which group. `group` is that of the last look."""

    def __init__(self, hidden_only: bool) -> None:
        self.reported = NOTHING
        self.group: int | None = None
        self.look_now = False  # an answer was typed: the next look says that nothing waits
        self._hidden_only = hidden_only  # the call types into a shell: an answer would run there

    def look(self, group: int | None, shell: int, now: Callable[[], InputState]) -> bool:
        """Takes a look; says whether something new is to be reported."""
        changed_hands = group != self.group and self.reported != NOTHING
        self.group = group
        if self.look_now or changed_hands or group is None or group == shell:
            state = NOTHING
        else:
            state = now()
        self.look_now = False
        if self._hidden_only and state.wait == "visible":
            state = NOTHING
        if (state.wait, state.looks_secret) == (self.reported.wait, self.reported.looks_secret):
            return False
        self.reported = state
        return True
