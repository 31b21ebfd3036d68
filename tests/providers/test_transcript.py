from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from efr.providers.canonical import Message, Request, TextBlock, decode_event, fold
from efr.providers.retry import Sender
from efr.providers.server_values import safe_url
from efr.providers.transcript import Transcript
from tests.providers.conftest import SECRET, Bench, FakeTokens

REQUEST = Request("gpt-5.5", (Message("user", (TextBlock("hi"),)),))


def test_a_model_call_is_recorded_without_its_secrets(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "calls.ndjson"
    bench.sender = Sender(
        bench.http, bench.clock, bench.sender.random, bench.sender.pause, Transcript(file)
    )
    refused = {"error": {"status": 503, "body": {}}}
    bench.server.play([refused, {"pieces": [{"text": "fine"}]}])
    provider = bench.responses(FakeTokens(account_id="acct-1"), subscription=True)
    events = bench.run(provider, replace(REQUEST, conversation_id="c-1"))

    lines = file.read_bytes().splitlines()
    heads = [json.loads(line) for line in lines[:4]]
    assert [head["kind"] for head in heads] == ["request", "response", "request", "response"]
    assert [heads[n]["data"]["status"] for n in (1, 3)] == [503, 200]
    sent = heads[0]["data"]
    assert sent["body"]["model"] == "gpt-5.5"
    assert sent["headers"]["authorization"] == "[hidden]"
    assert sent["headers"]["chatgpt-account-id"] == "[hidden]"
    assert sent["headers"]["session-id"] == "c-1"
    assert fold(map(decode_event, lines[4:])) == fold(events)
    text = file.read_text()
    assert SECRET not in text
    assert "acct-1" not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_ends_the_recording_and_no_call(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "nowhere" / "calls.ndjson"
    bench.sender = Sender(
        bench.http, bench.clock, bench.sender.random, bench.sender.pause, Transcript(file)
    )
    bench.server.play([{"pieces": [{"text": "fine"}]}])

    assert fold(bench.run(bench.responses(), REQUEST)).message.text == "fine"
    assert [r.getMessage() for r in caplog.records if r.levelname == "WARNING"] == [
        f"model calls are not recorded any more: {file}: No such file or directory"
    ]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h/v1/x", "https://h/v1/x"),
        ("https://me:pw@h:8/x?key=1&b=", "https://h:8/x?key=[hidden]&b=[hidden]"),
    ],
)
def test_urls_lose_user_info_and_query_values(url: str, shown: str) -> None:
    assert safe_url(url) == shown
