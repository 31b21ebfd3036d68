"""A line as a parser sees it: its tree, whether all of it is in there, and whether we agree.

Pure. tree-sitter's grammar of bash is a second opinion on every line that would run without a
question: it has to find the same words in the same commands as the strict reader. What a line of
other kinds is made of is read from the same tree in `efr.policy.structure`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import tree_sitter
import tree_sitter_bash

from efr.policy.reader import SimpleCommand

# The grammar takes more than linear time on some texts; this much is some milliseconds at most.
_LONGEST: Final = 2048  # characters
_MOST_OPERATORS: Final = 120
_LANGUAGE: Final = tree_sitter.Language(tree_sitter_bash.language())
_OPERATORS: Final = re.compile(r"[|&;<>(){}\[\n]")
_NON_ASCII: Final = re.compile(r"[^\x00-\x7f]")

WORDS: Final = frozenset((
    "word", "number", "raw_string", "string", "concatenation", "brace_expression",
))  # fmt: skip
_WHOLE: Final = frozenset((*WORDS, "heredoc_body"))  # read by their text
INSIDE: Final = frozenset(("program", "list", "pipeline", "subshell", "compound_statement"))


def is_parsed(line: str) -> bool:
    """Whether the line is short enough for the parser."""
    return len(line) <= _LONGEST and len(_OPERATORS.findall(line)) <= _MOST_OPERATORS


def agrees(line: str, commands: Sequence[SimpleCommand]) -> bool:
    """Whether the parser takes a plain line apart into the same words; True when it is too long."""
    if not is_parsed(line):
        return True
    root = tree_of(line)
    if root.has_error:
        return False
    ours = [[(word.start, word.end) for word in command.words] for command in commands]
    return list(_spans(root)) == ours


def tree_of(line: str) -> tree_sitter.Node:
    """The parsed line. Other characters than ASCII stand for a letter, so that places are bytes."""
    text = _NON_ASCII.sub("x", line)
    return tree_sitter.Parser(_LANGUAGE).parse(text.encode()).root_node


def is_covered(line: str, root: tree_sitter.Node) -> bool:
    """Whether only blanks stand between the tokens of the tree: the grammar may skip a sign."""
    edges = line[: root.start_byte] + line[root.end_byte :]
    return not edges.strip(" \t\n") and _has_only_blanks(line, root)


def _has_only_blanks(line: str, node: tree_sitter.Node) -> bool:
    if not node.children or node.type in _WHOLE:
        return True
    blanks = " \t\n" if node.type in INSIDE or node.type == "heredoc_redirect" else " \t"
    at = node.start_byte
    for child in node.children:
        if line[at : child.start_byte].strip(blanks) or not _has_only_blanks(line, child):
            return False
        at = child.end_byte
    return not line[at : node.end_byte].strip(blanks)


def _spans(node: tree_sitter.Node) -> Iterator[list[tuple[int, int]]]:
    """The words of each command in order; redirections that stand behind it belong to it."""
    for child in node.children:
        kind = child.type
        if kind == "command":
            yield _words_of(child, ())
        elif kind == "redirected_statement":
            yield from _redirected_spans(child)
        elif kind in INSIDE:
            yield from _spans(child)


def _redirected_spans(node: tree_sitter.Node) -> Iterator[list[tuple[int, int]]]:
    redirections = [one for one in node.children if one.type == "file_redirect"]
    for child in node.children:
        if child.type == "command":
            yield _words_of(child, redirections)
        elif child.type in INSIDE:  # the redirection is that of its last command
            spans = list(_spans(child))
            late = [span for one in redirections for span in _late_words(one)]
            yield from (*spans[:-1], [*spans[-1], *late]) if spans else ()


def _words_of(
    command: tree_sitter.Node, redirections: Sequence[tree_sitter.Node]
) -> list[tuple[int, int]]:
    found = []
    for child in command.children:
        if child.type == "file_redirect":
            found += _late_words(child)
        elif child.type != "variable_assignment":
            found.append((child.start_byte, child.end_byte))
    return found + [span for one in redirections for span in _late_words(one)]


def _late_words(redirection: tree_sitter.Node) -> list[tuple[int, int]]:
    """The grammar takes what follows a redirection for more targets; zsh takes it for words."""
    words = [one for one in redirection.children if one.type in WORDS]
    return [(one.start_byte, one.end_byte) for one in words[1:]]
