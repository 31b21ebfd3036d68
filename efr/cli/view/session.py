"""Following a prompt to its end: one loop that waits on the socket, the keyboard and signals.

Owns the selector and the order of things; runs on the main thread. What an item means is `turn`,
where a key goes is `keyroute`, what is drawn is `surface`.
"""

from __future__ import annotations

import selectors
import signal

from msgspec import Struct

from efr.base.clock import Clock
from efr.cli.errors import DONE, FAILED, INTERRUPTED
from efr.cli.render import card
from efr.cli.render.ending import Note
from efr.cli.render.opening import Here, first_lines, scope_name, turn_scope
from efr.cli.render.spans import MUTED, WARNING, text_of
from efr.cli.view.handback import hand_back
from efr.cli.view.interrupt import Interrupt
from efr.cli.view.keyboard import Keyboard
from efr.cli.view.keyroute import KeyRoute
from efr.cli.view.live import HIDDEN_NOTE, VISIBLE_NOTE, Shown
from efr.cli.view.resume import Resume
from efr.cli.view.scroll import Kind
from efr.cli.view.signals import Signals, die_of, stop_here
from efr.cli.view.surface import Surface
from efr.cli.view.talk import Talk
from efr.cli.view.turn import TurnOptions, TurnView, open_question, user_rows
from efr.client.errors import ConnectionLost, Refused
from efr.client.follow import missing_events
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t

FRAME_S = 0.016  # one frame of a 60 Hz terminal
TICK_S = 0.1  # the spinner's step

Envelope = ev.EventEnvelope | m.SubscribeEvent


