"""Heredoc bodies leave a command; nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.text.heredocs import without_heredocs

CASES = {
    "cat <<EOF > f\nbody\nEOF\nls": "cat <<EOF > f\nls",
    "cat <<'E O' <<-B\nx\nE O\n\ty\n\tB\ndone": "cat <<'E O' <<-B\ndone",
    'cat << "EOF" | sort\nb\nEOF': 'cat << "EOF" | sort\n',
    "cat <<\\EOF\nbody\nEOF\nls": "cat <<\\EOF\nls",
    "cat <<EOF\n EOF\nEOF x\nEOF\nls": "cat <<EOF\nls",
    "cat <<EOF\nnever ends\n": "cat <<EOF\n",
    "cat <<EOF": "cat <<EOF",
    # inside other things
    "git commit -m \"$(cat <<'EOF'\nit's\nEOF\n)\" && ls": (
        "git commit -m \"$(cat <<'EOF'\n)\" && ls"
    ),
    "x=`cat <<E\nbody\nE\n`\nls": "x=`cat <<E\n`\nls",
    "(cat <<E\nbody\nE\n)": "(cat <<E\n)",
    "((a) | cat <<E\nbody\nE\n)": "((a) | cat <<E\n)",
    'echo "${x:-a}" <<E\nbody\nE': 'echo "${x:-a}" <<E\n',
    "# don't\ncat <<A\nbody\nA\nls": "# don't\ncat <<A\nls",
    "echo $'it\\'s' <<A\nbody\nA\nls": "echo $'it\\'s' <<A\nls",
    'cat <<EOF "a\nb"\nbody\nEOF\nls': 'cat <<EOF "a\nb"\nls',
    # none of them
    "echo $((1 << 2))\nls": "echo $((1 << 2))\nls",
    "((x<<2))\nls": "((x<<2))\nls",
    "cat <<<word\nls": "cat <<<word\nls",
    "echo 'a <<EOF\nb'\nls": "echo 'a <<EOF\nb'\nls",
    'echo "<<EOF"\nls\n': 'echo "<<EOF"\nls\n',
    "ls # <<EOF\nls": "ls # <<EOF\nls",
    "ls \\<<EOF\nls": "ls \\<<EOF\nls",
    "sort < a\nls": "sort < a\nls",
    "": "",
}


@pytest.mark.parametrize(("command", "expected"), CASES.items(), ids=range(len(CASES)))
def test_what_is_left(command: str, expected: str) -> None:
    assert without_heredocs(command) == expected


SIGNS = st.sampled_from(["<<", "EOF", "\n", "'", '"', "`", "$(", ")", "((", "#", "\\", "${", "}"])


@given(st.lists(SIGNS | st.sampled_from([" ", "a", "<<<", "-", ";"]), max_size=60).map("".join))
def test_what_is_left_was_there(command: str) -> None:
    at = 0
    for sign in without_heredocs(command):
        at = command.index(sign, at) + 1


@pytest.mark.parametrize("piece", ["((", "$(", "#a\n", "<<E\n", "'", '"', "`", "<<", "\\"])
def test_the_time_grows_with_the_length_alone(piece: str) -> None:
    without_heredocs("<<x\n" + piece * (200_000 // len(piece)))
