"""The HTTP client against real sockets: what a cancel ends, what is reused, what is refused."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Queue

import psutil
import pytest

from efr.base.cancel import Cancel, Cancelled
from efr.base.clock import SystemClock
from efr.providers.errors import DecodeFailed, TransportFailed
from efr.providers.http import HttpCall, HttpClient, join_url
from tests.harness.clock import FakeClock

LIMIT_S = 10
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Script = Callable[[socket.socket], None]


@contextmanager
def server(*scripts: Script, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """One connection per script, in their order, each on a thread of its own."""
    threads: list[threading.Thread] = []

    def serve(script: Script, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):  # a client that goes away is fine
            if tls is None:
                script(connection)
            else:
                with tls.wrap_socket(connection, server_side=True) as wrapped:
                    script(wrapped)

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with contextlib.suppress(OSError):  # nobody came: the test has failed by itself
                for script in scripts:
                    connection, _ = listener.accept()
                    threads.append(threading.Thread(target=serve, args=(script, connection)))
                    threads[-1].start()

        acceptor = threading.Thread(target=accept)
        acceptor.start()
        try:
            yield listener.getsockname()[1]
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            for thread in (acceptor, *threads):
                thread.join(LIMIT_S)
                assert not thread.is_alive()


@pytest.fixture
def client() -> Iterator[HttpClient]:
    before = psutil.Process().num_fds()
    client = HttpClient(SystemClock())
    yield client
    client.close()
    assert psutil.Process().num_fds() == before


def get(port: int, scheme: str = "http", deadline_s: float | None = None) -> HttpCall:
    return HttpCall("GET", f"{scheme}://127.0.0.1:{port}/x?y=1", {}, deadline_s=deadline_s)


def happened(event: threading.Event) -> Callable[[], None]:
    def wait() -> None:
        assert event.wait(LIMIT_S)

    return wait


def read_head(connection: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        chunk = connection.recv(65536)
        if not chunk:
            raise ConnectionResetError
        data += chunk
    return data


def answers(times: int, heads: list[bytes] | None = None) -> Script:
    def script(connection: socket.socket) -> None:
        for _ in range(times):
            head = read_head(connection)
            if heads is not None:
                heads.append(head)
            connection.sendall(WHOLE)
        connection.recv(1)

    return script


def cancelled_when(client: HttpClient, call: HttpCall, ready: Callable[[], None]) -> None:
    """Runs the call on a thread, cancels it when ready, and expects it to end as cancelled."""
    cancel = Cancel()
    results: Queue[BaseException | bytes] = Queue()

    def run() -> None:
        try:
            results.put(client.send(call, cancel).read_all())
        except BaseException as exc:
            results.put(exc)

    thread = threading.Thread(target=run)
    thread.start()
    ready()
    cancel.cancel()
    result = results.get(timeout=LIMIT_S)
    thread.join()
    assert isinstance(result, Cancelled)


class Hinge:
    """A lock, and what another thread does right behind its next release."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.then: Callable[[], None] | None = None

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        then, self.then = self.then, None
        if then is not None:
            then()


def test_a_connection_that_is_taken_as_soon_as_it_is_back_stays_open(
    client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    hinge = Hinge()
    monkeypatch.setattr(client, "_lock", hinge)
    taken = []
    with server(answers(2)) as port:
        first = client.send(get(port), Cancel())
        assert b"".join(first.chunks()) == b"ok"
        hinge.then = lambda: taken.append(client.send(get(port), Cancel()))
        first.close()
        assert [one.read_all() for one in taken] == [b"ok"]
        client.close()


def test_a_cancel_ends_a_connect(client: HttpClient) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(2)]
        for one in waiting:  # the backlog: further connects get no answer
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        ours = {one.getsockname()[1] for one in waiting}

        def connecting() -> bool:
            return any(
                c.raddr and c.raddr.port == port and c.laddr.port not in ours
                for c in psutil.Process().net_connections()
            )

        def ready() -> None:
            tick = threading.Event()
            for _ in range(1000):
                if connecting():
                    return
                tick.wait(0.005)
            pytest.fail("the connect never began")

        try:
            cancelled_when(client, get(port), ready)
        finally:
            for one in waiting:
                one.close()


