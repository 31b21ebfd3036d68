"""The tables of config.toml: every key with its type and its default.

A table is a struct, a key a member; unknown keys are errors at every level. `None` means unset.
Ranges, when a change applies and what a key does stand in `keys.py`, a row for each key; from both
come docs/config.md, its JSON schema and the commented example (`make schema`). The annotations are
evaluated at once (no `__future__` import) and plain: a command reads the file at each run.
"""

from typing import Literal

from msgspec import Struct

Texts = tuple[str, ...]
Auto = Literal["auto", "on", "off"]
Color = int | str


class Table(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A table of the file."""


class ModelEntry(Table, frozen=True):
    """A model that the catalog lacks, or new limits for one that it has."""

    id: str
    context_window: int | None = None
    max_output_tokens: int | None = None


Models = tuple[str | ModelEntry, ...]


class Model(Table, frozen=True):
    """Who answers."""

    provider: Literal["openai", "openai-api", "anthropic-api", "compatible", "demo"] | None = None
    name: str | None = None
    effort: str | None = None
    system_prompt: str | None = None
    max_output_tokens: int | None = None


class OpenAI(Table, frozen=True):
    """OpenAI: the subscription and the public API."""

    originator: str = "efr"
    models: Models = ()
    subscription_base_url: str | None = None
    api_base_url: str | None = None
    websocket: Auto = "auto"
    organization: str | None = None
    project: str | None = None


class Anthropic(Table, frozen=True):
    """Anthropic: the Messages API."""

    base_url: str | None = None
    models: Models = ()
    cache_ttl: Literal["auto", "5m", "1h"] = "auto"
    workspace_id: str | None = None


class Compatible(Table, frozen=True):
    """Any server that speaks OpenAI's API, such as one on your own machine."""

    base_url: str | None = None
    models: Models = ()


class CommandEntry(Table, frozen=True):
    """One simple command, in a rule."""

    program: str
    args: Texts = ()
    forbid: Texts = ()
    min_operands: int = 0
    max_operands: int | None = None
    max_options: int | None = None
    under: str | None = None
    check: str | None = None


class ExitEntry(Table, frozen=True):
    """One way out of the sandbox, in a rule."""

    kind: Literal["host", "host_view", "bus", "socket", "write", "destructive", "upload", "outside"]
    host: str | None = None
    port: int | None = None
    under: str | None = None
    program: str | None = None
    args: Texts = ()
    bus: str | None = None
    name: str | None = None
    members: Texts = ()
    path: str | None = None
    remote: str | None = None
    url: str | None = None


class ResourceEntry(Table, frozen=True, rename={"class_": "class"}):
    """What a rule is about: one of these."""

    class_: Literal["secrets", "scratch", "user_config", "user_data", "system"] | None = None
    under: str | None = None
    command: CommandEntry | None = None
    exit: ExitEntry | None = None


class RuleEntry(Table, frozen=True):
    """One rule."""

    action: Literal["any", "read", "write", "execute", "network", "exit"]
    resource: Literal["any", "project"] | ResourceEntry
    effect: Literal["allow", "ask", "deny"]
    matches: Texts = ()
    matches_not: Texts = ()


class Permissions(Table, frozen=True):
    """The default mode, secrets, and your own rules; see [permissions.md](permissions.md)."""

    mode: Literal["manual", "cautious", "auto", "full"] = "cautious"
    allow_full: bool = False
    secret_paths: Texts = ()
    rules: tuple[RuleEntry, ...] = ()


class Shell(Table, frozen=True):
    """The hidden shell, in which the agent runs commands."""

    program: str | None = None
    login: bool = True
    idle_minutes: int = 60
    sudo_cache: Literal["keep", "per_call"] = "keep"
    interactive_timeout_minutes: int = 60


class Conversation(Table, frozen=True):
    """Conversations: their queue, their questions, their terminals."""

    max_queued: int = 16
    approval_timeout_secs: int | None = None
    update_interval_ms: int = 200
    draft_interval_ms: int = 16
    tty_idle_hours: int = 12
    repo_hint: bool = True
    follow_project: bool = True


class Resume(Table, frozen=True):
    """How `,resume` shows conversations."""

    picker: Literal["auto", "list"] = "auto"


class Compaction(Table, frozen=True):
    """When a long conversation is summarised."""

    auto: bool = True
    auto_at: int = 76


class Network(Table, frozen=True):
    """The network of calls in the sandbox."""

    netview: bool = True
    proxy: bool = True
    allow: Texts = (
        "pypi.org",
        "files.pythonhosted.org",
        "registry.npmjs.org",
        "index.crates.io",
        "static.crates.io",
        "proxy.golang.org",
        "sum.golang.org",
        "rubygems.org",
        "index.rubygems.org",
    )
    deny: Texts = ()
    upload_kib: int = 256
    max_connections: int = 64
    plain_http: bool = False
    bus_filter: bool = True


class Remote(Table, frozen=True):
    """Phones, over the tailnet."""

    enabled: bool = False
    port: int = 0


class Classifier(Table, frozen=True):
    """The model that answers for you where it may."""

    enabled: bool = True
    model: str | None = None
    timeout_secs: int = 20


class Sandbox(Table, frozen=True):
    """What a contained call sees, may write, and gets of your environment."""

    enabled: bool = True
    bwrap: str | None = None
    write_projects: Literal["turn", "named", "all"] = "named"
    write_roots: Texts = ()
    caches: Texts = (
        "~/.cargo",
        "~/.rustup",
        "~/.cache",
        "~/go/pkg/mod",
        "~/.npm",
        "~/.bun/install/cache",
        "~/.local/share/pnpm/store",
        "~/.m2/repository",
        "~/.gradle/caches",
    )
    cache_mode: Literal["overlay", "tmp", "readonly"] = "tmp"
    cache_days: int = 14
    cache_max_gib: int = 20
    mask: Texts = ()
    mask_globs: Texts = (".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template")
    protect: Texts = ()
    env_deny: Texts = ()
    env_keep: Texts = ()
    promote_env: Texts = (
        "RUST_LOG",
        "RUST_BACKTRACE",
        "NODE_ENV",
        "DEBUG",
        "CI",
        "NO_COLOR",
        "FORCE_COLOR",
        "TZ",
        "LANG",
        "LC_*",
    )
    export_deny: Texts = ()
    synced_dirs: Texts = ("~/Dropbox", "~/Nextcloud", "~/Sync", "~/OneDrive", "~/MEGA")
    surface_files: Texts = (
        "Makefile",
        "build.rs",
        "package.json",
        ".envrc",
        "rust-toolchain.toml",
        "justfile",
        "*.mk",
        "CMakeLists.txt",
        "setup.py",
        "pyproject.toml",
        "conftest.py",
        ".vscode/tasks.json",
        ".nvim.lua",
        ".exrc",
        ".mise.toml",
        ".tool-versions",
        "flake.nix",
        ".pre-commit-config.yaml",
        ".cargo/config.toml",
        ".cargo/config",
        ".npmrc",
        ".yarnrc.yml",
        ".pnpmfile.cjs",
    )
    offline_hints: bool = True
    rebuildable: Texts = ("target", "node_modules", "dist", "build", ".venv")


class Snapshot(Table, frozen=True):
    """The copies from which `efr diff` and undo work."""

    enabled: bool = True
    max_file_mib: int = 10
    ignored: Literal["none", "small"] = "small"
    max_files: int = 20000
    keep_turns: int = 50
    max_age_days: int = 30


class Undo(Table, frozen=True):
    """Taking back a turn."""

    enabled: bool = True


class Jobs(Table, frozen=True):
    """Jobs in the background."""

    wakes: bool = True
    wakes_per_hour: int = 12
    wakes_per_hour_all: int = 30
    max_minutes: int = 240
    memory_max_mib: int | None = None
    pids_max: int | None = None


class DiffColors(Table, frozen=True):
    """The colours of a diff."""

    add: Color | None = None
    remove: Color | None = None
    hunk: Color | None = None


class Colors(Table, frozen=True):
    """A colour for each role: `"#rrggbb"`, a slot 0–15, or a name such as `"bright-blue"`."""

    text: Color | None = None
    muted: Color | None = None
    accent: Color | None = None
    heading: Color | None = None
    link: Color | None = None
    code: Color | None = None
    success: Color | None = None
    warning: Color | None = None
    error: Color | None = None
    quote: Color | None = None
    diff: DiffColors = DiffColors()


class Render(Table, frozen=True):
    """How the command `efr` draws."""

    theme: str | None = None
    theme_dark: str = "catppuccin-mocha"
    theme_light: str = "catppuccin-latte"
    palette: str | None = None
    motion: bool = True
    turn_summary: bool = True
    diff_lines: int = 20
    progress: Auto = "auto"
    turn_input: bool = True
    colors: Colors = Colors()


class Settings(Table, frozen=True):
    """The whole file."""

    log: str = "info"
    screen: Literal["auto", "vt100", "ghostty"] = "auto"
    model: Model = Model()
    openai: OpenAI = OpenAI()
    anthropic: Anthropic = Anthropic()
    compatible: Compatible = Compatible()
    permissions: Permissions = Permissions()
    shell: Shell = Shell()
    conversation: Conversation = Conversation()
    resume: Resume = Resume()
    compaction: Compaction = Compaction()
    network: Network = Network()
    remote: Remote = Remote()
    classifier: Classifier = Classifier()
    sandbox: Sandbox = Sandbox()
    snapshot: Snapshot = Snapshot()
    undo: Undo = Undo()
    jobs: Jobs = Jobs()
    render: Render = Render()
