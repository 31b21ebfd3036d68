"""Patches in memory: a random edit's patch makes the edit, and what the grammar allows is read."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark

from efr.tools.apply_patch_words import DEFINITION
from efr.tools.patch import apply_patch
from efr.tools.patch_parse import (
    AddFile,
    DeleteFile,
    Hunk,
    HunkLine,
    PatchError,
    UpdateFile,
    parse_patch,
)
from tests.tools.patch_cases import load_cases

BEGIN, END = "*** Begin Patch", "*** End Patch"
assert DEFINITION.grammar is not None
GRAMMAR = lark.Lark(DEFINITION.grammar.definition, parser="lalr")


def applied(before: dict[str, str], patch: str) -> dict[str, str]:
    """The tree afterwards, from nothing but the changes."""
    tree = dict(before)
    for change in apply_patch(parse_patch(patch), before, str):
        assert change.before == before.get(change.from_key or change.key)
        if change.from_key is not None:
            del tree[change.from_key]
        if change.after is None:
            del tree[change.key]
        else:
            tree[change.key] = change.after
    return tree


def hunks_between(old: list[str], new: list[str]) -> Iterator[str]:
    """The hunks of a diff without their numbers, as a model writes them."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(3):
        yield "@@"
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[old_start:old_end])
                continue
            yield from (f"-{line}" for line in old[old_start:old_end])
            yield from (f"+{line}" for line in new[new_start:new_end])


def patch_of(*operations: str) -> str:
    return "\n".join((BEGIN, *operations, END, ""))


# -- one file

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0\ufeff")
LINE = st.text(LETTERS, max_size=12)
FEW = st.sampled_from(["", "a", "b", " a", "}", "  return x"])


@dataclass(frozen=True)
class Edit:
    """Two texts and the lines that make them."""

    old: list[str]
    new: list[str]
    end: str
    final: bool

    def text(self, lines: list[str]) -> str:
        return self.end.join(lines) + (self.end if lines and self.final else "")

    @property
    def patch(self) -> str:
        return patch_of("*** Update File: f", *hunks_between(self.old, self.new))


@st.composite
def edits(draw: st.DrawFn, line: st.SearchStrategy[str], *, unique: bool) -> Edit:
    old = draw(st.lists(line, max_size=30, unique=unique))
    new = list(old)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(new)))
        end = min(start + draw(st.integers(0, 3)), len(new))
        new[start:end] = draw(st.lists(line, max_size=3))
    final = draw(st.booleans()) or not old or not old[-1] or not (new and new[-1])
    has_end = len(old) > 1 or (old and final)  # new lines take the end that the file has
    return Edit(old, new, draw(st.sampled_from(["\n", "\r\n"])) if has_end else "\n", final)


@settings(max_examples=60)
@given(edits(LINE, unique=True))
def test_the_patch_of_an_edit_makes_the_edit(edit: Edit) -> None:
    if edit.old == edit.new:
        return
    before = {"f": edit.text(edit.old)}
    assert applied(before, edit.patch) == {"f": edit.text(edit.new)}
    GRAMMAR.parse(edit.patch)


@given(edits(FEW, unique=False))
def test_an_edit_among_repeated_lines_is_right_or_ambiguous(edit: Edit) -> None:
    if edit.old == edit.new:
        return
    before = {"f": edit.text(edit.old)}
    try:
        after = applied(before, edit.patch)
    except PatchError as exc:
        why = str(exc)
        assert "ambiguous" in why
        return
    assert after == {"f": edit.text(edit.new)}


@settings(max_examples=40)
@given(edits(LINE, unique=True), st.sampled_from(["blanks", "indent"]))
def test_loose_context_changes_nothing_but_the_edit(edit: Edit, how: str) -> None:
    """Whatever the patch does to white space of lines that stay, the file keeps its own."""
    kept = [line for line in edit.old if line.strip() == line and line]
    if len({line.casefold() for line in kept}) != len(edit.old) or edit.old == edit.new:
        return
    loose = [
        (f"{line}  " if how == "blanks" else f" \t{line[1:]}") if line.startswith(" ") else line
        for line in hunks_between(edit.old, edit.new)
    ]
    patch = patch_of("*** Update File: f", *loose)
    try:
        after = applied({"f": edit.text(edit.old)}, patch)
    except PatchError as exc:  # lines that differ by their signs' width alone
        why = str(exc)
        assert "ambiguous" in why or "not in the file" in why
        return
    assert after == {"f": edit.text(edit.new)}


# -- trees


@dataclass
class Model:
    """What the operations should come to."""

    tree: dict[str, str]
    operations: list[str] = field(default_factory=list)


NAMES = ["a", "b", "c", "d/e", "d/f", "g/h/i"]
TEXTS = st.lists(st.text("xyz ", min_size=1, max_size=4), max_size=6, unique=True).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


