"""What a client hears when the store says no: by the name of the file, with what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from efr.agent.failures import body_of
from efr.agent.refusals import refusing
from efr.daemon.errors import error_body
from efr.store.errors import (
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFault,
    StoreFull,
    StoreReadOnly,
)
from efr.wire import codec
from efr.wire.errors import ErrorCode, Refusal

FILE = Path("/data/efr.sqlite")
DAMAGED = "is damaged; efrd's log says where, docs/operations.md what to do"


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (StoreCorrupt(FILE, "malformed", None), f"/data/efr.sqlite {DAMAGED}"),
        (StoreFull(FILE, "full"), "the disk is full, so nothing could be recorded"),
        (
            StoreFault(FILE, "disk I/O error"),
            "/data/efr.sqlite could not be read or written: disk I/O error",
        ),
        (StoreReadOnly(FILE, "x"), "/data/efr.sqlite could not be read or written: x"),
        (StoreClosed("gone"), "the database could not be read or written"),
        (
            StoreCorrupt(Path(os.fsdecode(b"/\xff/efr.sqlite")), "malformed", None),
            f"/\ufffd/efr.sqlite {DAMAGED}",
        ),
    ],
)
def test_a_fault_of_the_store_names_its_file(fault: StoreError, sentence: str) -> None:
    with pytest.raises(Refusal) as caught, refusing():
        raise fault
    body = caught.value.body
    assert (body.code, body.message) == (ErrorCode.INTERNAL, sentence)
    assert body_of(fault, "demo") == body
    codec.encode(body)


def test_a_method_that_reads_a_damaged_page_says_the_same() -> None:
    body = error_body("conversation.history", StoreCorrupt(FILE, "malformed", None))
    assert body.message == f"/data/efr.sqlite {DAMAGED}"
