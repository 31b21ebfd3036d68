"""A throwaway zsh in which every command is a recorder: what really ran, line by line.

Every program of the grammar is a function that writes its words to a file, every other one is not
found and recorded by the handler for that. A line has ended when nothing holds descriptor 8 any
more, so jobs in the background count. It runs in a private directory, in a read-only bubblewrap
where that works. A line that zsh cannot parse runs nothing.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.policy.trap_lines import PROGRAMS

# What the hidden shell itself always sets, and what users may set.
_ALWAYS = "no_bang_hist no_auto_cd no_cdable_vars interactive_comments"
OPTIONS = (
    "",
    "extended_glob null_glob magic_equal_subst glob_dots glob_star_short numeric_glob_sort",
    "csh_null_glob ksh_glob no_bare_glob_qual rc_expand_param sh_word_split glob_subst no_multios",
    "no_nomatch brace_ccl no_short_loops posix_identifiers ksh_arrays csh_junkie_loops no_equals",
    "extended_glob glob_assign short_repeat no_case_glob no_unset sh_file_expansion",
)
_NO_FUNCTION = frozenset(("if", "time", "repeat", "noglob", "nocorrect", "./run"))
_SCRIPT = """\
builtin exec 9>>{log}
record() {{ builtin emulate -L zsh; builtin print -rn -u 9 -- "${{(pj:\2:)@}}"$'\1' }}
command_not_found_handler() {{ record "$@" }}
for name in {names}; do functions[$name]="record $name \\"\\$@\\""; done
path=({empty}) cdpath=()
builtin cd {folder}
builtin setopt {options}
while IFS= builtin read -r -d '' line; do
  if [[ {apart} == 1 || $line == *[\\&\\|]* ]]; then
    {{ ( builtin eval "$line"; builtin wait ) </dev/null 8>&1 >/dev/null 2>/dev/null }} |
      builtin read -r -d '' x
  else
    {{ builtin eval "$line" </dev/null >/dev/null 2>/dev/null }} always {{ TRY_BLOCK_ERROR=0 }}
  fi
  builtin print -rn -u 9 -- $'\3'
done <{lines}
"""


@dataclass(frozen=True)
class Ran:
    """The words of every command that ran for a line, in the order in which they began."""

    commands: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Recording:
    """What each line ran, and the names of files that appeared meanwhile."""

    lines: tuple[Ran, ...]
    made: frozenset[str]


def record(lines: Sequence[str], options: str, folder: Path, *, apart: bool = False) -> Recording:
    """Runs each line in one zsh. `folder` is empty. `apart`: a line may end its shell."""
    work, empty, log = folder / "home", folder / "bin", folder / "log"
    for directory in (work / "d", empty):
        directory.mkdir(parents=True)
    for name in ("a", "b", "ab", "abd", "d/a", "a.txt"):
        (work / name).touch()
    log.touch()
    before = _names(work)
    text = b"".join(line.encode("utf-8", "surrogatepass") + b"\0" for line in lines)
    (folder / "lines").write_bytes(text)
    script = _SCRIPT.format(
        options=f"{_ALWAYS} {options}",
        apart=int(apart),
        log=log,
        empty=empty,
        folder=work,
        lines=folder / "lines",
        names=" ".join(name for name in PROGRAMS if name not in _NO_FUNCTION),
    )
    subprocess.run(
        [*_cage(folder), "zsh", "-f", "-c", script],
        env={"HOME": str(work), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=300,
    )
    parts = log.read_bytes().decode("utf-8", "surrogateescape").split("\3")
    assert len(parts) == len(lines) + 1
    ran = (
        Ran(tuple(tuple(one.split("\2")) for one in part.split("\1")[:-1])) for part in parts[:-1]
    )
    return Recording(tuple(ran), frozenset(_names(work) - before))


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@cache
def _bubblewrap() -> str | None:
    """bubblewrap when it works here."""
    found = shutil.which("bwrap")
    if found is None:
        return None
    tried = subprocess.run(
        [found, "--ro-bind", "/", "/", "--dev", "/dev", "true"], capture_output=True
    )
    return found if tried.returncode == 0 else None


def _cage(folder: Path) -> list[str]:
    bubblewrap = _bubblewrap()
    if bubblewrap is None:
        return []
    read_only = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid"]
    return [bubblewrap, *read_only, "--die-with-parent", "--bind", str(folder), str(folder), "--"]
