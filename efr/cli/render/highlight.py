"""Code to coloured rows, one line after the other: a row never depends on a later one.

Pure. Pygments' own `get_tokens` needs the whole text; this runs the same state tables a line at a
time and keeps the state stack between lines. A lexer that is no state machine gives no colours.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from efr.cli.render.spans import CODE, PLAIN, Line, Span, Style

_ROLES = (
    ("Token.Comment", Style("syntax.comment")),
    ("Token.Keyword", Style("syntax.keyword")),
    ("Token.Literal.String", Style("syntax.string")),
    ("Token.Literal.Number", Style("syntax.number")),
    ("Token.Name.Builtin", Style("syntax.builtin")),
    ("Token.Name.Function", Style("syntax.name")),
    ("Token.Name.Class", Style("syntax.name")),
    ("Token.Name.Tag", Style("syntax.keyword")),
    ("Token.Operator.Word", Style("syntax.keyword")),
)
_LONG_ROW = 2000  # characters: a minified row stays plain, its patterns may take seconds


def highlighter(language: str) -> Highlighter | None:
    """What colours code of `language`, or None when nothing here knows it."""
    lexer = _lexer(language) if language else None
    return Highlighter(lexer) if lexer is not None else None


class Highlighter:
    """The state of one block of code."""

    def __init__(self, lexer: Any) -> None:
        self._lexer = lexer
        self._stack = ["root"]

    def copy(self) -> Highlighter:
        """An independent copy, for a look ahead."""
        ahead = Highlighter(self._lexer)
        ahead._stack = list(self._stack)
        return ahead

    def line(self, text: str) -> Line:
        """The next row."""
        if len(text) > _LONG_ROW:
            return (Span(text, CODE),)
        spans: list[Span] = []
        for kind, value in self._tokens(text + "\n"):
            shown = value.replace("\n", "")
            if not shown:
                continue
            style = _style(kind)
            if spans and spans[-1].style == style:
                spans[-1] = spans[-1]._replace(text=spans[-1].text + shown)
            else:
                spans.append(Span(shown, style))
        return tuple(spans)

    def _tokens(self, text: str) -> Iterator[tuple[str, str]]:
        """The loop of pygments.lexer.RegexLexer, with the stack kept for the next line."""
        position = 0
        while position < len(text):
            for match, action, change in self._lexer._tokens[self._stack[-1]]:
                found = match(text, position)
                if not found or (found.end() == position and change is None):
                    continue
                yield from _named(self._lexer, action, found)
                position = found.end()
                self._change(change)
                break
            else:
                if text[position] == "\n":
                    self._stack = ["root"]
                yield "", text[position]
                position += 1

    def _change(self, change: Any) -> None:
        """Moves the stack as a rule's last part says."""
        if change is None:
            return
        steps = change if isinstance(change, tuple) else (change,)
        for step in steps:
            if step == "#pop" or isinstance(step, int):
                count = 1 if step == "#pop" else -step
                del self._stack[max(len(self._stack) - count, 1) :]
            elif step == "#push":
                self._stack.append(self._stack[-1])
            else:
                self._stack.append(step)


def _named(lexer: Any, action: Any, found: Any) -> Iterator[tuple[str, str]]:
    """The tokens of one matched rule, by the names of their kinds."""
    if action is None:
        return
    if callable(action) and not isinstance(action, tuple):
        for _, kind, value in action(lexer, found):
            yield str(kind), value
    else:
        yield str(action), found.group()


@lru_cache(maxsize=256)
def _style(kind: str) -> Style:
    return next((style for prefix, style in _ROLES if kind.startswith(prefix)), PLAIN)


@lru_cache(maxsize=32)
def _lexer(language: str) -> Any:
    from pygments.lexer import ExtendedRegexLexer, RegexLexer  # type: ignore[import-untyped]
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return None
    return lexer if _is_plain_machine(lexer, RegexLexer, ExtendedRegexLexer) else None


def _is_plain_machine(lexer: Any, machine: type, with_context: type) -> bool:
    """Whether the lexer is driven by its table alone, from one state, with nothing around it."""
    kind = type(lexer)
    return (
        isinstance(lexer, machine)
        and not isinstance(lexer, with_context)
        and kind.get_tokens_unprocessed is machine.get_tokens_unprocessed  # type: ignore[attr-defined]
    )
