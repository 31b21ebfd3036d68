"""The registry of projects: what is read, and what a change leaves as it was."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.base.clock import SystemClock
from efr.base.ids import Ids, SystemIds
from efr.config.errors import AlreadyRegistered, ConfigError, FileChanged, NoSuchProject
from efr.config.project_text import HEAD, Project, added, parse, removed
from efr.config.projects import ProjectRegistry
from tests.harness.clock import CountingIds

ONE = "01a3c5d2-4b1e-7c3f-9a20-5d6e7f809112"
TWO = "01a3c5d2-4b1e-7c3f-9a20-5d6e7f809113"
FIRST = "00000000-0000-7000-8000-000000000001"


def registry(tmp_path: Path, text: str | None, ids: Ids | None = None) -> ProjectRegistry:
    path = tmp_path / "projects.toml"
    if text is not None:
        path.write_bytes(text.encode())
    return ProjectRegistry(path, ids or CountingIds())


def table(id: str, root: str, name: str | None = None) -> str:
    named = "" if name is None else f'name = "{name}"\n'
    return f'[[project]]\nid = "{id}"\nroot = "{root}"\n{named}'


# Reading.


def test_no_file_is_no_project(tmp_path: Path) -> None:
    assert registry(tmp_path, None).read() == ()
    (tmp_path / "projects.toml").symlink_to(tmp_path / "nothing")
    assert registry(tmp_path, None).read() == ()


@pytest.mark.parametrize(
    "text",
    [
        table(ONE, "/p/app/../app", "app") + table(TWO, "/p/b"),
        f'project = [{{id = "{ONE}", root = "/p/app", name = "app"}},'
        f' {{id = "{TWO}", root = "/p/b/"}}]',
    ],
)
def test_both_forms_are_read_in_the_order_of_the_file(tmp_path: Path, text: str) -> None:
    found = registry(tmp_path, text).read()
    assert found == (Project(ONE, "/p/app", "app"), Project(TWO, "/p/b", None))
    assert [one.title for one in found] == ["app", "b"]


BROKEN = [
    "[[project",
    "x = 1\n" + table(ONE, "/p"),
    table(ONE, "p"),
    table(ONE, "/p") + 'color = "red"\n',
    table("x", "/p"),
    table(ONE, "/p") + table(ONE, "/q"),
    table(ONE, "/p") + table(TWO, "/q/../p"),
    "[project]\n",
    '[[project]]\nroot = "/p"\n',
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_no_project_and_an_error_for_who_asks(tmp_path: Path, text: str) -> None:
    broken = registry(tmp_path, text)
    assert broken.all() == ()
    for ask in (broken.read, lambda: broken.add("/p/new", "new"), lambda: broken.remove("/p")):
        with pytest.raises(ConfigError, match=r"projects\.toml: "):
            ask()
    assert (tmp_path / "projects.toml").read_text() == text


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x = 1\n", "line 1, column 1: x: unknown key; a project is a table [[project]]"),
        ("project = 3\n", "line 1, column 1: project: must be a list of tables"),
        ("project = [3]\n", "line 1, column 12: project[0]: must be a table, not 3"),
        (table(ONE, "/p") + "name = 3\n", "line 4, column 1: project[0].name: must be a text"),
        ("[[project]]\n" + table("x", "/p"), "line 1, column 1: project[0].id: is missing"),
        (table("x", "p"), 'line 2, column 1: project[0].id: must be a UUID in lower case, not "x"'),
        (table(ONE, "~/p"), 'line 3, column 1: project[0].root: must be absolute, not "~/p"'),
    ],
)
def test_a_fault_is_told_in_words_with_its_place(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        registry(tmp_path, text).read()
    assert fault in str(caught.value)


def test_what_is_not_utf8_is_broken_and_warned_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "projects.toml").write_bytes(b'[[project]]\nname = "gr\xf6\xdfe"\n')
    broken = registry(tmp_path, None)
    assert broken.all() == broken.all() == ()
    assert len(caplog.records) == 1
    with pytest.raises(ConfigError, match="not UTF-8"):
        broken.add("/p", "p")


def test_a_byte_order_mark_and_a_pipe_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"line 1, column 1: .* byte order mark \(U\+FEFF\)"):
        registry(tmp_path, "\ufeff").read()
    (tmp_path / "projects.toml").unlink()
    os.mkfifo(tmp_path / "projects.toml")
    with pytest.raises(ConfigError, match="no regular file"):
        registry(tmp_path, None).read()


# Adding and removing.


def test_a_new_file_says_what_it_is_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "config" / "projects.toml"
    change = ProjectRegistry(path, CountingIds()).add("/p/app", "app")
    assert change.project == Project(FIRST, "/p/app", "app")
    assert change.file == path
    assert path.read_text() == f"{HEAD}\n{table(FIRST, '/p/app', 'app')}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_a_file_of_comments_keeps_them_above(tmp_path: Path) -> None:
    made = registry(tmp_path, "# mine\n")
    made.add("/p/app", "app")
    assert made.path.read_text() == f"# mine\n\n{table(FIRST, '/p/app', 'app')}"


FULL = f"""\
# The head of the file.

