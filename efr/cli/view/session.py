"""Following a prompt to its end: one loop that waits on the socket, the keyboard and signals.

Owns the selector and the order of things; runs on the main thread. What an item means is `turn`,
where keys go is `relay` and `rowkeys`, what is drawn is `surface`.
"""

from __future__ import annotations

import selectors
import signal
from typing import Any, NamedTuple

from efr.base.clock import Clock
from efr.cli.errors import DONE, FAILED, INTERRUPTED
from efr.cli.render.opening import Here, first_lines, scope_name
from efr.cli.view.handback import hand_back
from efr.cli.view.interrupt import Interrupt
from efr.cli.view.keyboard import Keyboard
from efr.cli.view.keys import ESCAPE_S, Key, KeyReader
from efr.cli.view.live import Shown
from efr.cli.view.relay import Relay
from efr.cli.view.resume import Resume
from efr.cli.view.rowkeys import RowKeys
from efr.cli.view.scroll import Kind
from efr.cli.view.signals import Signals, die_of, stop_here
from efr.cli.view.surface import Surface
from efr.cli.view.talk import Talk
from efr.cli.view.turn import TurnOptions, TurnView, user_rows
from efr.client.errors import ConnectionLost, Refused
from efr.client.follow import missing_events
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t

FRAME_S = 0.016  # one frame of a 60 Hz terminal
TICK_S = 0.1  # the spinner's step


class Options(NamedTuple):
    """What a session is told. `draft_file`: where text goes that was not sent ("": nowhere)."""

    here: Here
    turn: TurnOptions
    prompt: m.PromptSendParams
    draft_file: str = ""
    motion: bool = True


