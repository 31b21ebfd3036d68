"""The subscription's tokens: one refresh for all, what a failed one means (agent tests 54–59)."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from efr.base.cancel import Cancel, Cancelled
from efr.providers import oauth
from efr.providers.credentials import CredentialStore, OauthTokens
from efr.providers.errors import NotLoggedIn, TokenFailed
from efr.providers.oauth import Issuer
from efr.providers.subscription import StoredTokens, SubscriptionLogin
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.harness.clock import FakeClock
from tests.providers.conftest import Bench

MINUTE_US = 60_000_000
LIMIT_S = 20


class House:
    """A record, and refreshes under the test's hand."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.store = CredentialStore(folder / "secrets", self.clock)
        self.refreshed: list[str] = []
        self.failure: Exception | None = None
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Event()
        self.source = StoredTokens(self.store, self.clock, self.refresh)

    def save(self, minutes: float | None, access: str = "old", refresh: str | None = "r") -> None:
        now = self.clock.now_us()
        ends = None if minutes is None else now + round(minutes * MINUTE_US)
        saved = now - 60 * MINUTE_US
        self.store.save_tokens(
            "openai",
            OauthTokens(1, saved, access, refresh=refresh, expires_at_us=ends, account_id="a"),
        )

    def refresh(self, old: OauthTokens, cancel: Cancel) -> OauthTokens:
        self.refreshed.append(old.access)
        self.begun.set()
        assert self.go.wait(LIMIT_S)
        cancel.raise_if_cancelled()
        if self.failure is not None:
            raise self.failure
        now = self.clock.now_us()
        return OauthTokens(1, now, "new", refresh="r2", expires_at_us=now + 60 * MINUTE_US)

    def token(self) -> str:
        return self.source.access_token(Cancel()).secret

    def stored(self) -> str:
        record = self.store.read("openai")
        assert isinstance(record, OauthTokens)
        return record.access


@pytest.fixture(name="house")
def _house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_a_token_with_time_left_is_used_as_it_is(house: House) -> None:
    house.save(6)
    token = house.source.access_token(Cancel())
    assert (token.secret, token.account_id) == ("old", "a")
    house.save(None)
    assert house.token() == "old", "an end that nobody told never comes"
    assert house.refreshed == []


def test_no_record_and_one_of_the_wrong_kind(house: House) -> None:
    with pytest.raises(NotLoggedIn):
        house.token()
    house.store.save_key("openai", "sk-x")
    with pytest.raises(TokenFailed):
        house.token()


def test_ten_callers_make_one_refresh(house: House) -> None:
    house.save(4)
    house.go.clear()
    got: list[tuple[str, str]] = []
    callers = [
        threading.Thread(target=lambda: got.append((house.token(), house.stored())))
        for _ in range(10)
    ]
    for caller in callers:
        caller.start()
    assert house.begun.wait(LIMIT_S)
    house.go.set()
    for caller in callers:
        caller.join(LIMIT_S)
    assert got == [("new", "new")] * 10, "saved before it is used"
    assert house.refreshed == ["old"]


def test_a_refresh_that_fails_leaves_a_token_that_lives(house: House) -> None:
    house.save(3)
    house.failure = TokenFailed("no network")
    assert house.token() == "old"
    house.clock.advance(180)
    with pytest.raises(TokenFailed, match="no network"):
        house.token()
    house.failure = None
    assert house.token() == "new"


def test_a_refused_token_is_refreshed_once(house: House) -> None:
    house.save(60)
    house.source.invalidate("old")
    house.failure = TokenFailed("revoked")
    with pytest.raises(TokenFailed, match="revoked"):
        house.token()
    house.failure = None
    assert house.token() == "new"
    assert house.token() == "new"
    assert house.refreshed == ["old", "old"]


def test_a_caller_that_is_cancelled_leaves_the_refresh_to_the_next(house: House) -> None:
    house.save(1)
    house.go.clear()
    leader, follower = Cancel(), Cancel()
    ends: list[str] = []

    def ask(name: str, cancel: Cancel) -> None:
        try:
            ends.append(f"{name} {house.source.access_token(cancel).secret}")
        except Cancelled:
            ends.append(f"{name} cancelled")

    first = threading.Thread(target=ask, args=("leader", leader))
    first.start()
    assert house.begun.wait(LIMIT_S)
    others = [
        threading.Thread(target=ask, args=("follower", follower)),
        threading.Thread(target=ask, args=("last", Cancel())),
    ]
    for other in others:
        other.start()
    follower.cancel()
    others[0].join(LIMIT_S)
    leader.cancel()
    house.go.set()
    for thread in (first, others[1]):
        thread.join(LIMIT_S)
    assert sorted(ends) == ["follower cancelled", "last new", "leader cancelled"]


def test_a_logout_during_a_refresh_stays_one(house: House) -> None:
    house.save(1)
    house.go.clear()
    failed: list[Exception] = []

    def ask() -> None:
        try:
            house.token()
        except NotLoggedIn as exc:
            failed.append(exc)

    caller = threading.Thread(target=ask)
    caller.start()
    assert house.begun.wait(LIMIT_S)
    house.store.delete("openai")
    house.go.set()
    caller.join(LIMIT_S)
    assert len(failed) == 1
    assert house.store.read("openai") is None


# --- the token requests, against a real server ---


def jwt(**claims: Any) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"e30.{body}.c2ln"


