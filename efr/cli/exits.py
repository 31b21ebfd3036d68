"""One map from errors to exit codes and messages (docs/efr.md, "Exit codes").

The message of a refusal is the daemon's own sentence; the second line names the command that
fixes it, where there is one.
"""

from __future__ import annotations

from efr.base.roots import RootError
from efr.cli.errors import FAILED, NO_DAEMON, USAGE, CommandError
from efr.client.errors import (
    BadReply,
    ClientError,
    ConnectionLost,
    NoAddress,
    NoAnswer,
    NoDaemon,
    Refused,
)
from efr.text.visible import visible_line
from efr.wire.errors import BadValue, no_method

START = "systemctl --user start efrd"
RESTART = "systemctl --user restart efrd"
COMPARE = "efr version; efr status"  # the one that is older needs an update
LOGS = "journalctl --user -u efrd"
_LOGINS = frozenset({"openai", "openai-api", "anthropic-api", "compatible"})


def explain(error: Exception) -> CommandError | None:
    """The end of a command that `error` stopped, or None for one that is a fault of ours."""
    if isinstance(error, CommandError):
        return error
    if isinstance(error, RootError):
        return CommandError(str(error), code=NO_DAEMON)
    if isinstance(error, NoAddress):
        return CommandError(visible_line(error.why), fix=error.fix, code=NO_DAEMON)
    if isinstance(error, NoDaemon):
        where = visible_line(error.path)
        if isinstance(error.__cause__, PermissionError):
            what = f"the socket {where} is not open to you: each user has a daemon of their own"
            return CommandError(what, fix="efr paths", code=NO_DAEMON)
        return CommandError(f"no daemon listens on {where}", fix=START, code=NO_DAEMON)
    if isinstance(error, Refused):
        return _refused(error)
    if isinstance(error, ConnectionLost):
        return CommandError("the connection to efrd was lost", fix=LOGS)
    if isinstance(error, NoAnswer):
        return CommandError("efrd does not answer", fix=LOGS)
    if isinstance(error, BadValue) and isinstance(error.__cause__, UnicodeError):
        return CommandError("an argument is not valid UTF-8", code=USAGE)
    if isinstance(error, BadReply):
        return CommandError(f"efrd sent what this efr cannot read: {error.why}", fix=COMPARE)
    return CommandError(str(error)) if isinstance(error, ClientError) else None


def _refused(error: Refused) -> CommandError:
    """A refusal: its sentence, its fix, and exit 2 for a setting outside its choices."""
    message = visible_line(error.message)
    if error.code == "protocol_mismatch":
        ours, theirs = error.detail("client"), error.detail("daemon")
        message = f"efr speaks protocol {ours}, efrd speaks protocol {theirs}"
        newer = isinstance(ours, int) and isinstance(theirs, int) and ours < theirs
        return CommandError(message, fix="update efr" if newer else RESTART)
    if is_older(error):
        what = f"efrd is older than this efr and needs an update: it has no {error.method}"
        return CommandError(what, fix=RESTART)
    if error.code == "invalid" and error.detail("setting") is not None:
        told = "; choose " in message  # the sentence names them itself
        return CommandError(message, fix="" if told else _choices(error), code=USAGE)
    if error.code == "unauthorized":
        told = "efr login " in message  # the sentence names the way out itself
        return CommandError(message, fix="" if told else login_line(error.detail("provider")))
    return CommandError(message, code=FAILED)


def is_older(error: Refused) -> bool:
    """Whether the daemon does not know the method: a newer client asked for it."""
    return error.code == "invalid" and error.message == no_method(error.method)


def _choices(error: Refused) -> str:
    """The values that would be taken."""
    choices = error.detail("choices")
    words = [visible_line(str(choice)) for choice in choices] if isinstance(choices, list) else []
    if words:
        return f"choose {', '.join(words)}"
    if error.detail("setting") == "model":
        return "choose another: ,model, or model.name in config.toml"
    return ""


def login_line(provider: object) -> str:
    """The command that logs in to a provider, or to the usual one."""
    return f"efr login {provider if provider in _LOGINS else 'openai'}"
