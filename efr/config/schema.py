"""Every key of config.toml, declared once: type, default, range. docs/config.md explains them.

A table is a struct, a key a member; unknown keys are errors at every level. `None` means unset.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Text = Annotated[str, Meta(pattern=r"\S")]
Effort = Annotated[str, Meta(pattern=r"^[a-z0-9_-]{1,32}$")]
Url = Annotated[str, Meta(pattern=r"^https?://[^\s/]+\S*$")]
AbsolutePath = Annotated[str, Meta(pattern=r"^/")]
UserPath = Annotated[str, Meta(pattern=r"^(/|~$|~/)")]
Color = Annotated[int, Meta(ge=0, le=15)] | Annotated[str, Meta(pattern=r"\S")]


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class ModelEntry(_Table, frozen=True):
    """A model that the catalog lacks, or new limits for one that it has."""

    id: Text
    context_window: Annotated[int, Meta(ge=1000, le=100_000_000)] | None = None
    max_output_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None


Models = tuple[Text | ModelEntry, ...]


class Model(_Table, frozen=True):
    """[model]: who answers."""

    provider: Literal["openai", "openai-api", "anthropic-api", "compatible", "demo"] | None = None
    name: Text | None = None
    effort: Effort | None = None
    system_prompt: str | None = None
    max_output_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None


class OpenAI(_Table, frozen=True):
    """[openai]: the subscription and the public API."""

    originator: Text = "efr"
    models: Models = ()
    subscription_base_url: Url | None = None
    api_base_url: Url | None = None
    websocket: Literal["auto", "on", "off"] = "auto"
    organization: Text | None = None
    project: Text | None = None


class Anthropic(_Table, frozen=True):
    """[anthropic]: the Messages API."""

    base_url: Url | None = None
    models: Models = ()
    cache_ttl: Literal["auto", "5m", "1h"] = "auto"
    workspace_id: Text | None = None


class Compatible(_Table, frozen=True):
    """[compatible]: any OpenAI-compatible server."""

    base_url: Url | None = None
    models: Models = ()


class Permissions(_Table, frozen=True):
    """[permissions]: the default mode and more secrets."""

    mode: Literal["manual", "cautious", "auto", "full"] = "cautious"
    allow_full: bool = False
    secret_paths: tuple[UserPath, ...] = ()


class Shell(_Table, frozen=True):
    """[shell]: the hidden shell."""

    program: AbsolutePath | None = None
    login: bool = True
    idle_minutes: Annotated[int, Meta(ge=0, le=525_600)] = 60
    sudo_cache: Literal["keep", "per_call"] = "keep"
    interactive_timeout_minutes: Annotated[int, Meta(ge=1, le=1440)] = 60


class Conversation(_Table, frozen=True):
    """[conversation]: queue, questions, streams, terminals."""

    max_queued: Annotated[int, Meta(ge=1, le=1024)] = 16
    approval_timeout_secs: Annotated[int, Meta(ge=1, le=604_800)] | None = None
    update_interval_ms: Annotated[int, Meta(ge=0, le=60_000)] = 200
    draft_interval_ms: Annotated[int, Meta(ge=0, le=1000)] = 16
    tty_idle_hours: Annotated[int, Meta(ge=0, le=8760)] = 12
    repo_hint: bool = True
    follow_project: bool = True


class Resume(_Table, frozen=True):
    """[resume]: how `,resume` shows conversations."""

    picker: Literal["auto", "list"] = "auto"


class Compaction(_Table, frozen=True):
    """[compaction]: when the context is summarised."""

    auto: bool = True
    auto_at: Annotated[int, Meta(ge=1, le=99)] = 76


class Remote(_Table, frozen=True):
    """[remote]: the tailnet listener."""

    enabled: bool = False
    port: Annotated[int, Meta(ge=0, le=65535)] = 0


class Colors(_Table, frozen=True):
    """[render.colors]: one colour per role."""

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
    diff: dict[Literal["add", "remove", "hunk"], Color] = {}


class Render(_Table, frozen=True):
    """[render]: how `efr` draws. Only the command reads it."""

    theme: Text | None = None
    theme_dark: Text = "catppuccin-mocha"
    theme_light: Text = "catppuccin-latte"
    palette: UserPath | None = None
    motion: bool = True
    turn_summary: bool = True
    diff_lines: Annotated[int, Meta(ge=0, le=1000)] = 20
    progress: Literal["auto", "on", "off"] = "auto"
    turn_input: bool = True
    colors: Colors = Colors()


class Settings(_Table, frozen=True):
    """The whole file."""

    log: Text = "info"
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
    remote: Remote = Remote()
    render: Render = Render()


RESTART_KEYS = frozenset(
    {
        "screen",
        "model.provider",
        "openai.originator",
        "openai.subscription_base_url",
        "openai.api_base_url",
        "openai.websocket",
        "openai.organization",
        "openai.project",
        "anthropic.base_url",
        "anthropic.cache_ttl",
        "anthropic.workspace_id",
        "compatible.base_url",
        "remote.enabled",
        "remote.port",
    }
)  # a running daemon keeps the old value of these; `efr status` lists them
