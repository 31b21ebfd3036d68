"""What the store can say no with: refusals of a batch, and faults of the database.

No error of apsw leaves this room; `efr.store.db.translated` turns them into these.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from efr.store.batch import Receipt


class StoreError(Exception):
    """Base of everything the store raises on purpose."""


# Refusals: the batch broke a rule and wrote nothing.


class DuplicateReceipt(StoreError):
    """The command id has an answer already; `receipt` is that answer."""

    def __init__(self, receipt: Receipt) -> None:
        super().__init__(receipt.command_id)
        self.receipt = receipt


class NotPending(StoreError):
    """An answer to a question that is not open; `call_id` is the question's id."""

    def __init__(self, call_id: str) -> None:
        super().__init__(call_id)
        self.call_id = call_id


class UnknownConversation(StoreError):
    """An event of a conversation that was never created."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(conversation_id)
        self.conversation_id = conversation_id


class DeletedConversation(StoreError):
    """An event of a conversation that was deleted."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(conversation_id)
        self.conversation_id = conversation_id


class ConversationExists(StoreError):
    """A second conversation_created of one conversation."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(conversation_id)
        self.conversation_id = conversation_id


class NotClaimed(StoreError):
    """An outbox row was marked done that nobody claimed."""

    def __init__(self, outbox_id: int) -> None:
        super().__init__(outbox_id)
        self.outbox_id = outbox_id


class StoreClosed(StoreError):
    """The thread that would do it has stopped, or stopped before it came to this."""


# Faults: the database or the disk below it.


class StoreFault(StoreError):
    """SQLite failed. `path` is the database, `detail` what SQLite said."""

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail


class StoreBusy(StoreFault):
    """Another process held the write lock for longer than the busy timeout."""


class StoreFull(StoreFault):
    """No space left on the disk, or the quota is used up."""


class StoreReadOnly(StoreFault):
    """The file or its file system cannot be written."""


class StoreCannotOpen(StoreFault):
    """The file is no readable file, or its directory is missing."""


class StoreCorrupt(StoreFault):
    """The file is damaged or no database. `backup` is the newest copy from before a migration."""

    def __init__(self, path: Path, detail: str, backup: Path | None) -> None:
        super().__init__(path, detail)
        self.backup = backup


class StoreTooNew(StoreFault):
    """The database was written by a newer build. It was not touched."""

    def __init__(self, path: Path, version: int, newest: int) -> None:
        super().__init__(path, f"schema {version}, this build knows {newest}")
        self.version = version
        self.newest = newest


class StoreNotWal(StoreFault):
    """The file system cannot hold a write-ahead log; `mode` is what SQLite fell back to."""

    def __init__(self, path: Path, mode: str) -> None:
        super().__init__(path, f"journal mode is {mode!r}, not 'wal'")
        self.mode = mode


class StoreLacks(StoreFault):
    """This SQLite was built without something that the store needs."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(path, f"SQLite has no {what}")
        self.what = what


class BackupFailed(StoreFault):
    """The copy before a migration could not be made; `path` is the copy's name."""
