"""What an error of the Messages API means: class, and whether and when to try again.

Pure. An overloaded server is asked again, and a body that is too large is no overflow.
"""

from __future__ import annotations

from typing import Final

from efr.providers import errors as err
from efr.providers.error_facts import ErrorFacts
from efr.providers.retry import Verdict

NOT_ACTED_ON: Final = frozenset({408, 429, 500, 502, 503, 504, 529})
_TOO_LONG: Final = "prompt is too long"
_SPENT: Final = "enforced_spend_limit_reached"  # money, not time, is missing


def judge_status(status: int, facts: ErrorFacts, model: str, wait_s: float | None) -> Verdict:
    """What a status other than 2xx means for a POST."""
    api = err.ApiError(status, facts.type, facts.message, facts.foreign)
    match status:
        case 400 if facts.message.startswith(_TOO_LONG):
            return Verdict(err.ContextOverflow(facts.message))
        case 401:
            return Verdict(err.Unauthorized(facts.message))
        case 404 if facts.type == "not_found_error":
            return Verdict(err.UnknownModel(model))
        case 429 if facts.detail_code == _SPENT:
            return Verdict(api)
        case 429:
            return Verdict(err.RateLimited(wait_s), again=True, wait_s=wait_s)
        case 529:
            return Verdict(err.Overloaded(), again=True, wait_s=wait_s)
        case _:
            return Verdict(api, again=status in NOT_ACTED_ON, wait_s=wait_s)


def judge_event(facts: ErrorFacts, model: str) -> err.ProviderError:
    """What an error event inside a stream means; it is never sent again."""
    match facts.type:
        case "overloaded_error":
            return err.Overloaded()
        case "rate_limit_error":
            return err.RateLimited()
        case "authentication_error":
            return err.Unauthorized(facts.message)
        case "not_found_error":
            return err.UnknownModel(model)
        case "invalid_request_error" if facts.message.startswith(_TOO_LONG):
            return err.ContextOverflow(facts.message)
        case _:
            return err.ApiError(None, facts.type, facts.message)
