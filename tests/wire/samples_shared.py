"""Values that several wire samples share: one made-up machine and one conversation on it."""

from __future__ import annotations

from efr.wire import types as t


def sample_id(number: int) -> str:
    """The sample ids differ in their last digits only."""
    return f"019a9b1c-3d00-7a10-8b20-{number:012x}"


CONVERSATION = sample_id(0x01)
TURN = sample_id(0x02)
COMMAND = sample_id(0x03)
CALL = sample_id(0x04)
PTY = sample_id(0x05)
DEVICE = sample_id(0x06)
DAEMON = sample_id(0x07)
PROJECT = sample_id(0x08)
QUESTION = sample_id(0x09)
QUEUED_TURN = sample_id(0x0A)
COMPACTION = sample_id(0x0B)
UNDO = sample_id(0x0C)
PAIRING = sample_id(0x0D)
OTHER_PROJECT = sample_id(0x0E)

TTY = "/dev/pts/7"
OTHER_TTY = "/dev/pts/9"

DESKTOP = t.DesktopEnv(
    wayland_display="wayland-1",
    display=":0",
    hyprland_instance_signature="v0.52_1764460800",
    swaysock="/run/user/1000/sway-ipc.sock",
    i3sock="/run/user/1000/i3/ipc-socket.911",
    niri_socket="/run/user/1000/niri.wayland-1.sock",
    has_xauthority=True,
)
CONTEXT = t.ShellContext(
    pwd="/home/ada/src/größe",
    oldpwd="/home/ada",
    tty=TTY,
    shell_pid=31337,
    last_status=-1,
    shlvl=2,
    ssh_connection="198.51.100.4 50022 198.51.100.9 22",
    hostname="lovelace",
    desktop=DESKTOP,
)
RECENT_COMMANDS = (
    t.RecentCommand(
        command="make test",
        status=2,
        cwd="/home/ada/src/größe",
        ended_at="2026-11-02T08:14:59.75Z",
        duration_ms=4_200,
    ),
    t.RecentCommand(command="ls"),
)
SETTINGS = t.TurnSettings(mode=t.Mode.FULL, model="sample-large", effort="x-high")
EFFECTIVE = t.EffectiveSettings(
    mode=t.Mode.AUTO,
    model="sample-large",
    effort="x-high",
    overridden=t.Overridden(mode=True, model=True, effort=True),
    fallback=t.ModeFallback(
        asked=t.Mode.FULL,
        reason="a turn that a job notice starts runs with at most auto",
    ),
)
LATE = t.LateSteerQueue(
    context=CONTEXT,
    last_command="make test",
    settings=SETTINGS,
    recent_commands=RECENT_COMMANDS,
)
PLACE = t.Place(scope=t.RouteProject(PROJECT), name="größe", dir="/home/ada/src/größe")
OUTSIDE = t.Place(scope=t.RouteOutside(), dir="/var/log")
SUMMARY = t.ConversationSummary(
    id=CONVERSATION,
    title="make the tests pass 🙂",
    status=t.ConversationStatus.AWAITING_APPROVAL,
    created_at="2026-11-02T08:15:00Z",
    updated_at="2026-11-02T08:15:07.000000001Z",
    last_seq=118,
    cwd="/home/ada/src/größe",
    scope=t.ScopeProject(PROJECT),
    tty=TTY,
)
ROW = t.RecentRow(
    summary=SUMMARY,
    route=t.RouteProject(PROJECT),
    project="größe",
    turns=3,
    open_in=OTHER_TTY,
    here=True,
)
USAGE = t.Usage(
    input_tokens=52_000,
    output_tokens=1_250,
    cached_input_tokens=40_000,
    reasoning_tokens=700,
    cache_write_tokens=9_000,
    cache_write_1h_tokens=2_000,
    context_tokens=31_000,
)
CONTEXT_USE = t.ContextUse(tokens=31_000, limit=180_000, window=200_000)
COMPACTED = t.Compaction(
    compaction_id=COMPACTION,
    turn_id=TURN,
    trigger=t.CompactionTrigger.OVERFLOW,
    focus="keep the failing test's name",
    model="sample-small",
    window=200_000,
    limit=180_000,
    tokens_before=196_000,
    tokens_after=24_000,
    through_turn=TURN,
    through_message=4,
    kept_turns=2,
    pruned_outputs=6,
    pruned_tokens=61_000,
    omitted_turns=1,
    omitted_messages=9,
    fresh="Today is 2026-11-02.",
    summary="The user wants green tests.\nOne still fails.",
    usage=t.Usage(
        input_tokens=150_000,
        output_tokens=900,
        cached_input_tokens=120_000,
        cache_write_tokens=12_000,
        cache_write_1h_tokens=4_000,
    ),
)
CHANGES = t.FileChanges(
    files=(
        t.FileChange(
            path="docs/neu.md",
            kind=t.ChangeKind.RENAMED,
            from_="docs/alt.md",
            added=1,
            removed=0,
        ),
        t.FileChange(path="logo.png", kind=t.ChangeKind.MODIFIED, added=0, removed=0, binary=True),
    ),
    more=2,
    added=44,
    removed=7,
)
UNDOABLE = t.UndoSummary(
    undoable=True,
    roots=(t.UndoRoot(shown="~/src/größe", files=4, refs=1),),
    home_files=1,
    not_covered=("/etc/hosts",),
    not_covered_more=3,
)
UNDO_REFS = (
    t.UndoRef(
        root="/home/ada/src/größe",
        name="refs/heads/main",
        from_="8b1c8f0d3a5e4b6c7d8e9f00112233445566778a",
        to="1f2e3d4c5b6a79880011223344556677889900ab",
        applied=True,
        reason=t.UndoReason.REF_MOVED,
    ),
)
GRANTS = (
    t.GrantWrite("/home/ada/backup"),
    t.GrantHost("pypi.org", 443),
)
ALL_GRANTS = (
    *GRANTS,
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
)
SURFACE = (
    t.SurfaceChange(
        path="/home/ada/src/größe/.git/config",
        rule="git config",
        key="core.hookspath",
        quarantined=True,
    ),
)
BLOCKED = (
    t.Blocked("telemetry.example", 443, t.BlockReason.DENIED, count=12),
    t.Blocked("10.0.0.8", 8080, t.BlockReason.PRIVATE_ADDRESS),
)
BUS_REFUSED = (
    t.BusRefused(
        bus=t.BusKind.SESSION,
        name="org.freedesktop.secrets",
        member="OpenSession",
        path="/org/freedesktop/secrets",
        count=2,
    ),
)
LIVE = t.Live(
    turn_id=TURN,
    after_seq=117,
    index=1,
    text="Die Größe",
    text_bytes=11,
    reasoning="The test compares bytes.",
    reasoning_title="Reading the test",
)
JOB = t.JobInfo(
    id="j2",
    conversation_id=CONVERSATION,
    turn_id=TURN,
    call_id=CALL,
    command="python -m http.server 8000",
    launch=t.LaunchContained(GRANTS),
    state=t.JobState.STOPPED,
    started_at="2026-11-02T08:15:03Z",
    ends_by="2026-11-02T09:15:03Z",
    ended_at="2026-11-02T08:20:03.5Z",
    exit_code=-15,
    stopped_by=t.JobStopBy.USER,
    watch=t.JobWatch(pattern="error", max_wakes=3),
    output="/home/ada/.local/state/efr/jobs/j2.log",
    output_bytes=4_096,
    wakes=1,
    forwards=(t.JobForward(listen="127.0.0.1", port=8_000),),
    cgroup=t.JobCgroup(memory_bytes=73_400_320, cpu_usec=1_250_000),
)
SHELL_BUSY = t.ShellBusy(
    call_id=CALL,
    command="sudo journalctl --vacuum-time=2weeks",
    since="2026-11-02T08:15:04Z",
    contained=True,
    input=t.InputWait.VISIBLE,
    looks_secret=True,
    prompt="[sudo] password for ada: ",
    approved_by=t.ApprovedBy.YOU,
)
SANDBOX_STATUS = t.SandboxStatus(
    available=False,
    reason="user namespaces are off",
    fix="sysctl kernel.unprivileged_userns_clone=1",
    landlock_abi=6,
    errata=3,
    bwrap="/usr/bin/bwrap",
    bwrap_version="0.11.0",
    cache_mode=t.CacheMode.OVERLAY,
    network_mode=t.NetworkMode.PROXY,
    warnings=("a project is the home directory",),
    netview=True,
    netview_off=True,
    proxy=True,
    bus_proxy=True,
)
RELOAD = t.ReloadResult(
    applied=True,
    error=t.ConfigFileError(message="unknown key", line=12, column=3, key="conversation.idle_hour"),
    restart_needed=("remote.port",),
    warnings=("an always rule is off: a floor covers it",),
)
CATALOG = t.Catalog(
    provider="compatible", origin=t.CatalogOrigin.CACHE, fetched_at="2026-11-02T07:00:00Z"
)
PROJECT_INFO = t.ProjectInfo(id=PROJECT, root="/home/ada/src/größe", name="größe")
ENVELOPE_AT = "2026-11-02T08:15:06Z"
