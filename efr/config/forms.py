"""How a value has to be, beyond its type: ranges of numbers and forms of texts. Pure.

`must` is said of a value that does not fit: "must be …".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from efr.base.log_filter import BadLogFilter, parse_filter


class Range(NamedTuple):
    """A whole number with both ends; None: no end."""

    low: int
    high: int | None = None

    @property
    def must(self) -> str:
        return f"at least {self.low}" if self.high is None else f"from {self.low} to {self.high}"

    def fits(self, value: Any) -> bool:
        """Whether a value of the right type is in the range."""
        return bool(value >= self.low and (self.high is None or value <= self.high))


class Form(NamedTuple):
    """A text that matches, and that a function takes where a pattern cannot say it."""

    must: str
    pattern: str = ""
    takes: Callable[[Any], bool] | None = None

    def fits(self, value: Any) -> bool:
        """Whether a value of the right type has the form."""
        if self.pattern and re.fullmatch(self.pattern, value, re.DOTALL) is None:
            return False
        return self.takes is None or self.takes(value)


def _is_filter(text: str) -> bool:
    try:
        parse_filter(text)
    except BadLogFilter:
        return False
    return True


def _is_below(path: str) -> bool:
    """Whether something is left of a path without its dots: it is neither `/` nor `~`."""
    depth = 0
    for part in path.removeprefix("~").split("/"):
        if part == "..":
            depth -= 1
            if depth < 0:
                return False
        elif part not in ("", "."):
            depth += 1
    return depth > 0


def _is_relative(pattern: str) -> bool:
    return all(part not in ("", "..") for part in pattern.removeprefix("!").split("/"))


def _is_host(text: str) -> bool:
    host, _, port = text.removeprefix("*.").partition(":")
    labels = host.split(".")
    plain = all(0 < len(one) < 64 and one.strip("-") == one for one in labels)
    return plain and not labels[-1].isdecimal() and (not port or 0 < int(port) < 65536)


_WINDOW: Final = Range(1000, 100_000_000)
_OUTPUT: Final = Range(1, 1_000_000)


def _is_model(value: Any) -> bool:
    """An id, or a table whose limits fit each other."""
    if isinstance(value, str):
        return bool(value.strip())
    window, output = value.get("context_window"), value.get("max_output_tokens")
    return (
        bool(value["id"].strip())
        and (window is None or _WINDOW.fits(window))
        and (output is None or _OUTPUT.fits(output))
        and (window is None or output is None or output < window)
    )


_COLOR_NAMES: Final = "black|red|green|yellow|blue|magenta|cyan|white"
_COLOR: Final = rf"#[0-9a-fA-F]{{6}}|0?[0-9]|1[0-5]|(bright-)?({_COLOR_NAMES})"


def _is_color(value: int | str) -> bool:
    if isinstance(value, int):
        return 0 <= value <= 15
    return re.fullmatch(_COLOR, value) is not None


TEXT: Final = Form("a text that is not blank", r".*\S.*")
LOG: Final = Form("error, warn, info or debug, also as in info,efr.agent=debug", takes=_is_filter)
WORD: Final = Form("one word in lower case", r"[a-z0-9_-]{1,32}")
URL: Final = Form("an address that starts with http:// or https://", r"https?://[^\s/]\S*")
ABSOLUTE: Final = Form("an absolute path", r"/[^\x00]*")
PATH: Final = Form("a path that is absolute or starts with ~/", r"(~|(~/|/)[^\x00]*)")
BELOW: Final = Form(
    "a path that is absolute or starts with ~/, and neither / nor ~", r"~?/[^\x00]*", _is_below
)
NAME_PATTERN: Final = Form(
    "a file name or a relative path, with * where anything fits and ! in front to leave out",
    r"!?[^\x00]+",
    _is_relative,
)
VARIABLE: Final = Form(
    "the name of a variable, with * where anything fits", r"[A-Za-z_*][A-Za-z0-9_*]*"
)
DIRECTORY: Final = Form("a name without /, and neither . nor ..", r"(?!\.{1,2}$)[^/\x00]+")
HOST: Final = Form(
    "a host such as example.org, example.org:8443 or *.example.org; no address, no URL",
    r"(\*\.)?[A-Za-z0-9.-]+(:[0-9]{1,5})?",
    _is_host,
)
MODEL: Final = Form(
    f"an id, or {{ id, context_window ({_WINDOW.must}), max_output_tokens ({_OUTPUT.must}, below"
    " the window) }",
    takes=_is_model,
)
COLOR: Final = Form(
    '"#rrggbb", a number from 0 to 15, or a name such as "bright-blue"', takes=_is_color
)
PORT: Final = Form(
    "0, or from 1024 to 65535", takes=lambda port: port == 0 or 1024 <= port <= 65535
)
