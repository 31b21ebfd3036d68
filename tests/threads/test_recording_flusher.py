"""recording-flusher: who writes a recording waits for no disk, and nothing is forgotten."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from pathlib import Path

from efr.store.recorded import segment_starts
from efr.store.recordings import RecordingWriter
from efr.threads.recording_flusher import INBOX, RecordingFlusher
from tests.harness.clock import FakeClock
from tests.store.samples import PTY

LIMIT_S = 20.0


def not_expected(exc: BaseException) -> None:
    raise AssertionError from exc


class Rows:
    """Which segments were told as closed, and on which thread."""

    def __init__(self) -> None:
        self.closes: list[tuple[int, int]] = []
        self.threads: set[str] = set()

    def opened(self, pty_id: str, start_seq: int, at_us: int) -> None:
        pass

    def closed(self, pty_id: str, start_seq: int, size_bytes: int, at_us: int) -> None:
        self.closes.append((start_seq, size_bytes))
        self.threads.add(threading.current_thread().name)


def test_full_segments_are_closed_in_order_on_another_thread(tmp_path: Path) -> None:
    rows, flusher = Rows(), RecordingFlusher(not_expected)
    flusher.start()
    writer = RecordingWriter(tmp_path, PTY, FakeClock(), rows, flusher.flush)
    for _ in range(600):
        writer.append(b"z" * 32768)
    writer.close()
    flusher.stop()
    starts = segment_starts(tmp_path / PTY)
    ends = [*starts[1:], writer.size]
    assert rows.closes == [(a, b - a) for a, b in zip(starts, ends, strict=True)]
    assert rows.threads == {"recording-flusher"}


def test_a_full_inbox_and_a_stopped_thread_make_the_caller_flush(tmp_path: Path) -> None:
    flusher = RecordingFlusher(not_expected)
    entered, go = threading.Event(), threading.Event()

    def hold(_: OSError | None) -> None:
        entered.set()
        assert go.wait(LIMIT_S)

    def some_file(number: int) -> int:
        return os.open(tmp_path / str(number), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC)

    flusher.start()
    flusher.flush(some_file(0), hold)
    assert entered.wait(LIMIT_S)
    told: list[str] = []

    def tell(_: OSError | None) -> None:
        told.append(threading.current_thread().name)

    for number in range(1, INBOX + 2):
        flusher.flush(some_file(number), tell)
    here = threading.current_thread().name
    assert told == [here], "only the one that found no room"
    go.set()
    flusher.stop()
    assert told == [here, *["recording-flusher"] * INBOX]
    flusher.flush(some_file(99), tell)
    assert told[-1] == here
    flusher.stop()


def test_a_thread_that_breaks_is_told(tmp_path: Path) -> None:
    told: Future[BaseException] = Future()
    flusher = RecordingFlusher(told.set_result)

    def break_it(_: OSError | None) -> None:
        raise RuntimeError("broken")

    flusher.start()
    flusher.flush(os.open(tmp_path / "0", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC), break_it)
    assert str(told.result(LIMIT_S)) == "broken"
    flusher.stop()


def test_a_segment_that_does_not_get_to_the_disk_ends_the_recording(tmp_path: Path) -> None:
    rows = Rows()
    waiting = []
    writer = RecordingWriter(
        tmp_path, PTY, FakeClock(), rows, lambda handle, done: waiting.append((handle, done))
    )
    while not waiting:
        writer.append(b"z" * 32768)
    handle, done = waiting.pop()
    os.close(handle)
    done(OSError(5, "Input/output error"))
    broken = [writer.broken]
    while not broken[-1]:
        writer.append(b"z" * 32768)
        broken.append(writer.broken)
    assert broken.count(True) == 1
    assert len(broken) > 200, "at the end of the next segment"
    assert rows.closes == []
    for handle, _ in waiting:
        os.close(handle)
