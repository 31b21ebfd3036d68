"""What to warn of in the settings: values that are right and yet do not do what they say.

Never an error: they apply. Facts: docs/config.md.
"""

from __future__ import annotations

from efr.config.schema import Settings
from efr.providers.registry import Providers


def setting_warnings(providers: Providers, wanted: Settings) -> tuple[str, ...]:
    """A sentence each, after `wanted` applied. Any thread; reads the credential files."""
    found = providers.setting_warnings()
    if wanted.screen == "ghostty":
        return ('screen = "ghostty": this efrd has one kind of screen, vt100, and uses it', *found)
    return found
