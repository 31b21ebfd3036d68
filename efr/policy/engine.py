"""The decision about one tool call: allow, ask or deny, and why.

Pure; `decide` is the one entry. Rules of the built-in tables alone; auto and full count as
cautious here, because a call without a sandbox is never judged more freely. The strictest effect
of all that a call needs is the call's; adding a need never loosens. Paths are judged in
`efr.policy.paths`, lines in `efr.policy.reader` and `efr.policy.rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from efr.policy.needs import (
    Access,
    CallNeeds,
    Decision,
    Effect,
    PathUse,
    Place,
    SettingsChange,
)
from efr.policy.paths import PathClass, PathView, view
from efr.policy.privilege import privileged_in, privileged_in_text
from efr.policy.reader import SimpleCommand, Unreadable, Word, read_line
from efr.policy.rows import matching_row
from efr.text.visible import visible_line

__all__ = ["CallNeeds", "Decision", "PathUse", "Place", "decide"]

Mode = Literal["manual", "cautious"]
_LOCAL: Final = frozenset(("shell", "cli", "proxy"))  # any other origin is remote
_CAUTIOUS_HERE: Final = frozenset(("cautious", "auto", "full"))
_WORDS: Final[dict[Effect, Literal["allow", "ask", "deny"]]] = {
    Effect.ALLOW: "allow",
    Effect.ASK: "ask",
    Effect.DENY: "deny",
}
_ACCESS: Final[dict[Access, str]] = {
    "read": "read",
    "read_tree": "read everything below",
    "write": "write",
}
_SUBJECTS: Final = 8  # of a question; a person reads no more, the command line says the rest
_LONGEST_WORD: Final = 24  # of a part in a question; a longer one may be a token
_PART_WORDS: Final = 3


@dataclass(frozen=True)
class _Finding:
    """What one need comes to. `subject` is its words in the question."""

    effect: Effect
    subject: str
    reason: str = ""
    refused: str | None = None


@dataclass(frozen=True)
class _Turn:
    mode: Mode
    remote: bool
    paths: PathView


def decide(needs: CallNeeds, mode: str, origin: str, place: Place) -> Decision:
    """What happens to a call. An unknown mode counts as manual, an unknown origin as remote."""
    known: Mode = "cautious" if mode in _CAUTIOUS_HERE else "manual"
    turn = _Turn(known, origin not in _LOCAL, view(place))
    findings = list(dict.fromkeys(_findings(needs, turn)))
    effect = max((finding.effect for finding in findings), default=Effect.ALLOW)
    deciding = [finding for finding in findings if finding.effect == effect]
    refused = (f.refused for f in findings if f.refused is not None and f.effect == Effect.DENY)
    return Decision(
        effect=_WORDS[effect],
        summary=_summary(needs, deciding),
        reason="" if effect == Effect.ALLOW else _joined([f.reason for f in deciding]),
        refused=tuple(refused),
    )


def _findings(needs: CallNeeds, turn: _Turn) -> Iterator[_Finding]:
    """One finding for each thing that the call needs."""
    if needs.command is not None:
        yield _command_finding(needs.command, turn)
    for use in needs.paths:
        yield _path_finding(use, turn)
    for path in needs.deletes:
        yield _asked(f"delete {_named(path, turn)}", "a delete always asks", turn)
    for source, target in needs.moves:
        words = f"move {_named(source, turn)} to {_named(target, turn)}"
        yield _asked(words, "a move always asks", turn)
    if needs.network:
        yield _asked("the network", f"{turn.mode} asks before any network access", turn)
    if needs.interactive or needs.nested:
        subject = "nested shell" if needs.nested else "keys at the terminal"
        yield _asked(subject, "the command may wait for your keys", turn)
    if needs.settings is not None:
        yield _settings_finding(needs.settings, turn)
    if needs == CallNeeds(needs.tool) and turn.remote:
        yield _asked("a call", "", turn)


def _settings_finding(change: SettingsChange, turn: _Turn) -> _Finding:
    """Only a person at this machine approves a change of efr's own settings."""
    loosens = "; loosens permissions" if change.loosens else ""
    subject = f"settings: {visible_line(change.summary)}{loosens}"
    if turn.remote:
        reason = "settings are not changed from a phone"
        return _Finding(Effect.DENY, subject, reason, subject)
    return _Finding(Effect.ASK, subject, "only you approve a change of settings")


def _asked(subject: str, reason: str, turn: _Turn) -> _Finding:
    """A question. Manual mode has one reason for all; a phone's is for what else would run."""
    if turn.mode == "manual":
        reason = "manual asks before every call"
    elif not reason:
        reason = "a turn from the phone asks outside $SCRATCH"
    return _Finding(Effect.ASK, subject, reason)


# -- paths


