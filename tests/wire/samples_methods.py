"""One sample of the params and of the result, or of every item, of each method."""

from __future__ import annotations

from typing import Any, Final

from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.scalars import Params
from tests.wire import samples_shared as s
from tests.wire.samples_events import EVENTS

_ENVELOPE: Final = ev.EventEnvelope(
    seq=118,
    conversation_id=s.CONVERSATION,
    at=s.ENVELOPE_AT,
    event=EVENTS["tool_call_started"],
)
_DAEMON_EVENT: Final = ev.EventEnvelope(seq=119, at=s.ENVELOPE_AT, event=EVENTS["login_completed"])
_HIT: Final = t.SearchHit(
    kind=t.SearchKind.ANSWER,
    seq=118,
    turn_id=s.TURN,
    at=s.ENVELOPE_AT,
    history_cursor="s:119",
    lines=(t.SearchLine("Die Größe stimmt.", (t.Range(4, 9),)), t.SearchLine("")),
)
_PUBLIC_KEY: Final = bytes([4, *range(1, 65)])

# Method: its params.
PARAMS: Final[dict[str, Params]] = {
    "hello": m.HelloParams(
        protocol=1,
        origin=t.Origin.PHONE,
        client="efr 0.1.0",
        capabilities=t.Capabilities(screen_snapshots=True, others={"haptics": True}),
        tty=s.TTY,
        pid=40_002,
        device_id=s.DEVICE,
    ),
    "conversations.list": m.ConversationsListParams(cursor="s:44", limit=20, tty=s.TTY),
    "conversations.recent": m.ConversationsRecentParams(
        tty=s.TTY, pwd="/home/ada/src/größe", limit=10
    ),
    "conversations.search": m.ConversationsSearchParams(
        query='"größe" tests', tty=s.TTY, pwd="/home/ada", limit=30, stats=True
    ),
    "conversations.watch": m.ConversationsWatchParams(limit=15),
    "conversation.subscribe": m.ConversationSubscribeParams(
        conversation_id=s.CONVERSATION, after_seq=0, answers_input=True, drafts=True
    ),
    "conversation.history": m.ConversationHistoryParams(
        conversation_id=s.CONVERSATION, cursor="s:90", limit=200
    ),
    "conversation.search": m.ConversationSearchParams(
        conversation_id=s.CONVERSATION, query="größe", limit=5
    ),
    "conversation.context": m.ConversationContextParams(
        conversation_id=s.CONVERSATION, model="sample-small"
    ),
    "conversation.diff": m.ConversationDiffParams(
        conversation_id=s.CONVERSATION, turn_id=s.TURN, stat=True
    ),
    "conversation.compact": m.ConversationCompactParams(
        command_id=s.COMMAND, conversation_id=s.CONVERSATION, focus="the failing test"
    ),
    "conversation.resume": m.ConversationResumeParams(
        command_id=s.COMMAND, conversation_id=s.CONVERSATION, context=s.CONTEXT, take=True
    ),
    "conversation.delete": m.ConversationDeleteParams(
        command_id=s.COMMAND, conversation_id=s.CONVERSATION, force=True, stop=True
    ),
    "prompt.send": m.PromptSendParams(
        command_id=s.COMMAND,
        conversation_id=s.CONVERSATION,
        new_conversation=True,
        text="make the tests pass",
        context=s.CONTEXT,
        last_command="make test",
        settings=s.SETTINGS,
        recent_commands=s.RECENT_COMMANDS,
    ),
    "prompt.withdraw": m.PromptWithdrawParams(
        command_id=s.COMMAND,
        conversation_id=s.CONVERSATION,
        target=t.WithdrawNewestFromTty(s.TTY),
    ),
    "turn.interrupt": m.TurnInterruptParams(
        command_id=s.COMMAND,
        conversation_id=s.CONVERSATION,
        turn_id=s.TURN,
        resend_steers=(104, 105),
        resend_as=s.LATE,
        withdraw_steers=(106,),
        withdraw=(s.QUEUED_TURN,),
    ),
    "turn.steer": m.TurnSteerParams(
        command_id=s.COMMAND,
        conversation_id=s.CONVERSATION,
        turn_id=s.TURN,
        text="skip the slow ones",
        if_late=s.LATE,
    ),
    "turn.undo": m.TurnUndoParams(
        command_id=s.COMMAND,
        conversation_id=s.CONVERSATION,
        turn_id=s.TURN,
        dry_run=True,
        force=True,
        redo=True,
        list=True,
    ),
    "approval.respond": m.ApprovalRespondParams(
        command_id=s.COMMAND,
        conversation_id=s.CONVERSATION,
        call_id=s.CALL,
        decision=t.ApprovalDecision.ALLOW_ALWAYS,
    ),
    "input.respond": m.InputRespondParams(
        conversation_id=s.CONVERSATION, call_id=s.CALL, text="yes", hidden=False, manual=True
    ),
    "presence.set": m.PresenceSetParams(
        command_id=s.COMMAND, conversation_id=s.CONVERSATION, presence=t.Presence.AWAY
    ),
    "jobs.list": m.JobsListParams(conversation_id=s.CONVERSATION),
    "jobs.stop": m.JobsStopParams(
        command_id=s.COMMAND, conversation_id=s.CONVERSATION, job_id="j2"
    ),
    "call.background": m.CallBackgroundParams(
        command_id=s.COMMAND, conversation_id=s.CONVERSATION, call_id=s.CALL, confirm="p-7"
    ),
    "shell.interrupt": m.ShellInterruptParams(
        command_id=s.COMMAND, conversation_id=s.CONVERSATION, call_id=s.CALL, close=True
    ),
    "shell.status": m.ShellStatusParams(conversation_id=s.CONVERSATION),
    "pty.attach": m.PtyAttachParams(pty_id=s.PTY, since_seq=2_048, scrollback_rows=100),
    "pty.write": m.PtyWriteParams(pty_id=s.PTY, data=b"ls\r\xff\x00"),
    "pty.resize": m.PtyResizeParams(pty_id=s.PTY, size=t.Size(cols=132, rows=43)),
    "lease.report": m.LeaseReportParams(
        conversations=(s.CONVERSATION,), ptys=(s.PTY,), visible=True
    ),
    "models.list": m.ModelsListParams(),
    "projects.list": m.ProjectsListParams(),
    "sandbox.explain": m.SandboxExplainParams(path="../notes", cwd="/home/ada/src"),
    "sandbox.surface_respond": m.SandboxSurfaceRespondParams(
        command_id=s.COMMAND,
        conversation_id=s.CONVERSATION,
        question_id=s.QUESTION,
        keep=True,
    ),
    "admin.status": m.AdminStatusParams(),
    "admin.config_reload": m.AdminConfigReloadParams(),
    "admin.project_add": m.AdminProjectAddParams(
        path="/home/ada/src/größe/lib", name="größe", git_root=True
    ),
    "admin.project_remove": m.AdminProjectRemoveParams(path="/home/ada/src/größe"),
    "admin.login_openai": m.AdminLoginOpenaiParams(),
    "admin.login_api_key": m.AdminLoginApiKeyParams(
        provider="anthropic-api", key="sk-sample-0123456789", check=True
    ),
    "admin.logout": m.AdminLogoutParams(provider="openai"),
    "admin.sandbox_check": m.AdminSandboxCheckParams(),
    "device.pair_start": m.DevicePairStartParams(name="ada's phone"),
    "device.pair_confirm": m.DevicePairConfirmParams(pairing_id=s.PAIRING, accept=True),
    "device.enroll": m.DeviceEnrollParams(
        token="c2FtcGxlLXRva2VuLTE0NGJp", name="ada's phone", public_key=_PUBLIC_KEY
    ),
    "device.prove": m.DeviceProveParams(
        device_id=s.DEVICE, signature=bytes.fromhex("3006020101020102")
    ),
    "device.list": m.DeviceListParams(),
    "device.revoke": m.DeviceRevokeParams(device_id=s.DEVICE),
}

