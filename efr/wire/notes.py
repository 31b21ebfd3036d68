"""What the source says about the members of a declared type: the comments beside them.

A comment behind a member, or alone above it, is the member's meaning: the docs page and the
schema repeat it, and nobody writes it twice. Reads the sources of `efr.wire` and nothing else;
the programs that write documents use it, the daemon and the command never do.
"""

from __future__ import annotations

import ast
import inspect
import io
import sys
import tokenize
from functools import cache
from types import ModuleType


def notes_of(kind: type) -> dict[str, str]:
    """The meaning of each member that has one, by attribute; inherited members too."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("efr.wire"):
            found |= _notes(sys.modules[base.__module__]).get(base.__name__, {})
    return found


def first_paragraph(kind: type) -> str:
    """The docstring up to its first empty line, on one line."""
    text = inspect.cleandoc(kind.__doc__ or "")
    return " ".join(text.partition("\n\n")[0].split())


@cache
def _notes(module: ModuleType) -> dict[str, dict[str, str]]:
    """The notes of every class of a module."""
    source = inspect.getsource(module)
    behind, alone = _comments(source)
    return {
        node.name: {
            name: note
            for name, first, last in _members(node)
            if (note := behind.get(last) or _above(first, alone))
        }
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef)
    }


def _members(node: ast.ClassDef) -> list[tuple[str, int, int]]:
    """Each member with its first and its last line."""
    members = []
    for part in node.body:
        target = (
            part.target
            if isinstance(part, ast.AnnAssign)
            else part.targets[0]
            if isinstance(part, ast.Assign)
            else None
        )
        if isinstance(target, ast.Name):
            members.append((target.id, part.lineno, part.end_lineno or part.lineno))
    return members


def _comments(source: str) -> tuple[dict[int, str], dict[int, str]]:
    """Comments by line: those behind code, and those alone on theirs."""
    behind: dict[int, str] = {}
    alone: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            kept = alone if token.line.lstrip().startswith("#") else behind
            kept[token.start[0]] = token.string.removeprefix("#").strip()
    return behind, alone


def _above(line: int, alone: dict[int, str]) -> str:
    """The comment lines that end right above this line."""
    parts: list[str] = []
    while line - 1 in alone:
        line -= 1
        parts.insert(0, alone[line])
    return " ".join(parts)
