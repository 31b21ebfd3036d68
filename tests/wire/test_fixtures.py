"""The frozen fixtures: byte for byte both ways, and nothing of the protocol left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import EnumType
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec import Struct

from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.codec import pretty, to_builtins
from efr.wire.fixtures import SETS, read, rewritten
from efr.wire.scalars import Wire
from efr.wire.table import METHODS
from tests.wire.bless import FIXTURES, bless
from tests.wire.samples import READER_ONLY_UNKNOWN, files, values

FILES = files()
VALUES = values()
# What the history of the protocol says that a file sets, and a client may rely on to be there.
SET_BY = {
    "hello_result": "search",
    "hello_result_remote": "prove device_prove",
    "hello_result_remote_watch": "conversations_watch",
    "conversations_list_params": "tty",
    "conversation_subscribe_params": "answers_input drafts",
    "prompt_send_params": "settings mode model effort desktop recent_commands last_command",
    "prompt_send_result": "settings overridden route switch",
    "turn_steer_params": "if_late queue desktop recent_commands",
    "turn_steer_result": "queued",
    "turn_interrupt_params": "resend_steers resend_as withdraw_steers withdraw desktop"
    " recent_commands",
    "turn_interrupt_result": "resent withdrawn withdrawn_steers",
    "turn_undo_result": "full entries refs notes turns",
    "input_respond_params": "manual",
    "models_list_result": "efforts default_effort default context_window max_context_window"
    " prefer_websockets catalog provider fetched_at",
    "conversation_compact_result": "cache_write_tokens cache_write_1h_tokens fresh",
    "conversation_diff_result": "changes diff",
    "admin_config_reload_result": "error line column key restart_needed warnings",
    "admin_status_result": "roots config catalog provider active login key_hint key_refused_at"
    " key_checked_at sandbox sandbox_paths netview proxy bus_proxy_off held loosens full_mode",
    "admin_sandbox_check_result": "netview proxy bus_proxy",
    "admin_logout_result": "active",
    "jobs_list_result": "forwards cgroup",
    "jobs_stop_result": "forwards cgroup",
    "events/conversation_created": "route",
    "events/prompt_queued": "settings steers desktop",
    "events/turn_started": "settings overridden fallback",
    "events/turn_completed": "usage cached_input_tokens reasoning_tokens context_tokens"
    " cache_write_tokens cache_write_1h_tokens context changes stop undo",
    "events/turn_failed": "usage context changes undo",
    "events/turn_interrupted": "usage context changes undo",
    "events/tool_call_started": "manual_input launch",
    "events/tool_call_started_freeform": "freeform",
    "events/tool_call_input_changed": "visible looks_secret",
    "events/tool_call_completed": "sandbox survivors setup_error refusal changes diff"
    " cache_deletes cache_deletes_more count blocked_more proxied bus_refused bus_refused_more"
    " left_running",
    "events/approval_requested": "interactive exit always expires_in_secs",
    "events/approval_requested_local_only": "local_only",
    "events/approval_requested_reason": "reason",
    "events/approval_expired": "away",
    "events/exit_requested": "backup_before_write masked denials_in_a_row denials_this_turn"
    " outside_commands desktop_read background watch wake_turn max_minutes project_remote git_code",
    "events/exit_requested_floor_edit": "edit",
    "events/exit_judged": "chain_step skipped reasked",
    "events/exit_judged_full": "full",
    "events/home_file_changed": "covered real",
    "events/conversation_compacted": "cache_write_tokens cache_write_1h_tokens fresh summary",
    "events/job_started": "cgroup",
    "events/job_started_moved": "moved_from waits_input cgroup",
    "events/job_ended": "blocked blocked_more bus_refused bus_refused_more",
    "grants": "wayland x11 hyprland sway i3 niri net_view bus_filter system session unknown",
    "launches": "direct contained unsandboxed net_view bus_filter open_network",
}


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_sample_is_written_as_it_is_frozen(name: str) -> None:
    assert (FIXTURES / name).read_bytes() == FILES[name], "the sample changed: `make bless`"


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_frozen_file_reads_as_its_sample_and_is_written_again(name: str) -> None:
    content = (FIXTURES / name).read_bytes()
    assert rewritten(name, content) == content
    sample = VALUES[name.removesuffix(".json")]
    again = read(name, content)
    assert (list(again) if isinstance(again, tuple) else again) == sample


def test_every_file_has_a_sample() -> None:
    held = {path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob("*") if path.is_file()}
    assert held == set(FILES)


def test_every_method_has_its_files() -> None:
    for method in METHODS.values():
        stem = method.name.replace(".", "_")
        assert f"{stem}_params" in VALUES
        if not method.stream:
            assert f"{stem}_result" in VALUES
            continue
        for item in get_args(method.result):
            assert f"{stem}_item_{item.__struct_config__.tag}" in VALUES


def test_every_kind_of_event_has_a_file() -> None:
    assert {name for name in VALUES if name.startswith("events/")} >= {
        f"events/{kind}" for kind in (*ev.EVENTS, "unknown")
    }


def test_every_set_of_values_has_a_file_with_all_of_them() -> None:
    declared = {kind for kind in exported() if isinstance(kind, EnumType)}
    assert {kind for kind in SETS.values() if isinstance(kind, EnumType)} == declared
    for name, kind in SETS.items():
        if isinstance(kind, EnumType):
            every: list[Any] = list(kind)
            hidden = ["unknown"] if name in READER_ONLY_UNKNOWN else []
            assert VALUES[name] == [value for value in every if value not in hidden]
        else:
            kinds = {option.__struct_config__.tag for option in get_args(kind)}
            hidden = ["unknown"] if name == "route_switches" else []
            shown = {to_builtins(value)["kind"] for value in VALUES[name]}
            assert shown == kinds - set(hidden)


def test_every_declared_member_stands_in_a_file() -> None:
    shown: dict[type[Struct], set[str]] = {}
    for value in VALUES.values():
        for struct, members in inside(value):
            shown.setdefault(type(struct), set()).update(members)
    missing = {
        f"{kind.__name__}.{name}"
        for kind in exported()
        if isinstance(kind, type) and issubclass(kind, Wire) and kind not in NOT_SHOWN
        for name in (kind.__struct_encode_fields__ or ("",))
        if name not in shown.get(kind, {}) and (name or kind not in shown)
    }
    assert missing == set(), "no sample sets it: see tests/wire/samples_*.py"


# Read from a newer writer and never written, kept in `data` of errors, or no part of a method.
NOT_SHOWN = {
    m.CallBackgroundUnknown,
    m.ConversationDeleteUnknown,
    m.ConversationResumeUnknown,
    t.NewReasonUnknown,
    t.RepoHintUnknown,
    t.RouteSwitchUnknown,
    t.Needs,
    t.Draft,  # its members stand in an item of a subscription
}


def exported() -> Iterator[Any]:
    """Everything that `types`, `events` and `methods` export."""
    for module in (t, ev, m):
        for names in module.HOMES.values():
            for name in names:
                yield getattr(module, name)


def inside(value: Any) -> Iterator[tuple[Struct, set[str]]]:
    """Every declared value in this one, with the names of the members it writes."""
    if isinstance(value, Struct):
        pairs = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        held = {name: getattr(value, attribute) for attribute, name in pairs}
        written = set(to_builtins(value)) | ({"others", "members"} & held.keys())
        yield value, written
        value = list(held.values())
    if isinstance(value, (list, tuple)):
        for element in value:
            yield from inside(element)


@pytest.mark.parametrize(("name", "members"), SET_BY.items(), ids=SET_BY)
def test_a_sample_sets_what_the_protocol_says(name: str, members: str) -> None:
    missing = set(members.split()) - set(words(to_builtins(VALUES[name])))
    assert missing == set()


def words(value: Any) -> Iterator[str]:
    """Every key and every text in plain JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for part in value.values():
            yield from words(part)
    elif isinstance(value, list):
        for part in value:
            yield from words(part)