_HELLO: Final[dict[str, Any]] = {
    "daemon_id": s.DAEMON,
    "protocol": 1,
    "version": "0.1.0",
    "challenge": "c2FtcGxlIGNoYWxsZW5nZSBvZiAzMiBieXRlcyAhISE",
}
_REMOTE: Final[dict[str, Any]] = {
    **_HELLO,
    "paths": t.DaemonPaths(scratch_root="", data_dir=""),
    "prove": t.ProveFacts(
        peer_node="nPEER7CNTRL", daemon_node="nDAEMON3CNTRL", daemon_tailnet="ada.example"
    ),
}
_PROJECT_CHANGED: Final = m.ProjectChanged(
    project=s.PROJECT_INFO, file="/home/ada/.config/efr/projects.toml", reload=s.RELOAD
)
_ROOT: Final = t.RootDir(path="/home/ada/.config/efr", source=t.RootSource.XDG)

# File without `.json`: the result in it.
RESULTS: Final[dict[str, Any]] = {
    "hello_result": m.HelloResult(
        **_HELLO,
        capabilities=t.Capabilities(
            admin=True,
            screen_snapshots=True,
            search=True,
            drafts_coalesced=True,
            snapshot_live=True,
            approval_local_only=True,
            others={"zeta": 1, "alpha": {"levels": [1, 2]}},
        ),
        paths=t.DaemonPaths(
            scratch_root="/home/ada/.local/share/efr/scratch",
            data_dir="/home/ada/.local/share/efr",
        ),
    ),
    "hello_result_remote": m.HelloResult(
        **_REMOTE, capabilities=t.Capabilities(admin=False, device_prove=True)
    ),
    "hello_result_remote_watch": m.HelloResult(
        **_REMOTE, capabilities=t.Capabilities(device_prove=True, conversations_watch=True)
    ),
    "conversations_list_result": m.ConversationsListResult(
        conversations=(s.SUMMARY,), next_cursor="s:12"
    ),
    "conversations_recent_result": m.ConversationsRecentResult(
        scope=s.PLACE, current=s.CONVERSATION, conversations=(s.ROW,)
    ),
    "conversations_search_result": m.ConversationsSearchResult(
        rows=(
            t.SearchRow(
                conversation=s.ROW,
                short_id="019a9b1c",
                title_ranges=(t.Range(9, 14), t.Range(20, 21)),
                hit=_HIT,
            ),
        ),
        scope=s.PLACE,
        current=s.CONVERSATION,
        partial=t.SearchPartial.TIME_CAP,
        index=t.SearchIndex(percent=64),
        stats=t.SearchStats(
            rows_scanned=9_000, conversations_scored=120, titles_scored=500, elapsed_us=8_125
        ),
    ),
    "conversation_history_result": m.ConversationHistoryResult(
        events=(_ENVELOPE, _DAEMON_EVENT), next_cursor="s:60"
    ),
    "conversation_search_result": m.ConversationSearchResult(
        hits=(_HIT,), title="make the tests pass 🙂", partial=t.SearchPartial.ROW_CAP
    ),
    "conversation_context_result": m.ConversationContextResult(
        model="sample-large",
        limits=t.ContextLimits(
            window=200_000, window_known=True, trigger=180_000, hard_cap=190_000, auto=False
        ),
        counted=t.ContextCount(turn_id=s.TURN, tokens=31_000),
        estimate=t.ContextEstimate(
            tokens=33_000,
            parts=(
                t.ContextPart(kind=t.ContextPartKind.TOOLS, tokens=4_000, items=9),
                t.ContextPart(kind=t.ContextPartKind.PROMPTS, tokens=300, items=2),
            ),
        ),
        largest=(
            t.ContextItem(
                kind=t.ContextPartKind.TOOL_OUTPUTS, label="shell", turn_id=s.TURN, tokens=9_000
            ),
        ),
        compactions=(
            t.ContextCompaction(
                seq=70,
                at="2026-11-02T08:00:00Z",
                trigger=t.CompactionTrigger.MANUAL,
                tokens_before=196_000,
                tokens_after=24_000,
            ),
        ),
        cache=t.ContextCache(
            calls=12, input_tokens=52_000, cached_input_tokens=40_000, cache_write_tokens=9_000
        ),
    ),
    "conversation_diff_result": m.ConversationDiffResult(
        turn_id=s.TURN, changes=s.CHANGES, diff="--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n"
    ),
    "conversation_compact_result": m.ConversationCompactResult(seq=121, compaction=s.COMPACTED),
    "conversation_resume_result": m.ConversationResumed(
        conversation_id=s.CONVERSATION,
        scope=s.PLACE,
        title="make the tests pass 🙂",
        updated_at=s.ENVELOPE_AT,
        shell_dir="/home/ada/src/größe",
        here=True,
        continues_here=True,
    ),
    "conversation_resume_result_held": m.ConversationResumeHeld(
        tty=s.OTHER_TTY, title="make the tests pass 🙂"
    ),
    "conversation_delete_result": m.ConversationDeleted(
        conversation_id=s.CONVERSATION,
        title="make the tests pass 🙂",
        jobs_stopped=1,
        not_removed=("/home/ada/.local/share/efr/scratch/x",),
    ),
    "conversation_delete_result_held": m.ConversationDeleteHeld(
        tty=s.OTHER_TTY, title="make the tests pass 🙂"
    ),
    "prompt_send_result": m.PromptSendResult(
        conversation_id=s.CONVERSATION,
        turn_id=s.TURN,
        seq=101,
        queued=False,
        settings=s.EFFECTIVE,
        route=t.PromptRoute(
            scope=s.PLACE,
            switch=t.RouteSwitchNew(
                from_=s.OUTSIDE,
                reason=t.NewReasonMoved(tty=s.OTHER_TTY, title="why is the disk full"),
            ),
            hint=t.RepoHintGitRepo(root="/home/ada/src/größe"),
        ),
    ),
    "prompt_withdraw_result": m.PromptWithdrawResult(
        withdrawn=t.WithdrawnPrompt(turn_id=s.QUEUED_TURN, seq=107, text="and the docs")
    ),
    "turn_interrupt_result": m.TurnInterruptResult(
        turn_id=s.TURN,
        seq=108,
        resent=t.ResentSteers(turn_id=s.QUEUED_TURN, seq=111, steers=(104, 105)),
        withdrawn=(t.WithdrawnPrompt(turn_id=s.QUEUED_TURN, seq=109, text="and the docs"),),
        withdrawn_steers=(t.WithdrawnSteer(seq=106, text="never mind"),),
    ),
    "turn_steer_result": m.TurnSteerResult(turn_id=s.QUEUED_TURN, seq=104, queued=True),
    "turn_undo_result": m.TurnUndoResult(
        conversation_id=s.CONVERSATION,
        turn_id=s.TURN,
        title="make the tests pass 🙂",
        undo_id=s.UNDO,
        trash="/home/ada/.local/state/efr/trash/2026-11-02",
        applied=True,
        stopped=True,
        resumed=True,
        entries=(
            t.UndoEntry(action=t.UndoAction.RESTORE, path="src/x.py"),
            t.UndoEntry(action=t.UndoAction.SKIP, path="src/y.py", reason=t.UndoReason.CHANGED),
        ),
        entries_more=4,
        refs=s.UNDO_REFS,
        notes=("one file is larger than the limit",),
        turns=(
            t.UndoTurn(
                turn_id=s.TURN,
                title="make the tests pass",
                auto=True,
                undone=True,
                stopped=True,
                ended=s.ENVELOPE_AT,
                full=True,
            ),
        ),
    ),
    "approval_respond_result": m.ApprovalRespondResult(seq=113),
    "input_respond_result": m.InputRespondResult(),
    "presence_set_result": m.PresenceSetResult(
        presence=t.Presence.AWAY, changed=(s.CONVERSATION,), seq=114
    ),
    "jobs_list_result": m.JobsListResult(jobs=(s.JOB,)),
    "jobs_stop_result": m.JobsStopResult(job=s.JOB),
    "call_background_result": m.CallMoved(job_id="j2"),
    "call_background_result_preview": m.CallPreview(
        token="p-7",
        command="npm run dev",
        max_minutes=60,
        exits=(t.ExitKind.OUTSIDE, t.ExitKind.HOST),
    ),
    "shell_interrupt_result": m.ShellInterruptResult(),
    "shell_status_result": m.ShellStatusResult(busy=s.SHELL_BUSY),
    "pty_write_result": m.PtyWriteResult(),
    "pty_resize_result": m.PtyResizeResult(size=t.Size(cols=132, rows=43)),
    "lease_report_result": m.LeaseReportResult(ttl_secs=60),
    "models_list_result": m.ModelsListResult(
        models=(
            t.ModelInfo(
                id="sample-large",
                efforts=("low", "high", "x-high"),
                default_effort="high",
                default=True,
                source=t.ModelSource.BUILTIN,
                context_window=200_000,
                max_context_window=1_000_000,
                prefer_websockets=True,
            ),
            t.ModelInfo(id="llama-local", source=t.ModelSource.CONFIG),
        ),
        catalog=s.CATALOG,
    ),
    "projects_list_result": m.ProjectsListResult(
        file="/home/ada/.config/efr/projects.toml",
        projects=(s.PROJECT_INFO, t.ProjectInfo(id=s.OTHER_PROJECT, root="/srv/www")),
    ),
    "sandbox_explain_result": m.SandboxExplainResult(
        path="/home/ada/notes",
        project="/home/ada/src/größe",
        mode=t.Mode.CAUTIOUS,
        role=t.SandboxPathRole.READ_ONLY,
        read=True,
        write=False,
        reason="outside the write roots",
        write_exit=t.ExitKind.WRITE,
    ),
    "sandbox_surface_respond_result": m.SandboxSurfaceRespondResult(seq=115),
    "admin_status_result": m.AdminStatusResult(
        daemon_id=s.DAEMON,
        version="0.1.0",
        protocol=1,
        pid=40_000,
        started_at="2026-11-02T06:00:00Z",
        screen_backend="pyte",
        conversations=2,
        shells=1,
        providers=(
            t.ProviderStatus(
                provider="anthropic-api",
                logged_in=True,
                expires_at="2026-11-02T10:00:00Z",
                active=True,
                login=t.LoginKind.API_KEY,
                key_hint="sk-ant-...6789",
                key_refused_at="2026-11-02T07:30:00Z",
                key_checked_at="2026-11-02T07:45:00Z",
            ),
            t.ProviderStatus(provider="demo", logged_in=False),
        ),
        catalog=s.CATALOG,
        roots=t.Roots(
            config=_ROOT,
            data=t.RootDir(path="/home/ada/.local/share/efr", source=t.RootSource.EFR_HOME),
            state=t.RootDir(path="/mnt/efr", source=t.RootSource.DIR_VARIABLE),
            runtime=t.RootDir(path="/run/user/1000/efr", source=t.RootSource.RUN_USER),
        ),
        config=t.ConfigStatus(
            path="/home/ada/.config/efr/config.toml",
            exists=True,
            symlink_target="/home/ada/dotfiles/efr.toml",
            reload_error=t.ConfigFileError(message="a string is not closed", line=4, column=9),
            restart_needed=("remote.enabled",),
            held=t.HeldConfig(loosens=("permissions.allow_full",)),
        ),
        sandbox=t.SandboxStatus(
            available=True,
            cache_mode=t.CacheMode.TMP,
            network_mode=t.NetworkMode.NONE,
            netview=True,
            proxy=True,
            bus_proxy_off=t.BusProxyOff.SELF_TEST,
        ),
        sandbox_paths=t.SandboxPaths(
            launcher="/home/ada/.local/state/efr/launcher",
            launcher_source="/usr/lib/efr/launcher.py",
            launcher_sha256_ok=False,
            state="/home/ada/.local/state/efr/sandbox",
            runtime="/run/user/1000/efr/sandbox",
        ),
        full_mode=t.FullMode(allowed=True, refused=t.FullRefusal.SNAPSHOT_OFF),
    ),
    "admin_config_reload_result": s.RELOAD,
    "admin_project_add_result": _PROJECT_CHANGED,
    "admin_project_remove_result": _PROJECT_CHANGED,
    "admin_login_api_key_result": m.AdminLoginApiKeyResult(
        provider="anthropic-api", key_hint="sk-ant-...6789", checked=True, active=False
    ),
    "admin_logout_result": m.AdminLogoutResult(provider="openai", logged_out=True, active=True),
    "admin_sandbox_check_result": m.AdminSandboxCheckResult(
        status=s.SANDBOX_STATUS,
        checks=(
            t.SandboxCheck(
                name="namespaces",
                outcome=t.CheckOutcome.FAIL,
                detail="user namespaces are off",
                fix="sysctl kernel.unprivileged_userns_clone=1",
            ),
            t.SandboxCheck(name="self_test", outcome=t.CheckOutcome.SKIPPED),
        ),
        launch_us=9_100,
        snapshot_launch_us=12_800,
    ),
    "device_pair_confirm_result": m.DevicePairConfirmResult(device_id=s.DEVICE),
    "device_enroll_result": m.DeviceEnrollResult(
        device_id=s.DEVICE,
        scopes=(t.ScopeName.READ, t.ScopeName.OPERATE, t.ScopeName.APPROVE),
    ),
    "device_prove_result": m.DeviceProveResult(scopes=(t.ScopeName.READ,)),
    "device_list_result": m.DeviceListResult(
        devices=(
            t.DeviceInfo(
                device_id=s.DEVICE,
                name="ada's phone",
                key_fingerprint="SHA256:0ed3a6ab957ff6f5",
                node="nPEER7CNTRL",
                scopes=(t.ScopeName.READ, t.ScopeName.OPERATE),
                created_at="2026-10-01T12:00:00Z",
                last_seen_at="2026-11-02T08:00:00Z",
                revoked_at="2026-11-02T08:10:00Z",
            ),
        )
    ),
    "device_revoke_result": m.DeviceRevokeResult(revoked_at="2026-11-02T08:10:00Z"),
}

