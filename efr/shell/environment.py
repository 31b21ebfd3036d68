"""The environment of a hidden shell: the user's, without what belongs to other terminals.

Pure. The whole environment is given to the shell; nothing of the daemon's own comes through.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

# Names that are left out: the service manager's, efr's, other terminals' and multiplexers', and
# what a shell makes itself.
_LEFT_OUT: Final = re.compile(
    r"_?EFR_.*"
    r"|INVOCATION_ID|JOURNAL_STREAM|NOTIFY_SOCKET|LISTEN_.*|MAINPID|MANAGERPID|SYSTEMD_EXEC_PID"
    r"|WATCHDOG_PID|WATCHDOG_USEC|MEMORY_PRESSURE_.*|FDSTORE|CREDENTIALS_DIRECTORY"
    r"|(?:RUNTIME|STATE|CACHE|LOGS|CONFIGURATION)_DIRECTORY"
    r"|TERM_PROGRAM.*|TERMINFO|COLORFGBG|WINDOWID|VTE_VERSION|TMUX.*|STY"
    r"|GHOSTTY_.*|KITTY_.*|WEZTERM_.*|ITERM_.*|KONSOLE_.*|ZELLIJ.*"
    r"|COLUMNS|LINES|SHLVL|OLDPWD|_"
)
_PAGERS: Final = ("PAGER", "GIT_PAGER", "SYSTEMD_PAGER", "MANPAGER", "GH_PAGER", "BAT_PAGER")
_EDITORS: Final = (
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "SUDO_EDITOR",
    "SYSTEMD_EDITOR",
)


def hidden_environment(
    user: Mapping[str, str],
    *,
    directory: str,
    scratch: str | None,
    zdotdir: str | None,
    no_editor: str,
) -> dict[str, str]:
    """What the shell starts with. `zdotdir` is efr's own for a zsh, None leaves the user's;
    `no_editor` is the program that stands in for every editor."""
    kept = {name: value for name, value in user.items() if not _LEFT_OUT.fullmatch(name)}
    kept |= dict.fromkeys(_PAGERS, "cat") | {"AWS_PAGER": ""}
    kept |= dict.fromkeys(_EDITORS, no_editor)
    kept |= {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PWD": directory,
        "EFR_HIDDEN_SHELL": "1",
    }
    kept |= _git_setting(kept, "safe.bareRepository", "explicit")
    if zdotdir is not None:
        kept["ZDOTDIR"] = zdotdir
    if scratch is not None:
        kept["SCRATCH"] = scratch
    return kept


def _git_setting(env: Mapping[str, str], key: str, value: str) -> dict[str, str]:
    """One more setting of git behind those that the user's variables hold (git-config).

    Files that a model wrote into a directory would make it a repository whose settings run programs
    at the next `git status`; with `explicit`, git takes none without a `.git` or `--git-dir`.
    """
    count = env.get("GIT_CONFIG_COUNT", "")
    at = int(count) if count.isascii() and count.isdigit() else 0
    return {
        "GIT_CONFIG_COUNT": str(at + 1),
        f"GIT_CONFIG_KEY_{at}": key,
        f"GIT_CONFIG_VALUE_{at}": value,
    }
