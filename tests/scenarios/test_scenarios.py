"""Each scenario of this folder, over each of the three model APIs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.scenario import APIS, BadScenario, Scenario, Stage, read

FILES = sorted(Path(__file__).parent.glob("*.toml"))


@pytest.mark.parametrize("api", APIS)
def test_each_goes_as_expected(tmp_path: Path, api: str) -> None:
    """One daemon for all of them: each has a conversation and a folder of its own."""
    with Stage(tmp_path, api) as stage:
        scenarios = [one for one in map(read, FILES) if api in one.apis]
        played = {one.name: stage.play(one) for one in scenarios}
    told = "\n".join(line for lines, wrong in played.values() if wrong for line in lines)
    assert {name: wrong for name, (_, wrong) in played.items() if wrong} == {}, told


def test_what_is_not_expected_is_told(tmp_path: Path) -> None:
    value = {
        "answers": [
            {"text": "No.", "expect": {"has": ["a whale"], "lacks": ["hello"]}},
            {"text": "Never asked for."},
        ],
        "say": [{"text": "hello", "ends": "turn_failed", "shows": ["Yes"], "hides": ["No"]}],
        "after": {"files": {"gone.txt": ""}},
    }
    with Stage(tmp_path, "compatible") as stage:
        told, wrong = stage.play(Scenario("wrong", value))
    assert told == ["> hello", "No."]
    assert wrong == [
        "say[0]: the turn ends with turn_completed, not turn_failed",
        "say[0]: 'Yes' is not shown",
        "say[0]: 'No' is shown",
        "1 requests for 2 answers",
        "answers[0]: its request lacks 'a whale'",
        "answers[0]: its request has 'hello'",
        "after: there is no gone.txt",
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "nobody says anything"),
        ("say = ", "Invalid value"),
        ('[[say]]\ntext = "x"\n[[answers]]\ntxet = "y"\n', "answers[0]: unknown key txet; known"),
        ('[[say]]\ntext = "x"\nexcept = 1\n', "say[0]: unknown key except"),
        ('apis = ["x"]\n[[say]]\ntext = "x"\n', "apis: x is none of openai-api"),
        ('[[answers]]\nexpect = {had = 1}\n[[say]]\ntext = "x"\n', "answers[0].expect: unknown"),
    ],
)
def test_a_file_that_is_no_scenario_says_where(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(BadScenario) as caught:
        read(path)
    assert why in str(caught.value)
    assert "bad.toml" in str(caught.value)
