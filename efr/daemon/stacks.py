"""Where every thread is, by name: what SIGUSR1 writes to the log, and what a stuck stop leaves.

Made with the interpreter lock held. A dump from inside the signal handler (faulthandler's own)
reads the frames of running threads and can take the process down with it.
"""

from __future__ import annotations

import sys
import threading
import traceback


def stacks() -> str:
    """The stacks of all threads, each under its thread's name."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():
        lines = "".join(traceback.format_stack(frame))
        parts.append(f"thread {names.get(ident, ident)} (most recent call last):\n{lines}")
    return "\n".join(parts)
