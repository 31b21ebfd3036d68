"""`efr models`: the models that a prompt may name."""

from __future__ import annotations

from efr.cli.commands.status import catalog_text
from efr.cli.dialog import open_connection
from efr.cli.printing import print_json, print_lines, table
from efr.cli.render.spans import MUTED, Line, row
from efr.cli.run import Run
from efr.text.numbers import count_text
from efr.text.visible import visible_line
from efr.wire import methods as m
from efr.wire import types as t


def models(run: Run) -> int:
    """Prints one row for each model, or the ids alone."""
    with open_connection(run) as connection:
        if run.args.get("--json"):
            print_json(connection.call_json("models.list"))
            return 0
        found: m.ModelsListResult = connection.call("models.list")
    if run.args.get("--names"):
        for one in found.models:
            run.say(visible_line(one.id))
        return 0
    print_lines(run, _lines(found, run.clock.now_us()))
    return 0


def _lines(found: m.ModelsListResult, now_us: int) -> list[Line]:
    lines = table(
        [["*" if one.default else " ", one.id, _window(one), _efforts(one)] for one in found.models]
    )
    if found.catalog is not None:
        lines.append(row(catalog_text(found.catalog, now_us), MUTED))
    return lines


def _window(one: t.ModelInfo) -> str:
    if one.context_window is None:
        return "-"
    text = count_text(one.context_window)
    largest = one.max_context_window
    more = largest is not None and largest > one.context_window
    return f"{text} (up to {count_text(largest)})" if more and largest else text


def _efforts(one: t.ModelInfo) -> str:
    if not one.efforts:
        return "-"
    return " ".join(f"{name}*" if name == one.default_effort else name for name in one.efforts)
