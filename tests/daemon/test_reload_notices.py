"""What terminals hear of a reload."""

from __future__ import annotations

from efr.config.schema import Conversation, Settings
from efr.daemon.reload_notices import ReloadNotices
from efr.store import queries
from efr.store.errors import StoreClosed
from efr.wire import types as t
from tests.harness.clock import FakeClock

HOUR_US = 3_600_000_000
BROKEN = t.ReloadResult(applied=False, error=t.ConfigFileError("must be positive", 3, 4, "shell.x"))
FINE = t.ReloadResult(applied=True)
RESTART = t.ReloadResult(applied=True, restart_needed=("model.provider",))


def row(tty: str | None, updated_at: int) -> queries.ConversationRow:
    idle = t.ConversationStatus.IDLE
    return queries.ConversationRow(
        tty or "-", "cli", None, idle, tty, None, None, None, None, 1, 0, updated_at, 1, None
    )


class House:
    """One quiet terminal, one active one, and what was written."""

    def __init__(self, hours: int = 12) -> None:
        self.clock = FakeClock()
        now = self.clock.now_us()
        self.rows = [row("/dev/pts/1", now), row("/dev/pts/2", now - 13 * HOUR_US), row(None, now)]
        self.lines: list[tuple[str, str]] = []
        settings = Settings(conversation=Conversation(tty_idle_hours=hours))
        self.notices = ReloadNotices(
            lambda: self.rows,
            lambda tty, line: self.lines.append((tty, line)),
            lambda: settings,
            self.clock,
        )

    def reload(self, result: t.ReloadResult) -> list[tuple[str, str]]:
        self.lines.clear()
        self.notices.reloaded(result)
        return list(self.lines)


def test_a_new_error_is_told_once_at_each_active_terminal() -> None:
    house = House()
    ((tty, line),) = house.reload(BROKEN)
    assert tty == "/dev/pts/1"
    assert "line 3" in line
    assert "shell.x: must be positive" in line
    assert house.reload(BROKEN) == []
    assert house.reload(FINE) == []
    assert len(house.reload(BROKEN)) == 1


def test_a_new_set_of_restart_keys_is_told_once() -> None:
    house = House()
    ((_, line),) = house.reload(RESTART)
    assert "model.provider" in line
    assert house.reload(RESTART) == []
    assert len(house.reload(BROKEN)) == 1
    assert house.reload(RESTART) == [], "the error in between changed nothing about the keys"


def test_a_held_change_is_told_as_what_it_is() -> None:
    house = House()
    held = t.ReloadResult(applied=True, error=t.ConfigFileError("held while full mode runs: x"))
    ((_, line),) = house.reload(held)
    assert line == "a change of config.toml is held while full mode runs: x"
    assert house.reload(held) == []


def test_a_store_that_cannot_be_read_costs_the_notice_alone() -> None:
    house = House()

    def broken() -> list[queries.ConversationRow]:
        raise StoreClosed("stopped")

    written: list[str] = []
    notices = ReloadNotices(broken, lambda tty, line: written.append(line), Settings, FakeClock())
    notices.reloaded(BROKEN)
    assert written == []
    assert len(house.reload(BROKEN)) == 1


def test_no_idle_limit_means_every_terminal() -> None:
    house = House(hours=0)
    assert {tty for tty, _ in house.reload(BROKEN)} == {"/dev/pts/1", "/dev/pts/2"}
