"""`efr status`: the daemon as it is, one fact a line."""

from __future__ import annotations

from efr.cli.dialog import open_connection
from efr.cli.exits import login_line
from efr.cli.printing import print_json
from efr.cli.run import Run
from efr.client.address import socket_path
from efr.text.numbers import duration_text
from efr.text.visible import visible_line
from efr.wire import methods as m
from efr.wire import types as t

KEY_COLUMNS = 14

Fact = tuple[str, str]


def status(run: Run) -> int:
    """Prints what `admin.status` says."""
    with open_connection(run) as connection:
        if run.args.get("--json"):
            print_json(connection.call_json("admin.status"))
            return 0
        found: m.AdminStatusResult = connection.call("admin.status")
    for name, text in facts(found, run.clock.now_us(), socket_path(run.env)):
        run.say(f"{name:<{KEY_COLUMNS}}{visible_line(text)}")
    if not any(one.logged_in for one in found.providers if one.provider != "demo"):
        run.note(f"no provider is logged in: {login_line(None)}")
    return 0


def facts(found: m.AdminStatusResult, now_us: int, socket: str) -> list[Fact]:
    """The lines, as pairs of a key and a text."""
    age = duration_text((now_us - t.time_to_us(found.started_at)) / 1_000_000)
    lines = [
        ("daemon", f"efrd {found.version}, protocol {found.protocol}, pid {found.pid}"),
        ("started", f"{found.started_at}, {age} ago"),
        ("socket", socket),
        ("screen", found.screen_backend),
        (
            "working",
            f"{_count(found.conversations, 'conversation')}, {_count(found.shells, 'shell')}",
        ),
    ]
    lines += [("provider", _provider(one, now_us)) for one in found.providers]
    lines += _config(found.config)
    if found.full_mode is not None:
        lines.append(("full mode", _full(found.full_mode)))
    lines += _sandbox(found.sandbox)
    if found.catalog is not None:
        lines.append(("catalog", catalog_text(found.catalog, now_us)))
    return lines


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _provider(one: t.ProviderStatus, now_us: int) -> str:
    parts = [one.provider + (" (active)" if one.active else "")]
    if one.provider == "demo":
        return f"{parts[0]}: built in, offline"
    if not one.logged_in:
        return f"{parts[0]}: not logged in"
    kind = one.login.value.replace("_", " ") if one.login is not None else "ready"
    parts.append(f"{kind} {one.key_hint}" if one.key_hint else kind)
    if one.expires_at is not None:
        parts.append(f"token until {one.expires_at}")
    if one.key_refused_at is not None:
        parts.append(f"REFUSED {_ago(one.key_refused_at, now_us)}")
    elif one.key_checked_at is not None:
        parts.append(f"answered {_ago(one.key_checked_at, now_us)}")
    return f"{parts[0]}: {', '.join(parts[1:])}"


def _ago(at: t.Time, now_us: int) -> str:
    return f"{duration_text((now_us - t.time_to_us(at)) / 1_000_000)} ago"


def _config(config: t.ConfigStatus | None) -> list[Fact]:
    if config is None:
        return []
    link = f" -> {config.symlink_target}" if config.symlink_target else ""
    lines = [("config", config.path + link + ("" if config.exists else " (no file)"))]
    if config.reload_error is not None:
        lines.append(("", f"not applied: {config_error_text(config.reload_error)}"))
    if config.restart_needed:
        lines.append(("", f"waits for a restart: {', '.join(config.restart_needed)}"))
    if config.held is not None:
        lines.append(("", f"held while full mode runs: {', '.join(config.held.loosens)}"))
    return lines


def config_error_text(error: t.ConfigFileError) -> str:
    """A fault of config.toml with its place."""
    place = f"line {error.line}, column {error.column}: " if error.line is not None else ""
    return f"{place}{error.key + ': ' if error.key else ''}{error.message}"


def _full(full: t.FullMode) -> str:
    if not full.allowed:
        return "not allowed (permissions.allow_full)"
    return f"refused: {full.refused.value.replace('_', ' ')}" if full.refused else "allowed"


def _sandbox(sandbox: t.SandboxStatus | None) -> list[Fact]:
    if sandbox is None:
        return []
    if sandbox.available:
        bwrap = f", bubblewrap {sandbox.bwrap_version}" if sandbox.bwrap_version else ""
        return [("sandbox", f"ready, network {sandbox.network_mode.value}{bwrap}")]
    lines = [("sandbox", f"not available: {sandbox.reason or 'no reason given'}")]
    return lines + ([("", sandbox.fix)] if sandbox.fix else [])


def catalog_text(catalog: t.Catalog, now_us: int) -> str:
    """Where the list of models came from, and how old it is."""
    origin = {
        t.CatalogOrigin.BACKEND: "from the provider",
        t.CatalogOrigin.CACHE: "from the last fetch",
        t.CatalogOrigin.BUILTIN: "built in",
        t.CatalogOrigin.MISSING: "no list yet",
    }[catalog.origin]
    provider = f"{catalog.provider}: " if catalog.provider else ""
    age = f", {_ago(catalog.fetched_at, now_us)}" if catalog.fetched_at is not None else ""
    return f"{provider}{origin}{age}"
