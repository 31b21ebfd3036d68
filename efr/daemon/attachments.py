"""`pty.attach`: what a hidden shell's terminal shows and printed, and then what it prints.

An attachment starts with a replay from the recording, or with a snapshot of the screen and what
was recorded after it. Registration comes before the read of the recording, and both meet at one
offset, so nothing is lost and nothing comes twice. At most 64 steps and about 1 MiB wait for a
slow client; small steps join. One that finds no room ends the stream with `overflow` after what
was queued, and the client attaches again from there. The terminal never waits for a client.

What is live comes from pty-reader; `next_item` and `close` from the transport's thread. One short
lock guards an attachment; wake-ups happen outside it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from efr.shell.contract import Size
from efr.shell.errors import PtyClosed
from efr.store import recorded
from efr.store.recording_index import read_recorded, recorded_end
from efr.threads.requests import Finished
from efr.wire import codec
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import ErrorBody, Refusal, refuse

if TYPE_CHECKING:  # loaded with the first shell
    from efr.shell.process import ShellProcess

STEPS: Final = 64  # that wait for one client (docs/protocol.md, "Size limits")
WAITING: Final = 1 << 20  # bytes in them: more is sooner seen as a screen than drawn
GAP: Final = 1 << 20  # bytes of a replay; above, a snapshot is cheaper for both sides
AT_ONCE: Final = 4 << 20  # bytes of an exited shell that one stream holds in memory
USUAL_ROWS, MOST_ROWS = 200, 5000  # above the screen, in a snapshot
_JOINED: Final = 64 << 10  # bytes of output in one step, when small pieces join

T = TypeVar("T")


class _Output(NamedTuple):
    offset: int
    data: bytearray  # of the last step in the queue it grows


class _Resized(NamedTuple):
    offset: int
    size: Size


class _Shown(NamedTuple):
    offset: int
    snapshot: t.ScreenSnapshot


_Step = _Output | _Resized | _Shown


class Shell(Protocol):
    """A hidden shell whose terminal can be followed."""

    @property
    def terminal(self) -> ShellProcess | None: ...


class Attachment:
    """The stream of one request, and a tap of its terminal."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # "attachment"
        self._wake: Callable[[], None] = _nothing
        self._let_go: list[Callable[[], None]] = []
        self._starts: deque[_Step] = deque()
        self._steps: deque[_Step] = deque()  # live, at most STEPS
        self._waiting = 0  # bytes in them
        self._sent = 0  # the offset behind what the client was given
        self._behind = False  # something live found the queue full, or the start is too long
        self._more_at = 0
        self._over = False  # nothing comes after what is queued

    def set_ready(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def next_item(self) -> bytes | Finished | None:
        with self._lock:
            step = self._next_step()
            if step is None and self._behind:
                return Finished(_overflow(max(self._sent, self._more_at)))
            if step is None:
                return Finished() if self._over else None
            self._sent = _end_of(step)
        return _encoded(step)

    def _next_step(self) -> _Step | None:
        if self._starts:
            return self._starts.popleft()
        if not self._steps:
            return None
        step = self._steps.popleft()
        if isinstance(step, _Output):
            self._waiting -= len(step.data)
        return step

    def close(self) -> None:
        let_go, self._let_go = self._let_go, []
        for leave in let_go:
            leave()

    def on_close(self, leave: Callable[[], None]) -> None:
        """Calls `leave` when the stream ends. Before the transport has it."""
        self._let_go.append(leave)

    def begin(self, start: int, steps: Iterable[_Step], *, more_at: int | None = None) -> None:
        """What comes before the live part, from `start` on. With `more_at` it is not all: the
        client has to come again with that offset."""
        with self._lock:
            self._sent = start
            self._starts.extend(steps)
            self._behind = self._behind or more_at is not None
            self._more_at = more_at or 0

    # On pty-reader.

    def printed(self, offset: int, data: bytes) -> None:
        with self._lock:
            last = self._steps[-1] if self._steps else None
            if self._behind:
                return
            if isinstance(last, _Output) and len(last.data) + len(data) <= _JOINED:
                last.data.extend(data)
                self._waiting += len(data)
            else:
                self._add(_Output(offset, bytearray(data)))
        self._wake()

    def resized(self, offset: int, size: Size) -> None:
        with self._lock:
            if self._behind:
                return
            if self._steps and isinstance(self._steps[-1], _Resized):
                self._steps.pop()  # a corner that is dragged: the last one counts
            self._add(_Resized(offset, size))
        self._wake()

    def over(self) -> None:
        with self._lock:
            self._over = True
        self._wake()

    def _add(self, step: _Step) -> None:
        if len(self._steps) >= STEPS or self._waiting >= WAITING:
            self._behind = True
            return
        self._steps.append(step)
        if isinstance(step, _Output):
            self._waiting += len(step.data)


class Attachments:
    """Opens attachments. Any handler thread; blocks on recordings and screens."""

    def __init__(
        self,
        find: Callable[[str], Shell | None],
        read: Callable[[Callable[[Any], T]], T],
        directory: Path,
    ) -> None:
        self._find = find
        self._read: Callable[[Callable[[Any], Any]], Any] = read  # in a read of the store
        self._directory = directory  # of the recordings

    def open(self, params: m.PtyAttachParams) -> Attachment:
        """A stream with its start. Raises Refusal."""
        shell = self._find(params.pty_id)
        terminal = shell.terminal if shell is not None else None
        if terminal is None:
            return self._exited(params)
        try:
            return _replayed(terminal, params) or _shown(terminal, params)
        except PtyClosed:
            return self._exited(params)

    def _exited(self, params: m.PtyAttachParams) -> Attachment:
        """What is left of a shell that is gone, after the offset that the client has."""
        pty_id, since = params.pty_id, params.since_seq
        if since is None:
            raise no_terminal(pty_id)
        kept, end = self._read(lambda conn: self._recorded(conn, pty_id, since))
        steps = list(_pieces(kept.pieces))
        is_full = any(_end_of(step) == kept.end for step in steps)  # the index may be late
        attachment = Attachment()
        attachment.begin(since, steps, more_at=kept.end if is_full or kept.end < end else None)
        attachment.over()
        return attachment

    def _recorded(self, conn: Any, pty_id: str, since: int) -> tuple[recorded.RecordedRange, int]:
        """The next bytes, and where the recording ends as far as its index knows."""
        end = recorded_end(conn, pty_id)
        if end is None:
            raise no_terminal(pty_id)
        return read_recorded(conn, self._directory, pty_id, since, since + AT_ONCE), end


def no_terminal(pty_id: str) -> Refusal:
    """The refusal for a terminal that is not there (any more)."""
    return refuse(t.ErrorCode.NOT_FOUND, f"no hidden shell has the terminal {pty_id}")


def _replayed(terminal: ShellProcess, params: m.PtyAttachParams) -> Attachment | None:
    """What came after the client's offset, when it is all there and not too much. Raises
    PtyClosed."""
    since = params.since_seq
    if since is None:
        return None
    attachment, start = _tapped(terminal)
    steps = _recording(terminal, since, start) if since <= start <= since + GAP else None
    if steps is None:
        attachment.close()
        return None
    attachment.begin(since, steps)
    return attachment


def _shown(terminal: ShellProcess, params: m.PtyAttachParams) -> Attachment:
    """The screen, and what was printed while it was drawn. Raises PtyClosed."""
    asked = USUAL_ROWS if params.scrollback_rows is None else params.scrollback_rows
    offset, snapshot = terminal.snapshot(min(asked, MOST_ROWS))
    attachment, start = _tapped(terminal)
    shown = _Shown(offset, snapshot)
    if start > offset + GAP:  # the client comes again for it, and maybe gets a newer screen
        attachment.begin(offset, (shown,), more_at=offset)
        return attachment
    size = Size(snapshot.size.cols, snapshot.size.rows)
    later = _recording(terminal, offset, start) or ()  # the bytes may be gone: the disk is full
    attachment.begin(offset, (shown, *(one for one in later if one != _Resized(offset, size))))
    return attachment


def _tapped(terminal: ShellProcess) -> tuple[Attachment, int]:
    """A fresh attachment, and the offset from which on it hears what is printed."""
    attachment = Attachment()
    start = terminal.tap(attachment)
    attachment.on_close(lambda: terminal.untap(attachment))
    return attachment, start


def _recording(terminal: ShellProcess, start: int, end: int) -> list[_Step] | None:
    """The output and the sizes between two offsets; None when some bytes are gone."""
    data = terminal.read(start, end)
    if len(data) < end - start:
        return None
    return list(_cut(start, data, terminal.sizes(start, end)))


def _cut(start: int, data: bytes, sizes: Sequence[tuple[int, Size]]) -> Iterator[_Step]:
    """The output in pieces, the sizes at their places."""
    at, end = start, start + len(data)
    for offset, size in (*sizes, (end, None)):
        while at < offset:
            piece = data[at - start : min(offset, at + _JOINED) - start]
            yield _Output(at, bytearray(piece))
            at += len(piece)
        if size is not None:
            yield _Resized(offset, size)


def _pieces(pieces: Iterable[recorded.Piece]) -> Iterator[_Step]:
    for piece in pieces:
        if isinstance(piece, recorded.Output):
            yield _Output(piece.offset, bytearray(piece.data))
        else:
            yield _Resized(piece.offset, Size(piece.cols, piece.rows))


def _end_of(step: _Step) -> int:
    return step.offset + (len(step.data) if isinstance(step, _Output) else 0)


def _encoded(step: _Step) -> bytes:
    match step:
        case _Output(offset, data):
            return codec.encode(m.PtyOutput(seq=offset, data=bytes(data)))
        case _Resized(offset, size):
            return codec.encode(m.PtyResized(seq=offset, size=t.Size(size.columns, size.rows)))
        case _Shown(offset, snapshot):
            return codec.encode(m.PtySnapshot(seq=offset, snapshot=snapshot))


def _overflow(last_seq: int) -> ErrorBody:
    return ErrorBody(
        t.ErrorCode.OVERFLOW,
        "this client fell behind; attach again after last_seq",
        {"last_seq": last_seq},
    )


def _nothing() -> None:
    """Before the transport took the stream: the first pull looks anyway."""
