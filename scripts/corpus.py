"""Writes a database with a long history: what somebody has after years of work with efr.

Usage:
  corpus --turns N [--seed S] DB

Options:
  --turns N   How many turns [default: 20000].
  --seed S    Another history for each number [default: 1].

The same numbers give the same text. Twenty turns a day, in conversations of one to many turns, in
a dozen projects and outside of them. Prompts are short, some with a pasted log; answers are long,
with code; a turn runs a few commands, some of them with a heredoc. Words are as frequent as in a
language: few are everywhere, most are rare. The search index is left to efrd.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Final

from docopt import docopt

from efr.store import db
from efr.store.append import Appender
from efr.store.batch import Batch, Committed, NewEvent
from efr.store.migrate import migrate
from efr.wire import events as ev
from efr.wire import types as t

FIRST_DAY_US: Final = 1_700_000_000_000_000
DAY_US: Final = 86_400_000_000
TURNS_A_DAY: Final = 20
TURNS_A_COMMIT: Final = 40
VOCABULARY: Final = 12_000
PIECE: Final = 600  # characters of an answer that one update brings

COMMON: Final = (
    "the of and to in is it that for on with as be this are or not you by from at we can if so"
    " use file run will which one all when then there into now only has also more test error build"
    " server code line set make time change new first log data disk config service"
)
SYLLABLES: Final = (
    "ba be bi bo bu da de di do du fa fe fi fo ga ge gi go ha he hi ho ka ke ki ko la le li lo ma"
    " me mi mo na ne ni no pa pe pi po ra re ri ro sa se si so ta te ti to va ve vi vo za ze zi zo"
    " ar en in on er al st or"
)
COMMANDS: Final = (
    "ls -la {w}",
    "git status --short",
    "git log --oneline -20 -- {w}/{w}.py",
    "rg -n '{w}' src/{w}",
    "sed -n 1,120p src/{w}/{w}.py",
    "python -m pytest tests/test_{w}.py -q",
    "cargo build --release 2>&1 | tail -40",
    "docker compose logs --tail 100 {w}",
    "journalctl -u {w}.service -n 50 --no-pager",
    "curl -s http://localhost:8080/{w}/{w} | jq .{w}",
    "df -h / && du -sh ~/{w}",
    "systemctl --user restart {w}",
)


class History:
    """Makes the turns one after another."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        words = [*COMMON.split(), *(self._invented() for _ in range(VOCABULARY))]
        self._words = words
        self._weights = list(accumulate(1 / (rank + 4) for rank in range(len(words))))
        self._projects = [self.id(n) for n in range(12)]
        self._count = 0
        self.now_us = FIRST_DAY_US

    def id(self, number: int, at_us: int = FIRST_DAY_US) -> str:
        """A UUIDv7 of that time, with a number of its own."""
        raw = f"{at_us // 1000:012x}7{number & 0xFFF:03x}8{self._random.getrandbits(60):015x}"
        return f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"

    def turns(self, count: int) -> Iterator[list[NewEvent]]:
        """The events of each turn, those of a new conversation with its first one."""
        while count > 0:
            turns = min(count, 1 + int(self._random.expovariate(1 / 5)))
            count -= turns
            yield from self._conversation(turns)

    def _conversation(self, turns: int) -> Iterator[list[NewEvent]]:
        conversation = self._id()
        place = self._random.choice([*self._projects, None, None, None])
        cwd = f"/home/ada/{self._word()}" if place else "/home/ada"
        scope: t.Scope = t.ScopeMachine() if place is None else t.ScopeProject(value=place)
        tty = f"/dev/pts/{self._random.randrange(9)}"
        events: list[ev.Event] = [ev.ConversationCreated(t.Origin.SHELL, tty=tty)]
        for _ in range(turns):
            self.now_us += int(DAY_US / TURNS_A_DAY * self._random.uniform(0.2, 1.8))
            events += self._turn(cwd, scope)
            yield [NewEvent(conversation, event) for event in events]
            events = []

    def _turn(self, cwd: str, scope: t.Scope) -> Iterator[ev.Event]:
        turn = self._id()
        context = t.ShellContext(pwd=cwd)
        yield ev.PromptQueued(
            turn_id=turn,
            command_id=self._id(),
            text=self._prompt(),
            origin=t.Origin.SHELL,
            context=context,
        )
        yield ev.TurnStarted(turn_id=turn, cwd=cwd, scope=scope)
        calls = min(6, int(self._random.expovariate(1 / 1.6)))
        for index in range(calls):
            if index % 2 == 0:
                yield from self._answer(turn, index // 2, self._sentences(1))
            yield from self._call(turn)
        yield from self._answer(turn, 9, self._long_answer())
        yield ev.TurnCompleted(turn_id=turn)

    def _answer(self, turn: str, index: int, text: str) -> Iterator[ev.Event]:
        for at in range(0, len(text), PIECE):
            yield ev.AssistantMessageUpdated(
                turn_id=turn, index=index, offset=at, delta=text[at : at + PIECE]
            )
        yield ev.AssistantMessageCompleted(turn_id=turn, index=index, text=text)

    def _call(self, turn: str) -> Iterator[ev.Event]:
        call = self._id()
        yield ev.ToolCallStarted(
            turn_id=turn, call_id=call, tool="shell", input={"command": self._command()}
        )
        output = "\n".join(self._sentences(1) for _ in range(self._random.randrange(1, 14)))
        yield ev.ToolCallCompleted(
            turn_id=turn, call_id=call, output=output, truncated=False, is_error=False
        )

    def _prompt(self) -> str:
        text = self._phrase(4, 22)
        if self._random.random() < 0.1:
            text += "\n" + "\n".join(self._sentences(1) for _ in range(12))
        return text

    def _long_answer(self) -> str:
        parts = [self._sentences(self._random.randrange(2, 9))]
        for _ in range(min(12, int(self._random.expovariate(1 / 2.5)))):
            parts.append("\n".join(f"- {self._phrase(4, 14)}" for _ in range(4)))
            if self._random.random() < 0.4:
                code = "\n".join(f"{self._word()} = {self._word()}()" for _ in range(8))
                parts.append(f"```python\n{code}\n```")
            parts.append(self._sentences(self._random.randrange(1, 5)))
        return "\n\n".join(parts)

    def _command(self) -> str:
        if self._random.random() < 0.1:
            body = "\n".join(self._phrase(3, 9) for _ in range(self._random.randrange(20, 60)))
            return f"cat > {self._word()}.conf <<'EOF'\n{body}\nEOF"
        command = self._random.choice(COMMANDS)
        while "{w}" in command:
            command = command.replace("{w}", self._word(), 1)
        return command

    def _sentences(self, count: int) -> str:
        return " ".join(f"{self._phrase(8, 20).capitalize()}." for _ in range(count))

    def _phrase(self, least: int, most: int) -> str:
        count = self._random.randint(least, most)
        words = self._random.choices(self._words, cum_weights=self._weights, k=count)
        if self._random.random() < 0.12:  # a commit, a port, a pid: words that never come again
            words[self._random.randrange(count)] = f"{self._random.getrandbits(28):07x}"
        return " ".join(words)

    def _word(self) -> str:
        return self._random.choices(self._words, cum_weights=self._weights)[0]

    def _invented(self) -> str:
        return "".join(self._random.choices(SYLLABLES.split(), k=self._random.choice((2, 3, 3, 4))))

    def _id(self) -> str:
        self._count += 1
        return self.id(self._count, self.now_us)


class _HistoryClock:
    """The time in the history."""

    def __init__(self, history: History) -> None:
        self._history = history

    def now_us(self) -> int:
        return self._history.now_us

    def monotonic(self) -> float:
        return self._history.now_us / 1_000_000


def write(path: Path, turns: int, seed: int = 1) -> None:
    """Makes the database and fills it."""
    history = History(seed)
    with closing(db.open(path)) as conn:
        migrate(conn)
        appender = Appender(conn, _HistoryClock(history))
        waiting: list[Batch] = []
        for events in history.turns(turns):
            waiting.append(Batch(tuple(events)))
            if len(waiting) == TURNS_A_COMMIT:
                _append(appender, waiting)
                waiting = []
        _append(appender, waiting)


def _append(appender: Appender, batches: list[Batch]) -> None:
    outcomes = appender.append(batches).outcomes
    assert all(isinstance(outcome, Committed) for outcome in outcomes), outcomes


def main(arguments: list[str]) -> int:
    """The exit status."""
    given = docopt(str(__doc__), arguments)
    path = Path(given["DB"])
    if path.exists():
        print(f"{path} exists", file=sys.stderr)
        return 1
    write(path, int(given["--turns"]), int(given["--seed"]))
    print(f"{path}: {given['--turns']} turns, {path.stat().st_size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
