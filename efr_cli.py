"""efr - an AI agent in your terminal

Usage:
  efr send [--conversation=ID] [--mode=M] [--model=ID] [--effort=E]
           [--context-json=JSON] [--last-command=TEXT] [--json] [--] [<prompt>...]
  efr send --steer [--conversation=ID] [--context-json=JSON] [--] [<text>...]
  efr new [--mode=M] [--model=ID] [--effort=E] [--context-json=JSON]
          [--last-command=TEXT] [--json] [--] [<prompt>...]
  efr resume [--take] [--] [<number> | <id> | <words>...]
  efr search [--limit=N] [--json] [--] <words>...
  efr history [<id>] [--limit=N] [--cursor=C] [-v | --verbose] [--json]
  efr diff [--turn=ID] [--conversation=ID] [--stat] [--json]
  efr compact [--conversation=ID] [--] [<focus>...]
  efr context [<id>] [--model=ID] [--json]
  efr away [--conversation=ID | --all]
  efr conversation delete <id> [--yes] [--force]
  efr settings [--mode=M] [--model=ID] [--effort=E]
  efr models [--names | --json]
  efr config (show | schema | reload | edit)
  efr config check [<path>]
  efr config set [--] <key> <value>
  efr config unset <key>
  efr status [--json]
  efr attach [<id>]
  efr shell status [<id> | --conversation=ID] [--json]
  efr shell (stop | close) [<id> | --conversation=ID]
  efr service (install | uninstall | status)
  efr init zsh
  efr version
  efr paths [--json]
  efr project list
  efr project add [<path>] [--name=NAME]
  efr project remove <path>
  efr login openai
  efr login (openai-api | anthropic-api | compatible) [--from-env] [--no-check]
  efr logout (openai | openai-api | anthropic-api | compatible)
  efr help [<command>]
  efr (-h | --help)
  efr (-V | --version)

Commands:
  send           Sends a prompt and shows the reply; --steer adds to the running turn.
  new            Sends a prompt that starts a new conversation.
  resume         Continues another conversation in this terminal.
  search         Finds conversations by their words.
  history        Lists the conversations, or shows one.
  diff           Shows what a turn changed in files.
  compact        Makes room in the model's context.
  context        Shows what fills the model's context.
  away           You are not there: a question waits 5 minutes and no longer.
  conversation   Deletes a conversation and everything that is kept of it.
  settings       Shows the mode, model and effort of a prompt here, and the choices.
  models         Lists the models.
  config         Shows, checks and changes the settings.
  status         Tells how efrd is.
  attach         Shows the screen of the hidden shell and types into it.
  shell          Tells what runs in the hidden shell; stops it; closes the shell.
  service        Makes efrd a service of systemd for this user.
  init           Prints what .zshrc evaluates to load the plugin.
  version        Prints the build and the protocol.
  paths          Tells where efr keeps its files.
  project        Lists, adds and removes projects.
  login, logout  Logs in to a model API or the OpenAI subscription; forgets the login.
  help           Shows this, or the part of one command.

Options:
  --conversation=ID    The conversation, or the start of its id from 4 characters on.
  --all                Every conversation that had input since efrd started.
  --mode=M             manual, cautious, auto or full, for this prompt.
  --model=ID           The model for this prompt, or to count a context for.
  --effort=E           The reasoning effort for this prompt.
  --context-json=JSON  The shell's context; else EFR_CONTEXT, else this directory and terminal.
  --last-command=TEXT  The shell's last command; better in EFR_LAST_COMMAND.
  --steer              Add the text to the running turn.
  --turn=ID            The turn, or the start of its id; else the newest that ended.
  --stat               The files and their counts alone.
  --json               Plain JSON on stdout, for scripts.
  --limit=N            How many rows or events.
  --cursor=C           Where the page before this one ended.
  -v, --verbose        Also why efr asked, exits, ends of jobs, tokens, summaries.
  --take               Move it here without a question, also from another terminal.
  --yes                Delete without a question.
  --force              Also what another terminal holds, or what runs; asks nothing.
  --name=NAME          The project's name; else that of its directory.
  --names              The ids alone.
  --from-env           The key is in OPENAI_API_KEY or ANTHROPIC_API_KEY.
  --no-check           Store the key without asking the provider.
  -h, --help           Show this.
  -V, --version        Show the version.

A prompt may come in EFR_PROMPT or EFR_PROMPT_FILE in place of words. Exit codes: 0 done,
1 failed, 2 usage, 3 no daemon, 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys

from efr.base.ctrl_c import end_at_once
from efr.base.streams import drop_stdout, is_full, make_usable

TYPE_CHECKING = False  # as `typing` has it, which takes long to load: Ctrl+C raises until `main`
if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping
    from typing import Any

# New objects until a collection: loading makes fewer, and few commands make cycles worth looking
# for. With Python's 700 a tenth of a command's time goes into collections.
COLLECT_AFTER = 100_000
# The words of a command and the function that runs it, loaded when it is chosen.
COMMANDS = {
    "send": "efr.cli.commands.send:send",
    "new": "efr.cli.commands.send:new",
    "resume": "efr.cli.commands.resume:resume",
    "search": "efr.cli.commands.search:search",
    "history": "efr.cli.commands.history:history",
    "compact": "efr.cli.commands.compact:compact",
    "context": "efr.cli.commands.context:context",
    "away": "efr.cli.commands.away:away",
    "conversation": "efr.cli.commands.conversation:conversation",
    "diff": "efr.cli.commands.diff:diff",
    "settings": "efr.cli.commands.settings:settings",
    "models": "efr.cli.commands.models:models",
    "config": "efr.cli.commands.config:config",
    "attach": "efr.cli.commands.attach:attach",
    "shell": "efr.cli.commands.shell:shell",  # before status, as the next one
    "service": "efr.cli.commands.service:service",  # before status: `efr service status` has both
    "status": "efr.cli.commands.status:status",
    "init": "efr.cli.commands.init:init",
    "version": "efr.cli.commands.version:version",
    "paths": "efr.cli.commands.paths:paths",
    "project": "efr.cli.commands.project:project",
    "login": "efr.cli.commands.login:login",
    "logout": "efr.cli.commands.login:logout",
}
# What the plugin runs for every prompt: nothing to parse, so the parser is not loaded.
BARE: dict[tuple[str, ...], dict[str, Any]] = {("send",): {"send": True}, ("new",): {"new": True}}
# Arguments that name something; an empty variable of a script must not look like none was given.
NEVER_EMPTY = ("<id>", "<key>", "<path>", "--conversation", "--turn")
# What the picker's fzf runs, not a person: not in the usage, and never parsed.
HIDDEN = {
    "picker-rows": "efr.cli.commands.picker:rows",
    "picker-preview": "efr.cli.commands.picker:preview",
}


def main() -> None:
    """The console script."""
    end_at_once()
    gc.set_threshold(COLLECT_AFTER)
    make_usable()
    code = run(sys.argv[1:], os.environ)
    gc.freeze()  # the interpreter's last collection would look through every module
    sys.exit(code)


def run(argv: list[str], env: MutableMapping[str, str]) -> int:
    """Runs the command, and turns what stopped it into a message and an exit code."""
    from efr.cli.errors import DONE, FAILED, INTERRUPTED

    try:
        code = _run(argv, env)
        sys.stdout.flush()  # a closed pipe shows here and not in the interpreter's last words
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        drop_stdout()
        return DONE  # the reader has seen enough
    except Exception as error:
        if isinstance(error, OSError) and is_full(error):
            print(f"efr: the output cannot be written: {error.strerror}", file=sys.stderr)
            drop_stdout()
            return FAILED
        known = _report(error)
        if known is None:
            raise
        return known


def _run(argv: list[str], env: MutableMapping[str, str]) -> int:
    from efr.cli.errors import USAGE

    args = BARE.get(tuple(argv)) or hidden(argv)
    if args is None:
        from efr.cli.usage import help_topic

        topic = help_topic(argv)
        if topic is not None:
            return _help(topic)
        args = parse(argv)
    if args is None:
        return USAGE
    from efr.base.clock import SystemClock
    from efr.base.ids import SystemIds
    from efr.cli.render.width import by_character
    from efr.cli.run import Run

    clock = SystemClock()
    by_character(env)
    command = _load(next(target for word, target in (COMMANDS | HIDDEN).items() if args.get(word)))
    return command(Run(args, env, clock, SystemIds(clock)))


def _help(topic: str) -> int:
    """Prints the help of one command or of all."""
    from efr.cli.errors import DONE, USAGE
    from efr.cli.usage import help_text, wrong_usage

    told = help_text(__doc__, topic)
    if not told:
        print(wrong_usage(__doc__, [topic]), file=sys.stderr)
        return USAGE
    print(told)
    return DONE


def hidden(argv: list[str]) -> dict[str, Any] | None:
    """The arguments of a hidden subcommand, which may name one conversation."""
    if not argv or argv[0] not in HIDDEN:
        return None
    return {argv[0]: True, "<id>": argv[1] if len(argv) > 1 else ""}


def parse(argv: list[str]) -> dict[str, Any] | None:
    """The arguments that were given, or None after a usage message."""
    from docopt import DocoptExit, docopt

    from efr.base.version import VERSION

    try:
        parsed = docopt(__doc__, argv, version=f"efr {VERSION}")
    except DocoptExit as error:
        from efr.cli.usage import wrong_usage

        told = str(error.code).partition("Usage:")[0]
        print(wrong_usage(__doc__, argv, told), file=sys.stderr)
        return None
    for name in NEVER_EMPTY:
        if parsed.get(name) == "":
            print(f"efr: {name} is empty", file=sys.stderr)
            return None
    return {name: value for name, value in parsed.items() if value}


def _load(target: str) -> Callable[..., int]:
    from importlib import import_module

    module, _, name = target.partition(":")
    command: Callable[..., int] = getattr(import_module(module), name)
    return command


def _report(error: Exception) -> int | None:
    """Prints the message and the fix of an error; its code, or None when nothing knows it."""
    from efr.cli.exits import explain

    known = explain(error)
    if known is None:
        return None
    print(f"efr: {known.message}", file=sys.stderr)
    if known.fix:
        print(f"     {known.fix}", file=sys.stderr)
    return known.code


if __name__ == "__main__":
    main()
