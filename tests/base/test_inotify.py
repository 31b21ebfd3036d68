"""inotify events: decoded from bytes, and of real directories."""

from __future__ import annotations

import os
import selectors
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from efr.base.inotify import Changed, Inotify, decode

LIMIT_S = 20.0


@pytest.fixture(name="inotify")
def _inotify() -> Iterator[Inotify]:
    inotify = Inotify()
    yield inotify
    inotify.close()


def wait(inotify: Inotify) -> list[Changed]:
    with selectors.DefaultSelector() as selector:
        selector.register(inotify, selectors.EVENT_READ)
        assert selector.select(LIMIT_S)
    return inotify.read()


def raw(watch: int, mask: int, name: bytes = b"") -> bytes:
    padded = name + b"\0" * (16 - len(name) % 16) if name else b""
    return struct.pack("iIII", watch, mask, 0, len(padded)) + padded


def test_events_are_decoded_with_their_names() -> None:
    data = raw(1, 0x8, b"config.toml") + raw(2, 0x400) + raw(-1, 0x4000) + raw(1, 0x80, b"\xff")
    assert decode(data) == [
        Changed(1, "config.toml", lost=False),
        Changed(2, "", lost=True),
        Changed(-1, "", lost=True),
        Changed(1, os.fsdecode(b"\xff"), lost=False),
    ]
    assert decode(b"") == []


def test_nothing_happened_is_an_empty_read(inotify: Inotify, tmp_path: Path) -> None:
    inotify.watch(str(tmp_path))
    assert inotify.read() == []


def test_names_in_a_directory_and_its_own_end_are_told(inotify: Inotify, tmp_path: Path) -> None:
    folder = tmp_path / "größe"
    folder.mkdir()
    watch = inotify.watch(str(folder))
    assert inotify.watch(str(folder)) == watch
    (folder / "a b").write_text("x")
    assert {(one.watch, one.name, one.lost) for one in wait(inotify)} == {(watch, "a b", False)}
    (folder / "a b").unlink()
    assert wait(inotify) == [Changed(watch, "a b", lost=False)]
    folder.rmdir()
    assert all(one.lost for one in wait(inotify))


def test_what_is_no_directory_cannot_be_watched(inotify: Inotify, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        inotify.watch(str(tmp_path / "file"))
    with pytest.raises(FileNotFoundError):
        inotify.watch(str(tmp_path / "gone"))
