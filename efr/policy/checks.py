"""Checks that bounds cannot say: what some programs may be given, and names of refs.

Pure. Each takes the words after the program. Facts: zshbuiltins(1) and zshmisc(1) on printf and
arithmetic; the GNU manuals of sed and coreutils; systemctl(1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

_CONVERSION: Final = re.compile(r"%(?:%|[-+ #0]*[0-9]*(?:\.[0-9]*)?(?P<kind>[sbqcdiouxXeEfgG]))")
_NUMERIC_KINDS: Final = frozenset("diouxXeEfgG")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


def printf_plain(words: Sequence[str]) -> bool:
    """No value that zsh evaluates: plain conversions, and plain numbers for numeric ones.

    `printf '%d' 'psvar[$(cmd)]'`, a `*` width and `%n` run or set what their operand says.
    """
    rest = list(words[1:] if words[:1] == ["--"] else words)
    if not rest or rest[0].startswith("-"):
        return False
    kinds = {found["kind"] for found in _CONVERSION.finditer(rest[0])}
    if "%" in _CONVERSION.sub("", rest[0]):
        return False
    return not (kinds & _NUMERIC_KINDS) or all(_NUMBER.fullmatch(word) for word in rest[1:])


_REF: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/~^-]*")


def ref_names(words: Sequence[str]) -> bool:
    """Every operand is a plain name of a git ref: no path, no URL, no range."""
    operands = [word for word in words if not word.startswith("-")]
    return "--" not in words and all(
        _REF.fullmatch(word) and ".." not in word and "//" not in word and word[-1] not in "/."
        for word in operands
    )


_QUIET: Final = frozenset(("-n", "--quiet", "--silent"))
_HARMLESS: Final = frozenset(
    ("-E", "-r", "-u", "--regexp-extended", "--posix", "--sandbox", "--unbuffered")
)
_BLANK: Final = r"[ \t]*+"
_REGEX: Final = r"/(?:\\[^\n\[]|[^/\\\[\n])*/[IM]*+"
_ADDRESS: Final = rf"(?:[0-9]++~[0-9]++|[0-9]++|\$|{_REGEX})"
_SECOND: Final = rf"(?:{_ADDRESS}|[+~][0-9]++)"
_COMMAND: Final = (
    rf"{_BLANK}(?:{_ADDRESS}(?:,{_SECOND})?)?{_BLANK}(?:!{_BLANK})?(?:[p=]|[lqQ][0-9]*+){_BLANK}"
)
_SCRIPT: Final = re.compile(rf"{_COMMAND}(?:[;\n]{_COMMAND})*")


def sed_print_only(words: Sequence[str]) -> bool:
    """sed that only prints: quiet, known options, scripts of addresses with `p = l q Q`."""
    quiet = False
    scripts: list[str] = []
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            operands += rest
        elif word in _QUIET:
            quiet = True
        elif not word.startswith("-") or word == "-":
            operands.append(word)
        elif word not in _HARMLESS:
            script = _script(word, rest)
            if script is None:
                return False
            scripts.append(script)
    scripts = scripts or operands[:1]
    return quiet and bool(scripts) and all(_SCRIPT.fullmatch(script) for script in scripts)


def _script(word: str, rest: Iterator[str]) -> str | None:
    """The script that this option gives, or None for any other option."""
    if word in {"-e", "--expression"}:
        return next(rest, None)
    for start in ("--expression=", "-e"):
        if word.startswith(start):
            return word.removeprefix(start)
    return None


_DATE_VALUED: Final = "dfr"  # short options of date with a value
_DATE_VALUED_LONG: Final = ("--date", "--file", "--reference")


def date_prints(words: Sequence[str]) -> bool:
    """date that only prints: `-s`, and an operand that is no `+FORMAT`, set the clock."""
    rest = iter(words)
    for word in rest:
        if word == "--":
            return all(operand.startswith("+") for operand in rest)
        if word.startswith("--"):
            if "--set".startswith(word.partition("=")[0]):
                return False
            valued = any(name.startswith(word) for name in _DATE_VALUED_LONG)
        elif word.startswith("-"):
            flags = word[1:].partition("I")[0]  # -I takes the rest of its word
            at = next((at for at, letter in enumerate(flags) if letter in _DATE_VALUED), len(flags))
            if "s" in flags[:at] or (not flags and word == "-"):
                return False
            valued = at == len(flags) - 1
        elif not word.startswith("+"):
            return False
        else:
            valued = False
        if valued:
            next(rest, None)
    return True


_UNIT_FLAGS: Final = frozenset((
    "--user", "--system", "-a", "--all", "-l", "--full", "-q", "--quiet", "--no-pager", "--value",
    "--no-legend", "--plain", "--",
))  # fmt: skip
_UNIT_VALUED: Final = frozenset((
    "-n", "--lines", "-o", "--output", "-t", "--type", "--state", "--timestamp",
))  # fmt: skip


def names_unit(words: Sequence[str]) -> bool:
    """`systemctl show` with a unit among its words, and only options that are known in full.

    Else a word may be the value of an option, and then the manager's environment is shown.
    """
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            operands += rest
        elif not word.startswith("-"):
            operands.append(word)
        elif word in _UNIT_VALUED:
            next(rest, None)
        elif word not in _UNIT_FLAGS and not (
            word.startswith("--") and word.partition("=")[0] in _UNIT_VALUED
        ):
            return False
    return operands[:1] == ["show"] and len(operands) > 1 and all(operands)


_FROM_LINE: Final = re.compile(r"\+[0-9]+[A-Za-eg-z]*")


def tail_ends(words: Sequence[str]) -> bool:
    """tail that does not follow: `+1f`, an old form, does so without an option."""
    return all(_FROM_LINE.fullmatch(word) for word in words if word.startswith("+"))


_SIGNATURE: Final = re.compile(r"%[-+ ]?G|%\(signature")


def verifies_nothing(words: Sequence[str]) -> bool:
    """git that shows no signature: it starts programs for one, and these may ask the network."""
    return not any(map(_SIGNATURE.search, words))


_FILTER: Final = (
    "( ) ! = == != > < >= <= eq ne gt lt ge le not and or & && | || exclude excl state src dst"
    " sport dport dev fwmark cgroup autobound all connected synchronized bucket big established"
    " syn-sent syn-recv fin-wait-1 fin-wait-2 time-wait closed close-wait last-ack listening"
    " listen closing inet inet6 tcp udp raw unix unix_dgram unix_stream unix_seqpacket packet"
    " packet_raw packet_dgram netlink dccp sctp vsock vsock_stream vsock_dgram tipc xdp mptcp link"
)
_FILTER_WORDS: Final = frozenset(_FILTER.split())
_ADDRESS_OR_PORT: Final = re.compile(
    r":[a-z0-9*-]*"
    r"|(?:\*|[0-9]{1,3}(?:\.[0-9]{1,3}){0,3}|\[[0-9a-fA-F:]*\])(?:/[0-9]+)?(?::[0-9*]*)?"
)


def filter_names_no_host(words: Sequence[str]) -> bool:
    """ss whose filter holds words of its own, addresses and ports: it looks other names up."""
    parts = [part for word in words if not word.startswith("-") for part in word.split()]
    return all(
        piece in _FILTER_WORDS or _ADDRESS_OR_PORT.fullmatch(piece)
        for part in parts
        for piece in part.split(",")
    )


# A pattern character in a word changes nothing for these.
TAKES_PATTERNS: Final = frozenset(("tail_ends", "verifies_nothing"))

Check = Callable[[Sequence[str]], bool]  # of the words after the program
CHECKS: Final[Mapping[str, Check]] = {
    "date_prints": date_prints,
    "filter_names_no_host": filter_names_no_host,
    "names_unit": names_unit,
    "printf_plain": printf_plain,
    "ref_names": ref_names,
    "sed_print_only": sed_print_only,
    "tail_ends": tail_ends,
    "verifies_nothing": verifies_nothing,
}