def test_the_page_to_open_has_all_its_parameters(bench: Bench) -> None:
    attempt = oauth.begin(Issuer(), "efr", lambda size: "v" * size)
    url = urlsplit(attempt.url)
    assert f"{url.scheme}://{url.netloc}{url.path}" == "https://auth.openai.com/oauth/authorize"
    digest = hashlib.sha256(attempt.verifier.encode()).digest()
    assert parse_qs(url.query, strict_parsing=True) == {
        "response_type": ["code"],
        "client_id": ["app_EMoamEEZ73f0CkXaXp7hrann"],
        "redirect_uri": ["http://127.0.0.1:1455/auth/callback"],
        "scope": ["openid profile email offline_access"],
        "code_challenge": [base64.urlsafe_b64encode(digest).decode().rstrip("=")],
        "code_challenge_method": ["S256"],
        "id_token_add_organizations": ["true"],
        "codex_cli_simplified_flow": ["true"],
        "state": [attempt.state],
        "originator": ["efr"],
    }
    assert attempt.verifier not in repr(attempt)
    assert oauth.begin(Issuer(), "efr").verifier != oauth.begin(Issuer(), "efr").verifier
    assert not attempt.is_state("")
    assert not attempt.is_state("ü\ud800")


def test_a_code_becomes_tokens(bench: Bench) -> None:
    issuer = Issuer(bench.server.root, port=1)
    attempt = oauth.begin(issuer, "efr")
    inner = {"https://api.openai.com/auth": {"chatgpt_account_id": "acc-1"}}
    access = jwt(chatgpt_account_id="other")
    answer = {"access_token": access, "refresh_token": "r", "id_token": jwt(**inner)}
    bench.server.play([], token_answers=[{"json": {**answer, "expires_in": 3600}}])

    tokens = oauth.exchange(bench.sender, issuer, attempt, "the code", Cancel())

    assert tokens.account_id == "acc-1"
    assert tokens.expires_at_us == bench.clock.now_us() + 3600 * 1_000_000
    (request,) = bench.server.requests()
    assert request["headers"]["content-type"] == "application/x-www-form-urlencoded"
    assert request["headers"]["accept"] == "application/json"
    assert {name: value for name, (value,) in parse_qs(request["body"]).items()} == {
        "grant_type": "authorization_code",
        "client_id": issuer.client_id,
        "code": "the code",
        "redirect_uri": issuer.redirect_uri,
        "code_verifier": attempt.verifier,
    }


def test_a_refresh_may_leave_out_what_stays(bench: Bench) -> None:
    issuer = Issuer(bench.server.root)
    old = OauthTokens(1, 5, "a1", refresh="r1", id_token="i1", account_id="acc")
    bench.server.play([], token_answers=[{"json": {"access_token": jwt(exp=2_000_000_000)}}])

    fresh = oauth.refresh(bench.sender, issuer, old, Cancel())

    assert (fresh.refresh, fresh.id_token, fresh.account_id) == ("r1", "i1", "acc")
    assert fresh.expires_at_us == 2_000_000_000 * 1_000_000
    (request,) = bench.server.requests()
    assert parse_qs(request["body"])["grant_type"] == ["refresh_token"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            {"error": {"status": 400, "body": {"error": "invalid_grant"}}},
            "the server answered 400: invalid_grant",
        ),
        (
            {"error": {"status": 401, "body": {"error": {"message": "bad sekrit " + "x" * 400}}}},
            "the server answered 401: bad [key] " + "x" * 265,
        ),
        ({"error": {"status": 503, "body": "busy"}}, "the server answered 503: "),
        ({"json": {"expires_in": 5}}, "the answer holds no access token"),
        ({"json": []}, "is no object"),
        ({"json": "{"}, "could not be read"),
    ],
)
def test_a_bad_answer_says_what_without_a_secret(bench: Bench, answer: Any, told: str) -> None:
    bench.server.play([], token_answers=[answer])
    old = OauthTokens(1, 5, "a1", refresh="sekrit")

    with pytest.raises(TokenFailed) as caught:
        oauth.refresh(bench.sender, Issuer(bench.server.root), old, Cancel())

    assert told in caught.value.cause
    assert caught.value.passing == any(word in told for word in ("503", "no object", "be read"))
    assert len(caught.value.cause) <= 300
    assert "sekrit" not in caught.value.cause
    assert len(bench.server.requests()) == 1, "a server that answered is not asked again"


def test_a_server_that_is_not_there(bench: Bench) -> None:
    old = OauthTokens(1, 5, "a1", refresh="sekrit")
    with pytest.raises(TokenFailed, match="did not answer"):
        oauth.refresh(bench.sender, Issuer("http://127.0.0.1:1"), old, Cancel())


@pytest.mark.parametrize("token", ["", "a.b", "a.!!!.c", "a.e30.c", "a.WzFd.c", "a.//8=.c"])
def test_a_token_that_says_nothing(bench: Bench, token: str) -> None:
    bench.server.play([], token_answers=[{"json": {"access_token": token or "x"}}])
    old = OauthTokens(1, 5, "a1", refresh="r", expires_at_us=7)
    fresh = oauth.refresh(bench.sender, Issuer(bench.server.root), old, Cancel())
    assert (fresh.expires_at_us, fresh.account_id) == (None, None)


def test_a_login_that_takes_too_long(bench: Bench, tmp_path: Path) -> None:
    store = CredentialStore(tmp_path / "secrets", bench.clock)
    issuer = Issuer(bench.server.root, port=0)
    said: list[str] = []
    with pytest.raises(Refusal) as caught:
        SubscriptionLogin(store, bench.sender, issuer, limit_s=0).run("efr", said.append, Cancel())
    assert caught.value.body.code == t.ErrorCode.CANCELLED
    assert len(said) == 1
