"""`efr service`: the systemd user unit of efrd. Works without systemd, and says so."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from efr.base.files import write_atomic
from efr.cli.errors import CommandError
from efr.cli.run import Run

UNIT = "efrd.service"
ASSET = Path(__file__).parents[2] / "assets" / "systemd" / UNIT
LIMIT_S = 30.0  # systemctl waits for efrd's READY=1, which comes within its start limit
_EXEC = re.compile(r"^ExecStart=.*$", re.MULTILINE)


def service(run: Run) -> int:
    """Installs, removes or shows the unit."""
    if run.args.get("install"):
        return _install(run)
    return _uninstall(run) if run.args.get("uninstall") else _status(run)


def unit_path(env: Mapping[str, str]) -> Path:
    """Where systemd looks for the user's own units (systemd.unit(5))."""
    config = env.get("XDG_CONFIG_HOME", "")
    home = env.get("HOME", "")
    if not config.startswith("/"):
        if not home.startswith("/"):
            raise CommandError("HOME is not set", fix="set HOME to your home directory")
        config = f"{home}/.config"
    return Path(config) / "systemd" / "user" / UNIT


def unit_text(program: str) -> str:
    """The unit that starts `program`."""
    text = ASSET.read_text("utf-8")
    escaped = program.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"')
    return _EXEC.sub(lambda _: f'ExecStart="{escaped}"', text)


def _program(env: Mapping[str, str]) -> str:
    """The efrd that belongs to this efr: beside the interpreter, else on the PATH."""
    beside = Path(sys.executable).parent / "efrd"
    found = str(beside) if beside.is_file() else shutil.which("efrd", path=env.get("PATH"))
    if found is None:
        raise CommandError("there is no efrd beside this efr or on the PATH", fix="make install")
    return found


def _install(run: Run) -> int:
    path = unit_path(run.env)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, unit_text(_program(run.env)).encode(), mode=0o644)
    run.say(f"wrote {path}")
    if not _has_systemctl(run):
        return 0
    _systemctl(run, "daemon-reload")
    _systemctl(run, "enable", "--now", UNIT)
    run.say("efrd runs and starts with your session")
    return 0


def _uninstall(run: Run) -> int:
    path = unit_path(run.env)
    if not path.exists():
        run.say(f"{path} is not there")
        return 0
    has_systemctl = _has_systemctl(run)
    if has_systemctl:
        _systemctl(run, "disable", "--now", UNIT)
    path.unlink()
    if has_systemctl:
        _systemctl(run, "daemon-reload")
    run.say(f"removed {path}")
    return 0


def _status(run: Run) -> int:
    path = unit_path(run.env)
    run.say(f"unit      {path}{'' if path.exists() else ' (not installed: efr service install)'}")
    if _has_systemctl(run):
        for word, verb in (("enabled", "is-enabled"), ("active", "is-active")):
            done = _run(run, verb, UNIT)
            run.say(f"{word:<10}{done.stdout.strip() or 'unknown'}")
    return 0


def _has_systemctl(run: Run) -> bool:
    if shutil.which("systemctl", path=run.env.get("PATH")):
        return True
    run.note("there is no systemctl here: start efrd yourself, `efrd` in a terminal is enough")
    return False


def _systemctl(run: Run, *words: str) -> None:
    """One call that has to work. Raises CommandError with what systemctl said."""
    done = _run(run, *words)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        why = said[-1] if said else f"exit {done.returncode}"
        raise CommandError(
            f"systemctl --user {' '.join(words)}: {why}",
            fix="without a user session of systemd, `efrd` in a terminal is enough",
        )


def _run(run: Run, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["systemctl", "--user", *words]
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env=dict(run.env),
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise CommandError(f"{' '.join(command)} did not work: {exc}") from exc
