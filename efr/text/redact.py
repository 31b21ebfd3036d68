"""Hiding secrets in text that is kept or shown: commands, titles, what the search index holds.

Pure. A list of patterns and not a shell parser; it hides too much rather than too little. Each
pattern finds places on its own and knows nothing of the others; the tables of what a secret looks
like are in `efr.text.secret_forms` and `efr.text.secret_words`, secrets that need a look around in
`efr.text.secret_places`. The time grows with the length alone, and `efr.text.near` keeps it short:
a pattern is tried only where its words stand. Secrets in prose ("my password is hunter2") slip
through, and the docs say so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, NamedTuple

from efr.text.near import lines_with, matches_at, places_of
from efr.text.quoted import DOUBLE, SINGLE, TO_QUOTE, Quoted, Span
from efr.text.secret_forms import (
    NAME_STEMS,
    PASSWORD_OPTIONS,
    REDACTION_VERSION,
    SAFE_OPTION,
    SCHEME,
    SECRET_HEADERS,
    PasswordOption,
    is_count,
    is_secret_name,
    is_switch,
    normal_name,
)
from efr.text.secret_places import (
    as_arguments,
    formatted,
    handed_over,
    signatures,
    told,
)
from efr.text.secret_words import (
    HOOK_STARTS,
    INSIDE,
    PEM_START,
    SECRET_STARTS,
    SHORTEST_SECRET,
    secret_words,
)

__all__ = ["REDACTION_VERSION", "redact_command", "redact_title"]

_COMMAND_MARK: Final = "[redacted]"
_TITLE_MARK: Final = "[***]"


def redact_command(text: str) -> str:
    """The command with `[redacted]` where it holds a secret."""
    return _redact(text, _COMMAND_MARK)


def redact_title(text: str) -> str:
    """A title, or text for the search index, with `[***]` where it holds a secret."""
    return _redact(text, _TITLE_MARK)


def _redact(text: str, mark: str) -> str:
    source = Quoted(text)
    parts: list[str] = []
    at = -1
    for start, end in sorted(_spans(source)):
        if start > at:  # spans that overlap or touch share one mark
            parts += (text[max(at, 0) : start], mark)
        at = max(at, end)
    return "".join((*parts, text[max(at, 0) :]))


def _words(source: Quoted) -> Iterator[Span]:
    """Tokens and keys that show what they are. None has a blank in it, but for a PEM key."""
    text = source.text
    long = " ".join(word for word in source.words if len(word) >= SHORTEST_SECRET)
    starts = (start for start in (*SECRET_STARTS, *HOOK_STARTS) if start in long)
    places = places_of(text, [PEM_START, *starts])
    for one in INSIDE:
        for place in places_of(text, [one.sign] if one.sign in long else []):
            before = text[max(place - one.most, 0) : place]
            places.append(place - len(before) + len(before.rstrip(one.before)))
    if places:
        for found in matches_at(text, secret_words(), sorted(places)):
            yield found.span()


_ASSIGNMENT = re.compile(
    r"(?<![\w.-])(?P<dashes>-{0,2})\.?(?P<name>[A-Za-z_][\w.-]*+)(?:\[[^\]\n]{0,64}\])?[\"']?"
    r"(?:\+?=|:=|[ \t]{1,8}=[ \t]{1,8})",
    re.ASCII,
)


_WORKING_DIR: Final = frozenset(("PWD", "USERPWD"))  # of a shell, or a password to a database


def _assigned(source: Quoted, found: re.Match[str]) -> Span | None:
    """`NAME=value`, `--name=value`, `?name=value&`, also inside the value of another one."""
    name, at = found["name"], found.end()
    is_path = source.text.startswith(("/", "~", ".", "'/", '"/'), at)
    named = is_secret_name(name) or (name.upper() in _WORKING_DIR and not is_path)
    if not named or source.stays(at):
        return None
    if found["dashes"] and SAFE_OPTION.search(normal_name(name)):
        return None
    start = found.start()
    before = source.text[start - 1] if start else ""
    if before and before == source.outer(start):
        value = source.to_quote(found.end(), before)  # env 'NAME=a b'
    else:
        value = source.word(found.end())
    return _unless_count(source, found["name"], value)


def _unless_count(source: Quoted, name: str, value: Span) -> Span | None:
    text = source.text[slice(*value)]
    return None if is_switch(text) or is_count(name, text) else value


_OPTION = re.compile(r"(?<![\w-])--?(?P<name>[A-Za-z][\w.-]{1,})[ \t]+(?![\s-])", re.ASCII)


def _option_value(source: Quoted, found: re.Match[str]) -> Span | None:
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


def _member_value(source: Quoted, found: re.Match[str]) -> Span | None:
    """`"name": "value"` of JSON and its kin."""
    header = SECRET_HEADERS.fullmatch(normal_name(found["name"])) is not None
    if not header and not is_secret_name(found["name"]):
        return None
    quote = found["quote"]
    if quote in TO_QUOTE and source.text.startswith(quote, found.end()):
        at = found.end() + len(quote)
        scheme = SCHEME.match(source.text, at) if header else None
        return source.to_quote(scheme.end() if scheme else at, quote)
    bare = _BARE_MEMBER.match(source.text, found.end())
    return _unless_count(source, found["name"], bare.span()) if bare else None


_URL = re.compile(r"://[^\s/@:'\"<>]*+:(?P<password>[^\s/'\"<>]*)@")


def _url_password(source: Quoted, found: re.Match[str]) -> Span | None:
    """The password in `scheme://user:password@host`."""
    return None if source.stays(found.start("password")) else found.span("password")


_URL_USER = re.compile(r"://(?=[^\s/@:]*\d)(?=[^\s/@:]*[A-Za-z])(?P<user>[A-Za-z0-9_=+-]{20,}+)@")


def _url_user(source: Quoted, found: re.Match[str]) -> Span | None:
    """The token in `scheme://token@host`: no name of a user is that long and has digits."""
    return found.span("user")


_HEADER = re.compile(
    r"(?:(?<![\w.-])|(?<=[ \t]-H))(?P<name>[A-Za-z][A-Za-z0-9_-]*+):(?!/)[ \t]*", re.ASCII
)
# What stands before a header: an option, `=`, the start of a command or of a list's item, and then
# its quote.
_PLACE = re.compile(
    r"(?:[\n;|&({=]|\n[ \t]*-[ \t]|(?<![\w-])-[A-Za-z]*H|--(?:proxy-)?header)"
    r"[ \t]*(?:\\?[\"']|\$')?\Z"
)
# A parameter or a field of a program, such as `token: str`, has no value here.
_TYPE = re.compile(
    r"(?:str|string|String|bytes|int|bool|boolean|number|any|None|null|undefined)(?=[\s,;)|=?]|\Z)"
)
_PLACE_REACH: Final = 40  # enough for the longest option and blanks
_HTTP_CLIENT = re.compile(r"(?<![\w.-])(?:https?|xhs?)[ \t]")
_HTTP_REACH: Final = 4096  # further back on the line is not looked at
_REST_OF_LINE = re.compile(r"[^\n]*")


def _header_value(source: Quoted, found: re.Match[str]) -> Span | None:
    """The value of `Authorization:`, `Cookie:` and headers with a secret name; not the scheme."""
    text, start, at = source.text, found.start(), found.end()
    name = normal_name(found["name"])
    known = SECRET_HEADERS.fullmatch(name) is not None
    if not known and not (is_secret_name(name) and _is_header_place(source, found)):
        return None
    if _TYPE.match(text, at):
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
        return _unless_count(source, name, rest.span()) if rest else None
    return _unless_count(source, name, source.word(at))


def _is_header_place(source: Quoted, found: re.Match[str]) -> bool:
    text, start = source.text, found.start()
    if not found["name"].isalnum() and text[found.end() - 1] in " \t":  # no word of prose
        return True
    near = text[max(start - _PLACE_REACH, 0) : start]
    if _PLACE.search(near if start > _PLACE_REACH else "\n" + near):
        return True
    line = max(text.rfind("\n", 0, start) + 1, start - _HTTP_REACH)
    return source.last(_HTTP_CLIENT, start) >= line


_Value = Callable[[Quoted, re.Match[str]], Span | None]

# Beside a name, with a sign that each match holds; name and sign stand on one line.
_NAMED: Final[tuple[tuple[re.Pattern[str], _Value, str], ...]] = (
    (_ASSIGNMENT, _assigned, "="),
    (_OPTION, _option_value, "-"),
    (_MEMBER, _member_value, ":"),
    (_HEADER, _header_value, ":"),
)


def _spans(source: Quoted) -> Iterator[Span]:
    """Everything to hide, in no order; spans of two patterns may overlap."""
    yield from _words(source)
    whole = [(0, len(source.text))]
    yield from _values(source, _URL, _url_password, whole)
    if "@" in source.text:
        yield from _values(source, _URL_USER, _url_user, whole)
    if lines := lines_with(source.text, NAME_STEMS):
        for pattern, value, sign in _NAMED:
            signed = [line for line in lines if source.text.find(sign, *line) >= 0]
            yield from _values(source, pattern, value, signed)
    yield from _program_options(source)
    yield from handed_over(source)
    yield from as_arguments(source)
    yield from formatted(source)
    yield from told(source)
    yield from signatures(source.text)


def _values(
    source: Quoted, pattern: re.Pattern[str], value: _Value, lines: list[Span]
) -> Iterator[Span]:
    """The values behind the matches of a pattern in these lines."""
    at = 0
    for start, end in lines:
        at = max(at, start)
        while inside := pattern.search(source.text, at, end):
            found = pattern.match(source.text, inside.start()) or inside  # may reach further down
            span = value(source, found) or (0, 0)
            if span[0] < span[1]:
                yield span
            at = max(found.end(), span[1])  # never the same text twice: linear time


# The arguments of one simple command: up to a separator outside quotes.
_ARGUMENTS: Final = rf"(?P<arguments>(?:[^;&|\n'\"\\]|\\.|{SINGLE}|{DOUBLE})*)"


class _Row(NamedTuple):
    """PasswordOption, compiled: a call of one of the programs, and the option in it."""

    programs: tuple[str, ...]
    command: re.Pattern[str]
    option: re.Pattern[str]
    after: str


@cache
def _compiled(row: PasswordOption) -> _Row:
    """Only where one of the programs stands: to compile them all takes long at a start."""
    programs = tuple(row.programs.split())
    names = "|".join(map(re.escape, programs))
    verb = rf"[^;&|\n]{{0,200}}?[ \t]{row.verb}\b" if row.verb else ""
    command = rf"(?<![\w.-])(?:{names})(?=[ \t]){verb}{_ARGUMENTS}"
    option = re.compile(rf"(?<=[ \t]){row.option}")
    return _Row(programs, re.compile(command, re.DOTALL), option, row.after)


_PROGRAMS: Final = frozenset(name for row in PASSWORD_OPTIONS for name in row.programs.split())


def _program_options(source: Quoted) -> Iterator[Span]:
    """Passwords in options that mean something else to other programs."""
    text, named = source.text, _PROGRAMS & source.names
    if not named:
        return
    for option in PASSWORD_OPTIONS:
        if named.isdisjoint(option.programs.split()):
            continue
        row = _compiled(option)
        for found in matches_at(text, row.command, places_of(text, row.programs)):
            at, end = found.span("arguments")
            while place := row.option.search(text, at, end):
                span = _after_sign(source, source.word(place.end()), row.after)
                if span[0] < span[1] and not _is_open(source, span):
                    yield span
                at = max(place.end(), span[1])


def _is_open(source: Quoted, span: Span) -> bool:
    """Nothing is written here: a variable gives it, or it is empty."""
    return source.stays(span[0]) or source.text[slice(*span)] in {"''", '""'}


def _after_sign(source: Quoted, word: Span, sign: str) -> Span:
    """The part of a word behind its first `sign`, without a closing quote; empty without one."""
    if not sign:
        return word
    start, end = word
    at = source.text.find(sign, start, end)
    if at < 0:
        return (end, end)
    first, last = source.text[start], source.text[end - 1]
    return (at + 1, end - 1 if first == last and first in "\"'" else end)
