"""A child of a test: dies by SIGKILL at each step between the answer with tokens and their file.

For each step it forks; the fork renews a login, or logs in, over HTTP and a browser's callback as
efrd does, and dies right before that step. The interpreter's audit hooks tell the steps. argv: the
issuer's address, and one directory for each step of each kind is made below the second. Prints
one JSON list: for each fork its kind, its step, and whether it was killed.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import sys
import threading
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from efr.base.cancel import Cancel
from efr.base.clock import SystemClock
from efr.base.files import TEMPORARY_SUFFIX
from efr.providers import oauth
from efr.providers.credentials import CredentialStore, OauthTokens
from efr.providers.http import HttpClient
from efr.providers.oauth import Issuer
from efr.providers.retry import Sender, pause
from efr.providers.subscription import StoredTokens, SubscriptionLogin

OLD = OauthTokens(1, 1, "old-access", refresh="old-refresh", expires_at_us=2)
STEPS = ("making the file", "filling it", "renaming it", "syncing the directory", "none")


def main() -> None:
    issuer, folder = Issuer(sys.argv[1], port=free_port()), Path(sys.argv[2])
    seen = []
    for kind in ("renewal", "login"):
        for number, step in enumerate(STEPS):
            if (fork := os.fork()) == 0:
                run(kind, step, issuer, folder / kind / str(number) / "secrets")
                os._exit(0)
            _, status = os.waitpid(fork, 0)
            seen.append([kind, number, os.WIFSIGNALED(status) and os.WTERMSIG(status)])
    print(json.dumps(seen))


def run(kind: str, step: str, issuer: Issuer, secrets: Path) -> None:
    clock = SystemClock()
    store = CredentialStore(secrets, clock)
    sender = Sender(HttpClient(clock), clock, random.Random(), pause)
    if kind == "renewal":
        store.save_tokens("openai", OLD)
        sys.addaudithook(partial(die_at, step, secrets))
        source = StoredTokens(store, clock, partial(oauth.refresh, sender, issuer))
        assert source.access_token(Cancel()).secret == "new-access"
    else:
        sys.addaudithook(partial(die_at, step, secrets))
        browser = partial(threading.Thread, target=browse)
        login = SubscriptionLogin(store, sender, issuer)
        login.run("efr", lambda url: browser(args=(url, issuer.port)).start(), Cancel())


def die_at(step: str, secrets: Path, event: str, args: tuple[object, ...]) -> None:
    temporary = str(args[0]).endswith(TEMPORARY_SUFFIX) if args else False
    here = {
        "making the file": event == "open" and temporary,
        "filling it": event == "os.chmod",
        "renaming it": event == "os.rename" and temporary,
        "syncing the directory": event == "open" and args[0] == str(secrets),
    }
    if here.get(step):
        os.kill(os.getpid(), signal.SIGKILL)


def browse(url: str, port: int) -> None:
    """The person's browser comes back."""
    state = parse_qs(urlsplit(url).query)["state"][0]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", f"/auth/callback?code=c&state={state}")
    connection.getresponse().read()
    connection.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
