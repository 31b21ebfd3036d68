"""The directory that a hidden zsh starts from: its ZDOTDIR, with efr's script and settings.

One directory per shell, 0700, below the runtime root; removed with the shell. Blocks on files.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from importlib.resources import files
from pathlib import Path
from typing import Final

from efr.base.files import make_private_dir

_SETTINGS: Final = "settings.zsh"
_PATH: Final = "path"
_NO_EDITOR: Final = "no-editor"
# Asset to (name, mode) in the directory.
_FILES: Final = {
    "zshenv": (".zshenv", 0o600),
    "integration.zsh": ("integration.zsh", 0o600),
    "no-editor": (_NO_EDITOR, 0o700),
}


class ShellDirectory:
    """The files of one shell."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def no_editor(self) -> str:
        """The program that stands in for every editor."""
        return str(self.path / _NO_EDITOR)

    def write(self, nonce: str, zdotdir: str, trusted: Collection[str]) -> None:
        """Makes it. `zdotdir` is the user's own, empty when unset."""
        make_private_dir(self.path.parent)
        make_private_dir(self.path)
        assets = files("efr").joinpath("assets", "hidden")
        for asset, (name, mode) in _FILES.items():
            target = self.path / name
            target.write_bytes(assets.joinpath(asset).read_bytes())
            target.chmod(mode)
        text = (
            f"typeset -gr _efr_hs_nonce={_quoted(nonce)}\n"
            f"typeset -gr _efr_hs_path_file={_quoted(str(self.path / _PATH))}\n"
            f"typeset -gra _efr_hs_trusted=({' '.join(map(_quoted, sorted(trusted)))})\n"
            f"typeset -g _efr_hs_zdotdir={_quoted(zdotdir)}\n"
        )
        (self.path / _PATH).touch(mode=0o600)  # zsh writes it, and has the user's umask by then
        target = self.path / _SETTINGS
        target.touch(mode=0o600)
        target.write_text(text, encoding="utf-8", errors="surrogateescape")

    def forget_settings(self) -> None:
        """The shell has read them: its nonce is no longer on disk."""
        (self.path / _SETTINGS).unlink(missing_ok=True)

    @property
    def search_path(self) -> str | None:
        """The shell's PATH as of its last prompt; None before the first."""
        try:
            text = (self.path / _PATH).read_text(encoding="utf-8", errors="surrogateescape")
        except FileNotFoundError:
            return None
        return text or None

    def remove(self) -> None:
        """Removes it; what cannot be removed goes with the runtime root."""
        shutil.rmtree(self.path, ignore_errors=True)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
