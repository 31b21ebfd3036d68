"""The form of a scenario's file, checked: what is wrong is said with its place.

docs/testing.md tells the form. Pure but for `read`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec

from efr.wire import events as ev

Json = Any

APIS: Final = {
    "openai-api": "[openai]\napi_base_url = '{url}'\nmodels = ['fake-model']\n",
    "anthropic-api": (
        "[anthropic]\nbase_url = '{url}'\nmodels = [{{id = 'fake-model', context_window = 100000, "
        "max_output_tokens = 1000}}]\n"
    ),
    "compatible": "[compatible]\nbase_url = '{url}'\n",
}
ENDS: Final = (ev.TurnCompleted, ev.TurnFailed, ev.TurnInterrupted, ev.TurnCancelled)
_END_NAMES: Final = tuple(str(kind.__struct_config__.tag) for kind in ENDS)


class BadScenario(Exception):
    """The file is no scenario. The message says what and where."""


class _Form(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """A table of the file."""


class Call(_Form, frozen=True):
    """A tool call. Arguments in a string are sent as they are."""

    name: str
    arguments: dict[str, Json] | str
    id: str | None = None
    custom: bool = False


class Piece(_Form, frozen=True):
    """One step of an answer: exactly one of these."""

    text: str | None = None
    reasoning: str | None = None
    call: Call | None = None
    calls: list[Call] | None = None
    wait: float | None = None
    break_: bool | None = msgspec.field(default=None, name="break")
    hang: bool | None = None
    malformed: str | None = None
    event: dict[str, Json] | None = None


class Usage(_Form, frozen=True):
    """Token counts."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0
    written: int = 0


class Failure(_Form, frozen=True):
    """What an API answers in place of a stream."""

    status: int
    headers: dict[str, str] = {}
    body: Json = msgspec.field(default_factory=dict)


class Expect(_Form, frozen=True):
    """Of a request."""

    has: list[str] = []
    lacks: list[str] = []


class Answer(_Form, frozen=True):
    """What the model answers to one request."""

    reasoning: str | None = None
    text: str | None = None
    calls: list[Call] | None = None
    wait: float | None = None
    pieces: list[Piece] | None = None
    usage: Usage | None = None
    stop: str | None = None
    error: Failure | None = None
    hang: bool = False
    cut: bool = False
    expect: Expect = Expect()

    def played(self) -> dict[str, Json]:
        """In the form of the model server."""
        if self.hang or self.cut:
            return {"hang": True} if self.hang else {"cut": True}
        if self.error is not None:
            return {"error": msgspec.to_builtins(self.error)}
        pieces = [*(self.pieces or [])]
        pieces += [
            Piece(**{name: value})
            for name in ("wait", "reasoning", "text", "calls")
            if (value := getattr(self, name)) is not None
        ]
        kept = {"usage": self.usage, "stop": self.stop}
        return {
            "pieces": msgspec.to_builtins(pieces),
            **{name: msgspec.to_builtins(v) for name, v in kept.items() if v is not None},
        }


class Say(_Form, frozen=True):
    """One prompt, and what the person does until its turn ends."""

    text: str
    answer: Literal["allow", "deny"] | list[Literal["allow", "deny"]] | None = None
    input: str | list[str] | None = None
    steer: str | None = None
    queue: str | None = None
    interrupt: bool | Literal["command", "model"] = False
    new: bool = False
    restart: Literal["stop", "kill"] | None = None
    ends: str = "turn_completed"
    shows: list[str] = []
    hides: list[str] = []

    def answer_to(self, number: int) -> Literal["allow", "deny"] | None:
        """To the question of that number, from 0; None when none is expected."""
        if isinstance(self.answer, list):
            return self.answer[number] if number < len(self.answer) else None
        return self.answer

    def input_to(self, number: int) -> str | None:
        """For the wait of that number, from 0."""
        if isinstance(self.input, list):
            return self.input[number] if number < len(self.input) else None
        return self.input


class After(_Form, frozen=True):
    """The folder in the end."""

    files: dict[str, str] = {}
    gone: list[str] = []


class Script(_Form, frozen=True):
    """A whole file."""

    about: str = ""
    apis: tuple[str, ...] = tuple(APIS)
    mode: Literal["manual", "cautious", "auto", "full"] = "cautious"
    settings: dict[str, Json] = {}
    files: dict[str, str] = {}
    answers: list[Answer] = []
    say: list[Say] = []
    after: After = After()


