"""The commands that cautious mode runs without a question, as a table, and how a row matches.

Pure. Each row allows one simple command. The rows' numbers count on from the path rules and stand
in records. Facts: the manual page of each program. Changing a row needs a line in the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from efr.policy.checks import CHECKS
from efr.policy.reader import SimpleCommand

FIRST_ROW: Final = 8  # 0 to 7 are the path rules

# program, [words after it]…, ! words that may not stand on the line, then bounds: min and max
# count operands, opt counts options, check names a function. One row a line, in order.
#
# Why the odd ones: `ps` reads the whole line as BSD syntax when one word is no valid UNIX option,
# and there `e` prints environments; `jq` may print the environment or load unseen code;
# `systemctl show` without a unit prints the manager's environment; env and printenv are missing
# because they print tokens; `tail -f` and its like never end; `cd old new` edits $PWD; printf
# evaluates numbers as arithmetic; --files0-from and `file -f` read what another file names; zsh
# evaluates the value of `stat -A`; `lspci -q` and `ss -r` ask a name server; `date 01020304` sets
# the clock.
_ROWS: Final = """
ls
pwd
cat
head
tail ! -f -F --follow
wc ! --files0-from
file ! -C --compile -f --files-from
stat ! -A -H
du ! --files0-from
df
lsblk
blkid ! -g --garbage-collect -c --cache-file
findmnt ! -p --poll
free ! -s --seconds
uptime
uname
whoami
id
groups
hostname ! -F --file -b --boot max=0
date check=date_prints
which
type
command [-v|-V]
echo
printf ! -v check=printf_plain
realpath
readlink
basename
dirname
tree ! -o -R
rg ! --pre --hostname-bin
grep
egrep
fgrep
diff
cmp
sort ! -o --output --compress-program --files0-from
uniq max=1
cut
tr
column
jq ! -i --in-place -f --from-file -L --library-path env ENV include import
ps ! e -e --format
ps [-e|-ef|-eF|-ely|-eLf|-ejH] max=0 opt=0
pgrep
ss ! -K --kill -D --diag -E --events -r --resolve
ip [addr|address|a] max=0
ip [addr|address|a] [show|list]
ip [route|r] max=0
ip [route|r] [show|list]
ip [link|l] max=0
ip [link|l] [show|list]
journalctl ! --vacuum* --rotate --flush --sync --relinquish-var --smart-relinquish-var \
--setup-keys --update-catalog --cursor-file -f --follow
systemctl [status|list-units|list-unit-files|is-active|is-enabled|is-failed|cat] ! -H --host
systemctl [--user] [status|list-units|list-unit-files|is-active|is-enabled|is-failed|cat] ! -H \
--host
systemctl [show] ! -H --host -p -P --property min=1
systemctl [--user] [show] ! -H --host -p -P --property min=1
git [status|diff|log|show|rev-parse|ls-files|blame] ! --output
git [--no-pager] [status|diff|log|show|rev-parse|ls-files|blame] ! --output
git [branch] ! -d -D --delete -m -M --move -c -C --copy -f --force -u --set-upstream-to \
--unset-upstream --edit-description -t --track --no-track --create-reflog max=0
git [--no-pager] [branch] ! -d -D --delete -m -M --move -c -C --copy -f --force -u \
--set-upstream-to --unset-upstream --edit-description -t --track --no-track --create-reflog max=0
git [remote] max=0
git [--no-pager] [remote] max=0
pacman [-Q*|--query]
pacman [-Ss|-Ssq|-Sqs|-Si|-Sii] ! -y -u -w -c --refresh --sysupgrade --downloadonly --clean
lspci ! -q -Q -A -H -M -O
lsusb
sensors ! -s --set
nproc
find ! -exec -execdir -ok -okdir -delete -fprint* -fls -files0-from
cd max=1
pushd max=1
popd
sed check=sed_print_only
"""


@dataclass(frozen=True)
class Row:
    """One allowed form of one program."""

    number: int
    program: str
    args: tuple[tuple[str, ...], ...] = ()  # alternatives for each word after the program
    forbid: tuple[str, ...] = ()
    min_operands: int = 0
    max_operands: int | None = None
    max_options: int | None = None
    check: str | None = None

    @property
    def takes_patterns(self) -> bool:
        """Whether zsh may put several names, or none, where a pattern stands."""
        bounded = self.min_operands or (self.max_operands, self.max_options) != (None, None)
        loose = any(not word.startswith("-") for word in self.forbid) or any(
            word.endswith("*") and not word.startswith("-") for words in self.args for word in words
        )
        return not bounded and self.check is None and not loose


def matching_row(command: SimpleCommand) -> Row | None:
    """The last row that allows this simple command, or None: it is not known as read-only."""
    rows = ROWS.get(command.program, ())
    return next((row for row in reversed(rows) if matches(row, command)), None)


def matches(row: Row, command: SimpleCommand) -> bool:
    """Whether the row allows the command; its program is known to be the row's."""
    if any(word.pattern for word in command.words) and not row.takes_patterns:
        return False
    words = [word.text for word in command.words[1:]]
    rest = words[len(row.args) :]
    if len(words) < len(row.args) or not all(map(_is_one_of, words, row.args)):
        return False
    if any(is_forbidden(word, entry) for word in words for entry in row.forbid):
        return False
    options, operands = _count(rest)
    return (
        operands >= row.min_operands
        and (row.max_operands is None or operands <= row.max_operands)
        and (row.max_options is None or options <= row.max_options)
        and (row.check is None or CHECKS[row.check](words))
    )


