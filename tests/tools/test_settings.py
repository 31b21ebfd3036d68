"""The tool `settings`: what it reads, what it plans, what it writes after a yes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from efr.config.example import example
from efr.config.load import read
from efr.config.schema import Settings
from efr.daemon.live_settings import LiveSettings, Overrides, read_settings
from efr.policy.engine import CallNeeds, Decision, Place, decide
from efr.tools.contract import BadInput, ToolResult, Where
from efr.tools.settings import SettingsTool
from efr.wire import types as t
from tests.tools.fakes import context

MODELS = (
    t.ModelInfo(id="big", efforts=("low", "high"), default=True, source=t.ModelSource.BUILTIN),
    t.ModelInfo(id="small", efforts=("low",), source=t.ModelSource.BUILTIN),
)
MINE = "# mine\n\n[shell]\nidle_minutes = 5 # why\n"


class House:
    """A file, the running settings and the tool."""

    def __init__(self, folder: Path, text: str | None = MINE, **overrides: str) -> None:
        self.folder = folder
        self.path = folder / "efr" / "config.toml"
        if text is not None:
            self.path.parent.mkdir()
            self.path.write_text(text)
        given = Overrides({}, **overrides)
        self.live = LiveSettings(self.path, given, read_settings(self.path, given))
        self.tool = SettingsTool(self.live, lambda: MODELS)

    @property
    def where(self) -> Where:
        return Where(str(self.folder), str(self.folder), str(self.folder))

    def declare(self, **input: Any) -> CallNeeds:
        return self.tool.declare(input, self.where)

    def run(self, needs: CallNeeds, shown: str | None = None, /, **input: Any) -> ToolResult:
        return self.tool.run(input, replace(context(self.folder), needs=needs, shown=shown))

    def ask(self, **input: Any) -> tuple[CallNeeds, str | None]:
        """Declared, and what the question shows."""
        return self.declare(**input), self.tool.preview(input, self.where)

    def change(self, **input: Any) -> tuple[str, ToolResult]:
        """Declared, shown, allowed and run."""
        needs, shown = self.ask(**input)
        assert shown is not None
        assert needs.settings is not None
        assert ("This change loosens" in shown) == needs.settings.loosens
        return shown, self.run(needs, shown, **input)

    def refused(self, **input: Any) -> str:
        """What the model is told; the file stays as it was."""
        before = self.path.read_bytes() if self.path.exists() else None
        with pytest.raises(BadInput) as caught:
            self.declare(**input)
        assert (self.path.read_bytes() if self.path.exists() else None) == before
        return str(caught.value)

    def judged(self, needs: CallNeeds, mode: str = "cautious", origin: str = "shell") -> Decision:
        home = str(self.folder)
        return decide(needs, mode, origin, Place(home, home, str(self.path.parent), f"{home}/d"))


@pytest.fixture(name="house")
def _house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_a_change_shows_the_difference_and_says_when_it_applies(house: House) -> None:
    shown, result = house.change(operation="set", key="shell.idle_minutes", value=7)
    assert shown == (
        f"--- {house.path}\n+++ {house.path}\n@@ -1,4 +1,4 @@\n # mine\n \n [shell]\n"
        "-idle_minutes = 5 # why\n+idle_minutes = 7 # why\n"
    )
    assert result.output == (
        f"Done: set shell.idle_minutes = 7, in {house.path}.\nIt applies with: at once."
    )
    assert result.diff == shown
    assert house.path.read_text() == MINE.replace("5", "7")
    assert house.live.current().shell.idle_minutes == 7


def test_every_change_asks_in_every_mode_and_a_phone_changes_nothing(house: House) -> None:
    needs = house.declare(operation="set", key="permissions.mode", value="auto")
    for mode in ("manual", "cautious", "auto", "full"):
        decision = house.judged(needs, mode)
        assert decision.effect == "ask"
        assert decision.summary == (
            'settings: settings: set permissions.mode = "auto"; loosens permissions'
        )
        assert decision.reason == "only you approve a change of settings"
        assert house.judged(needs, mode, "remote").effect == "deny"
    reading = house.declare(operation="read")
    assert house.judged(reading).effect == "allow"
    assert house.judged(reading, origin="remote").effect == "ask"


def test_a_change_that_loosens_says_so_above_the_difference(house: House) -> None:
    shown, result = house.change(operation="set", key="permissions.mode", value="auto")
    assert shown.startswith("This change loosens permissions: permissions.mode.\n--- ")
    assert result.diff == shown.partition("\n")[2]


def test_a_missing_file_starts_as_the_example(tmp_path: Path) -> None:
    house = House(tmp_path, None)
    shown, result = house.change(operation="set", key="model.effort", value="high")
    assert shown.count("\n+") == 2, "the change alone, and the head"
    assert not result.is_error
    text = house.path.read_text()
    assert text == example().replace('#effort = "high"\n', '#effort = "high"\neffort = "high"\n')
    assert house.path.stat().st_mode & 0o777 == 0o600


def test_a_link_is_written_at_its_target_and_named(house: House, tmp_path: Path) -> None:
    real = tmp_path / "dot.toml"
    house.path.rename(real)
    house.path.symlink_to(real)
    shown, result = house.change(operation="unset", key="shell.idle_minutes")
    assert str(real) in shown
    assert f"in {real}." in result.output
    assert real.read_text() == "# mine\n\n[shell]\n"
    assert house.path.is_symlink()


def test_rules_are_added_and_removed_by_number(house: House) -> None:
    rule = {
        "action": "execute",
        "resource": {"command": {"program": "pytest"}},
        "effect": "allow",
        "matches": ["pytest -q"],
    }
    shown, _ = house.change(operation="add_rule", rule=rule)
    assert "loosens permissions: permissions.rules" in shown
    assert len(house.live.current().permissions.rules) == 1
    shown, _ = house.change(operation="remove_rule", index=0)
    assert "loosens" not in shown
    assert house.path.read_text().rstrip() == MINE.rstrip()
    assert "0 to" not in house.refused(operation="remove_rule", index=0)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"operation": "set", "key": "shell.idle_minute", "value": 1}, "did you mean shell.idle_min"),
    ({"operation": "set", "key": "shell.idle_minutes", "value": -1}, "must be from 0 to 525600"),
    ({"operation": "set", "key": "shell.idle_minutes", "value": 1.5}, "must be a whole number"),
    ({"operation": "set", "key": "shell.idle_minutes", "value": [None]}, "Nobody was asked"),
    ({"operation": "set", "key": "shell.idle_minutes"}, "set needs a value"),
    ({"operation": "set", "value": 1}, "set needs a key"),
    ({"operation": "set", "key": "shell.idle_minutes", "value": 5}, "say this already"),
    ({"operation": "set", "key": "model.name", "value": "none"}, "Choose one of: big, small"),
    ({"operation": "set", "key": "model.effort", "value": "mad"}, "Choose one of: low, high"),
    ({"operation": "set", "key": "permissions.rules", "value": []}, "add_rule and remove_rule"),
    ({"operation": "unset", "key": "permissions.rules"}, "add_rule and remove_rule"),
    ({"operation": "unset", "key": "log"}, "log is not set"),
    ({"operation": "unset", "key": "shel.log"}, "unknown key"),
    ({"operation": "add_rule"}, "needs a rule"),
    ({"operation": "add_rule", "rule": {"action": "any"}}, "This is no rule"),
    ({"operation": "remove_rule"}, "needs an index"),
    ({"operation": "remove_rule", "index": 3}, "no rule has the number 3"),
    ({"operation": "write"}, "do not fit"),
    ({"operation": "read", "path": "x"}, "do not fit"),
    # About secrets nobody is even asked.
    ({"operation": "set", "key": "permissions.secret_paths", "value": ["~/x"]}, "secrets are chan"),
    ({"operation": "unset", "key": "permissions.secret_paths"}, "secrets are changed by the user"),
]


@pytest.mark.parametrize(("input", "told"), REFUSED)
def test_a_change_that_cannot_be_made_asks_nobody(
    house: House, input: dict[str, Any], told: str
) -> None:
    assert told in house.refused(**input)


@pytest.mark.parametrize(
    "resource", [{"class": "secrets"}, {"under": "~/.ssh"}, {"under": "HOME/.gnupg/x"}]
)
def test_a_rule_about_secrets_is_neither_added_nor_removed(
    tmp_path: Path, resource: dict[str, str]
) -> None:
    resource = {name: value.replace("HOME", str(tmp_path)) for name, value in resource.items()}
    rule = {"action": "read", "resource": resource, "effect": "deny"}
    house = House(tmp_path)
    assert "secrets are changed by the user" in house.refused(operation="add_rule", rule=rule)
    (name, value), *_ = resource.items()
    house.path.write_text(
        "[[permissions.rules]]\naction = 'read'\neffect = 'deny'\n"
        f"resource = {{ {name} = '{value}' }}\n"
    )
    assert "secrets are changed by the user" in house.refused(operation="remove_rule", index=0)


def test_what_cannot_be_shown_whole_or_read_asks_nobody(house: House) -> None:
    told = house.refused(operation="set", key="model.system_prompt", value="x" * 40_000)
    assert "too long for a question" in told
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    for input in (
        {"operation": "set", "key": "sandbox.mask", "value": deep},
        {"operation": "add_rule", "rule": {"action": deep}},
    ):
        assert "Nobody was asked" in house.refused(**input) or "no rule" in house.refused(**input)
    shown, _ = house.change(operation="set", key="model.system_prompt", value="line\n" * 900)
    assert shown.count("line") == 900, "never cut"


def test_an_effort_has_to_fit_the_model_of_the_file(house: House) -> None:
    house.change(operation="set", key="model.effort", value="high")
    told = house.refused(operation="set", key="model.name", value="small")
    assert "small takes no effort high. Choose one of: low" in told


def test_a_file_that_changed_after_the_question_is_not_written(house: House) -> None:
    input = {"operation": "set", "key": "shell.idle_minutes", "value": 7}
    far = MINE + "# a\n" * 20

    def refused(asked: tuple[CallNeeds, str | None]) -> None:
        before = house.path.read_text() if house.path.exists() else None
        result = house.run(*asked, **input)
        assert result.is_error
        assert "changed after the user was asked" in result.output
        assert (house.path.read_text() if house.path.exists() else None) == before

    house.path.write_text(far)
    asked = house.ask(**input)
    house.path.write_text(far + "login = false\n")  # no line of the difference that was shown
    refused(asked)
    needs, shown = house.ask(**input)
    house.path.unlink()
    refused((needs, shown))
    house.path.write_text(MINE)
    refused(house.ask(operation="set", key="shell.idle_minutes", value=8))
    needs = house.declare(**input)
    house.path.write_text("# another\n" + MINE)
    shown = house.tool.preview(input, house.where)
    house.path.write_text(MINE)
    refused((needs, shown))
    refused((needs, None))
    refused((CallNeeds("settings"), shown))
    house.path.write_text("[shell\n")
    assert house.tool.preview(input, house.where) is None
    refused((needs, None))


def test_a_file_with_an_error_or_a_link_to_nothing_is_told(house: House) -> None:
    house.path.write_text("[shell\n")
    told = house.refused(operation="set", key="log", value="warn")
    assert told.startswith("Nobody was asked: line 1, column 7: Expected ']'")
    house.path.unlink()
    house.path.symlink_to("gone.toml")
    assert "does not exist" in house.refused(operation="set", key="log", value="warn")


def test_the_answer_names_restarts_overrides_and_what_is_held(tmp_path: Path) -> None:
    house = House(tmp_path, MINE, log="debug")
    _, result = house.change(operation="set", key="screen", value="vt100")
    assert "It waits for a restart of efrd" in result.output
    _, result = house.change(operation="set", key="log", value="warn")
    assert "But flag --log wins over it while it is given." in result.output
    house.live.hold_while(lambda: True)
    _, result = house.change(operation="set", key="permissions.mode", value="auto")
    assert "It is held while full mode runs" in result.output
    assert house.live.current().permissions.mode == "cautious"


def test_a_read_shows_everything(tmp_path: Path) -> None:
    rule = "[[permissions.rules]]\naction = 'any'\nresource = 'any'\neffect = 'ask'\n"
    house = House(tmp_path, MINE + rule, log="debug")
    house.path.write_text("[shell\n")
    house.live.reload()
    needs = house.declare(operation="read")
    assert needs == CallNeeds("settings")
    lines = house.run(needs, operation="read").output.splitlines()
    assert lines[0] == f"File: {house.path}"
    assert lines[1].startswith("The last reload: line 1, column 7: Expected")
    house.path.write_text(MINE + rule + "\n[remote]\nport = 4000\n")
    house.live.reload()
    lines = house.run(needs, operation="read").output.splitlines()
    assert "These wait for a restart of efrd: remote.port" in lines
    assert "shell.idle_minutes = 5; file; at once" in lines
    assert 'log = "debug"; flag --log; at once' in lines
    assert "remote.port = 0; file; restart of efrd" in lines
    assert '0: { action = "any", resource = "any", effect = "ask" }' in lines
    assert lines[-2:] == ["big (default): low, high", "small: low"]
    assert len("\n".join(lines)) < 32 * 1024


def test_values_may_come_as_text(house: House) -> None:
    house.change(operation="set", key="shell.idle_minutes", value="9")
    house.change(operation="set", key="sandbox.mask", value="~/a, ~/b")
    house.change(operation="set", key="openai.models", value=["a", {"id": "b"}])
    found = read(house.path.read_bytes())
    assert found.shell.idle_minutes == 9
    assert found.sandbox.mask == ("~/a", "~/b")
    assert found != Settings()
