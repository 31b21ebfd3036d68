"""What a line is made of, and that the parser and the strict reader agree on plain lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.policy.reader import read_line
from efr.policy.structure import Structure, expand_braces, read_structure
from efr.policy.syntax_tree import agrees
from efr.policy.words import CONSTRUCTS, Stop, Unreadable
from tests.policy.corpus import cases
from tests.policy.everyday import lines
from tests.policy.trap_lines import Traps


def parts(line: str) -> str:
    """The commands, `> file` for what is written, `< file` for what is read, what it holds."""
    found = read_structure(line)
    if isinstance(found, Unreadable):
        return f"no: {found.construct}"
    commands = ["|".join(word.text for word in one.words) for one in found.commands]
    files = [f"> {word.text}" for word in found.writes] + [f"< {word.text}" for word in found.reads]
    return "; ".join([*commands, *files, *(f"({one})" for one in found.holds)])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -l 'a b' | head", "ls|-l|a b; head"),
        ("(cd x && make); ls", "cd|x; make; ls; (grouping)"),
        ("{ a; b; } > f", "a; b; > f; (grouping); (redirection)"),
        ("a > f b", "a|b; > f; (redirection)"),
        ("a < in >> out 2>&1", "a; > out; < in; (redirection)"),
        (">f a", "a; > f; (redirection)"),
        ("a &> f & b", "a; b; > f; (redirection); (background)"),
        ("a >| f", "a; > f; (redirection)"),
        ("a > /dev/null", "a; > /dev/null"),
        ("LC_ALL=C a; TZ=x b", "a; b"),
        ("cat <<E > f\nhi\nE\nls", "cat; ls; > f; (redirection); (here_document)"),
        ("cat <<'E'\n$(x)\nE\n", "cat; (here_document)"),
        ("cp a.{c,h} {1..3} {}", "cp|a.c|a.h|1|2|3|{}; (grouping)"),
        ("a 'é' b", "a|é|b"),
        # what may run or mean something else
        ("cat <<E\n$(x)\nE", "no: here_document"),
        ("cat <<E\n`x`\nE", "no: here_document"),
        ("cat <<E\na\\\nE\nE", "no: here_document"),
        ("cat <<E x\na\nE", "no: here_document"),
        ("cat <<< a", "no: here_document"),
        ("a $(b)", "no: command_substitution"),
        ('a "$(b)"', "no: command_substitution"),
        ("a `b`", "no: command_substitution"),
        ("a $x", "no: expansion"),
        ("a $'x'", "no: expansion"),
        ("a <(b)", "no: process_substitution"),
        ("a =(b)", "no: syntax"),
        ("a b(c)", "no: syntax"),
        ("a *(.)", "no: syntax"),
        ("a f<1-3>", "no: glob"),
        ("a *", "no: glob"),
        ("a > *", "no: glob"),
        ("l? rm", "no: glob"),
        ("a &!", "no: syntax"),
        ("a &|", "no: syntax"),
        ("! a", "no: history_expansion"),
        ("a # b", "no: character"),
        ("f() { a; }", "no: compound"),
        ("if a; then b; fi", "no: compound"),
        ("for x in a; do b; done", "no: compound"),
        ("((a))", "no: grouping"),
        ("[[ -f a ]]", "no: syntax"),
        ("repeat 2 a", "no: reserved"),
        ("time a", "no: reserved"),
        ("noglob a", "no: builtin"),
        ("(eval b)", "no: builtin"),
        ("A=b a", "no: assignment"),
        ("{a,b} c", "no: syntax"),
        (">f {a,b}", "no: grouping"),
        ("x{a,b}", "no: grouping"),
        ("a {b", "no: grouping"),
        ("a {1..99999}", "no: grouping"),
        ("a >&f2 2>&-", "no: redirection"),
        ("a 10>f", "no: redirection"),
        ("a >b 0<c", "no: redirection"),
        ("a 2&> b", "no: redirection"),
        ("a - 2>&1", "no: syntax"),
        ("a \0", "no: character"),
        ("", "no: empty"),
        ("a " * 2000, "no: length"),
    ],
)
def test_structures(line: str, expected: str) -> None:
    assert parts(line) == expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a{b,c}", "ab ac"),
        ("{a,b}{c,d}", "ac ad bc bd"),
        ("x{3..1}", "x3 x2 x1"),
        ("a{,b}", "a ab"),
        ("{1..2}{b,c}", "1b 1c 2b 2c"),
    ],
)
def test_braces(text: str, names: str) -> None:
    assert expand_braces(text) == names.split()


@pytest.mark.parametrize(
    "text", ["{a}", "{", "}", "{a..c}", "{1..900}", "a}b", "{01..3}", "{a,b", "{a,{b,c}}"]
)
def test_other_braces_are_not_understood(text: str) -> None:
    with pytest.raises(Stop):
        expand_braces(text)


def test_both_readings_of_what_runs_by_itself_agree() -> None:
    allowed = [case.line for case in cases() if "A" in case.letters]
    allowed += [row.line for row in lines() if row.effect == "allow"]
    for line in allowed:
        read = read_line(line)
        assert isinstance(read, tuple)
        assert agrees(line, read), line


@pytest.mark.parametrize(
    "line", ["a - 2>&1", "a 10>/dev/null", "a >/dev/null 0</dev/null", "if a; then b; fi"]
)
def test_a_line_that_is_taken_apart_in_two_ways(line: str) -> None:
    read = read_line(line)
    assert isinstance(read, tuple)
    assert not agrees(line, read)


def test_a_long_line_has_one_reading() -> None:
    line = "a | " * 49 + "b " * 1000
    read = read_line(line)
    assert isinstance(read, tuple)
    assert agrees(line, read)


@given(st.integers(0, 10_000))
def test_any_line_has_a_structure_or_a_known_construct(seed: int) -> None:
    for line in Traps(seed).lines(5):
        found = read_structure(line)
        assert isinstance(found, Structure) or found.construct in CONSTRUCTS
