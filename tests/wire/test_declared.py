"""What the declared types say about themselves, in the protocol's words."""

from __future__ import annotations

from typing import Any

import pytest

from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.declared import (
    Presence,
    is_open,
    kinds_of,
    members_of,
    name_of,
    scalar_about,
    scalar_name,
    tag_of,
)
from efr.wire.frames import EndFrame


@pytest.mark.parametrize(
    ("kind", "name", "presence", "default"),
    [
        (t.ContextUse, "limit", Presence.ALWAYS, None),
        (t.Usage, "cached_input_tokens", Presence.UNLESS_DEFAULT, 0),
        (t.Blocked, "count", Presence.UNLESS_DEFAULT, 1),
        (t.Cell, "bold", Presence.WHEN_TRUE, False),
        (t.Cell, "fg", Presence.OPTIONAL, None),
        (t.LaunchContained, "grants", Presence.WHEN_NOT_EMPTY, []),
        (ev.PromptQueued, "settings", Presence.WHEN_NOT_EMPTY, {}),
        (t.FileChanges, "more", Presence.ALWAYS_ELSE, 0),
        (m.AdminLoginApiKeyParams, "check", Presence.ALWAYS_ELSE, True),
        (m.HelloParams, "capabilities", Presence.ALWAYS_ELSE, {}),
        (EndFrame, "end", Presence.ALWAYS, True),
    ],
)
def test_a_member_tells_its_presence(
    kind: Any, name: str, presence: Presence, default: Any
) -> None:
    member = next(member for member in members_of(kind) if member.name == name)
    assert (member.presence, member.default) == (presence, default)


def test_members_have_their_names_on_the_wire() -> None:
    names = [member.name for member in members_of(t.UndoRef)]
    assert names == ["root", "name", "from", "to", "applied", "reason"]
    assert "others" not in [member.name for member in members_of(t.Capabilities)]


def test_types_have_the_names_of_the_protocol() -> None:
    assert name_of(t.Grant) == "Grant"
    assert name_of(ev.ConversationDeleted) == "ConversationDeletedEvent"
    assert name_of(m.ConversationDeleted) == "ConversationDeleted"
    assert (tag_of(t.GrantNetView), tag_of(t.Usage)) == ("net_view", None)
    hints = {member.name: member.hint for member in members_of(ev.JobStarted)}
    assert scalar_name(hints["call_id"]) == "CallId"
    assert scalar_about(hints["call_id"]) == "A tool call of a turn."
    assert scalar_name(hints["launcher_pid"]) is None


def test_open_is_what_knows_unknown() -> None:
    assert is_open(t.JobState)
    assert is_open(t.Grant)
    assert not is_open(t.Mode)
    assert not is_open(t.Scope)
    assert kinds_of(t.Usage) == ()
