"""The model's context as a person meets it: `,context`, `,compact`, and a compaction by itself."""

from __future__ import annotations

import re
from pathlib import Path

from tests.e2e.conftest import Zsh
from tests.e2e.person import Person
from tests.harness.daemon import Daemon

LONG = "say: " + "y" * 90_000  # more than a compaction keeps as it is


def test_the_context_is_looked_at_compacted_by_hand_and_by_itself(
    zsh: Zsh, daemon: Daemon, tmp_path: Path
) -> None:
    me = Person(zsh(columns=110, rows=40))
    me.ask("the password is under the blue stone")
    me.sends(daemon, LONG, daemon.home)
    me.ask("well then")
    shown = me.line(",context")
    assert re.match(r"\d+k of 97k tokens at the last count  ctx \d+%", shown[0])
    assert shown[1] == "demo: a window of 128k tokens, compacted at 97k"
    assert any(re.search(r"\d+k +prompts \(3\)", line) for line in shown)
    assert any(re.search(r"22k +a prompt  turn ", line) for line in shown)
    assert not any("password" in line or "yyy" in line for line in shown)
    (line,) = me.line(",compact the blue stone")
    assert re.match(
        r"context compacted \(,compact\): \d+k -> \d\.\d+k tokens, kept 1 turn, summary ", line
    )
    (line,) = me.line(",compact")
    assert line == "efr: nothing lies before the newest turns"
    config = daemon.roots.config_file
    config.write_text(config.read_text() + "\n[compaction]\nauto_at = 30\n")
    with daemon.client("cli") as client:
        client.call("admin.config_reload", {})
    me.sends(daemon, LONG, daemon.home)
    shown = me.line(", say: where is it")
    assert any(line.startswith("context compacted (auto): ") for line in shown)
    assert "where is it" in shown
    shown = me.line(",context")
    assert sum("tokens" in line and "->" in line for line in shown) == 2
    with daemon.client("cli") as client:
        last = client.call("conversations.list", {})["conversations"][0]["id"]
        events = client.call("conversation.history", {"conversation_id": last})["events"]
    done = [e["event"] for e in events if e["event"]["kind"] == "conversation_compacted"]
    assert done[0]["focus"] == "the blue stone"
    assert all("the password is under the blue stone" in one["summary"] for one in done)
