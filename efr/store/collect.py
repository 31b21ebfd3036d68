"""Which recordings go, and how: rows first, in one transaction, then their files.

A recording is a resume buffer. Of shells that exited, segments closed longer ago than 30 days go.
When all recordings together are over their limit the oldest ones go, also of a shell that runs, but
for its newest ones: a command that floods its terminal must not fill the disk. A stop between the
commit and the last unlink leaves files without a row; the next pass removes them. When the whole
recording of a PTY goes, one row without a file stays at the offset after its last byte, so a read
can tell.

`scan` reads, `plan` decides and is pure, `drop_rows` is a job of the writer, `unlink` and
`unlink_unknown` touch the files and never follow a link.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from efr.store.db import Connection
from efr.store.recorded import SUFFIX

log = logging.getLogger("efr.store")

AGE_LIMIT_US: Final = 30 * 86_400 * 1_000_000  # a month: nobody attaches to an older shell
SIZE_LIMIT: Final = 2 << 30  # bytes of all recordings: a small part of any disk
RUNNING_KEPT: Final = (
    64 << 20
)  # of a shell that runs: more than a screen, a replay or a result needs


class Segment(Struct, frozen=True, gc=False):
    """A row of the index with what is known of its shell. `closed_at` is None while it grows.

    `exited`: the shell is gone. A PTY that no shell's row names counts as gone once its last
    segment is closed: its conversation was deleted, or its start could not be recorded.
    """

    pty_id: str
    start_seq: int
    path: str | None
    size_bytes: int
    started_at: int
    closed_at: int | None
    exited: bool


class Plan(Struct, frozen=True):
    """The segments that go; `ends` are those of them that leave the row of the end."""

    gone: tuple[Segment, ...] = ()
    ends: tuple[Segment, ...] = ()


SCAN: Final = """
SELECT segment.pty_id, segment.start_seq, segment.path, segment.bytes, segment.started_at,
    segment.closed_at, shells.pty_id IS NULL OR shells.exited_at IS NOT NULL
FROM recording_segments AS segment LEFT JOIN shells ON shells.pty_id = segment.pty_id
ORDER BY segment.pty_id, segment.start_seq
"""


def scan(conn: Connection) -> list[Segment]:
    """Every row, in the order of the primary key."""
    rows: Any = conn.execute(SCAN)
    return [
        Segment(pty_id, start_seq, path, size_bytes, started_at, closed_at, bool(exited))
        for pty_id, start_seq, path, size_bytes, started_at, closed_at, exited in rows
    ]


def plan(
    segments: Sequence[Segment],
    now_us: int,
    age_limit_us: int = AGE_LIMIT_US,
    size_limit: int = SIZE_LIMIT,
) -> Plan:
    """What goes now; of each PTY the first segments."""
    total = sum(one.size_bytes for one in segments)
    gone: set[tuple[str, int]] = set()
    kept: set[str] = set()  # PTYs of which no more goes: a later segment goes after the earlier
    for closed_at, one in sorted(_collectable(segments), key=lambda pair: pair[0]):
        too_old = one.exited and closed_at <= now_us - age_limit_us
        if one.pty_id not in kept and (too_old or total > size_limit):
            gone.add((one.pty_id, one.start_seq))
            total -= one.size_bytes
        else:
            kept.add(one.pty_id)
    chosen = tuple(one for one in segments if (one.pty_id, one.start_seq) in gone)
    last = {one.pty_id: one for one in segments}
    return Plan(chosen, tuple(one for one in chosen if last[one.pty_id] is one))


def _collectable(segments: Sequence[Segment]) -> Iterator[tuple[int, Segment]]:
    """The segments of the PTYs that nobody writes to any more, and the older ones of the others,
    with the time each was closed, or one before it: the wall clock may have gone back between
    them."""
    for _, group in groupby(segments, key=lambda one: one.pty_id):
        rows = [one for one in group if one.path is not None]
        if not all(one.exited for one in rows):
            rows = _older(rows)
        closed = [one.closed_at for one in rows if one.closed_at is not None]
        if len(closed) == len(rows):
            yield from zip(accumulate(closed, max), rows, strict=True)


def _older(rows: list[Segment]) -> list[Segment]:
    """Those before the newest ones, which stay while the shell runs."""
    kept = 0
    for at in range(len(rows) - 1, -1, -1):
        if kept >= RUNNING_KEPT:
            return rows[: at + 1]
        kept += rows[at].size_bytes
    return []


def drop_rows(conn: Connection, plan: Plan) -> None:
    """A writer job. Rows that went meanwhile (a delete) stay away."""
    ends = {(one.pty_id, one.start_seq) for one in plan.ends}
    conn.executemany(
        "DELETE FROM recording_segments WHERE pty_id = ? AND start_seq = ?",
        [
            (one.pty_id, one.start_seq)
            for one in plan.gone
            if (one.pty_id, one.start_seq) not in ends
        ],
    )
    conn.executemany(
        "UPDATE recording_segments SET start_seq = start_seq + bytes, path = NULL, bytes = 0"
        " WHERE pty_id = ? AND start_seq = ?",
        sorted(ends),
    )


def unlink(directory: Path, segments: Iterable[Segment]) -> int:
    """Removes the files of rows that are gone; says how many bytes of files went."""
    freed = 0
    for one in segments:
        if one.path is not None:
            freed += _unlink(directory / one.path)
            _remove_if_empty(directory / one.pty_id)
    return freed


def unlink_unknown(
    directory: Path, known: Sequence[Segment], exited: Collection[str], before_us: int
) -> int:
    """Removes segment files without a row; says how many went.

    Only of shells that exited, whose rows are all written by then, and of PTYs that nobody knows
    when the file was last written before that time: a shell that is about to start has files first.
    """
    paths = {one.path for one in known if one.path is not None}
    ptys = {one.pty_id for one in known}
    count = 0
    for folder in _folders(directory):
        name = folder.name
        for file in _files(folder):
            if f"{name}/{file.name}" in paths:
                continue
            if name in exited or (name not in ptys and _written_before(file, before_us)):
                count += _unlink(file) > 0
        _remove_if_empty(folder)
    return count


def exited_ptys(conn: Connection) -> set[str]:
    """The PTYs of shells that are gone, those of deleted conversations included."""
    rows = conn.execute(
        "SELECT pty_id FROM shells WHERE exited_at IS NOT NULL UNION SELECT pty.value"
        " FROM conversation_deletes, json_each(parts, '$.ptys') AS pty"
    )
    return {str(row[0]) for row in rows}


def _folders(directory: Path) -> list[Path]:
    try:
        with os.scandir(directory) as entries:
            return [Path(e.path) for e in entries if e.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _files(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return [
            Path(entry.path)
            for entry in entries
            if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False)
        ]


def _written_before(file: Path, before_us: int) -> bool:
    try:
        return file.lstat().st_mtime_ns // 1000 < before_us
    except FileNotFoundError:
        return False


def _unlink(file: Path) -> int:
    """Its size; 0 when it was not there, is no file, or cannot be removed (one line in the log)."""
    try:
        facts = file.lstat()
        if not stat.S_ISREG(facts.st_mode):
            return 0
        file.unlink()
    except FileNotFoundError:
        return 0
    except OSError as exc:
        log.warning("%s is left: %s", file, exc.strerror)
        return 0
    return max(1, facts.st_size)


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError as exc:
        if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
            log.warning("%s is left: %s", folder, exc.strerror)
