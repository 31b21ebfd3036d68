"""What a person reads when an efr and an efrd of different age meet."""

from __future__ import annotations

import pytest

from efr.cli.exits import explain
from efr.client.errors import BadReply, NoDaemon, Refused
from tests.cli.fake_daemon import FakeDaemon
from tests.cli.programs import efr_in_pipe

OLDER = "efrd is older than this efr and needs an update: it has no "
RESTART = "systemctl --user restart efrd"


@pytest.mark.parametrize(
    ("error", "message", "fix"),
    [
        (
            Refused("conversations.search", "invalid", "there is no method 'conversations.search'"),
            OLDER + "conversations.search",
            RESTART,
        ),
        (
            Refused("hello", "protocol_mismatch", "no", {"client": 2, "daemon": 1}),
            "efr speaks protocol 2, efrd speaks protocol 1",
            RESTART,
        ),
        (
            Refused("hello", "protocol_mismatch", "no", {"client": 1, "daemon": 2}),
            "efr speaks protocol 1, efrd speaks protocol 2",
            "update efr",
        ),
        (
            BadReply("conversation.history", "$.mode: 'x' is no mode"),
            "efrd sent what this efr cannot read: $.mode: 'x' is no mode",
            "efr version; efr status",
        ),
    ],
)
def test_the_other_side_is_older_or_newer(error: Exception, message: str, fix: str) -> None:
    known = explain(error)

    assert known is not None
    assert (known.message, known.fix, known.code) == (message, fix, 1)


def test_the_socket_of_another_user() -> None:
    error = NoDaemon("/run/user/0/efr/daemon.sock")
    error.__cause__ = PermissionError(13, "Permission denied")
    known = explain(error)

    assert known is not None
    assert known.message.startswith("the socket /run/user/0/efr/daemon.sock is not open to you")
    assert (known.fix, known.code) == ("efr paths", 3)


def test_choices_are_told_once() -> None:
    detail = {"setting": "model", "choices": ["demo"]}
    known = explain(Refused("prompt.send", "invalid", "no model 'x'; choose demo", detail))
    assert known is not None
    assert (known.fix, known.code) == ("", 2)


def test_a_search_of_a_daemon_that_has_none(fake: FakeDaemon) -> None:
    method = "conversations.search"
    process = efr_in_pipe("search", "x", env=fake.env)
    peer = fake.accept()
    peer.hello()
    peer.expect(method)
    peer.refuse(method, "invalid", f"there is no method {method!r}")
    _, err = process.communicate(timeout=20)

    assert (process.returncode, err) == (1, f"efr: {OLDER}{method}\n     {RESTART}\n")