def _path_finding(use: PathUse, turn: _Turn) -> _Finding:
    if not use.path.startswith("/"):
        path = visible_line(use.path)
        why = "a path that is not absolute"
        return _Finding(Effect.DENY, f"{use.access} {path}", why, f"{path} ({why})")
    path = turn.paths.form(use.path)
    kind = turn.paths.class_of(path)
    shown = visible_line(turn.paths.shown(path))
    subject = f"{_ACCESS[use.access]} {shown} ({kind})"
    denial = _denial(path, use.access, kind, turn.paths)
    if denial is not None:
        words, reason = denial
        return _Finding(Effect.DENY, subject, reason, f"{shown} ({words})")
    question = _path_question(path, use.access, kind, turn, shown)
    if question is not None:
        return _asked(subject, question, turn)
    if turn.mode == "manual" or (turn.remote and kind != "scratch"):
        return _asked(subject, "", turn)
    return _Finding(Effect.ALLOW, subject)


def _named(path: str, turn: _Turn) -> str:
    """A path for a question, with its class."""
    form = turn.paths.form(path)
    return f"{visible_line(turn.paths.shown(form))} ({turn.paths.class_of(form)})"


def _denial(path: str, access: Access, kind: PathClass, paths: PathView) -> tuple[str, str] | None:
    """(what the path is, why it is refused) when no mode lets the call have it."""
    if kind == "secrets":
        return "secrets", "a secret location is closed to the model"
    seal = paths.write_seal(path) if access == "write" else None
    return None if seal is None else (f"{seal} (floor)", f"{seal} cannot be written by the model")


def _path_question(
    path: str, access: Access, kind: PathClass, turn: _Turn, shown: str
) -> str | None:
    """Why cautious asks about this path, or None."""
    if access == "write" and not _may_write(path, kind, turn.paths):
        return f"{turn.mode} asks before writing {kind}"
    if turn.paths.is_device(path):
        return "a device may show a whole disk or what is typed elsewhere"
    if access == "read":
        return None
    if turn.paths.secret_below(path):
        return f"a secret lies below {shown}"
    seal = turn.paths.seal_below(path) if access == "write" else None
    return None if seal is None else f"{seal} lie below {shown}"


def _may_write(path: str, kind: PathClass, paths: PathView) -> bool:
    return kind == "scratch" or (kind == "user data" and paths.in_project(path))


# -- the command line


def _command_finding(line: str, turn: _Turn) -> _Finding:
    subject = f"command {_escaped(line)}"
    commands = read_line(line)
    if isinstance(commands, Unreadable):
        name = privileged_in_text(line)
        reasons = [f"efr cannot read this line: it holds {commands.words}"]
        if name is not None:
            reasons.insert(0, _privilege_reason(name))
        return _asked(subject, _joined(reasons), turn)
    asking = [(command, why) for command in commands if (why := _part_question(command, turn))]
    if asking:
        return _line_question(subject, commands, asking, turn)
    if turn.mode == "manual" or turn.remote:
        return _asked(subject, "", turn)
    return _Finding(Effect.ALLOW, subject)


def _part_question(command: SimpleCommand, turn: _Turn) -> str | None:
    """Why cautious asks about one simple command, or None: a row knows it as read-only."""
    name = privileged_in(command)
    if name is not None:
        return _privilege_reason(name)
    if matching_row(command) is not None:
        return None
    return f"{turn.mode} does not know this command as read-only"


def _privilege_reason(name: str) -> str:
    return f"{name} runs commands as another user"


def _line_question(
    subject: str,
    commands: Sequence[SimpleCommand],
    asking: Sequence[tuple[SimpleCommand, str]],
    turn: _Turn,
) -> _Finding:
    """A line of several parts names the ones that ask."""
    if len(commands) == 1:
        return _asked(subject, asking[0][1], turn)
    parts = _joined([_part(command) for command, _ in asking])
    reasons = [f"{_part(command)}: {why}" for command, why in asking]
    return _asked(f"{subject}\nasks for: {parts}", _joined(reasons), turn)


def _part(command: SimpleCommand) -> str:
    """The program and at most three plain words: a token must not show a second time."""
    words = [_plain_word(word) for word in command.words[1 : 1 + _PART_WORDS]]
    program = _plain_word(command.words[0]) or "a program"
    return " ".join((program, *filter(None, words)))


def _plain_word(word: Word) -> str:
    name, equals, _ = word.text.partition("=")
    shown = name + equals
    return "" if word.quoted or len(shown) > _LONGEST_WORD else shown


# -- words


def _summary(needs: CallNeeds, deciding: Sequence[_Finding]) -> str:
    """The tool, the command, then the subjects that decide; asking parts on a line of their own."""
    subjects = list(dict.fromkeys(finding.subject for finding in deciding))
    command = None if needs.command is None else f"command {_escaped(needs.command)}"
    if command is not None and not any(subject.startswith(command) for subject in subjects):
        subjects.insert(0, command)
    heads = [subject.partition("\n")[0] for subject in subjects]
    parts = [tail for subject in subjects if (tail := subject.partition("\n")[2])]
    return "\n".join((f"{needs.tool}: {_joined(heads)}" if heads else needs.tool, *parts))


def _joined(words: Sequence[str]) -> str:
    known = list(dict.fromkeys(filter(None, words)))
    shown = known[:_SUBJECTS]
    if len(known) > len(shown):
        shown.append(f"{len(known) - len(shown)} more")
    return "; ".join(shown)


def _escaped(line: str) -> str:
    """A command on one row: line breaks as `\\n`."""
    return visible_line(line.replace("\n", "\\n"))
