"""A fake model server: a real process that plays scripts over three API shapes.

`python -m tests.harness.model_server --port 0 --script FILE` prints {"port": N} and serves until
its stdin ends, so that it never outlives the test that started it. The path decides the shape:
…/responses, …/messages, …/chat/completions, and GET …/models (Anthropic's form with an
anthropic-version header).

A script is {"answers": […], "models"?: […], "model_answers"?: […], "token_answers"?: […]} (the
last two are played by GET …/models before the list itself, and by POST /oauth/token) with answers
in the form of `model_stream`; an answer may instead be {"error": {"status", "headers"?, "body"?}},
{"json": value} (one piece, no stream), {"stream": text} (sent as it is), {"raw": text} (head and
all, one byte per character, then closed), {"hang": true} (no head is ever sent) or {"cut": true}
(closed without a head). "chunk_bytes" splits what is written. The
last answer repeats when "repeat" is true, else status 500 tells the script's end. Admin: GET
/admin/requests, POST /admin/script, GET /admin/connections, GET /admin/silence (answers
when an answer of the script hangs).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import select
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from tests.harness.model_stream import Action, frames, read_answer

Json = Any

SHAPES = {"/responses": "responses", "/messages": "messages", "/chat/completions": "chat"}
TOKEN_PATH = "/oauth/token"
MODELS = [{"id": "fake-model"}, {"id": "other-model"}]
START_LIMIT_S = 20


class Script:
    """The answers still to play, and what was asked."""

    def __init__(self, value: Json) -> None:
        self._lock = threading.Condition()  # an answer hangs
        self.requests: list[Json] = []
        self.connections = 0
        self.load(value)

    def load(self, value: Json) -> None:
        with self._lock:
            self.answers = list(value.get("answers", []))
            self.models = value.get("models", MODELS)
            self.model_answers = list(value.get("model_answers", []))
            self.token_answers = list(value.get("token_answers", []))
            self.repeat = value.get("repeat", False)
            self.requests.clear()
            self.played = self.silent = 0

    def record(self, request: Json) -> Json:
        with self._lock:
            self.requests.append(request)
            return request

    def fall_silent(self) -> None:
        with self._lock:
            self.silent += 1
            self._lock.notify_all()

    def wait_for_silence(self) -> bool:
        """Blocks until an answer hangs; False when that takes too long."""
        with self._lock:
            return self._lock.wait_for(lambda: self.silent > 0, START_LIMIT_S)

    def next_models(self) -> Json:
        with self._lock:
            return self.model_answers.pop(0) if self.model_answers else None

    def next_token(self) -> Json:
        with self._lock:
            return self.token_answers.pop(0)

    def next(self) -> tuple[int, Json]:
        with self._lock:
            self.played += 1
            if not self.answers:
                body = {"error": {"message": "the script has ended", "type": "script_end"}}
                return self.played, {"error": {"status": 500, "body": body}}
            last = len(self.answers) == 1 and self.repeat
            return self.played, self.answers[0] if last else self.answers.pop(0)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    script: Script

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.script.connections += 1

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the tests read /admin/requests."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/admin/requests":
            self._json(200, self.script.requests)
        elif path == "/admin/silence":
            self._json(200, self.script.wait_for_silence())
        elif path == "/admin/connections":
            self._json(200, self.script.connections)
        elif path.endswith("/models"):
            self._record("")
            self._models()
        else:
            self._json(404, {"error": {"message": "no such path", "type": "not_found_error"}})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0"))).decode()
        path = self.path.partition("?")[0]
        if path == "/admin/script":
            self.script.load(json.loads(body))
            self._json(200, {})
            return
        if path == TOKEN_PATH:
            self._record(body)
            self._scripted(self.script.next_token())
            return
        shape = next((name for end, name in SHAPES.items() if path.endswith(end)), None)
        if shape is None:
            self._json(404, {"error": {"message": "no such path", "type": "not_found_error"}})
            return
        record = self._record(body)
        number, answer = self.script.next()
        try:
            record["finished"] = self._play(shape, number, answer)
        except OSError:
            record["gone"] = True
            self.close_connection = True

    def _record(self, body: str) -> Json:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = {"method": self.command, "path": self.path, "headers": headers, "body": body}
        return self.script.record(request | {"at": time.monotonic()})

    def _models(self) -> None:
        scripted = self.script.next_models()
        if scripted is not None and "cut" in scripted:
            self._cut()
        elif scripted is not None:
            self._scripted(scripted)
        elif "anthropic-version" in self.headers:
            entries = self.script.models
            ends = {"first_id": entries[0]["id"], "last_id": entries[-1]["id"]} if entries else {}
            self._json(200, {"data": entries, "has_more": False, **ends})
        else:
            self._json(200, {"object": "list", "data": self.script.models})

    def _scripted(self, answer: Json) -> None:
        """An error, or one JSON value."""
        if "json" in answer:
            self._json(200, answer["json"])
            return
        error = answer["error"]
        self._json(error["status"], error.get("body", {}), error.get("headers", {}))

    def _play(self, shape: str, number: int, answer: Json) -> bool:
        """Whether the answer was sent to its end."""
        if "error" in answer or "json" in answer:
            self._scripted(answer)
            return True
        if "hang" in answer:
            return self._hang()
        if "cut" in answer or "raw" in answer:
            self.wfile.write(answer.get("raw", "").encode("latin-1"))
            self._cut()
            return False
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("x-request-id", f"req_{number}")
        self.send_header("request-id", f"req_{number}")
        self.end_headers()
        recorded = [answer["stream"].encode()] if "stream" in answer else None
        for frame in recorded or frames(shape, read_answer(answer, number)):
            if isinstance(frame, Action):
                if not self._act(frame):
                    return False
            else:
                self._chunk(frame, answer.get("chunk_bytes", 0))
        self.wfile.write(b"0\r\n\r\n")
        return True

    def _act(self, action: Action) -> bool:
        if action.kind == "wait":
            gone, _, _ = select.select([self.connection], [], [], action.seconds)
            if gone:
                raise ConnectionResetError
            return True
        if action.kind == "hang":
            return self._hang()
        self._cut()
        return False

    def _hang(self) -> bool:
        """Waits until the client goes away."""
        self.script.fall_silent()
        select.select([self.connection], [], [])
        raise ConnectionResetError

    def _cut(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _chunk(self, data: bytes, size: int) -> None:
        size = size or len(data)
        for at in range(0, len(data), size):
            piece = data[at : at + size]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def _json(self, status: int, value: Json, headers: Json = None) -> None:
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of the script."""


