"""`efr login` and `efr logout`. A key comes from a hidden prompt, from stdin or from a variable.

Never from an argument: every user of the machine can read a command line. The key is shown
nowhere; the daemon's answer holds a hint of it.
"""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from urllib.parse import parse_qs, urlsplit

from efr.base.ctrl_c import Raising
from efr.cli.dialog import open_connection
from efr.cli.errors import CommandError, UsageError
from efr.cli.run import Run, is_terminal
from efr.client.connection import Connection
from efr.text.visible import visible_line
from efr.wire import methods as m

KEY_LIMIT = 4096  # bytes: the longest known key has some hundred
VARIABLES = {"openai-api": "OPENAI_API_KEY", "anthropic-api": "ANTHROPIC_API_KEY"}
PROVIDERS = ("openai", "openai-api", "anthropic-api", "compatible")
_ON = frozenset({"1", "true", "yes", "on"})


def login(run: Run) -> int:
    """Logs in to the named provider."""
    provider = _provider(run)
    if provider == "openai":
        with open_connection(run) as connection:
            return _subscription(run, connection)
    key = _key(run, provider)
    with open_connection(run) as connection:
        result: m.AdminLoginApiKeyResult = connection.call(
            "admin.login_api_key",
            provider=provider,
            key=key,
            check=not run.args.get("--no-check"),
        )
    checked = "checked" if result.checked else "not checked"
    run.say(f"logged in to {result.provider} with {visible_line(result.key_hint)} ({checked})")
    if not result.active:
        run.note(f'prompts still go elsewhere: set model.provider = "{provider}" in config.toml')
    return 0


def logout(run: Run) -> int:
    """Removes the login of the named provider."""
    provider = _provider(run)
    with open_connection(run) as connection:
        result: m.AdminLogoutResult = connection.call("admin.logout", provider=provider)
    run.say(f"logged out of {provider}" if result.logged_out else f"{provider} had no login")
    if result.active:
        then = "go without a key" if provider == "compatible" else "fail until a login"
        run.note(f"{provider} is the active provider: prompts {then}")
    return 0


def _provider(run: Run) -> str:
    return next(name for name in PROVIDERS if run.args.get(name))


def _subscription(run: Run, connection: Connection) -> int:
    """The browser's way: prints the URL and waits until the daemon has the login."""
    with connection.stream("admin.login_openai") as items:
        for item in items:
            if isinstance(item, m.LoginAuthorizeUrl):
                run.note("open this page to log in:")
                _say_how_from_afar(run, item.url)
                run.say(visible_line(item.url))
                sys.stdout.flush()
                _open_browser(run, item.url)
            else:
                run.note(f"logged in to {item.provider}")
                return 0
    raise CommandError("the login ended without an answer", fix="efr login openai")


def _say_how_from_afar(run: Run, url: str) -> None:
    """A browser on another machine comes back to this one only through a tunnel."""
    if "SSH_CONNECTION" not in run.env:
        return
    back = parse_qs(urlsplit(url).query).get("redirect_uri", [""])[0]
    if port := urlsplit(back).port:
        run.note(
            f"a browser elsewhere needs a tunnel: ssh -L {port}:127.0.0.1:{port} to this machine"
        )


def _open_browser(run: Run, url: str) -> None:
    """Opens the page only when the user asked for it with EFR_OPEN_BROWSER."""
    if run.env.get("EFR_OPEN_BROWSER", "").lower() not in _ON:
        return
    try:
        subprocess.Popen(
            ["xdg-open", url],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as exc:
        run.note(f"the browser did not open: {exc.strerror}")


def _key(run: Run, provider: str) -> str:
    """The key, without the blanks around it. Raises UsageError when there is none."""
    if run.args.get("--from-env"):
        return _from_variable(run, provider)
    key = _asked_for(provider) if is_terminal(0) else _from_stdin()
    if not key:
        without = "a server that wants none needs compatible.base_url alone"
        fix = without if provider == "compatible" else f"efr login {provider} < file-with-the-key"
        raise UsageError("no key was given", fix=fix)
    return key


def _asked_for(provider: str) -> str:
    """What is typed at a hidden prompt; "" for Ctrl+D."""
    try:
        with Raising():  # the terminal echoes again afterwards
            return getpass.getpass(f"API key for {provider}: ", stream=sys.stderr).strip()
    except EOFError:
        print(file=sys.stderr)  # the prompt's row ends
        return ""


def _from_variable(run: Run, provider: str) -> str:
    variable = VARIABLES.get(provider)
    if variable is None:
        raise UsageError(f"--from-env knows no variable for {provider}")
    key = run.env.get(variable, "").strip()
    if not key:
        raise UsageError(f"{variable} is not set")
    return key


def _from_stdin() -> str:
    data = b""
    while len(data) <= KEY_LIMIT and (part := os.read(0, KEY_LIMIT + 1 - len(data))):
        data += part
    if len(data) > KEY_LIMIT:
        raise UsageError(f"a key has at most {KEY_LIMIT} bytes")
    try:
        return data.decode().strip()
    except UnicodeDecodeError as exc:
        raise UsageError("the key is not text") from exc
