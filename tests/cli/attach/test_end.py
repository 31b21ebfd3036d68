"""What is said when an attached terminal is over."""

from __future__ import annotations

from typing import Any, cast

import pytest

from efr.cli.attach.session import End
from efr.cli.commands.attach import _over
from efr.cli.errors import CommandError
from efr.client.errors import Refused


def test_the_end_of_efrd_is_told_as_that() -> None:
    cancelled = Refused("pty.attach", "cancelled", "the request was cancelled")
    with pytest.raises(CommandError, match="efrd was stopped"):
        _over(cast(Any, None), End("refused", refused=cancelled))
    other = Refused("pty.attach", "not_found", "no hidden shell has the terminal")
    with pytest.raises(Refused):
        _over(cast(Any, None), End("refused", refused=other))
