"""Inline Markdown to spans: emphasis, code, links, images, bare addresses and paths.

Pure. markdown-it reads the text (with a reference's definition when it stands in the same piece);
HTML is shown as text. It loads with the first piece that needs it, or by `load`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from efr.cli.render.spans import PLAIN, Line, Span, Style, safe, split_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

T = TypeVar("T")

_SPECIAL = r"[\\`*_~\[\]<>!&]|https?://|mailto:|/\w"  # without these: plain text
_ADDRESS = (
    r"(?P<url>\b(?:https?://|mailto:)[^\s<>\"`]+)"
    r"|(?<![\w/.:~-])(?P<path>/(?:[\w.@+-]+/)+[\w.@+-]*)"
)
_BLANK_ENDS = r"(?m) +$"
_TRAILING = ".,;:!?'"  # ends a sentence, not an address
_MARKS = {"strong": "bold", "em": "italic", "s": "strike"}


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("zero", {"html": False})
    reader.enable(["reference", "paragraph", "inline", "text", "newline", "escape", "backticks"])
    reader.enable(["emphasis", "strikethrough", "link", "image", "autolink", "entity"])
    reader.enable(["balance_pairs", "fragments_join", "text_join"])
    return reader


def load() -> None:
    """Loads markdown-it, which takes as long as the rest of the view."""
    _reader()


def inline_lines(text: str, style: Style = PLAIN, *, quotes: bool = False) -> list[Line]:
    """The piece's rows, one for each line of its author. `quotes`: code keeps its backquotes."""
    if not re.search(_SPECIAL, text):
        return split_lines([Span(re.sub(_BLANK_ENDS, "", text), style)])
    spans: list[Span] = []
    for token in _reader().parse(text):
        if token.type == "inline":
            if spans:
                spans.append(Span("\n", style))
            spans.extend(_spans(token.children or [], style, quotes))
    return split_lines(spans) if spans else []


def inline_line(text: str, style: Style = PLAIN, *, quotes: bool = False) -> Line:
    """The piece on one row; a line end becomes a blank."""
    lines = inline_lines(text.replace("\n", " "), style, quotes=quotes)
    return lines[0] if lines else ()


def _spans(tokens: list[Token], base: Style, quotes: bool) -> list[Span]:
    spans: list[Span] = []
    styles, links = [base], [""]
    for token in tokens:
        name, _, end = token.type.rpartition("_")
        if name in _MARKS:
            _push_or_pop(styles, end == "open", _marked(styles[-1], name))
        elif name == "link":
            _push_or_pop(links, end == "open", str(token.attrGet("href") or ""))
            _push_or_pop(styles, end == "open", styles[-1]._replace(role="link"))
        else:
            spans.extend(_leaf(token, styles[-1], links[-1], quotes))
    return spans


def _marked(style: Style, name: str) -> Style:
    change: dict[str, Any] = {_MARKS[name]: True}
    return style._replace(**change)


def _push_or_pop(stack: list[T], opens: bool, value: T) -> None:
    if opens:
        stack.append(value)
    else:
        stack.pop()


def _leaf(token: Token, style: Style, link: str, quotes: bool) -> list[Span]:
    if token.type in {"softbreak", "hardbreak"}:
        return [Span("\n", style)]
    if token.type == "code_inline":
        shown = f"`{token.content}`" if quotes else token.content
        target = link or (_file(token.content) if _is_path(token.content) else "")
        return [Span(shown, style._replace(role="code"), target)]
    if token.type == "image":
        return [Span(f"[image: {token.content}]", style, link)]
    text = safe(token.content)  # an entity such as &#13; can name a control character
    return [Span(text, style, link)] if link or not text else _with_addresses(text, style)


def _with_addresses(text: str, style: Style) -> list[Span]:
    """Bare addresses and absolute paths of a text become links."""
    spans: list[Span] = []
    done = 0
    for found in re.finditer(_ADDRESS, text):
        shown = _trimmed(found[0])
        if not shown:
            continue
        if found.start() > done:
            spans.append(Span(text[done : found.start()], style))
        if found["url"]:
            spans.append(Span(shown, style._replace(role="link"), shown))
        else:
            spans.append(Span(shown, style, _file(shown)))
        done = found.start() + len(shown)
    if done < len(text):
        spans.append(Span(text[done:], style))
    return spans


def _trimmed(address: str) -> str:
    """Without the signs that end the sentence around it, and an unbalanced bracket."""
    while address and (
        address[-1] in _TRAILING or (address[-1] == ")" and address.count("(") < address.count(")"))
    ):
        address = address[:-1]
    return address


def _is_path(text: str) -> bool:
    found = re.fullmatch(_ADDRESS, text)
    return found is not None and found["path"] is not None


def _file(path: str) -> str:
    return f"file://{path}"
