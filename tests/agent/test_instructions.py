from __future__ import annotations

from pathlib import Path

import pytest

from efr.agent.instructions import instructions
from efr.config.project_text import Project
from efr.providers.canonical import Message, TextBlock
from tests.agent.scripted_model import said
from tests.agent.world import World


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "p"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "AGENTS.md").write_text("Use tabs.\n")
    (root / "src" / "AGENTS.md").write_text("Test first.\n")
    return Project("00000000-0000-7000-8000-00000000000a", str(root))


def test_each_file_from_the_root_down_is_told_in_order(project: Project) -> None:
    root = Path(project.root)
    assert instructions(project, str(root / "src" / "deep"), []) == "\n".join(
        (
            "<project_instructions>",
            f"{root}/AGENTS.md:\nUse tabs.\n",
            f"{root}/src/AGENTS.md:\nTest first.\n",
            "</project_instructions>",
        )
    )
    only_root = instructions(project, str(root), [])
    assert only_root is not None
    assert "Test first" not in only_root


def test_what_the_conversation_holds_is_not_told_again_until_it_changes(project: Project) -> None:
    block = instructions(project, project.root, [])
    assert block is not None
    past = [Message("user", (TextBlock(block), TextBlock("go")))]
    assert instructions(project, project.root, past) is None
    Path(project.root, "AGENTS.md").write_text("Use spaces.\n")
    again = instructions(project, project.root, past)
    assert again is not None
    assert "Use spaces." in again


def test_a_long_file_is_cut_and_says_so(project: Project) -> None:
    Path(project.root, "AGENTS.md").write_text("x" * 40_000)
    block = instructions(project, project.root, [])
    assert block is not None
    assert "[7232 bytes of this file are left out here]" in block


def test_links_and_what_is_no_file_are_not_read(project: Project, tmp_path: Path) -> None:
    file = Path(project.root, "AGENTS.md")
    file.unlink()
    (tmp_path / "secret").write_text("a secret")
    file.symlink_to(tmp_path / "secret")
    assert instructions(project, project.root, []) is None
    file.unlink()
    file.mkdir()
    assert instructions(project, project.root, []) is None


def test_outside_registered_projects_nothing_is_read(project: Project) -> None:
    assert instructions(None, project.root, []) is None


def test_a_project_is_told_with_its_first_prompt_alone(world: World, project: Project) -> None:
    world.registry.projects.append(project)
    for _ in range(2):
        world.provider.answers(said("ok"))
        world.wait_end(world.send("go", pwd=Path(project.root)).turn_id)
    world.restart()
    world.provider.answers(said("ok"))
    world.wait_end(world.send("go", pwd=Path(project.root)).turn_id)
    blocks = [
        [block.text for block in request.messages[-1].content if isinstance(block, TextBlock)]
        for request in world.provider.requests
    ]
    assert [len(one) for one in blocks] == [3, 2, 2]
    assert blocks[0][1].startswith("<project_instructions>")
    assert blocks[0][2] == "go"
