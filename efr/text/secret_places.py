"""Secrets that no name and no option marks: handed to a program's input, told to a database.

Pure, for `efr.text.redact`. Each look begins at a plain word that every match holds, and reads a
bounded piece of text around it: the time grows with the length alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from efr.text.near import matches_at, places_of
from efr.text.quoted import Quoted, Span
from efr.text.secret_forms import is_secret_name

_REACH: Final = 300  # characters of one command that are looked at
_ECHO = re.compile(
    r"(?<![\w.-])(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+)?"
    r"(?:[\"']?%s(?:\\+n)?[\"']?[ \t]+)?"
)
_PIPE = re.compile(rf"[ \t]*\|[ \t]*(?P<reader>[^;&|\n]{{1,{_REACH}}})")
_HERE = re.compile(r"<<<[ \t]*")
_SEPARATOR = re.compile(r"[;&|\n]")
# Options by which a program reads a secret from its input.
_FROM_INPUT: Final = frozenset({"--password-stdin", "--stdin", "--with-token", "chpasswd"})


def handed_over(source: Quoted) -> Iterator[Span]:
    """`echo secret | sudo -S x`, and `sudo -S x <<< secret`."""
    text = source.text
    if "|" in text and ("echo" in text or "printf" in text):
        for found in _ECHO.finditer(text):
            start, end = word = source.word(found.end())
            pipe = _PIPE.match(text, end)
            if start == end or pipe is None or source.stays(start):
                continue
            reader = pipe["reader"].split()
            if _reads_a_secret(reader):
                yield _of_user(text, word) if "chpasswd" in reader else word
    for found in _HERE.finditer(text):
        line = text[max(found.start() - _REACH, 0) : found.start()]
        word = source.word(found.end())
        if _reads_a_secret(_SEPARATOR.split(line)[-1].split()) and not source.stays(word[0]):
            yield word


def _reads_a_secret(words: list[str]) -> bool:
    """Whether this command takes its input as a password: `sudo -S` and its kin."""
    if not _FROM_INPUT.isdisjoint(words):
        return True
    flags = (word for word in words if re.fullmatch(r"-[A-Za-z]*S[A-Za-z]*", word))
    return "sudo" in words and any(flags)


def _of_user(text: str, word: Span) -> Span:
    """What stands behind the colon of `user:password`, without a closing quote."""
    start, end = word
    at = text.find(":", start, end)
    last = end - 1 if text[start] in "\"'" and text[end - 1] == text[start] else end
    return (at + 1, last) if at >= 0 else word


_STATEMENT = re.compile(
    r"\b(?:IDENTIFIED[ \t]+(?:WITH[ \t]+\S{1,64}[ \t]+)?(?:BY|AS)|PASSWORD)[ \t]+(?P<quote>['\"])",
    re.IGNORECASE,
)
_NETRC = re.compile(
    r"(?<![\w.-])(?:machine[ \t]+\S{1,255}|default)\s{1,20}login[ \t]+\S{1,255}\s{1,20}"
    r"password[ \t]+"
)
_PROGRAMS: Final = (
    *("aws ", "git ", "npm ", "yarn ", "pnpm ", "pip ", "poetry ", "gh ", "glab ", "conda "),
    *("composer ", "gcloud "),
)
_SETTING = re.compile(
    r"(?<![\w.-])[a-z]+[ \t]+config(?:ure)?(?:[ \t]+set)?"
    r"(?:[ \t]+--?[\w-]{1,40}){0,4}[ \t]+(?P<name>[\w./:-]{1,200})[ \t]+(?![\s-])"
)


def told(source: Quoted) -> Iterator[Span]:
    """Passwords in SQL and in a netrc, and settings that a command sets without a `=`."""
    text = source.text
    lower = text.lower()
    if len(lower) != len(text):  # a letter became two: places in `lower` are not those in `text`
        lower = text
    for found in matches_at(text, _STATEMENT, places_of(lower, ("password", "identified"))):
        if not source.stays(found.end()):
            yield source.to_quote(found.end(), found["quote"])
    entries = places_of(text, ("machine", "default")) if "login" in text else ()
    for found in matches_at(text, _NETRC, entries):
        yield source.word(found.end())
    programs = places_of(text, _PROGRAMS) if " config" in text else ()
    for found in matches_at(text, _SETTING, programs):
        if is_secret_name(found["name"]) and not source.stays(found.end()):
            yield source.word(found.end())


_SIGNED = re.compile(
    r"[?&](?:sig|[Ss]ignature|X-(?:Amz|Goog)-Signature)=(?P<value>[A-Za-z0-9%/+=_-]{20,})"
)


def signatures(text: str) -> Iterator[Span]:
    """The signature of an address that lets everybody in."""
    if "sig=" in text or "ignature=" in text:
        for found in _SIGNED.finditer(text):
            yield found.span("value")
