"""What each program does with the words behind it: which of them it reads and which it writes.

Pure. One function per kind of program, and a table from names to functions; a program that is not
in it reads every operand. Facts: the manual pages of coreutils, grep, ripgrep, findutils and git.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from efr.policy.lines import options as line_options
from efr.policy.lines.inner import (
    FD_EXEC,
    RUNNERS,
    base_name,
    executed,
    surely_behind,
    texts_run,
)
from efr.policy.lines.options import Given, Options, read_options
from efr.policy.lines.paths import PathList
from efr.policy.lines.pieces import ASSIGNMENT
from efr.policy.lines.split import LineWord, split_line
from efr.policy.needs import Access, PathUse

_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?[smhd]?")
_MOST_INNER: Final = 8  # programs looked at behind one wrapper
_DEEPEST: Final = 4  # texts in texts

NO_FILES: Final = frozenset((
    "echo", "printf", "print", "basename", "dirname", "which", "type", "whence", "true", "false",
    "sleep", "seq", "whoami", "groups", "id", "uname", "nproc", "uptime",
))  # fmt: skip
# Programs and words of the shell that a command follows.
WRAPPERS: Final = frozenset((
    "sudo", "sudoedit", "doas", "pkexec", "run0", "env", "nice", "nohup", "time", "timeout",
    "command", "builtin", "exec", "stdbuf", "ionice", "chrt", "taskset", "setsid", "flock",
    "xargs", "watch", "unbuffer", "noglob", "nocorrect", "if", "then", "else", "elif", "while",
    "until", "do", "!", *RUNNERS,
))  # fmt: skip
_WRITERS: Final = ("rm", "rmdir", "mkdir", "touch", "mv", "chmod", "truncate", "tee")
_GIT_WRITERS: Final = (("rm",), ("mv",), ("worktree", "add"))
_GIT_VALUED: Final = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace"))
_SED_SCRIPTS: Final = frozenset(("-e", "-f", "--expression", "--file"))
_TARGET: Final = frozenset(("t", "target-directory"))

Words = Sequence[LineWord]


def paths_of_line(line: str, directory: str | None, home: str) -> tuple[PathUse, ...]:
    """Every path that a line names when it starts in `directory` (None: nobody knows where)."""
    paths = PathList(home, directory)
    split = split_line(line, home)
    for command in split.commands:
        paths.command(command, run_program)
    if split.cut:
        paths.everything()
    return tuple(paths.uses)


def run_program(paths: PathList, words: Words) -> None:
    """Declares what a program does with its words."""
    name = base_name(words[0].text)
    if name in WRAPPERS:
        _wrapper(paths, words)
    elif name not in NO_FILES:
        _PROGRAMS.get(name, PathList.anything)(paths, words[1:])
    for text in texts_run(words):
        _text(paths, text)


def _text(paths: PathList, text: str) -> None:
    """A line that a program of the line runs."""
    if paths.depth >= _DEEPEST:
        paths.everything()
        return
    split = split_line(text, paths.home)
    paths.depth += 1
    for command in split.commands:
        paths.command(command, run_program)
    paths.depth -= 1
    if split.cut:
        paths.everything()


def _wrapper(paths: PathList, words: Words) -> None:
    """Every word, and the program behind it; where an option may hide that one, each known one."""
    program = _sure_program(words)
    words = words[1:]
    paths.anything(words)
    if program is not None:
        run_program(paths, program)
        return
    seen = 0
    for at, word in enumerate(words):
        name = base_name(word.text)
        if name in WRAPPERS or word.expansion or not may_be_program(word.text):
            continue
        if seen == 0 or name in _PROGRAMS:
            run_program(paths, words[at:])
            seen += 1
        if seen == _MOST_INNER:
            return


def _sure_program(words: Words) -> Words | None:
    """The words from the program on, behind wrappers of wrappers, when the line shows it."""
    found: Words | None = words
    for _ in range(_MOST_INNER):
        if found is None or base_name(found[0].text) not in WRAPPERS:
            return found
        found = surely_behind(found)
    return None


def may_be_program(text: str) -> bool:
    """Whether a word behind a wrapper can be its program: no option, assignment or number."""
    is_value = ASSIGNMENT.match(text) or _NUMBER.fullmatch(text)
    return not (text.startswith("-") or is_value)


# -- readers


def _listing(paths: PathList, words: Words, table: Options, *, trees: bool) -> None:
    """ls, du, tree: operands, or the working directory."""
    given = read_options(words, table)
    whole = trees or not given.known or given.has(*table.recursive)
    _operands(paths, given, given.operands, "read_tree" if whole else "read", table)


def _follows(given: Given, table: Options) -> int | None:
    """How many levels down links are followed: none, or all of them."""
    return None if not given.known or given.has(*table.following) else 0


def _searcher(paths: PathList, words: Words, table: Options, *, trees: bool) -> None:
    """rg and grep: the first operand is the pattern unless an option gives it."""
    given = read_options(words, table)
    has_pattern = given.has("e", "f", "regexp", "file", "files", "type-list")
    operands = given.operands if has_pattern or not given.known else given.operands[1:]
    modes = given.values(frozenset(("d", "directories")))
    recurses = given.has(*table.recursive) or any(
        mode.text and "recurse".startswith(mode.text)  # GNU takes the start of a value
        for mode in modes
    )
    if trees or recurses or not given.known:
        _operands(paths, given, operands, "read_tree", table)
    else:
        paths.operands(operands, "read")
        _files(paths, given, table)


def _operands(
    paths: PathList, given: Given, operands: Words, access: Access, table: Options
) -> None:
    """Operands as paths; without one, or when an option is unknown, the directory too."""
    if not operands or not given.known:
        paths.here(access, follows=_follows(given, table))
    paths.operands(operands, access, follows=_follows(given, table))
    _files(paths, given, table)


def _files(paths: PathList, given: Given, table: Options) -> None:
    """Files that options name; every value when an option is unknown."""
    names = table.files if given.known else given.names
    paths.operands(given.values(names), "read")


def _find(paths: PathList, words: Words) -> None:
    """Start points as trees; the tests behind them as any other words."""
    starts: list[LineWord] = []
    follows = None if any(word.text in ("-L", "-follow") for word in words) else 0
    at = 0
    while at < len(words):
        text = words[at].text
        if text == "-D":
            at += 1
        elif not (text.startswith("-O") or text in ("-H", "-L", "-P")):
            if text.startswith("-") or text in ("(", "!", ","):
                break
            starts.append(words[at])
        at += 1
    if not starts:
        paths.here("read_tree", follows=follows)
    for word in starts:
        paths.declare(word, "read_tree", follows=follows)
    paths.anything(words[at:])
    _find_changes(paths, words[at:], starts or [LineWord(".")])


def _find_changes(paths: PathList, tests: Words, starts: Words) -> None:
    """What is deleted, written, or given to another program: start points for what lies below.

    A file that `find` itself writes is no exit: the sandbox shows whether it may.
    """
    for at, word in enumerate(tests):
        if word.text == "-delete":
            written = starts
        elif word.text.startswith("-fprint") or word.text == "-fls":
            written = tests[at + 1 : at + 2]
        else:
            continue
        for one in written:
            paths.declare(one, "write", guessed=True)
    for inner in executed((LineWord("find"), *tests)):
        words = [one for word in inner for one in _filled(word, starts)]
        if words:
            run_program(paths, words)


def _filled(word: LineWord, starts: Words) -> Words:
    """A word with each start point in the place of `{}`."""
    if "{}" not in word.text:
        return [word]
    return [
        start if word.text == "{}" else replace(word, text=word.text.replace("{}", start.text))
        for start in starts[:_MOST_INNER]
    ]


def _fd(paths: PathList, words: Words) -> None:
    """Everything below is looked at, and given to a program behind its last word when no other."""
    paths.here("read_tree")
    paths.anything(words, "read_tree")
    before = words[: next((at for at, one in enumerate(words) if one.text in FD_EXEC), len(words))]
    starts = _options_and_operands(before)[1][1:] or [LineWord(".")]
    for inner in executed((LineWord("fd"), *words)):
        names = inner if any("{" in one.text for one in inner) else (*inner, LineWord("{}"))
        run_program(paths, [one for word in names for one in _filled(word, starts)])


def _diff(paths: PathList, words: Words) -> None:
    """With `-r` it goes down, and through links unless told otherwise."""
    paths.anything(words, "read_tree", follows=None)


# -- writers


def _writer(paths: PathList, words: Words) -> None:
    """Every operand is written; values of options are read, the one of -t is written."""
    options, operands = _options_and_operands(words)
    paths.anything(options)
    for word in (*operands, *_attached_targets(options)):
        paths.declare(word, "write")


def _move(paths: PathList, words: Words) -> None:
    _writer(paths, words)
    paths.may_be_links(_options_and_operands(words)[1])


def _copy(paths: PathList, words: Words) -> None:
    given = read_options(words, line_options.CP)
    hard = given.has("l", "link")
    _sources(paths, given, given.operands[-1:], hard=hard)


def _link(paths: PathList, words: Words) -> None:
    given = read_options(words, line_options.LN)
    hard = not given.has("s", "symbolic")
    written: Words = given.operands[-1:]
    if len(given.operands) == 1 and not given.values(_TARGET):
        written = (_link_name(given.operands[0]),)
    _sources(paths, given, written, hard=hard)


def _sources(paths: PathList, given: Given, written: Words, *, hard: bool) -> None:
    """cp and ln: one operand is written, the others are read with all below.

    All are written when an option stands behind one, is not known, names the target, or makes
    hard links, which share the file.
    """
    targets = given.values(_TARGET if given.known else given.names)
    if hard or targets or given.late or not given.known:
        written = (*written, *targets, *given.operands)
    for word in written:
        paths.declare(word, "write")
    only_written = frozenset() if hard else frozenset(written)
    for word in given.operands:
        if word not in only_written:
            paths.declare(word, "read_tree")
    paths.may_be_links(written)


def _git(paths: PathList, words: Words) -> None:
    """Operands as reads; the files of rm, mv and worktree add as writes."""
    texts = [word.text for word in words]
    start = git_verb_at(texts)
    # Outside of a work tree, or with --no-index, a diff walks what its operands name.
    walks = texts[start : start + 1] == ["diff"] or any(t.startswith("--no-i") for t in texts)
    paths.anything(words, "read_tree" if walks else "read")
    for verb in _GIT_WRITERS:
        end = start + len(verb)
        if tuple(texts[start:end]) == verb:
            _move(paths, words[end:])


def git_verb_at(words: Sequence[str]) -> int:
    """Where git's subcommand stands, behind git's own options."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GIT_VALUED else 1
    return at


