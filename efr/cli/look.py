"""What the terminal can show, from the environment and the `[render]` settings.

The settings' own faults never stop a command: the defaults are used and one line says why.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from efr.base.root_rules import RootError, root
from efr.cli.render.paint import DEFAULTS, BadColor, ColorMode, Palette, palette
from efr.config.errors import ConfigError
from efr.config.load import load
from efr.config.schema import Render, Settings

_NO_LINKS = ("dumb", "linux", "ansi", "vt100", "vt220")  # they would print the target


class Look(Struct, frozen=True):
    """How the command shows things. `fault`: what is wrong with the settings, ""."""

    colors: Palette
    render: Render
    fault: str = ""


def look(env: Mapping[str, str], *, terminal: bool) -> Look:
    """The look for output to a terminal, or to something else, which gets bare text."""
    settings, fault = _settings(env)
    render = settings.render
    mode = color_mode(env) if terminal else ColorMode.PLAIN
    links = terminal and env.get("TERM", "") not in _NO_LINKS
    try:
        given = {**_palette_file(render.palette, env.get("HOME", "")), **_colors(render)}
        return Look(palette(mode, links=links, colors=given), render, fault)
    except (BadColor, PaletteError) as exc:
        return Look(palette(mode, links=links), render, fault or f"config.toml: {exc}")


def color_mode(env: Mapping[str, str]) -> ColorMode:
    """`NO_COLOR` wins; truecolor only where the terminal says so."""
    if env.get("NO_COLOR"):
        return ColorMode.NONE
    return ColorMode.TRUE if env.get("COLORTERM") in {"truecolor", "24bit"} else ColorMode.SIXTEEN


def is_smart(env: Mapping[str, str]) -> bool:
    """Whether a terminal can move its cursor."""
    return env.get("TERM", "") not in {"", "dumb"}


def _settings(env: Mapping[str, str]) -> tuple[Settings, str]:
    try:
        return load(f"{root(env, 'config')[0]}/config.toml", env, rules=False), ""
    except ConfigError as exc:
        return Settings(), f"config.toml: {exc}; the defaults are used"
    except RootError as exc:
        return Settings(), str(exc)


class PaletteError(ValueError):
    """The file of `render.palette` is none."""


def _palette_file(path: str | None, home: str) -> dict[str, int | str]:
    """The colours of the theme file, by role. Raises PaletteError."""
    if path is None:
        return {}
    import tomllib
    from pathlib import Path

    found = Path(home + path[1:] if path.startswith("~") else path)
    try:
        colors = tomllib.loads(found.read_text("utf-8")).get("colors", {})
    except (OSError, ValueError) as exc:
        raise PaletteError(f"render.palette {found}: {exc}") from exc
    flat: dict[str, int | str] = {}
    for role, value in colors.items():
        parts = value.items() if isinstance(value, dict) else [("", value)]
        flat |= {f"{role}.{part}" if part else role: color for part, color in parts}
    for role, color in flat.items():
        if role not in DEFAULTS or not isinstance(color, int | str):
            raise PaletteError(f"render.palette {found}: {role} is no colour role")
    return flat


def _colors(render: Render) -> dict[str, int | str]:
    """The user's colours by role."""
    given: dict[str, int | str] = {}
    for role in render.colors.__struct_fields__:
        value = getattr(render.colors, role)
        if role == "diff":
            parts = {part: getattr(value, part) for part in value.__struct_fields__}
            given |= {f"diff.{part}": one for part, one in parts.items() if one is not None}
        elif value is not None:
            given[role] = value
    return given
