"""`main`'s inbox: a signal wakes it however it falls between the look and the sleep."""

from __future__ import annotations

import os
import queue
import signal
import threading
from types import FrameType

from efr.daemon.words import Words


def test_many_signals_under_load_all_wake_it() -> None:
    words: Words[int] = Words()
    rounds = 2000

    def handler(number: int, frame: FrameType | None) -> None:
        words.put(number)

    before = signal.signal(signal.SIGUSR2, handler)
    go: queue.Queue[bool] = queue.Queue()

    def send() -> None:
        while go.get():
            os.kill(os.getpid(), signal.SIGUSR2)

    sender = threading.Thread(target=send, name="sender")
    sender.start()
    try:
        for _ in range(rounds):
            go.put(True)
            assert words.get() == signal.SIGUSR2
    finally:
        go.put(False)
        sender.join()
        signal.signal(signal.SIGUSR2, before)
        words.close()


def test_a_word_of_a_thread_wakes_it_and_the_wake_up_is_given_back() -> None:
    before = signal.set_wakeup_fd(-1)
    words: Words[str] = Words()
    thread = threading.Thread(target=lambda: words.put("fatal"))
    thread.start()
    assert words.get() == "fatal"
    thread.join()
    words.close()
    words.put("late")
    assert signal.set_wakeup_fd(before) == -1
