"""Ctrl+C (SIGINT) of a program of ours: it ends the process at once, or raises for a while.

Python's own handler raises KeyboardInterrupt wherever the program stands. In the middle of an
import that is a traceback on the terminal, and a crash where a C extension does not look for the
exception: orjson's start does not. So both programs begin with the kernel's own action, and
raise only where something has to be put back first. Main thread.

`_signal` is the part of `signal` that the interpreter has loaded. The rest is enums, whose loading
takes as long as a third of the interpreter's start, and a Ctrl+C in it would print a traceback.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]

TYPE_CHECKING = False  # as `typing` has it, which would be loaded for it
if TYPE_CHECKING:
    from types import TracebackType


def end_at_once() -> None:
    """From here on Ctrl+C ends the process. One that the parent ignores stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


class Raising:
    """Inside the `with`, Ctrl+C raises KeyboardInterrupt. One that is ignored stays ignored."""

    def __enter__(self) -> None:
        self._old = signal.getsignal(signal.SIGINT)
        if self._old is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._old)