# About one.
[[project]]   # here
root = "/p/one"
# between
id = '{ONE}' # its id
# below one

# Set apart.

# About two.
  [[ project ]]
  id = "{TWO}"
  root = "/p/two"

# The end.
"""


def test_an_addition_keeps_every_byte(tmp_path: Path) -> None:
    made = registry(tmp_path, FULL)
    made.add("/p/größe", 'a "b" \\ c')
    values = f'[[project]]\nid = "{FIRST}"\nroot = "/p/größe"\nname = "a \\"b\\" \\\\ c"\n'
    assert made.path.read_text() == f"{FULL}\n{values}"
    assert made.read()[2] == Project(FIRST, "/p/größe", 'a "b" \\ c')


def test_a_removal_takes_the_comments_of_the_project_along(tmp_path: Path) -> None:
    made = registry(tmp_path, FULL)
    assert made.remove("/p/one").project.id == ONE
    assert made.path.read_text() == FULL.replace(
        FULL[FULL.index("# About one") : FULL.index("# Set apart")], ""
    )
    made = registry(tmp_path, FULL)
    made.remove("/p/two")
    assert made.path.read_text() == FULL.replace(
        FULL[FULL.index("# About two") : FULL.index("# The end")], ""
    )


def test_comments_directly_above_the_next_project_are_its_own(tmp_path: Path) -> None:
    text = table(ONE, "/p/one") + "# about two\n" + table(TWO, "/p/two")
    made = registry(tmp_path, text)
    made.remove("/p/one")
    assert made.path.read_text() == "# about two\n" + table(TWO, "/p/two")


def test_the_inline_form_stays_inline(tmp_path: Path) -> None:
    text = f'project = [ # mine\n  {{ id = "{ONE}", root = "/p/one" }}, # one\n]\n# end\n'
    made = registry(tmp_path, text)
    made.add("/p/two", "two")
    assert "[[" not in made.path.read_text()
    assert made.path.read_text().startswith(text[:-8])
    assert [one.root for one in made.read()] == ["/p/one", "/p/two"]
    made.remove("/p/two")
    assert made.path.read_text() == text
    made.remove("/p/one")
    assert made.read() == ()
    made.add("/p/two", "two")
    assert "[[" not in made.path.read_text()


def test_line_ends_stay_as_they_are(tmp_path: Path) -> None:
    made = registry(tmp_path, table(ONE, "/p/one").replace("\n", "\r\n"))
    made.add("/p/two", "two")
    text = made.path.read_bytes()
    assert text.count(b"\n") == text.count(b"\r\n")
    made.remove("/p/one")
    assert made.path.read_bytes() == table(FIRST, "/p/two", "two").replace("\n", "\r\n").encode()


def test_a_layout_that_looks_like_something_else_is_left_alone(tmp_path: Path) -> None:
    text = f'[[project]]\nid = "{ONE}"\nroot = "/p"\nname = """\n[[project]]\n"""\n'
    made = registry(tmp_path, text)
    with pytest.raises(ConfigError, match="too unusual"):
        made.remove("/p")
    assert made.path.read_text() == text


LINES = st.sampled_from(["", "# note", "  # indented", "#", "   "])
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(
    st.lists(st.tuples(st.lists(LINES, max_size=4), NAMES), max_size=4),
    st.lists(LINES, max_size=3),
    NAMES,
)
def test_adding_and_removing_again_gives_the_file_back(
    tables: list[tuple[list[str], str]], tail: list[str], name: str
) -> None:
    text = ""
    for number, (above, title) in enumerate(tables):
        id = f"{FIRST[:-1]}{number + 2}"
        text = added(text, Project(id, f"/p/{number}", title))
        text += "".join(f"{line}\n" for line in above)
    text += "".join(f"{line}\n" for line in tail)
    text = text.rstrip() + "\n" if text.strip() else ""
    before = parse(text)
    new = Project(FIRST, "/p/new", name)
    more = added(text, new)
    assert more.startswith(text)
    assert parse(more) == (*before, new)
    assert removed(more, len(before)) == text
    for index in range(len(before)):
        assert parse(removed(more, index)) == (*before[:index], *before[index + 1 :], new)


# Links, conflicts, others who write.


def test_a_change_goes_through_a_link_to_its_end(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "efr.toml"
    real.parent.mkdir()
    real.write_text("# mine\n")
    path = tmp_path / "projects.toml"
    path.symlink_to(real)
    change = ProjectRegistry(path, CountingIds()).add("/p/app", "app")
    assert change.file == real
    assert path.is_symlink()
    assert real.read_text().startswith("# mine\n")
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "projects.toml"
    path.symlink_to(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="leads to no file"):
        ProjectRegistry(path, CountingIds()).add("/p/app", "app")
    assert not (tmp_path / "nothing").exists()


def test_a_root_is_registered_once(tmp_path: Path) -> None:
    made = registry(tmp_path, table(ONE, "/p/app/", "app"))
    with pytest.raises(AlreadyRegistered) as caught:
        made.add("/p/app", "again")
    assert (caught.value.root, caught.value.name) == ("/p/app", "app")
    made.add("/p/app/inner", "nested")
    made.add("/p", "outer")


def test_what_no_project_has_cannot_go(tmp_path: Path) -> None:
    made = registry(tmp_path, FULL)
    with pytest.raises(NoSuchProject) as caught:
        made.remove("/p/three", "/q/three")
    assert caught.value.path == "/p/three"
    assert made.remove("/link", "/p/./two/").project.id == TWO


class Meddling:
    """Ids whose making lets somebody else write the file first."""

    def __init__(self, meddle: Callable[[], None], times: int) -> None:
        self._ids = CountingIds()
        self._meddle = meddle
        self._times = times

    def new(self) -> str:
        if self._times:
            self._times -= 1
            self._meddle()
        return self._ids.new()


@pytest.mark.parametrize("times", [1, 2])
def test_a_change_in_between_is_kept(tmp_path: Path, times: int) -> None:
    path = tmp_path / "projects.toml"
    path.write_text("")

    def meddle() -> None:
        path.write_text(path.read_text() + "# by hand\n")

    made = ProjectRegistry(path, Meddling(meddle, times))
    made.add("/p/app", "app")
    assert path.read_text().startswith("# by hand\n" * times)
    assert [one.root for one in made.read()] == ["/p/app"]


def test_a_file_that_does_not_stand_still_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "projects.toml"
    path.write_text("")

    def meddle() -> None:
        path.write_text(path.read_text() + "# by hand\n")

    with pytest.raises(FileChanged):
        ProjectRegistry(path, Meddling(meddle, 3)).add("/p/app", "app")
    assert path.read_text() == "# by hand\n" * 3


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "projects.toml"

    def meddle() -> None:
        path.write_text(table(ONE, "/p/one"))

    made = ProjectRegistry(path, Meddling(meddle, 1))
    made.add("/p/app", "app")
    assert [one.root for one in made.read()] == ["/p/one", "/p/app"]


def test_two_at_once_both_come_in(tmp_path: Path) -> None:
    made = registry(tmp_path, FULL, SystemIds(SystemClock()))
    barrier = threading.Barrier(4)

    def add(number: int) -> None:
        barrier.wait(10)
        made.add(f"/p/new/{number}", "new")

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(made.read()) == 6
