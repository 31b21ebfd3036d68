"""The owner of one conversation: its queue, its running turn, its worker.

State changes inside the gate, one request at a time in the order they came; each change is one
batch with its receipt. A worker thread exists only while there is work: it takes the next prompt,
runs the turn to its end, records that end and looks again. The owner clears the running turn
before it records its end, so a client that saw the end never steers a dead turn.

What a request may do is in `requests.py`; what a turn does is in `turn.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future

from efr.agent.approvals import Questions
from efr.agent.calls import Calls
from efr.agent.commit import TurnLog
from efr.agent.forms import CONVERSATION_COMPACT
from efr.agent.gate import Gate
from efr.agent.guard import Breaker
from efr.agent.manual import compact_now, result_of
from efr.agent.presence import Presence
from efr.agent.queue import Compaction, Prompt, Running, State, Steer
from efr.agent.services import Services
from efr.agent.turn import Turn
from efr.agent.turn_end import TurnEnd, without_question, without_words
from efr.agent.waits import Pause
from efr.store.batch import Batch, Committed, NewEvent, NewReceipt
from efr.store.errors import DeletedConversation, NotPending, StoreClosed, StoreFault
from efr.tools.file_views import FileViews
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import WireError, refuse

log = logging.getLogger("efr.agent")

# A full disk at the end of a turn: the end is tried again for a minute, then the worker gives up
# and the end is recorded before the next prompt, or by the next start (daemon document, faults).
_RETRY_S = 5.0
_RETRIES = 12


class Conversation:
    """One loaded conversation. Requests come on handler threads, turns run on its worker."""

    def __init__(self, conversation_id: str, away: bool, services: Services) -> None:
        """`away`: what the log says of the user's presence."""
        ports = services.ports
        self.id = conversation_id
        self.services = services
        self.gate = Gate()
        self.state = State()
        self.questions = Questions(ports.clock, ports.timer)
        self.presence = Presence(ports.clock, ports.timer, away, self._user_is_away)
        self.questions.set_away(away)
        self.views = FileViews()
        self.breaker = Breaker()
        self._pause = Pause(ports.clock, ports.timer)
        self._unrecorded: Batch | None = None  # an end that found the disk full
        self._left: Future[Committed] | None = None  # the user, ten minutes ago: on its way to disk

    # Inside the gate -----------------------------------------------------------------------

    def append(
        self, events: Sequence[ev.Event], receipt: NewReceipt | None, *, is_input: bool = True
    ) -> Committed:
        """Appends what a request changes. An input that ends being away says so in the batch,
        after the other events, so their places in it do not move. Raises StoreError."""
        came_back = is_input and self.presence.input()
        tail = [self._presence(t.Presence.PRESENT, t.PresenceSource.INPUT)] if came_back else []
        batch = Batch(
            events=tuple(NewEvent(self.id, event) for event in (*events, *tail)), receipt=receipt
        )
        try:
            done = self.services.commits.append(batch)
        except BaseException:
            if came_back:
                self.presence.back_out()
            raise
        if came_back:
            self.questions.set_away(False)
        return done

    def check_open(self) -> None:
        """Raises when nothing may be added: efrd stops, or the conversation is gone."""
        with self.state.lock:
            stopping, gone = self.state.stopping, self.state.gone
        if gone:
            raise refuse(t.ErrorCode.NOT_FOUND, "there is no such conversation")
        if stopping:
            raise refuse(t.ErrorCode.CANCELLED, "efrd stops")

    def add(self, prompt: Prompt) -> None:
        """Queues a recorded prompt and makes sure that a worker takes it."""
        if self.state.add(prompt):
            self._start_worker()

    def _start_worker(self) -> None:
        try:
            self.services.ports.workers.start(self.id, self._work)
        except BaseException:
            with self.state.lock:
                self.state.working = False  # the next prompt tries again
                self.state.compaction = None
            raise

    def begin_compaction(self, asked: Compaction) -> None:
        """The worker compacts before it starts what waits."""
        if self.state.begin(asked):
            self._start_worker()

    def let_go(self) -> bool:
        """Shuts the gate when nothing of the conversation runs, waits or is timed."""
        with self.gate.try_enter() as entered:
            timed = self.presence.is_timed or not (self._left is None or self._left.done())
            rests = self.state.rests and self._unrecorded is None and not timed
            return entered and rests and self.gate.shut()

    def away_event(self, presence: t.Presence) -> ev.PresenceChanged:
        """The event of a change by the user's word."""
        return self._presence(presence, t.PresenceSource.USER)

    def now_away(self, away: bool) -> None:
        """The user's word is recorded."""
        if away:
            self.presence.go_away()
        else:
            self.presence.input()
        self.questions.set_away(away)

    # The worker ----------------------------------------------------------------------------

    def take_steers(self, running: Running, turn_log: TurnLog) -> list[Steer]:
        """The unread steers for the next model call; recorded as read."""
        with self.gate.enter(always=True):
            with self.state.lock:
                steers, running.unread = running.unread, []
            if steers:
                seqs = tuple(one.seq for one in steers)
                turn_log.record(ev.SteeringDelivered(turn_id=running.turn_id, steers=seqs))
        return steers

    def close_steering(self, running: Running) -> bool:
        """From here on a steer is late. False: one waits, so the turn makes another call."""
        with self.gate.enter(always=True), self.state.lock:
            if running.unread and not running.interrupted:
                return False
            running.steering_closed = True
            return True

    def stop(self) -> None:
        """The daemon stops: the running turn ends as interrupted, nothing new starts."""
        with self.state.lock:
            self.state.stopping = True
            running = self.state.running
        self._pause.end()
        self.presence.stop()
        if running is not None:
            running.cancel.cancel()
        self.stop_compaction()

    def stop_compaction(self) -> Compaction | None:
        """A compaction that the user asked for ends without a result; which one that is."""
        with self.state.lock:
            asked = self.state.compaction
        if asked is not None:
            asked.cancel.cancel()
        return asked

    def _work(self) -> None:
        """The worker's thread: one turn after the other until nothing waits."""
        while (running := self._next()) is not None:
            if isinstance(running, Compaction):
                self._compact(running)
                continue
            end = Turn(self.services, self, Calls(self.services, self), running).run()
            with self.gate.enter(always=True), self.state.lock:
                self.state.running = None
                unread, running.unread = running.unread, []
            self._record_end(end, unread)

    def _compact(self, asked: Compaction) -> None:
        """A compaction between turns; who asked gets its answer when it is on disk."""
        try:
            answer = self._compacted(asked)
        except Exception as exc:  # noqa: BLE001 - the top of the compaction: who asked hears of it
            with self.state.lock:
                self.state.compaction = None
            asked.reply.set_exception(exc)
            return
        asked.reply.set_result(answer)

    def _compacted(self, asked: Compaction) -> m.ConversationCompactResult:
        asked.cancel.raise_if_cancelled()
        if self._unrecorded is not None:
            raise refuse(t.ErrorCode.INTERNAL, "the disk is full, so nothing could be recorded")
        self.breaker.reset()  # also when it finds nothing: the next turn may try again
        event = compact_now(self.services, self.id, asked)
        result = result_of(event)
        receipt = CONVERSATION_COMPACT.receipt(asked.command_id, result, seq_of=0)
        with self.gate.enter(always=True):
            done = self.append([event], receipt, is_input=False)
            with self.state.lock:
                self.state.compaction = None
        return CONVERSATION_COMPACT.numbered(result, done.first_seq)

    def _next(self) -> Running | Compaction | None:
        """The next turn or compaction. An end that is still to be recorded comes before it."""
        if self._unrecorded is not None and self._append_once(self._unrecorded) is not None:
            self._unrecorded = None
        with self.gate.enter(always=True):
            return self.state.next(may_start=self._unrecorded is None)

    def _record_end(self, end: TurnEnd, unread: Sequence[Steer]) -> None:
        """Records how the turn ended and tells the terminal that does not look."""
        batch = end.batch(self.id, unread)
        done = self._append_end(batch)
        if done is None:
            self._unrecorded = batch
        elif end.notice is not None:
            tty = end.running.prompt.tty
            self.services.notices.tell(self.id, tty, done.last_seq, end.notice)

    def _append_end(self, batch: Batch) -> Committed | None:
        """Tries for a minute while the disk has no room. None: it is not recorded."""
        done = self._append_once(batch)
        tries = 0
        while done is None and tries < _RETRIES and self._pause.wait(_RETRY_S):
            tries += 1
            done = self._append_once(batch)
        return done

    def _append_once(self, batch: Batch) -> Committed | None:
        """None: a fault of the store, worth another try."""
        while True:
            try:
                return self.services.commits.append(batch)
            except NotPending as exc:  # an answer came before our expiry
                batch = without_question(batch, exc.call_id)
            except DeletedConversation:
                with self.state.lock:
                    self.state.gone = True
                return Committed(0, 0, 0, None)
            except (StoreFault, StoreClosed) as exc:
                log.error("the end of a turn cannot be recorded now: %s", exc)
                return None
            except (WireError, TypeError, ValueError) as exc:
                plain = without_words(batch)
                if plain == batch:
                    raise
                log.error("the end of a turn cannot be written as it is: %s", exc)
                batch = plain

    def _presence(self, presence: t.Presence, source: t.PresenceSource) -> ev.PresenceChanged:
        return ev.PresenceChanged(conversation_id=self.id, presence=presence, source=source)

    def _user_is_away(self) -> bool:
        """Ten minutes without input, on the timer's thread. False: a request is inside now."""
        with self.gate.try_enter() as entered:
            if not entered:
                return False
            if self.presence.is_due():
                event = self._presence(t.Presence.AWAY, t.PresenceSource.TIMEOUT)
                try:
                    batch = Batch(events=(NewEvent(self.id, event),))
                    self._left = self.services.commits.later(batch)
                except StoreClosed:
                    return True  # efrd stops; the next start counts the ten minutes anew
                self.presence.go_away()
                self.questions.set_away(True)
        return True
