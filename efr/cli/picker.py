"""The live picker: fzf below the command line, fed by efr itself.

fzf neither filters nor sorts: each change of the query runs `efr picker-rows`, and the preview runs
`efr picker-preview <id>`. Words never stand in an argument, which every user of the machine can
read: the first query goes to fzf inside FZF_DEFAULT_OPTS, and fzf gives the current one to its
commands in FZF_QUERY, since 0.46.0. Until 0.47.0 a reload gets an old one, so there a line of sh
writes the current one to a private file first. Ctrl+D ends fzf, so that the question stands on the
normal screen (fzf would run a command on the alternate one), and then fzf starts again with the
same query. Facts: fzf(1), CHANGELOG of fzf 0.46.0; tried with 0.46.0, 0.46.1, 0.54.0, 0.74.5.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple

import efr
from efr.base.ctrl_c import Raising
from efr.cli.asker import Asker
from efr.cli.deletion import Allowed, delete
from efr.cli.errors import DONE, INTERRUPTED, CommandError
from efr.cli.exits import explain
from efr.cli.printing import columns_of
from efr.cli.prompt import WHOLE_ID
from efr.cli.run import Run
from efr.client.connection import Connection
from efr.client.errors import Refused
from efr.wire import methods as m

OLDEST = (0, 46)  # sets FZF_QUERY
RELOADS_WELL = (0, 47)  # sets it for a reload too
QUERY_FILE = "EFR_PICKER_QUERY"  # the variable that names the file of older ones
VERSION_LIMIT_S = 1.0  # it prints and ends; a wrapper that hangs must not hang `,resume`
ASKER = "EFR_PICKER"  # what efr tells its own commands below fzf: a JSON object
WIDE_COLUMNS, PREVIEW_PERCENT = 100, 40  # from there on it stands on the right, so wide
ROWS, PREVIEW = "picker-rows", "picker-preview"  # hidden subcommands
_DELETE = "ctrl-d"
_ACCEPTED, _NO_MATCH, _CLOSED = 0, 1, 130  # exit codes of fzf
_VERSION = re.compile(r"(\d+)\.(\d+)")


class Fzf(NamedTuple):
    """A fzf that is new enough."""

    path: str
    version: tuple[int, ...]


class Picked(NamedTuple):
    """What was chosen; `code` is the exit code when it was nothing."""

    conversation_id: str | None
    code: int = INTERRUPTED


def program(env: Mapping[str, str]) -> Fzf | None:
    """The fzf on the PATH when it is new enough, else None. Blocks for a second at most."""
    path = shutil.which("fzf", path=env.get("PATH", ""))
    if path is None:
        return None
    try:
        told = subprocess.run(
            [path, "--version"],
            env=_plain(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=VERSION_LIMIT_S,
            check=True,
        ).stdout.decode("ascii", "replace")
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.match(told)
    version = tuple(map(int, match.groups())) if match else (0, 0)
    return Fzf(path, version) if version >= OLDEST else None


def pick(run: Run, connection: Connection, asker: Asker, fzf: Fzf, words: str) -> Picked:
    """Lets the user choose; blocks until fzf closes for good. Raises CommandError, OSError."""
    query = words
    while True:
        code, told = _run_fzf(run, asker, fzf, query)
        if code not in {_ACCEPTED, _NO_MATCH}:
            if code == _CLOSED:
                return Picked(None)
            raise CommandError(
                f"fzf ended with {code}", fix='[resume] picker = "list" turns it off'
            )
        query, key, chosen = told
        if key == _DELETE:
            if chosen:
                _delete(run, connection, chosen)
        elif chosen:
            return Picked(chosen, DONE)
        else:
            return Picked(None)


def _delete(run: Run, connection: Connection, conversation_id: str) -> None:
    """Asks and deletes; a refusal is one line, and the picker goes on."""
    try:
        delete(run, connection, conversation_id, _title(connection, conversation_id),
               Allowed(keep=False))  # fmt: skip
    except (CommandError, Refused) as error:
        known = explain(error)
        run.note(f"efr: {known.message if known else error}")


def _title(connection: Connection, conversation_id: str) -> str | None:
    found: m.ConversationSearchResult = connection.call(
        "conversation.search", conversation_id=conversation_id, query=""
    )
    return found.title


def _run_fzf(run: Run, asker: Asker, fzf: Fzf, query: str) -> tuple[int, tuple[str, str, str]]:
    """fzf's exit code; the query, the key and the chosen id that it printed."""
    env = environment(run.env, asker, query)
    with Raising(), NamedTemporaryFile("w", prefix="efr-query-") as file:  # mode 0600
        if fzf.version < RELOADS_WELL:
            file.write(query)
            file.flush()
            env[QUERY_FILE] = file.name
        done = subprocess.run(
            [fzf.path, *arguments(fzf)],
            env=env,
            stdin=subprocess.DEVNULL,  # keys come from /dev/tty, rows from `reload`
            stdout=subprocess.PIPE,
            check=False,
        )
    lines = [*done.stdout.decode("utf-8", "replace").split("\n"), "", "", ""]
    chosen = lines[2].partition("\t")[0]
    return done.returncode, (lines[0], lines[1], chosen if re.fullmatch(WHOLE_ID, chosen) else "")


def arguments(fzf: Fzf) -> list[str]:
    """fzf's arguments: paths and ids of efr alone, no word of a query."""
    rows, preview = own_command(ROWS), own_command(PREVIEW)
    note = f'+execute-silent(printf %s "$FZF_QUERY" >"${QUERY_FILE}")'  # a builtin: no process
    changed = f"first{note if fzf.version < RELOADS_WELL else ''}+reload({rows})"
    return [
        "--disabled",  # efrd filters and sorts
        "--ansi",
        "--height=40%",
        "--min-height=6",
        "--layout=reverse",
        "--info=inline",
        "--prompt=resume> ",
        "--delimiter=\t",
        "--with-nth=2..",  # the first field is the id
        "--header-lines=1",
        "--print-query",
        f"--expect={_DELETE}",
        f"--bind=start:reload({rows})",
        f"--bind=change:{changed}",
        f"--bind=resize:reload({rows})",
        "--bind=load:refresh-preview",
        "--bind=enter:accept-non-empty",
        f"--preview={preview} {{1}}",
        # The threshold is the preview's own width.
        f"--preview-window=right,{PREVIEW_PERCENT}%,wrap"
        f",<{WIDE_COLUMNS * PREVIEW_PERCENT // 100}(down,50%,wrap)",
    ]


def own_command(word: str) -> str:
    """A shell command that runs this efr."""
    script = Path(efr.__file__).parents[1] / "efr_cli.py"
    return shlex.join([sys.executable, str(script), word])


def environment(env: Mapping[str, str], asker: Asker, query: str) -> dict[str, str]:
    """What fzf and its commands get: the first query, and who asks."""
    line = " ".join(query.split())
    return {
        **_plain(env),
        "SHELL": "/bin/sh",  # runs the commands; the user's own would read its start-up files
        "FZF_DEFAULT_OPTS": f"--query={shlex.quote(line)}",
        ASKER: json.dumps({**asker.members, "columns": columns_of()}),
    }


def _plain(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without anything that the user set for fzf."""
    return {name: value for name, value in env.items() if not name.startswith("FZF_")}
