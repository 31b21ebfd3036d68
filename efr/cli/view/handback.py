"""Text that was typed and not sent goes back to the shell, in the file that the plugin named."""

from __future__ import annotations

import os


def hand_back(text: str, draft_file: str) -> bool:
    """Writes the draft (UTF-8, no final newline, mode 0600); False when there is no file for it."""
    if not os.path.isabs(draft_file):
        return False
    from pathlib import Path

    from efr.base.files import make_private_dir, write_atomic

    path = Path(draft_file)
    try:
        make_private_dir(path.parent)
        write_atomic(path, text.encode("utf-8", "replace"))
    except OSError:
        return False  # the caller shows the text instead
    return True
