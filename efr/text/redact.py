"""Hiding secrets in text that is kept or shown: commands, titles, what the search index holds.

Pure. A list of patterns and not a shell parser; it hides too much rather than too little. Each
pattern finds places on its own and knows nothing of the others; the tables of what a secret looks
like are in `efr.text.secret_forms`. The time grows with the length alone. Secrets in prose ("my
password is hunter2") slip through, and the docs say so.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final

from efr.text.secret_forms import (
    PASSWORD_OPTIONS,
    REDACTION_VERSION,
    SAFE_OPTION,
    SCHEME,
    SECRET_HEADERS,
    SECRET_WORDS,
    PasswordOption,
    is_count,
    is_secret_name,
    normal_name,
)

__all__ = ["REDACTION_VERSION", "redact_command", "redact_title"]

_COMMAND_MARK: Final = "[redacted]"
_TITLE_MARK: Final = "[***]"

Span = tuple[int, int]


def redact_command(text: str) -> str:
    """The command with `[redacted]` where it holds a secret."""
    return _redact(text, _COMMAND_MARK)


def redact_title(text: str) -> str:
    """A title, or text for the search index, with `[***]` where it holds a secret."""
    return _redact(text, _TITLE_MARK)


def _redact(text: str, mark: str) -> str:
    source = _Source(text)
    parts: list[str] = []
    at = -1
    for start, end in sorted(_spans(source)):
        if start > at:  # spans that overlap or touch share one mark
            parts += (text[max(at, 0) : start], mark)
        at = max(at, end)
    return "".join((*parts, text[max(at, 0) :]))


# A shell word in pieces: escapes, quotes, `$'…'`, plain signs. Possessive: never tried twice.
_SINGLE = r"'[^']*+(?:'|\Z)"
_DOUBLE = r'"(?:\\.|[^"\\])*+(?:"|\\?\Z)'
_ANSI = r"\$'(?:\\.|[^'\\])*+(?:'|\\?\Z)"
_ESCAPED_QUOTE = r'\\"(?:(?!\\").)*+(?:\\"|\Z)'
_PLAIN = r"\\.|[^\s;&|<>()'\"\\`]"
_FIRST = f"{_ESCAPED_QUOTE}|{_SINGLE}|{_DOUBLE}|{_ANSI}|{_PLAIN}"
_ARRAY = r"\([^)]*+(?:\)|\Z)"
_WORDS: Final = {  # by the quote around the word: that sign ends it
    "": re.compile(f"{_ARRAY}|(?:{_FIRST})++", re.DOTALL),
    "'": re.compile(f"(?:{_FIRST})(?:{_DOUBLE}|{_PLAIN})*+", re.DOTALL),
    '"': re.compile(f"(?:{_FIRST})(?:{_SINGLE}|{_PLAIN})*+", re.DOTALL),
}
_TO_QUOTE: Final = {
    "'": re.compile(r"[^']*+"),
    '"': re.compile(r'(?:\\.|[^"\\])*+', re.DOTALL),
    '\\"': re.compile(r'(?:(?!\\").)*+', re.DOTALL),
}
_QUOTE_SIGNS = re.compile(r"\\.|['\"\n]", re.DOTALL)
_STAYS = re.compile(r"\"?(?:`|\$(?!['\"]))")  # a value that a variable or a command gives


class _Source:
    """The text, and which quotes are open where. A newline closes them: prose has apostrophes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._changes: list[tuple[int, str]] | None = None

    def outer(self, at: int) -> str:
        """The quote sign that a position stands in, or ""."""
        if self._changes is None:
            self._changes = list(_quote_changes(self.text))
        index = bisect_right(self._changes, (at, "\uffff")) - 1
        return self._changes[index][1] if index >= 0 else ""

    def word(self, at: int) -> Span:
        """The shell word that starts here; it may be empty."""
        found = _WORDS[self.outer(at)].match(self.text, at)
        return (at, found.end() if found else at)

    def to_quote(self, at: int, quote: str) -> Span:
        """Up to the sign that closes `quote`."""
        found = _TO_QUOTE[quote].match(self.text, at)
        return (at, found.end() if found else at)

    def stays(self, at: int) -> bool:
        """Whether the value that starts here is not written here: a variable gives it."""
        return _STAYS.match(self.text, at) is not None


