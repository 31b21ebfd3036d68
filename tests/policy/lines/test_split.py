"""The lenient split: it finds every command that may run, and never fails."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.policy.lines.split import LineWord, split_line
from efr.policy.reader import read_line

HOME = "/home/u"


def words(line: str) -> list[list[str]]:
    return [[word.text for word in command.words] for command in split_line(line, HOME).commands]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -l 'a b' \"c d\" e\\ f", [["ls", "-l", "a b", "c d", "e f"]]),
        ("a;b\nc&&d||e|f &g", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("(cd x; ls) && { rm y; }", [["cd", "x"], ["ls"], ["rm", "y"]]),
        ("echo $(cat a) b", [["cat", "a"], ["echo", "", "b"]]),
        ('echo "x $(cat "a b") y" z', [["cat", "a b"], ["echo", "x  y", "z"]]),
        ("echo `cat a` b", [["cat", "a"], ["echo", "", "b"]]),
        ('echo "`cat a`" b', [["cat", "a"], ["echo", "", "b"]]),
        ("echo ${x:-$(cat a)} b", [["cat", "a"], ["echo", "x:-", "b"]]),
        ("echo \"${x:-it's}\"; cat a", [["echo", "x:-it's"], ["cat", "a"]]),
        ("diff <(cat a) >(cat b) c", [["cat", "a"], ["cat", "b"], ["diff", "", "", "c"]]),
        ("cat =(cat a)", [["cat", "="], ["cat", "a"], ["cat", "="]]),
        ("echo $((1+1)) x", [["x"], ["1+1"], ["echo", "", "x"]]),
        ("cat ~/a $HOME/b ${HOME}/c \"$HOME/d\" \"$HOME\"/e ~", [
            ["cat", f"{HOME}/a", f"{HOME}/b", f"{HOME}/c", f"{HOME}/d", f"{HOME}/e", HOME]]),
        ("cat '~/a' \"~/b\" ~root/c '$HOME/d' x~", [
            ["cat", "~/a", "~/b", "~root/c", "$HOME/d", "x~"]]),
        ("cat ~u/a ~u ~uu/b x~u", [["cat", f"{HOME}/a", HOME, "~uu/b", "x~u"]]),
        ("cat a\\\nb", [["cat", "ab"]]),
        ("cat 'open a; b", [["cat", "open a; b"]]),
        ("echo $'a\\'; b' c", [["echo", "", "c"]]),
        ("a ) b", [["a"], ["b"]]),
        ("", []),
    ],
)  # fmt: skip
def test_commands(line: str, expected: list[list[str]]) -> None:
    assert words(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # braces in a word: the names that they stand for
        ("cat {} ~/a", [["cat", "{}", f"{HOME}/a"]]),
        ("find . -exec cp {} ~/a \\;", [["find", ".", "-exec", "cp", "{}", f"{HOME}/a", ";"]]),
        ("xargs -I {} rm {} a", [["xargs", "-I", "{}", "rm", "{}", "a"]]),
        ("cat {a,b} c", [["cat", "a", "b", "c"]]),
        ("cat x{a,{b,c}d}y{1..3} z", [["cat", *(f"x{a}y{n}" for a in ("a", "bd", "cd")
                                                for n in "123"), "z"]]),
        ("cat {~/a,$HOME/b,\"$HOME\"/c}", [["cat", *(f"{HOME}/{name}" for name in "abc")]]),
        ("cat ~/.s{sh/a,x}", [["cat", f"{HOME}/.ssh/a", f"{HOME}/.sx"]]),
        ("cat {'a,b',c\\,d}", [["cat", "a,b", "c,d"]]),
        ("cat '{a,b}' {a {a,b {x} }", [["cat", "{a,b}", "{a", "{a,b", "{x}"],
                                       ["cat", "{a,b}", "{a", "{a,b", "{x}", "}"]]),
        ("cat a}{b,c}", [["cat", "a}b", "a}c"]]),
        ("cat {3..1..2} {a..c} {1..999}", [["cat", "3", "1", "a", "b", "c", "*"]]),
        ("r{m,x} a", [["rm", "rx", "a"]]),
        ("for i in {1..2}; do rm $i; done", [["for", "i", "in", "1", "2"], ["do", "rm", "i"],
                                             ["done"]]),
        # a pattern or a list in parentheses ends no command either
        ("cat (a|b) ~/a", [["cat"], ["a"], ["b"], [f"{HOME}/a"], ["cat", "", f"{HOME}/a"]]),
        ("cat *(.) a; ls", [["cat", "*"], ["."], ["a"], ["cat", "*", "a"], ["ls"]]),
        ("for f (a b) rm x", [["for", "f"], ["a", "b"], ["rm", "x"],
                              ["for", "f", "", "rm", "x"]]),
        # braces that may be a group as well
        ("cat { {~/a,b}", [["cat"], [f"{HOME}/a,b"], [f"{HOME}/a,b}}"], [f"{HOME}/a", "b"],
                           ["cat", "{", f"{HOME}/a", "b"]]),
        ("{ls a}", [["ls", "a"], ["ls", "a}"]]),
        ("ls a}b }c d", [["ls", "a}b", "}c", "d"]]),
        ("ls a}; cd b", [["ls", "a"], ["ls", "a}"], ["cd", "b"]]),
        ("if x { rm a }", [["if", "x"], ["rm", "a"], ["if", "x", "{", "rm", "a", "}"],
                           ["rm", "a", "}"]]),
        ("if x {rm a}", [["rm", "a"], ["rm", "a}"], ["if", "x", "{rm", "a"],
                         ["if", "x", "{rm", "a}"]]),
    ],
)  # fmt: skip
def test_braces_and_parentheses(line: str, expected: list[list[str]]) -> None:
    assert sorted(words(line)) == sorted(expected)


def test_braces_that_stand_for_too_many_names_cut_the_line() -> None:
    assert split_line("cat " + "{a,b}" * 9, HOME).cut
    assert split_line("cat " + "{" * 2000, HOME).cut
    assert split_line("cat {1..200} {1..200} {1..200}", HOME).cut
    assert split_line("cat {1..200}; " * 3, HOME).cut
    assert split_line("cat " + "x } " * 20, HOME).cut
    assert not split_line("cat " + "{a,b} " * 200, HOME).cut


@pytest.mark.parametrize(
    ("line", "reads", "writes"),
    [
        ("a < in > out", ["in"], ["out"]),
        ("a <in >>out 2>err", ["in"], ["out", "err"]),
        ("a &>out; b >| out2; c >! out3; d &>> out4", [], ["out", "out2", "out3", "out4"]),
        ("a >& out 2>&1 <&- >&p", [], ["out"]),
        ("a <> both >/dev/null", [], ["both"]),
        ("a >&| out >>&! out2", [], ["out", "out2"]),
        ("a > { b", [], ["{"]),
        ("a >&22{", [], ["22{"]),
        ("{ a > b }; { c >d}", [], ["b", "d"]),
        ("a 2>&1\u00a0", [], ["1\u00a0"]),  # no blank to zsh
        ("a <<EOF <<< word", [], []),
        ("> ~/x", [], [f"{HOME}/x"]),
        ("(a) > x", [], ["x"]),
        ("a 12>x", [], ["x"]),
        ("a < {in,~/b} > out{1,2}", ["in", f"{HOME}/b"], ["out1", "out2"]),
    ],
)
def test_redirections(line: str, reads: list[str], writes: list[str]) -> None:
    commands = split_line(line, HOME).commands
    assert [word.text for command in commands for word in command.reads] == reads
    assert [word.text for command in commands for word in command.writes] == writes


def test_only_one_digit_is_a_descriptor() -> None:
    assert words("a ''2>z; b 2>z") == [["a", "2"], ["b"]]
    assert words("a 2>x 12>y '2'>z \\2>z") == [["a", "12", "2", "2"]]


def test_words_know_what_the_line_does_not_show() -> None:
    (command,) = split_line("A=b cat x$y a*b'*' \\*", HOME).commands
    assert command.words[2:] == (
        LineWord("xy", expansion=True),
        LineWord("a*b*", pattern_at=1),
        LineWord("*"),
    )
    assert command.after_assignments()[0] == LineWord("cat")


@pytest.mark.parametrize(
    "line", ["$(a)", "`a`", "$x", "(a)", "{ a; }", "a <<E", "a!", "'a", "$HOME"]
)
def test_opaque(line: str) -> None:
    assert split_line(line, HOME).opaque


def test_a_plain_line_is_not_opaque() -> None:
    assert not split_line("ls ~/a 'b$c' | cat > x; d* 2>&1 && e", HOME).opaque


SIGNS = "ab ~'\"\\$`(){};|&<>*!=\n/"


@given(st.text(st.sampled_from(SIGNS), max_size=40))
def test_any_text_is_split(line: str) -> None:
    split_line(line, HOME)


@given(st.text(st.sampled_from("ab '\"\\;|&\n-/.=*1<"), max_size=25))
def test_what_the_strict_reader_reads_is_split_the_same(line: str) -> None:
    read = read_line(line)
    if isinstance(read, tuple) and not any("=" in command.program for command in read):
        strict = [[word.text for word in command.words] for command in read]
        commands = split_line(line, HOME).commands
        lenient = [[word.text for word in c.after_assignments()] for c in commands]
        assert [command for command in lenient if command] == strict


@pytest.mark.parametrize(
    "piece", ["$(", "`", '"$(', "${", "(", ")", "a;", "'", '"', "$(`", "sudo "]
)
def test_deep_and_long_lines_take_no_longer(piece: str) -> None:
    split_line(piece * (30_000 // len(piece)), HOME)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # the text of a plain document is no command, unless it holds one
        ("cat <<E > f\nrm x\nE\nls", [["cat"], ["ls"]]),
        ("cat <<'E'\n$(rm x)\nE\nls", [["cat"], ["ls"]]),
        ("cat <<-E <<F\na\n\tE\nb\nF\nls", [["cat"], ["ls"]]),
        ("cat <<E\nE x\nE\nls", [["cat"], ["ls"]]),
        ("cat <<E\na 'b $(rm x) c\nE\nls", [["rm", "x"], ["cat"], ["ls"]]),
        ('cat <<E\n"`rm x`\nE\nls', [["rm", "x"], ["cat"], ["ls"]]),
        ("cat <<E\n\\$(rm x) ${y:-$(ls)}\nE", [["ls"], ["cat"]]),
        # what may be no document is split
        ("# <<E\nrm x\nE", [["#"], ["rm", "x"], ["E"]]),
        ("ls # <<E\nrm x\nE", [["ls", "#"], ["rm", "x"], ["E"]]),
        ("cat $(true <<E\nrm x\nE\n)", [["true"], ["rm", "x"], ["E"], ["cat", ""]]),
        ("cat <<E $(ls\nrm x\nE\n)", [["ls"], ["rm", "x"], ["E"], ["cat", ""]]),
        ("cat <<E\nrm x", [["cat"], ["rm", "x"]]),
        ("cat <<E$x\nrm x\nE", [["cat"], ["rm", "x"], ["E"]]),
        ("cat <<E\\F\nrm x\nE", [["cat"], ["rm", "x"], ["E"]]),
        ("cat <<'E'\nx\\\nE\nrm x\nE", [["cat"], ["xE"], ["rm", "x"], ["E"]]),
        # arithmetic ends where it says, whatever quotes it holds
        ('((1 "a)); rm x', [["rm", "x"], ["1", "a)); rm x"]]),
        ("((1 '`rm x`'))", [["rm", "x"], ["1", "`rm x`"]]),
        ("echo $((1 'a)); rm x", [["rm", "x"], ["1", "a)); rm x"], ["echo", ""]]),
        # a range of numbers is a pattern
        ("cat f<1-3>|rm <->", [["cat", "f<1-3>"], ["rm", "<->"]]),
        # a backslash joins lines outside single quotes, and not behind another
        ("echo \\\\\nrm x", [["echo", "\\"], ["rm", "x"]]),
        ("ec\\\nho 'a\\\nb' \"c\\\nd\"", [["echo", "a\\\nb", "cd"]]),
    ],
)
def test_documents_and_joined_lines(line: str, expected: list[list[str]]) -> None:
    assert words(line) == expected


@pytest.mark.parametrize(
    "piece",
    ["a ", "a;", "{", "$(", "'x' ", "cat <<E\n$(x)\n", "$((", "((1 '", "$(<<E\n`", "((`x`"],
)
def test_a_line_of_too_many_parts_is_cut(piece: str) -> None:
    assert split_line(piece * 40_000, HOME).cut
    assert not split_line(piece * 2, HOME).cut
