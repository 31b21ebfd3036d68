"""What the sandbox reports about a call, as muted rows under its result. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from efr.cli.render.spans import MUTED, Line, hang, row
from efr.text.visible import visible_line

if TYPE_CHECKING:
    from efr.wire import types as t

_REASONS = {
    "not_allowed": "not allowed",
    "private_address": "a private address",
    "sni_mismatch": "another name in the handshake",
    "upload_limit": "upload limit",
    "method": "its HTTP method",
    "ip_literal": "an address in place of a name",
    "not_tls": "no TLS",
    "bad_request": "a bad request",
    "limit": "connection limit",
    "denied": "denied",
    "unknown": "blocked",
}


def sandbox_rows(summary: t.SandboxSummary | None, columns: int) -> list[Line]:
    """One row for each kind of fact that a person should see."""
    texts = _texts(summary) if summary is not None else []
    return [line for text in texts for line in hang(row(f"  {text}", MUTED), columns, 4)]


def _texts(summary: t.SandboxSummary) -> list[str]:
    texts = [_blocked(item) for item in summary.blocked]
    if summary.blocked_more:
        texts.append(f"{summary.blocked_more} more refused connections")
    if summary.background_stopped:
        texts.append(f"stopped in the background: {_names(summary.background_stopped)}")
    if summary.survivors:
        texts.append(f"could not be ended: {_names(summary.survivors)}")
    refused = sum(item.count for item in summary.bus_refused) + summary.bus_refused_more
    if refused:
        texts.append(f"{refused} refused bus {'call' if refused == 1 else 'calls'}")
    if deleted := len(summary.cache_deletes) + summary.cache_deletes_more:
        texts.append(f"{deleted} {'delete' if deleted == 1 else 'deletes'} in a real cache")
    return texts


def _blocked(item: t.Blocked) -> str:
    times = f", {item.count} times" if item.count > 1 else ""
    reason = _REASONS.get(item.reason.value, "blocked")
    return f"blocked {visible_line(item.host)}:{item.port} ({reason}{times})"


def _names(names: tuple[str, ...]) -> str:
    return visible_line(", ".join(names))
