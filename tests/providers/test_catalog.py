"""Model lists: what each API's answer offers, the cache file, when the next fetch is due."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from efr.base.cancel import Cancel
from efr.providers.anthropic_cache import Lifetimes
from efr.providers.anthropic_messages import AnthropicBackend
from efr.providers.anthropic_models import anthropic_models
from efr.providers.canonical import ModelFacts
from efr.providers.catalog import Catalog, Fetched
from efr.providers.catalog_fetch import (
    anthropic_fetch,
    check_key,
    compatible_fetch,
    list_url,
    openai_fetch,
)
from efr.providers.chat_completions import CompatibleBackend, authorize
from efr.providers.chat_models import compatible_models
from efr.providers.errors import (
    ApiError,
    DecodeFailed,
    NotLoggedIn,
    Overloaded,
    ProviderError,
    RateLimited,
    TransportFailed,
    Unauthorized,
)
from efr.providers.openai_models import BUILTIN, api_models, model_ids, subscription_models
from efr.providers.openai_responses import Backend
from efr.providers.provider import Token
from tests.harness.clock import FakeClock
from tests.providers.conftest import SECRET, Bench, FakeTokens

A, B = ModelFacts("a", context_window=1000), ModelFacts("b")


@dataclass
class ScriptedFetch:
    """Plays results; notes the tags that it was asked with."""

    results: list[Fetched | ProviderError | None]
    tags: list[str | None] = field(default_factory=list)

    def __call__(self, cancel: Cancel, tag: str | None) -> Fetched | None:
        self.tags.append(tag)
        result = self.results.pop(0)
        if isinstance(result, ProviderError):
            raise result
        return result


def catalog(
    tmp_path: Path,
    *results: Fetched | ProviderError | None,
    builtin: tuple[ModelFacts, ...] = (),
    clock: FakeClock | None = None,
    base_url: str = "http://x",
) -> Catalog:
    file = tmp_path / "state" / "list.json"
    return Catalog(base_url, file, builtin, ScriptedFetch(list(results)), clock or FakeClock())


def test_the_start_is_the_builtin_list_or_nothing(tmp_path: Path) -> None:
    assert catalog(tmp_path, builtin=(A,)).state.origin == "builtin"
    missing = catalog(tmp_path).state
    assert (missing.origin, missing.entries, missing.fetched_at_us) == ("missing", (), None)


def test_a_fetched_list_is_kept_and_cached_for_the_user_alone(tmp_path: Path) -> None:
    clock = FakeClock()
    first = catalog(tmp_path, Fetched((A, B), "tag-1"), clock=clock)
    first.fetch_now(Cancel())
    file = tmp_path / "state" / "list.json"

    state = first.state
    assert (state.entries, state.origin, state.tag) == ((A, B), "backend", "tag-1")
    assert state.fetched_at_us == clock.now_us()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    again = catalog(tmp_path, builtin=(B,)).state
    assert (again.entries, again.origin) == ((A, B), "cache")
    assert again.fetched_at_us == clock.now_us()


@pytest.mark.parametrize("change", ["other backend", "broken", "other version", "empty"])
def test_a_cache_of_something_else_is_ignored(tmp_path: Path, change: str) -> None:
    catalog(tmp_path, Fetched((A,))).fetch_now(Cancel())
    file = tmp_path / "state" / "list.json"
    base_url = "http://x"
    match change:
        case "other backend":
            base_url = "http://y"
        case "broken":
            file.write_bytes(file.read_bytes()[:-5])
        case "other version":
            file.write_text(file.read_text().replace('"format":1', '"format":2'))
        case _:
            file.write_bytes(b"")

    assert catalog(tmp_path, base_url=base_url).state.origin == "missing"


def test_the_tag_goes_along_and_an_unchanged_list_is_fresh_again(tmp_path: Path) -> None:
    clock = FakeClock()
    fetch = ScriptedFetch([Fetched((A,), "tag-1"), None])
    one = Catalog("http://x", tmp_path / "c.json", (), fetch, clock)
    one.fetch_now(Cancel())
    clock.advance(3600)
    one.fetch_now(Cancel())

    assert fetch.tags == [None, "tag-1"]
    assert one.state.entries == (A,)
    assert one.state.fetched_at_us == clock.now_us()


def test_a_list_that_offers_nothing_is_refused_and_the_present_one_stays(tmp_path: Path) -> None:
    one = catalog(tmp_path, Fetched(()), builtin=(A,))
    with pytest.raises(DecodeFailed):
        one.fetch_now(Cancel())

    assert one.state.entries == (A,)
    assert isinstance(one.last_failure, DecodeFailed)


def test_fetches_are_due_at_the_start_then_hourly_and_sooner_after_failures(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    down = TransportFailed("down", sent=False)
    one = catalog(tmp_path, *[down] * 6, Fetched((A,)), down, clock=clock)
    assert one.when_next_s() == 0
    waits = []
    for _ in range(6):
        with pytest.raises(TransportFailed):
            one.fetch_now(Cancel())
        waits.append(one.when_next_s())
    one.fetch_now(Cancel())

    assert waits == [15, 30, 60, 120, 300, 300]
    assert one.when_next_s() == 3600
    assert one.last_failure is None
    with pytest.raises(TransportFailed):
        one.fetch_now(Cancel())
    assert one.when_next_s() == 15


def test_without_a_login_there_is_no_hurry_until_one_comes(tmp_path: Path) -> None:
    one = catalog(tmp_path, NotLoggedIn(), builtin=(A,))
    with pytest.raises(NotLoggedIn):
        one.fetch_now(Cancel())
    assert one.when_next_s() == 3600

    one.hurry()
    assert one.when_next_s() == 0


def test_a_list_that_cannot_be_cached_still_counts(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the directory should be")
    one = catalog(tmp_path, Fetched((A,)))
    one.fetch_now(Cancel())

    assert one.state.entries == (A,)


# --- what the APIs answer ---


def test_the_subscriptions_list_is_ordered_filtered_and_lenient() -> None:
    listed = {
        "slug": "second",
        "display_name": "Second",
        "description": "d",
        "priority": 2,
        "visibility": "list",
        "context_window": 100,
        "max_context_window": 50,
        "supported_reasoning_levels": [{"effort": "low"}, "high", 3],
        "default_reasoning_level": "low",
        "apply_patch_tool_type": "freeform",
        "prefer_websockets": True,
        "new_member": 1,
    }
    others = [
        {"slug": "first", "priority": 1, "max_context_window": 70},
        {"slug": "hidden", "visibility": "hide"},
        {"slug": "nowhere", "visibility": None},
        {"slug": "strange-tool", "apply_patch_tool_type": "other"},
        {"no": "slug"},
        "nonsense",
        {"slug": "unranked", "apply_patch_tool_type": "function"},
    ]

    assert subscription_models({"models": [listed, *others]}) == (
        ModelFacts("first", context_window=70, max_context_window=70, edit_tool="apply_patch"),
        ModelFacts(
            "second",
            display_name="Second",
            description="d",
            efforts=("low", "high"),
            default_effort="low",
            context_window=100,
            max_context_window=100,
            freeform_tools=True,
            prefer_websockets=True,
            edit_tool="apply_patch",
        ),
        ModelFacts("nowhere", edit_tool="apply_patch"),
        ModelFacts("unranked", edit_tool="apply_patch"),
    )


@pytest.mark.parametrize("value", [None, [], {}, {"models": 3}, {"models": [1]}])
def test_a_list_without_models_is_empty(value: Any) -> None:
    assert subscription_models(value) == ()
    assert compatible_models(value) == ()
    assert model_ids(value) == ()


def test_the_public_apis_ids_cut_the_builtin_table_down() -> None:
    ids = model_ids({"data": [{"id": "gpt-5.5"}, {"id": "gpt-6-sol"}, {"id": "tts-1"}, {"id": 3}]})

    assert [facts.id for facts in api_models(ids)] == ["gpt-6-sol", "gpt-5.5"]


def test_the_builtin_table() -> None:
    table = [(m.id, m.max_context_window, m.efforts[-1], m.default_effort) for m in BUILTIN]

    assert table == [
        ("gpt-6.1-sol", 872000, "ultra", "low"),
        ("gpt-6-astra", 872000, "ultra", "low"),
        ("gpt-6-sol", 872000, "ultra", "medium"),
        ("gpt-6-luna", 872000, "max", "medium"),
        ("gpt-5.6-sol", 872000, "ultra", "low"),
        ("gpt-5.6-terra", 872000, "ultra", "medium"),
        ("gpt-5.6-luna", 872000, "max", "medium"),
        ("gpt-5.5", 272000, "xhigh", "medium"),
    ]
    assert all(m.context_window == 272000 and m.freeform_tools for m in BUILTIN)


def test_anthropics_list() -> None:
    def effort(**levels: bool) -> dict[str, Any]:
        named = {name: {"supported": taken} for name, taken in levels.items()}
        return {"effort": {"supported": True, **named}}

    entry = {
        "id": "claude-opus-5-5",
        "display_name": "Opus",
        "lifecycle": "active",
        "max_input_tokens": 500_000,
        "max_tokens": 64_000,
        "capabilities": effort(max=True, medium=True, low=True, xhigh=False, newer=True),
    }
    old = {"id": "claude-2", "lifecycle": "deprecated"}
    plain = {"id": "claude-plain", "capabilities": effort(high=True)}

    assert anthropic_models([entry, old, plain, "nonsense"]) == (
        ModelFacts(
            "claude-opus-5-5",
            display_name="Opus",
            efforts=("low", "medium", "max", "newer"),
            default_effort="medium",
            context_window=500_000,
            max_context_window=500_000,
            max_output_tokens=64_000,
            edit_tool="edit",
        ),
        ModelFacts("claude-plain", efforts=("high",), edit_tool="edit"),
    )


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({"max_model_len": 32768}, 32768),
        ({"context_length": 8192}, 8192),
        ({"meta": {"n_ctx_train": 4096}}, 4096),
        ({"max_context_length": 9, "loaded_context_length": 5}, 5),
        ({"context_length": "many"}, None),
        ({}, None),
    ],
)
def test_a_compatible_servers_window(entry: dict[str, Any], window: int | None) -> None:
    (facts,) = compatible_models({"data": [{"id": "m"} | entry]})

    assert (facts.context_window, facts.max_context_window) == (window, window)


# --- fetching ---


def refused(status: int, **headers: str) -> dict[str, Any]:
    return {"error": {"status": status, "body": {"error": {"message": "m"}}, "headers": headers}}


def test_the_subscription_sends_its_version_and_tag(bench: Bench) -> None:
    bench.server.play([], model_answers=[refused(304)])
    backend = Backend("openai", bench.server.base_url, {"originator": "efr"}, subscription=True)
    fetch = openai_fetch(bench.sender, backend, FakeTokens(account_id="acct"), bench.keys)

    assert fetch(Cancel(), "tag-1") is None
    (sent,) = bench.server.requests()
    assert sent["path"] == "/v1/models?client_version=0.1.0"
    assert sent["headers"]["if-none-match"] == "tag-1"
    assert sent["headers"]["chatgpt-account-id"] == "acct"
    assert bench.keys.news().checked_at_us is not None


def test_a_refused_token_of_a_list_is_refreshed_until_that_is_of_no_use(bench: Bench) -> None:
    no, yes = refused(401), {"json": {"models": [{"slug": "gpt-6-sol"}]}}
    bench.server.play([], model_answers=[no, yes, no, no, no, yes, no, yes])
    backend = Backend("openai", bench.server.base_url, subscription=True)
    tokens = FakeTokens([f"t{n}" for n in range(9)])
    fetch = openai_fetch(bench.sender, backend, tokens, bench.keys)

    def fetched() -> bool:
        try:
            return fetch(Cancel(), None) is not None
        except Unauthorized:
            return False

    # Refreshed once; twice refused; not refreshed again; worked; refreshed once more.
    assert [fetched() for _ in range(5)] == [True, False, False, True, True]
    asked = [sent["headers"]["authorization"] for sent in bench.server.requests()]
    assert asked == [f"Bearer t{n}" for n in (0, 1, 1, 2, 2, 2, 2, 3)]
    assert tokens.refused == ["t0", "t1", "t2"]


def test_the_public_api_is_read(bench: Bench) -> None:
    bench.server.play([], models=[{"id": "gpt-5.5"}, {"id": "x"}])
    backend = Backend("openai-api", bench.server.base_url)
    fetched = openai_fetch(bench.sender, backend, FakeTokens(), bench.keys)(Cancel(), None)

    assert fetched is not None
    assert [facts.id for facts in fetched.entries] == ["gpt-5.5"]


def anthropic(bench: Bench) -> Callable[[Cancel, str | None], Fetched | None]:
    backend = AnthropicBackend(bench.server.base_url, "wrkspc", Lifetimes("auto"))
    return anthropic_fetch(bench.sender, backend, FakeTokens(), bench.keys)


def pages(*bodies: Any) -> list[Any]:
    return [{"error": {"status": 200, "body": body}} for body in bodies]


def test_every_page_of_anthropics_list_is_read(bench: Bench) -> None:
    bench.server.play(
        [],
        model_answers=pages(
            {"data": [{"id": "a"}, {"id": "b"}], "has_more": True},
            {"data": [{"id": "b"}, {"id": "c/d"}], "has_more": True},
            {"data": [{"id": "e"}], "has_more": False},
        ),
    )

    fetched = anthropic(bench)(Cancel(), None)

    assert fetched is not None
    assert [facts.id for facts in fetched.entries] == ["a", "b", "c/d", "e"]
    assert [sent["path"].partition("?")[2] for sent in bench.server.requests()] == [
        "limit=1000",
        "limit=1000&after_id=b",
        "limit=1000&after_id=c%2Fd",
    ]
    headers = bench.server.requests()[0]["headers"]
    assert headers["anthropic-workspace-id"] == "wrkspc"
    assert "anthropic-beta" not in headers


def test_a_page_that_says_more_and_names_nothing_new_fails_the_fetch(bench: Bench) -> None:
    page = {"data": [{"id": "a"}], "has_more": True}
    bench.server.play([], model_answers=pages(page, page))

    with pytest.raises(DecodeFailed):
        anthropic(bench)(Cancel(), None)


def test_more_than_100_pages_fail_the_fetch(bench: Bench) -> None:
    endless = [{"data": [{"id": f"m{n}"}], "has_more": True} for n in range(101)]
    bench.server.play([], model_answers=pages(*endless))

    with pytest.raises(DecodeFailed):
        anthropic(bench)(Cancel(), None)
    assert len(bench.server.requests()) == 100


def test_a_refused_key_of_a_list_is_noted(bench: Bench) -> None:
    bench.server.play([], model_answers=[refused(401)])

    with pytest.raises(Unauthorized):
        anthropic(bench)(Cancel(), None)
    assert bench.keys.news().refused_at_us == bench.clock.now_us()
    assert len(bench.server.requests()) == 1


def test_a_list_is_fetched_again_after_failures_that_may_pass(bench: Bench) -> None:
    bench.server.play([], model_answers=[refused(500), refused(529), refused(502)])

    assert anthropic(bench)(Cancel(), None) is not None
    assert len(bench.server.requests()) == 4


def test_a_compatible_server_needs_its_base_url(bench: Bench) -> None:
    fetch = compatible_fetch(bench.sender, CompatibleBackend(None), lambda: None, bench.keys)

    with pytest.raises(ApiError, match=r"compatible\.base_url"):
        fetch(Cancel(), None)


def test_a_compatible_server_without_a_key_is_read(bench: Bench) -> None:
    backend = CompatibleBackend(bench.server.base_url)
    fetched = compatible_fetch(bench.sender, backend, lambda: None, bench.keys)(Cancel(), None)

    assert fetched is not None
    assert [facts.id for facts in fetched.entries] == ["fake-model", "other-model"]
    assert "authorization" not in bench.server.requests()[0]["headers"]


def test_a_page_is_no_list_and_passes_no_key(bench: Bench) -> None:
    page = {"error": {"status": 200, "body": "<html><title>Chat</title></html>"}}
    bench.server.play([], model_answers=[page, page])
    fetch = compatible_fetch(
        bench.sender, CompatibleBackend(bench.server.base_url), lambda: None, bench.keys
    )
    check = check_key(bench.sender, list_url(bench.server.base_url), authorize)

    with pytest.raises(ApiError, match="Chat") as listed:
        fetch(Cancel(), None)
    with pytest.raises(ApiError, match="Chat") as checked:
        check(SECRET, Cancel())
    assert listed.value.foreign
    assert checked.value.foreign


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, Unauthorized), (429, RateLimited), (529, Overloaded), (503, ApiError)],
)
def test_a_key_check_is_sent_once(bench: Bench, status: int, error: type[ProviderError]) -> None:
    bench.server.play([], model_answers=[refused(status)])
    check = check_key(bench.sender, list_url(bench.server.base_url, "limit=1"), authorize)

    with pytest.raises(error):
        check(SECRET, Cancel())
    check(SECRET, Cancel())

    sent = bench.server.requests()
    assert [one["path"] for one in sent] == ["/v1/models?limit=1"] * 2
    assert sent[0]["headers"]["authorization"] == f"Bearer {Token(SECRET).secret}"
    assert bench.waits == []
