"""What can go wrong with a model call: the only exceptions that leave a provider.

Fields alone, no sentences (failures.py words them) and never a header value, a key or a query.
A cancelled call raises base's Cancelled instead.
"""

from __future__ import annotations


class ProviderError(Exception):
    """Base of every failure of a provider."""


class Unauthorized(ProviderError):
    """Refused after one refresh, or at once when nothing can refresh."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message)
        self.message = message


class NotLoggedIn(ProviderError):
    """No credential is stored."""


class TokenFailed(ProviderError):
    """The token source failed: a refresh was refused, a record is of the wrong kind or unsafe.

    `passing`: the login may be good; the server that renews it has a fault.
    """

    def __init__(self, cause: str, *, passing: bool = False) -> None:
        super().__init__(cause)
        self.cause = cause
        self.passing = passing


class RateLimited(ProviderError):
    """Waiting helps; retry_after_s is None when the provider did not say how long."""

    def __init__(self, retry_after_s: float | None = None) -> None:
        super().__init__(retry_after_s)
        self.retry_after_s = retry_after_s


class Overloaded(ProviderError):
    """The provider has no capacity now."""


class ContextOverflow(ProviderError):
    """The request is larger than the model's window."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UnknownModel(ProviderError):
    """The model is not served, or its limits are not known."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self.model = model


class ApiError(ProviderError):
    """Any other answer; status is None for an error inside a stream.

    foreign: it is not an answer of the API at all, such as a web page; the base URL may be wrong.
    """

    def __init__(
        self, status: int | None, code: str | None, message: str, foreign: bool = False
    ) -> None:
        super().__init__(status, code, message, foreign)
        self.status = status
        self.code = code
        self.message = message
        self.foreign = foreign


class TransportFailed(ProviderError):
    """Not sent, or broke on the way. sent is False when no request can have arrived."""

    def __init__(self, cause: str, sent: bool = True) -> None:
        super().__init__(cause)
        self.cause = cause
        self.sent = sent


class DecodeFailed(ProviderError):
    """The answer is not JSON."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class InvalidStream(ProviderError):
    """A broken order of events, or a call that was cut off."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class Incomplete(ProviderError):
    """The stream ended before its end was told; empty: before anything was."""

    def __init__(self, empty: bool = False) -> None:
        super().__init__(empty)
        self.empty = empty
