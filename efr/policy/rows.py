"""The built-in rules of each mode: the path rules, and the commands that cautious runs by itself.

Pure data and its reader. Their numbers stand in records; the user's rules count on after them.
Facts: the manual page of each program. Changing a row needs a line in the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from efr.policy.checks import CHECKS
from efr.policy.rules import ClassIs, CommandIs, Rule

Mode = Literal["manual", "cautious", "auto", "full"]

_SECRETS: Final = Rule("any", ClassIs("secrets"), "deny")
_MANUAL: Final = (Rule("any", "any", "ask"), _SECRETS)
_CAUTIOUS: Final = (
    Rule("any", "any", "ask"),
    Rule("read", "any", "allow"),
    Rule("write", ClassIs("user_data"), "ask"),
    Rule("write", "project", "allow"),
    Rule("write", ClassIs("user_config"), "ask"),
    Rule("write", ClassIs("system"), "ask"),
    Rule("write", ClassIs("scratch"), "allow"),
    _SECRETS,
)
_AUTO: Final = (
    Rule("any", "any", "ask"),
    Rule("read", "any", "allow"),
    Rule("write", "project", "allow"),
    Rule("write", ClassIs("scratch"), "allow"),
    Rule("write", "envelope", "allow"),
    _SECRETS,
    Rule("execute", "any", "contain"),
)
FIRST_ROW: Final = len(_CAUTIOUS)

# program, [words after it]…, ! words that may not stand on the line, then bounds: min and max
# count operands, opt counts options, check names a function. One row a line, in order.
#
# Why the odd ones: `ps` reads the whole line as BSD syntax when one word is no valid UNIX option,
# and there `e` prints environments; `jq` may print the environment or load unseen code;
# `systemctl show` without a unit prints the manager's environment, also when the word behind it is
# an option's value; env and printenv are missing because they print tokens; `tail -f`, `tail +1f`
# and their like never end; `cd old new` edits $PWD; printf evaluates numbers as arithmetic;
# --files0-from and `file -f` read what another file names; zsh evaluates the value of `stat -A`;
# `hostname -f`, `lspci -q`, `ss -r` and a host in a filter of `ss` ask a name server;
# `date 01020304` sets the clock; `free -c` goes on; `sort -T` writes; `-M` and `--image` open
# another system; git starts a program for its help, a signature (which may fetch a key) and
# `--ext-diff`.
_ROWS: Final = """
ls
pwd
cat
head
tail ! -f -F --follow check=tail_ends
wc ! --files0-from
file ! -C --compile -f --files-from
stat ! -A -H
du ! --files0-from
df
lsblk
blkid ! -g --garbage-collect -c --cache-file
findmnt ! -p --poll
free ! -s --seconds -c --count
uptime
uname
whoami
id
groups
hostname ! -F --file -b --boot -f --fqdn --long -i --ip-address* -d --domain -A --all-fqdns \
-a --alias* max=0
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
sort ! -o --output --compress-program --files0-from -T --temporary-directory
uniq max=1
cut
tr
column
jq ! -i --in-place -f --from-file -L --library-path env ENV include import
ps ! e -e --format
ps [-e|-ef|-eF|-ely|-eLf|-ejH] max=0 opt=0
pgrep
ss ! -K --kill -D --diag -E --events -r --resolve -F --filter check=filter_names_no_host
ip [addr|address|a] max=0
ip [addr|address|a] [show|list]
ip [route|r] max=0
ip [route|r] [show|list]
ip [link|l] max=0
ip [link|l] [show|list]
journalctl ! --vacuum* --rotate --flush --sync --relinquish-var --smart-relinquish-var \
--setup-keys --update-catalog --cursor-file -f --follow -M --machine --image*
systemctl [status|list-units|list-unit-files|is-active|is-enabled|is-failed|cat] ! -H --host \
-M --machine --image*
systemctl [--user] [status|list-units|list-unit-files|is-active|is-enabled|is-failed|cat] ! -H \
--host -M --machine --image*
systemctl [show] ! -H --host -p -P --property -M --machine --image* \
min=1 check=names_unit
systemctl [--user] [show] ! -H --host -p -P --property -M --machine --image* \
min=1 check=names_unit
git [status|diff|log|show|rev-parse|ls-files|blame] ! --output --help --ext-diff \
--show-signature check=verifies_nothing
git [--no-pager] [status|diff|log|show|rev-parse|ls-files|blame] ! --output --help --ext-diff \
--show-signature check=verifies_nothing
git [branch] ! -d -D --delete -m -M --move -c -C --copy -f --force -u --set-upstream-to \
--unset-upstream --edit-description -t --track --no-track --create-reflog \
--help max=0 check=verifies_nothing
git [--no-pager] [branch] ! -d -D --delete -m -M --move -c -C --copy -f --force -u \
--set-upstream-to --unset-upstream --edit-description -t --track --no-track --create-reflog \
--help max=0 check=verifies_nothing
git [remote] ! --help max=0
git [--no-pager] [remote] ! --help max=0
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


def _read_rows(text: str) -> tuple[Rule, ...]:
    """The table; raises ValueError for what is no row."""
    lines = text.replace("\\\n", "").split("\n")
    return tuple(read_row(line.split()) for line in lines if line)


def read_row(words: Sequence[str]) -> Rule:
    """One row as a rule; raises ValueError."""
    program, *rest = words
    args: list[str] = []
    forbid: list[str] = []
    bounds: dict[str, int] = {}
    check: str | None = None
    inside = False  # behind the `!`
    for word in rest:
        key, equals, value = word.partition("=")
        if word == "!" and not inside:
            inside = True
        elif word.startswith("[") and word.endswith("]") and not inside:
            args.append(word[1:-1])
        elif equals and key == "check" and value in CHECKS:
            check = value
        elif equals and key in ("min", "max", "opt"):
            bounds[key] = int(value)
        elif inside:
            forbid.append(word)
        else:
            raise ValueError(f"{program}: {word!r}")
    command = CommandIs(
        program,
        tuple(args),
        tuple(forbid),
        min_operands=bounds.get("min", 0),
        max_operands=bounds.get("max"),
        max_options=bounds.get("opt"),
        check=check,
    )
    return Rule("execute", command, "allow")


ROWS: Final = _read_rows(_ROWS)

BUILT_IN: Final[dict[Mode, tuple[Rule, ...]]] = {
    "manual": _MANUAL,
    "cautious": (*_CAUTIOUS, *ROWS),
    "auto": _AUTO,
    "full": (Rule("any", "any", "allow"), _SECRETS),
}


def trusted_programs(rules: Sequence[Rule] = ()) -> frozenset[str]:
    """Names that a rule trusts to be the program itself, with those of the user's rules.

    The hidden shell keeps no alias, function or builtin under them.
    """
    resources = (rule.resource for rule in (*ROWS, *rules))
    return frozenset(one.program for one in resources if isinstance(one, CommandIs))


TRUSTED_PROGRAMS: Final = trusted_programs()
