"""What the model reads beside a command's output: one or two sentences each.

Pure. None promises a screen that the user cannot see; each says whether something ran.
"""

from __future__ import annotations

from typing import Final

from efr.shell.contract import InputState

ANOTHER_WAITS: Final = (
    "Two calls are already running or waiting in this shell. Nothing ran; wait for their results."
)
INTERRUPTED_BEFORE: Final = "Stopped before it was typed into the shell. Nothing ran."
UNSTOPPABLE: Final = (
    "The command could not be stopped: the shell itself runs it and ignores the signal. It was left"
    " running and blocks this shell."
)
OPEN_QUOTE: Final = (
    "The line did not run: zsh asked for more of it (an open quote, bracket or here-document)."
    " Nothing ran."
)
NOT_PARSED: Final = "The line did not run."
SHELL_ENDED: Final = (
    "The shell ended with this command. The next call starts a new one in the user's directory;"
    " variables and functions are gone."
)
SHELL_GONE: Final = (
    "The shell ended before the line was typed. Nothing ran; the next call starts a new one."
)
CLOSED: Final = "The shell was closed. The next call starts a new one."
NEEDS_INPUT: Final = (
    "The command was stopped: it asked for hidden input (such as a password), and nobody could type"
    " it. Use a way that asks for nothing, or tell the user to run it."
)
NO_SECRET_INSIDE: Final = (
    "The command was stopped: it asked for hidden input, and no secret is typed into a sandbox."
)
NESTED_GONE: Final = "The nested shell ended with this command."
NO_NESTED_SHELL: Final = (
    "No shell in front took the line. It was typed into the program that runs there, so it may have"
    " done something in it."
)
TRUSTED_CHANGED: Final = (
    "The permission rules changed, and this shell has to start anew, but a command still runs in"
    " it. Nothing ran; wait for that command, or ask the user to stop it."
)


def did_not_start(why: str) -> str:
    """The shell's program could not be run."""
    return f"The shell could not be started ({why}). Nothing ran."


def no_prompt(start_s: float) -> str:
    """Neither a prompt nor a sentinel came."""
    return (
        f"The shell came to no prompt within {start_s:g} s: its startup files did not end."
        " Nothing ran, and the shell was closed. The user should look at ~/.zshrc."
    )


def ended_at_start(exit_code: int | None) -> str:
    """It ended by itself before its first prompt."""
    status = "" if exit_code is None else f" with status {exit_code}"
    return (
        f"The shell ended{status} before its first prompt: a startup file ends it, with `exit` or"
        " `exec` or an error. Nothing ran, and the next call will meet the same. The user should"
        " look at ~/.zshrc and the files beside it; EFR_HIDDEN_SHELL is set in this shell."
    )


def busy(line: str, limit_s: float) -> str:
    """An earlier command holds the shell."""
    return (
        f"An earlier command still runs in this shell: {line!r}. Nothing ran; waited {limit_s:g} s"
        " for it. Wait and try again, or ask the user to end it with `efr shell stop`, or to go on"
        " with `,new`."
    )


def left_running(limit_s: float, state: InputState, full_screen: bool) -> str:
    """The command's limit came."""
    if full_screen:
        why = "It is a full-screen program; the user can reach it with `efr attach`, you cannot"
    elif state.wait != "none":
        why = "It waits for input, which the user can type in `efr attach`"
    else:
        why = "It is still running"
    return (
        f"The command did not end within {limit_s:g} s. {why}. It was left running, and the shell"
        " takes no other command until it ends; the user can end it with `efr shell stop`, or go on"
        " with `,new`."
    )
