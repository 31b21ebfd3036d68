"""Calls in a real hidden zsh: what stays, what a call's result says, what the shell never does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from efr.base.cancel import Cancel
from efr.shell.contract import CallEnd, ShellCall
from efr.shell.errors import CannotMove
from tests.shell.rig import LIMIT_S, Rig, Watcher, World


def test_directory_variables_and_aliases_stay(rig: Rig) -> None:
    first = rig.run("cd /usr; export X=1; y=2; alias hi='echo hello'; f() { echo f $1; }")
    second = rig.run("hi $X $y $PWD; f 3")

    assert (first.kind, first.exit_code, first.cwd) == ("exited", 0, "/usr")
    assert second.output == "hello 1 2 /usr\nf 3\n"
    assert rig.heard.wait_for("cwd") == ("cwd", "/usr")
    assert rig.shell.cwd == "/usr"


def test_an_end_has_status_output_and_directory(rig: Rig) -> None:
    assert rig.run("printf a") == CallEnd("exited", 0, "a", False, str(rig.home))
    assert rig.run("false").exit_code == 1
    assert rig.run("(exit 42)").exit_code == 42
    assert rig.run("kill -9 $(sh -c 'echo $PPID') & wait $!").exit_code == 137


@pytest.mark.parametrize(
    "line", ["echo 'open", 'echo "open', "echo $(", "cat <<X\nno end", "if true"]
)
def test_an_unfinished_line_does_not_run(rig: Rig, line: str) -> None:
    end = rig.run(line)

    assert (end.kind, end.exit_code) == ("not_run", None)
    assert end.note is not None
    assert "Nothing ran" in end.note
    assert rig.run("echo next").output == "next\n"


def test_a_parse_error_gives_the_complaint(rig: Rig) -> None:
    end = rig.run("echo one; )")

    assert (end.kind, end.output) == ("not_run", "zsh: parse error near `)'")
    assert rig.run("echo next").output == "next\n"


@pytest.mark.parametrize("line", ["", "  \n\t ", "echo \0", "echo \x1b[201~"])
def test_a_line_that_cannot_be_typed_is_refused(rig: Rig, line: str) -> None:
    assert rig.run(line).kind == "not_run"
    assert rig.heard.all == []


def test_several_lines_are_one_command(rig: Rig) -> None:
    end = rig.run("for i in 1 2\ndo\n  echo $i  # count\ndone\ncat <<X\ntab\there\nX\nfalse")

    assert (end.output, end.exit_code) == ("1\n2\ntab\there\n", 1)


def test_control_characters_in_a_line_reach_the_command(rig: Rig) -> None:
    end = rig.run("printf %s '\x03\x04\x11\x13\x15\x1a\x1b\x7f\\' | od -An -tx1; echo \"it's\"")

    assert end.output.split("\n") == [" 03 04 11 13 15 1a 1b 7f 5c", "it's", ""]


def test_a_long_line_is_typed_whole(rig: Rig) -> None:
    text = "0123456789abcdef" * 8192  # 128 KiB

    end = rig.run(f"print -rn -- {text} | cksum; print -rn -- {text[:8]}")

    assert end.output.endswith(text[:8])
    assert end.output.split()[1] == str(len(text))


def test_odd_characters_survive(rig: Rig) -> None:
    words = ["!!", "a!b", "^x^y", "$'é'", "漢字", "👩‍👧", "~", "*", "a\\b"]

    end = rig.run("print -rl -- '!!' a'!'b '^x^y' 'é' 漢字 👩‍👧 '~' '*' 'a\\b'")

    assert end.output.splitlines() == [*words[:3], "é", *words[4:]]


def test_exit_ends_the_shell_and_the_next_call_gets_a_new_one(rig: Rig) -> None:
    rig.run("cd /usr; X=1")
    old = rig.shell.pid

    end = rig.run("echo bye; exit 3")
    after = rig.run("echo ${X-unset} $PWD")

    assert (end.kind, end.exit_code, end.output) == ("shell_exited", 3, "bye\n")
    assert after.output == f"unset {rig.home}\n"
    assert rig.shell.pid != old
    assert rig.heard.wait_for("exited") == ("exited", 3)


def test_a_killed_shell_is_told_from_its_signal(rig: Rig) -> None:
    end = rig.run("kill -9 $$")

    assert (end.kind, end.exit_code) == ("shell_exited", 137)


def test_marks_printed_by_a_program_do_not_end_its_call(rig: Rig) -> None:
    script = r"printf '\033]133;D;7\007\033]133;A\007\033]133;B\007'; sleep 0.3; echo end; exit 5"

    end = rig.run(f"sh -c {script!r}".replace("\\\\", "\\"))

    assert (end.kind, end.exit_code) == ("exited", 5)
    assert end.output == "end\n"


def test_a_mark_with_the_right_nonce_counts_only_from_the_shell(rig: Rig) -> None:
    rig.run("true")
    nonce = rig.recorded.partition(b"aid=")[2][:32].decode()

    end = rig.run(f"sh -c \"printf '\\\\033]133;D;7;aid={nonce}\\\\007'; sleep 0.3; exit 5\"")

    assert end.exit_code == 5


def test_a_shell_in_tmux_does_not_count(rig: Rig, tmp_path: Path) -> None:
    wrapped = rb"\033Ptmux;\033\033]133;D;0\007\033\033]133;A\007\033\\"

    end = rig.run(f"sh -c \"printf '{wrapped.decode()}'; sleep 0.2; echo x; exit 4\"")

    assert (end.exit_code, end.output) == (4, "x\n")


def test_an_open_control_string_does_not_swallow_the_end(rig: Rig) -> None:
    for start in ("P", "]0;title", "_", "[3", "^"):
        end = rig.run(f"printf 'x\\033{start}'")
        assert (end.kind, end.exit_code) == ("exited", 0)


def test_directory_marks_of_programs_do_not_count(rig: Rig) -> None:
    end = rig.run(r"sh -c 'printf \\033]7\;kitty-shell-cwd://h/etc\\007'")

    assert end.cwd == str(rig.home)
    assert rig.shell.cwd == str(rig.home)


def test_user_hooks_and_word_changes_do_not_run(world: World) -> None:
    rig = world.rig(
        zshrc="""