class ModelServer:
    """The process, as a test sees it."""

    def __init__(self, answers: list[Json] | None = None, **script: Json) -> None:
        self._script = {"answers": answers or [], **script}
        self._process: subprocess.Popen[str] | None = None
        self.port = 0

    def start(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.model_server", "--port", "0", "--script", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(self._script) + "\n")
        self._process.stdin.flush()
        self.port = json.loads(self._process.stdout.readline())["port"]
        return self

    def stop(self) -> None:
        if self._process is not None:
            self._process.communicate(timeout=START_LIMIT_S)  # closes stdin: the server ends
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    @property
    def settings(self) -> str:
        """A config.toml whose model this is, as a compatible server."""
        model = '[model]\nprovider = "compatible"\nname = "fake-model"\n'
        return f'{model}[compatible]\nbase_url = "{self.base_url}"\n'

    def play(self, answers: list[Json], **script: Json) -> None:
        """Replaces the script and forgets the requests."""
        self._ask("/admin/script", {"answers": answers, **script})

    def requests(self) -> list[Json]:
        """Every request so far: method, path, headers (lower case), body text, finished or gone."""
        requests: list[Json] = self._ask("/admin/requests")
        return requests

    def bodies(self) -> list[Json]:
        """The parsed bodies of the model calls."""
        return [json.loads(r["body"]) for r in self.requests() if r["method"] == "POST"]

    def wait_for_silence(self) -> bool:
        """Blocks until an answer of the script hangs; False when that takes too long."""
        return bool(self._ask("/admin/silence"))

    def connections(self) -> int:
        """How many connections were opened, the admin's own included."""
        count: int = self._ask("/admin/connections")
        return count

    def _ask(self, path: str, body: Json = None) -> Json:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data)
        with urllib.request.urlopen(request, timeout=2 * START_LIMIT_S) as answer:
            return json.loads(answer.read())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", default="-", help="a file, or - for one line of stdin")
    options = parser.parse_args()
    text = sys.stdin.readline() if options.script == "-" else Path(options.script).read_text()
    Handler.script = Script(json.loads(text))
    server = Server(("127.0.0.1", options.port), Handler)
    print(json.dumps({"port": server.server_port}), flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()  # until whoever started us goes away
    server.shutdown()


if __name__ == "__main__":
    main()
