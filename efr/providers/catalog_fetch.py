"""Fetches the model lists, and checks a key with the smallest request that runs no model.

Blocks the calling thread, at most 30 s an exchange. Lists are GETs: they are repeated on every
failure that may pass. A key check is sent once, so that the user hears at once what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.base.version import VERSION
from efr.providers import anthropic_messages, chat_completions, error_facts, openai_responses
from efr.providers.anthropic_messages import AnthropicBackend
from efr.providers.anthropic_models import anthropic_models
from efr.providers.canonical import Json
from efr.providers.catalog import Fetch, Fetched
from efr.providers.chat_completions import CompatibleBackend, base_url_of
from efr.providers.chat_models import compatible_models
from efr.providers.errors import (
    ApiError,
    DecodeFailed,
    Overloaded,
    RateLimited,
    Unauthorized,
)
from efr.providers.http import HttpAnswer, HttpCall, join_url
from efr.providers.key_watch import KeyWatch
from efr.providers.openai_models import api_models, model_ids, subscription_models
from efr.providers.openai_responses import Backend
from efr.providers.provider import Token, TokenSource
from efr.providers.provider_json import NotJson, parse
from efr.providers.retry import (
    SAFE_TO_REPEAT,
    Judge,
    Sender,
    Verdict,
    refusal_of,
    send_once,
    send_with_retries,
    server_wait_s,
)

DEADLINE_S: Final = 30.0  # a list is small; a prompt may be waiting for it
PATIENCE_S: Final = 30.0  # with the last exchange 60 s: as long as a prompt waits for a list
PAGES_MAX: Final = 100  # a list that says "more" for ever ends here
NOT_MODIFIED: Final = 304
_PAGE: Final = 1000

Headers = Mapping[str, str]
CheckKey = Callable[[str, Cancel], None]
"""Asks the provider about a key that is not stored yet. Raises ProviderError, Cancelled."""


def openai_fetch(sender: Sender, backend: Backend, tokens: TokenSource, keys: KeyWatch) -> Fetch:
    """The list of either OpenAI backend; the subscription's has a tag.

    A refused token that can be refreshed is refreshed once. When the new one is refused as well,
    no fetch refreshes again until one has worked: the cause is not the token.
    """
    may_refresh = tokens.refreshable

    def get(cancel: Cancel, tag: str | None, refresh: bool) -> tuple[Json, str | None] | None:
        generation = keys.begin()
        token = tokens.access_token(cancel)
        headers = dict(openai_responses.authorize(backend, token))
        if backend.subscription and tag is not None:
            headers["If-None-Match"] = tag
        query = f"client_version={VERSION}" if backend.subscription else ""
        try:
            lists = _Lists(sender, backend.base_url, headers, token, keys, generation)
            return lists.get(query, cancel)
        except Unauthorized:
            if not refresh:
                raise
        tokens.invalidate(token.secret)
        return get(cancel, tag, refresh=False)

    def fetch(cancel: Cancel, tag: str | None) -> Fetched | None:
        nonlocal may_refresh
        try:
            answer = get(cancel, tag, may_refresh)
        except Unauthorized:
            may_refresh = False
            raise
        may_refresh = tokens.refreshable
        if answer is None:
            return None
        value, new_tag = answer
        if backend.subscription:
            return Fetched(subscription_models(value), new_tag)
        return Fetched(api_models(model_ids(value)))

    return fetch


def anthropic_fetch(
    sender: Sender, backend: AnthropicBackend, tokens: TokenSource, keys: KeyWatch
) -> Fetch:
    """Every page of Anthropic's list."""

    def fetch(cancel: Cancel, tag: str | None) -> Fetched | None:
        generation = keys.begin()
        token = tokens.access_token(cancel)
        headers = anthropic_messages.authorize(backend, token)
        lists = _Lists(sender, backend.base_url, headers, token, keys, generation)
        entries: list[Json] = []
        after = ""
        for _ in range(PAGES_MAX):
            query = f"limit={_PAGE}" + (f"&after_id={quote(after, safe='')}" if after else "")
            answer = lists.get(query, cancel)
            page = answer[0] if answer is not None else {}
            new = _new_entries(page, entries)
            entries += new
            if not (isinstance(page, dict) and page.get("has_more") is True):
                return Fetched(anthropic_models(entries))
            if not new:
                raise DecodeFailed("a page of the model list names nothing new but says more")
            after = str(new[-1]["id"])
        raise DecodeFailed("the model list has too many pages")

    return fetch


