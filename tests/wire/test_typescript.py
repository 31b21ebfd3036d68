"""The schema as a generator reads it: TypeScript types, every fixture under them, and a client.

Opt-in (`make test-typescript`): it needs Node and installs the exact versions that
tests/typescript/package.json names.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.codec import encode, from_builtins, to_builtins
from efr.wire.declared import is_set, kinds_of, name_of
from efr.wire.fixtures import SETS
from efr.wire.frames import (
    CancelFrame,
    Request,
    ack_frame,
    end_frame,
    error_frame,
    item_frame,
    read_client_frame,
)
from efr.wire.framing import FrameReader, pack
from efr.wire.table import METHODS
from tests.wire.samples import values
from tests.wire.samples_shared import CONVERSATION, TURN

pytestmark = [pytest.mark.typescript, pytest.mark.timeout(900)]

HERE: Final = Path(__file__).resolve().parents[1] / "typescript"
SCHEMA: Final = HERE.parents[1] / "docs" / "protocol.schema.json"
VECTORS: Final = ("device_prove_message", "pairing_qr_url")
IMPORT: Final = "import type * as p from './protocol.js';"
TSC: Final = ("node", "node_modules/typescript/bin/tsc", "-p", ".")
AT: Final = "2026-11-02T08:15:00Z"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages, the generated types and the client."""
    root = tmp_path_factory.mktemp("typescript")
    for name in ("package.json", "tsconfig.json", "client.ts"):
        shutil.copy(HERE / name, root)
    run(root, "npm", "install", "--no-audit", "--no-fund", "--no-package-lock")
    run(
        root,
        "npx",
        "json2ts",
        "-i",
        str(SCHEMA),
        "-o",
        "protocol.ts",
        "--additionalProperties=false",
    )
    return root


def run(root: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compiled(root: Path, name: str, source: str) -> str:
    """What the strict compiler says about one more file; empty when it takes it."""
    path = root / f"{name}.ts"
    path.write_text(source, encoding="utf-8")
    done = subprocess.run([*TSC, "--noEmit"], cwd=root, capture_output=True, text=True)
    path.unlink()
    return done.stdout


def test_every_type_has_its_name_and_no_second_one(project: Path) -> None:
    written = (project / "protocol.ts").read_text(encoding="utf-8")
    named = set(re.findall(r"^export (?:type|interface) (\w+)", written, re.MULTILINE))
    assert named == {*json.loads(SCHEMA.read_bytes())["$defs"], "EfrProtocol"}


def test_every_fixture_fits_its_type(project: Path) -> None:
    assert compiled(project, "fixtures", "\n".join(typed_fixtures())) == ""


MISFITS: Final[list[tuple[str, Any]]] = [
    ("TurnSteeredEvent", {"kind": "turn_steered", "turn_id": TURN}),
    ("Grant", {"kind": "host", "host": "h"}),
    ("Mode", "reckless"),
    ("Color", {"hue": 1}),
    ("ServerFrame", {"id": 1}),
    ("PromptSendParams", {"command_id": TURN, "text": "x", "mode": "auto"}),
    ("KnownEvent", {"kind": "weather_changed"}),
]


def test_misfits_are_refused_by_the_compiler(project: Path) -> None:
    lines = [constant(f"wrong{at}", *misfit) for at, misfit in enumerate(MISFITS)]
    said = compiled(project, "wrong", "\n".join([IMPORT, *lines]))
    refused = {int(line) for line in re.findall(r"^wrong\.ts\((\d+),", said, re.MULTILINE)}
    assert refused == {at + 2 for at in range(len(MISFITS))}


def typed_fixtures() -> Iterator[str]:
    """A TypeScript constant for every fixture, of exactly its type."""
    yield IMPORT
    for name, value in values().items():
        if name not in VECTORS:
            identifier = name.replace("/", "_of_")
            yield constant(identifier, type_of(name), to_builtins(value))


def constant(name: str, kind: str, value: Any) -> str:
    plain = re.sub(r"\b([A-Z]\w+)", r"p.\1", kind)
    return f"export const {name}: {plain} = {json.dumps(value)};"


def type_of(name: str) -> str:
    """The generated type that a fixture file is of."""
    if name == "events/unknown":
        return "UnknownEvent"
    if name.startswith("events/"):
        kinds = [k for k in ev.EVENTS if f"{name}_".startswith(f"events/{k}_")]
        return name_of(ev.EVENTS[max(kinds, key=len)])
    if name.startswith("frames/"):
        return "ClientFrame" if "client" in name else "ServerFrame"
    if name in SETS:
        kind = SETS[name]
        return f"{name_of(kind)}[]" if is_set(kind) or kinds_of(kind) else f"{kind.__name__}[]"
    for method in METHODS.values():
        stem = method.name.replace(".", "_")
        if f"{name}_".startswith(f"{stem}_params_"):
            return f'{{ method: "{method.name}"; params: {name_of(method.params)} }}'
        if f"{name}_".startswith((f"{stem}_result_", f"{stem}_item_")):
            return name_of(method.result)
    raise LookupError(name)


def test_the_client_compiles_and_follows_a_turn(project: Path, tmp_path: Path) -> None:
    run(project, *TSC)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.settimeout(60)
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        command = ["node", "out/client.js", str(tmp_path / "s"), "wie groß?"]
        with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE) as client:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(60)
                prompt = serve(connection)
            assert client.stdout is not None
            printed = client.stdout.read().decode()
            assert client.wait(60) == 0

    assert prompt == m.PromptSendParams(
        command_id=prompt.command_id,
        text="wie groß?",
        settings=t.TurnSettings(mode=t.Mode.CAUTIOUS),
    )
    assert printed.splitlines() == [
        "efrd 0.1.0, live: true",
        "runs in /home/ada with cautious",
        "draft: Größe: 🙂",
        "steps over weather_changed",
        "calls shell with net_view, unknown",
        "says: Größe: 🙂 klein",
        "done",
    ]


