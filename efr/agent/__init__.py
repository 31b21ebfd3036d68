"""A conversation: its queue, its turns, its questions, and which one a terminal's prompt goes to.

Straight blocking code. Threads, sockets, SQLite, the hidden shell, the model and the tools come
in through `ports.py`; the permission engine is asked in `permission.py` alone. `Agent` in
`agent.py` is the front door: what the daemon's methods call.
"""
