"""`efr search`: the conversations that hold the words, best first, each with its best line."""

from __future__ import annotations

from efr.cli.asker import asker_of
from efr.cli.errors import DONE, UsageError
from efr.cli.exits import is_older
from efr.cli.handover import Handover
from efr.cli.listing import search as search_listing
from efr.cli.printing import columns_of, print_json, print_lines
from efr.cli.prompt import clean
from efr.cli.render.conversations import found, index_line
from efr.cli.render.spans import MUTED, row
from efr.cli.run import Run
from efr.client.errors import Refused
from efr.text.visible import visible_line
from efr.wire import types as t

_ROWS = 10
_MOST = 200  # the daemon's limit
_ENDING = "efr resume <id> continues one here"
_PARTIAL = {
    t.SearchPartial.ROW_CAP: "the search read as much as it may; more words find more",
    t.SearchPartial.TIME_CAP: "the search took too long and stopped; more words find more",
}


def search(run: Run) -> int:
    """Prints the matches. Raises UsageError for a query or a limit that is too large."""
    limit = _limit(run)
    words = clean(" ".join(run.args["<words>"]))
    asker = asker_of(run, Handover())
    with asker.connect(run) as connection:
        try:
            if run.args.get("--json"):
                members = {"query": words, "limit": limit, **asker.members}
                print_json(connection.call_json("conversations.search", **members))
                return DONE
            listing = search_listing(connection, words, limit, asker.members)
        except Refused as refused:
            if refused.code != "invalid" or not refused.method or is_older(refused):
                raise
            raise UsageError(visible_line(refused.message)) from refused
    end = index_line(listing.built)
    if listing.partial is not None:
        end.append(row(_PARTIAL.get(listing.partial, "the search stopped early"), MUTED))
    if not listing.listed:
        print_lines(run, end)
        run.note("nothing was found")
        return DONE
    lines = found(listing.listed, run.clock.now_us(), columns_of())
    print_lines(run, [*lines, *end, row(_ENDING, MUTED)])
    return DONE


def _limit(run: Run) -> int:
    text = run.args.get("--limit")
    if text is None:
        return _ROWS
    if not text.isdecimal() or not 1 <= int(text) <= _MOST:
        raise UsageError(f"--limit takes 1 to {_MOST}")
    return int(text)
