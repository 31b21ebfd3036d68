"""`efr send` and `efr new`: a prompt out as early as possible, then the view of its turn.

What is imported here is loaded before the first frame goes out, so it is little; everything else
loads while the model is thinking. `bench/cli.py` measures it.
"""

from __future__ import annotations

import re
import signal

from efr.cli import dial, handover, prompt
from efr.cli.run import Run, directory, is_terminal, terminal_name
from efr.cli.view.keymode import KeyMode
from efr.cli.view.signals import HANDLED

_SEND_HINT = "efr send <prompt>"
_NEW_HINT = "efr new <prompt>; a bare ,new starts one with the next , line"


def send(run: Run) -> int:
    """Sends the prompt and follows its turn; with `--steer` only adds to the running turn."""
    if run.args.get("--steer"):
        from efr.cli.commands.steer import steer

        return steer(run)
    return _send(run, new=False)


def new(run: Run) -> int:
    """Sends the prompt into a new conversation."""
    return _send(run, new=True)


def _send(run: Run, *, new: bool) -> int:
    given = handover.take(run.env)
    place = prompt.Place(directory(run.env), terminal_name())
    asked = prompt.asked(run.args, given, place, hint=_NEW_HINT if new else _SEND_HINT)
    conversation_id = _conversation(run)
    params = asked.params(run.ids.new(), conversation_id=conversation_id, new=new)
    link, path = dial.reach(run.env)
    keys = KeyMode(0) if is_terminal(0) else None
    with link:
        # Signals wait until the view can act on them: the prompt may run by then.
        signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
        try:
            if keys is not None and not keys.set():
                keys = None  # a job in the background: its terminal belongs to another
            hello = dial.hello_params(asked.origin, asked.tty)
            dialled = dial.send_first(link, path, hello, "prompt.send", params)
            from efr.cli.view.start import follow

            return follow(run, dialled, keys, draft_file=given.draft_file)
        finally:
            if keys is not None:
                keys.restore()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)


def _conversation(run: Run) -> str:
    """The whole id of `--conversation`, "" without one. A start of an id is looked up."""
    wanted = str(run.args.get("--conversation") or "")
    if not wanted or re.fullmatch(prompt.WHOLE_ID, wanted):
        return wanted
    from efr.cli.conversations import resolve
    from efr.client import connect

    with connect(run.env) as connection:
        return resolve(connection, wanted).id
