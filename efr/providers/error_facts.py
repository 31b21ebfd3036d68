"""What an error answer says, in whatever shape it comes. Pure.

Shared by every API; what the facts mean is each API's own question. A message is cut and loses
the key before it enters an error.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from efr.providers.canonical import Json
from efr.providers.errors import ProviderError
from efr.providers.provider_json import NotJson, compact, parse
from efr.providers.server_values import safe_url
from efr.providers.sse import EventTooLarge, SseDecoder

MESSAGE_MAX_CHARS: Final = 1000
_PAGE_MAX_CHARS: Final = 200  # a title is shorter
KEY_PLACEHOLDER: Final = "[key]"
_PAGE_READ_CHARS: Final = 16 * 1024  # where its title stands
_NO_SUCH_PATH: Final = (404, 405)
_PAGE: Final = re.compile(r"\s*<(?:!doctype\b|!--|\?xml\b|[a-z]+\b)", re.IGNORECASE)
_TITLE: Final = re.compile(r"<(title|h1)\b[^>]*>([^<]*)", re.IGNORECASE)
_UNSEEN: Final = re.compile(
    r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.IGNORECASE | re.DOTALL
)

ReadError = Callable[[Json], ProviderError]
"""Makes the class of an error out of an event or an error object."""


class ErrorFacts(Struct, frozen=True):
    """What an error body or event says."""

    message: str
    code: str | None = None
    type: str | None = None
    detail_code: str | None = None  # details.error_code of Anthropic
    resets_at: float | None = None  # seconds since 1970
    resets_in_s: float | None = None
    foreign: bool = False  # no answer of the API: a page, a redirect, a server without such a path

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name in (self.code, self.type) if name)


class Refusal(Struct, frozen=True):
    """An answer whose status is no success."""

    status: int
    reason: str
    body: bytes
    location: str | None = None  # where it redirects to

    def __repr__(self) -> str:
        return f"Refusal({self.status})"  # its body may quote the key


def read_refusal(refusal: Refusal, secret: str | None) -> ErrorFacts:
    """The facts of an error body of any known shape; the status reason when it has none."""
    if refusal.location is not None and 300 <= refusal.status < 400:
        told = f"it redirects to {safe_url(refusal.location)}, where no key is sent"
        return ErrorFacts(_scrub(told, secret), foreign=True)
    text = _first_data(refusal.body) or refusal.body.decode("utf-8", "replace")
    try:
        value = parse(text)
    except NotJson:
        page = page_words(text)
        told = page or text.strip() or refusal.reason
        foreign = refusal.status in _NO_SUCH_PATH or (page is not None and refusal.status < 500)
        return ErrorFacts(_scrub(told, secret), foreign=foreign)
    facts = read_value(value, refusal.reason, secret)
    if refusal.status in _NO_SUCH_PATH and not facts.names:  # as web frameworks say it
        return replace(facts, foreign=True)
    return facts


def _first_data(body: bytes) -> str | None:
    """The data of a body that is a stream of events, as some proxies refuse; None for another."""
    if not body.lstrip().startswith((b"data:", b"event:")):
        return None
    try:
        events = SseDecoder().feed(body + b"\n\n")
    except EventTooLarge:
        return None
    return events[0].data if events else None


def page_words(text: str) -> str | None:
    """What a web page is about; None for anything else."""
    text = text[:_PAGE_READ_CHARS]
    if _PAGE.match(text) is None:
        return None
    found = _TITLE.search(text)
    words = found[2] if found is not None and found[2].strip() else _UNSEEN.sub(" ", text)
    return f"a web page ({' '.join(html.unescape(words).split())[:_PAGE_MAX_CHARS]})"


def read_value(value: Json, reason: str, secret: str | None) -> ErrorFacts:
    """The same for a parsed value, such as an event of a stream."""
    if isinstance(value, dict):
        for name in ("error", "detail"):
            if value.get(name):
                value = value[name]
                break
    if not isinstance(value, dict):
        return ErrorFacts(_scrub(_words(value) or reason, secret))
    details = value.get("details")
    return ErrorFacts(
        message=_scrub(_words(value.get("message")) or reason, secret),
        code=_text(value, "code"),
        type=_text(value, "type"),
        detail_code=_text(details, "error_code") if isinstance(details, dict) else None,
        resets_at=_number(value, "resets_at"),
        resets_in_s=_number(value, "resets_in_seconds"),
    )


def _scrub(message: str, secret: str | None) -> str:
    """One line without the key; a proxy's error may be a whole page."""
    if secret:
        message = message.replace(secret, KEY_PLACEHOLDER)
    return " ".join(message.split())[:MESSAGE_MAX_CHARS]


def _words(value: Json) -> str:
    """A message; FastAPI's lists of problems and other values are shown as they are."""
    if isinstance(value, str):
        return value
    return compact(value) if isinstance(value, dict | list) and value else ""


def _text(value: Mapping[str, Json], name: str) -> str | None:
    member = value.get(name)
    if isinstance(member, int) and not isinstance(member, bool):
        return str(member)  # some servers number their codes
    return member if isinstance(member, str) and member else None


def _number(value: Mapping[str, Json], name: str) -> float | None:
    member = value.get(name)
    if isinstance(member, bool) or not isinstance(member, int | float):
        return None
    return float(member)
