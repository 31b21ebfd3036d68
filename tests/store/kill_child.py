"""A child of a test that is going to be killed: appends, and tells each answer on stdout.

Three threads append batches of two events with a receipt; a line `<command id> <number>` is
written for each answer, after it came.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from efr.base.clock import SystemClock
from efr.base.ids import SystemIds
from efr.store.errors import ConversationExists
from efr.store.feed import Feed
from efr.threads.writer import StoreWriter
from efr.wire import events as ev
from efr.wire import types as t
from tests.store.samples import a_receipt, batch, created, said


def main() -> None:
    clock = SystemClock()
    ids = SystemIds(clock)
    writer = StoreWriter(Path(sys.argv[1]), clock, Feed(), lambda exc: os._exit(1))
    writer.start()
    error = writer.append(created()).exception()
    assert error is None or isinstance(error, ConversationExists)

    def work() -> None:
        while True:
            turn, command = ids.new(), ids.new()
            prompt = ev.PromptQueued(
                turn_id=turn, command_id=command, text="do it", origin=t.Origin.CLI
            )
            reply = writer.append(batch(prompt, said(turn=turn), receipt=a_receipt(command)))
            os.write(1, f"{command} {reply.result().receipt_seq}\n".encode())

    for _ in range(3):
        threading.Thread(target=work).start()


if __name__ == "__main__":
    main()