def _sed(paths: PathList, words: Words) -> None:
    """In place the files are written; the script is the first operand unless an option gives it."""
    paths.anything(words)
    in_place = [word.text for word in words if re.match(r"-[A-Za-z]*i|--i", word.text)]
    if not in_place:
        return
    guessed = not any(text.startswith(("-i", "--in-place")) for text in in_place)
    scripts = [at for at, word in enumerate(words) if re.match(r"-[A-Za-z]*[ef]|--[ef]", word.text)]
    values = {at + 1 for at in scripts if words[at].text in _SED_SCRIPTS}
    rest = [word for at, word in enumerate(words) if at not in values]
    operands = _options_and_operands(rest)[1]
    for word in operands if scripts else operands[1:]:
        paths.declare(word, "write", guessed=guessed)


def _dd(paths: PathList, words: Words) -> None:
    for word in words:
        paths.anything([word], "write" if word.text.startswith("of=") else "read")


def _install(paths: PathList, words: Words) -> None:
    """The last operand is written; every one with a target option or when directories are made."""
    paths.anything(words)
    options, operands = _options_and_operands(words)
    every = any(re.match(r"-[A-Za-z]*[dt]|--[dt]", word.text) for word in options)
    for word in operands if every else operands[-1:]:
        paths.declare(word, "write")
    for word in _attached_targets(options):
        paths.declare(word, "write")


