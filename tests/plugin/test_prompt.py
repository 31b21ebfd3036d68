"""What the plugin hands over, sticky mode, wishes, notices and text that comes back."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.plugin.conftest import Start, Zsh, install


def test_the_next_line_after_a_bare_new_starts_a_conversation(start: Start) -> None:
    zsh = start()
    zsh.line(",new")
    assert zsh.calls() == []
    zsh.line(", hi")
    zsh.line(", there")
    zsh.line(",new fix it")
    assert [c.argv[0] for c in zsh.calls()] == ["new", "send", "new"]


def test_the_wish_stays_when_no_daemon_listens(start: Start) -> None:
    zsh = start(env={"STUB_STATUS": "3"})
    zsh.line(",new")
    zsh.line(", hi")
    zsh.line(", hi")
    assert [c.argv[0] for c in zsh.calls()] == ["new", "new"]


def test_the_status_is_the_one_of_the_last_command(start: Start) -> None:
    zsh = start(env={"STUB_STATUS": "5"})
    zsh.line("false")
    zsh.line(", why")
    zsh.line(", again")
    first, second = zsh.calls()
    for call in (first, second):
        assert call.env["EFR_LAST_COMMAND"] == "false"
        assert call.context["last_status"] == 1


def test_the_context_is_json_whatever_the_directory_is_called(start: Start) -> None:
    zsh = start()
    name = 'a "b"\\\n\tü\x01'
    (zsh.home / name).mkdir()
    zsh.line("cd a*; mkdir -p sub; cd sub; cd ..")
    zsh.line(", hi")
    context = zsh.call().context
    assert context["pwd"] == str(zsh.home / name)
    assert context["oldpwd"] == str(zsh.home / name / "sub")
    assert context["tty"] == zsh.terminal.tty
    assert context["shell_pid"] == zsh.terminal.process.pid
    assert "desktop" not in context


def test_desktop_variables_go_without_the_path_of_xauthority(start: Start) -> None:
    zsh = start(env={"DISPLAY": ":0", "SWAYSOCK": "/s", "XAUTHORITY": "/home/x/.Xauthority"})
    zsh.line(", hi")
    assert zsh.call().context["desktop"] == {
        "display": ":0", "swaysock": "/s", "has_xauthority": True
    }  # fmt: skip


def test_recent_commands_are_oldest_first_without_plugin_lines(start: Start) -> None:
    zsh = start(rc="setopt hist_ignore_space")
    for line in ("true", ", hi", " hidden=1", "false", " hidden=2"):
        zsh.line(line)
    zsh.line(", hi")
    call = zsh.calls()[-1]
    assert (call.env["EFR_LAST_COMMAND"], call.context["last_status"]) == ("false", 1)
    recent = json.loads(call.env["EFR_RECENT_COMMANDS"])
    assert [(one["command"], one["status"]) for one in recent] == [("true", 0), ("false", 1)]
    assert set(recent[0]) == {"command", "status", "cwd", "ended_at", "duration_ms"}


def test_a_long_prompt_goes_through_a_file(start: Start) -> None:
    zsh = start()
    zsh.line("long=$(printf 'x%.0s' {1..200000}); \\, $long")
    call = zsh.call()
    assert call.env["the file"] == "x" * 200000
    assert not Path(call.env["EFR_PROMPT_FILE"]).exists()


def test_a_long_prompt_that_cannot_be_written_is_told(start: Start, tmp_path: Path) -> None:
    zsh = start()
    (tmp_path / "efr" / "runtime").mkdir(parents=True)
    (tmp_path / "efr" / "runtime" / "handover").write_text("")
    zsh.line("long=$(printf 'x%.0s' {1..100000}); \\, $long; echo status $?")
    assert zsh.calls() == []
    folder = tmp_path / "efr" / "runtime" / "handover"
    assert f"efr: the prompt does not fit into {folder}" in zsh.terminal.text.replace("\n", "")
    assert "status 1" in zsh.terminal.text


def test_variables_of_the_shell_are_hidden_from_efr(start: Start) -> None:
    zsh = start(rc="export EFR_PROMPT=old EFR_PROMPT_FILE=/old EFR_MODEL=m")
    zsh.line(", hi")
    env = zsh.call().env
    assert (env["EFR_PROMPT"], env["EFR_PROMPT_FILE"], env["EFR_MODEL"]) == ("hi", "", "")


def toggle(zsh: Zsh, key: str) -> None:
    zsh.terminal.type(key)


@pytest.mark.parametrize("rc", ["bindkey -e", "bindkey -v"])
def test_sticky_mode_sends_plain_lines(start: Start, rc: str) -> None:
    zsh = start(rc=rc)
    toggle(zsh, "\x00")
    zsh.terminal.wait_for("🤖")
    zsh.terminal.wait_for("○ ›")
    zsh.line("fix it; touch x")
    assert zsh.call().env["EFR_PROMPT"] == "fix it; touch x"
    assert not (zsh.home / "x").exists()
    zsh.line("!touch y")
    assert (zsh.home / "y").exists()
    toggle(zsh, ",\r")
    zsh.terminal.wait_for(lambda t: "○ ›" not in t.screen.display[t.screen.cursor.y])
    zsh.terminal.type("\x1b[A\x1b[A" if rc == "bindkey -e" else "\x1bkk")
    zsh.terminal.wait_for(lambda t: "fix it; touch x" in t.screen.display[t.screen.cursor.y])
    zsh.enter()
    assert zsh.call().env["EFR_PROMPT"] == "fix it; touch x"


def test_a_theme_of_two_rows_and_a_right_prompt_stay_as_they_are(start: Start) -> None:
    zsh = start(rc="PROMPT=$'\\n~/here\\n'$PROMPT; RPROMPT='the right'; theme=$PROMPT$RPROMPT")
    toggle(zsh, "\x00")
    zsh.terminal.wait_for("○ ›")
    above, row = zsh.terminal.text.splitlines()[-2:]
    assert (above, row.split()) == ("~/here", ["%1%", "🤖", "○", "›", "the", "right"])
    zsh.line("!cd /; [[ $theme == $PROMPT$RPROMPT ]] && touch ~/same")
    assert zsh.terminal.text.splitlines()[-1].split()[1:] == row.split()[1:]
    assert (zsh.home / "same").exists()


def test_the_cursor_shows_again_after_an_efr_that_was_killed(start: Start) -> None:
    zsh = start()
    zsh.line("print -n '\\e[?25l'")
    assert zsh.terminal.screen.cursor.hidden
    zsh.line(", hi")
    assert not zsh.terminal.screen.cursor.hidden


def test_sticky_mode_keeps_setting_words_apart_from_prompts(start: Start) -> None:
    zsh = start()
    toggle(zsh, ",\r")
    zsh.line("model the schema")
    zsh.line("model a;touch x")
    assert [c.env["EFR_PROMPT"] for c in zsh.calls()] == ["model the schema", "model a;touch x"]
    assert not (zsh.home / "x").exists()
    zsh.line("mode auto")
    assert zsh.calls() == []
    zsh.line("go on")
    assert zsh.call().env["EFR_MODE"] == "auto"


def test_an_indicator_that_zsh_would_parse_becomes_a_comma(start: Start) -> None:
    zsh = start(env={"EFR_STICKY_INDICATOR": "efr> "})
    toggle(zsh, "\x00")
    zsh.terminal.wait_for("efr>")
    zsh.line("fix it")
    assert zsh.call().env["EFR_PROMPT"] == "fix it"
    zsh.line("!fc -ln -2 >hist")
    assert ", fix it" in (zsh.home / "hist").read_text()


def test_without_utf8_the_tag_is_plain_ascii(start: Start) -> None:
    zsh = start(env={"LANG": "C"})
    toggle(zsh, "\x00")
    zsh.terminal.wait_for("efr>")
    assert zsh.terminal.text.isascii()


def test_the_scope_of_the_tag_is_read_from_a_file(start: Start, tmp_path: Path) -> None:
    zsh = start()
    runtime = tmp_path / "efr" / "runtime"
    runtime.mkdir(parents=True)
    (runtime / "scopes").write_text(f"{zsh.home}/app\tapp\n{zsh.home}/app/lib\tlibrary\n")
    (zsh.home / "app" / "lib").mkdir(parents=True)
    zsh.line("cd app")
    toggle(zsh, "\x00")
    zsh.terminal.wait_for("app ›")
    zsh.line("!cd lib")
    zsh.terminal.wait_for("library ›")
    (zsh.home / "link").symlink_to(zsh.home / "app" / "lib")
    zsh.line("!cd; clear")
    zsh.terminal.wait_for("○ ›")
    zsh.line("!cd link")
    zsh.terminal.wait_for("library ›")


def test_a_project_at_the_root_holds_every_directory(start: Start, tmp_path: Path) -> None:
    zsh = start()
    runtime = tmp_path / "efr" / "runtime"
    runtime.mkdir(parents=True)
    (runtime / "scopes").write_text(f"/\tall\n{zsh.home}/app\tapp\n")
    (zsh.home / "app").mkdir()
    toggle(zsh, "\x00")
    zsh.terminal.wait_for("all ›")
    zsh.line("!cd app")
    zsh.terminal.wait_for("app ›")
    zsh.line("!cd /")
    zsh.terminal.wait_for(lambda t: t.text.endswith("all ›"))


@pytest.mark.parametrize(
    ("reply", "background", "line"),
    [
        ("\x1b]11;rgb:ffff/ffff/e0e0\x1b\\\x1b[?62;4c", "light", ""),
        (", one\x1b]11;rgba:10/10/20/ff\x07 two\x1b[?1;2c", "dark", "one two"),
        ("\x1b[?1;2c", "dark", ""),
        (", keys\x1b]11;rgb:ffff", "dark", "keys"),  # and then silence
    ],
)
def test_the_terminal_is_asked_once_for_its_background(
    start: Start, reply: str, background: str, line: str
) -> None:
    zsh = start(before="unset EFR_TERMINAL_BG")
    zsh.terminal.wait_for(lambda t: t.raw.endswith(b"\x1b]11;?\x1b\\\x1b[c"))
    zsh.terminal.type(reply)
    if not line:
        zsh.terminal.type(", hi")
    zsh.terminal.wait_for(f", {line or 'hi'}")  # shown by the editor, so the question is over
    zsh.enter()
    call = zsh.call()
    assert call.env["EFR_TERMINAL_BG"] == background
    assert call.env["EFR_PROMPT"] == (line or "hi")
    zsh.line(", again")
    assert zsh.terminal.raw.count(b"\x1b]11;?") == 1
    assert "rgb" not in zsh.terminal.everything


def test_settings_are_kept_only_when_efr_takes_them(start: Start) -> None:
    zsh = start()
    zsh.line(",mode auto")
    zsh.terminal.wait_for("mode = auto")
    zsh.line(",mode bogus")
    zsh.terminal.wait_for("choices")
    zsh.line(", a")
    zsh.line(",mode default")
    zsh.line(", b")
    assert [c.env["EFR_MODE"] for c in zsh.calls()] == ["auto", ""]


def test_tab_completes_the_settings_of_the_terminal(start: Start) -> None:
    zsh = start("autoload -Uz compinit; compinit -u -D; setopt no_list_ambiguous")
    for typed, done in (
        (",mode man", "manual"),
        (",mode d", "default"),
        (",model b", "big"),
        (",model small-2", "small-2"),
        (",effort mi", "mid"),
    ):
        zsh.terminal.type(f"{typed}\t")
        zsh.terminal.wait_for(f"{typed.split()[0]} {done}")
        zsh.terminal.type("\x15")
    zsh.line(",model big")
    zsh.terminal.type(",effort h\t")
    zsh.terminal.wait_for(",effort high")
    zsh.terminal.type("x\t\x15")  # only the first word completes
    assert (zsh.home / "models").read_text() == "x", "read once a minute"
    zsh.line("_comps=()")  # what a later start of the completion system does
    zsh.terminal.type(",mode ful\t")
    zsh.terminal.wait_for(",mode full")


def test_notices_show_once_before_the_prompt(start: Start, tmp_path: Path) -> None:
    zsh = start()
    notices = tmp_path / "efr" / "runtime" / "notices"
    notices.mkdir(parents=True)
    file = notices / zsh.terminal.tty.removeprefix("/dev/").replace("/", "-")
    file.write_text("old one\n")
    os.utime(file, (1, 1))
    zsh.line("true")
    assert "old one" not in zsh.terminal.text
    assert not file.exists()
    file.write_text("first\nsecond \x1b[31mred\n")
    later = time.time() + 5
    os.utime(file, (later, later))
    zsh.line("true")
    assert "first" in zsh.terminal.text
    assert "second ^[[31mred" in zsh.terminal.text
    assert list(notices.iterdir()) == []


def test_text_that_was_not_sent_comes_back(start: Start, tmp_path: Path) -> None:
    zsh = start(env={"STUB_DRAFT": "and\nthis"})
    zsh.line(", one")
    zsh.terminal.wait_for(", and")
    zsh.calls()
    zsh.terminal.type("\r")
    zsh.prompt()
    assert zsh.call().env["EFR_PROMPT"] == "and\nthis"


def test_drafts_of_a_dead_shell_go_and_those_of_a_live_one_stay(
    start: Start, tmp_path: Path
) -> None:
    drafts = tmp_path / "efr" / "runtime" / "drafts"
    drafts.mkdir(parents=True)
    namespace = "".join(c for c in os.readlink("/proc/self/ns/pid") if c.isdigit())
    dead, alive, other = (
        drafts / f"{pid}-1-{ns}-1"
        for pid, ns in ((4194301, namespace), (os.getpid(), namespace), (4194301, "7"))
    )
    for file in (dead, alive, other):
        file.write_text("x")
    start()
    assert [file.exists() for file in (dead, alive, other)] == [False, True, True]


def test_nothing_happens_in_the_agents_own_shell(start: Start) -> None:
    zsh = start(env={"EFR_HIDDEN_SHELL": "1"})
    zsh.line("alias , >a; print -l $precmd_functions >b; whence ,new >c; true")
    assert [(zsh.home / name).read_text().strip() for name in "abc"] == ["", "", ""]


def test_a_missing_program_is_named_and_found_later(start: Start, tmp_path: Path) -> None:
    zsh = start(stub=False)
    assert "not on your PATH" in zsh.terminal.text
    zsh.line(", hi")
    zsh.line("print status=$?")
    assert "status=127" in zsh.terminal.text
    install(tmp_path)
    zsh.line(", hi")
    assert zsh.call().env["EFR_PROMPT"] == "hi"
