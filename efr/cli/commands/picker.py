"""What the picker's fzf runs: the rows for a query, and the preview of one row.

Hidden subcommands. The query comes in FZF_QUERY (or in a file, see `efr.cli.picker`), the asking
terminal in EFR_PICKER. A fault is a row or a line that the picker shows, because nobody reads
stderr below it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from efr.base.roots import RootError
from efr.cli.dialog import open_connection
from efr.cli.errors import DONE, CommandError
from efr.cli.exits import explain
from efr.cli.listing import Listing, recent, search
from efr.cli.look import look
from efr.cli.picker import ASKER, PREVIEW_PERCENT, QUERY_FILE, WIDE_COLUMNS
from efr.cli.render.conversations import index_line, search_line, unnumbered
from efr.cli.render.paint import Palette, paint
from efr.cli.render.spans import MUTED, Line, row, text_of
from efr.cli.run import Run
from efr.cli.transcript import transcript
from efr.client.connection import Connection
from efr.client.errors import ClientError
from efr.wire import methods as m
from efr.wire import types as t

_MATCHES = 50  # rows of a query: more than anybody scrolls through
_HITS = 20
_NEWEST = 40  # events that a preview without a query shows the end of
FAULTS = (CommandError, RootError, ClientError)  # what `explain` has a sentence for
_HELP = "Enter continues it here · Ctrl+D deletes it · Esc closes"
_MARGIN = 4  # columns: fzf's pointer and mark before a row, its scrollbar behind it
_USUAL_COLUMNS = 80


def rows(run: Run) -> int:
    """Prints a header and one row for each conversation: its id, a tab, the columns."""
    colors = _colors(run)
    columns = _columns(run)
    beside = PREVIEW_PERCENT if columns >= WIDE_COLUMNS else 0
    room = columns * (100 - beside) // 100 - _MARGIN
    try:
        with _connect(run) as connection:
            listing = _listing(run, connection)
    except FAULTS as error:
        _print_row("", row(_message(error)), colors)
        return DONE
    head = [text_of(line) for line in index_line(listing.built)]
    if not listing.listed:
        head.append("nothing was found" if _query(run) else "there is no conversation yet")
    _print_row("", row(" · ".join([*head, _HELP]), MUTED), colors)
    lines = unnumbered(listing.listed, run.clock.now_us(), max(room, 20))
    for one, line in zip(listing.ids, lines, strict=True):
        _print_row(one, line, colors)
    return DONE


def preview(run: Run) -> int:
    """Prints the lines of one conversation that match, or its end without a query."""
    colors = _colors(run)
    conversation_id = str(run.args["<id>"])
    try:
        with _connect(run) as connection:
            query = _query(run)
            lines = _hits(connection, conversation_id, query) if query else []
            lines = lines or _end(connection, conversation_id)
    except FAULTS as error:
        lines = [row(_message(error))]
    sys.stdout.write("".join(paint(line, colors) + "\n" for line in lines))
    return DONE


def _listing(run: Run, connection: Connection) -> Listing:
    asker = _asker(run)
    query = _query(run)
    return search(connection, query, _MATCHES, asker) if query else recent(connection, asker)


def _hits(connection: Connection, conversation_id: str, query: str) -> list[Line]:
    found: m.ConversationSearchResult = connection.call(
        "conversation.search", conversation_id=conversation_id, query=query, limit=_HITS
    )
    return [
        line
        for hit in found.hits
        for line in [
            row(_KINDS.get(hit.kind, "match"), MUTED),
            *(search_line(one, None) for one in hit.lines),
        ]
    ]


_KINDS = {
    t.SearchKind.TITLE: "title",
    t.SearchKind.PROMPT: "prompt",
    t.SearchKind.ANSWER: "answer",
    t.SearchKind.COMMAND: "command",
}


def _end(connection: Connection, conversation_id: str) -> list[Line]:
    page: m.ConversationHistoryResult = connection.call(
        "conversation.history", conversation_id=conversation_id, limit=_NEWEST
    )
    return transcript(page.events)


def _connect(run: Run) -> Connection:
    return open_connection(run, tty=_asker(run).get("tty") or "")


def _asker(run: Run) -> dict[str, Any]:
    told = _told(run)
    return {name: told[name] for name in ("tty", "pwd") if told.get(name)}


def _told(run: Run) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(run.env.get(ASKER) or "{}")
    return told


def _query(run: Run) -> str:
    path = run.env.get(QUERY_FILE)
    text = Path(path).read_text("utf-8", "replace") if path else run.env.get("FZF_QUERY", "")
    return " ".join(text.split())


def _message(error: Exception) -> str:
    known = explain(error)
    if known is None:
        raise error
    return known.message


def _colors(run: Run) -> Palette:
    """As on the terminal that fzf draws on."""
    return look(run.env, terminal=True).colors


def _columns(run: Run) -> int:
    """fzf's width; at its start it does not tell one, so efr does."""
    told = run.env.get("FZF_COLUMNS", "")
    known = int(told) if told.isdecimal() else 0
    return known or _told(run).get("columns") or _USUAL_COLUMNS


def _print_row(conversation_id: str, line: Line, colors: Palette) -> None:
    sys.stdout.write(f"{conversation_id or '-'}\t{paint(line, colors)}\n")
