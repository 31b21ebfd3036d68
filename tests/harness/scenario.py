"""Play a scenario: a model that says what a file tells it, a person who types what it tells.

Run as `python -m tests.harness.scenario`.

Usage:
  scenario [--api=NAME] [--requests] <file>

Options:
  --api=NAME  openai-api, anthropic-api or compatible [default: openai-api]
  --requests  Print each request that the model got, too.

The daemon, its hidden shell, the socket and the model server are real processes; only the model's
words and the person's are the file's. Prints what happened, and what the file did not expect.
docs/testing.md tells the form of the file.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import tomlkit
from docopt import docopt

from efr.cli.render.ending import compaction_text
from efr.cli.render.left import ended_text
from efr.client import Connection, connect
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from tests.harness.daemon import ROOT, Daemon
from tests.harness.model_server import ModelServer
from tests.harness.script import APIS, ENDS, After, Answer, BadScenario, Say, Scenario, read

Json = Any

MODEL: Final = "fake-model"
LIMIT_S: Final = 60  # of one prompt: a scenario that waits for nothing says so
_KEY: Final = "sk-test-0123456789abcdefghij"


class Stage:
    """A running daemon with a model server for one API; scenarios play on it one by one."""

    def __init__(self, folder: Path, api: str) -> None:
        self._folder = folder
        self._server = ModelServer()
        self._api = api
        self._daemon: Daemon | None = None
        self._own_settings = ""

    def __enter__(self) -> Stage:
        self._server.start()
        settings = f'[model]\nprovider = "{self._api}"\nname = "{MODEL}"\n'
        settings += APIS[self._api].format(url=self._server.base_url)
        self._own_settings = settings
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
        """What happened, and what of it the scenario did not expect; a line each. Raises
        BadScenario for settings that efrd does not take."""
        assert self._daemon is not None
        script = scenario.script
        folder = self._daemon.home / scenario.name
        folder.mkdir(parents=True)
        for name, text in script.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text.encode())
        self._server.play([answer.played() for answer in script.answers])
        person = _Person(self._daemon, self._server, folder, script.mode)
        with self._settings(script.settings):
            for number, say in enumerate(script.say):
                if not person.say(say, f"say[{number}]"):
                    break
        wrong = [*person.wrong, *_unexpected(script.answers, self.requests())]
        return person.told, [*wrong, *_left(script.after, folder)]

    def requests(self) -> list[str]:
        """What the model was sent since the last scenario began, as JSON."""
        return [json.dumps(body, ensure_ascii=False) for body in self._server.bodies()]

    @contextmanager
    def _settings(self, more: dict[str, Json]) -> Iterator[None]:
        """Plays with these settings over those of the stage."""
        if not more:
            yield
            return
        own = tomllib.loads(self._own_settings)
        self._reload(tomlkit.dumps(_merged(own, more)))
        try:
            yield
        finally:
            self._reload(self._own_settings)

    def _reload(self, settings: str) -> None:
        assert self._daemon is not None
        self._daemon.write_settings(settings)
        with connect(self._daemon.env) as efr:
            done = efr.call("admin.config_reload")
        if not done.applied:
            self._daemon.write_settings(self._own_settings)
            raise BadScenario(f"settings: {done.error.message if done.error else 'not applied'}")
        if done.restart_needed:
            self._daemon.stop()
            self._daemon.start()


class _Person:
    """Types the prompts of a scenario, and does what it says while they run."""

    def __init__(self, daemon: Daemon, server: ModelServer, folder: Path, mode: str) -> None:
        self.told: list[str] = []
        self.wrong: list[str] = []
        self._daemon = daemon
        self._server = server
        self._mode = t.Mode(mode)
        self._context = t.ShellContext(pwd=str(folder))
        self.conversation: str | None = None

    def say(self, say: Say, where: str) -> bool:
        """One prompt to the end of its turn, and of the one queued behind it. False when it did
        not end."""
        if say.restart is not None:
            (self._daemon.kill if say.restart == "kill" else self._daemon.stop)()
            self._daemon.start()
        with connect(self._daemon.env) as efr, connect(self._daemon.env) as follows:
            sent = self._send(efr, say.text, new=say.new)
            turn = _Turn(efr, say, where, self)
            try:
                with _limit(LIMIT_S), self._interrupts(say, where):
                    shown, end = self._follow(follows, sent, turn)
                    if turn.queued is not None:
                        more, end = self._follow(follows, turn.queued, turn)
                        shown += more
            except TimeoutError:
                self.wrong.append(f"{where}: the turn did not end within {LIMIT_S} s")
                return False
        turn.judge(end, shown)
        return True

    def _send(self, efr: Connection, text: str, *, new: bool = False) -> m.PromptSendResult:
        sent: m.PromptSendResult = efr.call(
            "prompt.send",
            conversation_id=None if new else self.conversation,
            new_conversation=new,
            text=text,
            context=self._context,
            settings=t.TurnSettings(mode=self._mode),
        )
        self.conversation = sent.conversation_id
        self.told.append(f"> {text}")
        return sent

    @contextmanager
    def _interrupts(self, say: Say, where: str) -> Iterator[None]:
        """Interrupts beside the block when the model is silent, if the scenario wants that."""

        def interrupt() -> None:
            if not self._server.wait_for_silence():
                self.wrong.append(f"{where}: the model is never silent")
                return
            with connect(self._daemon.env) as efr:
                efr.call("turn.interrupt", conversation_id=self.conversation)

        thread = threading.Thread(target=interrupt)
        if say.interrupt == "model":
            thread.start()
        yield
        if say.interrupt == "model":
            thread.join()

    def queue(self, efr: Connection, text: str) -> m.PromptSendResult:
        """A prompt that waits behind the one that runs."""
        return self._send(efr, text)

    def _follow(
        self, efr: Connection, sent: m.PromptSendResult, turn: _Turn
    ) -> tuple[str, ev.Event]:
        """What is shown of a turn, and the event that ends it."""
        shown = ""
        items = efr.stream(
            "conversation.subscribe",
            conversation_id=sent.conversation_id,
            after_seq=sent.seq,
            answers_input=turn.can_type,
        )
        for item in items:
            event = getattr(item, "event", None)
            if event is None or ev.turn_of(event) not in (None, sent.turn_id):
                continue
            turn.react(event)
            if line := _line(event):
                self.told.append(line)
                shown += line + "\n"
            if isinstance(event, ENDS):
                items.close()
                return shown, event
        raise AssertionError("a stream of events does not end by itself")


class _Turn:
    """What the person does at the events of one prompt, and what they expected."""

    def __init__(self, efr: Connection, say: Say, where: str, person: _Person) -> None:
        self.queued: m.PromptSendResult | None = None
        self._efr = efr
        self._say = say
        self._where = where
        self._person = person
        self._asked = 0
        self._typed = 0
        self._has_begun = False  # a command

    @property
    def can_type(self) -> bool:
        """Whether commands may wait for this person's input."""
        return self._say.input is not None

    def react(self, event: ev.Event) -> None:
        """Does what the scenario wants: steer, queue, answer, type, interrupt."""
        say, conversation = self._say, self._person.conversation
        if isinstance(event, ev.ToolCallStarted) and not self._has_begun:
            self._has_begun = True
            if say.steer is not None:
                self._efr.call("turn.steer", conversation_id=conversation, text=say.steer)
            if say.queue is not None:
                self.queued = self._person.queue(self._efr, say.queue)
        if isinstance(event, ev.ApprovalRequested):
            self._answer(event)
        if isinstance(event, ev.ToolCallInputChanged) and event.input is not t.InputWait.NONE:
            self._type(event)
        asks = say.answer is not None
        runs = isinstance(event, ev.ApprovalResolved if asks else ev.ToolCallStarted)
        if runs and say.interrupt in (True, "command"):
            self._efr.call("turn.interrupt", conversation_id=conversation)

    def _answer(self, event: ev.ApprovalRequested) -> None:
        answer = self._say.answer_to(self._asked)
        if answer is None:
            self._person.wrong.append(f"{self._where}: efr asks: {event.summary}")
        self._asked += 1
        self._efr.call(
            "approval.respond",
            conversation_id=self._person.conversation,
            call_id=event.call_id,
            decision=t.ApprovalDecision(answer or "deny"),
        )

    def _type(self, event: ev.ToolCallInputChanged) -> None:
        text = self._say.input_to(self._typed)
        self._typed += 1
        if text is None:
            self._person.wrong.append(f"{self._where}: a command waits for more input")
            self._efr.call("turn.interrupt", conversation_id=self._person.conversation)
            return
        self._efr.call(
            "input.respond",
            conversation_id=self._person.conversation,
            call_id=event.call_id,
            text=text,
            hidden=event.input is t.InputWait.HIDDEN,
        )

    def judge(self, end: ev.Event, shown: str) -> None:
        """Notes what was not as the scenario says."""
        say, wrong, where = self._say, self._person.wrong, self._where
        if ev.kind_of(end) != say.ends:
            wrong.append(f"{where}: the turn ends with {ev.kind_of(end)}, not {say.ends}")
        wrong += [f"{where}: {text!r} is not shown" for text in say.shows if text not in shown]
        wrong += [f"{where}: {text!r} is shown" for text in say.hides if text in shown]
        if isinstance(say.answer, list) and self._asked < len(say.answer):
            wrong.append(f"{where}: {self._asked} questions for {len(say.answer)} answers")
        if isinstance(say.input, str) and not self._typed:
            wrong.append(f"{where}: no command waits for input")
        if isinstance(say.input, list) and self._typed < len(say.input):
            wrong.append(f"{where}: {self._typed} waits for {len(say.input)} inputs")


