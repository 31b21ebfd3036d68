"""The strict reader: words, operators, constructs, and that zsh reads the same words."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.policy.reader import (
    BUILTINS,
    CONSTRUCTS,
    SimpleCommand,
    Unreadable,
    Word,
    read_line,
)
from tests.policy.corpus import cases

SIGNS = "ab1 \t\n'\"\\;|&<>(){}[]*?$`!~=#^-/.:,+@%é"


def words(line: str) -> list[list[str]] | str:
    """The words of each command, or the construct."""
    read = read_line(line)
    if isinstance(read, Unreadable):
        return f"{read.construct} {read.detail}".strip()
    return [[word.text for word in command.words] for command in read]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -l 'a b' \"c d\" e\\ f", [["ls", "-l", "a b", "c d", "e f"]]),
        ("a; b\nc && d || e | f |& g;", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a |\n\n b", [["a"], ["b"]]),
        ('x "a\\$b\\`c\\"d\\\\e\\f"', [["x", 'a$b`c"d\\e\\f']]),
        ("x ''", [["x", ""]]),
        ("x a'b'\"c\"d", [["x", "abcd"]]),
        ("ls 2>&1 >/dev/null 2> /dev/null &>> /dev/null < in <&0", [["ls"]]),
        ("ls 10>/dev/null", [["ls", "10"]]),
        ("ls 2&>/dev/null", [["ls"]]),
        (">/dev/null ls", [["ls"]]),
        ("TZ=UTC LC_ALL=C LINES=5 ls A=b", [["ls", "A=b"]]),
        ("'A=b' x", [["A=b", "x"]]),
        ("ls ~ ~/x a~", [["ls", "~", "~/x", "a~"]]),
        ("printf 'a\tb\nc'", [["printf", "a\tb\nc"]]),
        ("", "empty"),
        ("\n\n", "empty"),
        (";", "syntax"),
        ("ls; ; pwd", "syntax"),
        ("&& ls", "syntax"),
        ("ls |", "syntax"),
        ("ls || && pwd", "syntax"),
        ("ls >", "syntax"),
        ("ls > ; pwd", "syntax"),
        ("< f", "empty"),
        ("LINES=123456 ls", "assignment"),
        ("LC_ALL+=C ls", [["ls"]]),
        ("LANG=de_DE.UTF-8 LANGUAGE=de:en LC_TIME=C.utf8@x TERM=xterm-256color ls", [["ls"]]),
        ("TZ=Europe/Berlin TZ=:UTC TZ=CET-1CEST,M3.5.0,M10.5.0/3 date", [["date"]]),
        ("LANGUAGE=/tmp/x ls", "assignment"),
        ("LANGUAGE=de:../../tmp/x ls", "assignment"),
        ("LANGUAGE=.. ls", "assignment"),
        ("LANG=~ ls", "assignment"),
        ("LC_ALL='/tmp/x' ls", "assignment"),
        ("LC_MESSAGES+=/tmp/x ls", "assignment"),
        ("TERM=/tmp/x ls", "assignment"),
        ("TZ=/etc/shadow date", "assignment"),
        ("TZ=:/etc/shadow date", "assignment"),
        ("TZ=a/../../../etc/shadow date", "assignment"),
        ("TZ=~/x date", "assignment"),
        ("NLSPATH=/x ls", "assignment"),
        ("TEXTDOMAINDIR=/x ls", "assignment"),
        ("ls '' \\", "unfinished"),
        ("l? rm", "glob"),
        ("ls \\\nx", "unfinished"),
        ('ls "a\x07"', "character U+0007"),
        ("ls 'a\x9b'", "character U+009B"),
        ("ls 'a\nb'", [["ls", "a\nb"]]),
        ("ls ''*", "glob"),
        ("ls '-'*", "glob"),
        ("ls ''~", "character ~"),
        ("ls ''=x", "character ="),
        ("ls a\rb", "character U+000D"),
        ("ls <<x", "here_document"),
        ("ls >>! x", "redirection"),
        ("ls >&p", "redirection"),
        ("ls >&1a", "redirection"),
        ("ls > /dev/nul?", "redirection"),
        ("ls > /dev/null/../../x", "redirection"),
        ("x " + "a" * 65_536, "length"),
        (";".join(["ls"] * 50), [["ls"]] * 50),
        (";".join(["ls"] * 51), "parts"),
    ],
)
def test_lines(line: str, expected: list[list[str]] | str) -> None:
    assert words(line) == expected


def test_a_word_knows_its_patterns_quotes_and_assignments() -> None:
    read = read_line("TZ='a b' ls a* 'a*' x=1 ~ \"~\"")
    assert read == (
        SimpleCommand(
            (
                Word("ls"),
                Word("a*", pattern=True),
                Word("a*", quoted=True),
                Word("x=1", assigns=True),
                Word("~"),
                Word("~", quoted=True),
            )
        ),
    )


def test_the_corpus_names_the_construct_or_reads_the_line() -> None:
    for case in cases():
        read = read_line(case.line)
        if case.construct is None:
            assert isinstance(read, tuple), case
            continue
        assert isinstance(read, Unreadable), case
        assert (read.construct, read.detail) == (case.construct, case.detail or read.detail), case
        assert read.words


@pytest.mark.parametrize("name", sorted(BUILTINS - {"."}))
def test_a_builtin_that_changes_the_shell_is_named(name: str) -> None:
    for line in (f"{name} x", f"ls | '{name}' x", f"TZ=x {name}"):
        assert words(line) == f"builtin {name}"


@given(st.text(st.sampled_from(SIGNS), max_size=30))
def test_any_text_is_words_or_a_known_construct(line: str) -> None:
    read = read_line(line)
    assert isinstance(read, tuple) or read.construct in CONSTRUCTS


@given(st.text(st.sampled_from(SIGNS), max_size=20), st.sampled_from(["$(x)", "`x`", "${x}", "$x"]))
def test_a_substitution_outside_single_quotes_is_never_read(text: str, inner: str) -> None:
    assert isinstance(read_line(f"ls {inner} {text}"), Unreadable)
    assert isinstance(read_line(f'ls "a {inner}" {text}'), Unreadable)
    assert isinstance(read_line(f"ls a{inner}"), Unreadable)


# The options that a user may have set and that change how words are read.
_OPTIONS = "extended_glob null_glob interactive_comments"
_SHOW = r"""show() { print -rn -- "$#"; for word; print -rn -- $'\1'"$word"; print -rn -- $'\2' }"""
_PIECES = [
    *("a", "b c", "'", "''", '"', '""', "\\", "\\ ", " ", "x=1", "-n", "~", "~/d", "1", "12", "\t"),
    *("</dev/null ", "/", ".", ",", "%", "@", "+", "=", "é", "\n", "; "),
]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize("seed", range(2))
def test_zsh_reads_the_same_words(seed: int) -> None:
    choose = random.Random(seed)
    texts = ("".join(choose.choices(_PIECES, k=choose.randrange(10))) for _ in range(10_000))
    lines = dict(_comparable(f"show {text}" for text in texts))
    assert len(lines) > 500
    ended = "\nprint -rn -- $'\\3'\n"
    script = f"setopt {_OPTIONS}\n{_SHOW}\n" + "".join(line + ended for line in lines)
    done = subprocess.run(
        ["zsh", "-f"], input=script.encode(), env={"HOME": "/h"}, capture_output=True, timeout=50
    )
    assert done.stderr == b""
    assert done.stdout.decode().split("\3")[:-1] == list(lines.values())


def _comparable(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Lines of one `show` whose output is seen and that holds no pattern, and what it shows."""
    for line in lines:
        read = read_line(line)
        if not isinstance(read, tuple) or len(read) != 1 or "1<" in line:
            continue
        given_words = read[0].words[1:]
        if not any(word.pattern or _is_half_quoted_home(word) for word in given_words):
            shown = "".join(f"\1{_expanded(word)}" for word in given_words)
            yield line, f"{len(given_words)}{shown}\2"


def _is_half_quoted_home(word: Word) -> bool:
    return word.quoted and word.text.startswith("~")


def _expanded(word: Word) -> str:
    is_home = word.text == "~" or word.text.startswith("~/")
    return "/h" + word.text[1:] if is_home else word.text
