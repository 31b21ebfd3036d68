"""How a line runs once its exits are approved, and which lines may run outside."""

from __future__ import annotations

import pytest

from efr.policy.exits.kinds import Grant, exit_of
from efr.policy.exits.launch import Launch, launch_of, outside_problem
from efr.policy.paths import view
from tests.policy.corpus import IN_PROJECT

PATHS = view(IN_PROJECT)


def test_one_exit_without_a_sandbox_takes_the_whole_line_out() -> None:
    write, host = Grant("write", "/home/u/x"), Grant("open_network")
    inside = (exit_of("write", "~/x", write), exit_of("host", "", host), exit_of("destructive"))
    assert launch_of(()) == Launch(True)
    assert launch_of(inside) == Launch(True, (write, host))
    assert launch_of((*inside, exit_of("host", "h:443", host))) == Launch(True, (write, host))
    assert launch_of((*inside, exit_of("privilege", "sudo"))) == Launch(False)
    assert launch_of((exit_of("write", "/etc/x", only_user=True),)) == Launch(False)


@pytest.mark.parametrize(
    "line",
    [
        "sudo systemctl restart nginx",
        "sudo -k; sudo systemctl restart nginx",
        "git status && git push",
        "git push | tail -5",
        "crontab jobs > log.txt 2>&1",
        "docker ps",
        "ls",
    ],
)
def test_a_line_that_may_run_outside(line: str) -> None:
    assert outside_problem(line, PATHS) is None


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("sudo a; sudo b", "stand alone"),
        ("make && git push", "stand alone"),
        ("sudo ls | sudo tee x", "stand alone"),
        ("env sudo a; make", "stand alone"),
        ("git push &", "plain commands"),
        ("(git push)", "plain commands"),
        ("git push $(cat r)", "output of another command"),
        ("eval 'sudo x'", "the shell builtin eval"),
        ("f() { sudo x; }; f", "a loop, a condition or a function"),
        ("time sudo x", "the shell word time"),
    ],
)
def test_a_line_that_may_not(line: str, part: str) -> None:
    problem = outside_problem(line, PATHS)
    assert problem is not None
    assert part in problem
