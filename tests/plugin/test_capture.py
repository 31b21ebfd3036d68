"""A `,` line reaches efr as typed, however it is accepted and whatever the options."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import PLUGIN, Start

NASTY = ', what\'s up? * > x; rm !! $(id) `id` | & "q" \\ #'


def test_a_prompt_is_never_parsed(start: Start) -> None:
    zsh = start()
    zsh.line(NASTY)
    call = zsh.call()
    assert call.argv == ["send"]
    assert call.env["EFR_PROMPT"] == NASTY[2:]
    assert not (zsh.home / "x").exists()
    assert zsh.history() == NASTY


WAYS = [
    ("setup", "keys"),
    ("histchars='!^%'", "\r"),
    ("histchars=", "\r"),
    ("unsetopt aliases", "\r"),
    ("unalias -a", "\r"),
    ("setopt rc_quotes", "\r"),
    ("setopt csh_junkie_quotes", "\r"),
    ("setopt no_bang_hist interactive_comments", "\r"),
    ("setopt csh_junkie_quotes no_aliases", "\r"),
    (":", "\x1ba"),
    (":", "\x0f"),
]


@pytest.mark.parametrize(("setup", "keys"), WAYS[1:])
def test_every_way_to_accept_and_every_option_keeps_the_text(
    start: Start, setup: str, keys: str
) -> None:
    zsh = start(rc=setup)
    zsh.terminal.type(", hi; touch x 'y!")
    zsh.terminal.type(keys)
    zsh.prompt()
    assert zsh.call().env["EFR_PROMPT"] == "hi; touch x 'y!"
    assert not (zsh.home / "x").exists()


def test_a_line_found_in_history_goes_to_the_agent(start: Start) -> None:
    zsh = start()
    zsh.line(", hi; touch x")
    zsh.calls()
    zsh.terminal.type("\x12touch")
    zsh.terminal.wait_for("bck-i-search")
    zsh.enter()
    assert zsh.call().env["EFR_PROMPT"] == "hi; touch x"
    assert not (zsh.home / "x").exists()


def test_the_options_are_the_users_own_again(start: Start) -> None:
    zsh = start(rc="unsetopt interactive_comments; setopt bang_hist")
    zsh.line(", one")
    zsh.line(",( bad")
    zsh.line("[[ -o interactive_comments || ! -o bang_hist ]] || touch same")
    assert (zsh.home / "same").exists()


USERS = [  # what a .zshrc sets before and after the plugin, and how a prompt stands on the screen
    ("setopt extended_glob no_unset warn_create_global warn_nested_var", ":", False),
    (":", "setopt ksh_arrays extended_glob glob_assign glob_subst err_return", False),
    ("alias local=a print=b typeset=c; alias -g start=d send=e -- --=f", "IFS=xen:", False),
    (":", "emulate sh", False),
    ("emulate ksh", ":", True),  # ksh has local_options, so the hook can set none
    ("setopt local_options interactive_comments extended_glob", ":", True),
]


@pytest.mark.parametrize(("before", "rc", "quoted"), USERS)
def test_options_and_aliases_of_the_user_change_nothing(
    start: Start, before: str, rc: str, quoted: bool
) -> None:
    zsh = start(before=before, rc=rc)
    zsh.line("setopt >was")
    zsh.line(", one; touch x")
    zsh.line("setopt >now")
    zsh.line(",new")
    zsh.terminal.type(b"\x1b[200~, two\ntouch x $(touch x)\x1b[201~")
    zsh.enter()
    zsh.terminal.type(",\r")
    zsh.terminal.wait_for("›")
    zsh.line("three * $(touch x)")
    calls = [(c.argv[0], c.env["EFR_PROMPT"], c.env["EFR_LAST_COMMAND"]) for c in zsh.calls()]
    assert calls == [
        ("send", "one; touch x", "setopt >was"),
        ("new", "two\ntouch x $(touch x)", "setopt >now"),
        ("send", "three * $(touch x)", "setopt >now"),
    ]
    assert not (zsh.home / "x").exists()
    assert (zsh.home / "now").read_text() == (zsh.home / "was").read_text()
    assert ("'one; touch x'" in zsh.terminal.text) is quoted
    for fault in ("_efr_", "not found", "not set", "bad "):
        assert fault not in zsh.terminal.text


def test_a_leading_blank_hides_the_line_from_history(start: Start) -> None:
    zsh = start(rc="setopt hist_ignore_space")
    zsh.line("echo kept")
    zsh.line(" , secret wish")
    assert zsh.call().env["EFR_PROMPT"] == "secret wish"
    zsh.line("print -r -- ${(v)history} >hist")
    assert "secret" not in (zsh.home / "hist").read_text()


@pytest.mark.parametrize("rc", ["", "setopt csh_junkie_quotes", "setopt rc_quotes"])
def test_a_prompt_of_three_lines_runs_no_line(start: Start, rc: str) -> None:
    zsh = start(rc=rc)
    text = "it's one\ntouch x\n'three' !!"
    zsh.terminal.type(b"\x1b[200~, " + text.encode() + b"\x1b[201~")
    zsh.enter()
    assert zsh.call().env["EFR_PROMPT"] == text
    zsh.terminal.type("\x1b[A")
    zsh.enter()
    assert zsh.call().env["EFR_PROMPT"] == text
    assert not (zsh.home / "x").exists()


def test_a_word_that_is_no_command_starts_a_prompt(start: Start) -> None:
    zsh = start()
    zsh.line(",run make")
    assert zsh.call().env["EFR_PROMPT"] == "run make"
    assert zsh.history() == ", run make"
    zsh.line(",now what")
    assert zsh.call().env["EFR_PROMPT"] == "now what"


def test_a_steer_a_focus_and_an_id_carry_no_settings_and_no_command(start: Start) -> None:
    zsh = start(env={"EFR_MODE": "manual"})
    zsh.line("false")
    zsh.line(",!stop now")
    call = zsh.call()
    assert call.argv == ["send", "--steer"]
    assert call.env["EFR_PROMPT"] == "stop now"
    assert (call.env["EFR_MODE"], call.env["EFR_LAST_COMMAND"]) == ("", "")
    zsh.line(",compact what's * failing")
    call = zsh.call()
    assert call.argv == ["compact"]
    assert call.env["EFR_PROMPT"] == "what's * failing"
    assert (call.env["EFR_MODE"], call.env["EFR_LAST_COMMAND"]) == ("", "")
    zsh.line(",context")
    assert zsh.call().argv == ["context"]
    zsh.line(",context 019a9b1c")
    assert zsh.call().argv == ["context", "019a9b1c"]
    zsh.line(",away")
    call = zsh.call()
    assert (call.argv, call.env["EFR_PROMPT"]) == (["away"], "")
    zsh.line(",away now; print away=$?")
    assert "usage: ,away" in zsh.terminal.text
    assert "away=2" in zsh.terminal.text
    zsh.line(",context one two; print status=$?")
    assert "usage: ,context" in zsh.terminal.text
    assert "status=2" in zsh.terminal.text


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (",moed auto", ",mode"),
        (",modde", ",mode"),
        (",mde x", ",mode"),
        (",modek", ",model"),
        (",modle x", ",model"),
        (",effert", ",effort"),
        (",compct it", ",compact"),
        (",contxt", ",context"),
        (",awya", ",away"),
        (",resme rsync", ",resume"),
        (",enw", ",new"),
    ],
)
def test_a_typo_keeps_the_line(start: Start, line: str, meant: str) -> None:
    zsh = start()
    zsh.terminal.type(line + "\r")
    zsh.terminal.wait_for(f"did you mean {meant}?")
    assert zsh.calls() == []
    zsh.terminal.type("\x15echo still-here\r")
    zsh.terminal.wait_for(lambda t: "\nstill-here" in t.text)


def test_a_users_own_comma_word_runs(start: Start) -> None:
    zsh = start()
    zsh.line(",mine() { touch mine }")
    zsh.line(",mine")
    assert (zsh.home / "mine").exists()
    assert zsh.calls() == []


def test_called_inside_a_function_the_arguments_are_the_prompt(start: Start) -> None:
    zsh = start()
    zsh.line("f() { \\, one 'two  three' }; f")
    assert zsh.call().env["EFR_PROMPT"] == "one two  three"


def test_no_text_is_a_usage_error(start: Start) -> None:
    zsh = start()
    zsh.line(",!")
    zsh.line("print bang=$?")
    zsh.line("\\, ; print comma=$?")
    assert "usage: ,!" in zsh.terminal.text
    assert "usage: , <prompt>" in zsh.terminal.text
    assert "bang=2" in zsh.terminal.text
    assert "comma=2" in zsh.terminal.text
    assert zsh.calls() == []


def test_another_plugins_line_finish_runs_too(start: Start) -> None:
    other = "f() { touch other-{}; return 1 }; zle -N zle-line-finish f"
    zsh = start(before=other.replace("{}", "before"), rc="")
    zsh.line(", hi; touch x")
    assert (zsh.home / "other-before").exists()
    zsh.line(other.replace("{}", "after").replace("f()", "g()").replace(" f", " g"))
    zsh.line(", hi; touch x")
    assert (zsh.home / "other-after").exists()
    assert not (zsh.home / "x").exists()
    assert [c.env["EFR_PROMPT"] for c in zsh.calls()] == ["hi; touch x"] * 2


def test_widget_wrapping_plugins_before_and_after_keep_enter_working(start: Start) -> None:
    wrap = (
        "zle -A accept-line orig-{0}; w{0}() {{ touch wrapped-{0}; zle orig-{0} }};"
        " zle -N accept-line w{0}"
    )
    zsh = start(before=wrap.format(1), rc=wrap.format(2))
    zsh.line(", hi")
    assert zsh.call().env["EFR_PROMPT"] == "hi"
    assert (zsh.home / "wrapped-1").exists()
    assert (zsh.home / "wrapped-2").exists()


@pytest.mark.parametrize(
    "how",
    [
        "load() { emulate -L zsh; setopt warn_create_global no_unset; source {} }; load",
        "zmodload zsh/sched; sched +0 'source {}'",
        "load() { zle -D zle-line-init; source {} }; zle -N zle-line-init load",
    ],
)
def test_a_plugin_manager_may_load_it_late_and_in_a_function(start: Start, how: str) -> None:
    zsh = start(before=how.replace("{}", str(PLUGIN)) + "; return")
    zsh.line(",new")
    zsh.line(", hi; touch x")
    assert (zsh.call().argv, (zsh.home / "x").exists()) == (["new"], False)
    assert "_efr_" not in zsh.terminal.text


def test_sourcing_twice_changes_nothing(start: Start) -> None:
    zsh = start(rc=f"source {PLUGIN}; zle -lL >widgets")
    zsh.line(", once")
    assert zsh.call().env["EFR_PROMPT"] == "once"
    assert (zsh.home / "widgets").read_text().count("_efr_accept_line") == 1


def test_continuation_lines_and_vared_are_left_alone(start: Start) -> None:
    zsh = start(rc="_efr_sticky=1")
    zsh.terminal.type("!echo 'a\r")
    zsh.terminal.wait_for("quote>")
    zsh.terminal.type(", b'\r")
    zsh.prompt()
    assert zsh.calls() == []
    zsh.terminal.type("!v=1; vared v\r")
    zsh.terminal.type("x\r")
    zsh.prompt()
    assert zsh.calls() == []


RESUMES = [
    (",resume", ""),
    (",resume 2", "2"),
    (",resume --take 2", "--take 2"),
    (",resume rsync $(touch x) 'photos; touch x", "rsync $(touch x) 'photos; touch x"),
]


@pytest.mark.parametrize(("line", "text"), RESUMES)
def test_what_stands_behind_resume_is_never_parsed_or_shown_in_arguments(
    start: Start, line: str, text: str
) -> None:
    zsh = start(env={"EFR_MODE": "manual"})
    zsh.line("false")
    zsh.line(line)
    call = zsh.call()
    assert call.argv == ["resume"]
    assert call.env["EFR_PROMPT"] == text
    assert (call.env["EFR_MODE"], call.env["EFR_LAST_COMMAND"]) == ("", "")
    assert call.context["tty"] == zsh.terminal.tty
    assert not (zsh.home / "x").exists()
    assert zsh.history() == line


def test_a_resume_ends_the_wish_for_a_new_conversation(start: Start) -> None:
    zsh = start()
    zsh.line(",new")
    zsh.line(",resume 2")
    zsh.line(", hi")
    assert [call.argv for call in zsh.calls()] == [["resume"], ["send"]]


def test_a_resume_that_failed_keeps_the_wish(start: Start) -> None:
    zsh = start(env={"STUB_STATUS": "1"})
    zsh.line(",new")
    zsh.line(",resume 2")
    zsh.line(", hi")
    assert [call.argv for call in zsh.calls()] == [["resume"], ["new"]]
