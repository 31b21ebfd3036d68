"""Where a session shows itself: a terminal, a pipe, or JSON lines.

A surface owns its streams. `blocks` takes what is final, `draw` brings the streams up to date.
"""

from __future__ import annotations

import json
from typing import Any, Protocol, TextIO

from efr.cli.render import inline, progress
from efr.cli.render.paint import Palette
from efr.cli.render.spans import Line, text_of
from efr.cli.view.live import Shown, live_rows, question_is_tall
from efr.cli.view.reply import RawWriter, Writer, markdown_writer
from efr.cli.view.screen import Screen
from efr.cli.view.scroll import Blocks, Kind, Scroll
from efr.wire import events as ev

PIPE_COLUMNS = 10**6  # nothing is wrapped where nobody knows a width


class Surface(Protocol):
    """What a session needs of its output."""

    ticks: bool  # whether something moves by itself
    drafts: bool  # whether drafts are worth asking for
    blocks: Blocks

    def follow(self, turn_id: str) -> None:
        """The turn whose items come from now on."""

    def get_ready(self) -> None:
        """Nothing is to be shown yet: time to load what the answer will need."""

    def writer(self) -> Writer:
        """For the text of the next message."""

    def columns(self) -> int:
        """The width to wrap to."""

    def event(self, item: Any) -> None:
        """An item of the subscription as plain JSON values, before anything reads it."""

    def draw(self, shown: Shown, now: float, tick: int) -> None:
        """Brings the output up to date."""

    def tick(self, shown: Shown, now: float, tick: int) -> None:
        """Only time passed."""

    def close(self) -> None:
        """Leaves nothing behind but what is final."""


class TerminalSurface:
    """The full view: committed rows above, the live zone below."""

    ticks = True
    drafts = True

    def __init__(self, screen: Screen, colors: Palette, *, tells_progress: bool = False) -> None:
        self._screen = screen
        self._progress = tells_progress
        self._scroll = Scroll()
        self.blocks: Blocks = self._scroll
        self._status_alone = False
        self._new_writer = markdown_writer(self.columns, quotes=not colors.colored)

    def follow(self, turn_id: str) -> None:
        """Every turn is drawn the same way."""

    def get_ready(self) -> None:
        inline.load()

    def writer(self) -> Writer:
        return self._new_writer()

    def columns(self) -> int:
        return self._screen.size.columns

    def event(self, item: Any) -> None:
        """Events are drawn, not printed."""

    def draw(self, shown: Shown, now: float, tick: int) -> None:
        size = self._screen.size
        if shown.view is not None and shown.can_answer and question_is_tall(shown.view, size):
            shown.view.commit_question()
        rows, cursor, self._status_alone = live_rows(shown, size, now, tick)
        self._screen.draw(self._scroll.take(), rows, cursor)

    def tick(self, shown: Shown, now: float, tick: int) -> None:
        self._tell_progress(shown)
        rows, cursor, alone = live_rows(shown, self._screen.size, now, tick)
        if alone and self._status_alone:
            self._screen.draw_last(rows[-1])
        else:
            self._status_alone = alone
            self._screen.draw([], rows, cursor)

    def close(self) -> None:
        self._screen.draw(self._scroll.take(), [])
        self._screen.erase()
        if self._progress:
            self._screen.tell(progress.code(progress.CLEAR))

    def _tell_progress(self, shown: Shown) -> None:
        view = shown.view
        if not self._progress or view is None:
            return
        state = progress.ASKS if view.question is not None else progress.RUNS
        if isinstance(view.end, ev.TurnFailed):
            state = progress.FAILED
        self._screen.tell(progress.code(state))


class PipeSurface:
    """Raw Markdown on `out`, everything else in plain text on `err`.

    `safe`: `out` is a terminal that cannot move its cursor, so nothing may drive it.
    """

    ticks = False
    drafts = False

    def __init__(self, out: TextIO, err: TextIO, *, safe: bool = False) -> None:
        self._out = out
        self._safe = safe
        self._err = err
        self._last: Kind | None = None
        self._replied = False
        self._continues = False  # the next rows go on with the message before them
        self.blocks: Blocks = self

    @property
    def last(self) -> Kind | None:
        return self._last

    def add(self, kind: Kind, rows: list[Line], *, glued: bool = False) -> None:
        """Prints a block at once. On `out` an empty line sets two messages apart."""
        if not rows:
            return
        stream = self._out if kind is Kind.REPLY else self._err
        if kind is Kind.REPLY:
            if self._replied and not self._continues:
                stream.write("\n")
            self._replied = True
        stream.write("".join(text_of(line) + "\n" for line in rows))
        stream.flush()
        self._last = kind
        self._continues = True

    def follow(self, turn_id: str) -> None:
        """Every turn is printed the same way."""

    def get_ready(self) -> None:
        """Raw text needs nothing."""

    def writer(self) -> Writer:
        self._continues = False
        return RawWriter(safe=self._safe)

    def columns(self) -> int:
        return PIPE_COLUMNS

    def event(self, item: Any) -> None:
        """Events are not printed."""

    def draw(self, shown: Shown, now: float, tick: int) -> None:
        """Blocks were printed when they came."""

    def tick(self, shown: Shown, now: float, tick: int) -> None:
        """Nothing moves in a pipe."""

    def close(self) -> None:
        """Nothing is left."""


class JsonSurface(PipeSurface):
    """The turn's events on `out`, one JSON object a line; notes alone on `err`."""

    def __init__(self, out: TextIO, err: TextIO, *, safe: bool = False) -> None:
        super().__init__(out, err, safe=safe)
        self._printed_seq = 0
        self._turn_id = ""

    def follow(self, turn_id: str) -> None:
        self._turn_id = turn_id

    def add(self, kind: Kind, rows: list[Line], *, glued: bool = False) -> None:
        if kind in {Kind.NOTE, Kind.QUESTION}:
            super().add(kind, rows, glued=glued)

    def event(self, item: Any) -> None:
        envelopes = item.get("events", [item]) if isinstance(item, dict) else []
        for envelope in envelopes:
            if self._is_new(envelope):
                shown = {name: value for name, value in envelope.items() if name != "kind"}
                text = json.dumps(shown, ensure_ascii=self._safe, separators=(",", ":"))
                self._out.write(text + "\n")
                self._out.flush()

    def _is_new(self, envelope: Any) -> bool:
        """Whether this is an event of ours that was not printed; a snapshot repeats some."""
        event = envelope.get("event") if isinstance(envelope, dict) else None
        if not isinstance(event, dict) or event.get("turn_id") != self._turn_id:
            return False
        seq = int(envelope["seq"])
        fresh = seq > self._printed_seq
        self._printed_seq = max(seq, self._printed_seq)
        return fresh
