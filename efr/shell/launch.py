"""The program between the daemon and a hidden shell: it becomes the shell.

Run as a script by a bare interpreter, as leader of a new session whose controlling terminal is on
descriptors 0 to 2, with what to run on descriptor 3 and a pipe for a failure on 4. It does what a
spawn cannot: a child subreaper (so orphans of commands stay below the shell), the directory, plain
signals, closed descriptors. It imports nothing of efr. A fork in a daemon with threads could
deadlock in the child; a spawn and this program cannot.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys

_PLAN, _FAILURE = 3, 4
_PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
_UMASK = 0o022  # the daemon's own is tighter


def main() -> None:
    """Reads the plan and becomes the program; on failure writes why and exits 127."""
    with os.fdopen(_PLAN, "rb") as file:
        plan = json.load(file)
    try:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.umask(_UMASK)
        os.set_inheritable(_FAILURE, False)
        _close_the_rest()
        os.chdir(os.fsencode(plan["directory"]))
        environment = {os.fsencode(k): os.fsencode(v) for k, v in plan["environment"].items()}
        arguments = [os.fsencode(argument) for argument in plan["arguments"]]
        os.execve(os.fsencode(plan["program"]), arguments, environment)
    except OSError as exc:
        os.write(_FAILURE, str(exc.strerror or exc).encode())
    sys.exit(127)


def _close_the_rest() -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) > _FAILURE:
            with contextlib.suppress(OSError):  # the listing's own is among them
                os.close(int(name))


if __name__ == "__main__":
    main()
