"""Every number of the hidden shell, with its reason. Tests make smaller ones."""

from __future__ import annotations

from msgspec import Struct


class Limits(Struct, frozen=True):
    """Times in seconds, sizes in bytes. docs/hidden-shell.md names the ones that show."""

    columns: int = 160  # wide enough that few programs wrap, and a model reads whole rows
    rows: int = 48
    start_s: float = 10.0  # to the first marked prompt; slow start-up files take 1 to 3 s
    begin_s: float = 2.0  # a sentinel run prints its begin marker at once when a shell reads
    shortest_s: float = 0.1  # a call's limit, so that a 0 still runs something
    longest_s: float = 600.0  # the longest limit a call may ask for
    redrawn_s: float = 0.5  # a line that zsh reads is taken sooner after its prompt came again
    look_s: float = 1.0  # between two looks at a running command
    hidden_quiet_s: float = 1.0  # a password prompt has been printed long before
    visible_quiet_s: float = 3.0  # a guess, so it waits for a real pause
    term_after_s: float = 1.0  # a program that caught SIGINT had time to clean up
    kill_after_s: float = 3.0
    give_up_after_s: float = 3.5  # what still runs then cannot be stopped without the shell
    close_kill_s: float = 5.0  # a shell writes its files at SIGHUP; then it is killed
    after_kill_s: float = 1.0  # the kernel ends a killed process at once, unless a disk hangs
    stray_grace_s: float = 1.0  # at efrd's end, for a server to put itself away
    move_s: float = 5.0  # a cd into a directory on a dead mount hangs
    answer_s: float = 5.0  # for the reading thread to take an answer
    live_s: float = 0.2  # between two live tails, and so between two replays of a screen

    line_bytes: int = 1 << 20  # a longer line is a file, not a command
    kept_bytes: int = 1 << 20  # of one command's output: half from each end
    unstarted_bytes: int = 8 << 10  # of what was printed before a line ran: a complaint is short
    model_bytes: int = 32 << 10  # of output in one tool result
    live_bytes: int = 4 << 10  # of output in one live tail
    answer_bytes: int = 1024  # one line for a prompt
    prompt_chars: int = 200  # of the row a program asks in
    scrollback_rows: int = 5000  # of text above a screen: what a snapshot may ask for
    left_rows: int = 20  # of the screen, for a command left running
    named_chars: int = 200  # of a command's line, where it is named


LIMITS = Limits()
