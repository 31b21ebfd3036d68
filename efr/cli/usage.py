"""What `efr --help` and a wrong command line print, cut from the one text of `efr_cli`."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from efr.text.visible import visible_line

_HELP = {"-h", "--help"}
# The first thing that docopt could place nowhere, in its own words.
_LEFT = re.compile(
    r"\[(?:Option\((?:None|'(?P<short>[^']*)'), (?:None|'(?P<long>[^']*)')"
    r"|Argument\(None, (?P<word>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\))"
)


def help_topic(argv: Sequence[str]) -> str | None:
    """The command that help is asked for, "" for all of them, or None."""
    if argv[:1] == ["help"] and _HELP.isdisjoint(argv):
        return argv[1] if len(argv) > 1 else ""
    before = argv[: argv.index("--")] if "--" in argv else argv
    if _HELP.isdisjoint(before):
        return None
    return "" if argv[0] in _HELP else argv[0]


def help_text(doc: str, topic: str) -> str:
    """The whole text, or the part of one command; "" for a command that there is not."""
    if not topic:
        return doc.strip("\n")
    forms = forms_of(doc, topic)
    if not forms:
        return ""
    told = [f"efr {topic} - {_does(doc, topic)}", "", "Usage:", *forms]
    options = [line for line in _section(doc, "Options:") if _stands_in(line, "\n".join(forms))]
    return "\n".join([*told, "", "Options:", *options] if options else told)


def forms_of(doc: str, command: str) -> list[str]:
    """The forms of a command in the usage."""
    usage = "\n".join(_section(doc, "Usage:"))
    named = rf"  efr \(?{re.escape(command)}(?![\w-])"
    return [form for form in re.split(r"\n(?=  efr )", usage) if re.match(named, form)]


def wrong_usage(doc: str, argv: Sequence[str], told: str = "") -> str:
    """What does not fit, as docopt told it, and the forms of the command that was meant."""
    if not argv:
        return "efr: a command is missing\n     efr --help"
    forms = forms_of(doc, argv[0])
    if not forms:
        return f"efr: there is no command '{visible_line(argv[0])}'\n     efr --help"
    lines = []
    name = _unplaced(told, argv)
    if name and name != argv[0]:  # the command's own word: something that it needs is missing
        lines.append(f"efr: '{visible_line(name)}' does not fit here")
        if name.startswith("-") and "[--]" in forms[0]:
            lines.append("     behind -- it is text")
    elif "argument" in told and told.startswith("-"):
        lines.append(f"efr: {visible_line(told.strip())}")
    return "\n".join([*lines, "Usage:", *forms])


def _unplaced(told: str, argv: Sequence[str]) -> str:
    found = _LEFT.search(told)
    if found is None:
        return ""
    if found["word"]:
        return str(ast.literal_eval(found["word"]))
    short, long = found["short"] or "", found["long"] or ""
    return short if short in argv or not long else long


def _section(doc: str, head: str) -> list[str]:
    return doc.partition(f"\n{head}\n")[2].partition("\n\n")[0].splitlines()


def _does(doc: str, command: str) -> str:
    """What the command does, in the words of the list of commands."""
    for line in _section(doc, "Commands:"):
        names, _, does = line.strip().partition("  ")
        if command in names.split(", "):
            return does.strip()
    return ""


def _stands_in(option: str, forms: str) -> bool:
    """Whether the usage names the option of this line."""
    flags = re.findall(r"--?[A-Za-z][\w-]*", option.strip().split("  ")[0])
    return any(re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", forms) for flag in flags)