class Scenario(msgspec.Struct, frozen=True):
    """A script with its name."""

    name: str
    script: Script


def read(path: Path) -> Scenario:
    """The scenario of a file. Raises BadScenario, OSError."""
    try:
        value = tomllib.loads(path.read_bytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise BadScenario(f"{path.name}: {exc}") from exc
    try:
        return Scenario(path.stem, checked(value))
    except BadScenario as exc:
        raise BadScenario(f"{path.name}: {exc}") from exc


def checked(value: dict[str, Json]) -> Script:
    """A parsed file. Raises BadScenario."""
    try:
        script = msgspec.convert(value, Script)
    except msgspec.ValidationError as exc:
        raise BadScenario(_in_words(str(exc))) from exc
    for where, why in _faults(script):
        raise BadScenario(f"{where}: {why}" if where else why)
    return script


def _faults(script: Script) -> list[tuple[str, str]]:
    """What types cannot tell."""
    found = []
    if not script.say:
        found.append(("", "nobody says anything: a [[say]] is missing"))
    for api in script.apis:
        if api not in APIS:
            found.append(("apis", f"{api} is none of {', '.join(APIS)}"))
    for number, say in enumerate(script.say):
        if say.ends not in _END_NAMES:
            found.append((f"say[{number}].ends", f"{say.ends} is none of {', '.join(_END_NAMES)}"))
    for number, answer in enumerate(script.answers):
        found += [(f"answers[{number}]{place}", why) for place, why in _faults_of(answer)]
    for table, names in (("files", [*script.files]), ("after", [*script.after.files])):
        for name in names:
            if name.startswith("/") or ".." in name.split("/"):
                found.append((f"{table}.{name!r}", "is outside of the folder"))
    return found


def _faults_of(answer: Answer) -> list[tuple[str, str]]:
    found = []
    parts = ("reasoning", "text", "calls", "wait", "pieces", "usage", "stop")
    has = [name for name in parts if getattr(answer, name) is not None]
    instead = [name for name in ("error", "hang", "cut") if getattr(answer, name)]
    if len(instead) > 1 or (instead and has):
        found.append(("", f"{instead[0]} comes in place of {', '.join([*instead[1:], *has])}"))
    if not instead and not has:
        found.append(("", "says nothing: it needs text, calls or another part; text = '' is empty"))
    if answer.pieces is not None and len(has) > 1 and {*has} & {*parts[:4]}:
        found.append((".pieces", "stand alone: put the other parts among them"))
    for number, piece in enumerate(answer.pieces or []):
        keys = [name for name in piece.__struct_fields__ if getattr(piece, name) is not None]
        if len(keys) != 1:
            names = ", ".join(piece.__struct_encode_fields__)
            found.append((f".pieces[{number}]", f"has {len(keys)} keys; it needs one of {names}"))
    return found


_KINDS: Final = {
    "answers": Answer, "calls": Call, "call": Call, "pieces": Piece, "usage": Usage,
    "error": Failure, "expect": Expect, "say": Say, "after": After, "": Script,
}  # fmt: skip


def _choices(kind: Any) -> list[str]:
    """The words that a Literal somewhere in the type takes."""
    if get_origin(kind) is Literal:
        return [str(one) for one in get_args(kind)]
    return list(dict.fromkeys(word for one in get_args(kind) for word in _choices(one)))


def _in_words(message: str) -> str:
    """msgspec's message with the place in front, counted as in the file."""
    what, _, place = message.partition(" - at `")
    place = place.rstrip("`").removeprefix("$").removeprefix(".").replace("[...]", ".*")
    for theirs, ours in (("array", "list"), ("object", "table"), (" | null", ""), ("`", "")):
        what = what.replace(theirs, ours)
    unknown = re.search(r"unknown field (.*)", what)
    missing = re.search(r"missing required field (.*)", what)
    table, _, key = re.sub(r"\[\d+\]", "", place).rpartition(".")
    if unknown:
        form = _KINDS[key]
        known = ", ".join(sorted(form.__struct_encode_fields__))
        what = f"unknown key {unknown[1]}; known are {known}"
    elif missing:
        what = f"{missing[1]} is missing"
    elif "enum value" in what:
        form = _KINDS[table.rpartition(".")[2]]
        what = f"{what}; known are {', '.join(_choices(get_type_hints(form)[key]))}"
    return f"{place}: {what}" if place else what
