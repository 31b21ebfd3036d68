"""The progress of the terminal's tab (OSC 9;4): which terminals know it, and the codes.

Pure. Known: Ghostty 1.2, kitty 0.47 and Windows Terminal; a multiplexer in between swallows it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

RUNS, ASKS, FAILED, CLEAR = "3;0", "4;100", "2;100", "0;0"
_LEAST = {"ghostty": (1, 2), "kitty": (0, 47)}
_NUMBERS = r"\d+"


def code(state: str) -> str:
    """The sequence for a state."""
    return f"\x1b]9;4;{state}\x1b\\"


def wanted(setting: str, env: Mapping[str, str]) -> bool:
    """Whether to send it: `render.progress`, and for `auto` what the terminal is."""
    if setting != "auto":
        return setting == "on"
    if in_multiplexer(env):
        return False
    if env.get("WT_SESSION"):
        return True
    least = _LEAST.get(env.get("TERM_PROGRAM", "").lower())
    numbers = re.findall(_NUMBERS, env.get("TERM_PROGRAM_VERSION", ""))
    return least is not None and tuple(int(number) for number in numbers[:2]) >= least


def in_multiplexer(env: Mapping[str, str]) -> bool:
    """Whether tmux, screen or zellij stands between efr and the terminal."""
    between = any(env.get(name) for name in ("TMUX", "STY", "ZELLIJ"))
    return between or env.get("TERM", "").startswith(("screen", "tmux"))
