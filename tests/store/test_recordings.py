"""Recordings: every byte at its offset, torn tails cut, holes told."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.store.chunks import CHUNK_LIMIT, HEADER_SIZE, OUTPUT, SIZE, Chunks, Fault, header
from efr.store.recorded import Output, Resized, read_range, segment_path, segment_starts
from efr.store.recording_index import StoredSegments, close_open_segments, recorded_end
from efr.store.recordings import SEGMENT_LIMIT, RecordingWriter
from efr.threads.writer import StoreWriter
from tests.harness.clock import FakeClock
from tests.store.samples import PTY, new_database, opened
from tests.threads.test_writer import writing

NOW = 1_791_028_800_000_000


def a_writer(directory: Path) -> RecordingWriter:
    return RecordingWriter(directory, PTY, FakeClock())


def test_the_file_is_as_the_format_says(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.resize(80, 24)
    assert writer.append(b"hello") == 0
    assert writer.append(b"!") == 5
    writer.close()

    path = tmp_path / PTY / "0.rec"
    assert path.read_bytes() == (
        struct.pack("<3sBIqHH", b"efr", 2, 4, NOW, 80, 24)
        + struct.pack("<3sBIq", b"efr", 1, 5, NOW)
        + b"hello"
        + struct.pack("<3sBIq", b"efr", 1, 1, NOW)
        + b"!"
    )
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert HEADER_SIZE == 16


def test_a_range_is_cut_to_the_byte_and_has_the_sizes_at_their_places(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.resize(80, 24)
    writer.append(b"abc")
    writer.resize(100, 30)
    writer.append(b"def")

    assert writer.read(1, 5) == b"bcde"
    assert writer.read_range(0, 6).pieces == (
        Resized(0, 80, 24),
        Output(0, b"abc"),
        Resized(3, 100, 30),
        Output(3, b"def"),
    )
    assert writer.read_range(3, 5).pieces == (Resized(3, 100, 30), Output(3, b"de"))
    assert writer.read(6, 6) == b""
    assert writer.read(2, 99) == b"cdef"
    writer.close()


def test_a_large_output_is_cut_into_chunks(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    data = Random(1).randbytes(3 * CHUNK_LIMIT + 5)
    writer.append(data)
    chunks = list(Chunks((tmp_path / PTY / "0.rec").read_bytes()))
    assert [c.end - c.begin for c in chunks] == [CHUNK_LIMIT] * 3 + [5]
    assert writer.read(0, len(data)) == data
    writer.close()


def test_segments_rotate_and_are_read_as_one_stream(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    block = bytes(range(256)) * 128  # 32 KiB
    for _ in range(600):
        writer.append(block)
    starts = segment_starts(tmp_path / PTY)

    assert len(starts) == 3
    assert all(
        segment_path(tmp_path / PTY, start).stat().st_size <= SEGMENT_LIMIT for start in starts
    )
    cut = starts[1]
    assert writer.read(cut - 3, cut + 3) == (block * 2)[(cut - 3) % 32768 :][:6]
    assert writer.read(0, writer.size) == block * 600
    writer.close()


def test_a_short_read_reads_no_whole_segment(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.resize(80, 24)
    for number in range(200):
        writer.append(bytes([number]) * 32768)
    writer.resize(90, 25)
    path = tmp_path / PTY / "0.rec"
    begun = path.read_bytes()[: 1 << 20]
    path.write_bytes(begun)  # what is behind it is not asked for
    assert writer.read(40_000, 40_004) == b"\1\1\1\1"
    assert read_range(tmp_path / PTY, 40_000, 40_004).data == b"\1\1\1\1"
    assert len(read_range(tmp_path / PTY, 0, writer.size).data) == 31 * 32768
    writer.close()


def test_a_size_at_the_end_of_a_range_belongs_to_it(tmp_path: Path) -> None:
    """Also when a block that is read ends right there."""
    writer = a_writer(tmp_path)
    block = (256 << 10) // 4 - HEADER_SIZE
    for _ in range(4):
        writer.append(b"z" * block)
    writer.resize(90, 25)
    writer.append(b"more")
    assert writer.read_range(0, 4 * block).pieces[-1] == Resized(4 * block, 90, 25)
    writer.close()


def test_sizes_alone_never_rotate(tmp_path: Path) -> None:
    path = tmp_path / PTY / "0.rec"
    path.parent.mkdir()
    size = header(SIZE, 4, NOW) + struct.pack("<HH", 80, 24)
    path.write_bytes(size * (SEGMENT_LIMIT // len(size)))
    writer = a_writer(tmp_path)
    for _ in range(10):
        writer.resize(90, 25)
    assert segment_starts(tmp_path / PTY) == [0]
    writer.append(b"x")
    writer.append(b"y")
    assert segment_starts(tmp_path / PTY) == [0, 1]
    assert writer.read(1, 2) == b"y"
    assert path.read_bytes().endswith(b"x")
    writer.close()


@pytest.mark.parametrize("rest", [b"e", header(OUTPUT, 5, 0), header(OUTPUT, 5, 0) + b"1234"])
@pytest.mark.parametrize("zeros", [0, 5000])
def test_a_torn_tail_is_not_read_and_is_cut_before_more_comes(
    tmp_path: Path, rest: bytes, zeros: int
) -> None:
    if zeros:
        rest = bytes(zeros)
    writer = a_writer(tmp_path)
    writer.append(b"whole")
    writer.close()
    path = tmp_path / PTY / "0.rec"
    with path.open("ab") as file:
        file.write(rest)

    assert read_range(tmp_path / PTY, 0, 10).data == b"whole"
    again = a_writer(tmp_path)
    assert again.size == 5
    assert again.append(b" more") == 5
    assert again.read(0, 10) == b"whole more"
    again.close()
    assert path.stat().st_size == 2 * HEADER_SIZE + 10


@given(cut=st.integers(0, 200), seed=st.integers(0, 1000))
@settings(deadline=None)
def test_cut_anywhere_a_recording_goes_on_with_what_is_whole(
    cut: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tmp_path = tmp_path_factory.mktemp("recordings")
    random = Random(seed)
    writer = a_writer(tmp_path)
    pieces = [random.randbytes(random.randint(1, 20)) for _ in range(5)]
    for piece in pieces:
        writer.append(piece)
    writer.close()
    path = tmp_path / PTY / "0.rec"
    path.write_bytes(path.read_bytes()[:cut])

    again = a_writer(tmp_path)
    whole = b""
    at = 0
    for piece in pieces:
        at += HEADER_SIZE + len(piece)
        whole += piece if at <= cut else b""
    assert again.size == len(whole)
    assert again.append(b"next") == len(whole)
    assert again.read(0, again.size) == whole + b"next"
    again.close()


def test_a_damaged_place_ends_its_segment_and_the_hole_is_told(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    for text in (b"one", b"two", b"three"):
        writer.append(text)
    writer.close()
    path = tmp_path / PTY / "0.rec"
    data = bytearray(path.read_bytes())
    data[HEADER_SIZE + 3 + 3] = 9  # the kind of the second chunk
    path.write_bytes(data)

    walk = Chunks(bytes(data))
    assert len(list(walk)) == 1
    assert walk.fault is Fault.CORRUPT
    again = a_writer(tmp_path)
    offset = again.append(b"later")
    found = again.read_range(0, again.size)

    assert offset >= 3 + 3 + 5  # behind everything that may have been there
    assert found.data == b"onelater"
    assert found.missing == ((3, offset),)
    assert found.pieces[-1] == Output(offset, b"later")
    assert bytes(data) == path.read_bytes()
    again.close()


def test_a_collected_beginning_gives_a_later_start(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    for _ in range(300):
        writer.append(b"z" * 32768)
    first, second = segment_starts(tmp_path / PTY)
    segment_path(tmp_path / PTY, first).unlink()
    found = writer.read_range(10, writer.size)
    assert (found.start, found.missing) == (second, ())
    assert len(found.data) == writer.size - second
    writer.close()


def test_a_recording_that_went_whole_has_nothing(tmp_path: Path) -> None:
    found = read_range(tmp_path / PTY, 5, 20)
    assert (found.start, found.end, found.data, found.missing) == (20, 20, b"", ())


@given(
    sizes=st.lists(st.integers(1, 70_000), min_size=1, max_size=12),
    bounds=st.tuples(st.integers(0, 400_000), st.integers(0, 400_000)),
)
@settings(max_examples=60, deadline=None)
def test_any_range_is_the_slice_of_what_was_appended(
    sizes: list[int], bounds: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    tmp_path = tmp_path_factory.mktemp("recordings")
    random = Random(len(sizes))
    writer = a_writer(tmp_path)
    whole = b""
    for size in sizes:
        data = random.randbytes(size)
        writer.append(data)
        whole += data
        if size % 3 == 0:
            writer.resize(size % 200 + 1, 24)
    start, end = sorted(bounds)
    assert writer.read(start, end) == whole[start:end]
    assert read_range(tmp_path / PTY, start, min(end, len(whole))).data == whole[start:end]
    writer.close()


def test_a_directory_that_cannot_be_made_breaks_the_recording_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / PTY).write_text("a file in the way")
    writer = a_writer(tmp_path)
    assert [writer.append(b"abc"), writer.append(b"def")] == [0, 3]
    writer.resize(80, 24)
    assert writer.broken
    assert writer.size == 6
    assert len(caplog.records) == 1
    writer.close()


def rows(writer: StoreWriter) -> list[tuple[object, ...]]:
    job = writer.run(
        lambda conn: conn.execute(
            "SELECT pty_id, start_seq, path, bytes, closed_at IS NULL FROM recording_segments"
        ).fetchall()
    )
    return list(job.result(20))


def test_segments_have_rows_and_a_close_comes_after_the_bytes(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        writer = RecordingWriter(tmp_path, PTY, FakeClock(), StoredSegments(store))
        for _ in range(300):
            writer.append(b"z" * 32768)
        second = segment_starts(tmp_path / PTY)[1]
        assert rows(store) == [
            (PTY, 0, f"{PTY}/0.rec", second, 0),
            (PTY, second, f"{PTY}/{second}.rec", 0, 1),
        ]
        writer.close()
        assert rows(store)[1] == (PTY, second, f"{PTY}/{second}.rec", 300 * 32768 - second, 0)
        assert store.run(lambda conn: recorded_end(conn, PTY)).result(20) == 300 * 32768


def test_a_start_closes_what_the_last_daemon_left_open(tmp_path: Path) -> None:
    path = new_database(tmp_path)
    writer = a_writer(tmp_path)
    writer.append(b"hello")
    insert = "INSERT INTO recording_segments VALUES (?, ?, ?, 0, 1, NULL)"
    with opened(path) as conn:
        conn.execute(insert, (PTY, 0, f"{PTY}/0.rec"))
        conn.execute(insert, (PTY, 777, f"{PTY}/777.rec"))  # its file is gone
        close_open_segments(conn, tmp_path, 42)
        found = conn.execute("SELECT start_seq, bytes, closed_at FROM recording_segments")
        assert found.fetchall() == [(0, 5, 42)]
    writer.close()


def test_a_row_that_cannot_be_written_costs_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with writing(tmp_path) as store:
        pass
    writer = RecordingWriter(tmp_path, PTY, FakeClock(), StoredSegments(store))
    writer.append(b"x")
    assert writer.read(0, 1) == b"x"
    assert "row was not written" in caplog.text
    writer.close()
