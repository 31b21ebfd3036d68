"""`efr config`, against a daemon and without one."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import efr_cli
from efr.config.declared import declared
from efr.config.example import example
from tests.cli.fake_daemon import AT, CONVERSATION, FakeDaemon
from tests.cli.programs import EFR, efr_on_terminal
from tests.harness.daemon import DEMO, Daemon

Efr = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon"), env={"EFR_LOG": ""}) as daemon:
        yield daemon


@pytest.fixture(name="daemon")
def _daemon(running: Daemon) -> Iterator[Daemon]:
    """The daemon with a fresh file, and a reload behind it."""
    running.roots.config_file.unlink(missing_ok=True)
    running.write_settings(DEMO)
    with running.client() as client:
        client.call("admin.config_reload")
    yield running
    running.roots.config_file.unlink(missing_ok=True)


@pytest.fixture(name="efr")
def _efr(capsys: pytest.CaptureFixture[str]) -> Efr:
    """Runs the command in this process."""

    def run(env: dict[str, str], *args: str, **more: str) -> tuple[int, str, str]:
        capsys.readouterr()
        given = {"PATH": os.environ["PATH"], "HOME": "/nonexistent-home", **env, **more}
        code = efr_cli.run(["config", *args], given)
        return code, *capsys.readouterr()

    return run


def env_of(daemon: Daemon) -> dict[str, str]:
    return {name: text for name, text in daemon.env.items() if name.startswith(("EFR_", "HOME"))}


@pytest.fixture(name="alone")
def _alone(tmp_path: Path) -> dict[str, str]:
    """Roots without a daemon."""
    return {"EFR_HOME": str(tmp_path / "efr"), "EFR_RUNTIME_DIR": str(tmp_path / "r")}


def test_set_keeps_comments_and_a_link_and_applies(
    daemon: Daemon, efr: Efr, tmp_path: Path
) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(f"# mine\n\n{DEMO}\n[shell]\nidle_minutes = 5 # why\n")
    daemon.roots.config_file.unlink()
    daemon.roots.config_file.symlink_to(real)
    env = env_of(daemon)
    assert efr(env, "set", "shell.idle_minutes", "7") == (0, "applied\n", "")
    assert efr(env, "set", "shell.login", "false")[0] == 0
    assert real.read_text() == (
        f"# mine\n\n{DEMO}\n[shell]\nidle_minutes = 7 # why\nlogin = false\n"
    )
    assert daemon.roots.config_file.readlink() == real
    assert efr(env, "set", "shell.login", "false")[1] == (
        "shell.login has this value already\napplied\n"
    )
    assert efr(env, "unset", "shell.login") == (0, "applied\n", "")
    assert efr(env, "unset", "shell.login") == (0, "shell.login was not set\n", "")
    assert "login" not in real.read_text()
    assert efr(env, "set", "model.provider", "openai")[1] == (
        "applied\nwaits for a restart of efrd: model.provider\n"
    )
    assert efr(env, "set", "screen", "ghostty")[2].startswith("warning: screen =")


BAD = [
    (("set", "shell.idle_minute", "1"), "did you mean shell.idle_minutes?"),
    (("set", "shell.idle_minutes", "x"), 'shell.idle_minutes: must be a whole number, not "x"'),
    (("set", "shell.idle_minutes", "--", "-1"), "must be from 0 to 525600, not -1"),
    (("set", "shell.login", "yes"), 'shell.login: must be true or false, not "yes"'),
    (("set", "permissions.mode", "fast"), "must be one of manual, cautious, auto, full"),
    (("set", "model.name", ""), "must be a text that is not blank"),
    (("set", "sandbox.mask", "[1"), "'[1' is no TOML array"),
    (("unset", "shel.login"), "did you mean shell.login?"),
]


@pytest.mark.parametrize(("args", "told"), BAD)
def test_a_bad_value_is_not_written(
    alone: dict[str, str], efr: Efr, args: tuple[str, ...], told: str
) -> None:
    words = args if "--" not in args else ("set", "--", args[1], args[3])
    code, out, err = efr(alone, *words)
    assert (code, out) == (1, "")
    assert told in err
    assert not Path(alone["EFR_HOME"]).exists()


def test_an_error_of_the_value_names_no_line_and_one_of_the_file_does(
    alone: dict[str, str], efr: Efr
) -> None:
    path = Path(alone["EFR_HOME"], "config", "config.toml")
    path.parent.mkdir(parents=True)
    path.write_text("[shell]\nlogin = 1\n")
    _, _, err = efr(alone, "set", "shell.idle_minutes", "5")
    assert err == f"efr: {path}: line 2, column 9: shell.login: must be true or false, not 1\n"
    _, _, err = efr(alone, "set", "shell.login", "maybe")
    assert err == 'efr: shell.login: must be true or false, not "maybe"\n'
    assert efr(alone, "set", "shell.login", "true")[0] == 0, "it mends the file"


def test_every_kind_of_value_is_read_as_a_person_types_it(alone: dict[str, str], efr: Efr) -> None:
    told = "no daemon runs: it reads the file when it starts\n"
    for key, text in (
        ("shell.idle_minutes", "7"),
        ("shell.login", "false"),
        ("model.name", "123"),
        ("sandbox.mask", "~/a, ~/b"),
        ("sandbox.env_deny", '["A", "B"]'),
        ("network.deny", ""),
        ("openai.models", '[{ id = "m", context_window = 2000 }, "n"]'),
        ("render.colors.text", "7"),
        ("render.colors.diff.add", "bright-blue"),
    ):
        assert efr(alone, "set", key, text) == (0, told, ""), key
    path = Path(alone["EFR_HOME"], "config", "config.toml")
    assert path.stat().st_mode & 0o777 == 0o600
    assert tomllib.loads(path.read_text()) == {
        "shell": {"idle_minutes": 7, "login": False},
        "model": {"name": "123"},
        "sandbox": {"mask": ["~/a", "~/b"], "env_deny": ["A", "B"]},
        "network": {"deny": []},
        "openai": {"models": [{"id": "m", "context_window": 2000}, "n"]},
        "render": {"colors": {"text": 7, "diff": {"add": "bright-blue"}}},
    }


def test_what_is_no_matter_of_one_key(alone: dict[str, str], efr: Efr, daemon: Daemon) -> None:
    code, _, err = efr(alone, "set", "permissions.rules", "[]")
    assert (code, err) == (2, "efr: rules are changed in the file\n     efr config edit\n")
    code, _, err = efr(env_of(daemon), "set", "model.name", "gpt-5.4")
    assert (code, err) == (
        2,
        "efr: 'gpt-5.4' is no model of the active provider\n     choose demo\n",
    )
    _, _, err = efr(alone, "set", "log", "warn", EFR_LOG="debug")
    assert err == "note: EFR_LOG wins over it while it is set\n"
    path = Path(alone["EFR_HOME"], "config", "config.toml")
    path.unlink()
    path.symlink_to("gone.toml")
    for args in (("set", "log", "warn"), ("edit",)):
        code, _, err = efr(alone, *args)
        assert code == 1
        assert "which does not exist" in err
    assert path.is_symlink()
    code, out, err = efr({**alone, "EFR_CONFIG_DIR": "/proc/self/task"}, "set", "log", "warn")
    assert (code, out) == (1, ""), "nobody makes a file there"
    assert err.startswith("efr: /proc/self/task/config.toml: it cannot be written: ")


def test_check_names_line_column_and_key_and_warns(
    alone: dict[str, str], efr: Efr, tmp_path: Path
) -> None:
    path = Path(alone["EFR_HOME"], "config", "config.toml")
    assert efr(alone, "check") == (0, f"{path}: ok (no file: all defaults)\n", "")
    other = tmp_path / "other.toml"
    code, _, err = efr(alone, "check", str(other))
    assert (code, err) == (1, f"efr: {other}: there is no such file\n")
    path.parent.mkdir(parents=True)
    path.symlink_to(other)
    code, out, err = efr(alone, "check")
    assert (code, out) == (0, f"{path}: ok (no file: all defaults)\n")
    assert err == f"warning: it is a link to {other}, which is not there\n"
    other.write_text("[shell]\nidle_minute = 1\n")
    code, out, err = efr(alone, "check", str(other))
    assert (code, out) == (1, "")
    assert err == (
        f"efr: {other}: line 2, column 1: shell.idle_minute: unknown key; did you mean"
        " shell.idle_minutes?\n"
    )
    other.write_text("model = { provider = 'openai', name = 'claude-x' }\nscreen = 'ghostty'\n")
    code, out, err = efr(alone, "check", str(other))
    assert (code, out) == (0, f"{other}: ok\n")
    assert "warning: claude-x is no model of openai" in err
    assert "warning: screen" in err


def test_check_asks_a_daemon_about_windows(daemon: Daemon, efr: Efr, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("compatible.models = [{ id = 'demo', context_window = 200000 }, 'x']\n")
    code, out, err = efr(env_of(daemon), "check", str(other))
    assert (code, out) == (0, f"{other}: ok\n")
    assert err == (
        "warning: the context_window of demo is above the model's largest, 128000, which is used\n"
    )


def test_show_names_every_key_its_source_and_what_the_daemon_reads(
    daemon: Daemon, efr: Efr
) -> None:
    daemon.roots.config_file.write_text(f"{DEMO}[shell]\nlogin = false\n")
    env = env_of(daemon) | {"EFR_LOG": "debug"}
    code, out, _ = efr(env, "show")
    assert code == 0
    lines = out.splitlines()
    path = daemon.roots.config_file
    assert lines[0] == f"# {path}: a file"
    assert [line.partition(" = ")[0] for line in lines[1 : 1 + len(declared())]] == list(declared())
    assert "shell.login = false  # file" in lines
    assert 'log = "debug"  # env EFR_LOG' in lines
    assert f'config = "{path.parent}"  # env EFR_HOME' in lines
    assert f'config = "{path}"' in lines[lines.index("[daemon]") :]
    path.write_text("[shell\n")
    with daemon.client() as client:
        client.call("admin.config_reload")
    code, out, err = efr(env, "show")
    assert code == 0
    assert "the defaults are shown" in err
    assert "shell.login = true  # default" in out
    assert 'reload_error = "line 1, column 7: Expected' in out
    _, out, err = efr({**env, "EFR_CONFIG_DIR": "/nowhere"}, "show")
    assert out.startswith("# /nowhere/config.toml: no file, all defaults\n")
    assert f"warning: efrd reads {path}, this shell means /nowhere/config.toml" in err


def test_reload_says_what_came_of_it(daemon: Daemon, efr: Efr, alone: dict[str, str]) -> None:
    env = env_of(daemon)
    assert efr(env, "reload") == (0, "applied\n", "")
    daemon.write_settings(f"{DEMO}log = 1\n")
    code, out, err = efr(env, "reload")
    assert (code, out) == (1, "")
    assert err == (
        "efr: line 3, column 1: model.log: unknown key; did you mean log?\n"
        "efrd keeps its settings\n"
    )
    code, _, err = efr(alone, "reload")
    assert (code, err) == (1, "efr: no daemon runs\n     systemctl --user start efrd\n")


def test_edit_opens_the_real_file_in_the_users_editor(
    alone: dict[str, str], efr: Efr, tmp_path: Path
) -> None:
    path = Path(alone["EFR_HOME"], "config", "config.toml")
    script = tmp_path / "my editor"
    script.write_text('#!/bin/sh\n[ "$1" = --flag ] || exit 7\nsed -i "s/^#log/log/" "$2"\n')
    script.chmod(0o755)
    editor = f"'{script}' --flag"
    code, out, err = efr(alone, "edit", EDITOR="false", VISUAL=editor)
    assert (code, out, err) == (0, "no daemon runs: it reads the file when it starts\n", "")
    assert path.read_text() == example().replace("#log", "log")
    real = tmp_path / "real dir" / "x.toml"
    real.parent.mkdir()
    real.write_text("#log = 'warn'\n")
    path.unlink()
    path.symlink_to(real)
    assert efr(alone, "edit", EDITOR=editor)[0] == 0
    assert (real.read_text(), path.readlink()) == ("log = 'warn'\n", real)
    code, _, err = efr(alone, "edit", EDITOR="false")
    assert (code, err) == (1, "efr: false ended with 1\n")
    code, _, err = efr(alone, "edit", EDITOR="printf x >")
    assert code == 1
    assert "line 1, column 2" in err
    assert "the file has an error; efrd keeps its settings" in err


def test_edit_offers_to_mend_what_is_wrong(alone: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "editor"
    script.write_text(
        '#!/bin/sh\nlog=louder\ngrep -q louder "$1" && log=warn\necho "log = \'$log\'" >"$1"\n'
    )
    script.chmod(0o755)
    with efr_on_terminal("config", "edit", env={**alone, "EDITOR": str(script)}) as terminal:
        terminal.wait_for("edit it again? [Y/n]")
        assert "line 1, column 7: log: must be" in terminal.text
        terminal.type("\r")
        assert terminal.read_to_end(20) == 0
    with efr_on_terminal("config", "edit", env={**alone, "EDITOR": str(script)}) as terminal:
        terminal.wait_for("edit it again? [Y/n]")
        terminal.type("n\r")
        assert terminal.read_to_end(20) == 1
    path = Path(alone["EFR_HOME"], "config", "config.toml")
    assert path.read_text() == "log = 'louder'\n", "what the user wrote stays"


def test_the_schema_is_json(alone: dict[str, str], efr: Efr) -> None:
    code, out, _ = efr(alone, "schema")
    assert code == 0
    assert json.loads(out)["properties"]["shell"]["additionalProperties"] is False


def test_nothing_is_changed_from_a_hidden_shell(alone: dict[str, str], efr: Efr) -> None:
    for args in (("set", "log", "warn"), ("unset", "log"), ("edit",)):
        code, _, err = efr(alone, *args, EFR_HIDDEN_SHELL="1")
        assert (code, "from your own shell" in err) == (1, True)
    assert not Path(alone["EFR_HOME"]).exists()


def test_a_mark_that_is_unset_still_shows_above(alone: dict[str, str], tmp_path: Path) -> None:
    """The agent's shell was started with the mark; a command in it takes the mark off."""
    inner = "env -u EFR_HIDDEN_SHELL -u EFR_SANDBOX"
    line = f"{inner} sh -c '{inner} {EFR[0]} {EFR[1]} config set log warn'; true"
    for mark, code in (("EFR_HIDDEN_SHELL", 1), ("EFR_OTHER", 0)):
        shell = subprocess.run(
            ["sh", "-c", line.replace("; true", "; exit $?")],
            env={"PATH": os.environ["PATH"], **alone, mark: "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert shell.returncode == code, (mark, shell.stderr)
        assert ("from your own shell" in shell.stderr) == (code == 1)


def test_a_change_that_is_held_stays_held_until_somebody_asks(fake: FakeDaemon, efr: Efr) -> None:
    config = {
        "path": str(Path(fake.env["EFR_HOME"], "config", "config.toml")),
        "exists": True,
        "held": {"loosens": ["permissions.mode"]},
    }
    status = {
        **{"daemon_id": CONVERSATION, "version": "0.1.0", "protocol": 1, "pid": 4},
        **{"started_at": AT, "screen_backend": "vt100", "conversations": 0, "shells": 0},
        **{"providers": [], "config": config},
    }

    def serve(*methods: str) -> None:
        """The methods of each connection; none of them reloads."""
        for words in methods:
            peer = fake.accept()
            peer.hello()
            for method in words.split():
                peer.expect(method)
                peer.answer(method, {"applied": True} if "reload" in method else status)

    with ThreadPoolExecutor(1) as pool:
        served = pool.submit(serve, "admin.status", "admin.status")
        code, out, err = efr(fake.env, "set", "log", "warn")
        served.result(timeout=20)
        assert (code, out) == (0, "applied\n")
        assert err == "still held: permissions.mode; efr config reload lets it go\n"
        served = pool.submit(serve, "admin.status admin.config_reload")
        assert efr(fake.env, "reload") == (0, "applied\n", "")
        served.result(timeout=20)
