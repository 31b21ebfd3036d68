"""The programs behind a program, and what a line takes away whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.policy.lines.inner import all_programs
from efr.policy.lines.taken import taken_by_line

HOME = "/home/u"
HERE = "/home/u/p"
PIECES = [
    *("sudo", "env", "-u", "--", "A=b", "sh", "-c", "'rm x'", ";", "find", "-exec", "eval"),
    *("xargs", "rm", "1"),
]


def programs(line: str) -> list[str]:
    return [" ".join(word.text for word in words) for words in all_programs(line, HOME)]


@pytest.mark.parametrize(
    ("line", "behind"),
    [
        ("sudo -u bob env -i A=b rm x", ["env -i A=b rm x", "rm x"]),
        ("timeout -k 5 10 rm x", ["rm x"]),
        ("flock -w 3 lock rm x", ["rm x"]),
        ("xargs -0 -n 1 -- rm -f", ["rm -f"]),
        ("chrt -r 5 rm x", ["rm x"]),
        ("command -v rm", []),
        ("command -p rm", ["rm"]),
        ("sh -c 'rm x; ls'", ["rm x", "ls"]),
        ("bash -lc 'rm x'", ["rm x"]),
        ("su - u -c 'rm x'", ["rm x"]),
        ("env -S'rm x'", ["rm x"]),
        ("env --split-string='rm x'", ["rm x"]),
        ("eval rm 'x y'", ["rm x y"]),
        ("find . -exec rm a ';' -ok cp b +", ["rm a", "cp b"]),
        ("env é=1 rm x", ["rm x"]),
        ("busybox rm x", ["rm x"]),
        ("/bin/toybox nice rm x", ["nice rm x", "rm x"]),
        ("busybox sh -c 'rm x'", ["sh -c rm x", "rm x"]),
        ("strace -f -o log rm x", ["rm x"]),
        ("chroot --userspec a:b / rm x", ["rm x"]),
        ("systemd-run --user -p A=b rm x", ["rm x"]),
        ("runuser -u bob -- rm x", ["rm x"]),
        ("script -qc 'rm x' log", ["rm x"]),
        ("watch -n 1 'rm x; ls'", ["rm x; ls", "rm x", "ls"]),
        ("parallel -j 2 rm ::: x", ["rm ::: x"]),
        ("trap 'rm x' EXIT", ["rm x"]),
        ("fd -e o -x rm {}", ["rm {}"]),
        ("fdfind . --exec-batch rm ';' x", ["rm"]),
        ("nohup nice", ["nice"]),
        ("nice -n", []),
    ],
)
def test_programs_behind(line: str, behind: list[str]) -> None:
    assert programs(line)[1:] == behind


def test_reserved_words_and_assignments_stand_before_a_program() -> None:
    assert programs("coproc rm x") == ["rm x"]
    assert programs("if A=1 rm x; then ! ls; fi; while true; do B=2; cd y; done") == [
        "rm x",
        "ls",
        "fi",
        "true",
        "cd y",
        "done",
    ]


def test_a_name_of_any_script_may_be_assigned() -> None:
    assert programs("LIéES=5 rm x") == ["rm x"]


def test_text_in_text_ends_somewhere() -> None:
    line = "rm x"
    for _ in range(12):
        line = f"eval {line!r}"
    assert len(programs(line)) < 12


@given(st.lists(st.sampled_from(PIECES), max_size=10))
def test_any_line_has_programs(pieces: list[str]) -> None:
    assert all(words for words in all_programs(" ".join(pieces), HOME))


def taken(line: str, directory: str | None = HERE) -> set[str]:
    return {str(one.path) + "*" * one.is_node for one in taken_by_line(line, directory, HOME)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rm -rf a ~/b /c", {f"{HERE}/a", f"{HOME}/b", "/c"}),
        ("rm a", set()),
        ("rm --rec a", {f"{HERE}/a"}),
        ("rm --regular a", set()),
        ("rm -rf $x/a", {"None"}),
        ("rm -rf ~/a/*", {f"{HOME}/a/"}),
        ("rm -rf *", {f"{HERE}/."}),
        ("mv a b c", {f"{HERE}/a", f"{HERE}/b"}),
        ("mv -t c a b", {f"{HERE}/a", f"{HERE}/b", f"{HERE}/c"}),
        ("rsync -a --delete a/ b", {f"{HERE}/b"}),
        ("rsync -a a b", set()),
        ("find -L a b -name x -delete", {f"{HERE}/a", f"{HERE}/b"}),
        ("find -delete", {f"{HERE}/."}),
        ("find a -exec ls {} +", set()),
        ("find a -exec /bin/rm -f '{}' +", {f"{HERE}/a"}),
        ("cd d && rm -rf a", {f"{HERE}/a", f"{HERE}/d/a"}),
        ("cd - && rm -rf a", {"None", f"{HERE}/a"}),
        ("sudo sh -c 'rm -rf a'", {f"{HERE}/a"}),
        ("dd if=a of=/dev/sda bs=1", {"/dev/sda*"}),
        ("dd if=a of=b", set()),
        ("mkfs.ext4 -L x /dev/sdb1", {"/dev/sdb1*"}),
        ("wipefs -a /dev/sdb", {"/dev/sdb*"}),
    ],
)
def test_what_is_taken(line: str, expected: set[str]) -> None:
    assert taken(line) == expected


def test_an_unknown_start_hides_the_target() -> None:
    assert taken("rm -rf a", None) == {"None"}
    assert taken("rm -rf /a", None) == {"/a"}
