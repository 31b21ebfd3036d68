"""The subscription login over the socket: its page, its callback, its ends (agent tests 54–57)."""

from __future__ import annotations

import contextlib
import http.client
import socket
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from efr.providers.oauth import Issuer
from tests.daemon.house import House, house
from tests.harness.model_server import ModelServer
from tests.harness.raw_client import RawClient, connected

TOKENS = {"access_token": "at", "refresh_token": "rt", "expires_in": 3600}


@pytest.fixture(name="issuer", scope="module")
def _issuer() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(name="home")
def _home(tmp_path: Path, issuer: ModelServer) -> Iterator[House]:
    with house(tmp_path) as made:
        made.issuer = Issuer(issuer.root, port=free_port())
        yield made


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def begin(client: RawClient) -> tuple[int, str]:
    """The request of a login, and the state in its page's address."""
    request = client.request("admin.login_openai", {})
    item = next_frame(client, request)["item"]
    assert item["kind"] == "authorize_url"
    return request, parse_qs(urlsplit(item["url"]).query)["state"][0]


def next_frame(client: RawClient, request: int) -> Any:
    while (frame := client.read()).get("id") != request:
        continue
    return frame


def browse(port: int, target: str, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, target)
        answer = connection.getresponse()
        assert answer.headers["Cache-Control"] == "no-store"
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_a_login_from_its_page_to_its_tokens(home: House, issuer: ModelServer) -> None:
    issuer.play([], token_answers=[{"json": TOKENS}])
    port = home.issuer.port
    with home.running(), connected(home.roots.socket) as client:
        request, state = begin(client)
        with connected(home.roots.socket) as other:
            refused = next_frame(other, other.request("admin.login_openai", {}))
            assert refused["error"]["code"] == "busy"
        ahead = socket.create_connection(("127.0.0.1", port))  # as browsers do
        assert browse(port, "/favicon.ico")[0] == 404
        assert browse(port, f"/auth/callback?code=c&state={state}", "POST")[0] == 405
        strange = browse(port, "/auth/callback?code=evil%3Cb%3E&state=wrong")
        assert strange[0] == 400
        assert "evil" not in strange[1]
        assert issuer.requests() == [], "nothing was asked for a strange answer"
        done = browse(port, f"/auth/callback?code=c1&code=c2&state={state}")
        assert done[0] == 200
        assert state not in done[1]
        ahead.close()
        assert next_frame(client, request)["item"] == {"kind": "completed", "provider": "openai"}
        assert next_frame(client, request) == {"id": request, "end": True}
        assert is_free(port)
        (exchanged,) = [r for r in issuer.requests() if r["path"] == "/oauth/token"]
        assert parse_qs(exchanged["body"])["code"] == ["c1"], "the first one counts"
        record = home.roots.secrets / "openai.json"
        assert stat.S_IMODE(record.stat().st_mode) == 0o600
        status = client.call("admin.status")
        (openai,) = [p for p in status["providers"] if p["provider"] == "openai"]
        assert openai["login"] == "subscription"
        assert client.call("admin.logout", {"provider": "openai"})["logged_out"]
        assert not client.call("admin.logout", {"provider": "openai"})["logged_out"]
        key = {"provider": "anthropic-api", "key": "sk-ant-" + "k" * 40, "check": False}
        client.call("admin.login_api_key", key)
    with contextlib.closing(sqlite3.connect(home.roots.database)) as conn:
        recorded = [kind for (kind,) in conn.execute("SELECT kind FROM events ORDER BY seq")]
    assert recorded == ["login_completed", "logout_completed", "login_completed"]


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("error=access_denied", "unauthorized", "the login was refused: access_denied"),
        ("error=a%0Ab", "unauthorized", "the login was refused: a?b"),
        ("code=", "unauthorized", "the login was refused: no code came back"),
    ],
)
def test_a_page_that_ends_the_login(home: House, query: str, code: str, message: str) -> None:
    with home.running(), connected(home.roots.socket) as client:
        request, state = begin(client)
        browse(home.issuer.port, f"/auth/callback?{query}&state={state}")
        error = next_frame(client, request)["error"]
        assert (error["code"], error["message"]) == (code, message)
        assert is_free(home.issuer.port)


def test_a_login_that_nobody_finishes(home: House, issuer: ModelServer) -> None:
    """Its client goes away; a cancel; a server that refuses the code; a port that is taken."""
    port = home.issuer.port
    with home.running(), connected(home.roots.socket) as client:
        with connected(home.roots.socket) as gone:
            begin(gone)
        request, _ = _once_free(client)
        client.send({"cancel": request})
        request, state = _once_free(client)
        body = {"error": "invalid_grant", "error_description": "the code was used before"}
        issuer.play([], token_answers=[{"error": {"status": 400, "body": body}}])
        browse(port, f"/auth/callback?code=spent-code&state={state}")
        error = next_frame(client, request)["error"]
        assert error["code"] == "unauthorized"
        assert "the code was used before" in error["message"]
        with socket.create_server(("127.0.0.1", port)):
            refused = next_frame(client, client.request("admin.login_openai", {}))
            assert refused["error"]["code"] == "busy"
            assert str(port) in refused["error"]["message"]
    assert not (home.roots.secrets / "openai.json").exists()


def _once_free(client: RawClient) -> tuple[int, str]:
    """Begins a login as soon as the one before has let go of the slot."""
    for _ in range(1000):
        request = client.request("admin.login_openai", {})
        frame = next_frame(client, request)
        if "item" in frame:
            return request, parse_qs(urlsplit(frame["item"]["url"]).query)["state"][0]
        assert frame["error"]["code"] == "busy"
    raise AssertionError("the slot stays taken")