autoload -Uz add-zsh-hook
log() { print -r -- "$1" >> $HOME/ran }
prompt_precmd() { log precmd }
add-zsh-hook precmd prompt_precmd
precmd() { log precmd0 }
preexec() { log preexec }
chpwd() { log chpwd; ls }
periodic() { log periodic }
PERIOD=1
PS1='$(log prompt)%~ '
RPS1='right'
setopt prompt_subst share_history auto_cd cdable_vars auto_pushd null_glob correct_all ksh_arrays
setopt local_options rc_quotes
alias -g G='| grep' L='| less'
alias -s txt=cat
alias ls='ls --color=always' rm='rm -i'
cat() { echo fake }
zle-line-init() { log line-init }
zle -N zle-line-init
bindkey -v
bindkey -s '^M' 'echo typed\\n'
cdpath=(/usr)
REPORTTIME=0
""",
        trusted=lambda: ("ls", "cat", "stat", "rm"),
    )
    rig.run("true")
    (rig.home / "ran").unlink(missing_ok=True)  # the first prompt is the user's own
    (rig.home / "bin").mkdir()

    ends = [
        rig.run("echo a G b L 'c''d'"),
        rig.run("cd /usr"),
        rig.run("whence -w ls cat rm"),
        rig.run("bin"),
        rig.run("echo !! no*match"),
        rig.run("false; echo $?"),
    ]

    assert [end.output for end in ends[:3]] == [
        "a G b L cd\n",
        "",
        "ls: command\ncat: command\nrm: command\n",
    ]
    assert ends[3].exit_code == 127
    assert ends[4].exit_code == 1
    assert "no matches found" in ends[4].output
    assert ends[5].output == "1\n"
    assert not (rig.home / "ran").exists()


def test_names_changed_by_a_call_are_right_before_the_next(world: World) -> None:
    rig = world.rig(trusted=lambda: ("ls", "stat", "true"))
    rig.run("alias ls='echo no'; zmodload zsh/stat; stat() { echo no; }; precmd() { echo PRE; }")

    end = rig.run("whence -w ls stat true echo")

    assert end.output == "ls: command\nstat: command\ntrue: command\necho: builtin\n"


def test_a_change_of_the_trusted_names_starts_an_idle_shell_anew(world: World) -> None:
    names = ["ls"]
    rig = world.rig(trusted=lambda: tuple(names))
    rig.run("cd /usr; ls() { echo no; }")
    old = rig.shell.pid
    names.append("cat")

    end = rig.run("pwd; whence -w cat")

    assert (end.output, rig.shell.pid != old) == ("/usr\ncat: command\n", True)


def test_the_environment_is_the_users_and_nothing_of_the_daemon(world: World) -> None:
    rig = world.rig(
        environment={
            "EFR_HOME": "/x",
            "_EFR_Y": "1",
            "TMUX": "/tmp/tmux",
            "TMUX_PANE": "%1",
            "NOTIFY_SOCKET": "/run/n",
            "INVOCATION_ID": "i",
            "TERM_PROGRAM": "x",
            "KITTY_WINDOW_ID": "1",
            "MINE": "a b",
            "EDITOR": "vim",
            "SHLVL": "7",
        }
    )
    lines = rig.run("env").output.splitlines()
    names = {line.partition("=")[0] for line in lines}

    assert [line for line in lines if "EFR" in line.partition("=")[0]] == ["EFR_HIDDEN_SHELL=1"]
    assert names.isdisjoint(
        ("TMUX", "TMUX_PANE", "NOTIFY_SOCKET", "INVOCATION_ID", "TERM_PROGRAM", "KITTY_WINDOW_ID")
    )
    assert {"MINE=a b", "PAGER=cat", "AWS_PAGER=", f"SCRATCH={rig.scratch}"} <= set(lines)
    assert {"TERM=xterm-256color", "COLORTERM=truecolor", "SHLVL=1"} <= set(lines)
    assert names.isdisjoint(("ZDOTDIR", "PYTHONPATH", "LC_CTYPE"))


def test_the_users_zdotdir_and_startup_files_are_read(world: World, tmp_path: Path) -> None:
    dot = tmp_path / "dot"
    dot.mkdir()
    for name in ("zshenv", "zprofile", "zshrc", "zlogin"):
        (dot / f".{name}").write_text(f"seen+=({name}); zd_{name}=$ZDOTDIR\n")
    rig = world.rig(environment={"ZDOTDIR": str(dot)})

    end = rig.run("echo $seen $ZDOTDIR $zd_zshenv; [[ -o login ]] && echo login")

    assert end.output == f"zshenv zprofile zshrc zlogin {dot} {dot}\nlogin\n"


def test_descriptors_signals_and_session_are_the_shells_own(rig: Rig) -> None:
    end = rig.run(
        "ls /proc/$$/fd | tr '\\n' ' '; grep -E 'Sig(Ign|Blk)' /proc/self/status;"
        " ps -o pid=,sid=,tty= -p $$; umask; stty size"
    )
    text = end.output.split()

    assert {"0", "1", "2", "10"} <= set(text)
    assert "SigBlk:\t0000000000000000" in end.output
    ignored = int(end.output.partition("SigIgn:\t")[2][:16], 16)
    assert ignored & 0x7FFFFFFF == 0  # 32 and 33 are the C library's own
    lines = end.output.splitlines()
    assert lines[-3].split()[:2] == [str(rig.shell.pid)] * 2
    assert lines[-2:] == ["022", "48 160"]
    assert rig.recorders[-1].sizes == [(160, 48)]


def test_editors_fail_at_once_and_pagers_do_not_wait(rig: Rig) -> None:
    rig.run("git init -q . && git config user.name t && git config user.email t@example.invalid")
    rig.run("touch f && git add f && git commit -q -m first")

    log = rig.run("git log --format=%s")
    commit = rig.run("git commit --allow-empty")

    assert log.output == "first\n"
    assert commit.exit_code == 1
    assert "no editor can be opened here" in commit.output


def test_marks_go_to_the_terminal_when_the_output_does_not(rig: Rig) -> None:
    rig.run(f"exec 3>&1 >{rig.home}/out")

    assert rig.run("echo into the file").kind == "exited"
    assert rig.run("exec >&3; cat out; set -x").output == "into the file\n"
    assert rig.run("set +x").output == "+zsh:4> set +x\n"


def test_a_background_child_is_left_alone(rig: Rig) -> None:
    first = rig.run("(sleep 0.2; echo late > late; trap '' HUP; sleep 30) & echo now; pid=$!")
    second = rig.run("while [[ ! -e late ]]; do sleep 0.05; done; kill -0 $pid && cat late")
    rig.run("kill -9 $pid")

    assert first.output.splitlines()[-1] == "now"
    assert (second.exit_code, second.output) == (0, "late\n")


def test_move_to_moves_the_shell_and_refuses_what_is_not_there(rig: Rig) -> None:
    rig.shell.move_to("/usr")
    assert rig.heard.all == []
    assert rig.run("pwd").output == "/usr\n"

    rig.shell.move_to("/")
    assert rig.shell.cwd == "/"
    with pytest.raises(CannotMove, match="no such file"):
        rig.shell.move_to("/does/not/exist")
    assert rig.run("pwd").output == "/\n"


def test_a_directory_with_odd_characters_is_known(rig: Rig) -> None:
    name = "a b'c;é漢 %41"
    (rig.home / name).mkdir()

    rig.shell.move_to(str(rig.home / name))
    end = rig.run("pwd")

    assert end.output == f"{rig.home / name}\n"
    assert end.cwd == str(rig.home / name)


def test_a_start_directory_that_is_gone_is_its_nearest_parent(rig: Rig) -> None:
    rig.shell.move_to(str(rig.home / "gone" / "deeper"))

    assert rig.run("pwd").output == f"{rig.home}\n"


def test_a_line_does_not_run_where_it_was_not_judged(world: World) -> None:
    rig = world.rig(zshrc="cd ~/other")
    for name in ("other", "sub"):
        (rig.home / name).mkdir()
    here, sub = str(rig.home / "other"), str(rig.home / "sub")

    end = rig.run("echo ran > ran", directory=str(rig.home))
    assert (end.kind, end.cwd, list(rig.home.rglob("ran"))) == ("elsewhere", here, [])
    assert rig.shell.cwd == here
    assert rig.run("pwd", directory=here).output == f"{here}\n"

    rig.shell.move_to(sub)
    assert rig.run("pwd", directory=sub).output == f"{sub}\n"
    (rig.home / "sub").rename(rig.home / "moved")
    for _ in range(2):  # it is another directory now, also when there is a new one of its name
        end = rig.run("echo ran > ran", directory=sub)
        assert (end.kind, end.cwd) == ("elsewhere", str(rig.home / "moved"))
        (rig.home / "sub").mkdir(exist_ok=True)
    (rig.home / "moved").rmdir()
    end = rig.run("echo ran > ran", directory=str(rig.home / "moved"))
    assert (end.kind, end.cwd) == ("elsewhere", None)


def test_a_shell_without_marks_runs_no_line_elsewhere_either(world: World) -> None:
    rig = world.rig(zshrc="cd /; exec sh", start_s=0.2)

    end = rig.run("echo ran > ~/ran", directory=str(rig.home))

    assert (end.kind, end.cwd, list(rig.home.glob("ran"))) == ("elsewhere", "/", [])
    assert rig.run("pwd", directory="/").output == "/\n"


def test_slow_startup_files_do_not_count_against_the_call(world: World) -> None:
    rig = world.rig(zshrc="sleep 0.5; X=1")

    end = rig.run("echo $X", timeout_s=0.3)

    assert (end.kind, end.output) == ("exited", "1\n")


def test_startup_files_that_never_end_are_a_clear_failure(world: World) -> None:
    rig = world.rig(zshrc="sleep 1000; X=1", start_s=0.3, begin_s=0.2)

    end = rig.run("echo ran > ran")

    assert (end.kind, end.output) == ("failed", "")
    assert end.note is not None
    assert "no prompt" in end.note
    assert rig.heard.wait_for("exited")
    assert not (rig.home / "ran").exists()


@pytest.mark.parametrize(("zshrc", "status"), [("exit 3", 3), ("exec false", 1)])
def test_startup_files_that_end_the_shell_are_a_clear_failure(
    world: World, zshrc: str, status: int
) -> None:
    rig = world.rig(zshrc=zshrc)

    end = rig.run("echo ran > ran")

    assert (end.kind, end.output) == ("failed", "")
    assert f"ended with status {status} before its first prompt" in (end.note or "")
    assert not (rig.home / "ran").exists()


def test_a_shell_that_is_not_there_is_a_clear_failure(world: World) -> None:
    from efr.shell.contract import ShellSettings

    rig = world.rig(settings=ShellSettings(program="/does/not/exist"))

    end = rig.run("true")

    assert end.kind == "failed"
    assert end.note is not None
    assert "/does/not/exist" in end.note


def test_a_shell_without_marks_runs_by_sentinels(world: World) -> None:
    from efr.shell.contract import ShellSettings

    rig = world.rig(settings=ShellSettings(program="/bin/bash", login=False))

    first = rig.run("cd /usr; X='a\\b'; false")
    second = rig.run("echo \"$X\"\nprintf 'it'\"'\"'s\\ta'; (exit 4)")

    assert (first.kind, first.exit_code, first.output, first.cwd) == ("exited", 1, "", "/usr")
    assert (second.exit_code, second.output) == (4, "a\\b\nit's\ta")


def test_a_nested_shell_gives_back_status_and_directory(rig: Rig) -> None:
    outer = rig.run("bash --norc", timeout_s=0.3)
    inner = rig.run("cd /usr; echo in; (exit 9)", nested=True)
    blocked = rig.run("echo outer", timeout_s=0.2)
    rig.run("exit 6", nested=True)
    rig.heard.wait_for("left_ended")

    assert (outer.kind, outer.left_running) == ("timed_out", True)
    assert (inner.exit_code, inner.output, inner.cwd) == (9, "in\n", "/usr")
    assert blocked.kind == "busy"
    assert rig.heard.wait_for("left_ended", "call1") == ("left_ended", "call1", "ended", 6)
    assert rig.run("pwd").output == f"{rig.home}\n"


def test_a_nested_line_that_no_shell_takes_says_so(world: World) -> None:
    rig = world.rig(begin_s=0.2)
    rig.run("cat > /dev/null", timeout_s=0.2)

    end = rig.run("echo x", nested=True)

    assert end.kind == "not_run"
    assert end.note is not None
    assert "No shell in front" in end.note
    rig.shell.interrupt("call1")
    rig.heard.wait_for("left_ended")
    assert rig.run("echo y").output == "y\n"


def test_a_third_call_is_busy_and_a_waiting_one_can_be_cancelled(rig: Rig) -> None:
    first = rig.start("touch began; while [[ ! -e go ]]; do sleep 0.02; done; echo first")
    _wait_for_file(rig, "began")
    second = rig.start("echo second > second")
    third = rig.start("echo third")

    assert third.result(LIMIT_S).kind == "busy"
    rig.cancels["call2"].cancel()
    assert second.result(LIMIT_S).kind == "interrupted"
    (rig.home / "go").touch()
    assert first.result(LIMIT_S).output == "first\n"
    assert rig.run("ls second").exit_code != 0


def test_close_ends_a_shell_whose_child_ignores_the_hangup(rig: Rig) -> None:
    rig.run("sh -c 'trap \"\" HUP; echo $$ > pid; exec sleep 60' &")
    _wait_for_file(rig, "pid")
    shell = rig.shell

    rig.shells.close("c1")

    assert shell.ended
    assert rig.heard.wait_for("exited")
    os.kill(int((rig.home / "pid").read_text()), 9)


def test_a_shell_that_ignores_the_hangup_is_killed(world: World) -> None:
    rig = world.rig(close_kill_s=0.2)
    # A trap goes at the next prompt, so the shell ignores the signal only while the line runs.
    call = rig.start("trap '' HUP; echo go; while :; do :; done")
    rig.heard.wait_for("output", "go\n")

    rig.shells.close("c1")

    assert rig.heard.wait_for("exited") == ("exited", 137)
    assert call.result(LIMIT_S).kind == "shell_exited"


def test_sudo_is_forgotten_after_each_call(world: World, tmp_path: Path) -> None:
    from efr.shell.contract import ShellSettings

    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "sudo").write_text('#!/bin/sh\necho "$@" >> $HOME/sudo.log\necho noise\n')
    (fake / "sudo").chmod(0o755)
    rig = world.rig(
        environment={"PATH": f"{fake}:/usr/bin:/bin"}, settings=ShellSettings(forget_sudo=True)
    )
    outputs = [rig.run(f"echo {n}").output for n in range(3)]
    rig.run("true")

    assert outputs == ["0\n", "1\n", "2\n"]
    assert (rig.home / "sudo.log").read_text().splitlines()[:3] == ["-k"] * 3
    assert b"noise" not in rig.recorded


def test_the_search_path_is_known(rig: Rig) -> None:
    rig.run("path=(/opt/x $path)")
    rig.run("true")

    assert rig.shell.search_path is not None
    assert rig.shell.search_path.startswith("/opt/x:/usr/local/bin")


def test_the_shell_s_files_are_the_user_s_alone(rig: Rig) -> None:
    """Also those that zsh writes, under whatever umask the user has."""
    rig.run("umask 000; path=(/opt/y $path)")
    rig.run("true")
    assert rig.shell.search_path is not None
    folder = rig.shell._files.path
    modes = {one.name: one.stat().st_mode & 0o7777 for one in folder.iterdir()}
    assert modes.pop("no-editor") == 0o700, "a program"
    assert set(modes.values()) == {0o600}
    assert "path" in modes


def test_nothing_of_the_nonce_stays_on_disk(rig: Rig) -> None:
    rig.run("true")
    nonce = rig.recorded.partition(b"aid=")[2][:32]
    rest = [path for path in rig.home.parent.rglob("*") if path.is_file()]

    assert not any(nonce in path.read_bytes() for path in rest)
    assert rig.run("env; typeset -x").output.find(nonce.decode()) == -1


def _wait_for_file(rig: Rig, name: str) -> None:
    """Blocks until a file of the home exists: a second shell waits for it."""
    other = f"while [[ ! -e {rig.home / name} ]]; do sleep 0.02; done"
    shell = rig.shells.for_conversation("waiter", "/", None)
    end = shell.run(ShellCall("wait", other, LIMIT_S), Cancel(), Watcher(rig.heard))
    assert end.kind == "exited"