def _sort(paths: PathList, words: Words) -> None:
    """The file of -o is written."""
    paths.anything(words)
    for at, word in enumerate(words):
        name, equals, _ = word.text.partition("=")
        if len(name) > 2 and "--output".startswith(name):
            value = [word.tail(len(name) + 1)] if equals else words[at + 1 : at + 2]
        elif found := re.match(r"-[A-Za-z]*?o", word.text):
            value = [word.tail(found.end())] if word.text[found.end() :] else words[at + 1 : at + 2]
        else:
            continue
        guessed = not (word.text.startswith("-o") or name == "--output")
        for file in value:
            paths.declare(file, "write", guessed=guessed)


def _options_and_operands(words: Words) -> tuple[Words, Words]:
    """Words that start with a dash, up to `--`, and the others."""
    end = next((at for at, word in enumerate(words) if word.text == "--"), len(words))
    options = [word for word in words[:end] if word.text.startswith("-") and word.text != "-"]
    others = [word for word in words[:end] if not word.text.startswith("-") or word.text == "-"]
    return options, [*others, *words[end + 1 :]]


def _attached_targets(options: Words) -> list[LineWord]:
    """Directories in `-tDIR` and `--target-directory=DIR`."""
    found: list[LineWord] = []
    for word in options:
        name, equals, _ = word.text.partition("=")
        if name.startswith("--"):
            if equals and len(name) > 2 and "--target-directory".startswith(name):
                found.append(word.tail(len(name) + 1))
        elif "t" in word.text:
            found.append(word.tail(word.text.index("t") + 1))
    return found


def _link_name(target: LineWord) -> LineWord:
    """Where `ln target` puts its link: the base name, in the working directory."""
    name = base_name(target.text.rstrip("/"))
    return LineWord("." if name in ("", ".", "..", "~") else name, target.expansion)


# -- directories


def _pushd(paths: PathList, words: Words) -> None:
    if words:
        paths.change_directory(words)
    else:
        paths.lose_directory()


def _popd(paths: PathList, _words: Words) -> None:
    paths.lose_directory()


_PROGRAMS: Final[dict[str, Callable[[PathList, Words], None]]] = {
    "ls": partial(_listing, table=line_options.LS, trees=False),
    "du": partial(_listing, table=line_options.DU, trees=True),
    "tree": partial(_listing, table=line_options.TREE, trees=True),
    "rg": partial(_searcher, table=line_options.RG, trees=True),
    **dict.fromkeys(
        ("grep", "egrep", "fgrep"), partial(_searcher, table=line_options.GREP, trees=False)
    ),
    "find": _find,
    **dict.fromkeys(("fd", "fdfind"), _fd),
    "diff": _diff,
    **dict.fromkeys(_WRITERS, _writer),
    "mv": _move,
    "cp": _copy,
    "ln": _link,
    "git": _git,
    "sed": _sed,
    "dd": _dd,
    "install": _install,
    "sort": _sort,
    **dict.fromkeys(("cd", "chdir"), PathList.change_directory),
    "pushd": _pushd,
    "popd": _popd,
}
