"""A provider's server that answers a request only when the test says so."""

from __future__ import annotations

import json
import queue
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

LIMIT_S = 30.0


class HeldServer:
    """Holds every request until `answer` says what all of them get."""

    def __init__(self) -> None:
        self.arrived: queue.Queue[str] = queue.Queue()  # the path of each request
        self._open = threading.Event()
        self._status: int | None = None  # None: the connection is cut
        self._body = b""
        held = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

            def do_GET(self) -> None:
                held.arrived.put(self.path)
                held._open.wait(LIMIT_S)
                if held._status is None:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(held._status)
                self.send_header("Content-Length", str(len(held._body)))
                self.end_headers()
                self.wfile.write(held._body)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

        class Server(ThreadingHTTPServer):
            daemon_threads = False  # joined by server_close

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Clients that went away are what some tests are about."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def so_far(self) -> list[str]:
        """Takes what has arrived."""
        return [self.arrived.get() for _ in range(self.arrived.qsize())]

    def answer(self, value: Any, status: int = 200) -> None:
        """Answers what waits, and everything after it, with this."""
        self._status, self._body = status, json.dumps(value).encode()
        self._open.set()

    def cut(self) -> None:
        """Breaks the connections that wait, and those after them."""
        self._status = None
        self._open.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
