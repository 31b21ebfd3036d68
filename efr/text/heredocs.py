"""A command without the bodies of its heredocs: what it runs, not the file that it writes.

Pure. Follows quotes, `$( … )`, backquotes and arithmetic as far as it takes to tell a heredoc's
`<<` from others, also in `"$(cat <<EOF …)"`; it is no shell parser. A body without its end is the
rest of the text. Source: zshmisc(1), "Redirection".
"""

from __future__ import annotations

import re
from typing import Final

_NEXT = re.compile(r"[\\'\"$`#<(){}\n]")  # nothing else changes how the text reads on
_WORD = re.compile(r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|<>()'"\\])+""", re.DOTALL)
_QUOTING = re.compile(r"\\(.)|['\"]", re.DOTALL)
_SINGLE = re.compile(r"[^']*'?")
_ANSI = re.compile(r"(?:\\.|[^'\\])*'?", re.DOTALL)

_ARITHMETIC: Final = 1000  # signs: nobody writes a longer one, and to look on would take long

# What is open around a position; what closes it. In `"` only `$`, backquotes and `\` count.
_TEXT: Final = '"'
_CLOSED_BY: Final = {"(": ")", "{": "}", "`": "`", _TEXT: _TEXT}


def without_heredocs(command: str) -> str:
    """The command; each heredoc's lines up to its delimiter's are left out."""
    if "<<" not in command or "\n" not in command:
        return command
    return _Reader(command).read()


class _Reader:
    """One pass from the left."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._at = 0
        self._kept_from = 0
        self._kept: list[str] = []
        self._open: list[str] = []
        self._pending: list[tuple[str, bool]] = []  # delimiters, and whether tabs may stand before

    def read(self) -> str:
        while found := _NEXT.search(self._command, self._at):
            self._at = found.end()
            self._step(found[0])
        self._kept.append(self._command[self._kept_from :])
        return "".join(self._kept)

    def _step(self, sign: str) -> None:
        inside = self._open[-1] if self._open else ""
        if sign == "\\":
            self._at += 1
        elif sign == _CLOSED_BY.get(inside):
            self._open.pop()
        elif sign == "$":
            self._dollar(inside)
        elif sign == "`":
            self._open.append(sign)
        elif inside != _TEXT:
            self._code(sign)

    def _dollar(self, inside: str) -> None:
        text, at = self._command, self._at
        if text.startswith("((", at):
            self._skip_arithmetic(at + 2)
        elif text.startswith(("(", "{"), at):
            self._open.append(text[at])
            self._at += 1
        elif text.startswith("'", at) and inside != _TEXT:
            self._skip(_ANSI, at + 1)

    def _code(self, sign: str) -> None:
        """A sign outside of double quotes."""
        text, at = self._command, self._at
        if sign == "'":
            self._skip(_SINGLE, at)
        elif sign == '"':
            self._open.append(sign)
        elif sign == "(" and text.startswith("(", at):
            self._skip_arithmetic(at + 1)
        elif sign == "(":
            self._open.append(sign)
        elif sign == "#" and (at == 1 or text[at - 2] in " \t\n;&|("):
            end = text.find("\n", at)
            self._at = len(text) if end < 0 else end
        elif sign == "<":
            self._redirection()
        elif sign == "\n" and self._pending:
            self._leave_out_bodies()

    def _skip(self, pattern: re.Pattern[str], at: int) -> None:
        found = pattern.match(self._command, at)
        self._at = found.end() if found else at

    def _skip_arithmetic(self, at: int) -> None:
        """To the `))`; when it is none after all (two subshells), its signs are read again."""
        depth = 2
        for place in range(at, min(at + _ARITHMETIC, len(self._command))):
            sign = self._command[place]
            if sign == "\n":
                break
            depth += (sign == "(") - (sign == ")")
            if depth == 0:
                self._at = place + 1
                return
        self._open += ["(", "("]
        self._at = at

    def _redirection(self) -> None:
        """Behind a `<`: a heredoc, a here-string or another redirection."""
        text = self._command
        if not text.startswith("<", self._at):
            return
        self._at += 1
        if text.startswith("<", self._at):
            self._at += 1
            return
        tabs = text.startswith("-", self._at)
        at = self._at + tabs
        while text.startswith((" ", "\t"), at):
            at += 1
        if word := _WORD.match(text, at):
            self._pending.append((_QUOTING.sub(r"\1", word[0]), tabs))
            self._at = word.end()

    def _leave_out_bodies(self) -> None:
        text = self._command
        self._kept.append(text[self._kept_from : self._at])
        for delimiter, tabs in self._pending:
            while self._at < len(text):
                end = text.find("\n", self._at)
                end = len(text) if end < 0 else end
                line = text[self._at : end]
                self._at = min(end + 1, len(text))
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self._pending.clear()
        self._kept_from = self._at
