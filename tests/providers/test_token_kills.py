"""A kill -9 between the answer with the tokens and their file leaves a whole login or none."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from efr.providers.credentials import CredentialStore, OauthTokens
from tests.harness.clock import FakeClock
from tests.harness.daemon import ROOT, Daemon
from tests.harness.model_server import ModelServer
from tests.providers.token_child import OLD, STEPS

TOKENS = {"access_token": "new-access", "refresh_token": "new-refresh", "expires_in": 3600}
RENAMED = STEPS.index("syncing the directory")


@pytest.fixture(name="folder", scope="module")
def _folder(server_process: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kills")
    server_process.play([], token_answers=[{"json": TOKENS}] * 2 * len(STEPS))
    command = [
        sys.executable,
        "-m",
        "tests.providers.token_child",
        server_process.root,
        str(folder),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    kill = int(signal.SIGKILL)
    assert json.loads(done.stdout) == [
        [kind, number, kill if step != "none" else False]
        for kind in ("renewal", "login")
        for number, step in enumerate(STEPS)
    ]
    return folder


@pytest.mark.parametrize("number", range(len(STEPS)), ids=STEPS)
@pytest.mark.parametrize("kind", ["renewal", "login"])
def test_a_kill_leaves_a_whole_record(folder: Path, kind: str, number: int) -> None:
    store = CredentialStore(folder / kind / str(number) / "secrets", FakeClock())
    record = store.read("openai")

    if number < RENAMED:
        assert record == (OLD if kind == "renewal" else None)
    else:
        assert isinstance(record, OauthTokens)
        assert (record.access, record.refresh) == ("new-access", "new-refresh")
    store.save_tokens("openai", OauthTokens(1, 5, "later"))
    after = store.read("openai")
    assert isinstance(after, OauthTokens)
    assert after.access == "later"


def test_the_next_start_has_the_old_login_and_no_half_file(folder: Path, tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    left = folder / "renewal" / str(STEPS.index("renaming it")) / "secrets"
    shutil.copytree(left, daemon.roots.secrets)
    assert len(list(daemon.roots.secrets.iterdir())) == 2
    with daemon, daemon.client() as client:
        status = client.call("admin.status")

    assert [p["login"] for p in status["providers"] if p["logged_in"]] == ["subscription"]
    assert [file.name for file in daemon.roots.secrets.iterdir()] == ["openai.json"]
    assert "new-access" not in daemon.log
