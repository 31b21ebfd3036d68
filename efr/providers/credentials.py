"""Stored logins: one file per provider, secrets/<id>.json, readable by the user alone.

Blocks on the file system; any thread. A file or directory that others can reach, or a symbolic
link in its place, is refused and never repaired. Keys never reach a log line, an error or a repr.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.base.files import NotPrivate, make_private_dir, read_private, write_atomic
from efr.providers.errors import NotLoggedIn, TokenFailed
from efr.providers.provider import Token
from efr.wire import codec
from efr.wire.errors import BadValue

RECORD_LIMIT_BYTES: Final = 256 * 1024  # far above any token set
RECORD_VERSION: Final = 1

_ID: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_ANTHROPIC_PREFIXES: Final = ("sk-ant-",)
_OPENAI_PREFIXES: Final = ("sk-proj-", "sk-svcacct-", "sk-")
KEY_PREFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic-api": _ANTHROPIC_PREFIXES,
    "openai-api": _OPENAI_PREFIXES,
    "compatible": _ANTHROPIC_PREFIXES + _OPENAI_PREFIXES,
}  # the longest known prefix first
_TAIL: Final = 4
_TAIL_NEEDS: Final = 12  # characters behind the prefix; fewer, and four of them say too much


class ApiKey(Struct, frozen=True, tag_field="kind", tag="api_key"):
    """A key that the user typed."""

    version: Literal[1]
    saved_at_us: int
    key: str

    def __repr__(self) -> str:
        return "ApiKey(***)"


class OauthTokens(Struct, frozen=True, tag_field="kind", tag="oauth", omit_defaults=True):
    """Tokens of a subscription login."""

    version: Literal[1]
    saved_at_us: int
    access: str
    refresh: str | None = None
    id_token: str | None = None
    expires_at_us: int | None = None
    account_id: str | None = None

    def __repr__(self) -> str:
        return "OauthTokens(***)"


Credential = ApiKey | OauthTokens


class CredentialUnsafe(Exception):
    """A record or its directory is not private, or the record is broken. Names the path."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} {why}")
        self.path = path
        self.why = why


class CredentialStore:
    """The secrets directory."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock

    def read(self, provider: str) -> Credential | None:
        """The record, None when there is none. Raises CredentialUnsafe."""
        path = self._path(provider)
        try:
            body = read_private(path, RECORD_LIMIT_BYTES)
        except FileNotFoundError:
            return None
        except NotPrivate as exc:
            raise CredentialUnsafe(exc.path, exc.why) from exc
        try:
            record: Credential = codec.decode(body, Credential)
        except BadValue as exc:
            raise CredentialUnsafe(path, f"is not a credential record ({exc.where})") from None
        return record

    def is_there(self, provider: str) -> bool:
        """Whether something has the record's name, readable or not."""
        return os.path.lexists(self._path(provider))

    def save_key(self, provider: str, key: str) -> None:
        """Stores a key in place of what was there. Raises CredentialUnsafe, OSError."""
        self._save(provider, ApiKey(RECORD_VERSION, self._clock.now_us(), key))

    def save_tokens(self, provider: str, tokens: OauthTokens) -> None:
        """Stores the tokens of a subscription. Raises CredentialUnsafe, OSError."""
        self._save(provider, tokens)

    def delete(self, provider: str) -> bool:
        """Whether a record was there. Raises CredentialUnsafe rather than touch a link."""
        path = self._path(provider)
        with contextlib.suppress(CredentialUnsafe):
            if self.read(provider) is None:
                return False
        if path.is_symlink():
            raise CredentialUnsafe(path, "is a symbolic link")
        path.unlink()
        return True

    def _save(self, provider: str, record: Credential) -> None:
        path = self._path(provider)
        make_private_dir(self._directory)
        try:
            read_private(path, RECORD_LIMIT_BYTES)  # refuses what it could not read back
        except FileNotFoundError:
            pass
        except NotPrivate as exc:
            raise CredentialUnsafe(exc.path, exc.why) from exc
        write_atomic(path, codec.encode(record), 0o600)

    def _path(self, provider: str) -> Path:
        if _ID.fullmatch(provider) is None:
            raise ValueError("not a credential id")
        return self._directory / f"{provider}.json"


class StoredKey:
    """A token source over an API key; it reads the file at each call."""

    refreshable = False

    def __init__(self, store: CredentialStore, provider: str) -> None:
        self._store = store
        self._provider = provider

    def access_token(self, cancel: Cancel) -> Token:
        """Raises NotLoggedIn, TokenFailed."""
        token = self.optional()
        if token is None:
            raise NotLoggedIn
        return token

    def optional(self) -> Token | None:
        """The key, None when there is none. Raises TokenFailed."""
        record = readable(self._store, self._provider)
        if record is None:
            return None
        if not isinstance(record, ApiKey):
            raise TokenFailed("the stored login is no API key")
        return Token(record.key)

    def invalidate(self, refused_secret: str) -> None:
        """A key cannot be renewed: nothing to forget."""


def readable(store: CredentialStore, provider: str) -> Credential | None:
    """The record, None when there is none. Raises TokenFailed for one that is refused."""
    try:
        return store.read(provider)
    except CredentialUnsafe as exc:
        raise TokenFailed(str(exc)) from exc


def key_hint(provider: str, key: str) -> str:
    """The known prefix, dots, and the last four characters of a key that is long enough."""
    prefixes = KEY_PREFIXES.get(provider, ())
    prefix = next((known for known in prefixes if key.startswith(known)), "")
    rest = key[len(prefix) :]
    return f"{prefix}...{rest[-_TAIL:] if len(rest) >= _TAIL_NEEDS else ''}"


def key_problem(provider: str, key: str) -> str | None:
    """Why a key cannot be one, without showing it; None when its form is fine."""
    tests: tuple[tuple[Callable[[], bool], str], ...] = (
        (lambda: not key, "the key is empty"),
        (lambda: any(character.isspace() for character in key), "the key has a space in it"),
        (lambda: not (key.isascii() and key.isprintable()), "the key has a character no key has"),
        (
            lambda: provider == "openai-api" and key.startswith("sk-admin-"),
            "an admin key cannot call models",
        ),
    )
    return next((words for applies, words in tests if applies()), None)
