"""Random histories of a few conversations: batches that a daemon could have written.

The machine only makes what the store accepts; what it refuses has tests of its own. Every kind
that changes a projection comes up.
"""

from __future__ import annotations

from random import Random

from efr.store.batch import Batch, NewEvent
from efr.wire import events as ev
from efr.wire import types as t
from tests.store.samples import an_id

TTYS = ("/dev/pts/1", "/dev/pts/2")
ENDS = (ev.TurnCompleted, ev.TurnInterrupted, ev.TurnCancelled)


class History:
    """Makes the next batch; remembers what is open."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._count = 0
        self._seq = 0
        self._alive: list[str] = []
        self._queued: list[tuple[str, str]] = []
        self._running: list[tuple[str, str]] = []
        self._turns: list[tuple[str, str]] = []
        self._questions: list[tuple[str, str, str, bool]] = []
        self._shells: list[tuple[str, str]] = []
        self._jobs: dict[str, int] = {}
        self._running_jobs: list[tuple[str, int]] = []
        self._notices: list[tuple[str, int]] = []

    def batch(self) -> Batch:
        """One to four steps of one history, all in one batch."""
        events: list[NewEvent] = []
        for _ in range(self._random.choice((1, 1, 1, 2, 4))):
            for conversation_id, event in self._step():
                events.append(NewEvent(conversation_id, event))
                self._seq += 1
        return Batch(tuple(events))

    def _id(self) -> str:
        self._count += 1
        return an_id(self._count)

    def _step(self) -> list[tuple[str | None, ev.Event]]:
        steps = [
            self._create,
            self._attach,
            self._queue,
            self._queue,
            self._start,
            self._start,
            self._talk,
            self._talk,
            self._end,
            self._withdraw,
            self._ask,
            self._ask_surface,
            self._answer,
            self._shell,
            self._shell_news,
            self._job,
            self._job_news,
            self._notice,
            self._compact,
            self._look_away,
            self._of_the_daemon,
        ]
        if self._random.random() < 0.02:
            return self._delete()
        made = self._random.choice(steps)()
        return made or self._create()

    def _create(self) -> list[tuple[str | None, ev.Event]]:
        conversation = self._id()
        self._alive.append(conversation)
        tty = self._random.choice((None, *TTYS))
        route = self._random.choice((None, t.RouteOutside(), t.RouteProject(an_id(0xAA))))
        return [(conversation, ev.ConversationCreated(t.Origin.SHELL, tty=tty, route=route))]

    def _attach(self) -> list[tuple[str | None, ev.Event]]:
        if not self._alive:
            return []
        event = ev.TerminalAttached(
            tty=self._random.choice(TTYS),
            route=self._random.choice((t.RouteOutside(), t.RouteProject(an_id(0xAA)))),
            shell_pid=self._random.choice((None, 4711)),
            how=t.AttachHow.RESUMED,
        )
        return [(self._random.choice(self._alive), event)]

    def _queue(self) -> list[tuple[str | None, ev.Event]]:
        if not self._alive:
            return []
        conversation, turn = self._random.choice(self._alive), self._id()
        self._queued.append((conversation, turn))
        self._turns.append((conversation, turn))
        context = t.ShellContext(
            pwd=self._random.choice(("/a", "/b")),
            tty=self._random.choice((None, *TTYS)),
            shell_pid=self._random.choice((None, 4712)),
        )
        event: ev.Event = ev.PromptQueued(
            turn_id=turn,
            command_id=self._id(),
            text=self._random.choice(("", "\n fix it ", "größe 🙂", "x" * 200)),
            origin=t.Origin.SHELL,
            context=self._random.choice((None, context)),
        )
        events: list[tuple[str | None, ev.Event]] = [(conversation, event)]
        if self._random.random() < 0.1:
            events.append((conversation, ev.PromptHeld(turn)))
        return events

    def _start(self) -> list[tuple[str | None, ev.Event]]:
        if not self._queued:
            return []
        conversation, turn = self._queued.pop(0)
        self._running.append((conversation, turn))
        scope = self._random.choice((t.ScopeMachine(), t.ScopePath("/a"), t.ScopeProject(an_id(1))))
        events: list[tuple[str | None, ev.Event]] = [
            (conversation, ev.TurnStarted(turn, cwd="/a", scope=scope))
        ]
        if self._random.random() < 0.3:
            change = ev.ScopeChanged(turn, from_=scope, to=t.ScopeMachine())
            events.append((conversation, change))
        return events

    def _talk(self) -> list[tuple[str | None, ev.Event]]:
        if not self._running:
            return []
        conversation, turn = self._random.choice(self._running)
        call = self._id()
        choices: tuple[ev.Event, ...] = (
            ev.AssistantMessageUpdated(turn, index=0, offset=0, delta="hello"),
            ev.AssistantMessageCompleted(turn, index=0, text="hello"),
            ev.ToolCallStarted(turn, call_id=call, tool="shell", input={"command": "ls"}),
            ev.TurnSteered(turn, text="faster"),
            ev.UnknownEvent("cat_seen", {"name": "Tom"}),
        )
        return [(conversation, self._random.choice(choices))]

    def _end(self) -> list[tuple[str | None, ev.Event]]:
        if not self._running:
            return []
        at = self._random.randrange(len(self._running))
        conversation, turn = self._running.pop(at)
        self._forget_questions(lambda of_conversation, of_turn: of_turn == turn)
        failed = ev.TurnFailed(turn, error=t.ErrorBody(t.ErrorCode.INTERNAL, "no"))
        made = [kind(turn) for kind in ENDS]
        return [(conversation, self._random.choice([*made, failed]))]

    def _withdraw(self) -> list[tuple[str | None, ev.Event]]:
        if not self._queued:
            return []
        conversation, turn = self._queued.pop()
        return [(conversation, ev.PromptWithdrawn(turn, origin=t.Origin.SHELL))]

    def _ask(self) -> list[tuple[str | None, ev.Event]]:
        if not self._running:
            return []
        conversation, turn = self._random.choice(self._running)
        call = self._id()
        self._questions.append((conversation, turn, call, False))
        return [(conversation, ev.ApprovalRequested(turn, call_id=call, summary="run ls"))]

    def _ask_surface(self) -> list[tuple[str | None, ev.Event]]:
        if not self._running:
            return []
        conversation, turn = self._random.choice(self._running)
        question = self._id()
        self._questions.append((conversation, turn, question, True))
        event = ev.SurfaceQuestionRequested(
            turn, call_id=self._id(), question_id=question, changes=()
        )
        return [(conversation, event)]

    def _answer(self) -> list[tuple[str | None, ev.Event]]:
        if not self._questions:
            return []
        at = self._random.randrange(len(self._questions))
        conversation, turn, question, surface = self._questions.pop(at)
        if surface:
            origin = self._random.choice((None, t.Origin.SHELL))
            return [
                (
                    conversation,
                    ev.SurfaceQuestionAnswered(
                        turn, question_id=question, keep=origin is not None, origin=origin
                    ),
                )
            ]
        yes = ev.ApprovalResolved(
            turn, call_id=question, decision=t.ApprovalDecision.ALLOW, origin=t.Origin.PHONE
        )
        late = ev.ApprovalExpired(turn, call_id=question)
        return [(conversation, self._random.choice((yes, late)))]

    def _shell(self) -> list[tuple[str | None, ev.Event]]:
        if not self._alive:
            return []
        conversation, pty = self._random.choice(self._alive), self._id()
        self._shells.append((conversation, pty))
        pid = self._random.choice((None, 99))
        return [(conversation, ev.ShellStarted(pty_id=pty, cwd="/a", pid=pid))]

    def _shell_news(self) -> list[tuple[str | None, ev.Event]]:
        if not self._shells:
            return []
        conversation, pty = self._random.choice(self._shells)
        call = self._id()
        detached = ev.ShellCommandDetached(
            call_id=call,
            command="sleep 9",
            since="2026-10-03T12:00:00Z",
            contained=False,
            input=t.InputWait.NONE,
        )
        ended = ev.ShellCommandEnded(call_id=call, how=t.ShellCommandEnd.ENDED)
        choices: tuple[tuple[ev.Event, ...], ...] = (
            (ev.CwdChanged(pty_id=pty, cwd="/b", host="here"),),
            (detached,),
            (detached, ended),
            (ev.ShellExited(pty_id=pty, exit_code=self._random.choice((None, 1))),),
        )
        events = self._random.choice(choices)
        if isinstance(events[0], ev.ShellExited):
            self._shells.remove((conversation, pty))
        return [(conversation, event) for event in events]

    def _job(self) -> list[tuple[str | None, ev.Event]]:
        if not self._running:
            return []
        conversation, turn = self._random.choice(self._running)
        number = self._jobs[conversation] = self._jobs.get(conversation, 0) + 1
        self._running_jobs.append((conversation, number))
        call = self._id()
        job = t.JobInfo(
            id=f"j{number}",
            conversation_id=conversation,
            turn_id=turn,
            call_id=call,
            command="make",
            launch=t.LaunchDirect(),
            state=t.JobState.RUNNING,
            started_at="2026-10-03T12:00:00Z",
            ends_by="2026-10-03T13:00:00.5Z",
            watch=self._random.choice((None, t.JobWatch(pattern="error", max_wakes=3))),
            output="/tmp/j",
            output_bytes=0,
        )
        event = ev.JobStarted(turn, call_id=call, job=job, launcher_pid=77, launcher_start=123456)
        return [(conversation, event)]

    def _job_news(self) -> list[tuple[str | None, ev.Event]]:
        if not self._running_jobs:
            return []
        at = self._random.randrange(len(self._running_jobs))
        conversation, number = self._running_jobs[at]
        matched = ev.JobWatchMatched(job_id=f"j{number}", line="error: no", wakes_left=2)
        ended = ev.JobEnded(
            job_id=f"j{number}",
            state=t.JobState.EXITED,
            exit_code=self._random.choice((None, 0)),
            stopped_by=self._random.choice((None, t.JobStopBy.USER)),
            output_bytes=12,
            ran_secs=3,
            tail="",
        )
        event = self._random.choice((matched, ended))
        self._notices.append((conversation, self._seq + 1))
        if event is ended:
            self._running_jobs.pop(at)
        return [(conversation, event)]

    def _notice(self) -> list[tuple[str | None, ev.Event]]:
        if not self._notices:
            return []
        conversation, source = self._random.choice(self._notices)
        if self._random.random() < 0.5:
            held = ev.JobNoticeHeld(job_id="j1", source_seq=source, reason=t.HeldReason.WAKE_LIMIT)
            return [(conversation, held)]
        turn = self._id()
        self._queued.append((conversation, turn))
        self._turns.append((conversation, turn))
        woke = self._random.random() < 0.5
        event = ev.JobNotice(
            conversation_id=conversation,
            turn_id=turn,
            job_id="j1",
            notice_kind=t.NoticeKind.EXITED,
            woke=woke,
            source_seq=source,
            not_user_input=True,
            text="job j1 exited with 0",
        )
        return [(conversation, event)]

    def _compact(self) -> list[tuple[str | None, ev.Event]]:
        if not self._turns:
            return []
        conversation, turn = self._random.choice(self._turns)
        event = ev.ConversationCompacted(
            compaction_id=self._id(),
            turn_id=self._random.choice((None, turn)),
            trigger=t.CompactionTrigger.AUTO,
            model="m",
            window=1000,
            limit=900,
            tokens_before=800,
            tokens_after=100,
            through_turn=turn,
            kept_turns=1,
            summary=self._random.choice((None, "what happened")),
        )
        return [(conversation, event)]

    def _look_away(self) -> list[tuple[str | None, ev.Event]]:
        if not self._alive:
            return []
        conversation = self._random.choice(self._alive)
        event = ev.PresenceChanged(conversation, t.Presence.AWAY, t.PresenceSource.TIMEOUT)
        return [(conversation, event)]

    def _of_the_daemon(self) -> list[tuple[str | None, ev.Event]]:
        return [(None, ev.LoginCompleted("demo"))]

    def _delete(self) -> list[tuple[str | None, ev.Event]]:
        if not self._alive:
            return []
        gone = self._alive.pop(self._random.randrange(len(self._alive)))
        for held in (self._queued, self._running, self._turns, self._shells):
            held[:] = [one for one in held if one[0] != gone]
        self._running_jobs = [one for one in self._running_jobs if one[0] != gone]
        self._notices = [one for one in self._notices if one[0] != gone]
        self._forget_questions(lambda of_conversation, of_turn: of_conversation == gone)
        return [(gone, ev.ConversationDeleted(t.Origin.CLI))]

    def _forget_questions(self, is_over) -> None:  # type: ignore[no-untyped-def]
        self._questions = [q for q in self._questions if not is_over(q[0], q[1])]
