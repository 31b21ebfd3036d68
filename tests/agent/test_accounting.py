from __future__ import annotations

import pytest

from efr.agent.accounting import (
    Account,
    Limits,
    estimate,
    estimate_request,
    limits_of,
    tokens_of_bytes,
)
from efr.agent.rebuild import user_text
from efr.config.schema import Compaction
from efr.providers.canonical import CallUsage, Message, ModelFacts, Request, TextBlock
from efr.wire import types as t

LIMITS = Limits(window=1000, trigger=760, hard_cap=950, limit=760)


def test_limits_of_a_window_are_rounded_down() -> None:
    model = ModelFacts("m", context_window=272_000)
    assert limits_of(model, Compaction()) == Limits(272_000, 206_720, 258_400, 206_720)
    assert limits_of(model, Compaction(auto=False)).limit == 258_400
    assert limits_of(ModelFacts("m"), Compaction()).window == 128_000
    assert limits_of(ModelFacts("m", context_window=999), Compaction(auto_at=1)).trigger == 9


def test_four_bytes_are_a_token_rounded_up() -> None:
    assert [tokens_of_bytes(n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_a_providers_own_items_are_not_counted() -> None:
    plain = Message("assistant", (TextBlock("hello"),))
    raw = Message("assistant", (TextBlock("hello"),), [{"type": "reasoning", "x": "y" * 1000}])
    assert estimate([raw]) == estimate([plain])


def test_usage_is_summed_and_the_context_is_the_last_calls() -> None:
    account = Account(LIMITS, base=None)
    request = Request("m", (user_text("hi"),))
    answer = Message("assistant", (TextBlock("yes"),))
    account.before_call(request)
    account.counted(CallUsage(100, 10, cached_input_tokens=50), answer)
    account.added(user_text("result"))
    account.before_call(request)
    account.counted(CallUsage(200, 20), answer)
    assert account.usage == t.Usage(
        input_tokens=300, output_tokens=30, cached_input_tokens=50, context_tokens=220
    )
    assert account.context == t.ContextUse(tokens=220, limit=760, window=1000)


def test_messages_after_the_last_count_are_estimated_on_top() -> None:
    account = Account(LIMITS, base=500)
    message = user_text("x" * 100)
    account.added(message)
    assert account.tokens == 500 + estimate([message])


def test_without_a_base_the_whole_request_is_estimated() -> None:
    account = Account(LIMITS, base=None)
    message = user_text("x" * 100)
    account.added(message)
    request = Request("m", (message,), system="s" * 400)
    assert account.before_call(request) == estimate_request(request)
    assert account.usage is None


def test_a_call_without_a_count_keeps_the_estimate() -> None:
    account = Account(LIMITS, base=None)
    request = Request("m", (user_text("x" * 100),))
    before = account.before_call(request)
    answer = Message("assistant", (TextBlock("y" * 100),))
    account.counted(None, answer)
    assert account.tokens == before + estimate([answer])
    assert account.usage is None


@pytest.mark.parametrize("told", [CallUsage(), CallUsage(0, 40)])
def test_a_count_without_input_is_none(told: CallUsage) -> None:
    request = Request("m", (user_text("x" * 100),))
    answer = Message("assistant", (TextBlock("y" * 100),))
    account = Account(LIMITS, base=None)
    whole = account.before_call(request)
    account.counted(told, answer)
    assert account.tokens == whole + estimate([answer])
    counted = t.Usage(input_tokens=0, output_tokens=40)
    assert account.usage == (counted if told.output_tokens else None)
    account.counted(CallUsage(500, 10), answer)
    account.counted(told, answer)
    assert account.tokens == 510 + estimate([answer])
    assert account.usage is not None
    assert account.usage.context_tokens == 510


def test_sums_stop_at_the_largest_count() -> None:
    most = 2**64 - 1
    account = Account(LIMITS, base=None)
    answer = Message("assistant", ())
    account.counted(CallUsage(most, 1), answer)
    account.counted(CallUsage(1, most), answer)
    assert account.usage is not None
    assert account.usage.input_tokens == most
    assert account.usage.output_tokens == most
