"""A child of a test: deletes a conversation, and kills itself at a step.

argv: the home of the roots, the step, how often it is reached before the kill, and the
conversation when it is not the one of the samples.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from efr.base.clock import SystemClock
from efr.store.batch import Batch, NewEvent
from efr.store.deletes import open_delete
from efr.store.feed import Feed
from efr.threads.readers import ReaderPool
from efr.threads.writer import StoreWriter
from efr.wire import events as ev
from efr.wire import types as t
from tests.search.kill_child import KillAt
from tests.store.samples import CONVERSATION
from tests.store.test_deletes import finisher, roots_of


def main() -> None:
    roots = roots_of(Path(sys.argv[1]))
    kill = KillAt(sys.argv[2], int(sys.argv[3]))
    writer = StoreWriter(roots.database, SystemClock(), Feed(), lambda exc: os._exit(1))
    readers = ReaderPool(roots.database)
    writer.start()
    readers.start()
    conversation = [*sys.argv, CONVERSATION][4]
    event = NewEvent(conversation, ev.ConversationDeleted(t.Origin.CLI))
    writer.append(Batch((event,))).result()
    kill("tombstone")
    delete = readers.read(lambda conn: open_delete(conn, conversation))
    assert delete is not None
    finisher(roots, kill).finish(lambda job: writer.run(job).result(), delete)
    readers.stop()
    writer.stop()


if __name__ == "__main__":
    main()