def _quote_changes(text: str) -> Iterator[tuple[int, str]]:
    """(position from which it holds, open quote)."""
    quote = ""
    for sign in _QUOTE_SIGNS.finditer(text):
        if sign[0] == "\n" or sign[0] == quote:
            quote = ""
        elif quote or sign[0].startswith("\\"):
            continue
        else:
            quote = sign[0]
        yield sign.end(), quote


def _whole(_source: _Source, found: re.Match[str]) -> Span:
    """A token or key that shows what it is."""
    return found.span()


_ASSIGNMENT = re.compile(
    r"(?<![\w.-])-{0,2}(?P<name>[A-Za-z_][\w.-]*+)(?:\[[^\]\n]{0,64}\])?[\"']?"
    r"(?:\+?=|:=|[ \t]{1,8}=[ \t]{1,8})",
    re.ASCII,
)


def _assigned(source: _Source, found: re.Match[str]) -> Span | None:
    """`NAME=value`, `--name=value`, `?name=value&`, also inside the value of another one."""
    if not is_secret_name(found["name"]) or source.stays(found.end()):
        return None
    start = found.start()
    before = source.text[start - 1] if start else ""
    if before and before == source.outer(start):
        value = source.to_quote(found.end(), before)  # env 'NAME=a b'
    else:
        value = source.word(found.end())
    return _unless_count(source, found["name"], value)


def _unless_count(source: _Source, name: str, value: Span) -> Span | None:
    return None if is_count(name, source.text[slice(*value)]) else value


_OPTION = re.compile(r"(?<![\w-])--?(?P<name>[A-Za-z][\w.-]{3,})[ \t]+(?![\s-])", re.ASCII)


def _option_value(source: _Source, found: re.Match[str]) -> Span | None:
    """`--name value`."""
    name = found["name"]
    if not is_secret_name(name) or SAFE_OPTION.search(normal_name(name)):
        return None
    if source.stays(found.end()):
        return None
    return _unless_count(source, name, source.word(found.end()))


_MEMBER = re.compile(
    r"(?P<quote>\\?[\"'])(?P<name>[A-Za-z_][\w.-]*+)(?P=quote)[ \t]*:\s*", re.ASCII
)
_BARE_MEMBER = re.compile(r"\[[^\]]*+\]?|(?!(?:true|false|null|None)\b)[^\s,}\]\"'\[{]++")


def _member_value(source: _Source, found: re.Match[str]) -> Span | None:
    """`"name": "value"` of JSON and its kin."""
    if not is_secret_name(found["name"]):
        return None
    quote = found["quote"]
    if quote in _TO_QUOTE and source.text.startswith(quote, found.end()):
        return source.to_quote(found.end() + len(quote), quote)
    bare = _BARE_MEMBER.match(source.text, found.end())
    return _unless_count(source, found["name"], bare.span()) if bare else None


_URL = re.compile(r"://[^\s/@:'\"<>]*+:(?P<password>[^\s/'\"<>]*)@")


def _url_password(source: _Source, found: re.Match[str]) -> Span | None:
    """The password in `scheme://user:password@host`."""
    return None if source.stays(found.start("password")) else found.span("password")


_HEADER = re.compile(
    r"(?:(?<![\w.-])|(?<=[ \t]-H))(?P<name>[A-Za-z][A-Za-z0-9_-]*+):(?!/)[ \t]*", re.ASCII
)
# What stands before a header: an option, `=`, the start of a command, and then its quote.
_PLACE = re.compile(
    r"(?:[\n;|&({=]|(?<![\w-])-[A-Za-z]*H|--(?:proxy-)?header)[ \t]*(?:\\?[\"']|\$')?\Z"
)
_PLACE_REACH: Final = 40  # enough for the longest option and blanks
_HTTP_CLIENT = re.compile(r"(?<![\w.-])(?:https?|xhs?)[ \t]")
_HTTP_REACH: Final = 4096  # further back on the line is not looked at
_REST_OF_LINE = re.compile(r"[^\n]*")


