"""Each scenario of this folder, over each of the three model APIs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.daemon import ROOT
from tests.harness.scenario import Stage
from tests.harness.script import APIS, BadScenario, Scenario, checked, read

FILES = sorted(Path(__file__).parent.glob("*.toml"))


def documented(folder: Path) -> Path:
    """The scenario that docs/testing.md shows."""
    page = (ROOT / "docs" / "testing.md").read_text()
    path = folder / "documented.toml"
    path.write_text(page.partition("```toml\n")[2].partition("```")[0])
    return path


@pytest.mark.parametrize("api", APIS)
def test_each_goes_as_expected(tmp_path: Path, api: str) -> None:
    """One daemon for all of them: each has a conversation and a folder of its own."""
    with Stage(tmp_path / "stage", api) as stage:
        files = [*FILES, documented(tmp_path)]
        scenarios = [one for one in map(read, files) if api in one.script.apis]
        played = {one.name: stage.play(one) for one in scenarios}
    told = "\n".join(line for lines, wrong in played.values() if wrong for line in lines)
    assert {name: wrong for name, (_, wrong) in played.items() if wrong} == {}, told


def test_what_is_not_expected_is_told(tmp_path: Path) -> None:
    value = {
        "answers": [
            {"text": "No.", "expect": {"has": ["a whale"], "lacks": ["hello"]}},
            {"text": "Never asked for."},
        ],
        "say": [
            {
                "text": "hello",
                "ends": "turn_failed",
                "shows": ["Yes"],
                "hides": ["No"],
                "answer": ["allow"],
                "input": "x",
            }
        ],
        "after": {"files": {"gone.txt": ""}},
    }
    with Stage(tmp_path, "compatible") as stage:
        told, wrong = stage.play(Scenario("wrong", checked(value)))
        settings = {"settings": {"shell": {"idle_minutes": -1}}, "say": [{"text": "hello"}]}
        with pytest.raises(BadScenario) as caught:
            stage.play(Scenario("settings", checked(settings)))
        assert str(caught.value).startswith("settings: ")
    assert told == ["> hello", "No."]
    assert wrong == [
        "say[0]: the turn ends with turn_completed, not turn_failed",
        "say[0]: 'Yes' is not shown",
        "say[0]: 'No' is shown",
        "say[0]: 0 questions for 1 answers",
        "say[0]: no command waits for input",
        "1 requests for 2 answers",
        "answers[0]: its request lacks 'a whale'",
        "answers[0]: its request has 'hello'",
        "after: there is no gone.txt",
    ]


SAY = "[[say]]\ntext = 'x'\n"
BAD = [
    ("", "nobody says anything"),
    ("say = ", "Invalid value (at end of document)"),
    (SAY + "except = 1", "say[0]: unknown key except; known are answer, ends, hides, input, "),
    ("[[say]]\nanswer = 'allow'", "say[0]: text is missing"),
    (SAY + "answer = 'maybe'", "say[0].answer: Invalid enum value 'maybe'; known are allow, deny"),
    (SAY + "answer = ['allow', 'no']", "say[0].answer[1]: Invalid enum value 'no'; known are"),
    (SAY + "interrupt = 'soon'", "say[0].interrupt: Invalid enum value 'soon'; known are command,"),
    (SAY + "ends = 'turn_done'", "say[0].ends: turn_done is none of turn_completed, "),
    (SAY + "apis = ['x']", "say[0]: unknown key apis"),
    ("apis = ['x']\n" + SAY, "apis: x is none of openai-api"),
    ("mode = 'wild'\n" + SAY, "mode: Invalid enum value 'wild'; known are manual, cautious"),
    (SAY + "[after]\nfile = {}", "after: unknown key file; known are files, gone"),
    ("[files]\n'../x' = ''\n" + SAY, "files.'../x': is outside of the folder"),
    ("[files]\nx = 5\n" + SAY, "files.*: Expected str, got int"),
    ("[answers]\ntext = 'x'\n" + SAY, "answers: Expected list, got table"),
    ("[[answers]]\n" + SAY, "answers[0]: says nothing"),
    ("[[answers]]\ntxet = 'y'\n" + SAY, "answers[0]: unknown key txet; known are calls, cut, "),
    ("[[answers]]\ntext = 5\n" + SAY, "answers[0].text: Expected str, got int"),
    ("[[answers]]\nwait = 'a'\n" + SAY, "answers[0].wait: Expected float, got str"),
    ("[[answers]]\ncut = true\ntext = 'a'\n" + SAY, "answers[0]: cut comes in place of text"),
    ("[[answers]]\nerror = {}\n" + SAY, "answers[0].error: status is missing"),
    ("[[answers]]\nexpect = {had = 1}\n" + SAY, "answers[0].expect: unknown key had; known are"),
    ("[[answers]]\nexpect = {has = 'a'}\n" + SAY, "answers[0].expect.has: Expected list, got str"),
    ("[[answers]]\nusage = {in = 5}\n" + SAY, "answers[0].usage: unknown key in; known are cach"),
    ("[[answers]]\ncalls = [{name = 'a'}]\n" + SAY, "answers[0].calls[0]: arguments is missing"),
    ("[[answers]]\npieces = [{txt = 'a'}]\n" + SAY, "answers[0].pieces[0]: unknown key txt; known"),
    ("[[answers]]\npieces = [{}]\n" + SAY, "answers[0].pieces[0]: has 0 keys; it needs one of"),
    ("[[answers]]\npieces = []\ntext = 'a'\n" + SAY, "answers[0].pieces: stand alone"),
]


@pytest.mark.parametrize(("text", "why"), BAD, ids=[why[:40] for _, why in BAD])
def test_a_file_that_is_no_scenario_says_what_and_where(
    tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(BadScenario) as caught:
        read(path)
    assert str(caught.value).startswith(f"bad.toml: {why}")
