"""config.toml to `Settings`: reads the file, checks it whole, lays the variables over it.

A missing file is an empty one. The first error wins and nothing of a broken file applies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from efr.base.log_filter import BadLogFilter, parse_filter
from efr.config.errors import ConfigError
from efr.config.schema import RESTART_KEYS, Settings

OVERRIDES = {"EFR_LOG": "log", "EFR_SCREEN": "screen"}

_WHERE = re.compile(r"^(?P<what>.*?) - at `(?:key` in `)?(?P<path>.*)`$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`")
_TOML_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)$")


def load(path: Path, env: Mapping[str, str]) -> Settings:
    """The settings of the file at `path` with the overrides of `env`. Raises ConfigError."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        text = b""
    except OSError as exc:
        raise ConfigError(f"cannot read {path}: {exc.strerror}") from exc
    settings = read(text)
    for variable, key in OVERRIDES.items():
        if value := env.get(variable, ""):
            settings = override(settings, key, value, f"env {variable}")
    return settings


def read(text: bytes) -> Settings:
    """The settings of a file's bytes. Raises ConfigError with the place of the first fault."""
    if not text:
        return Settings()  # the usual case of a new user, without loading the reader
    import tomllib

    try:
        document = tomllib.loads(text.decode())
    except UnicodeDecodeError as exc:
        raise ConfigError(f"the file is not UTF-8 (byte {exc.start})") from exc
    except tomllib.TOMLDecodeError as exc:
        place = _TOML_PLACE.search(str(exc))
        line, column = (int(n) for n in place.groups()) if place else (None, None)
        raise ConfigError(_TOML_PLACE.sub("", str(exc)).strip(), line=line, column=column) from exc
    return _convert(document)


def override(settings: Settings, key: str, value: str, source: str) -> Settings:
    """`settings` with one top-level key replaced. Raises ConfigError naming `source`."""
    document = msgspec.to_builtins(settings)
    document[key] = value
    try:
        return _convert(_without_unset(document))
    except ConfigError as exc:
        raise ConfigError(f"{exc.message} (from {source})", key=exc.key) from exc


def changed_restart_keys(old: Settings, new: Settings) -> tuple[str, ...]:
    """The dotted keys whose new value waits for a restart, sorted."""
    return tuple(sorted(key for key in RESTART_KEYS if _value(old, key) != _value(new, key)))


def keep_restart_keys(old: Settings, new: Settings) -> Settings:
    """`new`, but with the running values of the keys that need a restart."""
    document = msgspec.to_builtins(new)
    running = msgspec.to_builtins(old)
    for key in RESTART_KEYS:
        *tables, name = key.split(".")
        target, source = document, running
        for table in tables:
            target, source = target[table], source[table]
        target[name] = source[name]
    return _convert(_without_unset(document))


def _convert(document: object) -> Settings:
    try:
        settings = msgspec.convert(document, Settings)
    except msgspec.ValidationError as exc:
        raise _explain(str(exc)) from exc
    try:
        parse_filter(settings.log)
    except BadLogFilter as exc:
        raise ConfigError(str(exc), key="log") from exc
    return settings


def _explain(message: str) -> ConfigError:
    found = _WHERE.match(message)
    what, path = (found["what"], found["path"]) if found else (message, "$")
    key = path.removeprefix("$").removeprefix(".").replace("[...]", "")
    unknown = _UNKNOWN.match(what)
    if unknown:
        import difflib

        key = f"{key}.{unknown['name']}" if key else unknown["name"]
        near = difflib.get_close_matches(key, list(known_keys()), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return ConfigError(f"unknown key{hint}", key=key)
    return ConfigError(what[:1].lower() + what[1:], key=key or None)


def known_keys() -> Iterator[str]:
    """Every dotted key of the schema, tables included."""
    yield from _keys_of(Settings, "")


def _keys_of(table: type[msgspec.Struct], prefix: str) -> Iterator[str]:
    for field in msgspec.structs.fields(table):
        yield prefix + field.name
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _keys_of(field.type, f"{prefix}{field.name}.")


def _value(settings: Settings, key: str) -> object:
    value: object = settings
    for name in key.split("."):
        value = getattr(value, name)
    return value


def _without_unset(document: object) -> object:
    if isinstance(document, dict):
        return {k: _without_unset(v) for k, v in document.items() if v is not None}
    if isinstance(document, list | tuple):
        return [_without_unset(v) for v in document]
    return document
