"""The paths of a line, program by program."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.policy.lines.programs import paths_of_line

HOME = "/home/u"
HERE = "/home/u/p"
SHORT = {"r": "read", "t": "read_tree", "w": "write"}


def paths(line: str, directory: str | None = HERE) -> set[str]:
    """`r path`, `t path`, `w path`; below the directory without it."""
    letters = {name: letter for letter, name in SHORT.items()}
    return {
        f"{letters[use.access]} {use.path.removeprefix(HERE + '/')}"
        for use in paths_of_line(line, directory, HOME)
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # programs that no table knows
        ("cat a ~/b /c - -- -d", {"r a", f"r {HOME}/b", "r /c", "r -d"}),
        ("cat a/../b ./c", {"r a/../b", "r ./c"}),
        ("x --file=a --b/c -dv -d/e --long", {"r a", "r /c", "r v", "r /e"}),
        ("x a:b @c d=e -f@g --h=~/i", {"r a:b", "r b", "r @c", "r c", "r d=e", "r e", "r @g", "r g",
                                       f"r {HOME}/i"}),
        ("x http://a:b/c", {"r http://a:b/c"}),
        ("x $y a$z", set()),
        ("$x a", {"r a"}),
        ("A=~/b x", set()),
        ("cat < in", {"r in"}),
        ("diff /dev/stdin /dev/fd/3 > /dev/stderr", set()),
        ("cat /dev/fd/../x", {"r /dev/fd/../x"}),
        ("x > out 2>> err", {"w out", "w err"}),
        ("echo a /b > c", {"w c"}),
        ("cat ./a* b/c?d *e", {"t ./", "t b/", "t "}),
        ("/usr/bin/rm a", {"w a"}),
        # searchers and listings
        ("ls", {"r ."}),
        ("ls -la a", {"r a"}),
        ("ls -R a", {"t a"}),
        ("ls --rec", {"t ."}),
        ("ls -T 4 a", {"r a"}),
        ("ls --unknown a", {"t a", "t ."}),
        ("rg x", {"t ."}),
        ("rg -n x a b", {"t a", "t b"}),
        ("rg -e x a", {"t a"}),
        ("rg --files a", {"t a"}),
        ("rg -f pats a", {"t a", "r pats"}),
        ("grep x", set()),
        ("grep x a", {"r a"}),
        ("grep -rn x", {"t ."}),
        ("grep --recurs x a", {"t a"}),
        ("grep -d recurse x a", {"t a"}),
        ("grep -f pats a", {"r a", "r pats"}),
        ("grep --file=pats -- -a", {"r -a", "r pats"}),
        ("grep -5 x a", {"r a"}),
        ("grep --zz x a", {"t x", "t a", "t ."}),
        ("du -sh a", {"t a"}),
        ("du -X ex", {"t .", "r ex"}),
        ("tree -L 2", {"t ."}),
        ("find", {"t ."}),
        ("find -L a b -name x -newer c", {"t a", "t b", "r ame", "r x", "r ewer", "r c"}),
        ("find a b -delete", {"t a", "t b", "w a", "w b"}),
        ("find -name x -delete", {"t .", "r x", "w ."}),
        ("find a -fprintf out x -fls out2", {"t a", "w out", "w out2"}),
        ("find a -exec rm {} +", {"t a", "w a"}),
        ("find a b -exec mv '{}' c/{} \\;", {"w a", "w b", "w c/a", "w c/b"}),
        ("find a -exec touch b ';' -exec cat c +", {"t a", "w b", "r c"}),
        ("find a -exec sh -c 'rm c' ';'", {"t a", "w c"}),
        ("fd x", {"t .", "t x"}),
        ("fd x a -X rm", {"t .", "t a", "w a"}),
        ("fd -x tee b", {"t .", "w b", "w ."}),
        ("diff a b", {"t a", "t b"}),
        # writers
        ("rm -rf a 'b c'", {"w a", "w b c", "r f"}),
        ("mkdir -p a/b", {"w a/b"}),
        ("touch --reference=a b", {"r a", "w b"}),
        ("rm a/*.o", {"w a/"}),
        ("mv -t d a", {"w d", "w a"}),
        ("mv -vtd a", {"r td", "w d", "w a"}),
        ("mv --targ=d a", {"r d", "w d", "w a"}),
        ("cp a b c", {"t a", "t b", "w c"}),
        ("cp -t d a", {"w d", "w a"}),
        ("cp a b -S x", {"w a", "w b"}),
        ("cp -l a b", {"w a", "w b", "t a", "t b"}),
        ("cp --zz a b", {"w a", "w b"}),
        ("ln -s a b", {"t a", "w b"}),
        ("ln a b", {"w a", "w b", "t a", "t b"}),
        ("ln -s /x/y/", {"t /x/y/", "w y"}),
        ("ln -s ~", {f"t {HOME}", "w u"}),
        ("git rm -q a", {"r rm", "r a", "w a"}),
        ("git -C x mv a b", {"r x", "r mv", "r a", "r b", "w a", "w b"}),
        ("git worktree add ../w b", {"r worktree", "r add", "r ../w", "r b", "w ../w", "w b"}),
        ("git show HEAD:a/b", {"r show", "r HEAD:a/b", "r a/b"}),
        ("sed -n 1p a", {"r 1p", "r a"}),
        ("sed -i s/a/b/ c", {"r s/a/b/", "r c", "w c"}),
        ("sed -i.bak -e s/a/b/ c", {"r s/a/b/", "r c", "w c"}),
        ("dd if=a of=b", {"r if=a", "r a", "w of=b", "w b"}),
        ("install -m 755 a b", {"r 755", "r a", "r b", "w b"}),
        ("install -d a b", {"r a", "r b", "w a", "w b"}),
        ("sort -o a b", {"r a", "r b", "w a"}),
        ("sort -ro a b", {"r o", "r a", "r b", "w a"}),
        ("sort --outp=a b", {"r a", "r b", "w a"}),
        ("sort -oa b", {"r a", "r b", "w a"}),
        # wrappers
        ("sudo rm a", {"r rm", "r a", "w a"}),
        ("sudo -u bob nice -n 5 rm a", {"r bob", "r nice", "r 5", "r rm", "r a", "w a"}),
        ("env A=b timeout 5s tee a", {"r A=b", "r b", "r timeout", "r 5s", "r tee", "r a", "w a"}),
        ("if rm a; then cat b; fi", {"r rm", "r a", "w a", "r cat", "r b"}),
        ("sudo apt-get install -y x", {"r apt-get", "r install", "r x"}),
        ("sudo -E env A=b apt install x", {"r apt", "r install", "r x"}),
        ("sudo -R d rm a", {"r d", "r rm", "r a", "w a"}),  # efr does not know -R
        ("env $A rm a", {"r rm", "r a", "w a"}),
        ("timeout $A rm a", {"r rm", "r a", "w a"}),
        ("nice -5 rm a", {"r rm", "r a", "w a"}),
        ("xargs -I X rm X a", {"r rm", "r X", "r a", "w X", "w a"}),
        ("busybox rm a", {"r rm", "r a", "w a"}),
        ("strace -o log rm a", {"r log", "r rm", "r a", "w a"}),
        ("xargs -I {} cp {} a", {"t {}", "w a"}),
        # text that is run
        ("sh -c 'rm a; cat b'", {"w a", "r b"}),
        ("sudo bash -lc 'cd d && rm a'", {"r d", "w a", "w d/a"}),
        ("eval rm a", {"w a"}),
        ("env -S 'tee a'", {"w a"}),
        ("eval " * 9 + "rm a", {"w /"}),
        # substitutions
        ("echo $(cat a)", {"r a"}),
        ("echo \"$(rm a)\" `cat b`", {"w a", "r b"}),
    ],
)  # fmt: skip
def test_what_a_line_names(line: str, expected: set[str]) -> None:
    assert paths(line) >= expected
    extra = {path for path in paths(line) - expected if path.startswith("w ")}
    assert extra == set()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cd a && cat b", {"r a", "r b", "r a/b"}),
        ("cd a; cd b; cat c", {"r a", "r b", "r a/b", "r c", "r a/c", "r b/c", "r a/b/c"}),
        ("cd && cat b", {"r b", f"r {HOME}/b"}),
        ("cd - && cat b", {"r b", "t /"}),
        ("cd a b && rm c", {"w c", "w /"}),
        ("cd $x && ls", {"r .", "t /"}),
        ("popd; cat a", {"r a", "t /"}),
        ("pushd && cat a", {"r a", "t /"}),
        ("pushd -q a && cat b", {"r a", "r b", "r a/b"}),
        ("cd -", set()),
        ("cat /a; popd", {"r /a"}),
    ],
)
def test_directories(line: str, expected: set[str]) -> None:
    assert paths(line) == expected


def test_an_unknown_start_may_be_anywhere() -> None:
    assert paths("cat a", None) == {"t /"}
    assert paths("rm a; cat /b", None) == {"w /", "r /b"}


@pytest.mark.parametrize(
    "line",
    [
        "ln -s ~ h && cat h/x",
        "touch h; ln -sf / h; cat h",
        "cp -P a h; cat h/x",
        "mv a h; cat h/../x/h",
        "git worktree add h; cat h/x",
    ],
)
def test_what_was_made_on_the_line_may_be_a_link(line: str) -> None:
    assert ("t /" in paths(line)) == ("h/.." not in line)


def test_many_paths_are_everything() -> None:
    line = "rm " + " ".join(f"a{n}" for n in range(3000))
    found = paths(line)
    assert "w /" in found
    assert len(found) <= 1002
    cds = "; ".join(f"cd a{n}" for n in range(12)) + "; cat b"
    assert "t /" in paths(cds)


PIECES = st.sampled_from(
    [
        "rm",
        "cp",
        "sudo",
        "ls",
        "cd",
        "a",
        "-t",
        "--",
        "-rf",
        "~",
        "*",
        ";",
        "$(",
        ")",
        ">",
        "git",
        "mv",
        "=",
    ]
)


@given(st.lists(PIECES, max_size=14).map(" ".join))
def test_any_line_gives_absolute_paths(line: str) -> None:
    assert all(use.path.startswith("/") for use in paths_of_line(line, HERE, HOME))


@pytest.mark.parametrize(
    "piece", ["sudo ", "rm ", "a:", "cd a;", "ln a b;", "cp -t ", "sudo rm ", "ls ", "=="]
)
def test_long_lines_take_no_longer(piece: str) -> None:
    paths_of_line(piece * (30_000 // len(piece)), HERE, HOME)


def test_the_folded_and_the_unfolded_directory_both_count() -> None:
    assert paths("cd k/.. && cat x") == {"r k/..", "r x", "r k/../x"}


def test_a_line_too_long_to_split_names_everything() -> None:
    assert "w /" in paths("a;" * 40_000)


def test_an_abbreviated_option_is_a_guess() -> None:
    uses = paths_of_line("sort -ro a b; sort -o c d; sed --in-pl p e; sed -i p f", HERE, HOME)
    writes = {
        use.path.removeprefix(HERE + "/"): use.guessed for use in uses if use.access == "write"
    }
    assert writes == {"a": True, "c": False, "e": True, "f": False}


@pytest.mark.parametrize(
    ("line", "follows"),
    [
        ("cat ./*", {1}),
        ("cat a/*/b*", {2}),
        ("cat ./**/x", {None}),
        ("rg x a", {0}),
        ("rg -L x a", {None}),
        ("rg --fol x a", {None}),
        ("rg --what x a", {None}),
        ("grep -r x", {0}),
        ("grep -R x", {None}),
        ("find a -name x", {0}),
        ("find -L a", {None}),
        ("du -L", {None}),
        ("tree -l", {None}),
        ("diff -r a b", {None}),
    ],
)
def test_how_far_links_are_followed(line: str, follows: set[int | None]) -> None:
    uses = paths_of_line(line, HERE, HOME)
    assert {use.follows for use in uses if use.access == "read_tree"} == follows
