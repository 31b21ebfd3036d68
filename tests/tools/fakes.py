"""What a tool needs around it: a scripted hidden shell, a watcher, and a context."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from efr.base.cancel import Cancel
from efr.shell.contract import CallEnd, CallWatcher, InputWait, ShellCall
from efr.shell.errors import ShellError
from efr.tools.contract import ToolContext, Where
from efr.tools.file_views import FileViews
from tests.harness.clock import FakeClock


@dataclass
class FakeHiddenShell:
    """Stands in a directory; answers the next call as told. `goes_to`: the command runs a cd."""

    cwd: str
    end: CallEnd = CallEnd("exited", 0)  # noqa: RUF009 - frozen
    goes_to: str | None = None
    refuses: frozenset[str] = frozenset()
    calls: list[ShellCall] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)
    ran_in: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)  # where it really stands, at each next call

    def move_to(self, directory: str) -> None:
        if directory in self.refuses:
            raise ShellError("a command still runs")
        self.moves.append(directory)
        self.cwd = directory

    def run(self, call: ShellCall, cancel: Cancel, watcher: CallWatcher) -> CallEnd:
        self.calls.append(call)
        if self.strays:
            self.cwd = self.strays.pop(0)
        if call.directory not in (None, self.cwd):
            return CallEnd("elsewhere", cwd=self.cwd)
        self.ran_in.append(self.cwd)
        self.cwd = self.goes_to or self.cwd
        return replace(self.end, cwd=self.end.cwd or self.cwd)


class SilentWatcher:
    """Nobody looks."""

    def output(self, tail: str, total_bytes: int) -> None:
        return

    def input_changed(self, wait: InputWait, looks_secret: bool, prompt: str | None) -> None:
        return

    def someone_can_answer(self) -> bool:
        return False


def context(
    root: Path,
    shell: FakeHiddenShell | None = None,
    views: FileViews | None = None,
    home: Path | None = None,
) -> ToolContext:
    """A call in `root`, which is the home and the user's directory unless told."""
    where = Where(str(root), shell.cwd if shell else str(root), str(home or root))
    used = shell or FakeHiddenShell(str(root))
    return ToolContext(
        call_id="019a0000-0000-7000-8000-000000000001",
        where=where,
        cancel=Cancel(),
        shell=lambda: used,
        watcher=SilentWatcher(),
        clock=FakeClock(),
        views=views if views is not None else FileViews(),
    )
