"""The comment beside a member is its meaning, wherever it stands."""

from __future__ import annotations

from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.notes import first_paragraph, notes_of


def test_a_comment_behind_a_member_is_its_note() -> None:
    assert notes_of(t.SearchIndex) == {"percent": "0 to 100"}
    assert notes_of(t.ProveFacts) == {}


def test_a_comment_alone_above_a_member_is_its_note() -> None:
    notes = notes_of(t.GrantDesktop)
    assert notes == {"desktop": "one that the reader does not know makes the whole grant unknown"}


def test_an_inherited_member_keeps_its_note() -> None:
    assert notes_of(m.SubscribeEvent)["at"] == notes_of(ev.EventEnvelope)["at"]
    assert notes_of(ev.ShellCommandDetached) == notes_of(t.ShellBusy)


def test_a_value_of_a_set_has_its_note_by_its_name() -> None:
    assert notes_of(t.Origin)["SHELL"] == "the zsh plugin"


def test_a_sentence_ends_at_the_first_empty_line_of_a_docstring() -> None:
    assert first_paragraph(t.Capabilities) == (
        "Optional features of one side; absent means not supported."
    )
    assert first_paragraph(t.QrPayload) == "What the QR code of a pairing holds."