def _header_value(source: _Source, found: re.Match[str]) -> Span | None:
    """The value of `Authorization:`, `Cookie:` and headers with a secret name; not the scheme."""
    text, start, at = source.text, found.start(), found.end()
    name = normal_name(found["name"])
    known = SECRET_HEADERS.fullmatch(name) is not None
    if not known and not (is_secret_name(name) and _is_header_place(source, found)):
        return None
    quote = next((q for q in ('\\"', '"', "'") if text.endswith(q, 0, start)), "")
    if not quote and text[at : at + 1] in {'"', "'"}:
        quote, at = text[at], at + 1
    scheme = SCHEME.match(text, at)
    at = scheme.end() if scheme else at
    if source.stays(at):
        return None
    if quote:
        return source.to_quote(at, quote)
    if start == 0 or text[start - 1] == "\n" or name.endswith("COOKIE"):
        rest = _REST_OF_LINE.match(text, at)
        return rest.span() if rest else None
    return source.word(at)


def _is_header_place(source: _Source, found: re.Match[str]) -> bool:
    text, start = source.text, found.start()
    if "-" in found["name"] and text[found.end() - 1] in " \t":
        return True
    near = text[max(start - _PLACE_REACH, 0) : start]
    if _PLACE.search(near if start > _PLACE_REACH else "\n" + near):
        return True
    line = max(text.rfind("\n", 0, start) + 1, start - _HTTP_REACH)
    return _HTTP_CLIENT.search(text, line, start) is not None


_PLACES: Final[
    tuple[tuple[re.Pattern[str], Callable[[_Source, re.Match[str]], Span | None]], ...]
] = (
    (SECRET_WORDS, _whole),
    (_ASSIGNMENT, _assigned),
    (_OPTION, _option_value),
    (_MEMBER, _member_value),
    (_URL, _url_password),
    (_HEADER, _header_value),
)


def _spans(source: _Source) -> Iterator[Span]:
    """Everything to hide, in no order; spans of two patterns may overlap."""
    for pattern, value in _PLACES:
        at = 0
        while found := pattern.search(source.text, at):
            span = value(source, found) or (0, 0)
            if span[0] < span[1]:
                yield span
            at = max(found.end(), span[1])  # never the same text twice: linear time
    yield from _program_options(source)


# The arguments of one simple command: up to a separator outside quotes.
_ARGUMENTS: Final = rf"(?P<arguments>(?:[^;&|\n'\"\\]|\\.|{_SINGLE}|{_DOUBLE})*+)"


def _compiled(row: PasswordOption) -> tuple[re.Pattern[str], re.Pattern[str], str]:
    names = "|".join(map(re.escape, row.programs.split()))
    verb = rf"[^;&|\n]{{0,200}}?[ \t]{row.verb}\b" if row.verb else ""
    command = rf"(?<![\w.-])(?:{names})(?=[ \t]){verb}{_ARGUMENTS}"
    return re.compile(command, re.DOTALL), re.compile(rf"(?<=[ \t]){row.option}"), row.after


_ROWS: Final = tuple(_compiled(row) for row in PASSWORD_OPTIONS)


def _program_options(source: _Source) -> Iterator[Span]:
    """Passwords in options that mean something else to other programs."""
    for command, option, after in _ROWS:
        for found in command.finditer(source.text):
            at, end = found.span("arguments")
            while place := option.search(source.text, at, end):
                span = _after_sign(source, source.word(place.end()), after)
                if span[0] < span[1] and not source.stays(span[0]):
                    yield span
                at = max(place.end(), span[1])


def _after_sign(source: _Source, word: Span, sign: str) -> Span:
    """The part of a word behind its first `sign`, without a closing quote; empty without one."""
    if not sign:
        return word
    start, end = word
    at = source.text.find(sign, start, end)
    if at < 0:
        return (end, end)
    first, last = source.text[start], source.text[end - 1]
    return (at + 1, end - 1 if first == last and first in "\"'" else end)
