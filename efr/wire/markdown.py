"""Tables of the declared types in Markdown, for the docs page. Pure.

What they say comes from the declarations, the docstrings and the comments beside the members.
The sentences around them stand in docs/protocol.md itself; `docs` puts the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import fill
from typing import Annotated, Any, Final, get_args, get_origin

from msgspec import Meta, Struct

from efr.wire import methods, types
from efr.wire.codec import encode
from efr.wire.declared import (
    Member,
    Presence,
    exported,
    extra_of,
    is_open,
    is_set,
    kinds_of,
    members_of,
    name_of,
    scalar_about,
    scalar_name,
    tag_of,
)
from efr.wire.event.envelope import EventEnvelope
from efr.wire.event.kinds import OF_DAEMON
from efr.wire.event.union import EVENTS, Event
from efr.wire.fixtures import SETS
from efr.wire.hints import is_struct
from efr.wire.notes import first_paragraph, notes_of
from efr.wire.table import METHODS, Caller, Method

_PLAIN: Final = {str: "string", bool: "boolean", Any: "any JSON"}
_BITS: Final = {2**8 - 1: "u8", 2**16 - 1: "u16", 2**32 - 1: "u32", 2**31 - 1: "i32"}
_FORMS: Final = {"uuid": "string, a UUID", "job": "string", "time": "string", "base64": "string"}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# --- types -----------------------------------------------------------------------------------


def type_text(hint: Any) -> str:
    """The name of a type, linked to where it is told."""
    if scalar_name(hint) is not None:
        return f"[{scalar_name(hint)}](#scalars)"
    if get_origin(hint) is Annotated:
        return _annotated(hint)
    if get_origin(hint) is tuple:
        return _list_text(get_args(hint))
    if get_origin(hint) is dict:
        return "object"
    if kinds_of(hint) or is_set(hint) or is_struct(hint):
        name = name_of(hint)
        return f"[{name}](#{_ANCHORS.get(name, name.lower())})"
    return _PLAIN[hint]


# Types that are told under a heading of another name.
_ANCHORS: Final = {"Event": "events"}


def _annotated(hint: Any) -> str:
    extra = extra_of(hint)
    if extra.get("form") == "event":
        return type_text(Event)
    if "const" in extra:
        return f"`{str(extra['const']).lower()}`"
    if "bits" in extra:
        return f"u{extra['bits']}"
    for note in hint.__metadata__:
        if isinstance(note, Meta) and isinstance(note.le, int):
            return _BITS[note.le]
    return type_text(get_args(hint)[0])


def _list_text(elements: tuple[Any, ...]) -> str:
    if elements[-1] is Ellipsis:
        return f"{type_text(elements[0])}\\[\\]"
    return f"\\[{', '.join(map(type_text, elements))}\\]"


def written(member: Member) -> str:
    """When the member is written."""
    if member.presence is Presence.UNLESS_DEFAULT:
        return f"when not {member.default}"
    if member.presence is Presence.ALWAYS_ELSE:
        return f"always; absent means `{encode(member.default).decode()}`"
    return str(member.presence.value)


def object_table(kind: type[Struct]) -> str:
    """The members of an object, in written order."""
    members = list(members_of(kind))
    rows = [[f"`{m.name}`", type_text(m.hint), written(m), m.note] for m in members]
    tag = tag_of(kind)
    if tag is not None:
        rows.insert(0, ["`kind`", f"`{tag}`", "always", ""])
    return table(["Member", "Type", "Written", "Meaning"], rows) if rows else "No members: `{}`."


def kinds_table(kinds: Iterable[Any]) -> str:
    """The kinds of a union: the members after `kind`, and what each is."""
    rows = [[f"`{tag_of(k)}`", _inline(k), first_paragraph(k)] for k in kinds]
    return table(["`kind`", "Members after it", "Meaning"], rows)


def _inline(kind: type[Struct]) -> str:
    return "<br>".join(_inline_member(member) for member in members_of(kind))


def _inline_member(member: Member) -> str:
    when = "" if member.presence is Presence.ALWAYS else f", {written(member)}"
    note = f": {member.note}" if member.note else ""
    return f"`{member.name}` {type_text(member.hint)}{when}{note}"


def set_table(kind: Any) -> str:
    """The values of a set."""
    notes = notes_of(kind)
    return table(
        ["Value", "Meaning"], [[f"`{value.value}`", _value_note(value, notes)] for value in kind]
    )


def _value_note(value: Any, notes: dict[str, str]) -> str:
    if value.name == "UNKNOWN":
        return "what a reader takes any other value as"
    return notes.get(value.name, "")


def type_section(name: str, kind: Any) -> str:
    """A type under its own heading."""
    parts = [f"#### {name}"]
    if is_set(kind):
        parts += [first_paragraph(kind), set_table(kind)]
    elif kinds_of(kind):
        openness = "Open" if is_open(kind) else "Closed"
        parts += [f"{openness}; `kind` tells which.", kinds_table(kinds_of(kind))]
    elif tag_of(kind) is not None:
        parts += ["Closed; one kind today.", kinds_table([kind])]
    else:
        parts += [first_paragraph(kind), object_table(kind)]
    return "\n\n".join(parts)


def shared_types() -> dict[str, dict[str, Any]]:
    """The types with a heading of their own, by the module that declares them."""
    kinds = {k for _, _, value in exported(types) for k in kinds_of(value)}
    homes: dict[str, dict[str, Any]] = {}
    for home, name, value in exported(types):
        if (is_set(value) or is_struct(value) or kinds_of(value)) and value not in kinds:
            named = "" if name_of(value) != name else name
            if named:
                homes.setdefault(home.rpartition(".")[2], {})[name] = value
    return homes


def scalars() -> str:
    """The scalars with a name of their own."""
    named = {name: hint for _home, name, hint in exported(types) if scalar_name(hint)}
    rows = [[f"`{name}`", _json(hint), scalar_about(hint)] for name, hint in sorted(named.items())]
    return table(["Name", "JSON", "Meaning"], rows)


def _json(hint: Any) -> str:
    """The JSON form of a named scalar."""
    extra = extra_of(hint)
    if "form" in extra:
        return _FORMS[extra["form"]]
    return f"u{extra['bits']}" if "bits" in extra else type_text(get_args(hint)[0])


# --- methods and events ----------------------------------------------------------------------


def method_section(method: Method) -> str:
    """What a method takes and gives, and who may call it."""
    answer = "Items" if method.stream else "Result"
    return "\n\n".join(
        [
            first_paragraph(method.params),
            _facts(method),
            _titled("Params", "", method.params),
            _titled(answer, first_paragraph(method.result), method.result),
        ]
    )


def _titled(title: str, about: str, kind: Any) -> str:
    if kinds_of(kind):
        return f"**{title}**, told by `kind`:\n\n{kinds_table(kinds_of(kind))}"
    if not list(members_of(kind)):
        return f"**{title}**: none, `{{}}`."
    if name_of(kind) in _HEADED:
        return f"**{title}**: {type_text(kind)}."
    title = f"**{title}**: {about}" if about else f"**{title}**:"
    return f"{title}\n\n{object_table(kind)}"


def _facts(method: Method) -> str:
    facts = [
        f"Scope `{method.scope.value}`",
        "stream" if method.stream else "unary",
        "with a receipt" if method.command_id else "no receipt",
    ]
    if method.capability:
        facts.append(f"capability `{method.capability}`")
    return f"*{', '.join(facts)}. {_callers(method)}*"


def _callers(method: Method) -> str:
    if Caller.USER not in method.callers:
        return "Only on a remote connection, before the proof."
    who = [
        *(["an unproved device"] if Caller.UNPROVED in method.callers else []),
        *(["a phone"] if method.for_phone else []),
        *(["a model-side peer"] if method.for_model else []),
    ]
    return f"Also for {_and(who)}." if who else "Only for the user on this machine."


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def method_list() -> str:
    """Every method in one table."""
    rows = [
        [
            f"[`{m.name}`](#{m.name.replace('.', '')})",
            f"`{m.scope.value}`",
            "stream" if m.stream else "unary",
            _yes(m.command_id),
            _yes(m.for_phone),
            _yes(m.for_model),
            f"`{m.capability}`" if m.capability else "",
        ]
        for m in METHODS.values()
    ]
    head = ["Method", "Scope", "Kind", "Receipt", "Phone", "Model-side", "Capability"]
    return table(head, rows)


def _yes(it_is: bool) -> str:
    return "yes" if it_is else ""


def event_section(kind: str) -> str:
    """What an event says."""
    declared = EVENTS[kind]
    return "\n\n".join(
        [first_paragraph(declared), f"*Belongs to {_belongs(kind)}.*", object_table(declared)]
    )


def event_list() -> str:
    """Every kind of event in one table."""
    rows = [
        [f"[`{kind}`](#{kind})", _belongs(kind), first_paragraph(declared)]
        for kind, declared in EVENTS.items()
    ]
    return table(["Kind", "Belongs to", "Meaning"], rows)


def _belongs(kind: str) -> str:
    if kind in OF_DAEMON:
        return "the daemon"
    turn = [m for m in members_of(EVENTS[kind]) if m.name == "turn_id"]
    if not turn:
        return "the conversation"
    return "a turn" if turn[0].presence is Presence.ALWAYS else "a turn, or the conversation"


# --- rules -----------------------------------------------------------------------------------


def sets(*, open_ones: bool) -> str:
    """The sets and unions that a reader takes unknown values of, or the ones it does not."""
    names = sorted(name_of(kind) for kind in _sets_and_unions() if is_open(kind) is open_ones)
    links = [f"[{name}](#{_SET_ANCHORS.get(name, name.lower())})" for name in names]
    return fill(", ".join(links) + ".", width=100, break_on_hyphens=False)


def _sets_and_unions() -> Iterator[Any]:
    for module in (types, methods):
        for _home, _name, value in exported(module):
            if is_set(value) or kinds_of(value):
                yield value


def set_files() -> str:
    """The fixture files that list a set, with its type."""
    rows = [[f"`{name}`", type_text(kind)] for name, kind in SETS.items()]
    return table(["File", "Lists"], rows)


def envelope() -> str:
    """The envelope of an event."""
    return object_table(EventEnvelope)


_HEADED: Final = frozenset(name for homes in shared_types().values() for name in homes)
# Unions of one method are told under that method.
_SET_ANCHORS: Final = {
    name_of(method.result): method.name.replace(".", "")
    for method in METHODS.values()
    if kinds_of(method.result)
}
