"""One map from the rooms' errors to error codes of the protocol.

Rooms raise their own types with fields; the sentence that a person reads is made here. What is
not in the table is a fault of efrd: logged with its traceback and answered `internal`.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from typing import Any

from efr.agent.refusals import store_sentence
from efr.base.cancel import Cancelled
from efr.config.errors import AlreadyRegistered, ConfigError, FileChanged, NoSuchProject
from efr.store import errors as store
from efr.store.database_file import FULL_ERRNO
from efr.threads.conversations import WorkersStopped
from efr.threads.handlers import CANCELLED, INTERNAL
from efr.wire import types as t
from efr.wire.errors import BadValue, ErrorBody, Refusal

_log = logging.getLogger("efr.daemon")

_Sentence = Callable[[Any], str]
_Code = t.ErrorCode

_NO_DESCRIPTOR = {errno.EMFILE, errno.ENFILE}

# The first row that fits counts, so a subclass stands before its base.
_TABLE: tuple[tuple[type[BaseException], t.ErrorCode, _Sentence], ...] = (
    (BadValue, _Code.INVALID, str),
    (ConfigError, _Code.INVALID, str),
    (AlreadyRegistered, _Code.CONFLICT, str),
    (FileChanged, _Code.CONFLICT, lambda e: f"{e}; try again"),
    (NoSuchProject, _Code.NOT_FOUND, str),
    (store.NotPending, _Code.NOT_FOUND, lambda e: f"nothing waits for an answer at {e.call_id}"),
    (store.UnknownConversation, _Code.NOT_FOUND, lambda e: _no_conversation(e.conversation_id)),
    (store.DeletedConversation, _Code.NOT_FOUND, lambda e: _no_conversation(e.conversation_id)),
    (store.StoreBusy, _Code.BUSY, lambda e: "the database is busy; try again"),
    (store.StoreClosed, _Code.BUSY, lambda e: "efrd is stopping"),
    (store.StoreFull, _Code.INTERNAL, lambda e: f"the disk that holds {e.path} is full"),
    (store.StoreReadOnly, _Code.INTERNAL, lambda e: f"{e.path} cannot be written"),
    (store.StoreCorrupt, _Code.INTERNAL, store_sentence),
    (WorkersStopped, _Code.BUSY, lambda e: "efrd is stopping"),
)


_START: tuple[tuple[type[BaseException], _Sentence], ...] = (
    (
        store.StoreCorrupt,
        lambda e: (
            f"{e.path} is damaged or no database of efr's ({e.detail}); nothing was changed. "
            + (f"The newest backup is {e.backup}" if e.backup else "There is no backup")
        ),
    ),
    (
        store.StoreTooNew,
        lambda e: f"{e.path} was written by a newer efr (its {e.detail}); nothing was changed",
    ),
    (
        store.StoreNotWal,
        lambda e: (
            f"{e.path}: its file system cannot hold a write-ahead log ({e.detail}); put the "
            "data directory on a local one (EFR_DATA_DIR)"
        ),
    ),
    (store.StoreFull, lambda e: f"the disk that holds {e.path} is full; nothing was lost"),
    (
        store.BackupFailed,
        lambda e: f"{e.detail}; the database was not changed ({e.path})",
    ),
)


def start_line(exc: BaseException) -> str:
    """The one line that a start fails with."""
    if isinstance(exc, OSError) and exc.errno in FULL_ERRNO:
        return f"the disk that holds {exc.filename} is full"
    for kind, sentence in _START:
        if isinstance(exc, kind):
            return sentence(exc)
    return str(exc)


def error_body(method: str, exc: BaseException) -> ErrorBody:
    """The error body for an exception that a method raised."""
    if isinstance(exc, Refusal):
        return exc.body
    if isinstance(exc, Cancelled):
        return CANCELLED
    if isinstance(exc, OSError) and exc.errno in _NO_DESCRIPTOR:
        return ErrorBody(_Code.BUSY, "efrd has no file descriptor left; try again")
    for kind, code, sentence in _TABLE:
        if isinstance(exc, kind):
            if code is _Code.INTERNAL:
                _log.error("%s: %s", method, exc)
            return ErrorBody(code, sentence(exc))
    _log.error("%s broke", method, exc_info=exc)
    return INTERNAL


def _no_conversation(conversation_id: str) -> str:
    return f"there is no conversation {conversation_id}"
