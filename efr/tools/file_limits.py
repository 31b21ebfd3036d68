"""How much of a diff is kept and shown. Constants alone."""

from __future__ import annotations

from typing import Final

DIFF_LINES: Final = 2000  # of a recorded diff; more is no diff a person reads
DIFF_BYTES: Final = 256 * 1024  # of one file
PREVIEW_LINES: Final = 200  # of a question about one file: some screens
PREVIEW_BYTES: Final = 16 * 1024
