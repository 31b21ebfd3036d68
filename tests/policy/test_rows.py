"""The table of read-only commands: its numbers, how words are forbidden, and the checks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.policy.checks import (
    date_prints,
    filter_names_no_host,
    printf_plain,
    sed_print_only,
)
from efr.policy.matching import Start, is_forbidden, machine_policy, matches_command, takes_patterns
from efr.policy.paths import view
from efr.policy.reader import SimpleCommand, read_line
from efr.policy.rows import FIRST_ROW, ROWS, TRUSTED_PROGRAMS, trusted_programs
from efr.policy.rules import CommandIs, Rule
from tests.policy.corpus import IN_PROJECT

COMMANDS = [row.resource for row in ROWS if isinstance(row.resource, CommandIs)]
NUMBERED = dict(enumerate(COMMANDS, start=FIRST_ROW))
NOWHERE = Start((), view(IN_PROJECT))
RESERVED = (
    "if then else elif fi for while until do done case esac repeat select foreach end function"
    " time { } [[ ! nocorrect"
)


def row_of(line: str) -> int | None:
    read = read_line(line)
    assert isinstance(read, tuple)
    return matching_row(read[0])


def matching_row(command: SimpleCommand) -> int | None:
    """The number of the last row that allows the command."""
    for one in machine_policy("cautious").of_program(command.program):
        resource = one.rule.resource
        if isinstance(resource, CommandIs) and matches_command(resource, command, NOWHERE):
            return one.number
    return None


def test_the_trusted_programs_are_those_of_the_rows() -> None:
    assert {row.program for row in COMMANDS} == TRUSTED_PROGRAMS
    rule = Rule("execute", CommandIs("make"), "allow")
    assert trusted_programs((rule,)) == TRUSTED_PROGRAMS | {"make"}


def test_the_numbers_are_those_of_the_documents() -> None:
    assert sorted(NUMBERED) == list(range(FIRST_ROW, 83))
    known = {8: "ls", 33: "printf", 52: "ps", 61: "journalctl", 69: "git", 78: "find", 82: "sed"}
    assert {number: NUMBERED[number].program for number in known} == known


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("ls -la", 8),
        ("command -v ls", 31),
        ("command ls", None),
        ("ps aux", 51),
        ("ps -ef", 52),
        ("ps -ef x", None),
        ("ip a", 55),
        ("ip a show eth0", 56),
        ("systemctl show x", 64),
        ("systemctl show", None),
        ("systemctl show 'x*'", 64),
        ("systemctl show x*", None),
        ("systemctl --user show -n 5 x", 65),
        ("systemctl show -n 5", None),
        ("systemctl show -n5 x", None),
        ("systemctl show --lines=5", None),
        ("systemctl show -t service", None),
        ("systemctl show --li 5", None),
        ("systemctl show ''", None),
        ("systemctl show -- x.mount", 64),
        ("systemctl show --value x", 64),
        ("systemctl --user show --state active", None),
        ("systemctl show-environment", None),
        ("tail -n +5 x", 12),
        ("tail -5 ./x*", 12),
        ("tail +5 x", 12),
        ("tail +1f x", None),
        ("tail +f x", None),
        ("tail +2lf x", None),
        ("tail +1? x", None),
        ("tail -1f x", None),
        ("hostname -s", 27),
        ("hostname -I", 27),
        ("hostname --all-ip-addresses", 27),
        ("hostname -f", None),
        ("hostname -sf", None),
        ("hostname -i", None),
        ("hostname -d", None),
        ("hostname -A", None),
        ("hostname -a", None),
        ("hostname --fq", None),
        ("hostname --ip-addresses", None),
        ("hostname --all-fqdns", None),
        ("git status", 66),
        ("git --no-pager status", 67),
        ("git log --help", None),
        ("git status --hel", None),
        ("git log --show-signature", None),
        ("git --no-pager show --show-sig", None),
        ("git log '--format=%h %G?'", None),
        ("git show '--pretty=%+GS'", None),
        ("git log '--format=%h %s' src*", 66),
        ("git branch '--format=%(signature:grade)'", None),
        ("git branch '--format=%(refname)'", 68),
        ("git log -p --ext-diff", None),
        ("free -m", 21),
        ("free -c 9", None),
        ("free --co=9", None),
        ("sort -t: -k2 x", 45),
        ("sort -T /etc x", None),
        ("sort --temp=/etc x", None),
        ("journalctl -b -u x", 61),
        ("journalctl --image=x", None),
        ("journalctl -M x", None),
        ("systemctl status --image=x", None),
        ("systemctl --user status -M root@.host", None),
        ("systemctl show --machine=x y", None),
        ("jq .a x", 50),
        ("jq -- .a x", 50),
        ("jq -n -- '-1, env'", None),
        ("jq -n -- '-($ENV|length)'", None),
        ("ss -tlnp", 54),
        ("ss -tlnp -A tcp,udp -f inet6 state established", 54),
        ("ss -tan dst x.example", None),
        ("ss -tF x", None),
        ("ss --fil=x", None),
        ("git branch", 68),
        ("git branch -- x", None),
        ("pacman -Qdt", 72),
        ("pacman -Si zsh", 73),
        ("pacman -Siy zsh", None),
        ("pacman -Si -yy zsh", None),
        ("uniq x*", None),
        ("cat ./x*", 10),
        ("cd a", 79),
        ("cd a b", None),
        ("cd -- a b", None),
        ("journalctl --vac=1s", None),
        ("journalctl --vacuum-size=1", None),
        ("find . -fprintf x y", None),
        ("find -files0-from x", None),
        ("stat -A x y", None),
        ("ss -tE", None),
        ("file -bf x", None),
        ("make", None),
    ],
)
def test_which_row_allows_a_command(line: str, number: int | None) -> None:
    assert row_of(line) == number


@pytest.mark.parametrize(
    "word", [*RESERVED.split(), "noglob", "builtin", "exec", "-", "env", "sudo"]
)
def test_no_row_names_a_word_that_is_no_program(word: str) -> None:
    assert word not in TRUSTED_PROGRAMS


@pytest.mark.parametrize(
    ("entry", "forbidden", "free"),
    [
        (
            "--output",
            ["--output", "--output=x", "--out", "--o", "--o=x"],
            ["--outputs", "-o", "--", "output"],
        ),
        ("-o", ["-o", "-ro", "-ox"], ["--o", "o", "-", "--"]),
        ("-exec", ["-exec"], ["-exe", "-execdir", "--exec"]),
        ("-fprint*", ["-fprint", "-fprint0"], ["-fprin", "fprint"]),
        ("--vacuum*", ["--vacuum", "--vacuum-time=1", "--vac=1", "--v"], ["--x", "-v", "--"]),
        ("env", ["env", ".env.json"], ["-env", "--env", "en"]),
    ],
)
def test_forbidden_words(entry: str, forbidden: list[str], free: list[str]) -> None:
    assert [word for word in forbidden + free if is_forbidden(word, entry)] == forbidden


@pytest.mark.parametrize(
    ("words", "plain"),
    [
        (["%s\\n", "a"], True),
        (["--", "%5.2f|%-3d", "1.5", "-2"], True),
        (["%%"], True),
        (["%q %b %c", "psvar[1]"], True),
        (["%d", "x"], False),
        (["%d", "1e5"], False),
        (["%s %d", "a", "1"], False),
        (["%*d", "3", "1"], False),
        (["%n", "x"], False),
        (["%1$s", "x"], False),
        (["%(x)T"], False),
        (["%"], False),
        (["-v", "x", "y"], False),
        (["--", "-v"], False),
        ([], False),
    ],
)
def test_printf(words: list[str], plain: bool) -> None:
    assert printf_plain(words) == plain


@pytest.mark.parametrize(
    ("words", "only_prints"),
    [
        (["-n", "1,20p", "a"], True),
        (["-n", "-e", "/x/I,+3p", "-e", "$=", "a"], True),
        (["-nE", "p"], False),
        (["-n", "-E", "/a|b/!p;$ ! =\n2q5"], True),
        (["--quiet", "--expression=0~4 l 5"], False),
        (["--quiet", "--expression=0~4 l5"], True),
        (["-n", "-ep", "--", "-x"], True),
        (["-n", "/\\//p"], True),
        (["-n", "/[a]/p"], False),
        (["-n", "/\\[/p"], False),
        (["-n", "/a\nb/p"], False),
        (["-n", "2q;d"], False),
        (["-n", "w out"], False),
        (["-n", "1e id"], False),
        (["-n", "s/a/b/p"], False),
        (["-n", "p;"], False),
        (["-n", "-i", "p"], False),
        (["-n", "-f", "x"], False),
        (["-n", "-e"], False),
        (["-n"], False),
        (["p"], False),
        (["-n", "-s", "p"], False),
    ],
)
def test_sed(words: list[str], only_prints: bool) -> None:
    assert sed_print_only(words) == only_prints


@pytest.mark.parametrize(
    ("words", "is_local"),
    [
        ("", True),
        ("state established", True),
        ("tcp,udp", True),
        ("sport = :443", True),
        ("( dport = :https or sport = :22 )", True),
        ("not dst 10.0.0.0/8", True),
        ("src 127.0.0.1:8000", True),
        ("dst [fe80::1]:22", True),
        ("dst secret.example", False),
        ("dst=secret.example", False),
        ("dst dead:80", False),
        ("src name:22", False),
        ("dst 1.2.3.4.", False),
        ("dst 1.2.3.4.5", False),
    ],
)
def test_a_filter_of_ss_names_no_host(words: str, is_local: bool) -> None:
    assert filter_names_no_host(words.split()) is is_local
    assert filter_names_no_host([f"( {words} )"]) is is_local


def test_a_long_script_of_blanks_is_read_once() -> None:
    assert not sed_print_only(["-n", " " * 60_000 + "x"])
    assert not sed_print_only(["-n", "p;" * 30_000])


@given(
    st.sampled_from(sorted(TRUSTED_PROGRAMS)), st.lists(st.text("abef-=*", max_size=6), max_size=5)
)
def test_a_word_more_never_makes_a_pattern_pass_a_bound(program: str, texts: list[str]) -> None:
    line = " ".join([program, *texts])
    read = read_line(line)
    if isinstance(read, tuple) and any(word.pattern for word in read[0].words):
        number = matching_row(SimpleCommand(read[0].words))
        assert number is None or takes_patterns(NUMBERED[number])


@pytest.mark.parametrize(
    ("words", "prints"),
    [
        ("", True),
        ("+%s", True),
        ("-u +%F", True),
        ("-d now +%F", True),
        ("-dnow", True),
        ("-ud now", True),
        ("--date now", True),
        ("--da now", True),
        ("--date=now +%s", True),
        ("--reference /etc/hosts", True),
        ("-Iseconds", True),
        ("-uIseconds", True),
        ("--iso-8601=seconds", True),
        ("-dlast-sunday", True),
        ("-- +%s", True),
        ("12310000", False),
        ("-u 12310000", False),
        ("-d now 12310000", False),
        ("-dnow 12310000", False),
        ("-- 12310000", False),
        ("-I 12310000", False),
        ("-s now", False),
        ("-us now", False),
        ("--set=now", False),
        ("--s now", False),
        ("-", False),
    ],
)
def test_date_prints(words: str, prints: bool) -> None:
    assert date_prints(words.split()) is prints
