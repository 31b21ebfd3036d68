"""The watch of the settings files, with the steps in which real programs save."""

from __future__ import annotations

import errno
import os
import queue
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from efr.base.clock import SystemClock
from efr.base.files import write_atomic
from efr.base.inotify import Inotify
from efr.threads.config_watch import ConfigWatch

LIMIT_S = 20.0
QUIET_S = 0.5  # longer than efrd's: no step of a save comes so late on a busy machine


class NoInotify(Inotify):
    """A kernel whose instances are used up."""

    def __init__(self) -> None:
        raise OSError(errno.EMFILE, "too many open files")


class House:
    """Two settings files in a folder, and what was read after each change."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "config" / "config.toml"
        self.projects = root / "config" / "projects.toml"
        self.config.parent.mkdir()
        self.config.write_text("0")
        self.read: queue.Queue[str | None] = queue.Queue()
        self.threads: list[ConfigWatch] = []

    def start(self, inotify: Callable[[], Inotify] = Inotify, look_s: float = 0.05) -> ConfigWatch:
        thread = ConfigWatch(
            (self.config, self.projects),
            self._changed,
            SystemClock(),
            inotify,
            quiet_s=QUIET_S,
            look_s=look_s,
        )
        self.threads.append(thread)
        thread.start()
        assert self.next() == self.text(), "one look when it starts"
        return thread

    def text(self) -> str | None:
        try:
            return self.config.read_text()
        except OSError:
            return None

    def _changed(self) -> None:
        self.read.put(self.text())

    def next(self) -> str | None:
        """What the next reload reads."""
        return self.read.get(timeout=LIMIT_S)


@pytest.fixture(name="house")
def _house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    for thread in house.threads:
        assert thread.stop(SystemClock().monotonic() + LIMIT_S) == []
        assert thread.stop(SystemClock().monotonic() + LIMIT_S) == []


# How programs save `text` to a file.


def in_place(path: Path, text: str) -> None:
    path.write_text(text)


def in_pieces(path: Path, text: str) -> None:
    with path.open("w") as file:
        for piece in text:
            file.write(piece)
            file.flush()


def by_rename(path: Path, text: str) -> None:
    write_atomic(path, text.encode())


def run(*command: str | Path, stdin: str = "") -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    subprocess.run(command, input=stdin, text=True, check=True)


def with_sed(path: Path, text: str) -> None:
    run("sed", "-i", f"s/.*/{text}/", path)


def with_ed(path: Path, text: str) -> None:
    run("ed", "-s", path, stdin=f"1c\n{text}\n.\nw\nq\n")


def with_vim(path: Path, text: str, *settings: str) -> None:
    """A backup, a swap file, a probe file `4913`, and a write or a rename."""
    commands = [*settings, f"call setline(1, '{text}')", "wq"]
    arguments = [word for command in commands for word in ("-c", command)]
    run("vim", "-N", "-u", "NONE", "-es", *arguments, path)


def with_vim_renaming(path: Path, text: str) -> None:
    with_vim(path, text, "set backup writebackup backupcopy=no")


def with_vim_in_place(path: Path, text: str) -> None:
    with_vim(path, text, "set backup writebackup backupcopy=yes")


def as_emacs_does(path: Path, text: str) -> None:
    """The old file becomes the backup, the new one is created."""
    lock = path.with_name(f".#{path.name}")
    lock.symlink_to("user@host.1234:1")
    path.rename(path.with_name(f"{path.name}~"))
    path.write_text(text)
    lock.unlink()


def as_removed_and_created(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


SAVES = [
    in_place,
    in_pieces,
    by_rename,
    with_sed,
    with_ed,
    with_vim_renaming,
    with_vim_in_place,
    as_emacs_does,
    as_removed_and_created,
]


@pytest.mark.parametrize("save", SAVES, ids=lambda save: save.__name__)
def test_a_save_is_one_reload(house: House, save: Callable[[Path, str], None]) -> None:
    house.start()
    for number in (1, 2):
        save(house.config, f"text {number}")
        assert str(house.next()).strip() == f"text {number}"
    house.config.write_text("end")
    assert house.next() == "end"
    assert house.read.empty(), "each save was one"


@pytest.mark.parametrize("save", [by_rename, in_place, as_emacs_does, as_removed_and_created])
def test_without_inotify_the_files_are_looked_at(
    house: House, caplog: pytest.LogCaptureFixture, save: Callable[[Path, str], None]
) -> None:
    house.start(NoInotify)
    assert "they cannot be watched: too many open files" in caplog.text
    for number in (1, 2):
        save(house.config, f"text {number}")
        while house.next() != f"text {number}":
            continue  # a look may fall between the steps of a save


def test_a_removed_file_is_a_change_and_so_is_one_that_comes(house: House) -> None:
    house.start()
    house.config.unlink()
    assert house.next() is None
    house.config.write_text("back")
    assert house.next() == "back"


def test_the_projects_are_watched_too(house: House) -> None:
    house.start()
    house.projects.write_text("x")
    assert house.next() == "0"


def test_other_files_beside_them_are_nobodys_business(house: House) -> None:
    house.start()
    for name in ("config.toml~", "4913", ".config.toml.swp", "notes"):
        (house.config.parent / name).write_text("x")
        (house.config.parent / name).unlink()
    house.config.write_text("1")
    assert house.next() == "1"
    assert house.read.empty()


def test_a_permission_that_changes_is_a_change(house: House) -> None:
    house.start()
    house.config.chmod(0o644)
    assert house.next() == "0"


def test_the_target_of_a_link_is_followed_wherever_it_leads(house: House) -> None:
    dotfiles = [house.root / name for name in ("one", "two")]
    for folder in dotfiles:
        folder.mkdir()
        (folder / "efr.toml").write_text(folder.name)
    house.config.unlink()
    house.config.symlink_to("../one/efr.toml")
    house.start()
    by_rename(dotfiles[0] / "efr.toml", "one, saved")
    assert house.next() == "one, saved"

    fresh = house.config.with_name("fresh")
    fresh.symlink_to(dotfiles[1] / "efr.toml")
    fresh.rename(house.config)  # ln -sfn
    assert house.next() == "two"
    in_place(dotfiles[1] / "efr.toml", "two, saved")
    assert house.next() == "two, saved"
    by_rename(dotfiles[0] / "efr.toml", "nobody looks at it any more")
    in_place(house.config, "through the link")
    assert house.next() == "through the link"
    assert house.read.empty()


def test_a_link_in_the_middle_is_followed(house: House) -> None:
    """~/.config/efr leads to a folder of dotfiles, and there the file leads on."""
    real = house.root / "dotfiles"
    house.config.parent.rename(real)
    house.config.parent.symlink_to("dotfiles")
    (real / "config.toml").rename(house.root / "shared.toml")
    (real / "config.toml").symlink_to("../shared.toml")
    house.start()
    by_rename(house.root / "shared.toml", "1")
    assert house.next() == "1"

    other = house.root / "other"
    other.mkdir()
    (other / "config.toml").write_text("2")
    house.config.parent.unlink()
    house.config.parent.symlink_to("other")
    assert house.next() == "2"
    by_rename(house.config, "3")
    assert house.next() == "3"


def test_a_link_to_nothing_waits_for_its_target(house: House) -> None:
    house.config.unlink()
    house.config.symlink_to("../later/efr.toml")
    house.start()
    (house.root / "later").mkdir()
    assert house.next() is None
    (house.root / "later" / "efr.toml").write_text("there")
    assert house.next() == "there"


def test_a_directory_that_is_replaced_is_watched_anew(house: House) -> None:
    house.start()
    house.config.parent.rename(house.root / "old")
    house.config.parent.mkdir()
    house.config.write_text("1")
    assert house.next() == "1"
    by_rename(house.config, "2")
    assert house.next() == "2"
    (house.root / "old" / "config.toml").write_text("not ours any more")
    shutil.rmtree(house.config.parent)
    assert house.next() is None
    house.config.parent.mkdir()
    assert house.next() is None
    house.config.write_text("3")
    assert house.next() == "3"
    assert house.read.empty()


def test_folders_that_are_not_there_yet_are_waited_for(house: House) -> None:
    shutil.rmtree(house.config.parent)
    house.config = house.root / "a" / "b" / "config.toml"
    house.start()
    house.config.parent.mkdir(parents=True)
    assert house.next() is None
    house.config.write_text("1")
    assert house.next() == "1"


class Forgetful(Inotify):
    """Its directories cannot be watched from the second time on."""

    made = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).made += 1

    def watch(self, directory: str) -> int:
        if self.made > 1:
            raise OSError(errno.ENOSPC, "no watches left")
        return super().watch(directory)


def test_a_watch_that_is_lost_for_good_is_made_up_by_looking(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.start(Forgetful)
    house.config.write_text("1")
    assert house.next() == "1"
    assert house.next() == "1", "once more, for what was saved in between"
    assert "no watches left" in caplog.text
    house.config.write_text("22")
    assert house.next() == "22"


class Recovering(Inotify):
    """Its directories cannot be watched the second time."""

    made = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).made += 1

    def watch(self, directory: str) -> int:
        if self.made == 2:
            raise OSError(errno.EMFILE, "no descriptor left")
        return super().watch(directory)


def test_a_watch_that_was_lost_is_asked_for_again(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.start(Recovering, look_s=0.01)
    house.config.write_text("1")
    assert [house.next() for _ in range(3)] == ["1"] * 3, "after each change of the way"
    assert Recovering.made == 3
    by_rename(house.config, "22")
    assert house.next() == "22"
    assert caplog.text.count("cannot be watched") == 1


def test_a_reload_that_breaks_does_not_end_it(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    told: queue.Queue[int] = queue.Queue()

    def broken() -> None:
        told.put(1)
        raise RuntimeError("broken")

    thread = ConfigWatch((house.config,), broken, SystemClock())
    house.threads.append(thread)
    thread.start()
    told.get(timeout=LIMIT_S)
    house.config.write_text("1")
    told.get(timeout=LIMIT_S)
    assert thread.is_alive()


def test_a_stop_before_the_start_lets_go(house: House) -> None:
    before = len(os.listdir("/proc/self/fd"))
    thread = ConfigWatch((house.config,), lambda: None, SystemClock())
    assert thread.stop(0.0) == []
    assert len(os.listdir("/proc/self/fd")) == before
