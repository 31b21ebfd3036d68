"""The subscription login as a protocol: the page to open, the two token requests, the claims.

Any thread; a token request blocks for 30 s at most. Authorization code with PKCE (RFC 6749,
RFC 7636). No code, verifier, state or token reaches a log line, an error or a repr. Signatures of
tokens are not checked: what is read of them decides nothing about security.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.providers.credentials import RECORD_VERSION, OauthTokens
from efr.providers.error_facts import KEY_PLACEHOLDER
from efr.providers.errors import DecodeFailed, TokenFailed, TransportFailed
from efr.providers.http import HttpAnswer, HttpCall
from efr.providers.provider_json import NotJson, parse
from efr.providers.retry import Sender, Verdict, send_with_retries
from efr.providers.server_values import object_of, text

TOKEN_LIMIT_S: Final = 30.0
_BUSY: Final = (408, 429)  # of an answer: the next one may be another
_MESSAGE_MAX_CHARS: Final = 300
_SCOPES: Final = "openid profile email offline_access"
_AUTH_CLAIM: Final = "https://api.openai.com/auth"
_ACCOUNT_CLAIM: Final = "chatgpt_account_id"
_VERIFIER_BYTES: Final = 48  # 64 characters; RFC 7636 asks for 43 to 128
_STATE_BYTES: Final = 32
_MICROSECONDS: Final = 1_000_000
_LATEST_S: Final = 2**40  # a time above this is no time


class Issuer(Struct, frozen=True):
    """Who gives out the tokens, and where on this machine its page leads back to."""

    base_url: str = "https://auth.openai.com"
    client_id: str = "app_EMoamEEZ73f0CkXaXp7hrann"
    port: int = 1455

    @property
    def redirect_uri(self) -> str:
        return f"http://127.0.0.1:{self.port}/auth/callback"


@dataclass(frozen=True)
class Attempt:
    """One login in progress."""

    url: str = field(repr=False)
    state: str = field(repr=False)
    verifier: str = field(repr=False)

    def is_state(self, state: str) -> bool:
        """Whether an answer belongs to this attempt; takes the same time for every wrong one."""
        return hmac.compare_digest(state.encode("utf-8", "replace"), self.state.encode())


def begin(
    issuer: Issuer, originator: str, token: Callable[[int], str] = secrets.token_urlsafe
) -> Attempt:
    """An attempt with fresh random values, and the page that the user opens for it."""
    verifier, state = token(_VERIFIER_BYTES), token(_STATE_BYTES)
    digest = hashlib.sha256(verifier.encode()).digest()
    query = {
        "response_type": "code",
        "client_id": issuer.client_id,
        "redirect_uri": issuer.redirect_uri,
        "scope": _SCOPES,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "id_token_add_organizations": "true",
        "codex_cli_simplified_flow": "true",
        "state": state,
        "originator": originator,
    }
    url = f"{issuer.base_url.rstrip('/')}/oauth/authorize?{urlencode(query)}"
    return Attempt(url, state, verifier)


def exchange(
    sender: Sender, issuer: Issuer, attempt: Attempt, code: str, cancel: Cancel
) -> OauthTokens:
    """The tokens for the code of the callback. Raises TokenFailed, Cancelled."""
    form = {
        "grant_type": "authorization_code",
        "client_id": issuer.client_id,
        "code": code,
        "redirect_uri": issuer.redirect_uri,
        "code_verifier": attempt.verifier,
    }
    answer = _ask(sender, issuer, form, (code, attempt.verifier), cancel)
    return _tokens(answer, None, sender.clock.now_us())


def refresh(sender: Sender, issuer: Issuer, old: OauthTokens, cancel: Cancel) -> OauthTokens:
    """New tokens for the old ones. Raises TokenFailed, Cancelled."""
    if old.refresh is None:
        raise TokenFailed("it has no refresh token")
    form = {
        "grant_type": "refresh_token",
        "client_id": issuer.client_id,
        "refresh_token": old.refresh,
    }
    answer = _ask(sender, issuer, form, (old.refresh,), cancel)
    return _tokens(answer, old, sender.clock.now_us())


def _ask(
    sender: Sender, issuer: Issuer, form: Mapping[str, str], hidden: tuple[str, ...], cancel: Cancel
) -> Mapping[str, Any]:
    """The answer of one token request, sent again only when nothing reached the server."""
    call = HttpCall(
        "POST",
        f"{issuer.base_url.rstrip('/')}/oauth/token",
        {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"},
        urlencode(form).encode(),
        deadline_s=TOKEN_LIMIT_S,
    )

    def judge(answer: HttpAnswer, body: bytes) -> Verdict:
        told = _problem(body) or answer.reason
        told = _without(f"the server answered {answer.status}: {told}", hidden)
        return Verdict(TokenFailed(told, passing=answer.status >= 500 or answer.status in _BUSY))

    try:
        body = send_with_retries(sender, call, cancel, judge, TOKEN_LIMIT_S).read_all()
        value = parse(body.decode("utf-8", "replace"))
    except TransportFailed as exc:
        raise TokenFailed(f"{issuer.base_url} did not answer: {exc.cause}", passing=True) from exc
    except (DecodeFailed, NotJson) as exc:
        raise TokenFailed(
            f"the answer of {issuer.base_url} could not be read", passing=True
        ) from exc
    if not isinstance(value, dict):
        raise TokenFailed(f"the answer of {issuer.base_url} is no object", passing=True)
    return value


def _tokens(answer: Mapping[str, Any], old: OauthTokens | None, now_us: int) -> OauthTokens:
    """The record of an answer. A refresh may leave out what stays as it was."""
    access = text(answer, "access_token")
    if access is None:
        raise TokenFailed("the answer holds no access token")
    id_token = text(answer, "id_token") or (old.id_token if old is not None else None)
    account = _account(id_token) or _account(access)
    return OauthTokens(
        RECORD_VERSION,
        now_us,
        access,
        refresh=text(answer, "refresh_token") or (old.refresh if old is not None else None),
        id_token=id_token,
        expires_at_us=_expiry(answer, access, now_us),
        account_id=account or (old.account_id if old is not None else None),
    )


def _expiry(answer: Mapping[str, Any], access: str, now_us: int) -> int | None:
    seconds = _seconds(answer.get("expires_in"))
    if seconds is not None:
        return now_us + seconds * _MICROSECONDS
    at = _seconds(_claims(access).get("exp"))
    return None if at is None else at * _MICROSECONDS


def _seconds(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 < value < _LATEST_S else None


def _account(token: str | None) -> str | None:
    claims = _claims(token) if token is not None else {}
    return text(object_of(claims, _AUTH_CLAIM), _ACCOUNT_CLAIM) or text(claims, _ACCOUNT_CLAIM)


def _claims(token: str) -> Mapping[str, Any]:
    """The payload of a JWT (RFC 7519); empty when the token is no such thing."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)).decode()
        value = parse(claims)
    except (binascii.Error, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _problem(body: bytes) -> str | None:
    """What an error answer says (RFC 6749 5.2, and the API's own form)."""
    try:
        value = parse(body.decode("utf-8", "replace"))
    except NotJson:
        return None
    if not isinstance(value, dict):
        return None
    error = value.get("error")
    if isinstance(error, dict):
        return text(error, "message") or text(error, "code")
    return text(value, "error_description") or text(value, "error")


def _without(message: str, hidden: tuple[str, ...]) -> str:
    for secret in hidden:
        message = message.replace(secret, KEY_PLACEHOLDER)
    return message[:_MESSAGE_MAX_CHARS]