def serve(connection: socket.socket) -> m.PromptSendParams:
    """Plays efrd for one turn; what the client asked."""
    reader = FrameReader()
    frames: list[bytes] = []

    def taken() -> Any:
        while not frames:
            frames.extend(reader.feed(connection.recv(65_536)))
        return read_client_frame(frames.pop(0))

    def send(*bodies: bytes) -> None:
        connection.sendall(b"".join(map(pack, bodies)))

    hello = taken()
    from_builtins(hello.params, m.HelloParams)
    send(item_frame(hello.id, encode(HELLO)), end_frame(hello.id))
    asked = taken()
    assert isinstance(asked, Request)
    params = from_builtins(asked.params, m.PromptSendParams)
    send(item_frame(asked.id, encode(SENT)), end_frame(asked.id))
    follow = taken()
    assert from_builtins(follow.params, m.ConversationSubscribeParams).after_seq == SENT.seq
    send(ack_frame(follow.id), *(item_frame(follow.id, item) for item in items()))
    assert taken() == CancelFrame(follow.id)
    send(error_frame(follow.id, t.ErrorBody(t.ErrorCode.CANCELLED, "cancelled by the client")))
    assert connection.recv(1) == b""
    return params


HELLO: Final = m.HelloResult(
    daemon_id=CONVERSATION,
    protocol=t.PROTOCOL_VERSION,
    version="0.1.0",
    capabilities=t.Capabilities(snapshot_live=True, others={"later": 1}),
    paths=t.DaemonPaths("/scratch", "/data"),
    challenge="c",
)
SENT: Final = m.PromptSendResult(CONVERSATION, TURN, 41, queued=False)


def items() -> Iterator[bytes]:
    """A turn with text that is not ASCII, an unknown event and an unknown grant."""
    settings = t.EffectiveSettings(mode=t.Mode.CAUTIOUS, model="demo")
    grants = (t.GrantNetView(), t.GrantUnknown())
    text = "Größe: 🙂"
    told: list[Any] = [
        ev.TurnStarted(TURN, "/home/ada", t.ScopeMachine(), settings),
        m.SubscribeDraft(TURN, 42, t.DraftText(0, 0, text)),
        ev.AssistantMessageUpdated(TURN, 0, 0, text),
        ev.AssistantMessageUpdated(TURN, 0, len(text.encode()), " klein"),
        ev.UnknownEvent("weather_changed", {"text": 1}),
        ev.ToolCallStarted(TURN, TURN, "shell", {}, launch=t.LaunchContained(grants)),
        ev.AssistantMessageCompleted(TURN, 0, f"{text} klein"),
        ev.TurnCompleted(TURN),
    ]
    for seq, one in enumerate(told, start=42):
        item = (
            one
            if isinstance(one, m.SubscribeDraft)
            else m.SubscribeEvent(seq=seq, conversation_id=CONVERSATION, at=AT, event=one)
        )
        yield encode(item)
