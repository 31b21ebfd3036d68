"""What the shell says in its marks: the bodies of OSC 133 and OSC 7, read into values.

Pure. Sources: the semantic prompt proposal of FinalTerm and iTerm2 as kitty and ghostty read it
(`aid`, `k`, `cl`, `err`, `cmdline`, `cmdline_url`), kitty's `kitty-shell-cwd` for OSC 7. Whether a
mark counts is not decided here (`state.py`).
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from msgspec import Struct

_ACTIONS: Final = frozenset("ABCDP")
_NONCE: Final = re.compile(r"[0-9a-f]{32}")
_STATUS: Final = re.compile(r"[0-9]{1,3}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")

# The options that are read, and which values they may have.
_OPTIONS: Final = {
    "aid": re.compile(r"[ -~]{1,64}"),
    "k": re.compile(r"[icrs]"),
    "cl": re.compile(r"line|m|v|w"),
    "err": re.compile(r"[ -~]{1,64}"),
    "cmdline": re.compile(r".+", re.DOTALL),
    "cmdline_url": re.compile(r".+", re.DOTALL),
}


class Mark(Struct, frozen=True):
    """One mark: its action, and the stream offsets of its first and last byte.

    Actions: A B C D P of OSC 133, `cwd` for OSC 7, `sbx` for the end of a contained call. `status`
    is D's, `aid` and `kind` are the options `aid` and `k`, `text` is the directory or the nonce.
    """

    action: str
    start: int
    last: int
    status: int | None = None
    aid: str | None = None
    kind: str | None = None
    text: str | None = None


def read_mark(body: bytes, start: int, last: int) -> Mark | None:
    """The mark in an OSC body (what stands between `ESC ]` and its end), or None."""
    number, _, rest = body.partition(b";")
    if number == b"133":
        return _read_133(rest.decode("utf-8", "replace"), start, last)
    if number == b"7":
        path = _read_directory(rest)
        return Mark("cwd", start, last, text=path) if path else None
    return None


def _read_133(text: str, start: int, last: int) -> Mark | None:
    action, *fields = text.split(";")
    if action == "efr-sbx":
        ok = len(fields) == 1 and _NONCE.fullmatch(fields[0])
        return Mark("sbx", start, last, text=fields[0]) if ok else None
    if action not in _ACTIONS:
        return None
    options: dict[str, str] = {}
    for field in fields:
        name, equals, value = field.partition("=")
        allowed = _OPTIONS.get(name)
        if equals and allowed and allowed.fullmatch(value):
            options.setdefault(name, value)
    status = None
    if action == "D" and fields and _STATUS.fullmatch(fields[0]):
        status = int(fields[0])
    return Mark(action, start, last, status, options.get("aid"), options.get("k"))


def _read_directory(url: bytes) -> str | None:
    """The path of OSC 7; None when it is no absolute path or holds control characters."""
    scheme, separator, rest = url.partition(b"://")
    _, slash, path = rest.partition(b"/")
    if not separator or not slash:
        return None
    path = b"/" + path
    if scheme == b"file":
        path = unquote_to_bytes(path)
    elif scheme != b"kitty-shell-cwd":
        return None
    text = path.decode("utf-8", "replace")  # what is no text cannot be told to anybody
    return None if _CONTROL.search(text) else text
