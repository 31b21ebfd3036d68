"""The title of a conversation: the first words of its first prompt.

Pure. A title is set once; hiding secrets in it is `efr.text.redact`, done where it is shown.
"""

from __future__ import annotations

from typing import Final

from efr.text.cut import cut_end

TITLE_LIMIT: Final = 80  # one row of a list beside its other columns


def title_of(prompt: str) -> str:
    """The first line with text, trimmed, at most 80 characters; "" when there is none."""
    lines = (line.strip() for line in prompt.splitlines())
    return cut_end(next((line for line in lines if line), ""), TITLE_LIMIT)
