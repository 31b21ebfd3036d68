"""`efr shell`: what holds a conversation's hidden shell, stopping that, closing the shell."""

from __future__ import annotations

from efr.cli.conversations import here, named_or_here, resolve
from efr.cli.dialog import open_connection
from efr.cli.errors import DONE, CommandError
from efr.cli.printing import print_json, print_lines
from efr.cli.render.left import asks_text, facts_text, line_text
from efr.cli.render.spans import CODE, MUTED, WARNING, row
from efr.cli.run import Run, terminal_name
from efr.client.connection import Connection
from efr.text.numbers import duration_text
from efr.wire import methods as m
from efr.wire import types as t

_WAYS = "efr attach shows it, efr shell stop stops it, efr shell close closes the shell"


def shell(run: Run) -> int:
    """One of the three, for the conversation here or a named one."""
    with open_connection(run) as connection:
        for word, change in (("stop", _stop), ("close", _close)):
            if run.args.get(word):
                named = named_or_here(run, connection, terminal_name(), f"shell {word}")
                return change(run, connection, named)
        wanted = run.args.get("<id>") or run.args.get("--conversation")
        if wanted:
            return _status(run, connection, resolve(connection, wanted).id)
        return _status(run, connection, here(run, connection, terminal_name()).id)


def _status(run: Run, connection: Connection, conversation_id: str) -> int:
    if run.args.get("--json"):
        print_json(connection.call_json("shell.status", conversation_id=conversation_id))
        return DONE
    busy = _busy(connection, conversation_id)
    if busy is None:
        run.say("nothing runs in the hidden shell")
        return DONE
    running_s = (run.clock.now_us() - t.time_to_us(busy.since)) / 1_000_000
    lines = [row(line_text(busy.command), CODE)]
    lines.append(row(f"for {duration_text(running_s)}, {facts_text(busy)}", MUTED))
    if asks := asks_text(busy.input, busy.prompt, looks_secret=busy.looks_secret):
        lines.append(row(asks, WARNING))
    print_lines(run, [*lines, row(_WAYS, MUTED)])
    return DONE


def _stop(run: Run, connection: Connection, conversation_id: str) -> int:
    busy = _busy(connection, conversation_id)
    if busy is None:
        raise CommandError("nothing runs in the hidden shell")
    connection.call("shell.interrupt", conversation_id=conversation_id, call_id=busy.call_id)
    run.note(f"stopping: {line_text(busy.command)}")
    return DONE


def _close(run: Run, connection: Connection, conversation_id: str) -> int:
    busy = _busy(connection, conversation_id)
    # A shell that is free closes for any call; a fresh id never means a command that starts now.
    call_id = busy.call_id if busy is not None else run.ids.new()
    connection.call("shell.interrupt", conversation_id=conversation_id, call_id=call_id, close=True)
    run.note("closing the hidden shell")
    return DONE


def _busy(connection: Connection, conversation_id: str) -> t.ShellBusy | None:
    found: m.ShellStatusResult = connection.call("shell.status", conversation_id=conversation_id)
    return found.busy
