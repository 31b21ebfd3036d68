"""What a line is made of: its structure from a parser, its words from our own reader.

Pure. Lists, pipes, groups, subshells, redirections, here-documents and braces are understood; only
the node kinds in the tables are, and each word is read by `efr.policy.words` and has to end where
the parser says. A line that is understood here still asks when it holds more than plain commands;
this tells a person what it would run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from msgspec import Struct, field
from tree_sitter import Node

from efr.policy.reader import BUILTINS, RESERVED, SimpleCommand, check_assignment
from efr.policy.syntax_tree import INSIDE, WORDS, is_covered, is_parsed, tree_of
from efr.policy.words import BREAKS, Stop, Unreadable, Word, WordReader

_BETWEEN: Final = frozenset(("&&", "||", "|", "|&", ";", "\n", "(", ")", "{", "}"))
_TO_FILE: Final = frozenset((">", ">>", ">|", "&>", "&>>", ">&"))
# What stands for a construct that is not understood.
_CONSTRUCTS: Final = {
    "command_substitution": "command_substitution",
    "process_substitution": "process_substitution",
    "simple_expansion": "expansion",
    "expansion": "expansion",
    "arithmetic_expansion": "expansion",
    "ansi_c_string": "expansion",
    "translated_string": "expansion",
    "negated_command": "history_expansion",
    "comment": "character",
    "array": "grouping",
    "subscript": "grouping",
}
_REDIRECTS: Final = re.compile(r"[<>]|&>")
_NUMERIC_GLOB: Final = re.compile(r"<[0-9]*-[0-9]*>")  # two redirections to the grammar
_AFTER_WORD: Final = frozenset((*BREAKS, ")", ""))
_BEFORE_WORD: Final = frozenset((*BREAKS, "(", ""))
_PLAIN_END: Final = re.compile(r"[A-Za-z0-9_]+|'[A-Za-z0-9_]+'|\"[A-Za-z0-9_]+\"")
_BRACES: Final = re.compile(r"[A-Za-z0-9_./:,+@%{}-]*\{[A-Za-z0-9_./:,+@%{}-]*")
_LIST: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
_NESTED: Final = re.compile(r"\{[^}]*\{")
_RANGE: Final = re.compile(r"\{(0|[1-9][0-9]{0,3})\.\.(0|[1-9][0-9]{0,3})\}")
_MOST_NAMES: Final = 64  # that braces stand for
_ARITHMETIC_START: Final = re.compile(r"\(\(|\)\)")


class Structure(Struct):
    """What a line runs, and the files that its redirections write and read.

    `holds` names the constructs beyond plain commands, in the order of the line.
    """

    commands: list[SimpleCommand] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    reads: list[Word] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)


def read_structure(line: str) -> Structure | Unreadable:
    """Every command that may run, or the first thing that is not understood."""
    if not is_parsed(line):
        return Unreadable("length")
    if "\0" in line or "\r" in line:
        return Unreadable("character", "a control character")
    if _NUMERIC_GLOB.search(line):
        return Unreadable("glob")
    builder, root = _Builder(line), tree_of(line)
    if root.has_error or not is_covered(line, root):
        return Unreadable("syntax")
    try:
        builder.statements(root)
    except Stop as stop:
        return stop.unreadable
    if not builder.structure.commands:
        return Unreadable("empty")
    return builder.structure


class _Builder:
    """A structure while it is read from the tree."""

    def __init__(self, line: str) -> None:
        self._line = line
        self.structure = Structure()

    def statements(self, node: Node) -> None:
        """Everything that stands in a list, a pipe or a group. Raises Stop."""
        if node.type in ("subshell", "compound_statement"):
            if _ARITHMETIC_START.match(self._line, node.start_byte):
                raise Stop("grouping")
            self._note("grouping")
        for child in node.children:
            self._statement(child)

    def _statement(self, node: Node) -> None:
        kind = node.type
        if kind in INSIDE:
            self.statements(node)
        elif kind == "command":
            self._command(node, ())
        elif kind == "redirected_statement":
            self._redirected(node)
        elif kind == "&":
            self._background(node)
        elif kind not in _BETWEEN:
            raise Stop(*_not_understood(node))

    def _background(self, node: Node) -> None:
        if self._line[node.end_byte : node.end_byte + 1] in ("!", "|"):
            raise Stop("background")
        self._note("background")

    def _note(self, construct: str) -> None:
        if construct not in self.structure.holds:
            self.structure.holds.append(construct)

    # -- commands

    def _redirected(self, node: Node) -> None:
        redirections = [one for one in node.children if one.type.endswith("_redirect")]
        for child in node.children:
            if child.type == "command":
                self._command(child, redirections)
                return
        body = node.children[0]
        if body.type not in INSIDE:
            raise Stop("empty")
        self._statement(body)
        for redirection in redirections:
            late = self._redirection(redirection)
            if late and body.type not in ("list", "pipeline"):
                raise Stop("syntax")
            if late:
                self._append(late)

    def _append(self, words: Sequence[Word]) -> None:
        """Words behind a redirection belong to the command before it."""
        last = self.structure.commands[-1]
        self.structure.commands[-1] = SimpleCommand((*last.words, *words))

    def _command(self, node: Node, redirections: Sequence[Node]) -> None:
        words: list[Word] = []
        for child in node.children:
            if child.type == "variable_assignment":
                self._assignment(child)
            elif child.type.endswith("_redirect"):
                words += self._redirection(child)
            else:
                inner = child.children[0] if child.type == "command_name" else child
                words += self._words(inner)
        for redirection in redirections:
            words += self._redirection(redirection)
        if not words:
            raise Stop("empty")
        _check_program(words[0])
        self.structure.commands.append(SimpleCommand(tuple(words)))

    def _assignment(self, node: Node) -> None:
        word = self._word(node.start_byte, node.end_byte)
        if not word.assigns:
            raise Stop("assignment")
        check_assignment(word)

    # -- redirections

    def _redirection(self, node: Node) -> list[Word]:
        """Notes the file; the words behind it, which belong to the command."""
        if node.type == "heredoc_redirect":
            return self._document(node)
        if node.type != "file_redirect":
            raise Stop("here_document")
        operator = ""
        targets: list[Node] = []
        for child in node.children:
            if child.type in WORDS:
                targets.append(child)
            elif child.type == "file_descriptor":
                self._check_descriptor(child)
            elif child.is_named or operator:
                raise Stop(*_not_understood(child))
            else:
                operator = child.type
        if not targets:
            raise Stop("redirection")
        self._target(node, operator, targets[0])
        return [word for one in targets[1:] for word in self._words(one)]

    def _check_descriptor(self, node: Node) -> None:
        """One digit, as zsh has it, and not a part of the word before."""
        before = self._line[node.start_byte - 1 : node.start_byte] if node.start_byte else ""
        if node.end_byte - node.start_byte != 1 or before not in ("", *" \t\n;&|(){}"):
            raise Stop("redirection")

    def _target(self, node: Node, operator: str, target: Node) -> None:
        word = self._word(target.start_byte, target.end_byte)
        if word.pattern or not word.text:
            raise Stop("glob")
        if operator in (">&", "<&") and word.text.isdigit() and not word.quoted:
            touches = target.start_byte == _operator_end(node, operator)
            if not touches or len(word.text) != 1:
                raise Stop("redirection")
        elif operator in _TO_FILE and word.text not in ("-", "p"):
            self.structure.writes.append(word)
            if word.text != "/dev/null":
                self._note("redirection")
        elif operator == "<":
            self.structure.reads.append(word)
        else:
            raise Stop("redirection")

    def _document(self, node: Node) -> list[Word]:
        """A here-document without expansions; only redirections to files stand behind it."""
        words: list[Word] = []
        start = ""
        for child in node.children:
            if child.type == "heredoc_start":
                start = self._text(child)
            elif child.type == "heredoc_body":
                if start[:1] not in "'\"" and any(sign in self._text(child) for sign in "$`\\"):
                    raise Stop("here_document")
            elif child.type == "file_redirect":
                words += self._redirection(child)
            elif child.type not in ("<<", "heredoc_end"):
                raise Stop("here_document")
        if not _PLAIN_END.fullmatch(start) or "\\\n" in self._line:
            raise Stop("here_document")
        self._note("here_document")
        return words

    # -- words

    def _words(self, node: Node) -> list[Word]:
        """One word, or those that braces stand for; these begin and end at one place."""
        if node.type not in WORDS:
            raise Stop(*_not_understood(node))
        self._check_edges(node.start_byte, node.end_byte)
        text = self._text(node)
        if text == "{}":
            self._note("grouping")
            return [Word("{}", start=node.start_byte, end=node.end_byte)]
        if "{" in text and _BRACES.fullmatch(text):
            self._note("grouping")
            words = (WordReader(name).word() for name in expand_braces(text))
            return [replace(word, start=node.start_byte, end=node.start_byte) for word in words]
        return [self._word(node.start_byte, node.end_byte)]

    def _word(self, start: int, end: int) -> Word:
        """The word there, by our own reading. Raises Stop."""
        self._check_edges(start, end)
        reader = WordReader(self._line[:end], start)
        word = reader.word()
        if reader.at != end:
            raise Stop("disagreement")
        if end - start == 1 and word.text.isdigit() and _REDIRECTS.match(self._line, end):
            raise Stop("redirection")  # a descriptor
        return word

    def _check_edges(self, start: int, end: int) -> None:
        """A word stands between breaks, or ends a subshell."""
        before = self._line[start - 1 : start] if start else ""
        if before not in _BEFORE_WORD or self._line[end : end + 1] not in _AFTER_WORD:
            raise Stop("disagreement")

    def _text(self, node: Node) -> str:
        return self._line[node.start_byte : node.end_byte]


def _check_program(program: Word) -> None:
    """Raises Stop when zsh reads something else than a program there."""
    if program.pattern:
        raise Stop("glob")
    if program.start == program.end or program.text == "{}":
        raise Stop("grouping")  # a group, and not names
    if program.text in BUILTINS:
        raise Stop("builtin", program.text)
    if program.text in RESERVED and not program.quoted:
        raise Stop("reserved", program.text)


def expand_braces(text: str) -> list[str]:
    """The names that `{a,b}` and `{1..3}` stand for. Raises Stop for any other use of braces."""
    done: list[str] = []
    waiting = [text]
    while waiting:
        name = waiting.pop(0)
        both = (one for one in (_LIST.search(name), _RANGE.search(name)) if one is not None)
        found = min(both, key=lambda one: one.start(), default=None)
        if _NESTED.search(name) or (found is None and ("{" in name or "}" in name)):
            raise Stop("grouping")
        if found is None:
            done.append(name)
        else:
            head, tail = name[: found.start()], name[found.end() :]
            waiting = [*(head + one + tail for one in _names(found)), *waiting]
        if len(done) + len(waiting) > _MOST_NAMES:
            raise Stop("grouping")
    return done


def _names(found: re.Match[str]) -> list[str]:
    if found.re is _LIST:
        return found[1].split(",")
    first, last = int(found[1]), int(found[2])
    step = 1 if first <= last else -1
    if abs(last - first) > _MOST_NAMES:
        raise Stop("grouping")
    return [str(number) for number in range(first, last + step, step)]


def _operator_end(node: Node, operator: str) -> int:
    return next(one.end_byte for one in node.children if one.type == operator)


def _not_understood(node: Node) -> tuple[str, str]:
    """The construct, and what a reason calls it."""
    construct = _CONSTRUCTS.get(node.type)
    if construct == "character":
        return construct, "#"
    if construct is not None:
        return construct, ""
    is_compound = node.type.endswith(("_statement", "_definition"))
    return ("compound", "") if is_compound else ("syntax", "")
