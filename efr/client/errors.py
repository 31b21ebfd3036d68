"""What can go wrong between a client and the daemon. Fields only; the command writes the sentences.

Standard library alone: the command's fast path imports this before anything large.
"""

from __future__ import annotations


class ClientError(Exception):
    """The base of this room's errors."""


class NoAddress(ClientError):
    """There is no place where a daemon could listen. `fix` names the variable that helps."""

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(why)
        self.why = why
        self.fix = fix


class NoDaemon(ClientError):
    """Nothing listens at the socket."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class ConnectionLost(ClientError):
    """The daemon closed the connection, or it broke, with work still open."""


class NoAnswer(ClientError):
    """The daemon took the request and said nothing for `silence_s` seconds."""

    def __init__(self, silence_s: float) -> None:
        super().__init__(silence_s)
        self.silence_s = silence_s


class BadReply(ClientError):
    """The daemon sent something that is no valid answer."""

    def __init__(self, method: str, why: str) -> None:
        super().__init__(method, why)
        self.method = method
        self.why = why


class Refused(ClientError):
    """The daemon answered a request with an error (docs/protocol.md, "Errors").

    `code` is one of the protocol's words, `message` one sentence for a person, `data` the details
    that the code documents, or None.
    """

    def __init__(self, method: str, code: str, message: str, data: object = None) -> None:
        super().__init__(method, code, message)
        self.method = method
        self.code = code
        self.message = message
        self.data = data

    def detail(self, name: str) -> object:
        """One member of `data`, None when it is not there."""
        return self.data.get(name) if isinstance(self.data, dict) else None
