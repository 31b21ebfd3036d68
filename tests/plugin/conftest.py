"""A real interactive zsh with the plugin, and a stand-in `efr` that notes how it was called."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.harness.terminal import Terminal

PLUGIN = Path(__file__).parents[2] / "efr" / "assets" / "efr.plugin.zsh"

STUB = """#!{python}
import json, os, sys
argv = open("/proc/self/cmdline", "rb").read().decode(errors="surrogateescape").split("\\0")[2:-1]
env = {{k: v for k, v in os.environ.items() if k.startswith("EFR_") or k == "XAUTHORITY"}}
if env.get("EFR_PROMPT_FILE"):
    env["the file"] = open(env["EFR_PROMPT_FILE"]).read()
    os.unlink(env["EFR_PROMPT_FILE"])
if argv[:1] == ["settings"]:
    if "--mode=bogus" in argv or "--model=the" in argv or "--model=a" in argv:
        print("choices: manual cautious auto full", file=sys.stderr)
        sys.exit(2)
    mode = [a[7:] for a in argv if a.startswith("--mode=")] or ["cautious"]
    print(f"mode = {{mode[0]}}  # flag; manual cautious auto full")
    print("model = demo  # the daemon's default")
    efforts = "high, low" if "--model=big" in argv else "low, mid"
    print(f"effort = (unset)  # none sent; {{efforts}}")
    sys.exit(0)
if argv == ["models", "--names"]:
    with open(os.path.join(os.environ["HOME"], "models"), "a") as asked:
        asked.write("x")
    print("big\\nsmall-1\\nsmall-2")
    sys.exit(0)
if os.environ.get("STUB_DRAFT"):
    os.makedirs(os.path.dirname(env["EFR_DRAFT_FILE"]), exist_ok=True)
    open(env["EFR_DRAFT_FILE"], "w").write(os.environ["STUB_DRAFT"])
with open(os.environ["STUB_LOG"], "a") as log:
    log.write(json.dumps([argv, env]) + "\\n")
print(f"efr-ran {{' '.join(argv)}}")
sys.exit(int(os.environ.get("STUB_STATUS", "0")))
"""


@dataclass
class Call:
    """One run of the stand-in."""

    argv: list[str]
    env: dict[str, str]

    @property
    def context(self) -> dict[str, object]:
        context: dict[str, object] = json.loads(self.env["EFR_CONTEXT"])
        return context


@dataclass
class Zsh:
    """A terminal with zsh, and what the stand-in saw."""

    terminal: Terminal
    home: Path
    seen: int = 0
    marks: int = field(default=0)

    def line(self, text: str) -> None:
        """Types a line and Enter, and waits for the prompt after it."""
        self.terminal.type(text)
        self.enter()

    def enter(self) -> None:
        self.terminal.type("\r")
        self.prompt()

    def prompt(self) -> None:
        """Waits for the next prompt: the theme prints a counter that zsh raises itself."""
        self.marks += 1
        self.terminal.wait_for(f"%{self.marks}%")

    def calls(self) -> list[Call]:
        """The runs since the last look."""
        log = self.home / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        new = [Call(*json.loads(line)) for line in lines[self.seen :]]
        self.seen = len(lines)
        return new

    def call(self) -> Call:
        calls = self.calls()
        assert len(calls) == 1, (calls, self.terminal.everything)
        return calls[0]

    def history(self) -> str:
        """The newest line of history, as zsh keeps it."""
        self.terminal.type('print -r -- "<${history[$((HISTCMD-1))]}>" >$HOME/hist\r')
        self.prompt()
        return (self.home / "hist").read_text()[1:-2]


Start = Callable[..., Zsh]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    terminals: list[Terminal] = []

    def begin(
        rc: str = "", before: str = "", *, env: dict[str, str] | None = None, stub: bool = True
    ) -> Zsh:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        programs = tmp_path / "bin"
        programs.mkdir(exist_ok=True)
        if stub:
            install(tmp_path)
        (home / ".zshrc").write_text(
            f"typeset -gi n=0\nPROMPT='%%$((++n))%% '\nsetopt prompt_subst\n"
            f"HISTSIZE=100\nPROMPT_EOL_MARK=\n{before}\nsource {PLUGIN}\n{rc}\n"
        )
        zsh = Zsh(
            Terminal(
                ["zsh", "-i"],
                {
                    "HOME": str(home),
                    "PATH": f"{programs}:/usr/bin:/bin",
                    "TERM": "xterm-256color",
                    "LANG": "C.UTF-8",
                    "EFR_HOME": str(tmp_path / "efr"),
                    "EFR_TERMINAL_BG": "dark",  # nobody here answers the question for it
                    "STUB_LOG": str(home / "log"),
                    **(env or {}),
                },
                home,
                columns=120,
                rows=40,
            ),
            home,
        )
        terminals.append(zsh.terminal)
        zsh.prompt()
        return zsh

    yield begin
    for terminal in terminals:
        terminal.close()


def install(tmp_path: Path) -> None:
    """Puts the stand-in on the PATH."""
    stub = tmp_path / "bin" / "efr"
    stub.write_text(STUB.format(python=sys.executable))
    os.chmod(stub, 0o755)
