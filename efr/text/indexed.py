"""What of a text goes into the search index: cut, cleaned, with its secrets replaced.

Pure. In the result no control character is left, the newline included: U+2028 ends a line. A change
of what comes out for the same text needs a new REDACTION_VERSION (`efr.text.secret_forms`).
"""

from __future__ import annotations

import re
from typing import Final

from efr.text.heredocs import without_heredocs
from efr.text.redact import redact_title
from efr.text.title import title_of

LINE_END: Final = "\u2028"

# Of one prompt, answer or command. A page of the indexer holds as much, so a page is never larger.
TEXT_LIMIT: Final = 32 << 10  # bytes of UTF-8
_BLANK_NEAR: Final = 256  # a cut goes back so far to a blank, so that it splits no word, no secret

# Escape sequences: CSI, OSC and its kin up to their end, and those of two signs (ECMA-48).
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]"
)
_BLANKS = re.compile(" {2,}")
_PLAIN: Final[dict[int, str | None]] = {
    **dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)]),  # category Cc goes
    **dict.fromkeys(map(ord, "\n\r\v\f\x85\u2028\u2029"), "\n"),
    ord("\t"): " ",
}
_EDGES = re.compile(r" *\n[ \n]*")


def indexed_text(text: str) -> str:
    """A prompt, steer or answer as the index holds it; "" when nothing is left."""
    plain = redact_title(_clean(_cut(text)))
    return _EDGES.sub(LINE_END, plain).strip(f" {LINE_END}")


def indexed_command(command: str) -> str:
    """A command line as the index holds it, without the bodies of heredocs."""
    return indexed_text(without_heredocs(command))


def title_in(indexed: str) -> str:
    """The title of a conversation that begins with this indexed prompt; it may be ""."""
    return title_of(indexed)


def _cut(text: str) -> str:
    """At most TEXT_LIMIT bytes from the front."""
    if len(text) * 4 <= TEXT_LIMIT:  # no character has more than 4 bytes
        return text
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= TEXT_LIMIT:
        return text
    head = data[:TEXT_LIMIT].decode("utf-8", "ignore")
    tail = head[-_BLANK_NEAR:]
    word = tail.split()[-1] if tail.split() and not tail[-1].isspace() else ""
    return head[: len(head) - len(word)] if len(word) < len(tail) else head


def _clean(text: str) -> str:
    """Lines end in a newline, blanks are one blank, and no other control character is left."""
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPES.sub("", text)
    return _BLANKS.sub(" ", text.replace("\r\n", "\n").translate(_PLAIN))
