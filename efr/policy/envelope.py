"""What a contained call may write and see: write roots, masks, floors, synced folders.

Pure; by text alone, like every path here. The kernel holds all of it; this reading tells beforehand
what a line would run into. Tables below the home come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from msgspec import Struct

from efr.policy.needs import Place
from efr.policy.paths import PathView, holders, holds, is_above, view

# Below the home; a contained call reads them as empty. Every secret location is masked as well.
MASKS_IN_HOME: Final = (
    ".aws",
    ".kube",
    ".docker",
    ".codex",
    ".claude/.credentials.json",
    ".local/share/opencode",
    ".config/op",
    ".config/rclone",
    ".config/hub",
    ".config/github-copilot",
    ".config/containers/auth.json",
    ".local/share/kwalletd",
    ".pki",
    ".Xauthority",
    ".gradle/gradle.properties",
    ".m2/settings.xml",
    ".config/Bitwarden",
    ".config/1Password",
    ".config/KeePassXC",
    ".mozilla",
    ".librewolf",
    ".zen",
    ".thunderbird",
    ".var/app",
    ".config/chromium",
    ".config/google-chrome",
    ".config/BraveSoftware",
    ".config/vivaldi",
    ".config/Signal",
    ".config/discord",
    ".config/Slack",
    ".local/share/TelegramDesktop",
    ".cache/mozilla",
    ".cache/chromium",
    ".cache/google-chrome",
    ".zsh_history",
    ".bash_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
)
# Below the home; what is written there runs later, so a contained call only reads it.
FLOORS_IN_HOME: Final = (
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".zlogout",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".config/fish",
    ".config/environment.d",
    ".pam_environment",
    ".xprofile",
    ".xinitrc",
    ".config/systemd",
    ".config/autostart",
    ".local/share/systemd",
    ".local/share/applications",
    ".config/hypr",
    ".config/sway",
    ".config/i3",
    ".gitconfig",
    ".config/git",
    ".cargo/config.toml",
    ".cargo/config",
    ".cargo/bin",
    ".local/bin",
    ".config/nvim",
    ".vimrc",
    ".config/direnv",
)
# The first part below a write root: what other tools run or obey.
PROTECTED_NAMES: Final = frozenset((
    ".mcp.json", ".claude", ".codex", ".agents", ".cursor", ".opencode", "opencode.json",
    "opencode.jsonc", ".vscode", ".envrc", ".direnv", ".efr",
))  # fmt: skip
# Right below any `.git`: what git runs.
GIT_SURFACE: Final = frozenset(("config", "config.worktree", "hooks"))
# Directories that many programs share: a grant never opens one whole.
SHARED_IN_HOME: Final = ("", ".config", ".local", ".local/share", ".local/state")
_MASK_DEPTH: Final = 3  # how deep below a write root names are masked


class Envelope(Struct, frozen=True):
    """Every path in the form of the view."""

    view: PathView
    roots: tuple[str, ...]
    masks: frozenset[str]
    mask_globs: tuple[str, ...]
    floors: frozenset[str]
    synced: tuple[str, ...]
    shared: frozenset[str]

    def root_of(self, path: str) -> str | None:
        """The deepest write root that the path lies strictly below."""
        found = [root for root in self.roots if is_above(root, path)]
        return max(found, key=len, default=None)

    def writes(self, path: str) -> bool:
        """Whether the sandbox lets a call write there."""
        return self.root_of(path) is not None

    def is_at_or_above_root(self, path: str) -> bool:
        """Whether a write there takes a write root, the home or efr's settings with it."""
        inside = (*self.roots, self.view.home, *self.view.config)
        return any(holds(path, one) for one in inside)

    def is_masked(self, path: str) -> bool:
        """Whether a contained call sees nothing there."""
        if any(above in self.masks for above in holders(path)):
            return True
        root = self.root_of(path)
        if root is None:
            return False
        parts = path[len(root) :].strip("/").split("/")
        return any(map(self._is_masked_name, parts[:_MASK_DEPTH]))

    def _is_masked_name(self, name: str) -> bool:
        kept = (glob[1:] for glob in self.mask_globs if glob.startswith("!"))
        hidden = (glob for glob in self.mask_globs if not glob.startswith("!"))
        return any(fnmatchcase(name, glob) for glob in hidden) and not any(
            fnmatchcase(name, glob) for glob in kept
        )

    def is_floor(self, path: str) -> bool:
        """Whether what is written there would run or be obeyed later."""
        if any(above in self.floors for above in holders(path)):
            return True
        root = self.root_of(path)
        if root is None:
            return False
        parts = path[len(root) :].strip("/").split("/")
        return parts[0] in PROTECTED_NAMES or _is_git_surface(parts)

    def is_synced(self, path: str) -> bool:
        """Whether another machine gets it."""
        return any(holds(root, path) for root in self.synced)

    def is_shared(self, directory: str) -> bool:
        """Whether a grant for it would open more than what is meant."""
        return directory in self.shared or any(holds(directory, root) for root in self.roots)


def _is_git_surface(parts: list[str]) -> bool:
    for at, part in enumerate(parts):
        if part == ".git" and (at == len(parts) - 1 or parts[at + 1] in GIT_SURFACE):
            return True
    return False


@lru_cache(maxsize=64)
def envelope(place: Place) -> Envelope | None:
    """The envelope of a turn; None without a sandbox, or when the project takes the home."""
    sandbox, paths = place.sandbox, view(place)
    if sandbox is None or (place.project_root is not None and paths.project_root is None):
        return None
    inside = (paths.project_root, paths.scratch, *map(paths.form, sandbox.write_roots))
    roots = [root for root in inside if root is not None and not holds(root, paths.home)]
    return Envelope(
        paths,
        roots=tuple(roots),
        masks=frozenset((*_below_home(paths, MASKS_IN_HOME), *map(paths.form, sandbox.masks))),
        mask_globs=sandbox.mask_globs,
        floors=frozenset((*_below_home(paths, FLOORS_IN_HOME), *map(paths.form, sandbox.floors))),
        synced=tuple(map(paths.form, sandbox.synced)),
        shared=frozenset(_below_home(paths, SHARED_IN_HOME)),
    )


def _below_home(paths: PathView, names: tuple[str, ...]) -> Iterator[str]:
    return (paths.form(f"{paths.home}/{name}") for name in names)