def test_a_cancel_ends_a_tls_handshake(client: HttpClient) -> None:
    hello = threading.Event()

    def silent(connection: socket.socket) -> None:
        connection.recv(65536)
        hello.set()
        assert connection.recv(65536) == b""  # the client is gone, not only unwilling

    with server(silent) as port:
        cancelled_when(client, get(port, "https"), happened(hello))


def test_a_cancel_ends_the_wait_for_a_head(client: HttpClient) -> None:
    asked = threading.Event()

    def silent(connection: socket.socket) -> None:
        read_head(connection)
        asked.set()
        assert connection.recv(1) == b""

    with server(silent) as port:
        cancelled_when(client, get(port), happened(asked))


@pytest.mark.parametrize("framing", [HEAD + b"1\r\nx\r\n", b"HTTP/1.1 200 OK\r\n\r\nx"])
def test_a_cancel_ends_a_body(client: HttpClient, framing: bytes) -> None:
    began = threading.Event()

    def half(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(framing)
        began.set()
        assert connection.recv(1) == b""

    with server(half) as port:
        cancelled_when(client, get(port), happened(began))


def test_a_cancel_ends_a_body_over_tls(tls_pair: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    ours, theirs = tls_pair
    client = HttpClient(SystemClock(), tls=lambda: ours)
    began = threading.Event()

    def half(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(HEAD + b"1\r\nx\r\n")
        began.set()
        connection.recv(1)

    with server(half, tls=theirs) as port:
        cancelled_when(client, get(port, "https"), happened(began))


def test_nothing_is_sent_when_already_cancelled(client: HttpClient) -> None:
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(Cancelled):
        client.send(get(1), cancel)


def test_a_cancel_after_the_end_leaves_the_next_call_on_that_connection_alone(
    client: HttpClient,
) -> None:
    first = Cancel()
    with server(answers(2)) as port:
        assert client.send(get(port), first).read_all() == b"ok"
        answer = client.send(get(port), Cancel())
        first.cancel()
        assert answer.read_all() == b"ok"
        client.close()


def test_a_connection_is_reused_while_fresh_and_closed_after_90_s() -> None:
    clock = FakeClock()
    client = HttpClient(clock)
    heads: list[bytes] = []
    with server(answers(2, heads), answers(1, heads)) as port:
        for wait_s in (0, 89, 91):
            clock.advance(wait_s)
            assert client.send(get(port), Cancel()).read_all() == b"ok"
        client.close()

    assert len(heads) == 3  # two on the first connection, one on the second
    assert heads[0].startswith(b"GET /x?y=1 HTTP/1.1\r\n")
    assert b"User-Agent: efr/" in heads[0]


def test_a_connection_that_the_server_closed_is_not_used(client: HttpClient) -> None:
    closed = threading.Event()

    def once(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(WHOLE)

    def first(connection: socket.socket) -> None:
        once(connection)
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    with server(first, once) as port:
        assert client.send(get(port), Cancel()).read_all() == b"ok"
        closed.wait(LIMIT_S)
        assert client.send(get(port), Cancel()).read_all() == b"ok"


def test_an_answer_that_is_left_early_gives_its_connection_up(client: HttpClient) -> None:
    def half(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(HEAD + b"1\r\nx\r\n")
        assert connection.recv(1) == b""

    with server(half) as port, client.send(get(port), Cancel()) as answer:
        assert next(answer.chunks()) == b"x"


def test_a_finished_stream_is_reused_when_its_end_is_there(client: HttpClient) -> None:
    def twice(connection: socket.socket) -> None:
        for _ in range(2):
            read_head(connection)
            connection.sendall(HEAD + b"1\r\nx\r\n0\r\n\r\n")
        connection.recv(1)

    with server(twice) as port:
        for _ in range(2):
            answer = client.send(get(port), Cancel())
            assert next(answer.chunks()) == b"x"
            answer.finish()
        client.close()


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.0 200 OK\r\ncontent-length: 4\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 4\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n",
    ],
)
def test_an_answer_of_a_server_that_closes_is_read_to_its_end(
    client: HttpClient, head: bytes
) -> None:
    def script(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(head + b"body")

    with server(script) as port:
        assert client.send(get(port), Cancel()).read_all() == b"body"


def test_a_redirect_is_an_answer_like_any_other(client: HttpClient) -> None:
    def moved(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
        )

    with server(moved) as port, client.send(get(port), Cancel()) as answer:
        assert answer.status == 302


def test_an_answer_above_the_limit_is_refused(client: HttpClient) -> None:
    def large(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100)

    with server(large) as port, pytest.raises(DecodeFailed):
        client.send(get(port), Cancel()).read_all(limit_bytes=99)


def test_a_deadline_ends_an_exchange_that_trickles(client: HttpClient) -> None:
    def trickle(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(HEAD)
        connection.recv(1)

    with server(trickle) as port, pytest.raises(TransportFailed) as caught:
        client.send(get(port, deadline_s=0.05), Cancel()).read_all()
    assert caught.value.cause == "the server was silent for too long"


@pytest.mark.parametrize("deadline_s", [None, 60.0])
def test_who_has_no_patience_reads_no_body_that_never_comes(
    client: HttpClient, deadline_s: float | None
) -> None:
    def silent(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(b"HTTP/1.1 400 No\r\nContent-Length: 9\r\n\r\nhalf")
        connection.recv(1)

    with server(silent) as port:
        answer = client.send(get(port, deadline_s=deadline_s), Cancel())
        with pytest.raises(TransportFailed, match="silent"):
            answer.read_all(patience_s=0.05)


@pytest.mark.parametrize("rubbish", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 2x0 OK\r\n\r\n"])
def test_an_answer_that_is_no_http_is_a_broken_connection(
    client: HttpClient, rubbish: bytes
) -> None:
    def script(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(rubbish)

    with server(script) as port, pytest.raises(TransportFailed) as caught:
        client.send(get(port), Cancel()).read_all()
    assert caught.value.sent
    assert "127.0.0.1" not in str(caught.value)


def test_a_host_without_an_address_is_not_sent(client: HttpClient) -> None:
    call = HttpCall("GET", "http://no-such-host.invalid/", {})
    with pytest.raises(TransportFailed) as caught:
        client.send(call, Cancel())
    assert not caught.value.sent


@pytest.mark.parametrize(
    ("url", "header"), [("http://127.0.0.1:99999/", "x"), ("http://127.0.0.1:1/", "🙂")]
)
def test_a_request_that_cannot_be_written_is_a_failure_without_a_second_try(
    client: HttpClient, url: str, header: str
) -> None:
    with server(answers(1)) as port, pytest.raises(TransportFailed) as caught:
        client.send(HttpCall("GET", url.replace(":1/", f":{port}/"), {"X-A": header}), Cancel())
    assert caught.value.sent


def test_the_end_of_an_answer_is_not_waited_for_for_ever(client: HttpClient) -> None:
    def chatty(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(HEAD)
        while True:  # until the client has had enough
            connection.sendall(b"1\r\nx\r\n")

    with server(chatty) as port:
        answer = client.send(get(port), Cancel())
        assert next(answer.chunks()).startswith(b"x")
        answer.finish()


def test_tls_trusts_only_the_given_roots(
    tls_pair: tuple[ssl.SSLContext, ssl.SSLContext], client: HttpClient
) -> None:
    ours, theirs = tls_pair
    trusting = HttpClient(SystemClock(), tls=lambda: ours)
    with server(answers(1), answers(1), tls=theirs) as port:
        with pytest.raises(TransportFailed) as caught:
            client.send(get(port, "https"), Cancel())
        assert not caught.value.sent
        assert "certificate was refused" in caught.value.cause
        assert trusting.send(get(port, "https"), Cancel()).read_all() == b"ok"
        trusting.close()


def test_a_call_hides_its_headers() -> None:
    call = HttpCall("GET", "http://x/", {"Authorization": "Bearer secret"}, b"body")

    assert "secret" not in repr(call)


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("http://h/v1", "/models", "http://h/v1/models"),
        ("http://h/v1/", "/models", "http://h/v1/models"),
        ("http://h", "/models", "http://h/models"),
        ("http://h/v1?key=1#f", "/models", "http://h/v1/models?key=1"),
    ],
)
def test_paths_join_behind_the_base(base: str, path: str, url: str) -> None:
    assert join_url(base, path) == url
