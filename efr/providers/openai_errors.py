"""What an OpenAI-shaped error means: class, and whether and when to try again.

Pure; shared by the Responses API and by compatible servers.
"""

from __future__ import annotations

import re
from typing import Final

from efr.providers import errors as err
from efr.providers.error_facts import ErrorFacts
from efr.providers.retry import NOT_ACTED_ON, Verdict, sane_wait_s

_SPENT: Final = frozenset(
    {
        "insufficient_quota",
        "usage_not_included",
        "credit_balance_exhausted",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
    }
)  # waiting does not help
_RATE_CODES: Final = frozenset({"rate_limit_exceeded", "rate_limit_error"})
_NO_SUCH_MODEL: Final = re.compile(
    r"\bmodel\b.*\b(not supported|unsupported|does not exist|not found)\b",
    re.IGNORECASE | re.DOTALL,
)
_NAMES_THE_MODEL: Final = (400, 404)  # the second is of Ollama and vLLM
_TRY_AGAIN: Final = re.compile(
    r"try again in (?:(?P<ms>[\d.]+)\s*ms|"
    r"(?:(?P<h>\d+)\s*h)?\s*(?:(?P<m>\d+)\s*m)?\s*(?:(?P<s>[\d.]+)\s*s)?)",
    re.IGNORECASE,
)


def judge_status(
    status: int, facts: ErrorFacts, model: str, header_wait_s: float | None, now_us: int
) -> Verdict:
    """What a status other than 2xx means for a POST."""
    if status == 401:
        return Verdict(err.Unauthorized(facts.message))
    if status == 429 and not facts.names & _SPENT:
        wait_s = header_wait_s if header_wait_s is not None else _told_wait_s(facts, now_us)
        return Verdict(err.RateLimited(wait_s), again=True, wait_s=wait_s)
    if status == 413 or facts.code == "context_length_exceeded":
        return Verdict(err.ContextOverflow(facts.message))
    if facts.code == "model_not_found" or (
        status in _NAMES_THE_MODEL and _NO_SUCH_MODEL.search(facts.message)
    ):
        return Verdict(err.UnknownModel(model))
    error = err.ApiError(status, facts.code or facts.type, facts.message, facts.foreign)
    again = status in NOT_ACTED_ON and status != 429
    return Verdict(error, again=again, wait_s=header_wait_s)


def judge_event(facts: ErrorFacts, model: str, now_us: int) -> err.ProviderError:
    """What an error inside a stream means; it is never sent again."""
    if facts.code == "context_length_exceeded":
        return err.ContextOverflow(facts.message)
    if facts.names & _RATE_CODES and not facts.names & _SPENT:
        return err.RateLimited(_told_wait_s(facts, now_us))
    if facts.code == "model_not_found":
        return err.UnknownModel(model)
    return err.ApiError(None, facts.code or facts.type, facts.message)


def _told_wait_s(facts: ErrorFacts, now_us: int) -> float | None:
    if facts.resets_at is not None:
        return sane_wait_s(facts.resets_at - now_us / 1e6)
    if facts.resets_in_s is not None:
        return sane_wait_s(facts.resets_in_s)
    match = _TRY_AGAIN.search(facts.message)
    if match is None:
        return None
    if match["ms"]:
        return sane_wait_s(_float(match["ms"], 0.001))
    parts = [(match["h"], 3600), (match["m"], 60), (match["s"], 1)]
    told = [_float(text, unit) for text, unit in parts if text]
    return sane_wait_s(sum(part or 0.0 for part in told)) if told else None


def _float(text: str | None, unit: float) -> float | None:
    try:
        return float(text) * unit if text else None
    except ValueError:
        return None
