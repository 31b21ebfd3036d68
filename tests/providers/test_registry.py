"""Who answers, logins, lists and statuses, against a real server (agent tests 20, 51, 52, 61)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from efr.base.cancel import Cancel
from efr.config.schema import Anthropic, Compatible, Model, ModelEntry, OpenAI, Settings
from efr.providers.canonical import Message, Request, TextBlock, fold
from efr.providers.credentials import CredentialStore, OauthTokens
from efr.providers.demo import BANNER
from efr.providers.errors import ApiError, NotLoggedIn, TokenFailed, TransportFailed, Unauthorized
from efr.providers.oauth import Issuer
from efr.providers.registry import IDS, Providers
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.providers.conftest import Bench

KEY = "sk-ant-api03-" + "x" * 40 + "a1b2"
REQUEST = Request("claude-opus-5-5", (Message("user", (TextBlock("hello"),)),))
OPUS = {"id": "claude-opus-5-5", "max_tokens": 1000, "max_input_tokens": 9000}
OTHER = {"id": "claude-first", "max_tokens": 500}


class House:
    """A registry over a real server and a real secrets directory."""

    def __init__(self, bench: Bench, tmp_path: Path, settings: Settings) -> None:
        self.bench = bench
        self.settings = settings
        self.store = CredentialStore(tmp_path / "secrets", bench.clock)
        self.providers = Providers(
            lambda: self.settings,
            self.store,
            bench.sender,
            tmp_path / "state",
            Issuer(bench.server.root, port=0),
        )

    def active(self) -> tuple[str, str]:
        provider, why = self.providers.active()
        return provider.id, why

    def status(self, provider: str) -> t.ProviderStatus:
        return next(s for s in self.providers.statuses() if s.provider == provider)

    def login(self, provider: str, key: str = KEY, check: bool = True) -> m.AdminLoginApiKeyResult:
        return self.providers.login_api_key(provider, key, check, Cancel())

    def refusal(self, provider: str, key: str = KEY, check: bool = True) -> t.ErrorBody:
        with pytest.raises(Refusal) as caught:
            self.login(provider, key, check)
        return caught.value.body


MakeHouse = Callable[..., House]


@pytest.fixture
def make_house(bench: Bench, tmp_path: Path) -> MakeHouse:
    def make(
        provider: Any = None, name: str | None = None, compatible: bool = False, **tables: Any
    ) -> House:
        url = bench.server.base_url
        settings = Settings(
            model=Model(provider=provider, name=name, effort=tables.get("effort")),
            openai=OpenAI(api_base_url=url, models=tables.get("openai_models", ())),
            anthropic=Anthropic(base_url=url, models=tables.get("anthropic_models", ())),
            compatible=Compatible(
                base_url=url if compatible else None, models=tables.get("compatible_models", ())
            ),
        )
        return House(bench, tmp_path, settings)

    return make


# --- who answers ---


def test_without_a_login_the_demo_answers_and_says_so(make_house: MakeHouse) -> None:
    house = make_house()

    assert house.active() == ("demo", "no provider has a login")
    provider = house.providers.get("demo")
    assert fold(provider.stream(REQUEST, Cancel())).message.text.startswith(BANNER)
    assert house.providers.models().models[0].id == "demo"
    assert house.providers.catalog() == t.Catalog(provider="demo", origin=t.CatalogOrigin.BUILTIN)
    house.providers.fetch_now(Cancel())
    assert house.providers.when_next_fetch_s() > 0


def test_the_configured_provider_answers_even_without_a_login(make_house: MakeHouse) -> None:
    house = make_house("anthropic-api")

    assert house.active() == ("anthropic-api", "model.provider names it")
    with pytest.raises(NotLoggedIn):
        next(house.providers.get("anthropic-api").stream(REQUEST, Cancel()))
    assert house.bench.server.requests() == []


def test_the_newest_login_answers(make_house: MakeHouse) -> None:
    house = make_house()
    house.login("anthropic-api", check=False)
    assert house.active() == ("anthropic-api", "the only login")
    house.bench.clock.advance(1)
    house.login("openai-api", "sk-" + "y" * 20, check=False)
    assert house.active() == ("openai-api", "the newest login")
    house.bench.clock.advance(1)
    house.store.save_tokens(
        "openai", OauthTokens(1, house.bench.clock.now_us(), "access", account_id="a")
    )
    assert house.active() == ("openai", "the newest login")
    house.providers.logout("openai")
    house.providers.logout("openai-api")
    assert house.active() == ("anthropic-api", "the only login")


def test_a_compatible_server_answers_without_a_login(make_house: MakeHouse) -> None:
    house = make_house(compatible=True)

    assert house.active() == ("compatible", "compatible.base_url is set")
    assert house.status("compatible").logged_in
    house.login("anthropic-api", check=False)
    assert house.active() == ("anthropic-api", "the newest login")


def test_an_unsafe_record_is_still_a_login_whose_turns_fail(
    make_house: MakeHouse, tmp_path: Path
) -> None:
    house = make_house()
    house.login("anthropic-api", check=False)
    (tmp_path / "secrets").chmod(0o755)

    assert house.active()[0] == "anthropic-api"
    assert not house.status("anthropic-api").logged_in
    with pytest.raises(TokenFailed, match="secrets"):
        next(house.providers.get("anthropic-api").stream(REQUEST, Cancel()))


def test_an_unknown_provider_does_not_exist(make_house: MakeHouse) -> None:
    with pytest.raises(KeyError):
        make_house().providers.get("acme")


# --- logins ---


def test_a_checked_login_is_stored_and_fetches_the_list(make_house: MakeHouse) -> None:
    house = make_house("anthropic-api")
    house.bench.server.play([], models=[OPUS])
    wanted: list[bool] = []
    house.providers.on_fetch_wanted(lambda: wanted.append(True))

    result = house.login("anthropic-api")

    assert result == m.AdminLoginApiKeyResult("anthropic-api", "sk-ant-...a1b2", True, True)
    assert wanted == [True]
    assert house.providers.when_next_fetch_s() == 0
    assert house.status("anthropic-api") == t.ProviderStatus(
        provider="anthropic-api",
        logged_in=True,
        active=True,
        login=t.LoginKind.API_KEY,
        key_hint="sk-ant-...a1b2",
        key_checked_at=t.time_from_us(house.bench.clock.now_us()),
    )
    sent = house.bench.server.requests()
    assert [one["path"] for one in sent] == ["/v1/models?limit=1"]


def test_a_login_of_another_provider_wakes_nobody(make_house: MakeHouse) -> None:
    house = make_house("openai-api")
    house.providers.on_fetch_wanted(lambda: pytest.fail("no fetch is wanted"))

    result = house.login("anthropic-api", check=False)

    assert (result.checked, result.active) == (False, False)
    assert house.status("anthropic-api").key_checked_at is None
    assert house.bench.server.requests() == []


@pytest.mark.parametrize(
    ("provider", "key"),
    [
        ("openai-api", "sk-a b"),
        ("openai-api", "sk-admin-x"),
        ("anthropic-api", "sk-größe"),
        ("anthropic-api", ""),
        ("openai", "sk-x"),
        ("demo", "sk-x"),
        ("acme", "sk-x"),
        ("compatible", "sk-x"),  # without compatible.base_url
    ],
)
def test_a_login_that_cannot_be_is_refused_before_any_request(
    make_house: MakeHouse, provider: str, key: str
) -> None:
    house = make_house()
    body = house.refusal(provider, key)

    assert body.code is t.ErrorCode.INVALID
    assert house.bench.server.requests() == []
    assert not key or key not in body.message


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, t.ErrorCode.UNAUTHORIZED),
        (429, t.ErrorCode.BUSY),
        (529, t.ErrorCode.BUSY),
        (500, t.ErrorCode.INTERNAL),
    ],
)
@pytest.mark.parametrize("provider", ["openai-api", "anthropic-api", "compatible"])
def test_a_key_that_the_check_does_not_pass_is_not_stored(
    make_house: MakeHouse, provider: str, status: int, code: t.ErrorCode
) -> None:
    house = make_house(compatible=True)
    error = {"status": status, "body": {"error": {"message": f"server says {KEY}"}}}
    house.bench.server.play([], model_answers=[{"error": error}])

    body = house.refusal(provider)

    assert body.code is code
    assert KEY not in body.message
    assert house.store.read(provider) is None
    assert len(house.bench.server.requests()) == 1


def test_a_store_that_is_not_private_takes_no_login(make_house: MakeHouse, tmp_path: Path) -> None:
    house = make_house()
    (tmp_path / "secrets").mkdir(mode=0o755)
    (tmp_path / "secrets").chmod(0o755)

    assert house.refusal("anthropic-api", check=False).code is t.ErrorCode.INTERNAL
    assert list((tmp_path / "secrets").iterdir()) == []


def test_logout_twice(make_house: MakeHouse) -> None:
    house = make_house("anthropic-api")
    house.login("anthropic-api", check=False)

    assert house.providers.logout("anthropic-api") == m.AdminLogoutResult(
        "anthropic-api", True, True
    )
    assert house.providers.logout("anthropic-api") == m.AdminLogoutResult(
        "anthropic-api", False, True
    )
    assert house.providers.logout("openai-api") == m.AdminLogoutResult("openai-api", False)
    for unknown in ("demo", "acme"):
        with pytest.raises(Refusal) as caught:
            house.providers.logout(unknown)
        assert caught.value.body.code is t.ErrorCode.INVALID


def test_a_refused_key_shows_until_a_new_login(make_house: MakeHouse) -> None:
    house = make_house("anthropic-api", anthropic_models=(ModelEntry("claude-opus-5-5", None, 9),))
    house.login("anthropic-api", check=False)
    house.bench.server.play([{"error": {"status": 401, "body": {}}}])
    with pytest.raises(Unauthorized):
        list(house.providers.get("anthropic-api").stream(REQUEST, Cancel()))
    at = t.time_from_us(house.bench.clock.now_us())
    shown = house.status("anthropic-api")
    assert (shown.key_refused_at, shown.key_checked_at) == (at, at)

    house.login("anthropic-api", KEY + "new", check=False)
    assert house.status("anthropic-api").key_refused_at is None


def test_statuses_name_every_provider_once(make_house: MakeHouse) -> None:
    house = make_house()
    house.store.save_tokens("openai", OauthTokens(1, 5, "access", expires_at_us=1_000_000))

    statuses = house.providers.statuses()

    assert tuple(status.provider for status in statuses) == IDS
    assert [status.provider for status in statuses if status.active] == ["openai"]
    assert statuses[0] == t.ProviderStatus(
        provider="openai",
        logged_in=True,
        expires_at="1970-01-01T00:00:01Z",
        active=True,
        login=t.LoginKind.SUBSCRIPTION,
    )


# --- lists and settings ---


def test_openai_starts_with_its_builtin_table(make_house: MakeHouse) -> None:
    house = make_house("openai-api")
    result = house.providers.models()

    assert result.models[0].id == "gpt-6.1-sol"
    assert [model.id for model in result.models if model.default] == ["gpt-6.1-sol"]
    assert result.catalog == t.Catalog(provider="openai-api", origin=t.CatalogOrigin.BUILTIN)


def test_a_fetched_list_counts_and_is_cached_for_the_next_start(
    make_house: MakeHouse, bench: Bench, tmp_path: Path
) -> None:
    house = make_house("anthropic-api")
    house.login("anthropic-api", check=False)
    bench.server.play([], models=[OTHER, OPUS])
    house.providers.fetch_now(Cancel())

    fetched_at = t.time_from_us(bench.clock.now_us())
    result = house.providers.models()
    assert result.catalog == t.Catalog(
        provider="anthropic-api", origin=t.CatalogOrigin.BACKEND, fetched_at=fetched_at
    )
    assert [(model.id, model.default) for model in result.models] == [
        ("claude-first", False),
        ("claude-opus-5-5", True),
    ]
    provider = house.providers.get("anthropic-api")
    assert [facts.id for facts in provider.models()] == ["claude-opus-5-5", "claude-first"]

    again = make_house("anthropic-api").providers
    assert again.catalog().origin is t.CatalogOrigin.CACHE
    assert (tmp_path / "state" / "anthropic_model_catalog.json").exists()


def test_config_models_and_limits_apply_at_once(
    make_house: MakeHouse, caplog: pytest.LogCaptureFixture
) -> None:
    house = make_house("openai-api")
    house.settings = Settings(
        model=Model(provider="openai-api", name="mine"),
        openai=OpenAI(models=("mine", ModelEntry("gpt-5.5", 99_999_999, None))),
    )
    caplog.set_level(logging.WARNING, "efr.providers")
    listed = {model.id: model for model in house.providers.models().models}
    house.providers.models()

    assert listed["mine"].source is t.ModelSource.CONFIG
    assert listed["mine"].default
    assert listed["gpt-5.5"].context_window == 272_000
    warnings = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert [r.getMessage() for r in warnings] == [
        "the window is above the model's largest, which is used: gpt-5.5"
    ]


def test_settings_of_a_turn(make_house: MakeHouse) -> None:
    house = make_house("openai-api", effort="medium")
    resolved = house.providers.resolve(None, None)
    assert (resolved.provider, resolved.model.id, resolved.effort) == (
        "openai-api",
        "gpt-6.1-sol",
        "medium",
    )
    with pytest.raises(Refusal) as caught:
        house.providers.resolve("gpt-5.5", "ultra")
    assert caught.value.body.data["choices"] == ["low", "medium", "high", "xhigh"]


def test_a_default_of_another_company_is_refused_unless_the_prompt_names_a_model(
    make_house: MakeHouse,
) -> None:
    house = make_house("openai-api", name="claude-opus-5-5")
    with pytest.raises(Refusal) as caught:
        house.providers.resolve(None, None)

    assert caught.value.body.data["provider"] == "openai-api"
    assert house.providers.resolve("gpt-5.5", None).model.id == "gpt-5.5"


@pytest.mark.parametrize("compatible", [False, True])
def test_a_named_model_runs_where_there_is_no_list_to_check_it(
    make_house: MakeHouse, compatible: bool
) -> None:
    house = make_house(name="gpt-whatever", compatible=compatible)

    assert house.providers.resolve(None, None).model.id == "gpt-whatever"
    assert house.providers.active().provider.models()[0].id == "gpt-whatever"


def test_settings_that_do_not_do_what_they_say_are_warned_of(make_house: MakeHouse) -> None:
    house = make_house("openai-api")
    assert house.providers.setting_warnings() == ()
    house.settings = Settings(
        model=Model(provider="openai-api", name="claude-opus-5-5"),
        openai=OpenAI(models=(ModelEntry("gpt-5.5", 99_999_999, None),), websocket="on"),
    )
    assert house.providers.setting_warnings() == (
        "openai.websocket is on, and calls go over HTTP all the same",
        "claude-opus-5-5 is no model of openai-api: turns that name no model fail",
        "the context_window of gpt-5.5 is above the model's largest, which is used",
    )
    assert make_house("demo", name="claude-opus-5-5").providers.setting_warnings() == ()


# --- waiting for a list ---


def fetch_if_needed(house: House, model: str | None) -> None:
    """What a prompt does before it is recorded."""
    if house.providers.needs_list(model):
        house.providers.fetch_now(Cancel())


def test_a_prompt_waits_for_the_list_that_it_needs(make_house: MakeHouse) -> None:
    house = make_house("anthropic-api")
    house.login("anthropic-api", check=False)
    house.bench.server.play([], models=[OPUS])
    fetch_if_needed(house, None)
    fetch_if_needed(house, None)

    assert house.providers.resolve(None, None).model.id == "claude-opus-5-5"
    assert len(house.bench.server.requests()) == 1


def test_a_list_that_does_not_come_fails_with_its_cause(make_house: MakeHouse) -> None:
    house = make_house("anthropic-api")
    with pytest.raises(NotLoggedIn):
        fetch_if_needed(house, None)
    house.login("anthropic-api", check=False)
    house.bench.server.play([], model_answers=[{"error": {"status": 403, "body": "no"}}])
    with pytest.raises(ApiError):
        fetch_if_needed(house, None)


def test_a_model_whose_limit_is_configured_needs_no_list(make_house: MakeHouse) -> None:
    house = make_house(
        "anthropic-api", anthropic_models=(ModelEntry("claude-opus-5-5", None, 100),)
    )
    house.login("anthropic-api", check=False)
    fetch_if_needed(house, None)
    house.bench.server.play([{"pieces": [{"text": "fine"}]}])
    provider = house.providers.get("anthropic-api")

    assert fold(provider.stream(REQUEST, Cancel())).message.text == "fine"
    assert house.bench.server.bodies()[0]["max_tokens"] == 100


def test_openai_never_waits_for_its_list(make_house: MakeHouse) -> None:
    house = make_house("openai-api")
    fetch_if_needed(house, "gpt-9")

    assert house.bench.server.requests() == []


def test_a_compatible_server_lists_its_models_when_none_is_named(make_house: MakeHouse) -> None:
    house = make_house(compatible=True)
    fetch_if_needed(house, None)

    assert house.providers.resolve(None, None).model.id == "fake-model"
    house.bench.server.play([{"pieces": [{"text": "fine"}]}])
    provider = house.providers.get("compatible")
    request = Request("fake-model", REQUEST.messages)
    assert fold(provider.stream(request, Cancel())).message.text == "fine"


def test_a_compatible_provider_without_a_server_names_the_key(make_house: MakeHouse) -> None:
    house = make_house("compatible")
    with pytest.raises(ApiError, match=r"compatible\.base_url"):
        next(house.providers.get("compatible").stream(REQUEST, Cancel()))


def test_a_server_that_is_down_is_a_transport_failure(make_house: MakeHouse) -> None:
    house = make_house("anthropic-api")
    house.login("anthropic-api", check=False)
    house.bench.server.play([], model_answers=[{"cut": True}] * 4)
    with pytest.raises(TransportFailed):
        fetch_if_needed(house, None)
