"""Damage thrown at the readers and at a daemon: `python -m tests.wire.fuzz --count N --seed S`.

Only what the protocol documents may come out. Anything else is a find: it is told with the line
that shows it again, and the exit code is 1. `make fuzz` runs it (N=200000 S=1).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from efr.wire import fixtures
from efr.wire import frames as wire_frames
from efr.wire.codec import encode, from_builtins, pretty
from efr.wire.errors import BadFrame, BadValue, FrameTooLarge, TornFrame
from efr.wire.framing import FrameReader, pack
from efr.wire.table import METHODS
from tests.wire.damage import FRAMES, damaged_file, damaged_frame, damaged_request

STEP: Final = re.compile(r"\.(\w+)|\[(\d+)\]")
DAEMON_SHARE: Final = 20  # a frame to the daemon takes about so many times one to a reader


class Counts(NamedTuple):
    """What became of the damage."""

    total: int
    taken: int

    @property
    def refused(self) -> int:
        return self.total - self.taken


MADE: Final[dict[str, Callable[[int, int], Any]]] = {
    "files": damaged_file,
    "frames": damaged_frame,
    "daemon": damaged_request,
}

Check = Callable[[int, int], bool]  # number and seed; whether it was taken. Raises on a find


# --- the readers -----------------------------------------------------------------------------


def check_file(number: int, seed: int) -> bool:
    """A fixture: its second reading and writing change nothing."""
    name, body = damaged_file(number, seed)
    try:
        value = fixtures.read(name, body)
    except BadFrame:
        assert name.startswith("frames/")
        return False
    except BadValue as bad:
        return _refusal(bad, _loaded(body))
    written = pretty(value)
    again = fixtures.read(name, written)
    assert again == value
    assert pretty(again) == written
    return True


def check_frame(number: int, seed: int) -> bool:
    """A frame of either side, with what stands in it."""
    whole, body = damaged_frame(number, seed)
    reader: Callable[[bytes], Any] = (
        wire_frames.read_client_frame if whole.from_client else wire_frames.read_server_frame
    )
    try:
        frame = reader(body)
    except BadFrame as bad:
        return _frame_refusal(bad)
    assert reader(encode(frame)) == frame
    if isinstance(frame, wire_frames.Request) and frame.method in METHODS:
        return _check_value(frame.params, METHODS[frame.method].params)
    if isinstance(frame, wire_frames.ItemFrame) and whole.method:
        return _check_value(frame.item, METHODS[whole.method].result)
    return True


def _check_value(plain: Any, kind: Any) -> bool:
    before = json.dumps(plain)
    try:
        value = from_builtins(plain, kind)
    except BadValue as bad:
        return _refusal(bad, plain)
    finally:
        assert json.dumps(plain) == before, "the reader changed what it read"
    again = from_builtins(json.loads(encode(value)), kind)
    assert again == value
    assert encode(again) == encode(value)
    return True


def _refusal(bad: BadValue, plain: Any) -> bool:
    """Not taken, with a reason and a path that leads somewhere."""
    assert bad.why
    assert leads_into(plain, bad.where), f"{bad.where} leads nowhere"
    return False


def _frame_refusal(bad: BadFrame) -> bool:
    assert bad.why
    assert bad.id is None or 0 <= bad.id < 2**64
    return False


def check_stream(number: int, seed: int) -> bool:
    """Some frames on a byte stream, cut as they come: in one piece and in many."""
    random = Random((seed << 40) + number)
    stream = b"".join(pack(random.choice(FRAMES).body) for _ in range(random.randrange(1, 6)))
    broken = bytearray(stream)
    if random.random() < 0.5:
        broken[random.randrange(len(broken))] ^= 1 << random.randrange(8)
    if random.random() < 0.3:
        del broken[random.randrange(len(broken)) :]
    pieces: list[bytes] = []
    while broken:
        size = random.choice((1, 2, 3, 5, 100, len(broken)))
        pieces.append(bytes(broken[:size]))
        del broken[:size]
    whole, parts = _cut([b"".join(pieces)]), _cut(pieces)
    assert whole == parts
    return whole[1] == ""


def _cut(pieces: Iterable[bytes]) -> tuple[list[bytes], str]:
    reader = FrameReader()
    bodies: list[bytes] = []
    try:
        for piece in pieces:
            bodies += reader.feed(piece)
        reader.eof()
    except FrameTooLarge as exc:
        return bodies + exc.frames, str(exc)
    except TornFrame as exc:
        return bodies, str(exc)
    return bodies, ""


def leads_into(value: Any, where: str) -> bool:
    """Whether each step of the path but the last is there."""
    steps = STEP.findall(where)
    if "$" + "".join(f".{key}" if key else f"[{index}]" for key, index in steps) != where:
        return False
    for key, index in steps[:-1]:
        if key and not (isinstance(value, dict) and key in value):
            return False
        if index and not (isinstance(value, list) and int(index) < len(value)):
            return False
        value = value[key or int(index)]
    return True


def _loaded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


# --- runs ------------------------------------------------------------------------------------


def files(numbers: Iterable[int], seed: int) -> Counts:
    """Fixtures at their readers. Raises AssertionError, which tells how to see a find again."""
    return _run("files", check_file, numbers, seed)


def frames(numbers: Iterable[int], seed: int) -> Counts:
    """Frames at their readers. Raises as `files`."""
    return _run("frames", check_frame, numbers, seed)


def streams(numbers: Iterable[int], seed: int) -> Counts:
    """Byte streams at the frame reader. Raises as `files`."""
    return _run("streams", check_stream, numbers, seed)


def daemon(numbers: Iterable[int], seed: int) -> Counts:
    """Frames at a real daemon on throwaway roots. Raises as `files`."""
    from tests.wire.fuzz_daemon import Target

    with tempfile.TemporaryDirectory() as folder, Target(Path(folder)) as target:
        counts = _run("daemon", target.check, numbers, seed)
        target.assert_well()
    return counts


def _run(what: str, check: Check, numbers: Iterable[int], seed: int) -> Counts:
    total = taken = 0
    for number in numbers:
        total += 1
        try:
            taken += check(number, seed)
        except Exception as exc:
            raise AssertionError(told(what, number, seed)) from exc
    return Counts(total, taken)


def find(what: str, check: Check, number: int, *, seed: int) -> str:
    """What a find of that check looks like; empty when there is none."""
    try:
        _run(what, check, [number], seed)
    except AssertionError:
        return traceback.format_exc()
    return ""


def told(what: str, number: int, seed: int) -> str:
    """A find, and the line that shows it again."""
    made = MADE.get(what)
    shown = f"\n{made(number, seed)!r}"[:2000] if made else ""
    return f"seed {seed}: python -m tests.wire.fuzz --seed {seed} --only {number} {what}{shown}"


RUNS: Final[dict[str, Callable[[Iterable[int], int], Counts]]] = {
    "files": files,
    "frames": frames,
    "streams": streams,
    "daemon": daemon,
}


def main(argv: list[str] | None = None) -> int:
    """Runs what was asked for; 1 with a find."""
    parser = argparse.ArgumentParser(prog="python -m tests.wire.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=200_000, help="frames for the readers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="one number alone")
    parser.add_argument("what", nargs="*", help=f"of {', '.join(RUNS)}; all without")
    asked = parser.parse_args(argv)
    for what in asked.what or RUNS:
        count = max(1, asked.count // DAEMON_SHARE) if what == "daemon" else asked.count
        numbers = range(count) if asked.only is None else [asked.only]
        try:
            counts = RUNS[what](numbers, asked.seed)
        except AssertionError:
            traceback.print_exc()
            return 1
        print(
            f"{what}: seed {asked.seed}, {counts.total} damaged,"
            f" {counts.taken} taken, {counts.refused} refused, no find"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
