"""Lines of a grammar that loves traps: quotes, globs, qualifiers, substitutions, odd operators.

A line is mostly plain, with a trap or two, so that a good part of them is read; the rest is soup.
Names are relative and short; nothing here names a file outside the directory where it runs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

PROGRAMS = (
    "ls", "cat", "echo", "grep", "rm", "mv", "git", "make", "cd", "printf", "find", "aa", "bb",
    "x", "pushd", "popd", "which", "type", "test", "true", "sed", "./run", "if", "time", "repeat",
    "noglob", "command", "nocorrect", "env", "xargs", "sudo",
)  # fmt: skip
_PLAIN = (
    "a", "b", "-n", "-rf", "--all", "--x=y", "d/a", "./a", "../a", "a.txt", "1", "42", "-", "--",
    "a:b", "@a", "a=b", "%s", "+x", ",", ".", "..", "~", "~/a", "a,b", "HEAD@1", "u@h:p", "A+=b",
)  # fmt: skip
_QUOTED = (
    "'a b'", '"a b"', "a\\ b", "''", '""', "'$(rm x)'", "'`rm x`'", "'!'", "'a\nb'", '"a\tb"',
    "'é'", '"é"', "'a''b'", "a'b'\"c\"d", "\\$x", "\\;", "\\(a\\)", "'~'", "\\~", "'*'", "\\*",
    "\"it's\"", "'say \"x\"'", '"\\$x \\` \\" \\\\"', "'\\'", "a\\'b", "'#'", "\\#", "'=ls'",
    "'<'", "\\>", "'&&'", "x'y'=z", "'A=b'", "-'n'", "''a", "'\u00a0'", "\\!", "'a;b'", "\\\"",
)  # fmt: skip
_TRAPS = (
    "*", "a*", "?", "[ab]", "a[bc]d", "*(.)", "./*(e:'rm x':)", "*(+x)", "a*(N)", "**/a", "a#",
    "#a", "a^b", "^a", "a~b", "~root", "~+", "=ls", "=(ls)", "<(ls)", ">(cat)", "$(rm x)",
    "`rm x`", "$x", "${x}", "${(e)x}", "$'a\\nb'", "$\"a\"", "\"$x\"", "\"$(rm x)\"",
    "\"a`rm x`\"", "$((1+1))", "$[1+1]", "{a,b}", "a{b,c}d", "{1..3}", "{}", "{a}", "}", "{", "!",
    "!!", "!x", "\"a!\"", "a!b", "f<1-3>", "<->", "<1-9>", "\u00a0", "a\u00a0b", "\u2003",
    "\u2028", "é", "\0", "a\0b", "\r", "\x07", "\x85", "a\\\nb", "\\\n", "'open", '"open', "`",
    "$(", "(", ")", "((", "))", "[[", "]]", "a(b)", "(a|b)", "a|b", "x=(1 2)", "x[1]=2", "A=b",
    "LC_ALL=C", "TZ=a*", "COLUMNS=9", "COLUMNS='a[$(rm x)]'", "PATH=d", "[a-", "a]", "@(a|b)",
    "+(a)", "?(a)", "!(a)", "a##", "(#i)a", "a(#q.)", "~a", "a=~/b", "--x=~", "--x==ls", "%1",
    "%%", "&", "a&b", "a;b", "a<b", "a>b", "2>b", "a2>b", "12>b",
)  # fmt: skip
_JOINS = (
    *("; ", " && ", " || ", " | ", "\n") * 4,
    *(" |& ", " & ", ";", "|", "&&", " &! ", " &| ", ";; ", ";& ", ";| ", "; ; ", " &\n", "\n\n"),
    *(" | ! ", " && ! ", "|| \n", "|\n", " & & ", "&;", ";\n"),
)
_REDIRECTIONS = (
    *(" > /dev/null", " 2>&1", " >/dev/null 2>&1", " < a", " 2>/dev/null", " &>/dev/null") * 3,
    *(" > out", " >> out", " >| out", " >! out", " >>! out", " &> out", " >& out", " &>> out"),
    *(" &>| out", " >&| out", " >>& out", " <> a", " 2>&-", " <&-", " >&p", " 3>&1 >out", " 1>&2"),
    *(" <<< a", " <<< 'a b'", " <<<a", " < a > /dev/null b", " > 'out'", " >out a", " 10>&1"),
    *(" >&2a", " > /dev/null/x", " < <(ls)", " > >(cat)", " {fd}> out", " 2> out", " >&22"),
    *(" >/dev/null > out", " < a < b", " >o*", " >~/out", " > $x", " 0<a", " 5<&0", " 2>>out"),
    *("<a", " 2 > out", " 2&> out", " 1&>/dev/null"),
)
_DOCUMENTS = (
    " <<E\ntext\nE\n", " <<'E'\n$(rm x)\nE\n", " <<E\n$(rm x)\nE\n", " <<-E\n\ta\n\tE\n",
    " <<E\nE \nE\n", " <<\"E\"\n`rm x`\nE\n", " <<E > out\na\nE\n", " <<E; x\na\nE\n",
    " << E\na\nE\n", " <<E\nrm x\n", " <<E <<F\na\nE\nb\nF\n", " <<E\\F\na\nE\n",
    " <<E | cat\na\nE\n", " <<\\E\na\nE\n", " <<E$x\na\nE\n", " <<E\na\\\nE\nE\n", " <<''\na\n\n",
    " <<E\n E\nE\nrm x\nE\n",
)  # fmt: skip
_WRAPPED = (
    "({})", "( {} )", "{ {}; }", "{ {} }", "{{};}", "({}) > out", "{ {}; } | cat", "! {}",
    "if {}; then x; fi", "for f in a b; do {}; done", "for f (a b) {}", "repeat 2 {}",
    "f() { {}; }", "while {}; do break; done", "case a in a) {};; esac", "f() {}",
    "function f { {} }", "({} )&", "time {}", "coproc {}", "(( 1 )) && {}", "[[ -f a ]] && {}",
    "if (true) {}", "foreach f (a) {}; end", "({};{})", "{ {}; {}; }", "(({}))", "$({})", "`{}`",
    "eval '{}'", "{} # note", "#{}", "{} #", "$(echo {})", "() { {} } a", "always {}",
    "{ {} } always { x }", "{} |", "| {}", "&& {}", "{} &&", "{};;", "; {}", "{} \\",
    "until false; do {}; done", "select f in a; do {}; done", "- {}", "x={}", "x=a {}",
    "LC_ALL=C {}", "if {} { x }", "cd a && ({} | x) &", "{} ) (", "[ a = b ] && {}",
)  # fmt: skip
_SOUP = (*"ab '\"\\$`(){}[]<>|&;!#~^*?=-.:,@%+\n\t1", "\u00a0", "é", "\0", "ls", "rm x", "&&")


class Traps:
    """A stream of lines, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def lines(self, count: int) -> Iterator[str]:
        for _ in range(count):
            yield self.line()

    def line(self) -> str:
        """One line of up to a few commands."""
        pick = self._random.random()
        if pick < 0.08:
            return "".join(self._random.choices(_SOUP, k=self._random.randrange(1, 25)))
        text = self._list()
        if pick < 0.30:
            text = self._random.choice(_WRAPPED).replace("{}", text)
            if self._random.random() < 0.3:
                text += self._random.choice(_JOINS) + self._command()
        return self._cut(text) if pick > 0.96 else text

    def _list(self) -> str:
        text = self._command()
        while self._random.random() < 0.45:
            text += self._random.choice(_JOINS) + self._command()
        return text

    def _command(self) -> str:
        words = [self._random.choice(PROGRAMS)]
        if self._random.random() < 0.06:
            words.insert(0, self._random.choice(("LC_ALL=C", "TZ='a b'", "A=b", "LINES=5", "x=")))
        while self._random.random() < 0.62:
            words.append(self._word())
        text = words[0] + "".join(self._blank() + word for word in words[1:])
        while self._random.random() < 0.16:
            text += self._random.choice(_REDIRECTIONS)
        if self._random.random() < 0.04:
            text += self._random.choice(_DOCUMENTS)
        return text

    def _word(self) -> str:
        pick = self._random.random()
        if pick < 0.5:
            return self._random.choice(_PLAIN)
        if pick < 0.8:
            return self._random.choice(_QUOTED)
        if pick < 0.93:
            return self._random.choice(_TRAPS)
        parts = (_PLAIN, _QUOTED, _QUOTED, _TRAPS)
        return "".join(self._random.choice(self._random.choice(parts)) for _ in range(2))

    def _blank(self) -> str:
        return self._random.choice((" ",) * 12 + ("  ", "\t", " \t "))

    def _cut(self, text: str) -> str:
        """A sign lost, doubled or moved."""
        at = self._random.randrange(len(text) + 1)
        sign: str = self._random.choice(("", *_SOUP))
        return text[:at] + sign + text[at + 1 :]
