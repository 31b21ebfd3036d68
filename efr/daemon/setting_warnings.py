"""What to warn of in the settings, once they apply: the file's own oddities and the models'.

Never an error: they apply. Facts: docs/config.md, "Errors".
"""

from __future__ import annotations

from efr.config.schema import Settings
from efr.config.warnings import warnings
from efr.providers.registry import Providers


def setting_warnings(providers: Providers, wanted: Settings) -> tuple[str, ...]:
    """A sentence each, after `wanted` applied. Any thread; reads the credential files."""
    return (*warnings(wanted), *providers.setting_warnings())
