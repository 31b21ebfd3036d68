"""The edge of the socket: what a wrong, greedy or vanishing client gets, and that others go on.

One real daemon for all of it. After each test it serves a fresh connection, has lost no thread,
and has logged no fault of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from efr.wire.framing import MAX_FRAME
from efr.wire.table import METHODS
from tests.harness.daemon import ROOT, Daemon
from tests.harness.raw_client import LIMIT_S, Frame, RawClient, pack

FIXTURES: Final = ROOT / "fixtures" / "v1"
UNKNOWN: Final = "00000000-0000-7000-8000-0000000000ff"
PROMPT: Final = {"command_id": UNKNOWN, "text": "hello"}
HUGE: Final = b"1" + b"0" * 400
NOBODY: Final = 65534
MIB: Final = 1024 * 1024
PASSING: Final = ("conversation-", "errand-", "look-")  # threads that end with their work


@pytest.fixture(name="running", scope="module")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture(name="daemon")
def _daemon(running: Daemon) -> Iterator[Daemon]:
    """The daemon, which goes on as before after the test."""
    before = threads(running)
    with running.client() as other:
        yield running
        assert other.call("models.list")["models"], "a connection from before goes on"
    with running.client() as fresh:
        assert fresh.call("models.list")["models"]
    assert before <= threads(running)
    assert "Traceback" not in running.log
    assert "ERROR" not in running.log


@pytest.fixture(name="client")
def _client(daemon: Daemon) -> Iterator[RawClient]:
    with daemon.client() as client:
        yield client


def threads(daemon: Daemon) -> set[str]:
    """The threads that live as long as the daemon."""
    tasks = Path(f"/proc/{daemon.pid}/task")
    names = set()
    for task in tasks.iterdir():
        with contextlib.suppress(FileNotFoundError):  # it ended meanwhile
            names.add((task / "comm").read_text().strip())
    return {name for name in names if not name.startswith(PASSING)}


def memory(daemon: Daemon) -> int:
    """Bytes that the daemon holds now."""
    return int(Path(f"/proc/{daemon.pid}/statm").read_text().split()[1]) * os.sysconf(
        "SC_PAGE_SIZE"
    )


def sockets(daemon: Daemon) -> int:
    """How many sockets the daemon has open."""
    return sum(
        os.readlink(handle).startswith("socket:")
        for handle in Path(f"/proc/{daemon.pid}/fd").iterdir()
    )


def command() -> str:
    raw = os.urandom(16).hex()
    return f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def asking(params: bytes, method: bytes = b"models.list", request_id: bytes = b"7") -> bytes:
    return b'{"id":%b,"method":"%b","params":%b}' % (request_id, method, params)


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def until_last(client: RawClient, request_id: int) -> list[Frame]:
    """The frames of one request, to its last one; those of others are dropped."""
    frames: list[Frame] = []
    while not frames or "item" in frames[-1]:
        frame = client.read()
        if frame.get("id") == request_id:
            frames.append(frame)
    return frames


def code(frame: Frame) -> tuple[object, str]:
    return frame.get("id"), frame["error"]["code"]


# Frames that are none. The body; the id of the answer, None: without one, and then a close; and
# what the message says.
NO_FRAMES: Final[dict[str, tuple[bytes, int | None, str]]] = {
    "nothing": (b"", None, "not JSON"),
    "white space": (b" \n", None, "not JSON"),
    "a list": (b"[]", None, "a frame is an object"),
    "a text": (b'"hello"', None, "a frame is an object"),
    "null": (b"null", None, "a frame is an object"),
    "two objects": (asking(b"{}") * 2, None, "not JSON"),
    "a comment": (b"// hello\n" + asking(b"{}"), None, "not JSON"),
    "a byte order mark": (b"\xef\xbb\xbf" + asking(b"{}"), None, "not JSON"),
    "UTF-16": (asking(b"{}").decode().encode("utf-16"), None, "not JSON"),
    "bytes that are no UTF-8": (asking(b'{"x":"\xff"}'), None, "not JSON"),
    "an overlong form": (asking(b'{"x":"\xc0\xaf"}'), None, "not JSON"),
    "a cut character": (asking(b'{"x":"\xe2\x82"}'), None, "not JSON"),
    "a raw surrogate": (asking(b'{"x":"\xed\xa0\x80"}'), None, "not JSON"),
    "an escaped surrogate": (asking(b'{"x":"\\ud800"}'), 7, "not JSON"),
    "surrogates in the wrong order": (asking(b'{"x":"\\udc00\\ud800"}'), 7, "not JSON"),
    "half a character in an id": (b'{"id":"\\ud800","method":"x"}', None, "not JSON"),
    "a raw control character": (asking(b'{"x":"\x00"}'), None, "not JSON"),
    "NaN": (asking(b'{"limit":NaN}'), None, "not JSON"),
    "Infinity": (asking(b'{"limit":-Infinity}'), None, "not JSON"),
    "a fraction out of range": (asking(b'{"limit":1e400}'), 7, "not JSON"),
    "10^400": (asking(b'{"limit":%b}' % HUGE), 7, "not JSON"),
    "100,000 lists": (b"[" * 100_000, None, "not JSON"),
    "100,000 lists that end": (nested(100_000), None, "not JSON"),
    "100,000 objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, None, "not JSON"),
    "nesting that the reader takes": (asking(b'{"a":%b}' % nested(900)), 7, "128 levels"),
    "one level too much": (asking(b'{"a":%b}' % nested(127)), 7, "128 levels"),
    "no id": (b'{"method":"models.list","params":{}}', None, "`id`"),
    "a negative id": (asking(b"{}", request_id=b"-1"), None, "$.id"),
    "a fraction as id": (asking(b"{}", request_id=b"7.0"), None, "$.id"),
    "a text as id": (asking(b"{}", request_id=b'"7"'), None, "$.id"),
    "null as id": (asking(b"{}", request_id=b"null"), None, "$.id"),
    "true as id": (asking(b"{}", request_id=b"true"), None, "$.id"),
    "an id beyond 64 bits": (asking(b"{}", request_id=b"18446744073709551616"), None, "$.id"),
    "a cancel of a text": (b'{"cancel":"7"}', None, "$.cancel"),
    "a cancel of nobody": (b'{"cancel":null}', None, "$.cancel"),
    "a cancel below 0 with an id": (b'{"id":7,"cancel":-1}', 7, "$.cancel"),
    "a cancel that asks": (b'{"cancel":7,"id":7,"method":"x","params":{}}', 7, "not both"),
    "no method": (b'{"id":7,"params":{}}', 7, "`method`"),
    "a number as method": (b'{"id":7,"method":7,"params":{}}', 7, "$.method"),
    "no params": (b'{"id":7,"method":"models.list"}', 7, "`params`"),
    "a list as params": (asking(b"[]"), 7, "$.params"),
    "null as params": (asking(b"null"), 7, "$.params"),
    "an unknown method": (asking(b"{}", b"no.such"), 7, "no.such"),
    "a method in other letters": (asking(b"{}", b"Models.List"), 7, "Models.List"),
    "a frame of the daemon": (b'{"id":7,"item":{}}', 7, "`method`"),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_FRAMES)
def test_what_is_no_request_gets_its_error_and_its_end(daemon: Daemon, name: str) -> None:
    body, request_id, says = NO_FRAMES[name]
    with daemon.client() as client:
        client.socket.sendall(framed(body) + pack({"id": 8, "method": "models.list", "params": {}}))
        error = client.read()
        assert code(error) == (request_id, "invalid")
        assert says in error["error"]["message"]
        assert "data" not in error["error"]
        if request_id is None:
            assert client.read_to_end() == [], "what came behind it is not answered"
        else:
            assert "item" in client.answer(8)


NOT_TAKEN: Final[dict[str, tuple[str, Any, str]]] = {
    "a NUL in a directory": ("conversations.recent", {"pwd": "/\0"}, "$.pwd: a path holds no NUL"),
    "a NUL in a project": ("admin.project_add", {"path": "/\0"}, "$.path: a path holds no NUL"),
    "a NUL in a context": (
        "prompt.send",
        {"command_id": command(), "text": "x", "context": {"pwd": "/a\0b"}},
        "$.context.pwd: a path holds no NUL",
    ),
    "a steer's plan without its kind": (
        "turn.steer",
        {"command_id": command(), "conversation_id": command(), "text": "x", "if_late": {}},
        "$.if_late: `kind` is missing; it is `queue`",
    ),
    "no model": (
        "prompt.send",
        {"command_id": command(), "text": "x", "settings": {"model": ""}},
        "has no model ''",
    ),
    "no effort": (
        "prompt.send",
        {"command_id": command(), "text": "x", "settings": {"effort": ""}},
        "has no effort ''",
    ),
    "a strange effort": (
        "prompt.send",
        {"command_id": command(), "text": "x", "settings": {"effort": "High !"}},
        "has no effort 'High !'",
    ),
}


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_what_nobody_can_mean_is_invalid(client: RawClient, name: str) -> None:
    method, params, says = NOT_TAKEN[name]
    refused = client.refusal(method, params)
    assert refused["code"] == "invalid"
    assert says in refused["message"]


def test_a_number_beyond_the_log_is_ahead_of_it(client: RawClient) -> None:
    sent = client.call("prompt.send", {"command_id": command(), "text": "say hello"})
    for after in (2**63, 2**64 - 1):
        params = {"conversation_id": sent["conversation_id"], "after_seq": after}
        request = client.request("conversation.subscribe", params)
        client.send({"cancel": request})
        assert until_last(client, request)[-1]["error"]["code"] == "cancelled"


def test_what_is_odd_but_right_is_served(client: RawClient) -> None:
    deep = b'{"a":%b}' % nested(126)  # the frame's own object and `params` are two more
    for body, request_id in (
        (b" \t\r\n" + asking(b" { } ") + b"\n", 7),
        (asking(deep), 7),
        (asking(b"{}", request_id=b"0"), 0),
        (asking(b"{}", request_id=b"18446744073709551615"), 2**64 - 1),
        (b'{"id":1,"id":7,"method":"no","method":"models.list","params":[],"params":{}}', 7),
        (b'{"params":{},"later":{"x":1},"method":"models.list","id":7}', 7),
        (asking(b'{"later":%d}' % 2**64), 7),
        (asking(b'{"later":"\\ud83d\\ude42\\u0000"}'), 7),
        (asking(b"{}", b"models\\u002elist"), 7),
    ):
        client.socket.sendall(framed(body))
        assert client.answer(request_id)["item"]["models"], body[:60]


# Params.


@pytest.mark.parametrize(
    ("method", "params", "where"),
    [
        ("conversation.history", {"conversation_id": UNKNOWN, "limit": "3"}, "$.limit"),
        ("conversation.history", {"conversation_id": UNKNOWN, "limit": 3.0}, "$.limit"),
        ("conversation.history", {"conversation_id": UNKNOWN, "limit": True}, "$.limit"),
        ("conversation.history", {"conversation_id": UNKNOWN, "limit": 2**32}, "$.limit"),
        ("conversation.history", {"conversation_id": "x"}, "$.conversation_id"),
        ("conversation.history", {"conversation_id": None}, "$.conversation_id"),
        ("conversation.subscribe", {"conversation_id": UNKNOWN, "after_seq": -1}, "$.after_seq"),
        ("conversation.subscribe", {"conversation_id": UNKNOWN, "drafts": 1}, "$.drafts"),
        ("lease.report", {"visible": True, "conversations": [UNKNOWN, 7]}, "$.conversations[1]"),
        ("lease.report", {"visible": True, "conversations": {}}, "$.conversations"),
        ("prompt.send", {"command_id": UNKNOWN, "text": 7}, "$.text"),
        ("prompt.send", {**PROMPT, "context": {"pwd": 1}}, "$.context.pwd"),
        ("prompt.send", {**PROMPT, "settings": {"mode": "root"}}, "$.settings.mode"),
    ],
)  # fmt: skip
def test_params_of_a_wrong_type_are_named(
    client: RawClient, method: str, params: Any, where: str
) -> None:
    error = client.refusal(method, params)
    assert error["code"] == "invalid"
    assert error["message"].startswith(f"{where}: ")


def test_integers_beyond_64_bits_are_named(client: RawClient) -> None:
    params = b'{"conversation_id":"%b","after_seq":%%d}' % UNKNOWN.encode()
    for number in (2**64, 10**300):
        client.socket.sendall(framed(asking(params % number, b"conversation.subscribe")))
        error = client.answer(7)["error"]
        assert (error["code"], error["message"].startswith("$.after_seq: ")) == ("invalid", True)
    client.socket.sendall(framed(asking(params % (2**64 - 1), b"conversation.subscribe")))
    assert client.answer(7)["error"]["code"] == "not_found"


def test_each_member_of_each_method_is_looked_at_before_anything_is_done(client: RawClient) -> None:
    for name, method in METHODS.items():
        if name in ("hello", "device.enroll", "device.prove"):
            continue
        path = FIXTURES / f"{name.replace('.', '_')}_params.json"
        params = json.loads(path.read_text())["params"]
        for member in params:
            error = client.refusal(name, {**params, member: [{}, 7]})
            assert error["code"] == "invalid", (name, member)
            assert error["message"].startswith(f"$.{member}"), (name, error)
        for member in method.params.__struct_fields__:
            if member not in params:
                error = client.refusal(name, {**params, member: [{}, 7]})
                assert error["message"].startswith(f"$.{member}"), (name, error)


def test_a_limit_of_nothing_is_refused_and_too_large_a_one_is_the_largest(
    client: RawClient,
) -> None:
    sent = client.call("prompt.send", {"command_id": command(), "text": "hello"})
    there = {"conversation_id": sent["conversation_id"]}
    for method, params in (
        ("conversations.list", {}),
        ("conversations.recent", {}),
        ("conversations.search", {"query": "x"}),
        ("conversation.search", {"query": "x", **there}),
        ("conversation.history", there),
        ("conversations.watch", {}),
    ):
        error = client.refusal(method, {**params, "limit": 0})
        assert error["code"] == "invalid", method
        request = client.request(method, {**params, "limit": 2**32 - 1})
        while (first := client.read())["id"] != request:
            pass
        assert "item" in first, first


# Sizes and pieces.


def test_a_body_of_16_mib_is_served_and_one_byte_more_ends_the_connection(daemon: Daemon) -> None:
    before = memory(daemon)
    with daemon.client() as client:
        body = asking(b'{"later":"%b"}' % (b"x" * (MAX_FRAME - len(asking(b'{"later":""}')))))
        assert len(body) == MAX_FRAME
        client.socket.sendall(framed(body))
        assert client.answer(7)["item"]["models"]
        early = framed(asking(b"{}"))
        client.socket.sendall(early + (MAX_FRAME + 1).to_bytes(4, "big"))
        frames = client.read_to_end()
        broken = next(frame for frame in frames if "id" not in frame)
        assert code(broken) == (None, "invalid")
        assert broken["error"]["message"] == "a frame holds at most 16 MiB"
        last = [frame for frame in frames if "id" in frame][-1]
        assert "end" in last or code(last) == (7, "cancelled"), "the frame before is answered"
    with daemon.client() as client:
        client.socket.sendall(b"\xff\xff\xff\xff" + b"x" * 1000)
        assert [code(frame) for frame in client.read_to_end()] == [(None, "invalid")]
    assert memory(daemon) - before < 100 * MIB


@pytest.mark.parametrize("value", [b"[]", b'"x"', b'{"a":[1]}', nested(100)])
def test_very_many_small_values_are_refused_unread(daemon: Daemon, value: bytes) -> None:
    before = memory(daemon)
    many = b",".join([value] * (2 * MIB // (len(value) + 1)))
    with daemon.client() as client:
        client.socket.sendall(framed(asking(b'{"later":[%b]}' % many)))
        error = client.read()
        assert code(error) == (None, "invalid")
        assert "100000 values" in error["error"]["message"]
        assert client.read_to_end() == []
    assert memory(daemon) - before < 32 * MIB


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("LONG", {}),
        ("prompt.send", {**PROMPT, "settings": {"mode": "LONG"}}),
        ("prompt.send", {**PROMPT, "settings": {"model": "LONG"}}),
        ("conversation.history", {"conversation_id": "LONG"}),
        ("conversations.list", {"cursor": "LONG"}),
        ("conversations.search", {"query": "LONG"}),
        ("conversations.recent", {"tty": "LONG", "pwd": "/LONG"}),
        ("admin.project_add", {"path": "/LONG"}),
        ("admin.logout", {"provider": "LONG"}),
    ],
)
def test_an_error_that_quotes_16_mib_is_one_sentence(
    daemon: Daemon, method: str, params: Any
) -> None:
    """The largest text that fits, and one that is longer when it is quoted."""
    request = json.dumps({"id": 7, "method": method, "params": params}).encode()
    for filling, size in ((b"x", MAX_FRAME - len(request) - 20), (b"\x7f", 5 * MIB)):
        with daemon.client() as client:
            client.socket.sendall(framed(request.replace(b"LONG", filling * (size // 2))))
            answer = client.answer(7)
            assert len(answer.get("error", {"message": ""})["message"]) < 1100


def test_a_text_may_hold_any_number_of_brackets(client: RawClient) -> None:
    client.request("models.list", {"later": '[{"a":1},' * 1_000_000}, 7)
    assert client.answer(7)["item"]["models"]


def test_a_frame_in_two_pieces_is_a_frame_wherever_it_is_cut(daemon: Daemon) -> None:
    frame = framed(asking('{"later":"größe 🙂"}'.encode()))
    with daemon.client() as client, daemon.client() as other:
        for cut in range(1, len(frame)):
            client.socket.sendall(frame[:cut])
            assert other.refusal("no.such"), "answered after the first piece was read"
            client.socket.sendall(frame[cut:])
            assert client.answer(7)["item"]["models"]


def test_frames_byte_by_byte_are_frames(daemon: Daemon) -> None:
    frames = framed(asking(b"{}")) + framed(b'{"cancel":9}') + framed(asking(b"{}", b"no", b"8"))
    with daemon.client() as client, daemon.client() as other:
        for byte in frames:
            client.socket.sendall(bytes([byte]))
            assert other.refusal("no.such")
        seen = [client.read() for _ in range(3)]
    assert {frame["id"] for frame in seen} == {7, 8}


# Ids and cancels.


def test_an_id_in_flight_is_refused_and_its_first_request_goes_on(client: RawClient) -> None:
    client.request("conversations.watch", {}, 5)
    assert client.read()["item"]["kind"] == "snapshot"
    for method in ("conversations.watch", "models.list", "prompt.send", "hello", "no.such"):
        client.request(method, {}, 5)
        assert code(client.read()) == (5, "invalid")
    sent = client.call("prompt.send", {"command_id": command(), "text": "hello"})
    changed = client.read()
    assert (changed["id"], changed["item"]["kind"]) == (5, "changed")
    assert changed["item"]["conversation"]["summary"]["id"] == sent["conversation_id"]
    client.send({"cancel": 5})
    assert code(until_last(client, 5)[-1]) == (5, "cancelled")
    client.request("models.list", {}, 5)
    assert client.answer(5)["item"]["models"], "its id is free again"


def test_a_cancel_of_what_is_not_in_flight_is_ignored(client: RawClient) -> None:
    client.send({"cancel": 5})
    client.request("models.list", {}, 5)
    assert [set(frame) - {"id"} for frame in until_last(client, 5)] == [{"item"}, {"end"}]
    for unknown in (5, 6, 0, 2**64 - 1):
        client.send({"cancel": unknown})
    client.request("no.such", {}, 6)
    assert code(client.read()) == (6, "invalid")


def test_a_request_that_is_cancelled_twice_ends_once(client: RawClient) -> None:
    client.request("conversations.watch", {}, 5)
    assert client.read()["item"]["kind"] == "snapshot"
    client.socket.sendall(pack({"cancel": 5}) * 3)
    assert code(client.read()) == (5, "cancelled")
    client.request("no.such", {}, 6)
    assert client.read()["id"] == 6, "nothing came between"


def test_a_cancel_on_the_heels_of_its_request_gives_one_last_frame(client: RawClient) -> None:
    """Before it, with it, behind it, and of a stream: whoever wins the race."""
    ends: dict[int, list[Frame]] = defaultdict(list)
    for first in range(0, 300, 20):
        for number in range(first, first + 20):
            method = ("models.list", "conversations.watch")[number % 2]
            request = pack({"id": number, "method": method, "params": {}})
            cancel = pack({"cancel": number})
            extra = pack({"cancel": number}) if number % 3 else b""
            early = cancel if number % 5 == 0 else b""
            client.socket.sendall(early + request + cancel + extra)
        waiting = set(range(first, first + 20))
        while waiting:
            frame = client.read()
            ends[frame["id"]].append(frame)
            if "item" not in frame:
                waiting.remove(frame["id"])
    for number, frames in ends.items():
        *items, last = frames
        if "end" in last:
            assert (number % 2, len(items)) == (0, 1), "a watch has no end of its own"
        else:
            assert code(last) == (number, "cancelled")
            assert len(items) <= number % 2, "an answer and a cancel are not both given"
    assert len(ends) == 300


# Many at once.


def test_10_000_requests_in_one_write_are_answered_once_each(daemon: Daemon) -> None:
    count = 10_000
    before = memory(daemon)
    with daemon.client() as client:
        everything = b"".join(
            framed(asking(b'{"visible":true}', b"lease.report", b"%d" % number))
            for number in range(count)
        )
        client.socket.setblocking(False)
        taken = client.socket.send(everything)
        client.socket.settimeout(LIMIT_S)
        with daemon.client() as other:
            assert other.call("models.list"), "others do not wait for who does not read"
        writer = threading.Thread(target=client.socket.sendall, args=(everything[taken:],))
        writer.start()
        try:
            seen: dict[int, list[Frame]] = defaultdict(list)
            for _ in range(count):
                frame = client.read()
                seen[frame["id"]].append(frame)
                if "item" in frame:
                    end = client.read()
                    seen[end["id"]].append(end)
        finally:
            writer.join()
        assert client.answer(client.request("models.list"))["item"], "nothing is left over"
    assert seen.keys() == set(range(count))
    served = 0
    for number, frames in seen.items():
        if "error" in frames[0]:
            assert [code(frame) for frame in frames] == [(number, "busy")]
        else:
            assert [set(frame) for frame in frames] == [{"id", "item"}, {"id", "end"}]
            served += 1
    assert served >= 32
    assert memory(daemon) - before < 32 * MIB


def test_answers_that_need_no_method_come_in_the_order_of_their_requests(client: RawClient) -> None:
    client.socket.sendall(
        b"".join(framed(asking(b"{}", b"no.such", b"%d" % number)) for number in range(500))
    )
    assert [client.read()["id"] for _ in range(500)] == list(range(500))


def test_a_reader_that_stops_loses_its_stream_alone(daemon: Daemon) -> None:
    with daemon.client() as stuck, daemon.client() as other:
        sent = other.call("prompt.send", {"command_id": command(), "text": "count to 100000"})
        conversation = {"conversation_id": sent["conversation_id"]}
        stuck.request("conversation.subscribe", conversation, 5)
        snapshot = stuck.read()["item"]
        before = memory(daemon)
        # 4 MiB of texts: the kernel holds some of it, the connection 1 MiB, the queue 64 events.
        for _ in range(60):
            queued = other.call(
                "prompt.send", {"command_id": command(), "text": "x" * 70_000, **conversation}
            )
            turn = {"kind": "turn", "turn_id": queued["turn_id"]}
            other.call("prompt.withdraw", {"command_id": command(), "target": turn, **conversation})
        assert memory(daemon) - before < 32 * MIB
        stuck.request("models.list", {}, 6)
        frames: list[Frame] = []
        while not frames or "error" not in frames[-1]:
            frames.append(stuck.read())
        assert [set(f) - {"id"} for f in frames if f["id"] == 6] == [{"item"}, {"end"}]
        error = frames[-1]["error"]
        got = [frame["item"]["seq"] for frame in frames[:-1] if frame["id"] == 5]
        assert error["code"] == "overflow"
        assert error["data"] == {"last_seq": got[-1]}
        assert got == sorted(set(got))
        assert got[0] > snapshot["hwm"]
        again = {**conversation, "after_seq": got[-1]}
        stuck.request("conversation.subscribe", again, 5)
        assert stuck.read()["item"]["kind"] in ("event", "snapshot"), "the connection goes on"
        other.call(
            "turn.interrupt",
            {"command_id": command(), "turn_id": sent["turn_id"], **conversation},
        )


# Ends.


def test_a_client_that_sends_no_more_still_gets_its_answers(daemon: Daemon) -> None:
    with RawClient(daemon.socket) as client:
        hello = {"id": 1, "method": "hello", "params": {"protocol": 1, "origin": "cli"}}
        asked = [{"id": n, "method": "models.list", "params": {}} for n in range(2, 12)]
        client.socket.sendall(b"".join(map(pack, [hello, *asked])))
        client.socket.shutdown(socket.SHUT_WR)
        frames = client.read_to_end()
    assert sorted(frame["id"] for frame in frames if "item" in frame) == list(range(1, 12))
    assert sorted(frame["id"] for frame in frames if "end" in frame) == list(range(1, 12))


def test_a_stream_outlives_the_end_of_what_its_client_sends(daemon: Daemon) -> None:
    with daemon.client() as client, daemon.client() as other:
        client.request("conversations.watch", {}, 5)
        client.socket.shutdown(socket.SHUT_WR)
        assert client.read()["item"]["kind"] == "snapshot"
        other.call("prompt.send", {"command_id": command(), "text": "hello"})
        assert client.read()["item"]["kind"] == "changed"


def test_an_end_inside_a_frame_answers_what_came_whole(daemon: Daemon) -> None:
    for cut in (1, 4, 5, 30):
        with daemon.client() as client:
            client.socket.sendall(framed(asking(b"{}")) + framed(asking(b"{}"))[:cut])
            client.socket.shutdown(socket.SHUT_WR)
            assert [set(frame) - {"id"} for frame in client.read_to_end()] == [{"item"}, {"end"}]


def test_a_client_that_reads_no_more_ends_its_connection(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.request("conversations.watch", {}, 5)
        assert client.read()["item"]["kind"] == "snapshot"
        client.socket.shutdown(socket.SHUT_RD)
        with daemon.client() as other:
            other.call("prompt.send", {"command_id": command(), "text": "hello"})
        assert client.socket.recv(1) == b""
        with pytest.raises(BrokenPipeError):
            client.socket.sendall(framed(asking(b"{}")) * 100_000)


def test_clients_that_vanish_in_the_middle_leave_nothing(daemon: Daemon) -> None:
    before = sockets(daemon)
    for number in range(60):
        client = daemon.client()
        client.request("conversations.watch")
        client.request("models.list")
        client.socket.sendall(framed(asking(b"{}"))[: number + 1])
        client.close()
    with daemon.client() as client:
        assert client.call("models.list")
        assert sockets(daemon) <= before + 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_is_closed_before_a_byte_is_read(daemon: Daemon) -> None:
    """The folder and the socket keep others out; this one is let in as far as the daemon."""
    runtime = daemon.socket.parent
    ways = {runtime.parent: 0o755, runtime: 0o755, daemon.socket: 0o666}
    modes = {path: path.stat().st_mode & 0o7777 for path in ways}
    assert as_nobody(daemon.socket) == "PermissionError"
    try:
        for path, mode in ways.items():
            path.chmod(mode)
        assert as_nobody(daemon.socket) == "closed"
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    assert re.search(rf"closed a connection of user id {NOBODY}\b", daemon.log)


def as_nobody(path: Path) -> str:
    """What another user gets at a socket."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            with RawClient(path) as peer:
                said = "data" if peer.socket.recv(1) else "closed"
        except ConnectionResetError:
            said = "closed"
        except BaseException as exc:  # the child never goes on with the test
            said = type(exc).__name__
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as told:
        said = told.read()
    assert os.waitpid(child, 0) == (child, 0)
    return said