def compatible_fetch(
    sender: Sender,
    backend: CompatibleBackend,
    token_of: Callable[[], Token | None],
    keys: KeyWatch,
) -> Fetch:
    """The list of a compatible server."""

    def fetch(cancel: Cancel, tag: str | None) -> Fetched | None:
        generation = keys.begin()
        base_url = base_url_of(backend)
        token = token_of()
        headers = chat_completions.authorize(token)
        answer = _Lists(sender, base_url, headers, token, keys, generation).get("", cancel)
        return Fetched(compatible_models(answer[0] if answer is not None else {}))

    return fetch


def check_key(sender: Sender, url: str, headers: Callable[[Token], Headers]) -> CheckKey:
    """A check by one GET that runs no model."""

    def check(key: str, cancel: Cancel) -> None:
        token = Token(key)
        call = HttpCall("GET", url, {**headers(token), **_JSON}, deadline_s=DEADLINE_S)
        _value(send_once(sender, call, cancel, _judge(sender, token)))  # a page takes any key

    return check


def list_url(base_url: str, query: str = "") -> str:
    return join_url(base_url, "/models", query)


_JSON: Final = {"Accept": "application/json"}


class _Lists(Struct, frozen=True):
    """One fetch: where, with what, and who hears whether the key was taken."""

    sender: Sender
    base_url: str
    headers: Headers
    token: Token | None
    keys: KeyWatch
    generation: int

    def __repr__(self) -> str:
        return "_Lists(***)"

    def get(self, query: str, cancel: Cancel) -> tuple[Json, str | None] | None:
        """The parsed list and its tag; None when the server says that nothing changed."""
        url = list_url(self.base_url, query)
        call = HttpCall("GET", url, {**self.headers, **_JSON}, deadline_s=DEADLINE_S)
        try:
            judge = _judge(self.sender, self.token)
            answer = send_with_retries(self.sender, call, cancel, judge, PATIENCE_S)
        except Unauthorized:
            self.keys.list_answered(self.generation, refused=True)
            raise
        except ApiError as exc:
            if exc.status != NOT_MODIFIED:
                raise
            self.keys.list_answered(self.generation, refused=False)
            return None
        self.keys.list_answered(self.generation, refused=False)
        tag = answer.header("etag")
        return _value(answer), tag


def _value(answer: HttpAnswer) -> Json:
    """The parsed body. Raises DecodeFailed, and ApiError when it is a web page."""
    text = answer.read_all().decode("utf-8", "replace")
    try:
        return parse(text)
    except NotJson as exc:
        page = error_facts.page_words(text)
        if page is not None:
            raise ApiError(answer.status, "no_json", page, foreign=True) from exc
        raise DecodeFailed(str(exc)) from exc


def _judge(sender: Sender, token: Token | None) -> Judge:
    def judge(answer: HttpAnswer, body: bytes) -> Verdict:
        secret = None if token is None else token.secret
        facts = error_facts.read_refusal(refusal_of(answer, body), secret)
        wait_s = server_wait_s(answer.header, sender.clock.now_us())
        match answer.status:
            case 401:
                return Verdict(Unauthorized(facts.message))
            case 429:
                return Verdict(RateLimited(wait_s), again=True, wait_s=wait_s)
            case 529:
                return Verdict(Overloaded(), again=True, wait_s=wait_s)
            case status:
                error = ApiError(status, facts.code or facts.type, facts.message, facts.foreign)
                return Verdict(error, again=status in SAFE_TO_REPEAT, wait_s=wait_s)

    return judge


def _new_entries(page: Json, known: list[Json]) -> list[Mapping[str, Json]]:
    entries = page.get("data") if isinstance(page, dict) else None
    known_ids = {entry["id"] for entry in known}
    return [
        entry
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict)
        and isinstance(entry.get("id"), str)
        and entry["id"] not in known_ids
    ]
