"""The effective list, the default model, and what a turn may ask for."""

from __future__ import annotations

from typing import Any

import pytest

from efr.config.schema import ModelEntry
from efr.providers.canonical import ModelFacts
from efr.providers.model_list import (
    ModelList,
    Resolved,
    choose_default,
    foreign_name,
    is_foreign,
    merged,
    resolve,
    too_large,
)
from efr.wire import types as t
from efr.wire.errors import Refusal

A = ModelFacts(
    "a", efforts=("low", "high"), default_effort="low", context_window=100, max_context_window=400
)
B = ModelFacts("b", max_output_tokens=50)
LISTED = ModelList("openai-api", merged([A, B], ["mine"]), "a")


def test_the_catalog_comes_first_and_the_configs_own_models_follow() -> None:
    own = ModelEntry("mine", context_window=5000, max_output_tokens=9)
    listed = merged([A, B], [own, "b", "plain"])

    assert [(m.facts.id, m.source.value) for m in listed] == [
        ("a", "builtin"),
        ("b", "builtin"),
        ("mine", "config"),
        ("plain", "config"),
    ]
    assert listed[2].facts == ModelFacts(
        "mine", context_window=5000, max_context_window=5000, max_output_tokens=9
    )


@pytest.mark.parametrize(
    ("window", "output", "got"),
    [
        (300, None, (300, None)),
        (1000, None, (400, None)),
        (50, 7, (50, 7)),
        (None, None, (100, None)),
    ],
)
def test_a_configured_window_goes_up_to_the_models_largest(
    window: int | None, output: int | None, got: tuple[int, int | None]
) -> None:
    (model,) = merged([A], [ModelEntry("a", window, output)])

    assert (model.facts.context_window, model.facts.max_output_tokens) == got
    assert too_large([A], [ModelEntry("a", window, output)]) == (("a",) if window == 1000 else ())


def test_an_output_limit_goes_only_downwards() -> None:
    limits = [
        merged([B], [ModelEntry("b", None, output)])[0].facts.max_output_tokens
        for output in (20, 80)
    ]

    assert limits == [20, 50]


@pytest.mark.parametrize(
    ("name", "catalog", "configured", "preferred", "default"),
    [
        ("named", [A], [], None, "named"),
        (None, [A, B], ["mine"], None, "a"),
        (None, [A, B], [], "b", "b"),
        (None, [A], [], "b", "a"),
        (None, [], ["mine"], "b", "mine"),
        (None, [], [], "b", "b"),
        (None, [], [], None, None),
    ],
)
def test_the_default_model(
    name: str | None, catalog: Any, configured: Any, preferred: str | None, default: str | None
) -> None:
    assert choose_default(name, catalog, configured, preferred) == default


@pytest.mark.parametrize(
    ("name", "provider", "foreign"),
    [
        ("claude-opus-5-5", "openai", True),
        ("claude-opus-5-5", "openai-api", True),
        ("gpt-5.5", "anthropic-api", True),
        ("o3", "anthropic-api", True),
        ("o4-mini", "anthropic-api", True),
        ("codex-mini", "anthropic-api", True),
        ("chatgpt-x", "anthropic-api", True),
        ("gpt-5.5", "openai", False),
        ("claude-opus-5-5", "anthropic-api", False),
        ("olmo", "anthropic-api", False),
        ("qwen", "openai", False),
        ("gpt-5.5", "compatible", False),
        ("gpt-5.5", "demo", False),
    ],
)
def test_a_name_of_another_company_is_known_by_its_form(
    name: str, provider: str, foreign: bool
) -> None:
    assert is_foreign(name, provider, []) is foreign
    assert not is_foreign(name, provider, [name])


def test_what_the_wire_shows() -> None:
    assert LISTED.on_wire() == (
        t.ModelInfo(
            id="a",
            efforts=("low", "high"),
            default_effort="low",
            default=True,
            source=t.ModelSource.BUILTIN,
            context_window=100,
            max_context_window=400,
        ),
        t.ModelInfo(id="b", source=t.ModelSource.BUILTIN),
        t.ModelInfo(id="mine", source=t.ModelSource.CONFIG),
    )


def test_the_default_comes_first_for_a_turn_that_names_none() -> None:
    listed = ModelList("x", merged([A, B], []), "b")

    assert [facts.id for facts in listed.default_first()] == ["b", "a"]


@pytest.mark.parametrize(
    ("model", "effort", "default_effort", "got"),
    [
        (None, None, None, ("a", None)),
        ("b", None, None, ("b", None)),
        (None, "high", None, ("a", "high")),
        (None, None, "low", ("a", "low")),
        (None, "high", "low", ("a", "high")),
        ("b", "anything", None, ("b", "anything")),
    ],
)
def test_what_a_turn_runs_with(
    model: str | None, effort: str | None, default_effort: str | None, got: tuple[str, str | None]
) -> None:
    resolved = resolve(LISTED, model, effort, default_effort)

    assert isinstance(resolved, Resolved)
    assert (resolved.model.id, resolved.effort) == got


@pytest.mark.parametrize(
    ("model", "effort", "default_effort", "data"),
    [
        ("c", None, None, {"setting": "model", "value": "c", "choices": ["a", "b", "mine"]}),
        (
            None,
            "ultra",
            None,
            {"setting": "effort", "value": "ultra", "choices": ["low", "high"], "model": "a"},
        ),
        (
            None,
            None,
            "ultra",
            {"setting": "effort", "value": "ultra", "choices": ["low", "high"], "model": "a"},
        ),
    ],
)
def test_what_is_not_on_offer_is_refused_with_the_choices(
    model: str | None, effort: str | None, default_effort: str | None, data: dict[str, Any]
) -> None:
    with pytest.raises(Refusal) as caught:
        resolve(LISTED, model, effort, default_effort)
    assert caught.value.body.code is t.ErrorCode.INVALID
    assert caught.value.body.data == data


def test_a_foreign_default_is_refused_with_the_provider() -> None:
    assert foreign_name("gpt-5.5", "anthropic-api").body.data == {
        "setting": "model",
        "value": "gpt-5.5",
        "provider": "anthropic-api",
    }
