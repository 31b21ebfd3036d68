"""Which type a fixture file holds, told by its name, and the form of such a file. Pure.

Facts: protocol, fixtures. Reading folders is `conform` and the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from types import GenericAlias
from typing import Any, Final, TypeVar

from efr.wire import frames
from efr.wire import types as t
from efr.wire.codec import decode, decode_event_object, from_builtins, pretty, read_json
from efr.wire.devices import prove_message, qr_url
from efr.wire.errors import BadValue
from efr.wire.events import kind_of
from efr.wire.scalars import U32, DaemonId, DeviceId, Wire
from efr.wire.shared.devices import QrPayload
from efr.wire.table import METHODS, Method

T = TypeVar("T")

# File: the set or union whose values it lists in the protocol's order. First the files that the
# protocol names, then one for each other set, so that every value is frozen.
SETS: Final[dict[str, Any]] = {
    "error_codes": t.ErrorCode,
    "scope_names": t.ScopeName,
    "input_waits": t.InputWait,
    "modes": t.Mode,
    "exit_kinds": t.ExitKind,
    "grants": t.Grant,
    "launches": t.Launch,
    "draft_parts": t.DraftPart,
    "withdraw_targets": t.WithdrawTarget,
    "undo_actions": t.UndoAction,
    "undo_reasons": t.UndoReason,
    "undo_refusals": t.UndoRefusal,
    "job_states": t.JobState,
    "job_stop_causes": t.JobStopBy,
    "held_reasons": t.HeldReason,
    "notice_kinds": t.NoticeKind,
    "block_reasons": t.BlockReason,
    "approval_decisions": t.ApprovalDecision,
    "always_saved": t.AlwaysOutcome,
    "not_saved_reasons": t.NotSavedReason,
    "bus_proxy_off_reasons": t.BusProxyOff,
    "judge_kinds": t.JudgeKind,
    "full_refusals": t.FullRefusal,
    "context_part_kinds": t.ContextPartKind,
    "route_scopes": t.RouteScope,
    "route_switches": t.RouteSwitch,
    "attach_hows": t.AttachHow,
    "forward_outcomes": t.ForwardOutcome,
    "shell_command_ends": t.ShellCommandEnd,
    "approved_bys": t.ApprovedBy,
    "search_kinds": t.SearchKind,
    "search_partials": t.SearchPartial,
    "pair_ends": t.PairEnd,
    "origins": t.Origin,
    "conversation_statuses": t.ConversationStatus,
    "compaction_triggers": t.CompactionTrigger,
    "change_kinds": t.ChangeKind,
    "bus_kinds": t.BusKind,
    "desktop_kinds": t.DesktopKind,
    "exit_sources": t.ExitSource,
    "path_classes": t.PathClass,
    "verdicts": t.Verdict,
    "risks": t.Risk,
    "user_authorizations": t.UserAuthorization,
    "chain_steps": t.ChainStep,
    "pause_reasons": t.PauseReason,
    "cache_modes": t.CacheMode,
    "network_modes": t.NetworkMode,
    "check_outcomes": t.CheckOutcome,
    "sandbox_path_roles": t.SandboxPathRole,
    "model_sources": t.ModelSource,
    "catalog_origins": t.CatalogOrigin,
    "login_kinds": t.LoginKind,
    "root_sources": t.RootSource,
    "stop_reasons": t.StopReason,
    "presences": t.Presence,
    "presence_sources": t.PresenceSource,
    "snapshot_phases": t.SnapshotPhase,
}


class MethodSample(Wire, frozen=True):
    """A file of params: the method they are of, and the params."""

    method: str
    params: Any


class ProveVector(Wire, frozen=True):
    """Inputs of a device's proof, and the message in hex."""

    challenge: str
    daemon_id: DaemonId
    protocol: U32
    device_id: DeviceId
    peer_node: str
    daemon_tailnet: str
    message_hex: str


class QrVector(Wire, frozen=True):
    """The payload of a QR code, and its text."""

    payload: QrPayload
    url: str


def rewritten(name: str, content: bytes) -> bytes:
    """What a fixture file (`events/prompt_queued.json`) holds after a read and a write.

    Raises BadValue or BadFrame when it does not fit the type that its name says, and LookupError
    for a name that says none.
    """
    return pretty(read(name, content))


def read(name: str, content: bytes) -> Any:
    """The value in a fixture file; it raises as `rewritten` does."""
    stem = name.removesuffix(".json")
    if stem.startswith("events/"):
        return _event(stem.removeprefix("events/"), content)
    if stem.startswith("frames/"):
        return _frame(stem.removeprefix("frames/"), content)
    if stem in SETS:
        return decode(content, GenericAlias(tuple, (SETS[stem], ...)))
    if stem in _VECTORS:
        return _VECTORS[stem](content)
    method, what = _of_method(stem)
    if what == "params":
        return _params(method, content)
    return decode(content, method.result)


def _of_method(stem: str) -> tuple[Method, str]:
    """The method and `params`, `result` or `item` of `<method>_<what>[_<variant>]`."""
    for method in METHODS.values():
        start = method.name.replace(".", "_")
        for what in ("params", "item" if method.stream else "result"):
            if f"{stem}_".startswith(f"{start}_{what}_"):
                return method, what
    raise LookupError(f"no type has a fixture named {stem}")


def _params(method: Method, content: bytes) -> MethodSample:
    sample = decode(content, MethodSample)
    if sample.method != method.name:
        raise BadValue("$.method", f"not {method.name}")
    try:
        return MethodSample(sample.method, from_builtins(sample.params, method.params))
    except BadValue as bad:
        raise BadValue(f"$.params{bad.where[1:]}", bad.why) from bad


def _event(stem: str, content: bytes) -> Any:
    event = decode_event_object(read_json(content))
    if stem != "unknown" and not f"{stem}_".startswith(f"{kind_of(event)}_"):
        raise BadValue("$.kind", f"not the event of {stem}")
    return event


def _frame(stem: str, content: bytes) -> Any:
    reader: Callable[[bytes], Any] = (
        frames.read_client_frame if stem.startswith("client_") else frames.read_server_frame
    )
    return reader(content)


def _prove_vector(content: bytes) -> ProveVector:
    vector = decode(content, ProveVector)
    message = prove_message(
        challenge=vector.challenge,
        daemon_id=vector.daemon_id,
        protocol=vector.protocol,
        device_id=vector.device_id,
        peer_node=vector.peer_node,
        daemon_tailnet=vector.daemon_tailnet,
    )
    if message.hex() != vector.message_hex:
        raise BadValue("$.message_hex", f"the message is {message.hex()}")
    return vector


def _qr_vector(content: bytes) -> QrVector:
    vector = decode(content, QrVector)
    if qr_url(vector.payload) != vector.url:
        raise BadValue("$.url", f"the URL is {qr_url(vector.payload)}")
    return vector


_VECTORS: Final[dict[str, Callable[[bytes], Any]]] = {
    "device_prove_message": _prove_vector,
    "pairing_qr_url": _qr_vector,
}
