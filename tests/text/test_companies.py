"""Whose model an id is."""

from __future__ import annotations

import pytest

from efr.text.companies import company_of, is_of_another


@pytest.mark.parametrize(
    ("model", "company"),
    [
        ("claude-sonnet-4-5", "anthropic"),
        ("gpt-5.4", "openai"),
        ("chatgpt-4o-latest", "openai"),
        ("codex-mini", "openai"),
        ("o3", "openai"),
        ("o4-mini", "openai"),
        ("o", None),
        ("ollama", None),
        ("qwen3", None),
    ],
)
def test_a_company_is_known_by_the_form(model: str, company: str | None) -> None:
    assert company_of(model) == company


def test_only_providers_of_a_company_have_foreign_models() -> None:
    assert is_of_another("claude-x", "openai")
    assert is_of_another("gpt-x", "anthropic-api")
    assert not is_of_another("gpt-x", "openai-api")
    assert not is_of_another("qwen3", "openai")
    assert not is_of_another("claude-x", "compatible")
