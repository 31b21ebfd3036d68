"""The docs page: current, whole, and true in what it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.codec import from_builtins
from efr.wire.declared import exported, is_open, is_set, kinds_of, members_of, tag_of
from efr.wire.devices import key_fingerprint
from efr.wire.docs import BadPage, filled, main, parts
from efr.wire.fixtures import SETS
from efr.wire.frames import ErrorFrame, ItemFrame, Request, read_client_frame, read_server_frame
from efr.wire.hints import is_struct
from efr.wire.notes import first_paragraph, notes_of
from efr.wire.table import METHODS
from tests.wire.bless import FIXTURES, digest

FIRST_DIGEST = "542b38972166"  # of the fixtures that version 1 began with

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE_FILE: Final = ROOT / "docs" / "protocol.md"
PAGE: Final = PAGE_FILE.read_text(encoding="utf-8")
_SECTION: Final = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
SECTIONS: Final[dict[str, str]] = dict(_SECTION.findall(PAGE))


def headings() -> Iterator[str]:
    """Every heading, without those of code."""
    fenced = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    return (found[1] for found in re.finditer(r"^#{1,6} (.+)$", fenced, re.MULTILINE))


def anchor(heading: str) -> str:
    """The anchor that a renderer makes: lowercase, no marks, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def part_of(name: str) -> str:
    """What stands under a heading, up to the next one of any level."""
    found = re.search(rf"^#+ {re.escape(name)}$(.*?)(?=^#+ |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"no heading {name}"
    return found[1]


def test_the_generated_parts_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", str(PAGE_FILE)]) == 0, capsys.readouterr().err


def test_the_page_has_its_sections() -> None:
    assert list(SECTIONS) == [
        "Summary",
        "Words",
        "Transport",
        "Frames",
        "Life of a request",
        "Hello and versions",
        "Errors",
        "Scopes and callers",
        "Receipts",
        "Ids, times and other scalars",
        "Text offsets",
        "Following a conversation",
        "Rules for readers",
        "Size limits",
        "Remote devices",
        "Methods",
        "Events",
        "Shared types",
        "Fixtures",
        "Schema",
        "How to change the protocol",
        "Changelog",
    ]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_told_whole(name: str) -> None:
    method = METHODS[name]
    told = part_of(f"`{name}`")
    assert first_paragraph(method.params) in told
    assert f"Scope `{method.scope.value}`" in told
    for kind in (method.params, *(kinds_of(method.result) or (method.result,))):
        home = part_of(kind.__name__) if f"[{kind.__name__}](#" in told else told
        assert all(f"`{member.name}`" in home for member in members_of(kind))
        assert tag_of(kind) is None or f"`{tag_of(kind)}`" in told


@pytest.mark.parametrize("kind", ev.EVENTS)
def test_an_event_is_told_whole(kind: str) -> None:
    told = part_of(f"`{kind}`")
    assert first_paragraph(ev.EVENTS[kind]) in told
    rows = re.findall(r"^\| `(\w+)` \|", told, re.MULTILINE)
    assert rows == ["kind", *(member.name for member in members_of(ev.EVENTS[kind]))]


def test_every_sentence_of_a_method_or_an_event_is_one() -> None:
    declared = [method.params for method in METHODS.values()] + list(ev.EVENTS.values())
    for kind in declared:
        assert re.fullmatch(r"[A-Z].{9,}[a-z)`]\.", first_paragraph(kind)), kind


def test_every_set_union_and_shared_type_is_told() -> None:
    kinds = {kind for _, _, value in exported(t) for kind in kinds_of(value)}
    for _home, name, value in exported(t):
        if is_set(value):
            told = part_of(name)
            assert [*re.findall(r"^\| `(\w+)` \|", told, re.MULTILINE)] == [v.value for v in value]
            assert ("unknown" in told) is is_open(value)
        elif kinds_of(value):
            shown = re.findall(r"^\| `(\w+)` \|", part_of(name), re.MULTILINE)
            assert shown == ["kind", *map(tag_of, kinds_of(value))]
        elif is_struct(value) and value not in kinds and name != "LateSteer":
            assert all(f"`{member.name}`" in part_of(name) for member in members_of(value))


def test_open_and_closed_sets_are_listed() -> None:
    rules = SECTIONS["Rules for readers"]
    an_open, a_closed = rules.split("Open are:")[1].split("Closed are:")
    for module in (t, m):
        for _home, name, value in exported(module):
            if is_set(value) or kinds_of(value):
                assert (f"[{name}](" in an_open) is is_open(value), name
                assert (f"[{name}](" in a_closed) is not is_open(value), name


def test_error_codes_scopes_and_capability_keys_have_a_meaning() -> None:
    for kind in (t.ErrorCode, t.ScopeName):
        assert notes_of(kind).keys() == set(kind.__members__)
    assert all(member.note for member in members_of(t.Capabilities))
    causes = SECTIONS["Errors"].split("### Codes by cause")[1]
    told = SECTIONS["Errors"].replace(causes, "") + SECTIONS["Hello and versions"]
    for code in t.ErrorCode:
        assert f"`{code.value}`" in causes or f"`{code.value}`" in told


def test_links_resolve_and_anchors_are_unique() -> None:
    anchors = Counter(anchor(heading) for heading in headings())
    assert [name for name, count in anchors.items() if count > 1] == []
    links = re.findall(r"\]\((#?[^)\s]+)\)", PAGE)
    assert {link for link in links if link.startswith("#") and link[1:] not in anchors} == set()
    assert [link for link in links if not link.startswith("#")] == []
    named = re.findall(r"`((?:docs|tests|efr|fixtures)/[\w./]+)`", PAGE)
    assert [name for name in named if not (ROOT / name).exists() and "v2" not in name] == []


def test_the_numbers_of_the_summary_are_true() -> None:
    streams = sum(method.stream for method in METHODS.values())
    summary = " ".join(SECTIONS["Summary"].split())
    assert f"There are {len(METHODS)} methods. {len(METHODS) - streams} are *unary*" in summary
    assert f"{streams} are *streams*" in summary
    assert f"There are {len(ev.EVENTS)} kinds." in summary
    assert f"The version is **{t.PROTOCOL_VERSION}**." in summary


def test_the_session_of_the_summary_is_one() -> None:
    asked: dict[int, Any] = {}
    shown = re.findall(r"^([CS]) (.*)$", SECTIONS["Summary"], re.MULTILINE)
    assert len(shown) > 9
    for side, line in shown:
        if side == "C":
            frame = read_client_frame(line.encode())
            if isinstance(frame, Request):
                asked[frame.id] = METHODS[frame.method]
                from_builtins(frame.params, asked[frame.id].params)
            continue
        answer = read_server_frame(line.encode())
        if isinstance(answer, ItemFrame):
            from_builtins(answer.item, asked[answer.id].result)
        assert not isinstance(answer, ErrorFrame) or answer.error.code in t.ErrorCode


def test_the_examples_of_text_offsets_count() -> None:
    rows = re.findall(r"\| `(\S+)` \| (\d) \| (\d) \| (\d) \|", SECTIONS["Text offsets"])
    assert len(rows) == 2
    for text, characters, units, size in rows:
        assert len(text) == int(characters)
        assert len(text.encode("utf-16-le")) == 2 * int(units)
        assert len(text.encode()) == int(size)


def test_the_example_of_a_fingerprint_is_true() -> None:
    assert f"`{key_fingerprint(bytes([4, *range(1, 65)]))}`" in SECTIONS["Remote devices"]


def test_every_set_file_is_listed() -> None:
    listed = re.findall(r"^\| `(\w+)` \| \[", SECTIONS["Fixtures"], re.MULTILINE)
    assert listed == list(SETS)


def test_the_newest_entry_of_the_changelog_is_about_the_fixtures_of_today() -> None:
    """A fixture that changes needs an entry: `make bless` prints the digest for it."""
    digests = re.findall(r"\(fixtures `([0-9a-f]{12})`\)", SECTIONS["Changelog"])
    assert digests[-1:] == [digest(FIXTURES)], "add an entry to the changelog of docs/protocol.md"
    assert digests[0] == FIRST_DIGEST, "an entry of the changelog stays as it is; add another one"
    assert len(set(digests)) == len(digests)


def test_a_page_without_a_place_for_a_part_is_refused() -> None:
    page = "".join(f"<!-- generated: {name} -->\n<!-- end -->\n\n" for name in parts())
    whole = filled(page)
    assert filled(whole) == whole
    assert parts()["event turn_started"] in whole

    without = page.replace("<!-- generated: event turn_started -->\n<!-- end -->\n", "")
    twice = page + "<!-- generated: methods -->\n<!-- end -->\n"
    strange = page + "<!-- generated: weather -->\n<!-- end -->\n"
    for wrong, why in (
        (without, "no place for: event turn_started"),
        (twice, "two places for: methods"),
        (strange, "no such part: weather"),
    ):
        with pytest.raises(BadPage, match=why):
            filled(wrong)


def test_it_writes_and_checks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "efr.wire.docs"]
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("| `turn_id` |", "| `turn` |"), encoding="utf-8")

    stale = subprocess.run([*command, "--check", str(page)], capture_output=True, text=True)
    assert stale.returncode == 1
    assert "not current" in stale.stderr
    assert subprocess.run([*command, "--write", str(page)]).returncode == 0
    assert page.read_text(encoding="utf-8") == PAGE
    assert subprocess.run([*command, "--check", str(page)]).returncode == 0

    page.write_text("# Empty\n", encoding="utf-8")
    assert subprocess.run([*command, "--write", str(page)], capture_output=True).returncode == 1
    assert subprocess.run(command, capture_output=True).returncode == 2