@st.composite
def sequences(draw: st.DrawFn) -> tuple[dict[str, str], Model]:
    before = draw(st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=4))
    model = Model(dict(before))
    for _ in range(draw(st.integers(1, 8))):
        free = [name for name in NAMES if name not in model.tree]
        taken = sorted(model.tree)
        kind = draw(st.sampled_from(["add", "delete", "move", "update"]))
        if kind == "add" and free:
            _add(model, draw(st.sampled_from(free)), draw(TEXTS))
        elif kind == "delete" and taken:
            name = draw(st.sampled_from(taken))
            del model.tree[name]
            model.operations.append(f"*** Delete File: {name}")
        elif taken:
            target = draw(st.sampled_from(free)) if kind == "move" and free else None
            _update(model, draw(st.sampled_from(taken)), target, draw(TEXTS))
    if not model.operations:
        _add(model, "new", "x\n")
    return before, model


def _add(model: Model, name: str, text: str) -> None:
    model.tree[name] = text
    model.operations.append(f"*** Add File: {name}")
    model.operations += [f"+{line}" for line in text.splitlines()]


def _update(model: Model, name: str, target: str | None, text: str) -> None:
    old = model.tree.pop(name)
    hunks = list(hunks_between(old.splitlines(), text.splitlines()))
    model.tree[target or name] = text
    if hunks or target:
        model.operations.append(f"*** Update File: {name}")
        model.operations += [f"*** Move to: {target}"] if target else []
        model.operations += hunks


@settings(max_examples=50)
@given(sequences())
def test_operations_in_a_row_come_to_what_each_of_them_does(
    case: tuple[dict[str, str], Model],
) -> None:
    before, model = case
    patch = patch_of(*model.operations)
    assert applied(before, patch) == model.tree
    GRAMMAR.parse(patch)
    changes = apply_patch(parse_patch(patch), before, str)
    touched = [key for change in changes for key in {change.key, change.from_key} if key]
    assert len(touched) == len(set(touched))
    assert all(before.get(change.key) != change.after for change in changes)


# -- reading


@settings(max_examples=30)
@given(from_lark(GRAMMAR))
def test_what_the_grammar_allows_is_read(text: str) -> None:
    operations = parse_patch(text)
    assert len(operations) == sum(
        line.startswith(("*** Add File: ", "*** Delete File: ", "*** Update File: "))
        for line in text.split("\n")
    )


def test_the_grammar_allows_plain_patches_and_none_that_cannot_be_read() -> None:
    plain = 0
    for case in load_cases():
        try:
            GRAMMAR.parse(case.patch)
        except lark.exceptions.LarkError:
            continue
        assert parse_patch(case.patch)
        plain += 1
    assert plain > 100


def test_a_patch_as_operations() -> None:
    text = patch_of(
        "*** Add File: a b",
        "+one",
        "+",
        "*** Delete File: c",
        "*** Update File: d",
        "*** Move to: e",
        "@@ class A:",
        "@@   def f():",
        " one",
        "-two",
        "+2",
        "*** End of File",
        "@@",
        "+three",
        "",
        "",
    )
    assert parse_patch(text) == (
        AddFile(2, "a b", "one\n\n"),
        DeleteFile(5, "c"),
        UpdateFile(
            6,
            "d",
            "e",
            (
                Hunk(
                    8,
                    ("class A:", "  def f():"),
                    (HunkLine(" ", "one"), HunkLine("-", "two"), HunkLine("+", "2")),
                    at_end=True,
                ),
                Hunk(
                    14, (), (HunkLine("+", "three"), HunkLine(" ", ""), HunkLine(" ", "")), bare=2
                ),
            ),
        ),
    )


@given(st.text(st.sampled_from("*@+- \n\raE"), max_size=40) | st.text(max_size=40))
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    for wrapped in (text, f"{BEGIN}\n{text}", f"{BEGIN}\n*** Update File: f\n{text}\n{END}"):
        try:
            parse_patch(wrapped)
        except PatchError as exc:
            why = str(exc)
            assert why.startswith(("Line ", "The patch is empty"))


# -- large files


def test_a_thousand_hunks_in_ten_thousand_lines() -> None:
    old = [f"line {number}" for number in range(10_000)]
    new = [f"changed {line}" if at % 10 == 5 else line for at, line in enumerate(old)]
    text, patch = "\n".join(old), ["*** Update File: f"]
    for at in range(5, 10_000, 10):
        patch += ["@@", f" {old[at - 1]}", f"-{old[at]}", f"+{new[at]}", f" {old[at + 1]}"]
    assert applied({"f": text}, patch_of(*patch)) == {"f": "\n".join(new)}


def test_ten_thousand_equal_lines_are_ambiguous_at_once() -> None:
    hunk = [" same"] * 4_000
    with pytest.raises(PatchError, match="at lines 1, 2, 3, 4, 5, 6, 7, 8 and more"):
        applied({"f": "same\n" * 10_000}, patch_of("*** Update File: f", *hunk, "+new"))


def test_ten_thousand_lines_without_a_like_are_told_at_once() -> None:
    text = "".join(f"a line with some words and the number {at}\n" for at in range(10_000))
    with pytest.raises(PatchError, match=r"Nearest lines:\n(\d+ \| .*\n?){1,12}$"):
        applied({"f": text}, patch_of("*** Update File: f", "-some words that are not there", "+x"))
