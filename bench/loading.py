"""What programs spend on loading: processor time of fresh interpreters, beside a bare one.

Processor time and not the clock, the best of many runs in turn: so other work on the machine
counts little and against all of them alike. The interpreters are as in an installed efr: with
compiled modules, with garbage collected as the programs do, and without `typing_extensions`, which
msgspec loads (with `inspect`) where another package has brought it; what that costs is a row of
its own.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.table import Row

ROOT = Path(__file__).parents[1]
RUNS = 20
FEW_COLLECTIONS = "import gc; gc.set_threshold(100_000)\n"  # as efr_cli.py does, and efrd.py
AS_INSTALLED = f"{FEW_COLLECTIONS}import sys; sys.modules['typing_extensions'] = None\n"
AT_THE_END = "\ngc.freeze()"

# What `efr send` loads of the wire, each line with those above it.
WIRE = (
    ("msgspec", "import msgspec"),
    ("the frames and the method table", "import efr.wire.frames, efr.wire.table"),
    (
        "the types that a sent prompt needs",
        "from efr.wire import methods as m; m.PromptSendParams; m.PromptSendResult\n"
        "m.ConversationSubscribeParams; m.ConversationSubscribeItem",
    ),
)
# What happens between Enter and the first row, each line with those above it. The prompt is out
# before any of the wire is loaded, and what the command has by then need not be loaded again.
UNTIL_SENT = "import efr_cli, efr.cli.run, efr.cli.commands.send"
SEND = (
    ("until the prompt is out", UNTIL_SENT),
    ("the wire, of which the user waits", "\n".join(code for _, code in WIRE)),
    ("efr.client", "import efr.client.connection"),
    ("the view of a turn", "import efr.cli.view.start"),
    ("markdown-it, while the model thinks", "from efr.cli.render import inline; inline.load()"),
)


def rows() -> Iterator[Row]:
    """Rows as they are measured."""
    yield from _added("wire", WIRE)
    yield from _alone()
    yield from _added("efr send", SEND)
    yield from _added("efrd", (("every module until it is ready", "import efr.daemon.main"),))


def _added(subject: str, parts: Sequence[tuple[str, str]]) -> Iterator[Row]:
    """What each part costs on top of those before it, and all of them together."""
    codes = [AS_INSTALLED]
    for _, code in parts:
        codes.append(f"{codes[-1]}\n{code}")
    bare, *times = spent(codes)
    before = bare
    for (name, _), took in zip(parts, times, strict=True):
        so_far = f"so far {ms(took - bare)} over a bare interpreter, {ms(bare)}"
        yield Row(f"{subject}: {name}", ms(took - before), so_far, took / bare)
        before = took


def _alone() -> Iterator[Row]:
    """What a command does not load: the daemon's reader, and what test programs bring."""
    bare, with_msgspec, both, extended = spent(
        [
            AS_INSTALLED,
            AS_INSTALLED + "import msgspec",
            AS_INSTALLED + "import msgspec, orjson",
            FEW_COLLECTIONS + "import msgspec",
        ]
    )
    yard = f"of a bare interpreter, {ms(bare)}"
    yield Row("  orjson on top of msgspec: efrd alone", ms(both - with_msgspec), yard, both / bare)
    name = "  typing_extensions, where it is installed"
    yield Row(name, ms(extended - with_msgspec), yard, extended / bare)


def spent(codes: Sequence[str]) -> list[float]:
    """Seconds of processor time of an interpreter for each code, the best of RUNS."""
    env = environment(os.environ)
    taken = [[_once(code + AT_THE_END, env) for code in codes] for _ in range(RUNS + 1)]
    return [min(times) for times in zip(*taken[1:], strict=True)]


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment, with this checkout, whose modules stay compiled after their first run."""
    kept = {name: value for name, value in env.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(ROOT)}


def _once(code: str, env: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ms(seconds: float) -> str:
    """Milliseconds in words."""
    return f"{seconds * 1000:.1f} ms"
