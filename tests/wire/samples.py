"""Every frozen fixture file and the value in it, for the bless program and the tests.

The values are of our own composition; the names follow the protocol's rule for fixtures.
"""

from __future__ import annotations

from enum import EnumType
from typing import Any, Final

from efr.wire import frames
from efr.wire import types as t
from efr.wire.codec import pretty, to_builtins
from efr.wire.devices import prove_message, qr_url
from efr.wire.fixtures import SETS, MethodSample, ProveVector, QrVector
from tests.wire import samples_shared as s
from tests.wire.samples_events import EVENTS
from tests.wire.samples_methods import ITEMS, PARAMS, QR, RESULTS

# Sets that only a reader has an `unknown` in: their files do not hold it.
READER_ONLY_UNKNOWN: Final = (
    "full_refusals",
    "undo_actions",
    "stop_reasons",
    "presences",
    "presence_sources",
    "chain_steps",
    "pause_reasons",
    "snapshot_phases",
)

_UNIONS: Final[dict[str, tuple[Any, ...]]] = {
    "grants": (
        t.GrantWrite("/home/ada/backup"),
        t.GrantHost("pypi.org", 443),
        t.GrantOpenNetwork(),
        t.GrantSocket("/run/docker.sock"),
        t.GrantBus(t.BusKind.SESSION),
        t.GrantBus(t.BusKind.SYSTEM),
        t.GrantDevice("/dev/ttyUSB0"),
        t.GrantUnmask("/home/ada/.config/app/state"),
        *(t.GrantDesktop(desktop) for desktop in t.DesktopKind),
        t.GrantNetView(),
        t.GrantBusFilter(t.BusKind.SESSION),
        t.GrantBusFilter(t.BusKind.SYSTEM),
        t.GrantUnknown(),
    ),
    "launches": (
        t.LaunchDirect(),
        t.LaunchContained(),
        t.LaunchContained((t.GrantOpenNetwork(),)),
        t.LaunchUnsandboxed(),
        t.LaunchContained((t.GrantNetView(),)),
        t.LaunchContained((t.GrantBusFilter(t.BusKind.SESSION),)),
    ),
    "draft_parts": (
        t.DraftText(index=1, offset=11, delta=" stimmt."),
        t.DraftReasoning(offset=24, delta=" Then it fails.", title="Reading the test"),
        t.DraftToolInput(call=0, tool="apply_patch", bytes=340),
        t.DraftContext(tokens=31_000, limit=180_000, window=200_000),
        t.DraftCompacting(trigger=t.CompactionTrigger.AUTO),
    ),
    "withdraw_targets": (t.WithdrawTurn(s.QUEUED_TURN), t.WithdrawNewestFromTty(s.TTY)),
    "undo_refusals": (
        t.UndoRefusalOff(),
        t.UndoRefusalNoTurn(),
        t.UndoRefusalTurnRunning(s.TURN),
        t.UndoRefusalUndoRunning(),
        t.UndoRefusalNotCovered(),
        t.UndoRefusalAlreadyUndone(),
        t.UndoRefusalNotUndone(),
        t.UndoRefusalConflicts(paths=("src/x.py",), more=2),
        t.UndoRefusalUnknown(),
    ),
    "always_saved": (
        t.AlwaysSaved(index=2, rule="git push to git.example"),
        t.AlwaysNotSaved(t.NotSavedReason.READ_ONLY),
        t.AlwaysUnknown(),
    ),
    "route_scopes": (t.RouteProject(s.PROJECT), t.RouteOutside(), t.RouteUnknown()),
    "route_switches": (
        t.RouteSwitchBack(title="why is the disk full", updated_at=s.ENVELOPE_AT),
        t.RouteSwitchPickedUp(title="make the tests pass 🙂", updated_at=s.ENVELOPE_AT),
        t.RouteSwitchNew(from_=s.OUTSIDE, reason=t.NewReasonScope()),
        t.RouteSwitchNew(reason=t.NewReasonIdle(hours=12)),
        t.RouteSwitchNew(
            from_=s.PLACE, reason=t.NewReasonMoved(tty=s.OTHER_TTY, title="why is the disk full")
        ),
    ),
}

_PROOF: Final[dict[str, Any]] = {
    "challenge": "c2FtcGxlIGNoYWxsZW5nZSBvZiAzMiBieXRlcyAhISE",
    "daemon_id": s.DAEMON,
    "protocol": 1,
    "device_id": s.DEVICE,
    "peer_node": "nPEER7CNTRL",
    "daemon_tailnet": "größe.example",
}


def files() -> dict[str, bytes]:
    """Every file below `fixtures/v1/` and its bytes, by name."""
    return {f"{name}.json": pretty(value) for name, value in values().items()}


def values() -> dict[str, Any]:
    """What each file holds, by its name without `.json`."""
    return {
        **{
            f"{method.replace('.', '_')}_params": MethodSample(method, params)
            for method, params in PARAMS.items()
        },
        **RESULTS,
        **ITEMS,
        **{f"events/{name}": event for name, event in EVENTS.items()},
        **{f"frames/{name}": frame for name, frame in _frames().items()},
        **{name: _set(name) for name in SETS},
        "device_prove_message": ProveVector(**_PROOF, message_hex=prove_message(**_PROOF).hex()),
        "pairing_qr_url": QrVector(payload=QR, url=qr_url(QR)),
    }


def _set(name: str) -> list[Any]:
    kind = SETS[name]
    if not isinstance(kind, EnumType):
        return list(_UNIONS[name])
    every: list[Any] = list(kind)
    return [e for e in every if e != "unknown" or name not in READER_ONLY_UNKNOWN]


def _frames() -> dict[str, Any]:
    no_id = t.ErrorBody(t.ErrorCode.INVALID, "the frame is not JSON")
    overflow = t.ErrorBody(t.ErrorCode.OVERFLOW, "the client reads too slowly", {"last_seq": 118})
    return {
        "client_request": frames.Request(
            id=3, method="lease.report", params=to_builtins(PARAMS["lease.report"])
        ),
        "client_cancel": frames.CancelFrame(cancel=3),
        "server_item": frames.ItemFrame(id=3, item=to_builtins(RESULTS["lease_report_result"])),
        "server_end": frames.EndFrame(id=3),
        "server_error": frames.ErrorFrame(id=3, error=overflow),
        "server_error_without_id": frames.ErrorFrame(error=no_id),
        "server_ack": frames.AckFrame(ack=3),
    }