def is_forbidden(word: str, entry: str) -> bool:
    """Whether a word is what an entry behind `!` forbids, also abbreviated or in a cluster."""
    if not entry.startswith("-"):
        return not word.startswith("-") and entry in word
    if entry.startswith("--"):
        name = word.partition("=")[0]
        given, wanted = name[2:], entry[2:].removesuffix("*")
        if not name.startswith("--") or not given:
            return False
        return wanted.startswith(given) or (entry.endswith("*") and given.startswith(wanted))
    if entry.endswith("*"):
        return word.startswith(entry[:-1])
    if len(entry) == 2:
        return word.startswith("-") and not word.startswith("--") and entry[1] in word[1:]
    return word == entry


def _is_one_of(word: str, alternatives: tuple[str, ...]) -> bool:
    return any(
        word.startswith(one[:-1]) if one.endswith("*") else word == one for one in alternatives
    )


def _count(words: Sequence[str]) -> tuple[int, int]:
    """(options up to and with `--`, operands)."""
    options = operands = 0
    for index, word in enumerate(words):
        if word == "--":
            return options + 1, operands + len(words) - index - 1
        if word.startswith("-") and word != "-":
            options += 1
        else:
            operands += 1
    return options, operands


def _read_rows(text: str) -> dict[str, tuple[Row, ...]]:
    """The table by program; raises ValueError for what is no row."""
    rows: dict[str, tuple[Row, ...]] = {}
    lines = text.replace("\\\n", "").split("\n")
    for number, line in enumerate(filter(None, lines), start=FIRST_ROW):
        row = _read_row(number, line.split())
        rows[row.program] = (*rows.get(row.program, ()), row)
    return rows


def _read_row(number: int, words: Sequence[str]) -> Row:
    program, *rest = words
    args: list[tuple[str, ...]] = []
    forbid: list[str] = []
    bounds: dict[str, str] = {}
    inside = False  # behind the `!`
    for word in rest:
        key, equals, value = word.partition("=")
        if word == "!" and not inside:
            inside = True
        elif word.startswith("[") and word.endswith("]") and not inside:
            args.append(tuple(word[1:-1].split("|")))
        elif equals and key in {"min", "max", "opt", "check"}:
            bounds[key] = value
        elif inside:
            forbid.append(word)
        else:
            raise ValueError(f"row {number}: {word!r}")
    if "check" in bounds and bounds["check"] not in CHECKS:
        raise ValueError(f"row {number}: no check {bounds['check']!r}")
    return Row(
        number,
        program,
        tuple(args),
        tuple(forbid),
        min_operands=int(bounds.get("min", 0)),
        max_operands=int(bounds["max"]) if "max" in bounds else None,
        max_options=int(bounds["opt"]) if "opt" in bounds else None,
        check=bounds.get("check"),
    )


ROWS: Final[Mapping[str, tuple[Row, ...]]] = _read_rows(_ROWS)

# Names that a rule trusts to be the program itself: the hidden shell keeps no alias, function or
# builtin under them.
TRUSTED_PROGRAMS: Final = frozenset(ROWS)
