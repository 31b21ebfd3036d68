"""Requests through a proxy that the environment names, and past it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator

import pytest

from efr.base.cancel import Cancel
from efr.base.clock import SystemClock
from efr.providers.errors import TransportFailed
from efr.providers.http import HttpCall, HttpClient
from efr.providers.proxies import Proxies
from tests.providers.test_http import (
    WHOLE,
    Script,
    answers,
    cancelled_when,
    happened,
    read_head,
    server,
)

PAIR = "bWU6cGFzcyB3w7ZyZA=="  # me:pass wörd
TUNNEL = b"HTTP/1.1 200 Connection established\r\nVia: 1.1 x\r\n\r\n"


@pytest.mark.parametrize(
    ("env", "url", "proxy"),
    [
        ({}, "https api.example 443", None),
        ({"HTTPS_PROXY": "http://p:3128"}, "https api.example 443", "p:3128 HTTPS_PROXY"),
        ({"https_proxy": "p:3128"}, "https api.example 443", "p:3128 HTTPS_PROXY"),
        ({"https_proxy": "http://a", "HTTPS_PROXY": "http://b"}, "https x 443", "a:80 HTTPS_PROXY"),
        ({"HTTPS_PROXY": "http://p"}, "http api.example 80", None),
        ({"HTTP_PROXY": "http://p"}, "http api.example 80", "p:80 HTTP_PROXY"),
        ({"ALL_PROXY": "http://[::1]:9/"}, "http api.example 80", "::1:9 ALL_PROXY"),
        ({"HTTPS_PROXY": " "}, "https api.example 443", None),
        *[
            ({"HTTPS_PROXY": "http://p", "NO_PROXY": entry}, url, None)
            for entry, url in [
                ("*", "https api.example 443"),
                ("a.example, api.example", "https api.example 443"),
                ("EXAMPLE", "https api.example 443"),
                (".example", "https api.example 443"),
                ("*.example", "https api.example 443"),
                ("api.example:443", "https api.example 443"),
                ("10.0.0.0/8", "https 10.1.2.3 443"),
                ("10.1.2.3", "https 10.1.2.3 443"),
                ("[fe80::1]:8443", "https fe80::1 8443"),
                ("fe80::/16", "https fe80::1 8443"),
                ("", "https localhost 8443"),
                ("", "https 127.0.0.9 8443"),
                ("", "https ::1 8443"),
            ]
        ],
        *[
            ({"HTTPS_PROXY": "http://p", "NO_PROXY": entry}, url, "p:80 HTTPS_PROXY")
            for entry, url in [
                ("example.org", "https notexample.org 443"),
                ("api.example:8443", "https api.example 443"),
                ("10.0.0.0/8", "https 11.1.2.3 443"),
                ("1.2.3", "https 11.1.2.3 443"),
                (",. ,", "https api.example 443"),
            ]
        ],
    ],
)
def test_the_environment_says_which_proxy(env: dict[str, str], url: str, proxy: str | None) -> None:
    scheme, host, port = url.split()
    found = Proxies(env).of(scheme, host, int(port))

    assert (f"{found.host}:{found.port} {found.variable}" if found else None) == proxy


@pytest.mark.parametrize("value", ["socks5://p:1", "https://p:1", "http://", "http://p:x", "[::1"])
def test_a_proxy_of_another_kind_is_named_and_nothing_is_sent(value: str) -> None:
    with pytest.raises(TransportFailed, match="HTTPS_PROXY does not name an http:// proxy") as bad:
        Proxies({"HTTPS_PROXY": value}).of("https", "api.example", 443)
    assert not bad.value.sent


def test_a_password_is_not_shown() -> None:
    proxy = Proxies({"ALL_PROXY": "http://me:pass%20w%C3%B6rd@p"}).of("https", "x", 443)

    assert proxy is not None
    assert proxy.authorization == f"Basic {PAIR}"
    assert PAIR not in repr(proxy)


@contextlib.contextmanager
def through(port: int, tls: ssl.SSLContext | None = None) -> Iterator[HttpClient]:
    env = {"ALL_PROXY": f"http://me:pass%20w%C3%B6rd@127.0.0.1:{port}"}
    context = tls or ssl.create_default_context()
    client = HttpClient(SystemClock(), tls=lambda: context, proxies=Proxies(env))
    yield client
    client.close()


def test_without_tls_the_proxy_is_asked_for_the_whole_address() -> None:
    heads: list[bytes] = []
    with server(answers(2, heads)) as port, through(port) as client:
        call = HttpCall("POST", "http://api.example:8080/v1/x?y=1", {"Authorization": "k"}, b"")
        for _ in range(2):  # on one connection
            assert client.send(call, Cancel()).read_all() == b"ok"

    assert len(heads) == 2
    for head in heads:
        first, *lines = head.decode().split("\r\n")
        assert first == "POST http://api.example:8080/v1/x?y=1 HTTP/1.1"
        assert "Host: api.example:8080" in lines
        assert f"Proxy-Authorization: Basic {PAIR}" in lines


def test_with_tls_the_proxy_sees_the_name_alone(
    tls_pair: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    authorities, theirs = tls_pair
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ours.load_verify_locations(cadata=authorities.get_ca_certs(binary_form=True)[0])
    ours.check_hostname = False  # its certificate names 127.0.0.1
    heads: list[bytes] = []
    inside: list[bytes] = []

    def proxy(connection: socket.socket) -> None:
        heads.append(read_head(connection))
        connection.sendall(TUNNEL)
        with theirs.wrap_socket(connection, server_side=True) as wrapped:
            inside.append(read_head(wrapped))
            wrapped.sendall(WHOLE)
            wrapped.recv(1)

    with server(proxy) as port, through(port, ours) as client:
        call = HttpCall("GET", "https://api.example/v1", {"Authorization": "Bearer key"})
        assert client.send(call, Cancel()).read_all() == b"ok"

    assert heads == [
        b"CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n"
        b"Proxy-Authorization: Basic " + PAIR.encode() + b"\r\n\r\n"
    ]
    assert inside[0].startswith(b"GET /v1 HTTP/1.1\r\n")
    assert b"Proxy-Authorization" not in inside[0]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "answered 407 Proxy Auth"),
        (b"HTTP/1.1 403 Forbidden\n\n", "answered 403 Forbidden"),
        (b"", "gave no answer"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 4000, "gave no answer"),
        (TUNNEL + b"HTTP/1.1 400 No\r\n\r\n", "the server speaks no TLS"),
    ],
)
def test_a_proxy_that_refuses_is_told_without_its_password(answer: bytes, told: str) -> None:
    def proxy(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(answer)

    with server(proxy) as port, through(port) as client:
        with pytest.raises(TransportFailed, match=told) as caught:
            client.send(HttpCall("GET", "https://api.example/v1", {}), Cancel())
        assert not caught.value.sent
        assert "api.example:443 through the proxy of ALL_PROXY" in caught.value.cause
        assert "pass" not in caught.value.cause


def test_a_cancel_ends_the_wait_for_a_tunnel() -> None:
    asked = threading.Event()

    def proxy(connection: socket.socket) -> None:
        read_head(connection)
        asked.set()
        connection.recv(1)

    silent: Script = proxy
    with server(silent) as port, through(port) as client:
        call = HttpCall("GET", "https://api.example/v1", {})
        cancelled_when(client, call, happened(asked))


def test_a_proxy_that_is_not_there() -> None:
    with through(1) as client, pytest.raises(TransportFailed, match="refused") as caught:
        client.send(HttpCall("GET", "http://api.example/", {}), Cancel())
    assert not caught.value.sent
