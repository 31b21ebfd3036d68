"""One sample of every kind of event, with every optional member that can be set together."""

from __future__ import annotations

from typing import Final

from efr.wire import events as ev
from efr.wire import types as t
from tests.wire import samples_shared as s

_JUDGEMENT: Final = t.Judgement(
    verdict=t.Verdict.ASK_USER,
    risk=t.Risk.HIGH,
    user_authorization=t.UserAuthorization.LOW,
    category="network",
    rationale="the host is not one that the user named",
)
_ACTION: Final = t.ActionFacts(
    tool="shell",
    line="git push && cp report.pdf ~/Sync/",
    cwd="/home/ada/src/größe",
    scope=t.ScopePath("/home/ada/src/größe"),
    exits=(t.ExitKind.UPLOAD, t.ExitKind.SYNCED_WRITE),
    grants=s.GRANTS,
    source=t.ExitSource.PREDICTED,
    background=True,
    watch=True,
    wake_turn=True,
    max_minutes=90,
)
_FACTS: Final = t.ExitFacts(
    targets=(
        t.TargetFact(
            path="/home/ada/Sync/report.pdf",
            class_=t.PathClass.USER_DATA,
            in_write_root=False,
            floor=False,
            synced=True,
            exists=True,
            named_in_user_messages=True,
            backup_before_write=True,
            masked=True,
        ),
    ),
    hosts=(
        t.HostFact(
            host="git.example",
            on_allow_list=False,
            named_in_user_messages=True,
            refused_by_proxy=True,
            project_remote=True,
        ),
    ),
    programs=(
        t.ProgramFact(
            word="git", resolved="/usr/bin/git", in_write_root=False, changed_this_turn=True
        ),
    ),
    upload_patterns=("git push",),
    repo_surface_changed_this_turn=True,
    git_status=t.GitCounts(modified=3, untracked=1, staged=2),
    snapshot_covers=False,
    sandbox_export_names=("PATH", "VIRTUAL_ENV"),
    previous_exits_this_turn=((t.ExitKind.HOST, t.Verdict.DENY),),
    refusals_in_a_row=1,
    denials_in_a_row=2,
    denials_this_turn=5,
    outside_commands=("git push",),
    desktop_read=True,
    git_code=t.GitCode(
        checked=True,
        items=(
            t.GitItem(
                repo="/home/ada/src/größe",
                item="hooks/pre-push",
                file="/home/ada/src/größe/.git/hooks/pre-push",
                writable=True,
            ),
        ),
    ),
)
_EDIT: Final = t.ExitRecord(
    version=1,
    user_messages=("add an alias for me",),
    action=t.ActionFacts(
        tool="write_file",
        line="write ~/.zshrc",
        cwd="/home/ada",
        scope=t.ScopeMachine(),
        exits=(t.ExitKind.PERSISTENCE,),
        source=t.ExitSource.NEEDS,
        edit='--- a/.zshrc\n+++ b/.zshrc\n@@ -1 +1,2 @@\n set -o vi\n+alias gs="git status"\n',
    ),
    facts=t.ExitFacts(),
)

