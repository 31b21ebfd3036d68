from __future__ import annotations
from tests.shell.rig import Rig, World


def test_state_stays(rig: Rig) -> None:
    end = rig.run("cd /usr; export X=1; alias hi='echo hello'")
    assert (end.kind, end.exit_code, end.cwd) == ("exited", 0, "/usr"), end
    end = rig.run("hi $X $PWD")
    assert end.output == "hello 1 /usr\n"
    end = rig.run("printf a")
    assert (end.output, end.exit_code) == ("a", 0)
    end = rig.run("false")
    assert end.exit_code == 1
    print(rig.heard.all)
    end = rig.run("echo 'open")
    assert end.kind == "not_run", end
    end = rig.run("echo )")
    assert end.kind == "not_run", end
    assert end.output == "zsh: parse error near `)'"
    print(rig.run("env; ls -l /proc/self/fd; stty -a"))
    print(rig.run("exit 3"))
    print(rig.run("pwd"))
