"""Stored logins: who may reach them, what is shown of them (agent tests 60, 62, 63)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from efr.base.cancel import Cancel
from efr.base.files import TEMPORARY_SUFFIX
from efr.providers import oauth
from efr.providers.credentials import (
    ApiKey,
    CredentialStore,
    CredentialUnsafe,
    OauthTokens,
    StoredKey,
    key_hint,
    key_problem,
)
from efr.providers.error_facts import Refusal
from efr.providers.errors import NotLoggedIn, TokenFailed
from efr.providers.http import HttpCall
from efr.providers.proxies import Proxies
from tests.harness.clock import FakeClock

KEY = "sk-ant-api03-" + "x" * 40 + "a1b2"


@pytest.fixture
def store(tmp_path: Path) -> CredentialStore:
    return CredentialStore(tmp_path / "secrets", FakeClock())


def path(store: CredentialStore, tmp_path: Path) -> Path:
    store.save_key("anthropic-api", KEY)
    return tmp_path / "secrets" / "anthropic-api.json"


def test_a_key_is_stored_for_the_user_alone(store: CredentialStore, tmp_path: Path) -> None:
    file = path(store, tmp_path)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert store.read("anthropic-api") == ApiKey(1, FakeClock().now_us(), KEY)
    assert os.listdir(file.parent) == ["anthropic-api.json"]


def test_tokens_are_stored_as_they_came(store: CredentialStore) -> None:
    tokens = OauthTokens(1, 5, "access", refresh="r", expires_at_us=9, account_id="acct")
    store.save_tokens("openai", tokens)

    assert store.read("openai") == tokens


def test_nothing_stored_is_none_and_a_new_key_works_at_once(store: CredentialStore) -> None:
    source = StoredKey(store, "openai-api")
    assert store.read("openai-api") is None
    assert source.optional() is None
    with pytest.raises(NotLoggedIn):
        source.access_token(Cancel())

    store.save_key("openai-api", "sk-1")
    assert source.access_token(Cancel()).secret == "sk-1"
    store.save_key("openai-api", "sk-2")
    assert source.access_token(Cancel()).secret == "sk-2"


def test_a_file_or_directory_that_others_can_reach_is_refused_and_not_changed(
    store: CredentialStore, tmp_path: Path
) -> None:
    file = path(store, tmp_path)
    for place, mode in ((file, 0o640), (file.parent, 0o755)):
        before = stat.S_IMODE(place.stat().st_mode)
        place.chmod(mode)
        with pytest.raises(CredentialUnsafe) as caught:
            store.read("anthropic-api")
        assert caught.value.path == place
        with pytest.raises(CredentialUnsafe):
            store.save_key("anthropic-api", "sk-new")
        assert stat.S_IMODE(place.stat().st_mode) == mode
        place.chmod(before)

    assert store.read("anthropic-api") == ApiKey(1, FakeClock().now_us(), KEY)


def test_a_link_in_place_of_the_record_is_refused_and_not_followed(
    store: CredentialStore, tmp_path: Path
) -> None:
    file = path(store, tmp_path)
    elsewhere = tmp_path / "elsewhere.json"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)

    with pytest.raises(CredentialUnsafe):
        store.read("anthropic-api")
    with pytest.raises(CredentialUnsafe):
        store.save_key("anthropic-api", "sk-new")
    with pytest.raises(CredentialUnsafe):
        store.delete("anthropic-api")
    assert file.is_symlink()
    assert elsewhere.exists()


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"{", b'{"kind":"api_key","version":2,"saved_at_us":1,"key":"x"}']
)
def test_a_broken_or_newer_record_is_refused_without_showing_it(
    store: CredentialStore, tmp_path: Path, content: bytes
) -> None:
    file = path(store, tmp_path)
    file.write_bytes(content)

    with pytest.raises(CredentialUnsafe) as caught:
        store.read("anthropic-api")
    assert caught.value.path == file
    with pytest.raises(TokenFailed):
        StoredKey(store, "anthropic-api").access_token(Cancel())


def test_half_a_file_of_a_write_that_was_killed_is_never_read(
    store: CredentialStore, tmp_path: Path
) -> None:
    file = path(store, tmp_path)
    half = file.with_name(f".{file.name}.x{TEMPORARY_SUFFIX}")
    half.write_bytes(b'{"kind":"api_k')

    assert store.read("anthropic-api") == ApiKey(1, FakeClock().now_us(), KEY)
    store.save_key("anthropic-api", "sk-new")
    assert store.read("anthropic-api") == ApiKey(1, FakeClock().now_us(), "sk-new")


def test_delete_says_whether_something_was_there(store: CredentialStore, tmp_path: Path) -> None:
    file = path(store, tmp_path)

    assert store.delete("anthropic-api")
    assert not store.delete("anthropic-api")
    assert not file.exists()


def test_a_broken_record_can_be_deleted(store: CredentialStore, tmp_path: Path) -> None:
    path(store, tmp_path).write_bytes(b"{")

    assert store.delete("anthropic-api")


@pytest.mark.parametrize("id_", ["", "../x", "a/b", ".x", "A", "x" * 65])
def test_ids_that_could_leave_the_directory_are_refused(store: CredentialStore, id_: str) -> None:
    with pytest.raises(ValueError, match="credential id"):
        store.read(id_)


def test_a_record_of_the_wrong_kind_is_no_token(store: CredentialStore) -> None:
    store.save_tokens("anthropic-api", OauthTokens(1, 0, "access"))

    with pytest.raises(TokenFailed):
        StoredKey(store, "anthropic-api").access_token(Cancel())


def test_no_repr_shows_a_secret(store: CredentialStore) -> None:
    store.save_key("openai-api", "sk-secret")
    shown = [
        repr(store.read("openai-api")),
        repr(OauthTokens(1, 0, "sk-secret", refresh="sk-secret")),
        repr(StoredKey(store, "openai-api").access_token(Cancel())),
        repr(HttpCall("GET", "http://x", {"Authorization": "sk-secret"}, b"sk-secret")),
        repr(Refusal(401, "No", b"sk-secret", "http://x/?key=sk-secret")),
        repr(Proxies({"ALL_PROXY": "http://me:secret@p"}).of("http", "x", 80)),
        repr(oauth.begin(oauth.Issuer("https://x"), "efr", lambda size: "secret")),
    ]

    assert all("secret" not in text for text in shown)


@pytest.mark.parametrize(
    ("provider", "key", "hint"),
    [
        ("anthropic-api", "sk-ant-" + "x" * 36 + "a1b2", "sk-ant-...a1b2"),
        ("anthropic-api", "sk-ant-" + "x" * 11, "sk-ant-..."),
        ("anthropic-api", "sk-ant-" + "x" * 8 + "a1b2", "sk-ant-...a1b2"),
        ("openai-api", "sk-proj-" + "x" * 20 + "c3d4", "sk-proj-...c3d4"),
        ("openai-api", "sk-svcacct-" + "x" * 20 + "c3d4", "sk-svcacct-...c3d4"),
        ("openai-api", "sk-" + "x" * 20 + "c3d4", "sk-...c3d4"),
        ("compatible", "secret", "..."),
        ("compatible", "x" * 12 + "e5f6", "...e5f6"),
    ],
)
def test_hints(provider: str, key: str, hint: str) -> None:
    assert key_hint(provider, key) == hint


@pytest.mark.parametrize(
    ("provider", "key", "refused"),
    [
        ("openai-api", "sk-good", False),
        ("compatible", "sk-admin-x", False),
        ("openai-api", "sk-admin-x", True),
        ("openai-api", "", True),
        ("anthropic-api", "sk-ant x", True),
        ("anthropic-api", "sk-ant\n", True),
        ("anthropic-api", "sk-größe", True),
        ("anthropic-api", "sk-\x07", True),
    ],
)
def test_forms_that_no_key_has(provider: str, key: str, refused: bool) -> None:
    problem = key_problem(provider, key)

    assert (problem is not None) is refused
    assert not key or key not in (problem or "")