# File without `.json`: the event in it.
EVENTS: Final[dict[str, ev.Event]] = {
    "conversation_created": ev.ConversationCreated(
        origin=t.Origin.SHELL, tty=s.TTY, route=t.RouteProject(s.PROJECT)
    ),
    "conversation_deleted": ev.ConversationDeleted(origin=t.Origin.CLI),
    "terminal_attached": ev.TerminalAttached(
        tty=s.TTY, route=t.RouteOutside(), shell_pid=31_337, how=t.AttachHow.RESUMED
    ),
    "prompt_queued": ev.PromptQueued(
        turn_id=s.TURN,
        command_id=s.COMMAND,
        text='make the tests pass\nand "quote" this: \\ \t 🙂',
        origin=t.Origin.SHELL,
        context=s.CONTEXT,
        settings=s.SETTINGS,
        steers=(98, 99),
    ),
    "prompt_withdrawn": ev.PromptWithdrawn(turn_id=s.QUEUED_TURN, origin=t.Origin.PROXY),
    "prompt_held": ev.PromptHeld(turn_id=s.QUEUED_TURN),
    "turn_started": ev.TurnStarted(
        turn_id=s.TURN,
        cwd="/home/ada/src/größe",
        scope=t.ScopeProject(s.PROJECT),
        settings=s.EFFECTIVE,
    ),
    "scope_changed": ev.ScopeChanged(
        turn_id=s.TURN, from_=t.ScopeProject(s.PROJECT), to=t.ScopePath("/srv/www")
    ),
    "turn_steered": ev.TurnSteered(turn_id=s.TURN, text="skip the slow ones"),
    "steering_delivered": ev.SteeringDelivered(turn_id=s.TURN, steers=(104,)),
    "steering_withdrawn": ev.SteeringWithdrawn(
        turn_id=s.TURN, steers=(105, 106), origin=t.Origin.SHELL
    ),
    "turn_interrupt_requested": ev.TurnInterruptRequested(turn_id=s.TURN, origin=t.Origin.PHONE),
    "turn_interrupted": ev.TurnInterrupted(
        turn_id=s.TURN,
        usage=s.USAGE,
        context=s.CONTEXT_USE,
        changes=s.CHANGES,
        undo=s.UNDOABLE,
    ),
    "turn_completed": ev.TurnCompleted(
        turn_id=s.TURN,
        usage=s.USAGE,
        context=s.CONTEXT_USE,
        changes=s.CHANGES,
        stop=t.StopInfo(reason=t.StopReason.MAX_TOKENS, empty=True),
        undo=s.UNDOABLE,
    ),
    "turn_failed": ev.TurnFailed(
        turn_id=s.TURN,
        error=t.ErrorBody(
            code=t.ErrorCode.BUSY,
            message="the provider is overloaded",
            data={"status": 529, "provider": "anthropic-api", "tries": [1, 2, {"b": 1, "a": 2}]},
        ),
        usage=s.USAGE,
        context=s.CONTEXT_USE,
        changes=t.FileChanges(files=()),
        undo=t.UndoSummary(),
    ),
    "turn_cancelled": ev.TurnCancelled(turn_id=s.QUEUED_TURN),
    "assistant_message_updated": ev.AssistantMessageUpdated(
        turn_id=s.TURN, index=1, offset=11, delta=" stimmt."
    ),
    "assistant_message_completed": ev.AssistantMessageCompleted(
        turn_id=s.TURN, index=1, text="Die Größe stimmt."
    ),
    "tool_call_started": ev.ToolCallStarted(
        turn_id=s.TURN,
        call_id=s.CALL,
        tool="shell",
        input={"command": "make test", "env": {}, "needs": {"hosts": []}, "timeout_secs": 120},
        manual_input=True,
        launch=t.LaunchContained(s.GRANTS),
    ),
    "tool_call_started_freeform": ev.ToolCallStarted(
        turn_id=s.TURN,
        call_id=s.CALL,
        tool="apply_patch",
        input="*** Begin Patch\n*** Delete File: alt.md\n*** End Patch\n",
        freeform=True,
        launch=t.LaunchDirect(),
    ),
    "tool_call_output_updated": ev.ToolCallOutputUpdated(
        turn_id=s.TURN, call_id=s.CALL, tail="3 passed\n", bytes=8_192
    ),
    "tool_call_input_changed": ev.ToolCallInputChanged(
        turn_id=s.TURN, call_id=s.CALL, input=t.InputWait.VISIBLE, looks_secret=True
    ),
    "tool_call_completed": ev.ToolCallCompleted(
        turn_id=s.TURN,
        call_id=s.CALL,
        output="1 failed\n\u001b[0m",
        truncated=True,
        is_error=True,
        exit_code=2,
        sandbox=t.SandboxSummary(
            confined=True,
            cwd_changed=True,
            promoted=("VIRTUAL_ENV",),
            kept_out=("TMPDIR",),
            dropped=("LD_PRELOAD",),
            background_stopped=("watchexec",),
            survivors=("ssh-agent",),
            blocked=s.BLOCKED,
            surface_changes=s.SURFACE,
            setup_error="bwrap: no permission",
            cache_deletes=("/home/ada/.cache/pip/wheels",),
            cache_deletes_more=1,
            blocked_more=4,
            proxied=True,
            bus_refused=s.BUS_REFUSED,
            bus_refused_more=2,
        ),
        refusal="efr's config (floor)",
        changes=s.CHANGES,
        diff="--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n... 3 more lines",
        left_running=True,
    ),
    "approval_requested": ev.ApprovalRequested(
        turn_id=s.TURN,
        call_id=s.CALL,
        summary="run: git push",
        diff_preview="--- a/x\n+++ b/x\n",
        interactive=True,
        exit=t.ExitInfo(
            kinds=(t.ExitKind.UPLOAD,),
            launch=t.LaunchUnsandboxed(),
            grants=s.GRANTS,
            facts=("the host is a remote of this project",),
            model_reason="you asked me to publish",
            judged=_JUDGEMENT,
            user_only=True,
            always="git push to git.example from ~/src/größe",
        ),
        expires_in_secs=120,
    ),
    "approval_requested_local_only": ev.ApprovalRequested(
        turn_id=s.TURN, call_id=s.CALL, summary="run: sudo reboot", local_only=True
    ),
    "approval_requested_reason": ev.ApprovalRequested(
        turn_id=s.TURN,
        call_id=s.CALL,
        summary="run: curl https://example.org",
        reason="cautious asks before any network access",
    ),
    "approval_resolved": ev.ApprovalResolved(
        turn_id=s.TURN,
        call_id=s.CALL,
        decision=t.ApprovalDecision.ALLOW,
        origin=t.Origin.PHONE,
    ),
    "approval_expired": ev.ApprovalExpired(turn_id=s.TURN, call_id=s.CALL, away=True),
    "always_rule_saved": ev.AlwaysRuleSaved(
        turn_id=s.TURN,
        call_id=s.CALL,
        outcome=t.AlwaysSaved(index=2, rule="git push to git.example"),
    ),
    "exit_requested": ev.ExitRequested(
        turn_id=s.TURN,
        call_id=s.CALL,
        kinds=(t.ExitKind.UPLOAD, t.ExitKind.SYNCED_WRITE),
        grants=s.GRANTS,
        source=t.ExitSource.PREDICTED,
        record=t.ExitRecord(
            version=1,
            user_messages=("make the tests pass", "now publish it"),
            action=_ACTION,
            facts=_FACTS,
        ),
    ),
    "exit_requested_floor_edit": ev.ExitRequested(
        turn_id=s.TURN,
        call_id=s.CALL,
        kinds=(t.ExitKind.PERSISTENCE,),
        source=t.ExitSource.NEEDS,
        record=_EDIT,
    ),
    "exit_review_started": ev.ExitReviewStarted(
        turn_id=s.TURN, call_id=s.CALL, kinds=(t.ExitKind.HOST,)
    ),
    "exit_judged": ev.ExitJudged(
        turn_id=s.TURN,
        call_id=s.CALL,
        judge=t.JudgeKind.CLASSIFIER,
        verdict=t.Verdict.ALLOW,
        model="sample-judge",
        latency_ms=1_310,
        risk=t.Risk.LOW,
        user_authorization=t.UserAuthorization.HIGH,
        category="package download",
        rationale="the user asked for this package",
        record_sha256="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        cached=True,
        chain_step=t.ChainStep.TURN_MODEL,
        skipped=("sample-judge-mini",),
        reasked=True,
    ),
    "exit_judged_full": ev.ExitJudged(
        turn_id=s.TURN, call_id=s.CALL, judge=t.JudgeKind.FULL, verdict=t.Verdict.ALLOW
    ),
    "classifier_paused": ev.ClassifierPaused(
        turn_id=s.TURN, reason=t.PauseReason.IN_A_ROW, denials=3
    ),
    "presence_changed": ev.PresenceChanged(
        conversation_id=s.CONVERSATION,
        presence=t.Presence.AWAY,
        source=t.PresenceSource.TIMEOUT,
    ),
    "cache_delete_applied": ev.CacheDeleteApplied(
        turn_id=s.TURN,
        call_id=s.CALL,
        paths=("/home/ada/.cache/pip/wheels",),
        freed_bytes=52_428_800,
    ),
    "home_file_changed": ev.HomeFileChanged(
        turn_id=s.TURN,
        call_id=s.CALL,
        path="/home/ada/.zshrc",
        floor=True,
        covered=True,
        real="/home/ada/dotfiles/zshrc",
    ),
    "home_file_changed_backup": ev.HomeFileChanged(
        turn_id=s.TURN,
        call_id=s.CALL,
        path="/home/ada/.vimrc",
        floor=False,
        backup="/home/ada/.local/state/efr/backups/vimrc",
    ),
    "sandbox_surface_changed": ev.SandboxSurfaceChanged(
        turn_id=s.TURN, call_id=s.CALL, changes=s.SURFACE, quarantined=True
    ),
    "surface_question_requested": ev.SurfaceQuestionRequested(
        turn_id=s.TURN, call_id=s.CALL, question_id=s.QUESTION, changes=s.SURFACE
    ),
    "surface_question_answered": ev.SurfaceQuestionAnswered(
        turn_id=s.TURN, question_id=s.QUESTION, keep=False, origin=t.Origin.CLI
    ),
    "turn_surface_report": ev.TurnSurfaceReport(
        turn_id=s.TURN,
        files=(t.ReportedFile(path="Makefile", detail="target test"), t.ReportedFile("x.sh")),
    ),
    "sandbox_unavailable": ev.SandboxUnavailable(reason="user namespaces are off"),
    "conversation_compacted": ev.ConversationCompacted(
        **{name: getattr(s.COMPACTED, name) for name in s.COMPACTED.__struct_fields__}
    ),
    "snapshot_taken": ev.SnapshotTaken(
        turn_id=s.TURN,
        root="/home/ada/src/größe",
        phase=t.SnapshotPhase.PRE,
        commit="1f2e3d4c5b6a79880011223344556677889900ab",
        files=812,
        skipped=3,
        ms=41,
    ),
    "undo_applied": ev.UndoApplied(
        conversation_id=s.CONVERSATION,
        undone_turn_id=s.TURN,
        undo_id=s.UNDO,
        redo=False,
        origin=t.Origin.SHELL,
        restored=3,
        trashed=1,
        deleted=0,
        conflicts=2,
        not_covered=1,
        refs=s.UNDO_REFS,
        trash="/home/ada/.local/state/efr/trash/2026-11-02",
        stopped=True,
    ),
    "job_started": ev.JobStarted(
        turn_id=s.TURN,
        call_id=s.CALL,
        job=s.JOB,
        launcher_pid=40_400,
        launcher_start=987_654_321,
    ),
    "job_started_moved": ev.JobStarted(
        turn_id=s.TURN,
        call_id=s.CALL,
        job=t.JobInfo(
            id="j3",
            conversation_id=s.CONVERSATION,
            turn_id=s.TURN,
            call_id=s.CALL,
            command="npm create vite",
            launch=t.LaunchUnsandboxed(),
            state=t.JobState.RUNNING,
            started_at="2026-11-02T08:15:03Z",
            ends_by="2026-11-02T09:15:03Z",
            output="/home/ada/.local/state/efr/jobs/j3.log",
            output_bytes=0,
            moved_from=t.MovedFrom(
                call_id=s.CALL,
                turn_id=s.TURN,
                after_secs=31,
                exits=(t.ExitKind.OUTSIDE,),
                launcher=True,
            ),
            waits_input=True,
            cgroup=t.JobCgroup(off="no user manager"),
        ),
        launcher_pid=40_500,
        launcher_start=987_655_000,
    ),
    "job_watch_matched": ev.JobWatchMatched(job_id="j2", line="error: port in use", wakes_left=2),
    "job_ended": ev.JobEnded(
        job_id="j2",
        state=t.JobState.STOPPED,
        exit_code=143,
        stopped_by=t.JobStopBy.FULL_OFF,
        output_bytes=4_096,
        ran_secs=300,
        tail="bye\n",
        surface_changes=s.SURFACE,
        quarantined=True,
        survivors=("ssh-agent",),
        launcher_lost=True,
        output_truncated=True,
        blocked=s.BLOCKED,
        blocked_more=1,
        bus_refused=s.BUS_REFUSED,
        bus_refused_more=1,
    ),
    "job_notice": ev.JobNotice(
        conversation_id=s.CONVERSATION,
        turn_id=s.TURN,
        job_id="j2",
        notice_kind=t.NoticeKind.WATCH,
        woke=True,
        source_seq=112,
        not_user_input=True,
        text="job j2 wrote: error: port in use",
    ),
    "job_notice_held": ev.JobNoticeHeld(
        job_id="j2", source_seq=112, reason=t.HeldReason.WAKE_LIMIT
    ),
    "job_port_forwarded": ev.JobPortForwarded(
        job_id="j2",
        listen="::1",
        port=8_000,
        outcome=t.ForwardOutcome.IN_USE,
        by_job="j1",
        reason="a service port",
    ),
    "shell_started": ev.ShellStarted(pty_id=s.PTY, cwd="/home/ada", pid=40_001),
    "shell_exited": ev.ShellExited(pty_id=s.PTY, exit_code=1),
    "cwd_changed": ev.CwdChanged(pty_id=s.PTY, cwd="/srv/www", host="lovelace"),
    "shell_command_detached": ev.ShellCommandDetached(
        **{name: getattr(s.SHELL_BUSY, name) for name in s.SHELL_BUSY.__struct_fields__}
    ),
    "shell_command_input_changed": ev.ShellCommandInputChanged(
        call_id=s.CALL,
        input=t.InputWait.VISIBLE,
        contained=False,
        looks_secret=True,
        prompt="Passphrase: ",
    ),
    "shell_command_ended": ev.ShellCommandEnded(
        call_id=s.CALL, how=t.ShellCommandEnd.MOVED, exit_code=0
    ),
    "login_completed": ev.LoginCompleted(provider="openai"),
    "logout_completed": ev.LogoutCompleted(provider="anthropic-api"),
    "unknown": ev.UnknownEvent(
        kind="moon_rose", members={"phase": "full", "seen_from": ["balcony", None, 1.5]}
    ),
}
