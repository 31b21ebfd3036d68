"""`make run`: efr on a throwaway daemon.

On a terminal: an interactive zsh with the plugin loaded. Without one: a scripted tour that types
three prompts into a real zsh on a PTY of its own and prints what a person would have seen.
`--picture FILE` draws the tour's screen as an SVG instead.

The daemon's four roots are in a temporary folder that goes away at the end. With OPENAI_API_KEY,
ANTHROPIC_API_KEY or EFR_MODEL_URL set, that model answers; otherwise the built-in demo does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.harness.terminal import Terminal

PROGRAMS = Path(sys.executable).parent
START_LIMIT_S = 30  # a cold start on a slow machine, with room to spare
ENDS = (signal.SIGHUP, signal.SIGTERM)

MODELS = {
    "OPENAI_API_KEY": "openai-api",
    "ANTHROPIC_API_KEY": "anthropic-api",
    "EFR_MODEL_URL": "compatible",
}


class StartFailed(Exception):
    """The daemon did not come up; the message says what it printed."""


def main(arguments: list[str]) -> int:
    """The exit status: that of the shell's end, or 1 when the daemon did not start."""
    for number in ENDS:
        signal.signal(number, end)
    # /tmp keeps the socket's path short, whatever TMPDIR says.
    home = Path(tempfile.mkdtemp(prefix="efr-", dir="/tmp"))
    try:
        provider, why = choose_model(dict(os.environ))
        env = make_env(home, dict(os.environ))
        write_config(home, provider)
        with daemon(home, env):
            log_in(provider, env)
            if arguments[:1] == ["--picture"]:
                from scripts.picture import draw

                return draw(tour_terminal(home, env), Path(arguments[1]))
            if sys.stdin.isatty() and sys.stdout.isatty():
                return open_shell(home, env, why)
            return play_tour(home, env, why)
    except StartFailed as exc:
        print(exc, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(home, ignore_errors=True)


def end(number: int, _frame: object) -> None:
    """A terminal that is closed, and a kill, end the daemon too."""
    for each in ENDS:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def choose_model(env: dict[str, str]) -> tuple[str, str]:
    """The provider, and a few words about why."""
    for variable, provider in MODELS.items():
        if env.get(variable):
            return provider, f"the model behind {variable}"
    return "demo", "the built-in demo model (offline)"


def make_env(home: Path, env: dict[str, str]) -> dict[str, str]:
    """The user's environment with roots of its own and this checkout's programs first."""
    kept = {k: v for k, v in env.items() if not k.startswith("EFR_")}
    kept["EFR_HOME"] = str(home)
    kept["PATH"] = f"{PROGRAMS}{os.pathsep}{env.get('PATH', os.defpath)}"
    kept.setdefault("LANG", "C.UTF-8")
    kept.pop("OPENAI_API_KEY", None)
    kept.pop("ANTHROPIC_API_KEY", None)
    return kept


def write_config(home: Path, provider: str) -> None:
    """The settings of the throwaway daemon."""
    lines = ["[model]", f'provider = "{provider}"']
    if provider == "compatible":
        lines += ["[compatible]", f'base_url = "{os.environ["EFR_MODEL_URL"].rstrip("/")}"']
    (home / "config").mkdir(mode=0o700)
    (home / "config" / "config.toml").write_text("\n".join(lines) + "\n")


def log_in(provider: str, env: dict[str, str]) -> None:
    """Hands a key over on stdin, so that it stands in no argument."""
    for variable, name in MODELS.items():
        if name == provider and variable != "EFR_MODEL_URL":
            subprocess.run(
                [PROGRAMS / "efr", "login", provider, "--no-check"],
                input=os.environ[variable],
                text=True,
                env=env,
                check=True,
                stdout=subprocess.DEVNULL,
            )


@contextlib.contextmanager
def daemon(home: Path, env: dict[str, str]) -> Iterator[None]:
    """A running efrd; returns once it is ready, and ends it at the end."""
    ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ready.bind(str(home / "ready"))
    ready.settimeout(START_LIMIT_S)
    log = (home / "efrd.log").open("wb")
    process = subprocess.Popen(
        [PROGRAMS / "efrd"],
        env={**env, "NOTIFY_SOCKET": str(home / "ready")},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        cwd="/",
    )
    try:
        wait_until_ready(ready, process, home / "efrd.log")
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()
        ready.close()


def wait_until_ready(ready: socket.socket, process: subprocess.Popen[bytes], log: Path) -> None:
    """Waits for READY=1. Raises StartFailed when the daemon ends or stays silent."""
    ready.settimeout(0.2)
    for _ in range(START_LIMIT_S * 5):
        try:
            if b"READY=1" in ready.recv(4096).split(b"\n"):
                return
        except TimeoutError:
            if process.poll() is not None:
                break
    raise StartFailed(f"efrd did not start:\n{log.read_text(errors='replace')}")


def write_zshrc(home: Path, *, user_rc: bool) -> Path:
    """A ZDOTDIR whose .zshrc loads the plugin, after the user's own when wanted."""
    folder = home / "zsh-start"
    folder.mkdir(exist_ok=True)
    own = '[[ ! -r "$HOME/.zshrc" ]] || source "$HOME/.zshrc"\n' if user_rc else ""
    prompt = "" if user_rc else "PROMPT='%F{4}%~%f $ '\n"
    (folder / ".zshrc").write_text(
        f"autoload -Uz compinit\n{own}{prompt}"
        f"path=({PROGRAMS} $path)\nPROMPT_EOL_MARK=\n"
        'eval "$(efr init zsh)"\n'
    )
    return folder


def open_shell(home: Path, env: dict[str, str], why: str) -> int:
    """An interactive zsh in the user's own directory; its end ends everything."""
    user_rc = (Path(env.get("HOME", "/")) / ".zshrc").exists()
    print(f"efr: a throwaway daemon with {why}.")
    print("Try:  , what is in this directory   (Ctrl+D ends the shell and the daemon)")
    folder = write_zshrc(home, user_rc=user_rc)
    shell = subprocess.Popen(["zsh", "-i"], env={**env, "ZDOTDIR": str(folder)})
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C belongs to the shell
    try:
        shell.wait()
    finally:
        signal.signal(signal.SIGINT, old)
    return 0


TOUR = (
    # What is typed, what a question is answered with, and what shows that the answer is whole.
    (", what is in this directory", None),
    (", run: mkdir -p build && date +%Y > build/year && cat build/year", "y"),
    (", write notes.txt: remember the milk", "y"),
)


def tour_terminal(home: Path, env: dict[str, str]) -> Terminal:
    """Plays the tour on a PTY; returns the terminal with everything it showed."""
    folder = home / "tour"
    folder.mkdir()
    (folder / "README").write_text("A folder for the tour.\n")
    (folder / "main.py").write_text("print('hello')\n")
    zsh = Terminal(
        ["zsh", "-i"],
        {
            **env,
            "HOME": str(folder),
            "ZDOTDIR": str(write_zshrc(home, user_rc=False)),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "EFR_TERMINAL_BG": "dark",  # nobody answers the plugin's question here
        },
        folder,
        columns=104,
        rows=60,
    )
    wait_for_prompts(zsh, 1)
    for number, (line, answer) in enumerate(TOUR, 1):
        zsh.type(line + "\r")
        if answer is not None:
            zsh.wait_for("y allow", 60)
            zsh.type(answer)
        wait_for_prompts(zsh, number + 1)
    zsh.close()
    if not (folder / "notes.txt").exists() or not (folder / "build" / "year").exists():
        raise StartFailed(f"the tour did not do what it should:\n{zsh.everything}")
    return zsh


def wait_for_prompts(zsh: Terminal, count: int) -> None:
    """Waits until the shell has shown its prompt so many times."""
    zsh.wait_for(lambda t: t.everything.count("~ $") >= count, 60)


def play_tour(home: Path, env: dict[str, str], why: str) -> int:
    """Prints the tour's screen."""
    print(f"efr: not a terminal, so here is a tour with {why}.\n")
    terminal = tour_terminal(home, env)
    print(terminal.everything)
    print("\nefr: run `make run` in a terminal for a shell of your own.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
