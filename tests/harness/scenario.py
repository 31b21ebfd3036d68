"""Play a scenario: a model that says what a file tells it, a person who types what it tells.

Run as `python -m tests.harness.scenario`.

Usage:
  scenario [--api=NAME] <file>

Options:
  --api=NAME  openai-api, anthropic-api or compatible [default: openai-api]

The daemon, its hidden shell, the socket and the model server are real processes; only the model's
words and the person's are the file's. Prints what happened, and what the file did not expect.
docs/testing.md tells the form of the file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from docopt import docopt

from efr.client import Connection, connect
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from tests.harness.daemon import ROOT, Daemon
from tests.harness.model_server import ModelServer

Json = Any

MODEL: Final = "fake-model"
APIS: Final = {
    "openai-api": "[openai]\napi_base_url = '{url}'\nmodels = ['fake-model']\n",
    "anthropic-api": (
        "[anthropic]\nbase_url = '{url}'\nmodels = [{{id = 'fake-model', context_window = 100000, "
        "max_output_tokens = 1000}}]\n"
    ),
    "compatible": "[compatible]\nbase_url = '{url}'\n",
}
_KEY: Final = "sk-test-0123456789abcdefghij"
_TABLES: Final = {
    "": {"about", "apis", "mode", "files", "answers", "say", "after"},
    "answers": {
        "reasoning", "text", "calls", "wait", "pieces", "usage", "stop", "error", "hang", "cut",
        "expect",
    },
    "expect": {"has", "lacks"},
    "say": {"text", "answer", "steer", "interrupt", "ends", "shows", "hides"},
    "after": {"files", "gone"},
}  # fmt: skip
ENDS: Final = (ev.TurnCompleted, ev.TurnFailed, ev.TurnInterrupted, ev.TurnCancelled)


class BadScenario(Exception):
    """The file is no scenario. The message says what and where."""


@dataclass(frozen=True)
class Scenario:
    """One file."""

    name: str
    value: dict[str, Json] = field(repr=False)

    @property
    def answers(self) -> list[dict[str, Json]]:
        return list(self.value.get("answers", []))

    @property
    def apis(self) -> list[str]:
        """The APIs over which it makes sense."""
        return list(self.value.get("apis", APIS))

    @property
    def says(self) -> list[dict[str, Json]]:
        return list(self.value.get("say", []))


def read(path: Path) -> Scenario:
    """The scenario of a file. Raises BadScenario, OSError."""
    try:
        value = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as exc:
        raise BadScenario(f"{path}: {exc}") from exc
    _check(path.name, value, "")
    for table in ("answers", "say"):
        for number, entry in enumerate(value.get(table, [])):
            _check(f"{path.name}: {table}[{number}]", entry, table)
            if "expect" in entry:
                _check(f"{path.name}: {table}[{number}].expect", entry["expect"], "expect")
    if unknown := set(value.get("apis", ())) - set(APIS):
        raise BadScenario(f"{path.name}: apis: {sorted(unknown)[0]} is none of {', '.join(APIS)}")
    _check(f"{path.name}: after", value.get("after", {}), "after")
    if not value.get("say"):
        raise BadScenario(f"{path.name}: nobody says anything: a [[say]] is missing")
    return Scenario(path.stem, value)


def _check(where: str, table: dict[str, Json], kind: str) -> None:
    if unknown := sorted(table.keys() - _TABLES[kind]):
        known = ", ".join(sorted(_TABLES[kind]))
        raise BadScenario(f"{where}: unknown key {unknown[0]}; known are {known}")


class Stage:
    """A running daemon with a model server for one API; scenarios play on it one by one."""

    def __init__(self, folder: Path, api: str) -> None:
        self._folder = folder
        self._server = ModelServer()
        self._api = api
        self._daemon: Daemon | None = None

    def __enter__(self) -> Stage:
        self._server.start()
        settings = f'[model]\nprovider = "{self._api}"\nname = "{MODEL}"\n'
        settings += APIS[self._api].format(url=self._server.base_url)
        self._daemon = Daemon(self._folder, settings=settings)
        self._daemon.start()
        subprocess.run(
            [sys.executable, str(ROOT / "efr_cli.py"), "login", self._api, "--no-check"],
            input=_KEY, text=True, env=self._daemon.env, capture_output=True, check=True,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        if self._daemon is not None:
            self._daemon.close()
        self._server.stop()

    def play(self, scenario: Scenario) -> tuple[list[str], list[str]]:
        """What happened, and what of it the scenario did not expect; a line each."""
        assert self._daemon is not None
        folder = self._daemon.home / scenario.name
        folder.mkdir(parents=True)
        for name, text in scenario.value.get("files", {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text.encode())
        self._server.play([_answer(entry) for entry in scenario.answers])
        with connect(self._daemon.env) as efr:
            person = _Person(efr, folder, scenario.value.get("mode", "cautious"))
            for number, say in enumerate(scenario.says):
                person.say(say, f"say[{number}]")
        posted = [json.dumps(b, ensure_ascii=False) for b in self._server.bodies()]
        wrong = [*person.wrong, *_unexpected(scenario.answers, posted)]
        return person.told, [*wrong, *_left(scenario.value.get("after", {}), folder)]


class _Person:
    """Types the prompts of a scenario into one conversation, and answers its questions."""

    def __init__(self, efr: Connection, folder: Path, mode: str) -> None:
        self.told: list[str] = []
        self.wrong: list[str] = []
        self._efr = efr
        self._mode = t.Mode(mode)
        self._context = t.ShellContext(pwd=str(folder))
        self._conversation: str | None = None

    def say(self, say: dict[str, Json], where: str) -> None:
        """One prompt to the end of its turn."""
        sent: m.PromptSendResult = self._efr.call(
            "prompt.send",
            conversation_id=self._conversation,
            text=say["text"],
            context=self._context,
            settings=t.TurnSettings(mode=self._mode),
        )
        self._conversation = sent.conversation_id
        self.told.append(f"> {say['text']}")
        shown = ""
        for event in self._events(sent):
            self._react(say, event, where)
            line = _line(event)
            if line:
                self.told.append(line)
                shown += line + "\n"
            if isinstance(event, ENDS):
                break
        self._judge(say, event, shown, where)

    def _events(self, sent: m.PromptSendResult) -> Iterator[ev.Event]:
        for item in self._efr.follow(sent.conversation_id, after_seq=sent.seq):
            event = getattr(item, "event", None)
            if event is not None and ev.turn_of(event) in (None, sent.turn_id):
                yield event

    def _react(self, say: dict[str, Json], event: ev.Event, where: str) -> None:
        """Does what the scenario wants at a call: steer, interrupt, answer its question."""
        started = isinstance(event, ev.ToolCallStarted)
        if started and "steer" in say:
            self._efr.call("turn.steer", conversation_id=self._conversation, text=say["steer"])
        if isinstance(event, ev.ApprovalRequested):
            if "answer" not in say:
                self.wrong.append(f"{where}: efr asks: {event.summary}")
            self._efr.call(
                "approval.respond",
                conversation_id=self._conversation,
                call_id=event.call_id,
                decision=t.ApprovalDecision(say.get("answer", "deny")),
            )
        runs = isinstance(event, ev.ApprovalResolved) if "answer" in say else started
        if runs and say.get("interrupt"):
            self._efr.call("turn.interrupt", conversation_id=self._conversation)

    def _judge(self, say: dict[str, Json], end: ev.Event, shown: str, where: str) -> None:
        wanted = say.get("ends", "turn_completed")
        if ev.kind_of(end) != wanted:
            self.wrong.append(f"{where}: the turn ends with {ev.kind_of(end)}, not {wanted}")
        for text in say.get("shows", []):
            if text not in shown:
                self.wrong.append(f"{where}: {text!r} is not shown")
        for text in say.get("hides", []):
            if text in shown:
                self.wrong.append(f"{where}: {text!r} is shown")


def _answer(entry: dict[str, Json]) -> dict[str, Json]:
    """An answer in the form of the model server."""
    for plain in ("error", "hang", "cut"):
        if plain in entry:
            return {plain: entry[plain]}
    pieces = list(entry.get("pieces", []))
    for name in ("wait", "reasoning", "text"):
        if name in entry:
            pieces.append({name: entry[name]})
    if "calls" in entry:
        pieces.append({"calls": entry["calls"]})
    kept: dict[str, Json] = {name: entry[name] for name in ("usage", "stop") if name in entry}
    return {"pieces": pieces, **kept}


def _unexpected(answers: list[dict[str, Json]], posted: list[str]) -> list[str]:
    """What the requests had that they should not have, or lacked."""
    wrong = []
    if len(posted) != len(answers):
        wrong.append(f"{len(posted)} requests for {len(answers)} answers")
    for number, (entry, body) in enumerate(zip(answers, posted, strict=False)):
        expect = entry.get("expect", {})
        for text in expect.get("has", []):
            if _quoted(text) not in body:
                wrong.append(f"answers[{number}]: its request lacks {text!r}")
        for text in expect.get("lacks", []):
            if _quoted(text) in body:
                wrong.append(f"answers[{number}]: its request has {text!r}")
    return wrong


def _quoted(text: str) -> str:
    """The text as it stands inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _left(after: dict[str, Json], folder: Path) -> list[str]:
    """What the files are that they should not be, after all."""
    wrong = []
    for name, text in after.get("files", {}).items():
        path = folder / name
        if not path.is_file():
            wrong.append(f"after: there is no {name}")
        elif path.read_bytes() != text.encode():
            wrong.append(f"after: {name} holds {path.read_bytes()!r}")
    wrong += [
        f"after: {name} is there" for name in after.get("gone", []) if (folder / name).exists()
    ]
    return wrong


def _line(event: ev.Event) -> str:
    """What a person reads of an event; empty for what is no news."""
    match event:
        case ev.AssistantMessageCompleted(text=text):
            return text
        case ev.ToolCallStarted():
            return f"$ {event.tool} {json.dumps(event.input, ensure_ascii=False)}"
        case ev.ToolCallCompleted(output=output):
            return output
        case ev.ApprovalRequested():
            return f"? {event.summary}"
        case ev.ApprovalResolved(decision=decision):
            return f"! {decision.value}"
        case ev.TurnFailed(error=error):
            return f"failed: {error.message}"
        case ev.TurnInterrupted():
            return "interrupted"
        case _:
            return ""


def main() -> int:
    """Exit code 1 when something was not expected, 2 for a file that is no scenario."""
    said = docopt(__doc__)
    if said["--api"] not in APIS:
        print(f"--api is one of {', '.join(APIS)}", file=sys.stderr)
        return 2
    try:
        scenario = read(Path(said["<file>"]))
    except (BadScenario, OSError) as exc:
        print(exc, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder, Stage(Path(folder), said["--api"]) as stage:
        told, wrong = stage.play(scenario)
    print("\n".join(told))
    for line in wrong:
        print(f"NOT EXPECTED  {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
