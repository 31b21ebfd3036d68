"""A prompt on a warm daemon with an instant model: from Enter to rows on the terminal.

The yardstick is a bare `python -c pass`: what any Python command costs before its first line.
"""

from __future__ import annotations

import fcntl
import os
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

from bench.live import running
from bench.table import Row, median
from efr.client import connect
from efr.wire import methods as m

RUNS = 15
FIRST_WORDS = b"This is"  # of the built-in model's first line
SEEN = ("the first row", "the first text of the answer", "the end")


def rows() -> Iterator[Row]:
    """Rows as they are measured."""
    bare = median(lambda: timed([sys.executable, "-c", "pass"]), RUNS)
    with running() as env:
        yard = f"of a bare python -c pass, {bare * 1000:.1f} ms"
        sent = [send(env) for _ in range(RUNS + 1)][1:]
        for name, times in zip(SEEN, zip(*sent, strict=True), strict=True):
            middle = statistics.median(times)
            yield Row(f"efr send: Enter to {name}", ms(middle), yard, middle / bare)
        yield from parts(env, bare)


def parts(env: dict[str, str], bare: float) -> Iterator[Row]:
    """Where the time goes on the daemon's side, over one open connection."""
    yard = "of a bare python -c pass"
    with connect(env) as efr:
        answers, drafts = [], []
        for _ in range(RUNS):
            begin = time.perf_counter()
            sent = efr.call("prompt.send", text="hello", new_conversation=True)
            answers.append(time.perf_counter() - begin)
            with efr.stream(
                "conversation.subscribe",
                conversation_id=sent.conversation_id,
                after_seq=sent.seq,
                drafts=True,
            ) as stream:
                for item in stream:
                    if isinstance(item, m.SubscribeDraft) or is_text(item):
                        drafts.append(time.perf_counter() - begin)
                        break
        answer, draft = sorted(answers)[RUNS // 2], sorted(drafts)[RUNS // 2]
        yield Row("  of it: prompt.send to its result", ms(answer), yard, answer / bare)
        yield Row("  of it: prompt.send to the first draft", ms(draft), yard, draft / bare)


def is_text(item: object) -> bool:
    """Whether an item brings text of the answer."""
    event = getattr(item, "event", None)
    return type(event).__name__ in ("AssistantMessageUpdated", "AssistantMessageCompleted")


def send(env: dict[str, str]) -> tuple[float, float, float]:
    """Seconds to the first row on a terminal, to the answer's first text, and to the end."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    begin = time.perf_counter()
    process = subprocess.Popen(
        ["efr", "new"],
        env={**env, "EFR_PROMPT": "hello", "TERM": "xterm-256color"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    seen, row, first = b"", 0.0, 0.0
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # the program has closed its side
            break
        seen += data
        row = row or time.perf_counter() - begin
        if not first and FIRST_WORDS in seen:
            first = time.perf_counter() - begin
    process.wait()
    end = time.perf_counter() - begin
    os.close(master)
    return row, first, end


def timed(argv: list[str]) -> float:
    """Seconds of one run."""
    begin = time.perf_counter()
    subprocess.run(argv, check=True)
    return time.perf_counter() - begin


def ms(seconds: float) -> str:
    """Milliseconds in words."""
    return f"{seconds * 1000:.1f} ms"
