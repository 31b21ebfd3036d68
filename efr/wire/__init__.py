"""The wire: every type of the protocol, its frames and its JSON. Pure; any thread may call it.

Facts: docs/protocol.md. What does not belong: sockets, files, threads, clocks.

    from efr.wire import events as ev, methods as m, types as t

`types`, `events` and `methods` re-export the declared types; `codec` reads and writes them;
`framing` and `frames` are the byte stream; `table.METHODS` says who may call what. `conform`,
`schema` and `docs` are programs for people who change or read the protocol; nothing imports them.
"""
