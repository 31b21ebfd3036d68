"""Secrets that no name and no option marks: handed to a program's input, told to a database.

Pure, for `efr.text.redact`. Each look begins at a plain word that every match holds, and reads a
bounded piece of text around it: the time grows with the length alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from efr.text.near import matches_at, places_of
from efr.text.quoted import Quoted, Span
from efr.text.secret_forms import is_secret_name

_REACH: Final = 300  # characters of one command that are looked at
_WRITERS: Final = r"(?:echo|printf|yes)"
_ECHO = re.compile(
    rf"(?<![\w.-]){_WRITERS}[ \t]+(?:-[neE]+[ \t]+)?"
    r"(?:[\"']?%s(?:\\+n)?[\"']?[ \t]+)?"
)
# What it writes goes on, also with more that is written to the same pipe: `(echo a; echo a) | x`.
_PIPE = re.compile(
    rf"(?:[ \t]*;[ \t]*{_WRITERS}[^;&|\n()]{{0,{_REACH}}}){{0,4}}[ \t;]*[)}}]?"
    rf"[ \t]*\|[ \t]*(?P<reader>[^;&|\n]{{1,{_REACH}}})"
)
_HERE = re.compile(r"<<<[ \t]*")
_SEPARATOR = re.compile(r"[;&|\n]")
# Programs that read a secret from their input; "" is any use of the program, else it is this verb.
_READERS: Final = {
    **dict.fromkeys(("chpasswd", "passwd", "smbpasswd", "cryptsetup", "kinit", "su"), ""),
    "gh": "secret",
    "glab": "variable",
    "wrangler": "secret",
    "vercel": "env",
    "op": "signin",
    "pass": "insert",
    "gopass": "insert",
    "keyring": "set",
    "secret-tool": "store",
    "vault": "login",
    "fly": "secrets",
    "heroku": "login",
    "docker": "secret",
}
# Options by which a program reads a secret from its input.
_FROM_INPUT: Final = frozenset(
    {"--password-stdin", "--stdin", "--with-token", "--passphrase-fd", "--pw-stdin"}
)


def handed_over(source: Quoted) -> Iterator[Span]:
    """`echo secret | sudo -S x`, and `sudo -S x <<< secret`."""
    text = source.text
    if "|" in text and any(writer in text for writer in ("echo", "printf", "yes")):
        for found in _ECHO.finditer(text):
            start, end = word = source.word(found.end())
            pipe = _PIPE.match(text, end)
            if start == end or pipe is None or source.stays(start):
                continue
            if _reads_a_secret(pipe["reader"].split()):
                yield _of_user(text, word) if "chpasswd" in pipe["reader"] else word
    for found in _HERE.finditer(text):
        line = text[max(found.start() - _REACH, 0) : found.start()]
        word = source.word(found.end())
        reader = _SEPARATOR.split(line)[-1]
        if _reads_a_secret(reader.split()) and not source.stays(word[0]):
            yield _of_user(text, word) if "chpasswd" in reader else word


_AROUND: Final = "'\"(){}\\$`"  # of a command in quotes, brackets or a substitution


def _reads_a_secret(words: list[str]) -> bool:
    """Whether this command takes its input as a password: `sudo -S` and its kin."""
    words = [word.strip(_AROUND) for word in words]
    if not _FROM_INPUT.isdisjoint(words):
        return True
    if any(verb in words or not verb for verb in _verbs(words)):
        return True
    if words[:1] == ["read"] and any(is_secret_name(word) for word in words[1:]):
        return True
    flags = (word for word in words if re.fullmatch(r"-[A-Za-z]*S[A-Za-z]*", word))
    return "sudo" in words and any(flags)


def _verbs(words: list[str]) -> Iterator[str]:
    """What makes the command a reader of secrets, for each program named at its start."""
    yield from (_READERS[word] for word in words[:4] if word in _READERS)


def _of_user(text: str, word: Span) -> Span:
    """What stands behind the colon of `user:password`, without a closing quote."""
    start, end = word
    at = text.find(":", start, end)
    last = end - 1 if text[start] in "\"'" and text[end - 1] == text[start] else end
    return (at + 1, last) if at >= 0 else word


_STATEMENT = re.compile(
    r"\b(?:IDENTIFIED[ \t]+(?:WITH[ \t]+\S{1,64}[ \t]+)?(?:BY|AS)"
    r"|PASSWORD(?:[ \t]+FOR[ \t]+\S{1,128}[ \t]*=)?)[ \t]+(?P<quote>['\"])",
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


# Where a command takes a secret as one of its words: its program, and what stands before the word.
# A `name` has to be a secret's.
_SKIPPED: Final = r"(?:-[hpn][ \t]+\S+[ \t]+){0,3}"  # options that say where
_NAMED: Final = r"\w*(?:pass|secret|token|key)\w*"
_BEFORE: Final = (
    ("setenv", r"(?:-[gx][ \t]+)?(?P<name>\w+)[ \t]+"),
    ("set-environment", r"(?:-[gx][ \t]+)?(?P<name>\w+)[ \t]+"),
    ("set", r"-[gUx]+[ \t]+(?P<name>\w+)[ \t]+"),
    ("jq", rf"[^;&|\n]{{0,{_REACH}}}?--arg(?:json)?[ \t]+(?P<name>\w+)[ \t]+"),
    (
        "rclone",
        rf"config[ \t]+[^;&|\n]{{0,{_REACH}}}?[ \t](?P<name>\w*(?:pass|secret|token|key)\w*)[ \t]+",
    ),
    ("nmcli", rf"[^;&|\n]{{0,{_REACH}}}?[ \t](?P<name>[\w-]+\.(?:psk|password))[ \t]+"),
    ("dotnet", r"user-secrets[ \t]+set[ \t]+[^\s;&|-]\S*[ \t]+"),
    ("consul", r"kv[ \t]+put[ \t]+(?:\S*/)?(?P<name>[\w.-]+)[ \t]+"),
    ("lxc", r"config[ \t]+set[ \t]+\S+[ \t]+(?P<name>[\w.]+)[ \t]+"),
    ("redis-cli", rf"{_SKIPPED}config[ \t]+set[ \t]+(?P<name>\w+)[ \t]+"),
    ("redis-cli", rf"{_SKIPPED}(?:AUTH|auth)[ \t]+(?:[^\s;&|]+[ \t]+(?=[^\s;&|]))?"),
    ("composer", r"config[ \t]+(?:-\w+[ \t]+){0,3}(?:github-oauth|gitlab-token)\.\S+[ \t]+"),
    ("composer", r"config[ \t]+(?:-\w+[ \t]+){0,3}http-basic\.\S+[ \t]+\S+[ \t]+"),
    ("poetry", r"config[ \t]+http-basic\.\S+[ \t]+\S+[ \t]+"),
    ("cargo", r"login[ \t]+"),
    ("vault", r"(?:login|operator[ \t]+unseal)[ \t]+(?!\S*=)"),
    ("bw", r"(?:unlock|login[ \t]+[^\s-]\S*)[ \t]+"),
    ("ngrok", r"(?:config[ \t]+add-)?authtoken[ \t]+"),
    ("cloudflared", r"service[ \t]+install[ \t]+"),
    ("wpa_passphrase", r"\S+[ \t]+"),
    ("rabbitmqctl", r"(?:add_user|change_password|authenticate_user)[ \t]+\S+[ \t]+"),
    ("mosquitto_passwd", r"-\w*b\w*[ \t]+\S+[ \t]+\S+[ \t]+"),
    ("htpasswd", r"-(?=\w*n)\w*b\w*[ \t]+\S+[ \t]+"),
    ("rclone", r"obscure[ \t]+"),
    ("openssl", r"passwd[ \t]+(?:-(?:1|5|6|apr1|aixmd5|noverify|quiet)[ \t]+){0,4}"),
    ("mkpasswd", r"(?:-m[ \t]+\S+[ \t]+)?"),
    ("nuget", r"setapikey[ \t]+"),
    ("mc", r"alias[ \t]+set[ \t]+\S+[ \t]+\S+[ \t]+\S+[ \t]+"),
    ("pdftk", rf"[^;&|\n]{{0,{_REACH}}}?[ \t](?:user|owner|input)_pw[ \t]+"),
)
_PROGRAMS_OF_ARGUMENTS: Final = frozenset(program for program, _ in _BEFORE)
# What stands before the first word of a command: prose names programs too.
_COMMAND = re.compile(
    r"(?:\A|[\n;&|({`'\"\\]|(?<!\S)--|[A-Za-z_]\w*=\S*"
    r"|\b(?:then|do|env|exec|time|nohup|command|tmux|launchctl|timeout[ \t]+\S+)"
    r"|\bsudo(?:[ \t]+-\w+(?:[ \t]+[\w.-]+)?)?)[ \t]*\Z"
)
_COMMAND_REACH: Final = 40


@cache
def _argument(program: str, words: str) -> re.Pattern[str]:
    """Up to the word that is secret. Compiled only where the program stands."""
    return re.compile(rf"(?<![\w.-]){program}[ \t]+{words}(?![\s-])")


def as_arguments(source: Quoted) -> Iterator[Span]:
    """`setenv API_TOKEN secret`, `bw unlock secret`."""
    if _PROGRAMS_OF_ARGUMENTS.isdisjoint(source.names):
        return
    text = source.text
    for program, words in _BEFORE:
        if program not in source.names:
            continue
        pattern = _argument(program, words)
        for found in matches_at(text, pattern, places_of(text, [program])):
            name = found.groupdict().get("name")
            if name is not None and not is_secret_name(name):
                continue
            start = found.start()
            before = text[max(start - _COMMAND_REACH, 0) : start]
            if not _COMMAND.search(before) or source.stays(found.end()):
                continue
            yield source.word(found.end())


_FORMAT = re.compile(
    r"(?<![\w.-])printf[ \t]+(?P<quote>[\"'])(?P<name>\w{1,100})="
    r"(?:%s|\\?[\"'])+(?:\\+n)?(?P=quote)[ \t]+"
)


def formatted(source: Quoted) -> Iterator[Span]:
    """`printf 'TOKEN=%s' secret`."""
    text = source.text
    for found in matches_at(text, _FORMAT, places_of(text, ["printf"]) if "=%s" in text else ()):
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
