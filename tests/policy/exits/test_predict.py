"""Exits: what a yes grants, what the machine judges by itself, what the model asks for, rules."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from efr.policy.engine import Rules, decide
from efr.policy.envelope import envelope
from efr.policy.exits.kinds import Exit
from efr.policy.exits.predict import exits_of
from efr.policy.needs import Beyond, CallNeeds, Facts, FileKind, PathUse, Sandbox
from efr.policy.rules import ExitIs, Rule, rule_problem
from tests.policy.corpus import HOME, IN_PROJECT, SANDBOX, shell_call

PLACE = replace(IN_PROJECT, sandbox=SANDBOX)
PROXY = replace(SANDBOX, proxy=True)


def exits(needs: CallNeeds, sandbox: Sandbox = SANDBOX) -> tuple[Exit, ...]:
    around = envelope(replace(PLACE, sandbox=sandbox))
    assert around is not None
    return exits_of(needs, around, sandbox)


def shown(one: Exit) -> str:
    """`kind target grant:value`, `!` when only the user may, `-` when it runs without a sandbox."""
    grant = "" if one.grant is None else f" {one.grant.kind}:{one.grant.value}"
    made = "" if one.grant is None or one.grant.made is None else f"+{one.grant.made}"
    marks = "!" * one.user_only + "-" * one.unsandboxed
    return f"{marks}{one.kind} {one.target}{grant}{made}".replace(HOME, "~")


@pytest.mark.parametrize(
    ("line", "kinds", "expected"),
    [
        # what is bound for a write outside the roots
        ("touch ~/a/b", {}, ["write ~/a/b write:~/a"]),
        ("touch ~/b", {}, ["write ~/b write:~/b"]),
        ("touch ~/.config/b", {}, ["write ~/.config/b write:~/.config/b"]),
        ("touch ~/d", {"~/d": "dir"}, ["write ~/d write:~/d"]),
        ("touch ~/n", {"~/n": "missing"}, ["write ~/n write:~/n+file"]),
        ("mkdir ~/n", {"~/n": "missing"}, ["write ~/n write:~/n+dir"]),
        ("x > ~/n", {"~/n": "missing"}, ["write ~/n write:~/n+file"]),
        ("cp a ~/a/n", {"~/a/n": "missing"}, ["write ~/a/n write:~/a"]),
        ("cp a ~/n", {"~/n": "missing"}, ["!-write ~/n"]),
        ("touch /etc/x", {}, ["!-write /etc/x"]),
        ("touch ~/.aws/config", {}, ["!-write ~/.aws/config"]),
        # the other classes of a write, the first that fits
        ("touch ~/.zshrc", {}, ["!-persistence ~/.zshrc"]),
        ("touch ~/Dropbox/x", {}, ["!-synced_write ~/Dropbox/x"]),
        ("rmdir ~/p", {}, ["!-above_root ~/p"]),
        ("touch src/x /tmp/x ~/.cache/x", {}, []),
        # devices, sockets of programs, the network
        ("smartctl /dev/sda", {"/dev/sda": "block"}, ["!device /dev/sda device:/dev/sda"]),
        ("x of=/dev/video0", {}, ["device /dev/video0 device:/dev/video0"]),
        ("dd if=/dev/urandom of=/dev/null", {}, ["destructive dd"]),
        ("curl https://H.example/x", {}, ["host h.example:443 open_network:"]),
        ("curl http://u@h:80", {}, ["host h:80 open_network:"]),
        ("systemctl --user status x", {}, ["bus systemctl bus:session"]),
        ("ss -t", {}, ["host_view ss net_view:"]),
        ("xclip", {}, ["!desktop_ipc xclip desktop:"]),
        # inside others
        ("sudo env git push", {}, ["!-privilege sudo", "!-upload git"]),
        ("sh -c 'curl x'", {}, ["host  open_network:"]),
        ("cat <<E\nsudo x\nE", {}, []),
        ("if true; then git reset --hard; fi", {}, ["destructive git"]),
        ("echo $(ssh h)", {}, ["host  open_network:"]),
    ],
)
def test_exits_and_their_grants(line: str, kinds: dict[str, FileKind], expected: list[str]) -> None:
    known = {path.replace("~", HOME): kind for path, kind in kinds.items()}
    needs = replace(shell_call(line), facts=Facts(kinds=known))
    assert [shown(one) for one in exits(needs)] == expected


@pytest.mark.parametrize(
    ("line", "support", "expected"),
    [
        ("curl https://h.example", {"proxy": True}, []),
        ("ssh box", {"proxy": True}, ["-outside ssh"]),
        ("systemctl status x", {"bus_filter": True}, []),
        ("ip addr", {"net_view": True}, []),
        ("git reset --hard", {"snapshots": True}, []),
        ("git push", {"proxy": True, "snapshots": True}, ["!-upload git"]),
    ],
)
def test_what_the_machine_judges_is_no_exit(
    line: str, support: dict[str, bool], expected: list[str]
) -> None:
    sandbox = replace(SANDBOX, **support)
    assert [shown(one) for one in exits(shell_call(line), sandbox)] == expected


@pytest.mark.parametrize(
    ("beyond", "expected"),
    [
        ({"write": ("~/x", "src/a", "/tmp/a")}, ["write ~/x write:~/x"]),
        ({"hosts": ("H.example", "ssh://g:22/x")}, ["host h.example:443 open_network:",
                                                     "host g:22 open_network:"]),
        ({"sockets": ("/run/docker.sock",)}, ["!-privilege /run/docker.sock"]),
        ({"sockets": ("/run/user/1/bus",)}, ["bus session bus:session"]),
        ({"sockets": ("/run/user/1/wayland-1",)},
         ["!desktop_ipc /run/user/1/wayland-1 desktop:/run/user/1/wayland-1"]),
        ({"sockets": ("/run/pg",)}, ["socket /run/pg socket:/run/pg"]),
        ({"bus": "system"}, ["bus system bus:system"]),
        ({"device": "/dev/x"}, ["device /dev/x device:/dev/x"]),
        ({"unmask": (".env", "src/x")}, ["!masked_read ~/p/app/.env unmask:~/p/app/.env"]),
        ({"outside": True}, ["-outside "]),
    ],
)  # fmt: skip
def test_what_the_model_asks_for(beyond: dict[str, Any], expected: list[str]) -> None:
    found = exits(replace(shell_call("true"), beyond=Beyond(**beyond)))
    assert [shown(one) for one in found] == expected
    assert {one.source for one in found} == {"needs"}


def test_network_without_a_program_is_one_exit() -> None:
    needs = replace(shell_call("./tool"), network=True)
    assert [one.kind for one in exits(needs)] == ["host"]
    assert [one.kind for one in exits(replace(shell_call("curl x"), network=True))] == ["host"]


def decided(line: str, *rules: Rule, sandbox: Sandbox = SANDBOX) -> str:
    assert [rule_problem(rule) for rule in rules] == [None] * len(rules)
    place = replace(PLACE, sandbox=sandbox)
    return decide(shell_call(line), "auto", "shell", place, Rules(rules)).effect


RESET = ExitIs("destructive", program="git", args=("reset",), under="~/p/app")
NOTES = ExitIs("write", path="~/notes")


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        ("git reset --hard", "contain"),
        ("git clean -fd", "ask"),
        ("git reset --hard; git clean -fd", "ask"),
        ("git reset --hard && rm -rf src", "ask"),
        ("git reset --hard $(id)", "ask"),
        ("touch ~/notes/a", "contain"),
        ("touch ~/notes/a ~/other", "ask"),
        ("touch ~/other", "ask"),
        ("sudo touch ~/notes/a", "ask"),
    ],
)
def test_a_rule_answers_its_exit_and_no_other(line: str, effect: str) -> None:
    rules = (Rule("exit", RESET, "allow"), Rule("exit", NOTES, "allow"))
    assert decided(line) == "ask"
    assert decided(line, *rules) == effect
    assert decided(line, *rules, Rule("exit", RESET, "ask"), Rule("exit", NOTES, "ask")) == "ask"


def test_a_rule_denies_an_exit() -> None:
    rules = (Rule("exit", RESET, "allow"), Rule("exit", RESET, "deny"))
    assert decided("git reset --hard", *rules) == "deny"
    host = ExitIs("host", host="h.example", under="~/p/app")
    assert decided("curl https://h.example/x", Rule("exit", host, "allow")) == "contain"
    assert decided("curl https://h.example:8443/x", Rule("exit", host, "allow")) == "ask"
    outside = replace(host, under="~/p/lib")
    assert decided("curl https://h.example/x", Rule("exit", outside, "allow")) == "ask"


def test_no_rule_answers_for_a_secret() -> None:
    everywhere = Rule("exit", ExitIs("write", path="~"), "allow")
    assert decided("touch ~/.ssh/x", everywhere) == "deny"
    assert decided("touch ~/.config/efr/config.toml", everywhere) == "deny"


def test_a_rule_about_writes_opens_what_the_sandbox_can_bind_and_no_more() -> None:
    rules = [Rule("exit", ExitIs("write", path=path), "allow") for path in ("~", "/etc")]
    assert decided("touch ~/notes/a", *rules) == "contain"
    for line in ("touch /etc/x", "touch ~/.aws/config", "touch ~/.zshrc", "touch ~/Dropbox/x"):
        assert decided(line, *rules) == "ask", line
    no = Rule("exit", ExitIs("write", path="/etc"), "deny")
    assert decided("touch /etc/x", no, *rules) == "deny"


def test_a_file_tool_has_the_exits_of_masks_and_floors() -> None:
    for path, access, effect in (
        ("~/.zshrc", "write", "ask"),
        ("~/p/app/.git/hooks/x", "write", "ask"),
        ("~/.zsh_history", "read", "ask"),
        ("~/p/app/.env.example", "read", "allow"),
        ("~/p/app/src/a", "write", "allow"),
    ):
        use = PathUse(path.replace("~", HOME), access)  # type: ignore[arg-type]
        assert decide(CallNeeds("x", (use,)), "auto", "shell", PLACE).effect == effect, path
