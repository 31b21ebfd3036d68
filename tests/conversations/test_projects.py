"""The registry over the socket: adding, removing, and what terminals read of it."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from efr.config.errors import FileChanged
from efr.daemon.errors import error_body
from efr.wire import types as t
from tests.agent.test_repos import committed, git, linked
from tests.conversations.conftest import Open, own_daemon
from tests.conversations.terminals import add_project, remove_project
from tests.daemon.test_work import answer_all
from tests.harness.daemon import Daemon


@pytest.fixture(name="root")
def _root(folder: Path) -> Path:
    """A folder that is no project yet."""
    root = folder / "app"
    (root / "src").mkdir(parents=True)
    return root


def add(daemon: Daemon, path: Path | str, **params: Any) -> Any:
    with daemon.client() as client:
        return client.call("admin.project_add", {"path": str(path), **params})


def refusal(daemon: Daemon, method: str, path: Path | str, **params: Any) -> tuple[str, str]:
    with daemon.client() as client:
        error = client.refusal(method, {"path": str(path), **params})
    return error["code"], error["message"]


def listed(daemon: Daemon) -> list[Any]:
    with daemon.client() as client:
        found: list[Any] = client.call("projects.list")["projects"]
    return found


def scopes(daemon: Daemon) -> str:
    return daemon.roots.scopes.read_text()


@own_daemon
def test_a_project_is_added_listed_and_removed(daemon: Daemon, root: Path) -> None:
    file = daemon.roots.projects_file
    assert listed(daemon) == []
    assert not file.exists()
    done = add(daemon, root)
    project = done["project"]
    assert (project["root"], project["name"]) == (str(root), "app")
    assert done["file"] == str(file)
    assert done["reload"] == {"applied": True}
    assert listed(daemon) == [project]
    assert file.read_text().startswith("# The projects that efr knows.")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    gone = remove_project(daemon, root)
    assert gone == {"project": project, "file": str(file), "reload": {"applied": True}}
    assert listed(daemon) == []


@own_daemon
def test_a_bad_config_is_told_and_the_registry_is_written(daemon: Daemon, root: Path) -> None:
    daemon.write_settings("[shell]\nidle_minutes = -1\n")
    done = add(daemon, root)
    assert done["reload"]["applied"] is False
    assert done["reload"]["error"]["key"] == "shell.idle_minutes"
    assert len(listed(daemon)) == 1


def test_the_root_of_the_work_tree_is_taken_when_it_is_asked_for(
    daemon: Daemon, folder: Path, root: Path
) -> None:
    committed(root)
    assert add(daemon, root / "src")["project"]["root"] == str(root / "src")
    assert add(daemon, root / "src", git_root=True)["project"]["root"] == str(root)
    plain = folder / "plain"
    plain.mkdir()
    assert add(daemon, plain, git_root=True)["project"]["root"] == str(plain)


@own_daemon
def test_home_is_too_wide_unless_it_is_named(
    daemon: Daemon, root: Path, open_terminal: Open
) -> None:
    committed(daemon.home)
    for path in (daemon.home, daemon.home.parent, "/"):
        code, message = refusal(daemon, "admin.project_add", path, git_root=True)
        assert code == "invalid"
        assert "too wide" in message
    assert listed(daemon) == []
    project = add(daemon, daemon.home)["project"]
    sent = open_terminal().prompt("x", root)
    assert sent["route"]["scope"]["scope"] == {"kind": "project", "value": project["id"]}


def test_links_are_resolved_and_lead_back(daemon: Daemon, folder: Path, root: Path) -> None:
    link = folder / "link"
    link.symlink_to(root)
    assert add(daemon, link)["project"]["root"] == str(root)
    assert refusal(daemon, "admin.project_add", root)[0] == "conflict"
    assert remove_project(daemon, link)["project"]["root"] == str(root)
    add(daemon, root)
    (root / "src").rmdir()
    root.rmdir()
    assert remove_project(daemon, f"{root}/../app/")["project"]["root"] == str(root)


def test_names(daemon: Daemon, root: Path) -> None:
    assert add(daemon, root, name="  größe 🙂 ")["project"]["name"] == "größe 🙂"
    assert add(daemon, root / "src", name="  ")["project"]["name"] == "src"
    code, message = refusal(daemon, "admin.project_add", daemon.home, name="two\nlines")
    assert code == "invalid"
    assert "one line" in message


def test_what_cannot_be_added_or_removed(daemon: Daemon, root: Path) -> None:
    (root / "file").write_text("x")
    for path in ("relative", root / "gone", root / "file"):
        for flag in (False, True):
            assert refusal(daemon, "admin.project_add", path, git_root=flag)[0] == "invalid"
    assert refusal(daemon, "admin.project_remove", "relative")[0] == "invalid"
    code, message = refusal(daemon, "admin.project_remove", root)
    assert code == "not_found"
    assert str(root) in message
    add(daemon, root)
    code, message = refusal(daemon, "admin.project_add", root)
    assert code == "conflict"
    assert "registered already" in message


@own_daemon
def test_a_broken_file_is_never_changed(daemon: Daemon, root: Path, open_terminal: Open) -> None:
    add(daemon, root)
    terminal = open_terminal()
    terminal.prompt("x", root)
    file = daemon.roots.projects_file
    broken = file.read_text() + "color = 1\n"
    file.write_text(broken)
    for method in ("admin.project_add", "admin.project_remove"):
        code, message = refusal(daemon, method, root)
        assert code == "invalid"
        assert str(file) in message
    with daemon.client() as client:
        assert client.refusal("projects.list")["code"] == "invalid"
    assert file.read_text() == broken
    for _ in range(2):
        sent = terminal.prompt("x", root)
        assert sent["route"]["scope"]["scope"] == {"kind": "outside"}
    assert "no project is known" in daemon.log
    told = daemon.roots.notices / terminal.tty.removeprefix("/dev/").replace("/", "-")
    (line,) = [one for one in told.read_text().splitlines() if "projects.toml" in one]
    assert "no project counts: line 9, column 1: project[0].color: unknown key" in line
    assert scopes(daemon) == ""


def test_a_file_that_changes_all_the_time_is_a_conflict(tmp_path: Path) -> None:
    body = error_body("admin.project_add", FileChanged(path=tmp_path))
    assert body.code is t.ErrorCode.CONFLICT
    assert body.message.endswith("try again")


@own_daemon
def test_the_file_behind_a_link_is_written(daemon: Daemon, root: Path) -> None:
    real = daemon.home / "dotfiles" / "projects.toml"
    real.parent.mkdir()
    real.write_text("# mine\n")
    daemon.roots.projects_file.symlink_to(real)
    done = add(daemon, root)
    assert done["file"] == str(real)
    assert daemon.roots.projects_file.is_symlink()
    assert real.read_text().startswith("# mine\n\n[[project]]\n")


@own_daemon
def test_terminals_read_the_projects_from_a_file(
    daemon: Daemon, root: Path, open_terminal: Open
) -> None:
    assert scopes(daemon) == ""
    assert stat.S_IMODE(daemon.roots.scopes.stat().st_mode) == 0o600
    add(daemon, root)
    add(daemon, root / "src", name="inner one")
    assert scopes(daemon) == f"{root}\tapp\n{root}/src\tinner one\n"
    inode = daemon.roots.scopes.stat().st_ino
    with daemon.client() as client:
        client.call("admin.config_reload")
    assert daemon.roots.scopes.stat().st_ino == inode  # nothing changed
    remove_project(daemon, root)
    assert scopes(daemon) == f"{root}/src\tinner one\n"
    file = daemon.roots.projects_file
    file.write_text(file.read_text().replace('"inner one"', '"by hand"'))
    with daemon.client() as client:
        client.call("admin.config_reload")
    assert scopes(daemon) == f"{root}/src\tby hand\n"
    file.write_text(file.read_text().replace('"by hand"', '"a\\tb\\u001bc"'))
    open_terminal().prompt("x", daemon.home)  # a turn sees it too
    assert scopes(daemon) == f"{root}/src\ta b␛c\n"
    daemon.roots.scopes.unlink()
    daemon.stop()
    daemon.start()
    assert scopes(daemon) == f"{root}/src\ta b␛c\n"


def test_a_linked_work_tree_is_remembered_with_its_repository(daemon: Daemon, folder: Path) -> None:
    root, _, main = linked(folder)
    project = add(daemon, root)["project"]
    file = daemon.roots.state.path / "sandbox" / "projects" / f"{project['id']}.json"
    assert json.loads(file.read_bytes()) == {
        "root": str(root),
        "git_dir": str(main / ".git" / "worktrees" / "linked"),
        "common_dir": str(main / ".git"),
    }
    git(main, "worktree", "remove", "--force", str(root))
    remove_project(daemon, root)
    assert not file.exists()


def test_two_adds_at_once_both_come_in(daemon: Daemon, root: Path) -> None:
    clients = [daemon.client() for _ in range(2)]
    try:
        requests = [
            client.request("admin.project_add", {"path": str(path)})
            for client, path in zip(clients, (root, root / "src"), strict=True)
        ]
        for client, request in zip(clients, requests, strict=True):
            assert "item" in client.answer(request)
    finally:
        for client in clients:
            client.close()
    assert {str(root), str(root / "src")} <= {one["root"] for one in listed(daemon)}


def test_a_new_project_counts_from_the_next_prompt_on(
    daemon: Daemon, root: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    before = terminal.prompt("x", root)
    assert before["route"]["scope"]["scope"] == {"kind": "outside"}
    project = add_project(daemon, root)
    after = terminal.prompt("x", root)
    assert after["route"]["scope"]["scope"]["value"] == project["id"]
    assert after["route"]["switch"]["reason"] == {"kind": "scope"}


def test_a_command_of_the_model_reads_the_list_and_changes_nothing(
    daemon: Daemon, root: Path, open_terminal: Open
) -> None:
    script = root / "ask.py"
    script.write_text(ASK.format(socket=str(daemon.socket), path=str(root)))
    terminal = open_terminal()
    sent = terminal.send(f"run: python3 {script}", daemon.home)
    with daemon.client() as client:
        items = answer_all(client, sent)
    said = next(
        item["event"]["text"]
        for item in reversed(items)
        if item["event"]["kind"] == "assistant_message_completed"
    )
    assert "projects.list ok" in said
    assert "admin.project_add forbidden" in said
    assert "conversation.resume forbidden" in said
    assert str(root) not in {one["root"] for one in listed(daemon)}


ASK = """
import json, socket, struct
conn = socket.socket(socket.AF_UNIX)
conn.connect({socket!r})
def call(number, method, params):
    body = json.dumps({{"id": number, "method": method, "params": params}}).encode()
    conn.sendall(struct.pack(">I", len(body)) + body)
    while True:
        size = struct.unpack(">I", conn.recv(4, socket.MSG_WAITALL))[0]
        frame = json.loads(conn.recv(size, socket.MSG_WAITALL))
        if "error" in frame:
            print(method, frame["error"]["code"])
            return
        if frame.get("end"):
            print(method, "ok")
            return
U = "00000000-0000-7000-8000-0000000000ff"
call(1, "hello", {{"protocol": 1, "origin": "cli"}})
call(2, "projects.list", {{}})
call(3, "admin.project_add", {{"path": {path!r}}})
call(4, "conversation.resume",
     {{"command_id": U, "conversation_id": U, "context": {{"pwd": "/", "tty": "/dev/pts/1"}}}})
"""
