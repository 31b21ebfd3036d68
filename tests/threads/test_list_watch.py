"""The thread that reads what changed in the list."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping

from efr.threads.list_watch import ListWatch

LIMIT_S = 20.0


def test_what_comes_while_it_looks_is_looked_at_together() -> None:
    looked: queue.Queue[dict[str, int]] = queue.Queue()
    go = threading.Event()

    def look(touched: Mapping[str, int]) -> None:
        looked.put(dict(touched))
        assert go.wait(LIMIT_S)

    thread = ListWatch(look)
    thread.start()
    thread.touch({"a": 1})
    assert looked.get(timeout=LIMIT_S) == {"a": 1}
    thread.touch({"a": 2, "b": 3})
    thread.touch({"a": 4})
    go.set()
    assert looked.get(timeout=LIMIT_S) == {"a": 4, "b": 3}
    thread.stop(0.0)
    thread.stop(0.0)
    assert looked.empty()


def test_a_stop_leaves_what_was_not_looked_at() -> None:
    thread = ListWatch(lambda touched: None)
    thread.touch({"a": 1})
    thread.stop(0.0)
    thread.start()
    thread.join(LIMIT_S)
    assert not thread.is_alive()
