"""The hidden shells of a daemon with all that they need: their part of the composition.

Runs on `main`, called by `app`. What is added to `Started` first is stopped last.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial

from efr.agent.agent import Agent
from efr.agent.shell_events import ShellEvents
from efr.base.roots import Roots
from efr.config.rules import rules_of
from efr.config.schema import Settings
from efr.daemon.attachments import Attachments
from efr.daemon.outside import Fatal, Outside
from efr.daemon.rooms import HiddenShells
from efr.daemon.shell_looks import ShellLooks
from efr.daemon.stopping import Started
from efr.policy.rows import trusted_programs
from efr.shell.contract import ShellSettings
from efr.shell.shells import Shells
from efr.shell.start import ShellDeps
from efr.store.recording_index import StoredSegments
from efr.store.recordings import RecordingWriter
from efr.threads.pty import PtyReader
from efr.threads.readers import ReaderPool
from efr.threads.recording_flusher import RecordingFlusher
from efr.threads.timer import Timer
from efr.threads.writer import StoreWriter

AFTER_SHELLS_S = 1.5  # of the stop's deadline, for what comes after the last shell


class WhoLooks:
    """Whether anybody looks at a hidden shell. The agent comes after the shells that ask."""

    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.shells: Shells | None = None

    def may_close(self, conversation_id: str) -> bool:
        """Whether an idle hidden shell may go: no turn, and no terminal's lease shows its PTY."""
        if self.agent is None or self.shells is None or self.agent.runs(conversation_id):
            return False
        shell = self.shells.peek(conversation_id)
        return shell is None or shell.pty_id not in self.agent.followers.leased_ptys()


class ShellRoom:
    """Makes the shells of one daemon."""

    def __init__(
        self,
        outside: Outside,
        roots: Roots,
        settings: Callable[[], Settings],
        fatal: Fatal,
        recorded: Callable[[int], None],
    ) -> None:
        self._outside = outside
        self._roots = roots
        self._settings = settings
        self._fatal = fatal
        self._recorded = recorded  # hears of each so many bytes more

    def start(
        self,
        started: Started,
        writer: StoreWriter,
        readers: ReaderPool,
        timer: Timer,
        looks: WhoLooks,
    ) -> HiddenShells:
        """Starts what the shells need; no shell starts before a call wants one."""
        outside, clock = self._outside, self._outside.clock
        flusher = RecordingFlusher(partial(self._fatal, "recording-flusher"))
        started.add("the recordings", lambda deadline: flusher.stop())
        flusher.start()
        reader = PtyReader()
        started.add("the PTYs", lambda deadline: reader.stop())
        reader.start()
        segments = StoredSegments(writer, self._recorded)
        events = ShellLooks(ShellEvents(writer), timer, clock)
        shells = Shells(
            ShellDeps(
                reader=reader,
                clock=clock,
                ids=outside.ids,
                nonce=partial(secrets.token_hex, 16),
                recorder=lambda pty_id: RecordingWriter(
                    self._roots.recordings, pty_id, clock, segments, flusher.flush
                ),
                listener=events,
                left=events,
                environment=lambda: outside.env,
                settings=lambda: _shell_settings(self._settings()),
                zsh_dir=self._roots.zsh,
                trusted=lambda: trusted_programs(rules_of(self._settings())),
            ),
            looks.may_close,
        )
        events.begin(shells)
        started.add("the looks at the shells", events.stop)
        # A shell that ignores its hang-up is killed while the store can still record it.
        started.add("the shells", lambda deadline: shells.stop_all(deadline - AFTER_SHELLS_S))
        attachments = Attachments(shells.find, readers.read, self._roots.recordings)
        return HiddenShells(shells, attachments, events.look_soon)


def _shell_settings(settings: Settings) -> ShellSettings:
    shell = settings.shell
    return ShellSettings(
        program=shell.program,
        login=shell.login,
        idle_minutes=shell.idle_minutes,
        forget_sudo=shell.sudo_cache == "per_call",
        interactive_timeout_minutes=shell.interactive_timeout_minutes,
    )
