"""A socket whose file is gone is told once."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import pytest

from efr.daemon.socket_check import SocketCheck
from efr.threads import listener


def test_a_socket_that_is_gone_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with tempfile.TemporaryDirectory(prefix="efr-") as folder:
        bound = listener.bind(Path(folder) / "s")
        check = SocketCheck(bound)
        check.look()
        assert caplog.records == []
        bound.path.unlink()
        bound.path.touch()  # what stands there now is not ours
        check.look()
        check.look()
        bound.close()
        assert bound.path.exists()
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert str(bound.path) in record.getMessage()
