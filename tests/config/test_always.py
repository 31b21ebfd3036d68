"""Rules that are saved for "always"."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.config.always import save_rule
from efr.config.load import read
from efr.config.rules import entry_of, rules_of
from efr.config.toml import inline
from efr.policy.rules import ClassIs, CommandIs, ExitIs, Rule, Under
from efr.wire import types as t

HOST = Rule("exit", ExitIs("host", host="packages.example.org", port=443, under="~/p/app"), "allow")
PYTEST = Rule("execute", CommandIs("pytest", forbid=("-p",)), "allow")
MINE = "# mine\n\n[permissions] # p\nmode = 'cautious'\n\n# of the shell\n[shell]\n"
SAVED = """\
[[permissions.rules]]
action = "execute"
resource = {command = {program = "pytest", forbid = ["-p"]}}
effect = "allow"
"""


@pytest.mark.parametrize(
    "rule",
    [
        HOST,
        PYTEST,
        Rule("any", "any", "ask"),
        Rule("write", "project", "deny"),
        Rule("read", ClassIs("user_config"), "ask"),
        Rule("write", Under("~/x y"), "allow"),
        Rule("execute", CommandIs("g", ("a|b",), ("-x",), 1, 2, 3, "project", "ref_names"), "deny"),
        Rule("exit", ExitIs("bus", bus="session", name="a.b", members=("C", "D")), "allow"),
        Rule("exit", ExitIs("upload", remote="o", url="u", under="~/p"), "allow"),
    ],
    ids=str,
)
def test_a_rule_reads_back_as_it_was_written(rule: Rule) -> None:
    text = f"permissions.rules = [{inline(entry_of(rule))}]\n"
    assert rules_of(read(text.encode())) == (rule,)


def test_a_rule_is_saved_last_with_its_example_and_the_layout_stays(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(MINE)
    assert save_rule(path, HOST, "the words") == t.AlwaysSaved(0, "the words")
    assert save_rule(path, PYTEST, "w", ["pytest -q"]) == t.AlwaysSaved(1, "w")
    text = path.read_text()
    assert SAVED + 'matches = ["pytest -q"]\n\n# of the shell\n[shell]\n' in text
    assert text.startswith(
        "# mine\n\n[permissions] # p\nmode = 'cautious'\n\n[[permissions.rules]]\n"
    )
    before = path.stat()
    assert save_rule(path, PYTEST, "w") == t.AlwaysSaved(1, "w"), "it is the last one already"
    assert path.stat() == before
    assert save_rule(path, HOST, "w") == t.AlwaysSaved(2, "w"), "behind the others it counts"


def test_a_missing_file_gets_the_rule_alone(tmp_path: Path) -> None:
    path = tmp_path / "efr" / "config.toml"
    assert save_rule(path, PYTEST, "w") == t.AlwaysSaved(0, "w")
    assert path.read_text() == SAVED


def test_why_a_rule_is_not_saved(tmp_path: Path) -> None:
    def reason(path: Path, matches: tuple[str, ...] = ()) -> t.NotSavedReason:
        outcome = save_rule(path, PYTEST, "w", matches)
        assert isinstance(outcome, t.AlwaysNotSaved)
        return outcome.reason

    path = tmp_path / "config.toml"
    assert reason(path, ("pytest -p x",)) is t.NotSavedReason.LOAD_CHECK
    assert not path.exists()
    path.write_text("[shell\n")
    assert reason(path) is t.NotSavedReason.LOAD_CHECK
    path.unlink()
    path.symlink_to("gone")
    assert reason(path) is t.NotSavedReason.IO
    assert reason(Path("/proc/self/task/config.toml")) is t.NotSavedReason.IO
    assert reason(Path("/sys/kernel/config.toml")) is t.NotSavedReason.READ_ONLY