class Session:
    """One followed prompt, and those queued behind it from the row."""

    def __init__(
        self,
        talk: Talk,
        surface: Surface,
        signals: Signals,
        keyboard: Keyboard | None,
        clock: Clock,
        options: Options,
    ) -> None:
        self._talk = talk
        self._surface = surface
        self._signals = signals
        self._keyboard = keyboard
        self._clock = clock
        self._options = options
        self._keys = KeyReader()
        self._escape_at: float | None = None
        self.shown = Shown(motion=options.motion, can_answer=keyboard is not None)
        self.sent: m.PromptSendResult | None = None
        self._resume = Resume(clock)
        self._relay: Relay | None = None
        self._rowkeys: RowKeys | None = None
        self._interrupt = Interrupt(talk, self.shown, clock)
        self._subscription = 0
        self._after_seq = 0
        self._exit: int | None = None
        self._dirty = True
        self._urgent = True
        self._drawn_at = 0.0
        self._ticked_at = 0.0
        self._asked_call = ""  # the question whose card is on the screen
        self._swallowed = False

    # --- the loop -----------------------------------------------------------------------------

    def run(self) -> int:
        """Blocks until the last followed turn ended; the exit code."""
        try:
            while self._exit is None:
                self._wait()
                self._settle()
                if self._exit is None:
                    self._draw()
            return self._exit
        finally:
            self._leave()

    def _wait(self) -> None:
        """One wait on everything, then what arrived."""
        with selectors.PollSelector() as selector:
            if not self._resume.broken:
                selector.register(self._talk.connection, selectors.EVENT_READ, self._read_socket)
            selector.register(self._signals, selectors.EVENT_READ, self._read_signals)
            if self._keyboard is not None and self._wants_keys():
                selector.register(self._keyboard, selectors.EVENT_READ, self._read_keys)
            for ready, _ in selector.select(self._timeout()):
                ready.data()
                if self._exit is not None:
                    return

    def _timeout(self) -> float | None:
        now = self._clock.monotonic()
        due: list[float] = []
        if self._dirty:
            due.append(now if self._urgent else self._drawn_at + FRAME_S)
        if self._surface.ticks:
            due.append(self._ticked_at + TICK_S)
        if self._escape_at is not None:
            due.append(self._escape_at)
        due += [at for at in (self._interrupt.deadline, self._resume.next_try) if at is not None]
        return max(min(due) - now, 0.0) if due else None

    def _settle(self) -> None:
        """What only time brings, and what follows from what arrived."""
        now = self._clock.monotonic()
        if self._escape_at is not None and now >= self._escape_at:
            self._escape_at = None
            self._take_keys(self._keys.time_is_over())
        if self._interrupt.overdue(now):
            self._note("efrd did not answer; it may still run the turn", warning=True)
            self._exit = INTERRUPTED
        if self._resume.due(now):
            self._reconnect()
        self._look_at_question()
        self._look_at_waits()
        if self._exit is None and self.shown.view is not None and self.shown.view.over:
            self._next_turn()

    def _draw(self) -> None:
        now = self._clock.monotonic()
        tick = int(now / TICK_S)
        if self._dirty and (self._urgent or now >= self._drawn_at + FRAME_S):
            self._surface.draw(self.shown, now, tick)
            self._dirty = self._urgent = False
            self._drawn_at = self._ticked_at = now
        elif self._surface.ticks and now >= self._ticked_at + TICK_S:
            self._surface.tick(self.shown, now, tick)
            self._ticked_at = now

    def _leave(self) -> None:
        """On every way out: the last frame, the terminal as it was, texts back to the shell."""
        if self._relay is not None:
            self._relay.close()
        self._hand_back()
        self.shown.row = None
        self._surface.close()
        if self._keyboard is not None:
            self._keyboard.off()

    def _hand_back(self) -> None:
        texts = list(self._interrupt.returned)
        if self.shown.row is not None and self.shown.row.text.strip():
            texts.append(self.shown.row.text)
        if texts and not hand_back("\n".join(texts), self._options.draft_file):
            self._note("not sent: " + " ".join("\n".join(texts).split()))

    # --- the socket ---------------------------------------------------------------------------

    def start(self, hello: int, prompt: int, params: Any) -> None:
        """Takes over the two requests that are under way."""
        self._talk.adopt(hello, "hello", None, lambda _: None, self._refused)
        self._talk.adopt(prompt, "prompt.send", params, self._prompt_sent, self._refused)

    def _read_socket(self) -> None:
        try:
            replies = self._talk.connection.receive()
        except ConnectionLost:
            self._lost()
            return
        for reply in replies:
            self._talk.handle(reply, self._surface.event)
        self._dirty = self._dirty or bool(replies)

    def _refused(self, refused: Refused) -> None:
        raise refused

    def _prompt_sent(self, sent: m.PromptSendResult) -> None:
        self.sent = sent
        if sent.route is not None:
            self.shown.scope = scope_name(sent.route.scope)
        self._relay = Relay(self._talk, self.shown, sent.conversation_id)
        self._rowkeys = RowKeys(
            self._talk,
            self.shown,
            self._interrupt,
            sent.conversation_id,
            self._options.prompt,
            self._note,
        )
        self._after_seq = sent.seq
        self._follow(sent.turn_id)
        for line in first_lines(sent, self._options.here):
            self._note(line)
        self._interrupt.begin(sent.conversation_id)
        self._subscribe()

    def _subscribe(self) -> None:
        if self.sent is None:
            return
        self._subscription = self._talk.ask(
            "conversation.subscribe",
            self._item,
            self._stream_failed,
            conversation_id=self.sent.conversation_id,
            after_seq=self._after_seq,
            answers_input=self._keyboard is not None,
            drafts=self._surface.drafts,
        )

    def _item(self, item: m.ConversationSubscribeItem) -> None:
        view = self.shown.view
        now = self._clock.monotonic()
        if isinstance(item, m.SubscribeSnapshot):
            self._snapshot(item, now)
        elif isinstance(item, m.SubscribeDraft):
            if view is not None:
                view.take_draft(item, now)
        else:
            self._event(item, now)

    def _snapshot(self, snapshot: m.SubscribeSnapshot, now: float) -> None:
        if self.sent is None:
            return
        conversation = self.sent.conversation_id
        connection = self._talk.connection
        for envelope in missing_events(connection, conversation, self._after_seq, snapshot):
            self._event(envelope, now)
        for envelope in snapshot.events:
            self._event(envelope, now)
        if snapshot.live is not None and self.shown.view is not None:
            self.shown.view.take_live(snapshot.live, now)

    def _event(self, envelope: ev.EventEnvelope | m.SubscribeEvent, now: float) -> None:
        if envelope.seq <= self._after_seq:
            return
        self._after_seq = envelope.seq
        self._resume.progressed()
        if self._rowkeys is not None:
            self._rowkeys.heard(envelope.event)
        view = self.shown.view
        if view is None:
            return
        if view.over:  # the next prompt's events may come with the end of the one before
            self._next_turn()
            view = self.shown.view
            if view is None or self._exit is not None:
                return
        view.take_event(envelope, now)
        urgent = isinstance(envelope.event, ev.ApprovalRequested | ev.ToolCallInputChanged)
        self._urgent = self._urgent or urgent or view.over

    def _stream_failed(self, refused: Refused) -> None:
        """The subscription ended with an error: a slow reader subscribes again."""
        if refused.code == "overflow" and self._resume.may_subscribe_again():
            self._subscribe()
        elif refused.code == "cancelled":
            self._lost()
        else:
            raise refused

    # --- turns --------------------------------------------------------------------------------

    def _follow(self, turn_id: str) -> None:
        self._surface.follow(turn_id)
        self.shown.view = TurnView(
            turn_id,
            self._surface.blocks,
            self._surface.writer,
            self._surface.columns,
            self._options.turn,
        )
        self._interrupt.view = self.shown.view
        self._dirty = self._urgent = True

    def _next_turn(self) -> None:
        """The followed turn is over: the next one of ours, or the end."""
        view = self.shown.view
        if view is None or self._exit is not None or self._interrupt.pending:
            return
        following = self._rowkeys.take_next() if self._rowkeys is not None else None
        if following is None:
            self._exit = self._exit_code(view)
            return
        if isinstance(view.end, ev.TurnFailed):
            view.note("the turn failed; the next prompt runs", warning=True)
        self._follow(following.turn_id)
        self._surface.blocks.add(Kind.STEER, user_rows(following.text, self._surface.columns()))

    def _exit_code(self, view: TurnView) -> int:
        stopped = self._interrupt.by_us and isinstance(view.end, ev.TurnInterrupted)
        if self._interrupt.wanted or stopped:
            return INTERRUPTED
        return DONE if isinstance(view.end, ev.TurnCompleted) else FAILED

    def _note(self, text: str, *, warning: bool = False) -> None:
        if self.shown.view is not None:
            self.shown.view.note(text, warning=warning)
        self._dirty = True

    # --- a lost connection --------------------------------------------------------------------

    def _lost(self) -> None:
        if self.shown.row is None or self.sent is None or not self._resume.lost():
            raise ConnectionLost
        self._note("the connection to efrd was lost; trying again", warning=True)

    def _reconnect(self) -> None:
        fresh = self._resume.try_again(self._talk.connection)
        if fresh is None:
            if self._resume.given_up:
                raise ConnectionLost
            return
        self._talk.move_to(fresh)
        self._note("connected again")
        self._subscribe()

    # --- keys ---------------------------------------------------------------------------------

    def _wants_keys(self) -> bool:
        """Whether typed bytes have a place to go; without one they stay for the shell."""
        view = self.shown.view
        if self.shown.answer is not None or self.shown.row is not None:
            return True
        if view is None:
            return False
        keeps = self._relay is not None and self._relay.keeps
        return view.question is not None or keeps

    def _read_keys(self) -> None:
        keyboard, view = self._keyboard, self.shown.view
        if keyboard is None:
            return
        data = keyboard.read()
        try:
            if data:
                self._route(data, view)
            else:  # the terminal hung up
                self._keyboard, self.shown.can_answer = None, False
        finally:
            data.release()
            keyboard.wipe()

    def _route(self, data: memoryview, view: TurnView | None) -> None:
        """Typed bytes to the one place that may have them."""
        self._dirty = self._urgent = True
        relay = self._relay
        if relay is not None and view is not None:
            if self.shown.answer is not None:
                relay.feed(data, view)
                return
            if relay.keeps and view.question is None:
                relay.keep(data)
                return
            if relay.swallows(view) and view.question is None:
                self._swallowed = True
                return
        self._take_keys(self._keys.feed(bytes(data)))
        waits = self._keys.escape_waits
        self._escape_at = self._clock.monotonic() + ESCAPE_S if waits else None

    def _take_keys(self, keys: list[Key]) -> None:
        for key in keys:
            view = self.shown.view
            if view is not None and view.question is not None and key.name != "paste":
                self._answer_question(key, view)
            elif self._rowkeys is not None:
                self._rowkeys.take(key)
            elif self.shown.row is not None:
                self.shown.row.edit(key)

    def _answer_question(self, key: Key, view: TurnView) -> None:
        """y, n, and a where a rule is offered; every other key does nothing."""
        question = view.question
        if question is None or self.sent is None or key.name != "text":
            return
        decisions = {"y": t.ApprovalDecision.ALLOW, "n": t.ApprovalDecision.DENY}
        if question.can_always:
            decisions["a"] = t.ApprovalDecision.ALLOW_ALWAYS
        decision = decisions.get(key.text[:1])
        call_id = question.asked.call_id
        if decision is None or call_id != self._asked_call:
            return
        self._asked_call = ""
        view.answered(call_id)
        if question.asked.interactive and decision is not t.ApprovalDecision.DENY and self._relay:
            self._relay.allowed(call_id)

        def failed(refused: Refused) -> None:
            if refused.code != "not_found":  # another client was faster, or the time was over
                self._note(f"the answer was not taken: {refused.message}", warning=True)

        self._talk.ask(
            "approval.respond",
            failed=failed,
            conversation_id=self.sent.conversation_id,
            call_id=call_id,
            decision=decision,
        )

    def _look_at_question(self) -> None:
        """A new question: draw it, and take what was typed before it for what it is."""
        view = self.shown.view
        question = view.question if view is not None else None
        if view is None or question is None:
            self._asked_call = ""
            return
        if question.asked.call_id == self._asked_call or self._was_answered(view):
            return
        if self._keyboard is None:
            view.commit_question()
            self._asked_call = question.asked.call_id
            return
        self._dirty = self._urgent = True
        self._draw()
        self._drain_old_keys()
        self._asked_call = question.asked.call_id

    def _was_answered(self, view: TurnView) -> bool:
        return view.question is not None and view.is_answered(view.question.asked.call_id)

    def _drain_old_keys(self) -> None:
        """Bytes typed before a card showed: they edit the row and never answer or send."""
        if self._keyboard is None:
            return
        if self.shown.row is None:
            self._keyboard.discard()
            return
        data = self._keyboard.read_waiting()
        for key in self._keys.feed(bytes(data)):
            if key.name != "enter":
                self.shown.row.edit(key)
        data.release()
        self._keyboard.wipe()

    def _look_at_waits(self) -> None:
        """A command that begins to wait: what was typed before is not for it."""
        if self._relay is None:
            return
        kept = self._relay.keeps
        view = self.shown.view
        opened = self._relay.update(view, can_type=self._keyboard is not None)
        if opened:
            self._dirty = self._urgent = True
            if not kept:
                self._drain_old_keys()
        if self._swallowed and (view is None or not self._relay.swallows(view)):
            self._swallowed = False
            if self._keyboard is not None:
                self._keyboard.discard()

    # --- signals ------------------------------------------------------------------------------

    def _read_signals(self) -> None:
        for number in self._signals.read():
            if number == signal.SIGINT:
                self._ctrl_c()
            elif number == signal.SIGWINCH:
                self._resized()
            elif number == signal.SIGTSTP:
                self._stop()
            elif number == signal.SIGQUIT and self._offered():
                self._dirty = self._urgent = True
            elif number in {signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}:
                self._leave()
                die_of(number)

    def _offered(self) -> bool:
        view, relay = self.shown.view, self._relay
        if view is None or relay is None or self._keyboard is None:
            return False
        return relay.offer(view, self._clock.monotonic())

    def _resized(self) -> None:
        if self.shown.view is not None:
            self.shown.view.reply.resize(self._surface.columns())
        self._dirty = self._urgent = True

    def _stop(self) -> None:
        """Ctrl+Z: the terminal as it was, stop, and a new live zone below the shell's lines."""
        self._surface.close()
        if self._keyboard is not None:
            self._keyboard.off()
        stop_here()
        if self._keyboard is not None:
            self._keyboard.on()
        self._dirty = self._urgent = True

    def _ctrl_c(self) -> None:
        self._dirty = self._urgent = True
        row = self.shown.row
        view = self.shown.view
        asks = self.shown.answer is not None or (view is not None and view.question is not None)
        if row is not None and row.text and not asks:
            row.set("")
            return
        if self._relay is not None:
            self._relay.close()
        if self._interrupt.wanted or (view is not None and view.over):
            self._exit = INTERRUPTED
            return
        if not self._interrupt.ask(take_back=row is not None):
            self._note("the prompt still waits behind the running turn")
            self._exit = INTERRUPTED
