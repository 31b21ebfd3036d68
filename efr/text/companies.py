"""Whose model an id is, by its form. Pure. Facts: the companies' lists of models."""

from __future__ import annotations

import re
from typing import Final

# The company whose models a provider has; the others have models of anybody.
COMPANY_OF_PROVIDER: Final = {
    "openai": "openai",
    "openai-api": "openai",
    "anthropic-api": "anthropic",
}

_OPENAI_FORM: Final = re.compile(r"(gpt-|chatgpt-|codex-).*|o\d+(-.*)?")


def company_of(model: str) -> str | None:
    """The company, or None for an id of no known form."""
    if model.startswith("claude-"):
        return "anthropic"
    return "openai" if _OPENAI_FORM.fullmatch(model) else None


def is_of_another(model: str, provider: str) -> bool:
    """Whether the id has the form of another company than the provider's."""
    company = COMPANY_OF_PROVIDER.get(provider)
    return company is not None and company_of(model) not in (None, company)