QR: Final = t.QrPayload(
    v=1, d=s.DAEMON, h="100.101.102.103", p=7_443, f="lovelace.tail5a.ts.net", t="c2FtcGxl"
)

# File without `.json`: the stream item in it.
ITEMS: Final[dict[str, Any]] = {
    "conversations_watch_item_snapshot": m.WatchSnapshot(conversations=(s.ROW,)),
    "conversations_watch_item_changed": m.WatchChanged(conversation=s.ROW),
    "conversations_watch_item_removed": m.WatchRemoved(conversation_id=s.CONVERSATION),
    "conversation_subscribe_item_event": m.SubscribeEvent(
        seq=118,
        conversation_id=s.CONVERSATION,
        at=s.ENVELOPE_AT,
        event=EVENTS["assistant_message_updated"],
    ),
    "conversation_subscribe_item_snapshot": m.SubscribeSnapshot(
        conversation=s.SUMMARY, events=(_ENVELOPE,), history_cursor="s:118", hwm=130
    ),
    "conversation_subscribe_item_snapshot_live": m.SubscribeSnapshot(
        conversation=s.SUMMARY, events=(), hwm=130, live=s.LIVE
    ),
    "conversation_subscribe_item_draft": m.SubscribeDraft(
        turn_id=s.TURN,
        after_seq=117,
        draft=t.DraftReasoning(offset=24, delta=" Then it fails.", title="Reading the test"),
    ),
    "pty_attach_item_snapshot": m.PtySnapshot(
        seq=2_048,
        snapshot=t.ScreenSnapshot(
            size=t.Size(cols=12, rows=2),
            cursor=t.CursorPos(row=1, col=3, hidden=True),
            rows=(
                t.RowCells(
                    cells=(
                        t.Cell(
                            text="é",
                            fg=t.Color(indexed=12),
                            bg=t.Color(rgb=(250, 128, 0)),
                            bold=True,
                            italic=True,
                            underline=True,
                            inverse=True,
                        ),
                        t.Cell(text="字", wide=True),
                        t.Cell(text=""),
                    ),
                    wrapped=True,
                ),
                t.RowCells(cells=()),
            ),
            scrollback=(t.RowCells(cells=(t.Cell(text="%"),)),),
            title="zsh — größe",
            alternate_screen=True,
            modes=(1, 2004),
        ),
    ),
    "pty_attach_item_output": m.PtyOutput(seq=2_048, data=b"\x1b[1mhi\xff"),
    "pty_attach_item_resized": m.PtyResized(seq=2_060, size=t.Size(cols=100, rows=30)),
    "admin_login_openai_item_authorize_url": m.LoginAuthorizeUrl(
        url="https://login.example/authorize?client=efr&state=s4mple"
    ),
    "admin_login_openai_item_completed": m.LoginDone(provider="openai"),
    "device_pair_start_item_started": m.PairStarted(
        pairing_id=s.PAIRING, expires_at="2026-11-02T08:20:00Z", qr=QR
    ),
    "device_pair_start_item_pending": m.PairPending(
        pairing_id=s.PAIRING,
        device_name="ada's phone",
        node_name="pixel",
        user_login="ada@example.org",
        key_fingerprint="SHA256:0ed3a6ab957ff6f5",
        os="android",
    ),
    "device_pair_start_item_paired": m.PairPaired(pairing_id=s.PAIRING, device_id=s.DEVICE),
    "device_pair_start_item_ended": m.PairEnded(pairing_id=s.PAIRING, reason=t.PairEnd.ATTEMPTS),
}
