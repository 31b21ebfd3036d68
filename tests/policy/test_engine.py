"""Decisions: effects, reasons, summaries, and what may never happen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from efr.policy.engine import CallNeeds, Decision, PathUse, Rules, decide
from efr.policy.needs import Access
from efr.policy.privilege import privileged_in_text
from efr.policy.rules import CommandIs, Rule
from tests.policy.corpus import HOME, IN_PROJECT, OUTSIDE, PROJECT, SCRATCH, shell_call

EFFECTS = ["allow", "ask", "deny"]
CLOSED = "a secret location is closed to the model"
SETTINGS = "efr's settings cannot be written by the model"
ABOUT_CONFIG = "cautious asks before writing user config"
UNREADABLE = "efr cannot read this line: it holds output of another command"


def shell(
    line: str,
    *paths: PathUse,
    network: bool = False,
    interactive: bool = False,
    nested: bool = False,
) -> CallNeeds:
    return CallNeeds("shell", paths, line, PROJECT, network, interactive, nested)


def file(access: Access, path: str) -> CallNeeds:
    return CallNeeds("write_file" if access == "write" else "read_file", (PathUse(path, access),))


def patch(*paths: str, deletes: int = 0, moves: bool = False) -> CallNeeds:
    """A patch that writes paths; it deletes the first ones, or moves the first to the second."""
    writes = tuple(PathUse(path, "write") for path in paths)
    return CallNeeds(
        "apply_patch",
        writes,
        deletes=paths[:deletes],
        moves=((paths[0], paths[1]),) if moves else (),
    )


def cautious(needs: CallNeeds, origin: str = "shell") -> Decision:
    return decide(needs, "cautious", origin, IN_PROJECT)


@pytest.mark.parametrize(
    ("needs", "effect", "reason"),
    [
        (file("read", f"{HOME}/.bashrc"), "allow", ""),
        (file("read", "/etc/hostname"), "allow", ""),
        (file("read", f"{HOME}/.config/efr/config.toml"), "allow", ""),
        (file("read", f"{HOME}/.ssh/id"), "deny", CLOSED),
        (file("read", f"{HOME}/x/../.netrc"), "deny", CLOSED),
        (file("read", "notes"), "deny", "a path that is not absolute"),
        (file("read_tree", f"{HOME}/.config"), "ask", "a secret lies below ~/.config"),
        (file("write", f"{PROJECT}/src/a.py"), "allow", ""),
        (file("write", PROJECT), "ask", "cautious asks before writing user data"),
        (file("write", f"{HOME}/p/lib/x"), "ask", "cautious asks before writing user data"),
        (file("write", f"{PROJECT}/.git/x"), "ask", ABOUT_CONFIG),
        (file("write", f"{HOME}/.config/x"), "ask", ABOUT_CONFIG),
        (file("write", "/etc/x"), "ask", "cautious asks before writing system"),
        (file("write", f"{SCRATCH}/x"), "allow", ""),
        (file("write", f"{SCRATCH}/.git/hooks/x"), "ask", ABOUT_CONFIG),
        (file("write", f"{HOME}/.config/efr/x"), "deny", SETTINGS),
        (file("write", f"{HOME}/dotfiles/efr/config.toml"), "deny",
         SETTINGS),
        (file("write", f"{HOME}/.local/share/efr/efr.sqlite"), "deny",
         "efr's data cannot be written by the model"),
        (shell("ls"), "allow", ""),
        (shell("ls | head -3; pwd"), "allow", ""),
        (shell("make"), "ask", "cautious does not know this command as read-only"),
        (shell("ls && make"), "ask", "make: cautious does not know this command as read-only"),
        (shell("echo $(id)"), "ask", UNREADABLE),
        (shell("cat - 2>/dev/null"), "ask",
         "efr cannot read this line: it holds a form that can be taken apart in two ways"),
        (shell("time make"), "ask", "efr does not look behind the shell word time"),
        (shell("xargs make"), "ask", "xargs runs another command"),
        (shell("eval x"), "ask", "efr cannot read this line: it holds the shell builtin eval"),
        (shell("sudo ls", interactive=True), "ask",
         "sudo runs commands as another user; the command may wait for your keys"),
        (shell("env nice /usr/bin/doas ls"), "ask", "doas runs commands as another user"),
        (shell("command -v sudo"), "ask", "sudo runs commands as another user"),
        (shell("echo $(sudo id)"), "ask",
         f"sudo runs commands as another user; {UNREADABLE}"),
        (shell("ls", network=True), "ask", "cautious asks before any network access"),
        (shell("ls", nested=True), "ask", "the command may wait for your keys"),
        (shell("cat x", PathUse(f"{HOME}/.netrc", "read")), "deny",
         CLOSED),
        (patch(f"{PROJECT}/a", f"{SCRATCH}/b"), "allow", ""),
        (patch(f"{PROJECT}/a", f"{SCRATCH}/b", deletes=1), "ask", "a delete always asks"),
        (patch(f"{SCRATCH}/a", f"{SCRATCH}/b", moves=True), "ask", "a move always asks"),
        (patch(f"{HOME}/.netrc", deletes=1), "deny", CLOSED),
        (patch(f"{PROJECT}/a", f"{HOME}/.config/efr/x", moves=True), "deny", SETTINGS),
        (CallNeeds("settings"), "allow", ""),
    ],
)  # fmt: skip
def test_cautious_in_a_project(needs: CallNeeds, effect: str, reason: str) -> None:
    decision = cautious(needs)
    assert (decision.effect, decision.reason) == (effect, reason)


@pytest.mark.parametrize(
    ("needs", "effect"),
    [
        (shell("ls"), "ask"),
        (file("read", f"{PROJECT}/a"), "ask"),
        (file("write", f"{SCRATCH}/a"), "ask"),
        (file("read", f"{HOME}/.netrc"), "deny"),
        (patch(f"{SCRATCH}/a", deletes=1), "ask"),
        (CallNeeds("settings"), "allow"),
    ],
)
def test_manual_asks_before_everything(needs: CallNeeds, effect: str) -> None:
    decision = decide(needs, "manual", "shell", IN_PROJECT)
    assert decision.effect == effect
    assert effect != "ask" or decision.reason == "manual asks before every call"
    assert decide(needs, "some day", "shell", IN_PROJECT) == decision


@pytest.mark.parametrize(
    ("needs", "effect", "reason"),
    [
        (file("write", f"{SCRATCH}/a"), "allow", ""),
        (file("read", f"{PROJECT}/a"), "ask", "a turn from the phone asks outside $SCRATCH"),
        (shell("ls"), "ask", "a turn from the phone asks outside $SCRATCH"),
        (shell("make"), "ask", "cautious does not know this command as read-only"),
        (CallNeeds("settings"), "ask", "a turn from the phone asks outside $SCRATCH"),
        (file("read", f"{HOME}/.ssh/x"), "deny", CLOSED),
    ],
)
def test_a_phone_asks_outside_scratch(needs: CallNeeds, effect: str, reason: str) -> None:
    for origin in ("phone", "something new"):
        decision = decide(needs, "full", origin, IN_PROJECT)
        assert (decision.effect, decision.reason) == (effect, reason)


@pytest.mark.parametrize("mode", ["auto", "full"])
def test_a_mode_without_its_sandbox_is_cautious(mode: str) -> None:
    for needs in (
        shell("make"),
        file("write", "/etc/x"),
        file("write", f"{PROJECT}/x"),
        patch(f"{PROJECT}/x", deletes=1),
    ):
        assert decide(needs, mode, "cli", IN_PROJECT) == cautious(needs)


def test_outside_a_project_only_scratch_is_written() -> None:
    assert decide(file("write", f"{PROJECT}/x"), "cautious", "shell", OUTSIDE).effect == "ask"
    assert decide(file("write", f"{SCRATCH}/x"), "cautious", "shell", OUTSIDE).effect == "allow"


@pytest.mark.parametrize(
    ("needs", "summary"),
    [
        (file("write", "/etc/x"), "write_file: write /etc/x (system)"),
        (shell("curl https://h", network=True), "shell: command curl https://h; the network"),
        (
            shell("git push && ls && curl -H 'X: secret' --user=a:b https://h.example/a/long/path"),
            "shell: command git push && ls && curl -H 'X: secret' --user=a:b"
            " https://h.example/a/long/path\nasks for: git push; curl -H --user=",
        ),
        (shell("ls\n\x1b[2Jmake"), "shell: command ls\\n␛[2Jmake"),
        (
            shell("grep -r x ~/.config", PathUse(f"{HOME}/.config", "read_tree")),
            "shell: command grep -r x ~/.config; read everything below ~/.config (user config)",
        ),
        (
            shell("tee a", *(PathUse(f"/a{n}", "write") for n in range(20))),
            "shell: command tee a; "
            + "; ".join(f"write /a{n} (system)" for n in range(7))
            + "; 13 more",
        ),
        (shell("x", interactive=True), "shell: command x; keys at the terminal"),
        (shell("x", nested=True), "shell: command x; nested shell"),
        (
            patch(f"{HOME}/p/lib/a", f"{PROJECT}/b", f"{PROJECT}/c", deletes=1, moves=True),
            "apply_patch: write ~/p/lib/a (user data); delete ~/p/lib/a (user data); move ~/p/lib/a"
            " (user data) to ~/p/app/b (user data)",
        ),
    ],
)
def test_summaries(needs: CallNeeds, summary: str) -> None:
    assert cautious(needs).summary == summary


def test_manual_lists_what_a_line_changes_and_not_all_that_it_may_read() -> None:
    reads = tuple(PathUse(f"{PROJECT}/{name}", "read") for name in ("install", "x"))
    needs = shell("tee x; make install", *reads, PathUse("/x", "write"))
    found = decide(needs, "manual", "shell", IN_PROJECT)
    assert found.summary == (
        "shell: command tee x; make install; write /x (system)\nasks for: tee x; make install"
    )
    own = Rules((Rule("execute", CommandIs("make"), "allow"),))
    found = decide(shell("make x", *reads[1:]), "manual", "shell", IN_PROJECT, own)
    assert found.summary == "shell: command make x; read ~/p/app/x (user data)", "that asks alone"
    read = decide(file("read", "/etc/x"), "manual", "shell", IN_PROJECT)
    assert read.summary == "read_file: read /etc/x (system)"


def test_each_refused_path_is_named_with_its_class() -> None:
    paths = ("/home/u/.ssh/id", "/home/u/.config/efr/config.toml", "/etc/x", "x\x07")
    decision = cautious(shell("cp", *(PathUse(path, "write") for path in paths)))
    assert decision.refused == (
        "~/.ssh/id (secrets)",
        "~/.config/efr/config.toml (efr's settings (floor))",
        "x␇ (a path that is not absolute)",
    )


LINES = st.lists(
    st.sampled_from(
        [
            "ls",
            "cat a",
            "make",
            "sudo id",
            "echo $(id)",
            "echo `id`",
            "git log",
            "printf '%d' x",
            "cd a b",
        ]
    ),
    min_size=1,
    max_size=3,
)
PATHS = st.sampled_from(
    [
        "/etc/x",
        HOME,
        f"{HOME}/.ssh/id",
        f"{PROJECT}/a",
        f"{SCRATCH}/a",
        f"{HOME}/.config",
        "/",
        "rel",
    ]
)
USES = st.builds(PathUse, PATHS, st.sampled_from(["read", "read_tree", "write"]))
NEEDS = st.builds(
    CallNeeds,
    st.just("shell"),
    st.lists(USES, max_size=3).map(tuple),
    LINES.map("; ".join) | st.none(),
    st.none(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
MODES = st.sampled_from(["manual", "cautious", "auto", "full", "?"])


def strictness(needs: CallNeeds, mode: str, origin: str = "shell") -> int:
    return EFFECTS.index(decide(needs, mode, origin, IN_PROJECT).effect)


@given(NEEDS, USES, MODES, st.sampled_from(["shell", "phone"]))
def test_a_need_more_never_loosens(needs: CallNeeds, use: PathUse, mode: str, origin: str) -> None:
    before = strictness(needs, mode, origin)
    if needs != CallNeeds("shell"):  # a remote call that declares nothing asks
        assert strictness(replace(needs, paths=(*needs.paths, use)), mode, origin) >= before
    for more in (
        {"network": True},
        {"interactive": True},
        {"nested": True},
        {"deletes": (use.path,)},
        {"moves": ((use.path, use.path),)},
    ):
        assert strictness(replace(needs, **more), mode, origin) >= before


@given(NEEDS, MODES)
def test_a_phone_is_never_looser(needs: CallNeeds, mode: str) -> None:
    assert strictness(needs, mode, "phone") >= strictness(needs, mode)
    assert strictness(needs, "manual") >= strictness(needs, "cautious")


@given(LINES)
def test_a_line_is_allowed_only_when_every_part_alone_is(parts: list[str]) -> None:
    alone = max(strictness(shell(part), "cautious") for part in parts)
    for join in ("; ", " && ", " | ", "\n"):
        assert strictness(shell(join.join(parts)), "cautious") == alone


@given(NEEDS, MODES)
def test_a_question_says_why(needs: CallNeeds, mode: str) -> None:
    decision = decide(needs, mode, "shell", IN_PROJECT)
    assert (decision.reason == "") == (decision.effect == "allow")
    assert "\n" not in decision.reason
    assert decision.summary.startswith("shell")
    assert bool(decision.refused) == (decision.effect == "deny")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("$(sudo id)", "sudo"),
        ("a;/usr/bin/doas x", "doas"),
        ("`su`", "su"),
        ("'run0'", "run0"),
        ("x --sudo", None),
        ("sudoers", None),
        ("/etc/sudo/x", None),
        ("sudo.conf", None),
        ("my-su", None),
        ("pseudo", None),
    ],
)
def test_a_privileged_name_in_a_text(text: str, name: str | None) -> None:
    assert privileged_in_text(text) == name


def test_a_denial_in_manual_mode_names_the_rule() -> None:
    rules = Rules((Rule("execute", CommandIs("rm"), "deny"),))
    for line in ("rm x", "env rm x"):
        decision = decide(shell(line), "manual", "shell", IN_PROJECT, rules)
        assert (decision.effect, decision.reason) == (
            "deny",
            "your rule permissions.rules[0] denies",
        )


@pytest.mark.parametrize(
    "line",
    [
        "cat docs*/../../../.ssh/id_rsa",
        "cat do[c]s/../../../.ssh/id_rsa",
        "head docs?/../../../.local/share/efr/secrets/k",
        "sort ~/p/a*/../../.ssh/id_rsa",
        "cat < docs*/../../../.ssh/id_rsa",
        "rg x docs*/../../..",
        "cat /proc/sys/k*/../../self/environ",
        "git diff --no-index docs ~",
        "git diff --no-ind docs ~",
        "git diff docs ../..",
        "git -C . diff docs ../..",
        "grep -d rec BEGIN ~",
        "grep -drec BEGIN ~",
        "egrep --directories=r BEGIN ~",
    ],
)
def test_what_walks_or_climbs_to_a_secret_never_runs_unasked(line: str) -> None:
    for mode in ("manual", "cautious", "auto"):
        assert decide(shell_call(line), mode, "shell", IN_PROJECT).effect != "allow", mode


@pytest.mark.parametrize(
    "line", ["git diff", "git diff HEAD~1 -- src", "cat docs/*.md", "ls docs/*"]
)
def test_a_diff_and_a_pattern_below_run_at_once(line: str) -> None:
    assert decide(shell_call(line), "cautious", "shell", IN_PROJECT).effect == "allow"