@contextmanager
def _limit(seconds: int) -> Iterator[None]:
    """Raises TimeoutError in the block when it takes longer. On the main thread."""

    def over(*_: object) -> None:
        raise TimeoutError

    old = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def _merged(own: dict[str, Json], more: dict[str, Json]) -> dict[str, Json]:
    found = {**own, **more}
    for name in own.keys() & more.keys():
        if isinstance(own[name], dict) and isinstance(more[name], dict):
            found[name] = _merged(own[name], more[name])
    return found


def _unexpected(answers: list[Answer], posted: list[str]) -> list[str]:
    """What the requests had that they should not have, or lacked."""
    wrong = []
    if len(posted) != len(answers):
        wrong.append(f"{len(posted)} requests for {len(answers)} answers")
    for number, (answer, body) in enumerate(zip(answers, posted, strict=False)):
        for text in answer.expect.has:
            if _quoted(text) not in body:
                wrong.append(f"answers[{number}]: its request lacks {text!r}")
        for text in answer.expect.lacks:
            if _quoted(text) in body:
                wrong.append(f"answers[{number}]: its request has {text!r}")
    return wrong


def _quoted(text: str) -> str:
    """The text as it stands inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _left(after: After, folder: Path) -> list[str]:
    """What the files are that they should not be, after all."""
    wrong = []
    for name, text in after.files.items():
        path = folder / name
        if not path.is_file():
            wrong.append(f"after: there is no {name}")
        elif path.read_bytes() != text.encode():
            wrong.append(f"after: {name} holds {path.read_bytes()!r}")
    wrong += [f"after: {name} is there" for name in after.gone if (folder / name).exists()]
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
        case ev.TurnCancelled():
            return "cancelled"
        case _:
            return _line_between(event)


def _line_between(event: ev.Event) -> str:
    """Of what is no part of the talk."""
    match event:
        case ev.ConversationCompacted():
            return compaction_text(event)
        case ev.ToolCallInputChanged() if event.input is not t.InputWait.NONE:
            return f"waits for a line ({event.input.value})"
        case ev.ShellCommandDetached(command=command):
            return f"left running: {command}"
        case ev.ShellCommandEnded():
            return ended_text(event, "what was left running")
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
    if said["--api"] not in scenario.script.apis:
        print(f"{said['<file>']}: apis: it is not for {said['--api']}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder, Stage(Path(folder), said["--api"]) as stage:
        try:
            told, wrong = stage.play(scenario)
        except BadScenario as exc:
            print(f"{said['<file>']}: {exc}", file=sys.stderr)
            return 2
        requests = stage.requests() if said["--requests"] else []
    print("\n".join(told))
    for number, request in enumerate(requests):
        print(f"REQUEST {number}  {request}")
    for line in wrong:
        print(f"NOT EXPECTED  {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
