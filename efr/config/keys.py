"""What every key of config.toml says of itself: what it does, when a change applies, its range.

Pure. A row for each key, in the order of the tables; types and defaults are in `schema.py`, and a
test holds the two together. From both come the checks, the page docs/config.md, the JSON schema
and the commented example.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from efr.config.forms import (
    ABSOLUTE,
    BELOW,
    COLOR,
    DIRECTORY,
    HOST,
    LOG,
    MODEL,
    NAME_PATTERN,
    PATH,
    PORT,
    TEXT,
    URL,
    VARIABLE,
    WORD,
    Form,
    Range,
)

# When a change of a key applies.
LIVE: Final = "at once"
TURN: Final = "next turn"
QUESTION: Final = "next question"
CALL: Final = "next call"
SHELL: Final = "new hidden shells"
JOB: Final = "new jobs"
PROBE: Final = "at once; the sandbox is looked at again"
RESTART: Final = "restart of efrd"
COMMAND: Final = "next command"


class Key(NamedTuple):
    """One key. A list's range is that of its items.

    `shown` stands for a default that is no value; `example` is a value, as TOML, for a key that
    has no default.
    """

    text: str
    applies: str
    range: Range | Form | None = None
    shown: str = ""
    example: str = ""


KEYS: Final[dict[str, Key]] = {
    "log": Key("What efrd logs.", LIVE, LOG),
    "screen": Key(
        "The screens of hidden shells. One kind is built in, and every value takes it.", RESTART
    ),
    "model.provider": Key(
        "Who answers new conversations. Unset: the provider you logged in to last, else the"
        " server of `compatible.base_url`, else the demo.",
        RESTART,
        example='"openai"',
    ),
    "model.name": Key(
        "The model. Unset: the provider's first choice.", TURN, TEXT, example='"gpt-5.4"'
    ),
    "model.effort": Key(
        "The reasoning effort. Unset: the model's own.", TURN, WORD, example='"high"'
    ),
    "model.system_prompt": Key(
        "Replaces the whole system prompt.",
        TURN,
        shown="built in",
        example='"You are a careful administrator."',
    ),
    "model.max_output_tokens": Key(
        "The longest answer of one model call, in tokens.", TURN, Range(1, 1000000), example="32000"
    ),
    "openai.originator": Key(
        "Who asks, in the login and the requests of the subscription.", RESTART, TEXT
    ),
    "openai.models": Key(
        "Models to add, or new limits for a listed one.", TURN, MODEL, shown="built in"
    ),
    "openai.subscription_base_url": Key(
        "Another address of the subscription.",
        RESTART,
        URL,
        shown="built in",
        example='"https://proxy.example.org/backend-api"',
    ),
    "openai.api_base_url": Key(
        "Another address of the public API.",
        RESTART,
        URL,
        shown="built in",
        example='"https://proxy.example.org/v1"',
    ),
    "openai.websocket": Key(
        "When to use a WebSocket. Read and kept for that: today every call goes over HTTP.", RESTART
    ),
    "openai.organization": Key(
        "The organization that `openai-api` names.", RESTART, TEXT, example='"org-example"'
    ),
    "openai.project": Key(
        "The project that `openai-api` names.", RESTART, TEXT, example='"proj_example"'
    ),
    "anthropic.base_url": Key(
        "Another address of the API.",
        RESTART,
        URL,
        shown="built in",
        example='"https://proxy.example.org/v1"',
    ),
    "anthropic.models": Key(
        "Models to add, or lower limits for a listed one.", TURN, MODEL, shown="from the API"
    ),
    "anthropic.cache_ttl": Key(
        "How long the provider's cache keeps the prompt. `auto`: an hour for what stays, five"
        " minutes for the rest.",
        RESTART,
    ),
    "anthropic.workspace_id": Key(
        "The workspace that requests name.", RESTART, TEXT, example='"wrkspc_example"'
    ),
    "compatible.base_url": Key(
        "The server. Its key is optional and comes from a login.",
        RESTART,
        URL,
        example='"http://127.0.0.1:11434/v1"',
    ),
    "compatible.models": Key(
        "Models to add, or limits that the server does not tell.",
        TURN,
        MODEL,
        shown="from the server",
    ),
    "permissions.mode": Key(
        "The default mode. A prompt may name another; a phone gets at most `cautious`.", TURN
    ),
    "permissions.allow_full": Key(
        "Whether mode `full` may be used at all. Switched off, it ends `full`.", LIVE
    ),
    "permissions.secret_paths": Key(
        "More paths that the agent may never read or write.", CALL, PATH
    ),
    "permissions.rules": Key(
        "Your own rules, after the built-in ones; the last one that matches wins.", CALL
    ),
    "shell.program": Key(
        "The zsh to run.", SHELL, ABSOLUTE, shown="zsh on the PATH", example='"/usr/bin/zsh"'
    ),
    "shell.login": Key("Start it as a login shell.", SHELL),
    "shell.idle_minutes": Key(
        "Close one that is idle and not looked at after so long. 0: never.", LIVE, Range(0, 525600)
    ),
    "shell.sudo_cache": Key(
        "`per_call`: forget the password that sudo and doas remember after each call.", CALL
    ),
    "shell.interactive_timeout_minutes": Key(
        "The longest run of an approved call that may wait for your keys, while a terminal that"
        " can type follows it.",
        CALL,
        Range(1, 1440),
    ),
    "conversation.max_queued": Key("Prompts that may wait behind a turn.", LIVE, Range(1, 1024)),
    "conversation.approval_timeout_secs": Key(
        "How long a question waits for an answer. Unset: for ever while you are there.",
        QUESTION,
        Range(1, 604800),
        example="600",
    ),
    "conversation.update_interval_ms": Key(
        "The shortest time between two texts of a turn in the log. A few words wait longer for"
        " more, up to ten times.",
        CALL,
        Range(0, 60000),
    ),
    "conversation.draft_interval_ms": Key(
        "The shortest time between two drafts on the screen. 0: send each.", LIVE, Range(0, 1000)
    ),
    "conversation.tty_idle_hours": Key(
        "A terminal's conversation ends after so long without activity, each scope on its own"
        " clock; also the limit for a new terminal that picks one up. 0: never.",
        LIVE,
        Range(0, 8760),
    ),
    "conversation.repo_hint": Key(
        "The dim line about a git repository that is no project, at most once a day for each.", LIVE
    ),
    "conversation.follow_project": Key(
        "A terminal has a conversation for each project, and a new one picks it up. `false`: one"
        " conversation for each terminal, wherever it goes.",
        LIVE,
    ),
    "resume.picker": Key("`list`: always the numbered list, never the picker of fzf.", COMMAND),
    "compaction.auto": Key(
        "Summarise before a model call when the point is reached. `false`: only `,compact` does,"
        " and what does not fit fails.",
        TURN,
    ),
    "compaction.auto_at": Key(
        "The point, in percent of the model's window; it shows as `ctx 100%`.", TURN, Range(1, 99)
    ),
    "network.netview": Key("Whether a call may be granted a look at the host's network.", PROBE),
    "network.proxy": Key(
        "The proxy of contained calls. `false`: no network in the sandbox.", PROBE
    ),
    "network.allow": Key("The hosts that the proxy lets through.", CALL, HOST),
    "network.deny": Key("Hosts that are refused, whatever else allows them.", CALL, HOST),
    "network.upload_kib": Key(
        "How much one call may send to one host, in KiB.", CALL, Range(0, 1048576)
    ),
    "network.max_connections": Key("Connections of one call.", CALL, Range(1, 1024)),
    "network.plain_http": Key("GET and HEAD without TLS.", CALL),
    "network.bus_filter": Key("The filter between a call and the message bus.", PROBE),
    "remote.enabled": Key("The listener and the pairing of phones.", RESTART),
    "remote.port": Key("Its port. 0: one is chosen once and kept.", RESTART, PORT),
    "classifier.enabled": Key(
        "Whether a model answers the exits of the sandbox that it may judge.", CALL
    ),
    "classifier.model": Key(
        "That model. Unset: the provider's small one, then the turn's.",
        CALL,
        TEXT,
        example='"gpt-5.4-mini"',
    ),
    "classifier.timeout_secs": Key("How long it may take.", CALL, Range(1, 120)),
    "sandbox.enabled": Key("`false`: mode `auto` runs as `cautious`.", TURN),
    "sandbox.bwrap": Key(
        "bubblewrap.", PROBE, ABSOLUTE, shown="first on efrd's PATH", example='"/usr/bin/bwrap"'
    ),
    "sandbox.write_projects": Key(
        "Which registered projects a call may write: the turn's, also those that the line names,"
        " or all.",
        CALL,
    ),
    "sandbox.write_roots": Key("More directories that a call may write.", CALL, BELOW),
    "sandbox.caches": Key(
        "Caches of tools, which a call writes behind a private layer.", CALL, BELOW
    ),
    "sandbox.cache_mode": Key(
        "That layer: one for each conversation, one for each call, or none.", CALL
    ),
    "sandbox.cache_days": Key("Layers that nobody used so long go.", LIVE, Range(1, 3650)),
    "sandbox.cache_max_gib": Key("All layers together, in GiB.", LIVE, Range(1, 10000)),
    "sandbox.mask": Key("More paths that read as empty.", CALL, PATH),
    "sandbox.mask_globs": Key(
        "Names that read as empty where a call may write, to the third level.", CALL, NAME_PATTERN
    ),
    "sandbox.protect": Key("More paths that a call may never write.", CALL, PATH),
    "sandbox.env_deny": Key("Variables that are taken from every call.", CALL, VARIABLE),
    "sandbox.env_keep": Key(
        "Variables that a call keeps although their names look secret.", CALL, VARIABLE
    ),
    "sandbox.promote_env": Key(
        "Variables that a call may set for the calls after it. PATH and its like never.",
        CALL,
        VARIABLE,
    ),
    "sandbox.export_deny": Key(
        "Variables that a call never sets for the next one.", CALL, VARIABLE
    ),
    "sandbox.synced_dirs": Key(
        "Folders that are copied to other machines: a write there asks.", CALL, PATH
    ),
    "sandbox.surface_files": Key(
        "Files that run code later; a turn that changed one names it at its end.",
        CALL,
        NAME_PATTERN,
    ),
    "sandbox.offline_hints": Key(
        "Tell package tools that there is no network while there is none.", CALL
    ),
    "sandbox.rebuildable": Key("Directories whose deletion loses nothing.", CALL, DIRECTORY),
    "snapshot.enabled": Key(
        "`false`: no changed files, nothing new in `efr diff`, and no mode `full`.", TURN
    ),
    "snapshot.max_file_mib": Key("Larger files are left out.", TURN, Range(1, 1024)),
    "snapshot.ignored": Key(
        "Files that git ignores: none, or those up to 1 MiB outside of build output.", TURN
    ),
    "snapshot.max_files": Key(
        "A directory with more files is left out.", TURN, Range(100, 1000000)
    ),
    "snapshot.keep_turns": Key("Turns kept for each conversation.", LIVE, Range(1, 10000)),
    "snapshot.max_age_days": Key("Copies that nobody used so long go.", LIVE, Range(1, 3650)),
    "undo.enabled": Key("Undo of a turn. `false`: no mode `full`.", TURN),
    "jobs.wakes": Key("Whether the notice of a job may start a turn.", LIVE),
    "jobs.wakes_per_hour": Key("Such turns of one conversation.", LIVE, Range(0, 120)),
    "jobs.wakes_per_hour_all": Key("Such turns of all conversations.", LIVE, Range(0, 600)),
    "jobs.max_minutes": Key(
        "The longest time a job may ask for; one that asks for none gets it.", JOB, Range(1, 10080)
    ),
    "jobs.memory_max_mib": Key("The memory of a job.", JOB, Range(64), example="4096"),
    "jobs.pids_max": Key("The processes of a job.", JOB, Range(16), example="512"),
    "render.theme": Key(
        "The colours of code and diffs. Unset: the terminal's 16. `auto`: by its background.",
        COMMAND,
        TEXT,
        example='"auto"',
    ),
    "render.theme_dark": Key(
        "What `auto` takes on a dark or an unknown background.", COMMAND, TEXT
    ),
    "render.theme_light": Key("What `auto` takes on a light background.", COMMAND, TEXT),
    "render.palette": Key(
        "A theme file: a table `[colors]` with the keys of `render.colors`.",
        COMMAND,
        PATH,
        example='"~/.config/efr/colors.toml"',
    ),
    "render.motion": Key("The spinner and the moving band of the status row.", COMMAND),
    "render.turn_summary": Key("The line at the end of a turn.", COMMAND),
    "render.diff_lines": Key("Lines that show of a file's diff. 0: none.", COMMAND, Range(0, 1000)),
    "render.progress": Key(
        "Progress in the terminal's tab. `auto`: where the terminal is known to show it.", COMMAND
    ),
    "render.turn_input": Key("The input row while a turn runs.", COMMAND),
    "render.colors.text": Key("Text.", COMMAND, COLOR, shown="the terminal's", example='"white"'),
    "render.colors.muted": Key(
        "What is beside the point.", COMMAND, COLOR, shown="dim", example="8"
    ),
    "render.colors.accent": Key("What stands out.", COMMAND, COLOR, shown="3", example="3"),
    "render.colors.heading": Key("Headings.", COMMAND, COLOR, shown="as accent", example="3"),
    "render.colors.link": Key("Links.", COMMAND, COLOR, shown="4, underlined", example='"#4477ff"'),
    "render.colors.code": Key("Code in a line.", COMMAND, COLOR, shown="6", example="6"),
    "render.colors.success": Key("What went well.", COMMAND, COLOR, shown="2", example="2"),
    "render.colors.warning": Key(
        "Warnings.", COMMAND, COLOR, shown="3, bold", example='"bright-yellow"'
    ),
    "render.colors.error": Key("Errors.", COMMAND, COLOR, shown="1", example="1"),
    "render.colors.quote": Key("Quotes.", COMMAND, COLOR, shown="italic", example="7"),
    "render.colors.diff.add": Key("Lines that come.", COMMAND, COLOR, shown="2", example="2"),
    "render.colors.diff.remove": Key("Lines that go.", COMMAND, COLOR, shown="1", example="1"),
    "render.colors.diff.hunk": Key(
        "Where a part of a diff is.", COMMAND, COLOR, shown="6", example="6"
    ),
}

# A running daemon keeps the old value of these; `efr status` lists them.
RESTART_KEYS: Final = frozenset(name for name, key in KEYS.items() if key.applies == RESTART)
