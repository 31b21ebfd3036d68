"""config.toml to `Settings`: reads the file, checks it whole, lays the variables over it.

A missing file is an empty one. The first error wins and nothing of a broken file applies.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from efr.config.errors import MARK, ConfigError, marked
from efr.config.keys import KEYS, RESTART_KEYS
from efr.config.schema import Settings

if TYPE_CHECKING:
    from pathlib import Path

SIZE_LIMIT = 1024 * 1024  # bytes; more is no settings file

OVERRIDES = {"EFR_LOG": "log", "EFR_SCREEN": "screen"}


def load(path: Path | str, env: Mapping[str, str], *, rules: bool = True) -> Settings:
    """The settings of the file at `path` with the overrides of `env`. Raises ConfigError.

    Without `rules` the user's rules are not looked at: a command that only draws needs none, and
    efrd tells what is wrong with them.
    """
    settings = read(read_file(path), rules=rules)
    for variable, key in OVERRIDES.items():
        if value := env.get(variable, ""):
            settings = override(settings, key, value, f"env {variable}")
    return settings


def read_file(path: Path | str) -> bytes:
    """The bytes of the file, b"" when there is none. Raises ConfigError."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not block
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise ConfigError(f"cannot read {path}: it is no regular file")
            text = file.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        return b""
    except OSError as exc:
        raise ConfigError(f"cannot read {path}: {exc.strerror}") from exc
    if len(text) > SIZE_LIMIT:
        raise ConfigError(f"cannot read {path}: it has more than {SIZE_LIMIT} bytes")
    return text


def read(text: bytes, *, rules: bool = True) -> Settings:
    """The settings of a file's bytes. Raises ConfigError with the place of the first fault."""
    if not text:
        return Settings()  # the usual case of a new user, without loading the reader
    document = parse(text)
    return _checked(document, text.decode(), rules=rules)


def parse(text: bytes) -> dict[str, Any]:
    """The document of a file's bytes. Raises ConfigError for what is no TOML."""
    import tomllib

    try:
        decoded = text.decode()
        return tomllib.loads(decoded)
    except UnicodeDecodeError as exc:
        raise _not_utf8(text, exc) from exc
    except tomllib.TOMLDecodeError as exc:
        raise _no_toml(decoded, str(exc)) from exc
    except RecursionError as exc:
        raise ConfigError("the file nests its lists or tables too deep") from exc


def override(settings: Settings, key: str, value: str, source: str) -> Settings:
    """`settings` with one top-level key replaced. Raises ConfigError naming `source`."""
    try:
        given = _checked({key: value}, "")
    except ConfigError as exc:
        raise ConfigError(f"{exc.message} (from {source})", key=exc.key) from exc
    return msgspec.structs.replace(settings, **{key: getattr(given, key)})


def changed_restart_keys(old: Settings, new: Settings) -> tuple[str, ...]:
    """The dotted keys whose new value waits for a restart, sorted."""
    return tuple(sorted(key for key in RESTART_KEYS if value_of(old, key) != value_of(new, key)))


def keep_keys(old: Settings, new: Settings, keys: Iterable[str]) -> Settings:
    """`new`, but with the values that these keys have in `old`."""
    for key in keys:
        new = _replaced(new, key.split("."), value_of(old, key))
    return new


def value_of(settings: Settings, key: str) -> Any:
    """The value of a dotted key."""
    value: Any = settings
    for name in key.split("."):
        value = getattr(value, name)
    return value


def known_keys() -> Iterator[str]:
    """Every dotted key of the schema, tables included."""
    tables: set[str] = set()
    for key in KEYS:
        for end in range(1, key.count(".") + 1):
            table = ".".join(key.split(".")[:end])
            if table not in tables:
                tables.add(table)
                yield table
        yield key


def _replaced(table: Any, names: list[str], value: Any) -> Any:
    name, *rest = names
    inner = _replaced(getattr(table, name), rest, value) if rest else value
    return msgspec.structs.replace(table, **{name: inner})


def _checked(document: dict[str, Any], text: str, *, rules: bool = True) -> Settings:
    """The settings of a document. Raises ConfigError; places come from the text, if there is one.

    A good file is converted, and looked at for ranges and rules; the search for the error to
    report is loaded for a bad one.
    """
    try:
        settings = msgspec.convert(document, Settings)
    except msgspec.ValidationError:
        settings = None
    good = settings is not None and _in_range(document, "")
    if settings is not None and good and rules and settings.permissions.rules:
        from efr.config.rules import problems_of

        good = not any(any(problems_of(entry)) for entry in settings.permissions.rules)
    if not good:
        from efr.config.faults import first_fault

        raise first_fault(document, text)
    assert settings is not None
    return settings


def _in_range(document: Mapping[str, Any], prefix: str) -> bool:
    """Whether every value of a document of the right types is in its key's range."""
    for name, value in document.items():
        key = prefix + name
        if isinstance(value, dict):
            if not _in_range(value, f"{key}."):
                return False
            continue
        must = KEYS[key].range
        items = value if isinstance(value, list) else (value,)
        if must is not None and not all(map(must.fits, items)):
            return False
    return True


def _not_utf8(text: bytes, exc: UnicodeDecodeError) -> ConfigError:
    from efr.config.places import line_column

    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ConfigError("the file is UTF-16; save it as UTF-8", line=1, column=1)
    line, column = line_column(text[: exc.start].decode(), exc.start)
    return ConfigError(f"the file is not UTF-8 (byte {exc.start})", line=line, column=column)


def _no_toml(text: str, message: str) -> ConfigError:
    if text.startswith(MARK):
        return marked()
    found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if found is not None:
        return ConfigError(found[1], line=int(found[2]), column=int(found[3]))
    from efr.config.places import line_column

    line, column = line_column(text, len(text))
    what = message.removesuffix(" (at end of document)")
    return ConfigError(f"{what}, and the file ends here", line=line, column=column)
