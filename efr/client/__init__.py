"""The client side of the protocol: connect, hello, call, stream, cancel, reconnect and resume.

Blocking, without a thread of its own: a connection has a `fileno()` and hands out complete
frames, so a caller can wait on the socket and the keyboard in one selector. Renders and decides
nothing. `link` is the framed socket, `connection` the requests on it, `follow` a conversation's
items over as many connections as it takes. A script needs no more than

    from efr.client import connect
    from efr.wire import events as ev

    with connect(os.environ) as efr:
        sent = efr.call("prompt.send", text="why is the disk full")
        for item in efr.follow(sent.conversation_id, after_seq=sent.seq):
            event = getattr(item, "event", None)
            if isinstance(event, ev.AssistantMessageCompleted):
                print(event.text)
            if isinstance(event, ev.TurnCompleted) and event.turn_id == sent.turn_id:
                break

`connect` and `Connection` load when they are asked for: the command's fast path needs `link` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from efr.client.connection import Connection, connect

__all__ = ["Connection", "connect"]


def __getattr__(name: str) -> Any:
    """Loads `connection` on first use."""
    if name not in __all__:
        raise AttributeError(name)
    from efr.client import connection

    return getattr(connection, name)
