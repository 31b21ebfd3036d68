"""`efr init zsh`: what `.zshrc` evaluates to load the plugin. Needs no daemon."""

from __future__ import annotations

from pathlib import Path

from efr.cli.errors import CommandError
from efr.cli.run import Run

PLUGIN = Path(__file__).parents[2] / "assets" / "efr.plugin.zsh"


def init(run: Run) -> int:
    """Prints one `source` line."""
    if not PLUGIN.is_file():
        raise CommandError(f"the plugin {PLUGIN} is missing", fix="install efr again")
    run.say(f"source {quoted(str(PLUGIN))}")
    return 0


def quoted(text: str) -> str:
    """A word that zsh reads as this text, whatever is in it."""
    return "'" + text.replace("'", "'\\''") + "'"
