"""One line for a person: a notice before the prompt, a last line of a list.

Pure. Where notices are kept and shown is the agent's and the plugin's business.
"""

from __future__ import annotations

from typing import Final

from efr.text.cut import cut_end
from efr.text.visible import visible_line

NOTICE_LIMIT: Final = 200  # characters; about two rows of a terminal


def one_line(text: str, limit: int = NOTICE_LIMIT) -> str:
    """At most `limit` characters on one line without a control or format character."""
    return cut_end(visible_line(text), limit)