def test_samples_leave_out_what_a_variant_sets() -> None:
    started, requested = (
        set(to_builtins(VALUES[f"events/{kind}"]))
        for kind in ("tool_call_started", "approval_requested")
    )
    assert "freeform" not in started
    assert not {"local_only", "reason"} & requested


def test_samples_count_text_in_bytes() -> None:
    """A client that counts characters or UTF-16 units goes wrong on these files."""
    live = VALUES["conversation_subscribe_item_snapshot_live"].live
    assert live.text_bytes == len(live.text.encode()) > len(live.text)
    for part in (VALUES["draft_parts"][0], VALUES["events/assistant_message_updated"]):
        assert (part.index, part.offset) == (live.index, live.text_bytes)


def test_free_json_has_its_keys_sorted() -> None:
    call: Any = to_builtins(VALUES["events/tool_call_started"])["input"]
    unknown = to_builtins(VALUES["events/unknown"])
    del unknown["kind"]
    for free in (call, unknown):
        assert json.dumps(free) == json.dumps(free, sort_keys=True)


def test_the_protocol_document_names_the_variants() -> None:
    assert VALUES.keys() >= {
        "hello_result_remote",
        "hello_result_remote_watch",
        "call_background_result_preview",
        "conversation_resume_result_held",
        "conversation_delete_result_held",
        "conversation_subscribe_item_snapshot_live",
        "events/tool_call_started_freeform",
        "events/exit_requested_floor_edit",
        "events/exit_judged_full",
        "events/approval_requested_local_only",
        "events/approval_requested_reason",
        "events/job_started_moved",
        "device_prove_message",
        "pairing_qr_url",
        *(f"frames/{name}" for name in FRAMES),
    }


FRAMES = (
    "client_request",
    "client_cancel",
    "server_item",
    "server_end",
    "server_error",
    "server_error_without_id",
    "server_ack",
)


def test_blessing_writes_what_differs_and_says_so(tmp_path: Path) -> None:
    wanted = {"a.json": b"1\n", "events/b.json": b"2\n"}
    assert bless(tmp_path, wanted) == ["new      a.json", "new      events/b.json"]
    assert bless(tmp_path, wanted) == []
    changed = {"a.json": pretty({}), "c.json": b"3\n"}
    assert bless(tmp_path, changed) == [
        "removed  events/b.json",
        "changed  a.json",
        "new      c.json",
    ]
    assert (tmp_path / "a.json").read_bytes() == b"{}\n"
