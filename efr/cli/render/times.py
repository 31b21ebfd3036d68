"""Times of the status row and of the end line. Pure."""

from __future__ import annotations


def clock_text(elapsed_s: float) -> str:
    """`12s`, `1m 05s`, `1h 02m 05s`."""
    minutes, seconds = divmod(max(int(elapsed_s), 0), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02}m {seconds:02}s"
    return f"{minutes}m {seconds:02}s" if minutes else f"{seconds}s"


def took_text(elapsed_s: float) -> str:
    """How long a turn took: with tenths below 10 s."""
    return f"{max(elapsed_s, 0):.1f}s" if elapsed_s < 9.95 else clock_text(elapsed_s)
