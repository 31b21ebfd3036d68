"""What a running turn got from the model and the log does not have yet, and what is new of it.

Pure state without locks: `drafts.py` owns one `LiveTurn` per conversation and guards it. Text is
kept in the chunks it came in with a running count of UTF-8 bytes, so the next draft is a join of
the newest chunks and never a search in the whole answer. A listener's place is a `Sent`.
"""

from __future__ import annotations

from bisect import bisect_right

from msgspec import Struct, field

from efr.wire import types as t


class Track:
    """A text that only grows, in chunks; offsets count UTF-8 bytes."""

    __slots__ = ("_chunks", "_ends")

    def __init__(self) -> None:
        self._chunks: list[str] = []
        self._ends: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._chunks)

    @property
    def size_bytes(self) -> int:
        return self._ends[-1] if self._ends else 0

    @property
    def count(self) -> int:
        """How many chunks there are: the place of a reader that has all of it."""
        return len(self._chunks)

    @property
    def text(self) -> str:
        return "".join(self._chunks)

    def add(self, chunk: str) -> None:
        if chunk:
            self._ends.append(self.size_bytes + len(chunk.encode()))
            self._chunks.append(chunk)

    def since(self, place: int) -> tuple[int, str]:
        """Offset and text of what came after the first `place` chunks."""
        offset = self._ends[place - 1] if place else 0
        return offset, "".join(self._chunks[place:])

    def place_of(self, offset_utf8: int) -> int:
        """How many whole chunks end at or before that offset."""
        return bisect_right(self._ends, offset_utf8)


class Sent(Struct):
    """What one listener of the running turn has."""

    answer: int = 0  # the answer that `text` and `inputs` belong to
    text: int = 0  # chunks
    reasoning: int = 0  # chunks
    inputs: dict[int, int] = field(default_factory=dict)  # position of the call -> bytes
    context: t.ContextUse | None = None
    compacting: int = 0  # the compactions of the turn whose beginning it heard of
    compacted: int = 0  # those whose end it heard of, by the context after it


class _Input(Struct):
    tool: str
    size_bytes: int = 0


class LiveTurn:
    """The running turn as it is now. One caller at a time."""

    def __init__(self, turn_id: str, after_seq: int) -> None:
        self.turn_id = turn_id
        self.after_seq = after_seq
        self.calling = False  # a model call runs: a snapshot shows `live`
        self.context: t.ContextUse | None = None
        self._compacting: t.CompactionTrigger | None = None
        self._compactions = 0
        self._compacted = 0
        self._answer = 0
        self._index = 0
        self._text = Track()
        self._reasoning = Track()
        self._answer_reasoned = False
        self._title_line = ""
        self._title: str | None = None
        self._inputs: dict[int, _Input] = {}

    def begin_compaction(self, trigger: t.CompactionTrigger) -> None:
        """A compaction starts."""
        self._compacting = trigger
        self._compactions += 1

    def end_compaction(self) -> None:
        """It ended, whatever it gave: the next context is told even when it is the same."""
        self._compacting = None
        self._compacted = self._compactions

    def begin_answer(self, index: int) -> None:
        """A model call starts; its text, if it has any, will be message `index`."""
        self._answer += 1
        self._index = index
        self._text = Track()
        self._inputs = {}
        self._answer_reasoned = False
        self._title_line, self._title = "", None
        self.calling = True

    def end_answer(self) -> None:
        """The answer is whole: the log has its text from here on."""
        self._answer += 1
        self._text = Track()
        self._inputs = {}
        self.calling = False

    def add_text(self, delta: str) -> None:
        self._text.add(delta)

    def add_reasoning(self, delta: str) -> None:
        """The reasoning of several calls is one text with a blank line between them."""
        if delta and not self._answer_reasoned:
            self._answer_reasoned = True
            if self._reasoning:
                self._reasoning.add("\n\n")
        self._reasoning.add(delta)
        *whole, self._title_line = (self._title_line + delta).split("\n")
        for line in (*whole, self._title_line):
            self._title = _bold(line) or self._title

    def set_input(self, position: int, tool: str, size_bytes: int) -> None:
        """The call at `position` of this answer has so many bytes of input by now."""
        self._inputs[position] = _Input(tool, size_bytes)

    def snapshot(self) -> t.Live | None:
        """What a new client starts from; None when no model call runs."""
        if not self.calling:
            return None
        return t.Live(
            turn_id=self.turn_id,
            after_seq=self.after_seq,
            index=self._index,
            text=self._text.text,
            text_bytes=self._text.size_bytes,
            reasoning=self._reasoning.text or None,
            reasoning_title=self._title,
        )

    def sent_of(self, seen: t.Live) -> Sent:
        """The place of a listener that starts from this snapshot."""
        sent = Sent(answer=self._answer)
        if seen.turn_id != self.turn_id:
            return sent
        if self.calling and seen.index == self._index:
            sent.text = self._text.place_of(seen.text_bytes)
        sent.reasoning = self._reasoning.place_of(len((seen.reasoning or "").encode()))
        return sent

    def take(self, sent: Sent) -> list[t.Draft]:
        """The drafts that bring the listener up to now; moves its place."""
        if sent.answer != self._answer:
            sent.answer, sent.text, sent.inputs = self._answer, 0, {}
        parts: list[t.DraftPart] = []
        is_new = sent.context != self.context or sent.compacted != self._compacted
        if self.context is not None and is_new:
            sent.context, sent.compacted = self.context, self._compacted
            parts.append(
                t.DraftContext(
                    tokens=self.context.tokens,
                    limit=self.context.limit,
                    window=self.context.window,
                )
            )
        if self._compacting is not None and sent.compacting != self._compactions:
            sent.compacting = self._compactions
            parts.append(t.DraftCompacting(trigger=self._compacting))
        if sent.reasoning < self._reasoning.count:
            offset, delta = self._reasoning.since(sent.reasoning)
            sent.reasoning = self._reasoning.count
            parts.append(t.DraftReasoning(offset=offset, delta=delta, title=self._title))
        if sent.text < self._text.count:
            offset, delta = self._text.since(sent.text)
            sent.text = self._text.count
            parts.append(t.DraftText(index=self._index, offset=offset, delta=delta))
        for position, one in self._inputs.items():
            if sent.inputs.get(position) != one.size_bytes:
                sent.inputs[position] = one.size_bytes
                parts.append(t.DraftToolInput(call=position, tool=one.tool, bytes=one.size_bytes))
        return [t.Draft(turn_id=self.turn_id, after_seq=self.after_seq, draft=p) for p in parts]


def _bold(line: str) -> str | None:
    """The words of a line that is bold as a whole: a provider's title of its reasoning."""
    line = line.strip()
    inner = line[2:-2]
    if line.startswith("**") and line.endswith("**") and inner.strip() and "**" not in inner:
        return inner.strip()
    return None