class Options(Struct, frozen=True):
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
        self.shown = Shown(motion=options.motion, can_answer=keyboard is not None)
        self._sent: m.PromptSendResult | None = None
        self._route = KeyRoute(talk, self.shown, keyboard, clock, self)
        self._resume = Resume(clock)
        self._interrupt = Interrupt(talk, self.shown, clock)
        self._after_seq = 0
        self._held: list[Envelope] = []  # came while it was open which turn is the next
        self._exit: int | None = None
        self._ready = False  # for the answer
        self._unsure = False  # whether the daemon has what was sent
        self._dirty = self._urgent = True
        self._drawn_at = self._ticked_at = 0.0

    # --- the loop -----------------------------------------------------------------------------

    def start(self, hello: int, prompt: int) -> None:
        """Takes over the two requests that are under way."""
        self._talk.adopt(hello, "hello", None, lambda _: None, self._refused)
        self._talk.adopt(
            prompt, "prompt.send", self._options.prompt, self._prompt_sent, self._refused
        )

    def run(self) -> int:
        """Blocks until the last followed turn ended; the exit code."""
        if self.shown.row is not None:
            self._route.drain()
        try:
            while self._exit is None:
                self._wait()
                self._settle()
                if self._exit is None:
                    self._draw()
                    self._get_ready()
            return self._exit
        finally:
            self._leave()

    def _wait(self) -> None:
        """One wait on everything, then what arrived."""
        with selectors.PollSelector() as selector:
            if (keyboard := self._route.keyboard) is not None:
                selector.register(keyboard, selectors.EVENT_READ, self._read_keys)
            selector.register(self._signals, selectors.EVENT_READ, self._read_signals)
            if not self._resume.broken:
                selector.register(self._talk.connection, selectors.EVENT_READ, self._read_socket)
            came = {ready.data for ready, _ in selector.select(self._timeout())}
        # Keys first: they were typed before the user saw what the socket brings.
        for read in (self._read_keys, self._read_signals, self._read_socket):
            if read in came and self._exit is None:
                read()

    def _timeout(self) -> float | None:
        now = self._clock.monotonic()
        due = [self._interrupt.deadline, self._resume.next_try, self._route.escape_at]
        if self._dirty:
            due.append(now if self._urgent else self._drawn_at + FRAME_S)
        if self._surface.ticks:
            due.append(self._ticked_at + TICK_S)
        times = [at for at in due if at is not None]
        return max(min(times) - now, 0.0) if times else None

    def _settle(self) -> None:
        """What only time brings, and what follows from what arrived."""
        now = self._clock.monotonic()
        if self._interrupt.overdue(now):
            self.note("efrd did not answer; it may still run what was sent", warning=True)
            self._unsure = True
            self._exit = INTERRUPTED
            return
        if self._resume.due(now):
            self._reconnect()
        self._route.settle(now)
        if self.shown.view is not None and self.shown.view.over:
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

    def _get_ready(self) -> None:
        """Once, behind the first frame of a prompt that was accepted: the model thinks now."""
        if self._sent is not None and not self._ready:
            self._ready = True
            self._surface.get_ready()

    def _at_once(self) -> None:
        """The next frame goes out without waiting for its time."""
        self._dirty = self._urgent = True

    def _leave(self) -> None:
        """On every way out: the last frame, the terminal as it was, texts back to the shell."""
        self._route.close()
        self._hand_back()
        self.shown.row = None
        self._surface.close()
        if self._keyboard is not None:
            self._keyboard.off()

    def _hand_back(self) -> None:
        texts = list(self._interrupt.returned)
        if self._unsure:  # rather twice than lost
            texts += [*self.shown.late, *(queued.text for queued in self.shown.queue)]
        if self.shown.row is not None and self.shown.row.text.strip():
            texts.append(self.shown.row.text)
        if texts and not hand_back("\n".join(texts), self._options.draft_file):
            self.note("not sent: " + " ".join("\n".join(texts).split()))

    # --- the socket ---------------------------------------------------------------------------

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
        self._sent = sent
        self._after_seq = sent.seq
        if sent.route is not None:
            self.shown.scope = scope_name(sent.route.scope)
        self._route.begin(sent, self._options.prompt, self._interrupt)
        self._follow(sent.turn_id)
        for line in first_lines(sent, self._options.here):
            self.note(line)
        self._interrupt.begin(sent.conversation_id)
        self._subscribe(sent)
        if sent.queued:  # what the turn in front asks was asked before this prompt
            self._talk.ask(
                "conversation.history", self._front, conversation_id=sent.conversation_id
            )

    def _front(self, page: m.ConversationHistoryResult) -> None:
        view = self.shown.view
        if view is None or view.started or view.question is not None:
            return
        for envelope in open_question(page.events):
            age_s = (self._clock.now_us() - t.time_to_us(envelope.at)) / 1_000_000
            view.take_event(envelope, self._clock.monotonic() - max(age_s, 0.0))
        self._at_once()

    def _subscribe(self, sent: m.PromptSendResult) -> None:
        self._talk.ask(
            "conversation.subscribe",
            self._item,
            self._stream_failed,
            self._stream_over,
            conversation_id=sent.conversation_id,
            after_seq=self._after_seq,
            answers_input=self._keyboard is not None,
            drafts=self._surface.drafts,
        )

    def _item(self, item: m.ConversationSubscribeItem) -> None:
        view = self.shown.view
        if isinstance(item, m.SubscribeSnapshot):
            self._snapshot(item)
        elif isinstance(item, m.SubscribeEvent):
            self._event(item)
        elif view is not None:
            view.take_draft(item, self._clock.monotonic())

    def _snapshot(self, snapshot: m.SubscribeSnapshot) -> None:
        """The gap was too large for single events: the history has what the snapshot lacks."""
        if self._sent is None:
            return
        conversation, after = self._sent.conversation_id, self._after_seq
        missing = missing_events(self._talk.connection, conversation, after, snapshot)
        for envelope in (*missing, *snapshot.events):
            self._event(envelope)
        if snapshot.live is not None and self.shown.view is not None:
            self.shown.view.take_live(snapshot.live, self._clock.monotonic())
        for reply in self._talk.connection.held():
            self._talk.handle(reply, self._surface.event)

    def _event(self, envelope: Envelope) -> None:
        if envelope.seq <= self._after_seq:
            return
        self._after_seq = envelope.seq
        self._resume.progressed()
        self._route.heard(envelope.event)
        self._show(envelope)

    def _show(self, envelope: Envelope) -> None:
        """Gives an event to the turn it belongs to, which may be the next one."""
        if self.shown.view is not None and self.shown.view.over:
            if self._is_open_what_follows():
                self._held.append(envelope)
                return
            self._next_turn()
        view = self.shown.view
        if view is None or self._exit is not None:
            return
        event = envelope.event
        if isinstance(event, ev.TurnStarted) and event.turn_id == view.turn_id:
            self._name_scope(event)
        view.take_event(envelope, self._clock.monotonic())
        if self._keyboard is None:
            view.commit_question()  # nobody answers it here, so it is text like any other
        if view.over or ev.kind_of(event) in {"approval_requested", "tool_call_input_changed"}:
            self._at_once()

    def _name_scope(self, event: ev.TurnStarted) -> None:
        """The scope line of a prompt that no terminal's route came with."""
        if self._sent is not None and self._sent.route is None and not self.shown.scope:
            self.shown.scope, line = turn_scope(event, self._options.here)
            self.note(line)

    def _stream_failed(self, refused: Refused) -> None:
        """The subscription ended with an error: a slow reader subscribes again."""
        if refused.code == "overflow" and self._sent and self._resume.may_subscribe_again():
            self._subscribe(self._sent)
        elif refused.code == "cancelled":
            self._lost()
        else:
            raise refused

    def _stream_over(self) -> None:
        """The daemon ends a subscription by itself only when the conversation was deleted."""
        self.note("the conversation was deleted", warning=True)
        self._exit = FAILED

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
        self._at_once()

    def _is_open_what_follows(self) -> bool:
        """Whether an answer under way says which turn is the next."""
        return self._interrupt.pending or bool(self.shown.late)

    def _next_turn(self) -> None:
        """The followed turn is over: the next one of ours, or the end."""
        view = self.shown.view
        if view is None or self._exit is not None or self._is_open_what_follows():
            return
        following = self._route.row.take_next() if self._route.row is not None else None
        if following is None or self._interrupt.wanted:
            self._exit = self._exit_code(view)
            return
        if isinstance(view.end, ev.TurnFailed):
            self.note("the turn failed; the next prompt runs", warning=True)
        self._follow(following.turn_id)
        self._surface.blocks.add(Kind.STEER, user_rows(following.text, self._surface.columns()))
        held, self._held = self._held, []
        for envelope in held:
            self._show(envelope)

    def _exit_code(self, view: TurnView) -> int:
        stopped = self._interrupt.by_us and isinstance(view.end, ev.TurnInterrupted)
        if self._interrupt.wanted or stopped:
            return INTERRUPTED
        return DONE if isinstance(view.end, ev.TurnCompleted) else FAILED

    # --- for the keys -------------------------------------------------------------------------

    def note(self, text: str, *, warning: bool = False) -> None:
        """A line for the user, in the run of notes."""
        note = Note(text, WARNING if warning else MUTED)
        self._surface.blocks.add(Kind.NOTE, note.rows(self._surface.columns()))
        self._dirty = True

    def show_question(self, view: TurnView) -> None:
        """Brings the open question to the screen now, whole where nothing can be redrawn."""
        if not self._surface.ticks:
            view.commit_question()
        self._at_once()
        self._draw()

    def show_keys(self, view: TurnView) -> None:
        """The row of keys; in a pipe it is a line."""
        if self._keyboard is not None and not self._surface.ticks and view.question is not None:
            self.note(text_of(card.key_row(view.question, None)).removeprefix("│ "))
        self._at_once()

    def show_wait(self) -> None:
        """A line for a waiting command was opened."""
        line = self.shown.answer
        if line is not None and not self._surface.ticks:
            self.note(VISIBLE_NOTE if line.shown else HIDDEN_NOTE)
        self._at_once()

    def _read_keys(self) -> None:
        self._route.read()
        self._at_once()

    # --- a lost connection --------------------------------------------------------------------

    def _lost(self) -> None:
        """Tries again where a row holds texts that would be lost; else that is the end."""
        if self.shown.row is None or self._sent is None or not self._resume.lost():
            self._unsure = True
            raise ConnectionLost
        self.note("the connection to efrd was lost; trying again", warning=True)

    def _reconnect(self) -> None:
        fresh = self._resume.try_again(self._talk.connection)
        if fresh is not None and self._sent is not None:
            self._talk.move_to(fresh)
            self.note("connected again")
            self._subscribe(self._sent)
        elif self._resume.given_up:
            self._unsure = True
            raise ConnectionLost

    # --- signals ------------------------------------------------------------------------------

    def _read_signals(self) -> None:
        for number in self._signals.read():
            if number == signal.SIGINT:
                self._ctrl_c()
            elif number == signal.SIGWINCH:
                self._resized()
            elif number == signal.SIGTSTP:
                self._stop()
            elif number == signal.SIGQUIT and self._route.offer():
                self._at_once()
            elif number in {signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}:
                self._leave()
                die_of(number)

    def _resized(self) -> None:
        if self.shown.view is not None:
            self.shown.view.reply.resize(self._surface.columns())
        self._at_once()

    def _stop(self) -> None:
        """Ctrl+Z: the terminal as it was, stop, and a new live zone below the shell's lines."""
        self._surface.close()
        if self._keyboard is not None:
            self._keyboard.off()
        stop_here()
        if self._keyboard is not None:
            self._keyboard.on()
        self._at_once()

    def _ctrl_c(self) -> None:
        self._at_once()
        row, view = self.shown.row, self.shown.view
        asks = self.shown.answer is not None or (view is not None and view.question is not None)
        if row is not None and row.text and not asks:
            row.set("")
            return
        self._route.close()
        if self._interrupt.wanted or (view is not None and view.over):
            self._exit = INTERRUPTED
        elif not self._interrupt.ask(take_back=row is not None):
            self.note("the prompt still waits behind the running turn")
            self._exit = INTERRUPTED
