"""Reloading the settings of a running daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.config.errors import ConfigError
from efr.config.schema import Settings
from efr.daemon.live_settings import LiveSettings, Overrides, read_settings


def live(tmp_path: Path, text: str, overrides: Overrides | None = None) -> LiveSettings:
    path = tmp_path / "config.toml"
    path.write_text(text)
    overrides = overrides or Overrides({})
    return LiveSettings(path, overrides, read_settings(path, overrides))


def write(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)


def test_a_reload_applies_and_tells_the_listeners_once(tmp_path: Path) -> None:
    settings = live(tmp_path, "[shell]\nidle_minutes = 5\n")
    heard: list[Settings] = []
    settings.on_change(heard.append)
    assert settings.reload().applied
    assert heard == []
    write(tmp_path, "[shell]\nidle_minutes = 6\n")
    assert settings.reload().applied
    assert [one.shell.idle_minutes for one in heard] == [6]
    assert settings.current().shell.idle_minutes == 6
    (tmp_path / "config.toml").unlink()
    assert settings.reload().applied
    assert settings.current() == Settings()
    assert not settings.status().exists


def test_a_broken_file_keeps_the_old_settings_until_a_good_one_comes(tmp_path: Path) -> None:
    settings = live(tmp_path, "[shell]\nidle_minutes = 5\n")
    write(tmp_path, "[shell]\nidle_minutes = -1\n")
    result = settings.reload()
    assert not result.applied
    assert result.error is not None
    assert result.error.key == "shell.idle_minutes"
    assert settings.current().shell.idle_minutes == 5
    assert settings.status().reload_error == result.error
    write(tmp_path, "[shell]\nidle_minutes = 7\n")
    assert settings.reload().applied
    assert settings.status().reload_error is None


def test_a_restart_key_keeps_its_running_value_and_is_listed(tmp_path: Path) -> None:
    settings = live(tmp_path, '[model]\nprovider = "demo"\n')
    write(tmp_path, '[model]\nprovider = "openai"\nname = "m"\n')
    assert settings.reload().restart_needed == ("model.provider",)
    assert settings.current().model.provider == "demo"
    assert settings.current().model.name == "m"
    assert settings.status().restart_needed == ("model.provider",)
    write(tmp_path, '[model]\nprovider = "demo"\n')
    assert settings.reload().restart_needed == ()


def test_flags_win_over_variables_and_both_over_the_file(tmp_path: Path) -> None:
    overrides = Overrides({"EFR_LOG": "warn", "EFR_SCREEN": "vt100"}, log="debug")
    settings = live(tmp_path, 'log = "error"\nscreen = "auto"\n', overrides)
    assert (settings.current().log, settings.current().screen) == ("debug", "vt100")
    write(tmp_path, 'log = "info"\n')
    assert settings.reload().applied
    assert settings.current().log == "debug"


def test_a_bad_flag_names_itself(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="flag --log"):
        live(tmp_path, "", Overrides({}, log="loud"))


def test_the_status_names_the_end_of_a_link(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles"
    target.write_text("")
    path = tmp_path / "config.toml"
    path.symlink_to(target)
    settings = LiveSettings(path, Overrides({}), Settings())
    assert settings.status().symlink_target == str(target)
    target.unlink()
    assert not settings.status().exists
    assert settings.status().symlink_target == str(target), "a link to nothing"
    assert settings.reload().applied, "and nothing is no file"
    path.unlink()
    path.symlink_to(path)
    assert not settings.reload().applied
    assert settings.status().symlink_target == str(path), "a link to itself"


def test_a_warning_comes_once_and_again_after_it_was_put_right(tmp_path: Path) -> None:
    settings = live(tmp_path, "")
    settings.warn_with(lambda wanted: ("odd",) if wanted.screen == "ghostty" else ())
    assert settings.reload().warnings == ()
    write(tmp_path, 'screen = "ghostty"\n')
    assert settings.reload().warnings == ("odd",)
    assert settings.reload().warnings == ()
    write(tmp_path, "screen = 1\n")
    assert settings.reload().warnings == ()
    write(tmp_path, "")
    assert settings.reload().warnings == ()
    write(tmp_path, 'screen = "ghostty"\n')
    assert settings.reload().warnings == ("odd",)


def test_what_loosens_is_held_while_full_mode_runs(tmp_path: Path) -> None:
    settings = live(tmp_path, "[permissions]\nmode = 'cautious'\n")
    full = [True]
    settings.hold_while(lambda: full[0])
    write(tmp_path, "[permissions]\nmode = 'auto'\nallow_full = true\n[shell]\nidle_minutes = 5\n")
    result = settings.reload()
    assert result.applied
    assert result.warnings == ()
    assert result.error is not None
    assert "permissions.allow_full, permissions.mode" in result.error.message
    assert settings.current().permissions.mode == "cautious"
    assert settings.current().shell.idle_minutes == 5
    status = settings.status()
    assert status.reload_error == result.error
    assert status.held is not None
    assert status.held.loosens == ("permissions.allow_full", "permissions.mode")

    full[0] = False  # the turn's end alone changes nothing
    assert settings.reload().error == result.error
    write(tmp_path, "[permissions]\nmode = 'auto'\n")
    assert settings.reload().error is not None
    assert settings.reload(by_user=True).error is None
    assert settings.current().permissions.mode == "auto"
    assert settings.status().held is None


def test_a_held_change_ends_with_a_file_that_loosens_nothing(tmp_path: Path) -> None:
    settings = live(tmp_path, "")
    full = [True]
    settings.hold_while(lambda: full[0])
    write(tmp_path, "[permissions]\nmode = 'auto'\n")
    assert settings.reload().error is not None
    write(tmp_path, "[permissions]\nmode = 'manual'\n")
    assert settings.reload().error is None
    assert settings.current().permissions.mode == "manual"
    full[0] = False
    write(tmp_path, "[permissions]\nmode = 'auto'\n")
    assert settings.reload().error is None, "nothing was held any more"
    assert settings.current().permissions.mode == "auto"


def test_a_broken_file_leaves_a_held_change_held(tmp_path: Path) -> None:
    settings = live(tmp_path, "")
    settings.hold_while(lambda: True)
    write(tmp_path, "[permissions]\nmode = 'auto'\n")
    settings.reload()
    write(tmp_path, "[permissions")
    assert not settings.reload(by_user=True).applied
    assert settings.current().permissions.mode == "cautious"
