"""The numbered steps of the schema, and where their SQL lies.

Data, no connection. A shipped step is never edited: a change is a new file in `sql/`. The files
stand beside the package in a checkout and inside it (`efr/_sql`) in an installed wheel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple


class Step(NamedTuple):
    """One migration. `projections`: it changes one, so the log is projected anew afterwards."""

    number: int
    noun: str
    projections: bool

    @property
    def file_name(self) -> str:
        """Its file in `sql/`."""
        return f"{self.number:04d}_{self.noun}.sql"


STEPS: Final = (
    Step(1, "events", projections=False),
    Step(2, "conversations", projections=True),
    Step(3, "receipts_outbox", projections=False),
    Step(4, "shells_recordings", projections=True),
    Step(5, "turn_messages", projections=False),
    Step(6, "compactions", projections=True),
    Step(7, "jobs", projections=True),
    Step(8, "routes", projections=True),
    Step(9, "search", projections=False),
    Step(10, "deletes", projections=False),
    Step(11, "devices", projections=False),
    Step(12, "tombstones", projections=False),
)

NEWEST: Final = STEPS[-1].number


def sql_of(step: Step) -> str:
    """The SQL of one step."""
    return (_folder() / step.file_name).read_text(encoding="utf-8")


def _folder() -> Path:
    package = Path(__file__).resolve().parents[1]
    packed = package / "_sql"
    return packed if packed.is_dir() else package.parent / "sql"
