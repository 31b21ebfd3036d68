"""One model server process for the room, and providers on a clock that stands still."""

from __future__ import annotations

import datetime
import ipaddress
import os
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from efr.base.cancel import Cancel
from efr.providers.anthropic_cache import Lifetimes
from efr.providers.anthropic_messages import AnthropicBackend, MessagesProvider
from efr.providers.canonical import ModelFacts, Request, StreamEvent
from efr.providers.chat_completions import ChatProvider, CompatibleBackend
from efr.providers.http import HttpClient
from efr.providers.key_watch import KeyWatch
from efr.providers.model_call import CallLog, ModelCalls
from efr.providers.openai_responses import Backend, ResponsesProvider
from efr.providers.provider import Provider, Token
from efr.providers.retry import Sender
from efr.providers.settings import CacheTtl
from tests.harness.clock import FakeClock
from tests.harness.model_server import ModelServer

SECRET = "sk-test-0123456789abcdef"


@dataclass
class FakeTokens:
    """A token source; with more than one secret it can refresh."""

    secrets: list[str] = field(default_factory=lambda: [SECRET])
    account_id: str | None = None
    refused: list[str] = field(default_factory=list)

    @property
    def refreshable(self) -> bool:
        return len(self.secrets) > 1 or bool(self.refused)

    def access_token(self, cancel: Cancel) -> Token:
        return Token(self.secrets[0], self.account_id)

    def invalidate(self, refused_secret: str) -> None:
        self.refused.append(refused_secret)
        if len(self.secrets) > 1:
            self.secrets.pop(0)


class Half:
    """A random source that always says one half."""

    def random(self) -> float:
        return 0.5


@dataclass
class Bench:
    """What a provider test needs; waits are recorded and move the clock."""

    server: ModelServer
    http: HttpClient
    clock: FakeClock
    sender: Sender
    waits: list[float]
    keys: KeyWatch
    calls: CallLog
    cancel: Cancel = field(default_factory=Cancel)

    def responses(
        self,
        tokens: FakeTokens | None = None,
        models: tuple[ModelFacts, ...] = (),
        subscription: bool = False,
        base_url: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> ResponsesProvider:
        backend = Backend(
            "openai" if subscription else "openai-api",
            base_url or self.server.base_url,
            headers or {},
            subscription,
        )
        return ResponsesProvider(backend, tokens or FakeTokens(), self._calls(backend.id, models))

    def messages(
        self, models: tuple[ModelFacts, ...] = (), ttl: CacheTtl = "auto"
    ) -> MessagesProvider:
        backend = AnthropicBackend(self.server.base_url, None, Lifetimes(ttl))
        return MessagesProvider(backend, FakeTokens(), self._calls("anthropic-api", models))

    def chat(self, key: str | None = SECRET, models: tuple[ModelFacts, ...] = ()) -> ChatProvider:
        return ChatProvider(
            CompatibleBackend(self.server.base_url),
            lambda: None if key is None else Token(key),
            self._calls("compatible", models),
        )

    def _calls(self, provider: str, models: tuple[ModelFacts, ...]) -> ModelCalls:
        return ModelCalls(provider, lambda: models, self.sender, self.keys, self.calls)

    def run(self, provider: Provider, request: Request) -> list[StreamEvent]:
        return list(provider.stream(request, self.cancel))


@pytest.fixture(scope="session")
def server_process() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def model_server(server_process: ModelServer) -> ModelServer:
    server_process.play([])
    return server_process


@pytest.fixture
def make_bench(model_server: ModelServer) -> Iterator[Callable[..., Bench]]:
    clients: list[HttpClient] = []

    def make(**options: Any) -> Bench:
        clock = FakeClock()
        waits: list[float] = []

        def pause(cancel: Cancel, seconds: float) -> None:
            waits.append(seconds)
            clock.advance(seconds)

        http = HttpClient(clock, **options)
        clients.append(http)
        sender = Sender(http, clock, Half(), pause)
        return Bench(model_server, http, clock, sender, waits, KeyWatch(clock), CallLog(clock))

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()


@pytest.fixture(scope="session")
def tls_pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A client context that trusts one certificate, and the server's context that has it."""
    folder: Path = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    start = datetime.datetime(2020, 1, 1)
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(datetime.datetime(2120, 1, 1))
        .add_extension(alternative, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, key_pem = folder / "cert.pem", folder / "key.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    os.chmod(key_pem, 0o600)
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(pem, key_pem)
    return ssl.create_default_context(cafile=str(pem)), theirs
