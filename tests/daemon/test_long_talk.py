"""A long talk with a real daemon, in windows that are far too small: prompts, steers, interrupts,
other models, compactions and kills in any order. What the model is asked is whole, fits, and starts
with the request before; what the user stated stays; no secret of a command line is anywhere.

EFR_TALK_STEPS is the number of steps (16 unless set), EFR_TALK_SEED the seed (a failure prints it),
EFR_TALK_APIS the APIs; `make talks` takes many steps over all three.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.soundness import check_database
from tests.daemon.talk import Talker, faults
from tests.daemon.test_methods import ENDS, command
from tests.harness.daemon import ROOT, Daemon
from tests.harness.raw_client import RawClient

STEPS = int(os.environ.get("EFR_TALK_STEPS", "16"))
SEED = int(os.environ.get("EFR_TALK_SEED", "2"))
TABLES = {"openai-api": "openai", "anthropic-api": "anthropic", "compatible": "compatible"}
APIS = os.environ.get("EFR_TALK_APIS", "anthropic-api").split()
WINDOWS = {"large": 40_000, "small": 16_000}
SECRET = "hunter2hunter2"
LINES = (
    "export API_TOKEN={0}; curl -u me:{0} h",
    "curl -H 'Authorization: Bearer {}' h",
    'bash -c "mysql -uroot -p{}"',
    "sshpass -p '{}' ssh h",
    "echo {} | sudo -S id",
    "psql postgres://me:{}@h/db",
    "sudo vault login {}",
    "cat > .env <<EOF\nDB_PASSWORD={}\nEOF",
)


class Talk:
    """The user, and what they know of the conversation."""

    def __init__(self, daemon: Daemon, model: Talker, seed: int) -> None:
        self.daemon = daemon
        self.facts: set[str] = set()
        self._model = model
        self._dice = random.Random(seed)
        self._client = daemon.client("shell")
        self._conversation = ""
        self._name = "large"
        self._number = 0

    def step(self) -> None:
        chance = self._dice.random()
        if chance < 0.08:
            self._name = self._dice.choice(list(WINDOWS))
        elif chance < 0.16 and self._conversation:
            self._compact()
        elif chance < 0.20 and self._conversation:
            self._restart(self._dice.choice((self.daemon.kill, self.daemon.stop)))
        else:
            self._prompt()

    def close(self) -> list[Any]:
        """Everything that happened."""
        events = self.events()
        self._client.close()
        return events

    def events(self) -> list[Any]:
        found: list[Any] = []
        cursor: str | None = None
        while True:
            asked: dict[str, Any] = {"conversation_id": self._conversation, "limit": 500}
            asked |= {"cursor": cursor} if cursor else {}
            page = self._client.call("conversation.history", asked)
            found = page["events"] + found
            cursor = page.get("next_cursor")
            if cursor is None:
                return [one["event"] for one in found]

    def _prompt(self) -> None:
        turns = [self._send()]
        late = {"kind": "queue"}
        match self._dice.randrange(8):
            case 0:
                self._ask("turn.steer", text=f"steer {self._number}", if_late=late)
            case 1:
                self._ask("turn.interrupt")
            case 2:
                turns.append(self._send())
            case 3:
                self._restart(self.daemon.kill)
                return
        self._wait(turns[-1])

    def _send(self) -> str:
        self._number += 1
        text = f"prompt {self._number} " + "w" * self._dice.choice((10, 200, 3000, 12_000))
        if self._dice.random() < 0.2:
            text += f" FACT-{self._number}"
        params = {
            "command_id": command(),
            "text": text,
            "context": {"pwd": str(self.daemon.home), "tty": "/dev/pts/3"},
            "settings": {"model": self._name},
            "last_command": self._dice.choice(LINES).format(SECRET),
            "recent_commands": [{"command": line.format(SECRET), "status": 0} for line in LINES],
        }
        if self._conversation:
            params["conversation_id"] = self._conversation
        sent = self._client.call("prompt.send", params)
        self._conversation = sent["conversation_id"]
        return str(sent["turn_id"])

    def _ask(self, method: str, **members: Any) -> Any:
        """Its answer, also when that is a refusal: the turn may be over."""
        params = {"command_id": command(), "conversation_id": self._conversation, **members}
        return self._client.answer(self._client.request(method, params))

    def _compact(self) -> None:
        focus = f"FACT-{self._number}00"
        done = self._ask("conversation.compact", focus=focus)
        if "item" in done:
            self.facts.add(focus)
        told = self._client.call("conversation.context", {"conversation_id": self._conversation})
        parts = told["estimate"]["parts"]
        assert sum(part["tokens"] for part in parts) == told["estimate"]["tokens"]

    def _restart(self, end: Any) -> None:
        end()
        self._model.kills += 1
        self.daemon.start()
        self._client.close()
        self._client = self.daemon.client("shell")

    def _wait(self, turn_id: str) -> None:
        """Until the turn ended; queued ones run in order, so those before it ended too."""
        with self.daemon.client("cli") as follower:
            follower.request("conversation.subscribe", {"conversation_id": self._conversation})
            while not _ended(follower, turn_id):
                pass


def _ended(follower: RawClient, turn_id: str) -> bool:
    item = follower.read()["item"]
    events = item["events"] if item["kind"] == "snapshot" else [item]
    told = [one["event"] for one in events if "event" in one]
    return any(one.get("turn_id") == turn_id and one["kind"] in ENDS for one in told)


def settings(api: str, base_url: str) -> str:
    models = ", ".join(
        f'{{ id = "{name}", context_window = {window}, max_output_tokens = 2000 }}'
        for name, window in WINDOWS.items()
    )
    key = {"openai-api": "api_base_url"}.get(api, "base_url")
    return (
        f'[model]\nprovider = "{api}"\nname = "large"\n'
        f'[{TABLES[api]}]\n{key} = "{base_url}"\nmodels = [{models}]\n'
    )


@pytest.mark.parametrize("api", APIS)
def test_a_long_talk_keeps_its_promises(tmp_path: Path, api: str) -> None:
    seed = SEED
    with Talker(seed, WINDOWS) as model:
        with Daemon(tmp_path, settings=settings(api, model.base_url)) as daemon:
            (daemon.home / "lots.txt").write_text("".join(f"{n}\n" for n in range(40_000)))
            (daemon.home / "notes.txt").write_text("note " * 2000)
            login = [sys.executable, str(ROOT / "efr_cli.py"), "login", api, "--no-check"]
            key = "sk-test-0123456789abcdefghij"
            subprocess.run(login, input=key, text=True, env=daemon.env, check=True)
            talk = Talk(daemon, model, seed + 1)
            for _ in range(STEPS):
                talk.step()
            events = talk.close()
            daemon.stop()
            check_database(daemon.roots.database)
            assert "Traceback" not in daemon.log, daemon.log
            kept = [path for path in tmp_path.rglob("*") if path.is_file()]
            assert not [one for one in kept if SECRET.encode() in one.read_bytes()], seed
        assert faults(model.asked) == [], seed
    assert not [one for one in model.asked if SECRET in one.text], seed
    done = [one for one in events if one["kind"] == "conversation_compacted"]
    assert len(done) >= STEPS // 16, seed
    if not any(one.get("omitted_messages") for one in done):
        stated = talk.facts | {fact for one in model.asked[:-1] for fact in one.facts}
        assert stated <= model.asked[-1].facts, seed
