"""The limits of a diff keep it below the largest frame."""

from __future__ import annotations

from efr.daemon.diffs import BYTES, LINES
from efr.snapshots.compare import CutText
from efr.wire import codec
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.framing import MAX_FRAME


def test_the_worst_diff_fits_into_a_frame() -> None:
    for sign in (b"\x01", b"\xff", b'"'):
        text = CutText(LINES, BYTES)
        text.add((sign * 199 + b"\n") * (BYTES // 200 + 9))
        files = tuple(
            t.FileChange(path="\x01" * 4096, kind=t.ChangeKind.ADDED, added=1, removed=0)
            for _ in range(50)
        )
        result = m.ConversationDiffResult(
            turn_id="01890a5d-ac96-774b-bcce-b302099a8058",
            changes=t.FileChanges(files=files),
            diff=text.text(),
        )
        assert len(codec.encode(result)) < MAX_FRAME
    assert text.text().endswith("\n... 9 more lines\n")
