"""The commands that ask and print, as processes against a scripted daemon."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import efr_cli
from efr.base.version import VERSION
from efr.cli.commands.init import quoted
from tests.cli.conftest import Start
from tests.cli.fake_daemon import (
    AT,
    CONVERSATION,
    OTHER_TURN,
    TURN,
    FakeDaemon,
    Frame,
    envelope,
    summary,
)
from tests.cli.programs import EFR, efr_in_pipe, environment

MODELS_USAGE = "Usage:\n  efr models [--names | --json]\n"
CONVERSATION_2 = CONVERSATION[:-1] + "2"


Run = Callable[..., tuple[int, str, str]]
Answer = tuple[str, Frame, Frame]  # method, params it must have, result


@pytest.fixture(autouse=True)
def type_ahead() -> Iterator[Callable[[str], None]]:
    """Descriptor 0 is no terminal, and empty until a test puts a text there."""
    saved, given = os.dup(0), os.memfd_create("stdin")
    os.dup2(given, 0)

    def put(text: str) -> None:
        os.pwrite(given, text.encode(), 0)

    yield put
    os.dup2(saved, 0)
    os.close(saved)
    os.close(given)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process: (exit code, stdout, stderr)."""

    def begin(*args: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            code = efr_cli.run(list(args), environment(env or {}))
        except SystemExit as ended:  # docopt's own --help and --version
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return begin


@pytest.fixture
def answered(fake: FakeDaemon, run: Run) -> Run:
    """The same against a daemon that gives these answers, on a thread of its own."""

    def begin(*args: str, answers: list[Answer], **env: str) -> tuple[int, str, str]:
        def serve() -> None:
            peer = fake.accept()
            peer.hello()
            for method, params, result in answers:
                given = peer.expect(method)
                assert {name: given.get(name) for name in params} == params
                peer.answer(method, result)

        with ThreadPoolExecutor(1) as pool:
            served = pool.submit(serve)
            result = run(*args, env={**fake.env, **env})
            served.result(timeout=20)
        return result

    return begin


# --- usage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["frobnicate"], "efr: there is no command 'frobnicate'\n     efr --help\n"),
        ([], "efr: a command is missing\n     efr --help\n"),
        (["status", "x"], "efr: 'x' does not fit here\nUsage:\n  efr status [--json]\n"),
        (["status", "a'\x1b\n"], "efr: 'a'␛ ' does not fit here\nUsage:\n  efr status [--json]\n"),
        (["models", "--names", "--json"], "efr: '--json' does not fit here\n" + MODELS_USAGE),
        (["models", "--json=1"], "efr: --json must not have an argument\n" + MODELS_USAGE),
        (["search", "a", "-v"], "efr: '-v' does not fit here\n     behind -- it is text\nUsage:\n"),
        (["init", "fish"], "Usage:\n  efr init zsh\n"),
        (["frob\x1b", "--help"], "efr: there is no command 'frob␛'\n     efr --help\n"),
    ],
)
def test_wrong_words_are_told_in_few_lines(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert efr_cli.run(words, {}) == 2
    assert capsys.readouterr().err.startswith(told)


def test_every_command_of_the_usage_has_a_function_and_a_help(run: Run) -> None:
    whole = efr_cli.__doc__ or ""
    usage = whole.split("Usage:")[1].split("Options:")[0]
    words = {line.split()[1] for line in usage.splitlines() if line.startswith("  efr ")}

    assert words - {"(-h", "(-V", "help"} == set(efr_cli.COMMANDS)
    assert run("help") == (0, whole.strip("\n") + "\n", "")
    for word in words - {"(-h", "(-V"}:
        code, told, err = run("help", word)
        head, _, rest = told.partition("\n\nUsage:\n  efr ")
        assert (code, err) == (0, "")
        assert re.fullmatch(rf"efr {word} - \S.*\.", head)
        assert rest.split()[0] == word
        assert run(word, "-h") == (0, told, "")


def test_the_help_of_a_command_has_its_options_alone(run: Run) -> None:
    flags = re.findall(r"^  (-\S.*?)  ", run("help", "history")[1], re.MULTILINE)

    assert flags == ["--json", "--limit=N", "--cursor=C", "-v, --verbose"]


@pytest.mark.parametrize("argv", efr_cli.BARE)
def test_what_is_not_parsed_is_what_the_parser_would_find(argv: tuple[str, ...]) -> None:
    assert efr_cli.parse(list(argv)) == efr_cli.BARE[argv]


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (["frobnicate"], 2),
        (["send", "--bogus", "x"], 2),
        (["models", "--names", "--json"], 2),
        (["send"], 2),
        (["new"], 2),
        (["send", "--mode=yolo", "hi"], 2),
        (["send", "--context-json=[]", "hi"], 2),
        (["send", "--conversation=abc", "hi"], 3),
        (["history"], 3),
        (["status"], 3),
        (["version"], 0),
        (["--version"], 0),
        (["--help"], 0),
        (["paths"], 0),
        (["init", "zsh"], 0),
    ],
)
def test_exit_codes_without_a_daemon(
    run: Run, args: list[str], status: int, tmp_path: Path
) -> None:
    code, _, err = run(*args, env={"EFR_RUNTIME_DIR": str(tmp_path)})

    assert code == status, err
    assert "Traceback" not in err


def test_no_daemon_names_the_start_command(run: Run, tmp_path: Path) -> None:
    code, out, err = run("send", "hi", env={"EFR_RUNTIME_DIR": str(tmp_path)})

    assert (code, out) == (3, "")
    assert err == (
        f"efr: no daemon listens on {tmp_path}/daemon.sock\n     systemctl --user start efrd\n"
    )


def test_a_socket_path_that_is_too_long_names_the_fix(run: Run) -> None:
    code, _, err = run("status", env={"EFR_RUNTIME_DIR": "/tmp/" + "x" * 110})

    assert code == 3
    assert "the limit is 107\n     set EFR_RUNTIME_DIR to a shorter directory" in err


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    process = subprocess.Popen(
        [*EFR, "paths"],
        env=environment({"EFR_HOME": str(tmp_path)}),
        stdout=write,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    os.close(write)
    _, err = process.communicate(timeout=20)

    assert (process.returncode, err) == (0, "")


def printed_to(words: str, where: str, env: dict[str, str]) -> tuple[int, str]:
    """The status of `efr` with a redirection of the shell, and what it said on stderr."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {where}', "sh", *EFR, *words.split()],
        env=environment(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return done.returncode, done.stderr


FULL = (1, "efr: the output cannot be written: No space left on device\n")


@pytest.mark.parametrize(
    ("words", "where", "told"),
    [
        ("paths", ">/dev/full", FULL),
        ("--help", ">/dev/full", FULL),
        ("--help", ">&-", (0, "")),
        ("config show", ">&- 2>&- <&-", (0, "")),
    ],
)
def test_an_output_that_is_closed_or_full(
    tmp_path: Path, words: str, where: str, told: tuple[int, str]
) -> None:
    env = {"EFR_HOME": str(tmp_path), "EFR_RUNTIME_DIR": str(tmp_path / "r")}
    assert printed_to(words, where, env) == told


def test_a_locale_of_another_charset_stops_no_output(tmp_path: Path) -> None:
    env = {"EFR_HOME": str(tmp_path / "○"), "PYTHONIOENCODING": "latin-1"}
    out = tmp_path / "out"

    assert printed_to("paths", f">{out}", env) == (0, "")
    assert f"{tmp_path}/?/config".encode() in out.read_bytes()
    code, told = printed_to("paths", "", env | {"EFR_HOME": "○"})
    assert (code, told.splitlines()[0]) == (
        3,
        "efr: EFR_HOME is '?'; set EFR_HOME to an absolute path",
    )


def test_version_names_build_and_protocol(run: Run) -> None:
    assert run("version", env={})[1] == f"efr {VERSION}, protocol 1\n"


# --- history ------------------------------------------------------------------------------------

EVENTS = [
    envelope(1, "prompt_queued", command_id=TURN, text="why?\nreally", origin="cli"),
    envelope(2, "prompt_queued", OTHER_TURN, command_id=TURN, text="second", origin="cli"),
    envelope(
        3,
        "turn_started",
        cwd="/",
        scope={"kind": "machine"},
        settings={"mode": "auto", "model": "m1", "effort": "high"},
    ),
    envelope(4, "tool_call_started", call_id=TURN, tool="shell", input={"command": "make\x1b[2J"}),
    envelope(
        5,
        "tool_call_completed",
        call_id=TURN,
        output="x",
        truncated=False,
        is_error=True,
        exit_code=2,
    ),
    envelope(6, "assistant_message_completed", index=0, text="because"),
    envelope(7, "turn_completed", usage={"input_tokens": 1200, "output_tokens": 34}),
    envelope(8, "prompt_withdrawn", OTHER_TURN, origin="cli"),
    envelope(9, "made_up", None, x=1),
]
WHY = "auto asks before any network access"
ASKED = [  # behind the call
    envelope(4, "approval_requested", call_id=TURN, summary="shell: make", reason=WHY),
    envelope(4, "approval_resolved", call_id=TURN, decision="allow", origin="phone"),
]


def test_history_lists_the_newest(answered: Run) -> None:
    rows = [
        summary(CONVERSATION, "fix\x1b[2J the\ntests"),
        summary(CONVERSATION_2, None, status="awaiting_approval"),
    ]
    page = {"conversations": rows, "next_cursor": "c1"}
    elsewhere = [summary(CONVERSATION_2[:-2] + "fe", "t"), summary("ffff" + CONVERSATION[4:], "u")]
    every = {"conversations": [*rows, *elsewhere]}
    code, out, _ = answered(
        "history",
        answers=[
            ("conversations.list", {"limit": 20}, page),
            ("conversations.list", {"cursor": None, "limit": 200}, every),
        ],
    )

    assert code == 0
    first, second, last = out.splitlines()
    assert first.split("  ")[0] == CONVERSATION
    assert first.endswith("fix␛[2J the tests")
    assert second.split()[1:3] == ["awaiting", "approval"]
    assert second.endswith("(no title)")
    assert last == "more: efr history --cursor=c1"


def test_history_of_one(answered: Run) -> None:
    listed = {
        "conversations": [summary(CONVERSATION, "t"), summary("ffff" + CONVERSATION[4:], "u")]
    }
    newer = {"events": EVENTS[4:], "next_cursor": "c1"}
    code, out, _ = answered(
        *("history", CONVERSATION[:8].upper(), "--verbose"),
        answers=[
            ("conversations.list", {}, listed),
            ("conversation.history", {"cursor": None, "limit": 500}, newer),
            ("conversation.history", {"cursor": "c1"}, {"events": [*EVENTS[:4], *ASKED]}),
        ],
    )

    assert code == 0
    assert out.splitlines() == [
        *("> second", "taken back (cli)", "  it never started", ""),
        *("> why?", "  really", "auto · m1 · high", "· $ make␛[2J"),
        *("  asked: auto asks before any network access", "  allow (phone)"),
        *("  ✗ exit 2", "because"),
        "completed · 1.2k in, 34 out, 0 cached",
    ]


def test_history_pages(answered: Run) -> None:
    listed = {"conversations": [summary(CONVERSATION, "t")]}
    page = {"events": EVENTS[5:7], "next_cursor": "c9"}
    code, out, _ = answered(
        *("history", CONVERSATION, "--limit=2", "--cursor=c3"),
        answers=[
            ("conversations.list", {}, listed),
            ("conversation.history", {"cursor": "c3", "limit": 2}, page),
        ],
    )

    assert code == 0
    assert out.splitlines() == [  # a page begins inside a turn: nobody says that it never started
        *("  its prompt is on an older page", "because", "completed"),
        f"older: efr history {CONVERSATION} --limit=2 --cursor=c9",
    ]


def test_a_page_of_the_history_without_a_line_says_so(answered: Run) -> None:
    page = {"events": [EVENTS[-1]], "next_cursor": "c8"}
    _, out, _ = answered(
        *("history", CONVERSATION, "--limit=1", "-v"),
        answers=[
            ("conversations.list", {}, {"conversations": [summary(CONVERSATION, "t")]}),
            ("conversation.history", {"cursor": None, "limit": 1}, page),
        ],
    )
    older = f"older: efr history {CONVERSATION} --verbose --limit=1 --cursor=c8"
    assert out.splitlines() == ["nothing to show on this page", older]


def test_the_ids_of_a_page_name_their_conversations_alone(answered: Run) -> None:
    ids = [f"01a22dee-00{n}0-7a10-8b20-000000000001" for n in range(4)]
    everything = {"conversations": [summary(one, "t") for one in ids]}
    page = {"conversations": everything["conversations"][1:2], "next_cursor": "c1"}
    _, out, _ = answered(
        *("history", "--limit=1"),
        answers=[
            ("conversations.list", {"limit": 1}, page),
            ("conversations.list", {"limit": 200}, everything),
        ],
    )
    assert out.split()[0] == "01a22dee-001"


def test_history_tells_a_prompt_that_waits_from_one_that_never_started(answered: Run) -> None:
    listed = {"conversations": [summary(CONVERSATION, "t")]}
    cancelled = envelope(3, "turn_cancelled", OTHER_TURN)
    told = []
    for args, events in (
        ((), EVENTS[:2]),
        (("--cursor=c3",), EVENTS[:2]),
        ((), [EVENTS[1], cancelled]),
    ):
        _, out, _ = answered(
            *("history", CONVERSATION, *args),
            answers=[
                ("conversations.list", {}, listed),
                ("conversation.history", {}, {"events": events}),
            ],
        )
        told.append(out.splitlines())

    assert told == [
        ["> why?", "  really", "  it waits", "", "> second", "  it waits"],
        ["> why?", "  really", "", "> second"],
        ["> second", "stopped by a restart of efrd", "  it never started"],
    ]


def test_history_as_json_is_the_daemons_answer(answered: Run) -> None:
    page = {"conversations": [], "newer": 1}
    _, out, _ = answered(
        "history", "--json", "--limit=5", answers=[("conversations.list", {"limit": 5}, page)]
    )

    assert json.loads(out) == page


@pytest.mark.parametrize(
    ("start", "rows", "code", "message"),
    [
        ("019", [], 2, "'019' is too short for a conversation id\n     give 4 characters or more"),
        ("zzzz", [], 2, "'zzzz' is no conversation id\n     efr history"),
        ("zz\x1b\udcff", [], 2, "'zz␛\ufffd' is no conversation id"),
        ("ffff", [summary(CONVERSATION, "t")], 1, "no conversation starts with ffff"),
        (
            "019a9b1c",
            [summary(CONVERSATION, "t"), summary(CONVERSATION_2, "u")],
            2,
            "2 conversations start with 019a9b1c",
        ),
    ],
)
def test_the_start_of_an_id(
    answered: Run, start: str, rows: list[Frame], code: int, message: str
) -> None:
    page: Answer = ("conversations.list", {}, {"conversations": rows})
    status, _, err = answered("history", start, answers=[page] if rows else [])

    assert status == code
    assert message in err


def test_verbose_without_an_id_says_which_it_shows(answered: Run) -> None:
    code, _, err = answered(
        *("history", "--verbose"),
        answers=[
            ("conversations.list", {"limit": 1}, {"conversations": [summary(CONVERSATION, "t")]}),
            ("conversation.history", {}, {"events": EVENTS}),
        ],
    )

    assert (code, err) == (0, 'the newest conversation: "t"\n')


# --- status, models, settings, paths ------------------------------------------------------------

STATUS: Frame = {
    "daemon_id": CONVERSATION,
    "version": "0.1.0",
    "protocol": 1,
    "pid": 4,
    "started_at": AT,
    "screen_backend": "vt100",
    "conversations": 1,
    "shells": 2,
    "providers": [
        {
            **{"provider": "anthropic-api", "logged_in": True, "active": True},
            **{"login": "api_key", "key_hint": "sk-ant-...a1b2", "key_refused_at": AT},
        },
        {"provider": "openai", "logged_in": False},
    ],
    "config": {
        "path": "/c",
        "exists": True,
        "symlink_target": "/dots/c",
        "reload_error": {"message": "unknown key", "line": 3, "column": 1, "key": "x.y"},
        "restart_needed": ["model.provider"],
    },
    "sandbox": {
        **{"available": False, "reason": "no bwrap", "fix": "install bubblewrap"},
        **{"cache_mode": "tmp", "network_mode": "none"},
    },
    "roots": {
        name: {"path": f"/other/{name}", "source": "xdg"}
        for name in ("config", "data", "state", "runtime")
    },
}


def test_status_has_one_fact_a_line(answered: Run) -> None:
    code, out, err = answered("status", answers=[("admin.status", {}, STATUS)])

    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "daemon        efrd 0.1.0, protocol 1, pid 4"
    assert "provider      openai: not logged in" in lines
    assert "config        /c -> /dots/c" in lines
    assert "              not applied: line 3, column 1: x.y: unknown key" in lines
    assert "              waits for a restart: model.provider" in lines
    assert "sandbox       not available: no bwrap" in lines
    assert "              install bubblewrap" in lines
    assert any("sk-ant-...a1b2, REFUSED" in line for line in lines)


def test_the_status_of_an_older_daemon_lacks_its_places(answered: Run) -> None:
    older = {name: value for name, value in STATUS.items() if name not in ("roots", "config")}
    code, out, _ = answered("status", answers=[("admin.status", {}, older)])
    assert code == 0
    assert "daemon        efrd 0.1.0, protocol 1, pid 4" in out
    code, out, err = answered("paths", answers=[("admin.status", {}, older)])
    assert (code, err) == (0, "")
    assert out.startswith("config ")


def test_status_without_a_login_names_the_command(answered: Run) -> None:
    nobody = {**STATUS, "providers": [{"provider": "demo", "logged_in": False, "active": True}]}
    code, out, err = answered("status", answers=[("admin.status", {}, nobody)])

    assert (code, err) == (0, "no provider is logged in: efr login openai\n")
    assert "provider      demo (active): built in, offline" in out


MODELS: Frame = {
    "models": [
        {
            **{"id": "gpt-5.4", "efforts": ["low", "high"], "default_effort": "high"},
            **{"default": True, "source": "builtin", "context_window": 272_000},
            "max_context_window": 400_000,
        },
        {"id": "mini", "source": "config"},
    ],
    "catalog": {"provider": "openai", "origin": "cache"},
}


def test_models(answered: Run) -> None:
    _, out, _ = answered("models", answers=[("models.list", {}, MODELS)])
    assert out.splitlines() == [
        "*  gpt-5.4  272k (up to 400k)  low high*",
        "   mini     -                  -",
        "openai: from the last fetch",
    ]
    _, out, _ = answered("models", "--names", answers=[("models.list", {}, MODELS)])
    assert out == "gpt-5.4\nmini\n"


SETTINGS: list[tuple[list[str], dict[str, str], list[str]]] = [
    (
        [],
        {},
        [
            "mode = cautious  # default; manual, cautious, auto, full",
            "model = gpt-5.4  # the daemon's default; gpt-5.4, mini",
            "effort = high  # the model's default; low, high",
        ],
    ),
    (
        ["--mode=auto", "--model=mini"],
        {},
        [
            "mode = auto  # flag; manual, cautious, auto, full",
            "model = mini  # flag; gpt-5.4, mini",
            "effort = (unset)  # none is sent",
        ],
    ),
    (
        ["--effort=low"],
        {"EFR_MODE": "manual", "EFR_MODEL": "gpt-5.4"},
        [
            "mode = manual  # EFR_MODE; manual, cautious, auto, full",
            "model = gpt-5.4  # EFR_MODEL; gpt-5.4, mini",
            "effort = low  # flag; low, high",
        ],
    ),
]


@pytest.mark.parametrize(("args", "env", "lines"), SETTINGS)
def test_settings(answered: Run, args: list[str], env: dict[str, str], lines: list[str]) -> None:
    answers: list[Answer] = [("models.list", {}, MODELS)]
    if "--mode=auto" in args:
        answers.append(("admin.status", {}, STATUS))
    code, out, err = answered("settings", *args, answers=answers, **env)

    assert (code, out.splitlines()) == (0, lines)
    assert ("auto runs as cautious" in err) == ("--mode=auto" in args)


@pytest.mark.parametrize(
    ("args", "fix"),
    [
        (["--model=nope"], "choose gpt-5.4, mini"),
        (["--effort=huge"], "choose low, high"),
        (["--effort=../x", "--model=mini"], "choose one word in lower case"),
        (["--mode=full"], "choose manual, cautious, auto, or set permissions.allow_full"),
    ],
)
def test_a_setting_outside_its_choices(answered: Run, args: list[str], fix: str) -> None:
    code, out, err = answered("settings", *args, answers=[("models.list", {}, MODELS)])

    assert (code, out) == (2, "")
    assert err.splitlines()[1].strip() == fix


def test_settings_of_the_file_name_it(answered: Run, fake: FakeDaemon) -> None:
    config = fake.folder / "home" / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[permissions]\nmode = "auto"\n[model]\nname = "mini"\n')
    listed: Answer = ("models.list", {}, MODELS)
    _, out, err = answered("settings", answers=[listed, ("admin.status", {}, STATUS)])

    assert out.splitlines()[0].startswith(f"mode = auto  # {config}/config.toml; ")
    assert out.splitlines()[1] == f"model = mini  # {config}/config.toml; gpt-5.4, mini"
    assert err == "auto runs as cautious: no bwrap\n"
    file = config / "config.toml"
    file.write_text('[permissions]\nmode = "cautious"\n[model]\nname = "old"\neffort = "mad"\n')
    _, out, err = answered("settings", answers=[listed])
    assert out.splitlines()[0].startswith(f"mode = cautious  # {file}; "), "as the file says"
    assert err.startswith("model old is not on offer: a prompt that names none is refused (choose ")
    file.write_text('[permissions]\nmode = "full"\n')
    _, out, err = answered("settings", answers=[listed, ("admin.status", {}, STATUS)])
    assert out.startswith("mode = full  # ")
    assert err == (
        "full mode is not allowed (permissions.allow_full): a prompt runs as auto\n"
        "auto runs as cautious: no bwrap\n"
    )


def test_paths_warn_about_a_daemon_elsewhere(answered: Run, fake: FakeDaemon) -> None:
    code, out, err = answered("paths", "--json", answers=[("admin.status", {}, STATUS)])

    assert code == 0
    shown = json.loads(out)
    assert shown["runtime"] == {
        **{"path": str(fake.folder), "source": "dir_variable", "exists": True},
    }
    assert shown["daemon"]["data"] == {"path": "/other/data", "source": "xdg"}
    assert "the daemon's data root is /other/data: systemctl --user edit efrd" in err


def test_paths_list_where_the_sandbox_is(answered: Run) -> None:
    places = {"launcher": "/l/efr-launch", "state": "/s/sandbox", "runtime": "/r/sandbox"}
    status = {**STATUS, "sandbox_paths": places}
    _, out, _ = answered("paths", answers=[("admin.status", {}, status)])
    rows = [row.split() for row in out.splitlines()]
    assert ["launcher", "/l/efr-launch", "not", "there"] in rows
    assert ["sandbox", "state", "/s/sandbox", "not", "there"] in rows
    assert ["sandbox", "runtime", "/r/sandbox", "not", "there"] in rows
    assert "EFR_RUNTIME_DIR" in out
    assert "EFR_HOME" in out
    _, out, _ = answered("paths", "--json", answers=[("admin.status", {}, status)])
    assert json.loads(out)["daemon"]["sandbox"] == places


# --- login --------------------------------------------------------------------------------------

KEY = "sk-test-1234567890"
LOGGED_IN: Frame = {
    **{"provider": "openai-api", "key_hint": "sk-...7890"},
    **{"checked": True, "active": False},
}


def test_a_key_comes_from_stdin_and_is_shown_nowhere(fake: FakeDaemon) -> None:
    process = subprocess.Popen(
        [*EFR, "login", "openai-api"],
        env=environment(fake.env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(f"  {KEY}\n")
    process.stdin.close()
    process.stdin = None
    peer = fake.accept()
    peer.hello()
    assert KEY not in Path(f"/proc/{process.pid}/cmdline").read_text()
    params = peer.expect("admin.login_api_key")
    peer.answer("admin.login_api_key", LOGGED_IN)
    out, err = process.communicate(timeout=20)

    assert params == {"provider": "openai-api", "key": KEY, "check": True}
    assert out == "logged in to openai-api with sk-...7890 (checked)\n"
    assert 'set model.provider = "openai-api"' in err
    assert KEY not in out + err


def test_a_key_comes_from_a_hidden_prompt(fake: FakeDaemon, start: Start) -> None:
    terminal = start("login", "anthropic-api", "--no-check")
    terminal.wait_for("API key for anthropic-api:")
    terminal.type(KEY + "\r")
    peer = fake.accept()
    peer.hello()
    params = peer.expect("admin.login_api_key")
    peer.refuse("admin.login_api_key", "unauthorized", "refused", {"provider": "anthropic-api"})

    assert params == {"provider": "anthropic-api", "key": KEY, "check": False}
    assert terminal.read_to_end() == 1
    assert "efr login anthropic-api" in terminal.text
    assert KEY.encode() not in terminal.raw


def test_ctrl_d_at_the_hidden_prompt_is_no_key(start: Start) -> None:
    terminal = start("login", "anthropic-api")
    terminal.wait_for("API key for anthropic-api:")
    terminal.type("\x04")
    assert terminal.read_to_end() == 2
    assert terminal.text.splitlines()[1] == "efr: no key was given"


def test_a_key_comes_from_a_variable(answered: Run) -> None:
    code, _, _ = answered(
        *("login", "openai-api", "--from-env"),
        answers=[("admin.login_api_key", {"key": KEY}, LOGGED_IN)],
        OPENAI_API_KEY=f"{KEY}\n",
    )

    assert code == 0


@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        (["login", "openai-api"], "", "no key was given"),
        (["login", "compatible"], "\n", "a server that wants none needs compatible.base_url alone"),
        (["login", "openai-api"], "x" * 5000, "a key has at most 4096 bytes"),
        (["login", "openai-api", "--from-env"], "", "OPENAI_API_KEY is not set"),
        (["login", "compatible", "--from-env"], "", "knows no variable for compatible"),
    ],
)
def test_no_key(
    run: Run, type_ahead: Callable[[str], None], args: list[str], stdin: str, message: str
) -> None:
    type_ahead(stdin)
    code, _, err = run(*args, env={"EFR_RUNTIME_DIR": "/nowhere"})

    assert code == 2
    assert message in err


def test_the_subscription_login_prints_its_page(fake: FakeDaemon) -> None:
    process = efr_in_pipe("login", "openai", env={**fake.env, "SSH_CONNECTION": "1 2 3 4"})
    peer = fake.accept()
    peer.hello()
    peer.expect("admin.login_openai")
    request = peer.ids["admin.login_openai"]
    url = "https://x.y/?redirect_uri=http%3A%2F%2F127.0.0.1%3A1455%2Fauth"
    peer.send({"id": request, "item": {"kind": "authorize_url", "url": url}})
    peer.send({"id": request, "item": {"kind": "completed", "provider": "openai"}})
    assert peer.read() == {"cancel": request}
    peer.send({"id": request, "end": True})
    out, err = process.communicate(timeout=20)

    assert (process.returncode, out) == (0, f"{url}\n")
    assert "ssh -L 1455:127.0.0.1:1455" in err
    assert "logged in to openai" in err


@pytest.mark.parametrize(
    ("provider", "then"),
    [("openai-api", "fail until a login"), ("compatible", "go without a key")],
)
def test_logout_warns_about_the_active_provider(answered: Run, provider: str, then: str) -> None:
    result = {"provider": provider, "logged_out": True, "active": True}
    told = answered("logout", provider, answers=[("admin.logout", {"provider": provider}, result)])

    note = f"{provider} is the active provider: prompts {then}\n"
    assert told == (0, f"logged out of {provider}\n", note)


# --- steer --------------------------------------------------------------------------------------


def test_steer_adds_to_the_running_turn(answered: Run) -> None:
    context = json.dumps({"pwd": "/", "tty": "/dev/pts/9"})
    mine = {"conversations": [summary(CONVERSATION, "t"), summary(CONVERSATION_2, "u")]}
    steer = {"conversation_id": CONVERSATION, "text": "also lint", "if_late": None}
    code, out, err = answered(
        *("send", "--steer"),
        answers=[
            ("conversations.list", {"tty": "/dev/pts/9"}, mine),
            ("turn.steer", steer, {"turn_id": TURN, "seq": 3}),
        ],
        EFR_PROMPT="also lint",
        EFR_CONTEXT=context,
        EFR_MODE="auto",
    )

    assert (code, out, err) == (0, "", "↳ the running turn will read it\n")


def test_a_steer_without_a_turn_is_a_prompt(fake: FakeDaemon) -> None:
    process = efr_in_pipe("send", "--steer", f"--conversation={CONVERSATION}", "x", env=fake.env)
    peer = fake.accept()
    peer.hello()
    peer.expect("conversations.list")
    peer.answer("conversations.list", {"conversations": [summary(CONVERSATION, "t")]})
    peer.expect("turn.steer")
    peer.refuse("turn.steer", "conflict", "nothing runs")
    _, err = process.communicate(timeout=20)

    assert process.returncode == 1
    assert err.splitlines() == ["efr: no turn takes it now", "     , <text> sends it as a prompt"]


# --- service and plugin -------------------------------------------------------------------------


def fake_systemctl(folder: Path, code: int = 0) -> Path:
    """A systemctl that notes its arguments."""
    folder.mkdir()
    program = folder / "systemctl"
    log = folder / "log"
    program.write_text(f'#!/bin/sh\necho "$@" >> {log}\necho said >&2\nexit {code}\n')
    program.chmod(0o755)
    (folder / "efrd").write_text("#!/bin/sh\n")
    (folder / "efrd").chmod(0o755)
    return log


def test_the_unit_is_installed_and_removed(run: Run, tmp_path: Path) -> None:
    log = fake_systemctl(tmp_path / "bin")
    env = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    unit = tmp_path / ".config/systemd/user/efrd.service"

    assert run("service", "install", env=env)[0] == 0
    text = unit.read_text()
    assert 'ExecStart="' in text
    assert text.split('ExecStart="')[1].split('"')[0].endswith("/efrd")
    assert "Type=notify" in text
    assert run("service", "uninstall", env=env)[0] == 0
    assert not unit.exists()
    assert log.read_text().splitlines() == [
        *("--user daemon-reload", "--user enable --now efrd.service"),
        *("--user disable --now efrd.service", "--user daemon-reload"),
    ]


def test_without_systemctl_the_unit_is_written_and_a_line_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/efrd").write_text("#!/bin/sh\n")
    (tmp_path / "bin/efrd").chmod(0o755)
    env = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin"}
    code, out, err = run("service", "install", env=env)

    assert (code, out) == (0, f"wrote {tmp_path}/.config/systemd/user/efrd.service\n")
    assert "there is no systemctl here" in err


def test_a_systemctl_that_fails_is_told(run: Run, tmp_path: Path) -> None:
    fake_systemctl(tmp_path / "bin", code=1)
    env = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    code, _, err = run("service", "install", env=env)

    assert code == 1
    assert err.startswith("efr: systemctl --user daemon-reload: said\n")


def test_init_prints_a_line_that_sources_the_plugin(run: Run) -> None:
    code, out, _ = run("init", "zsh", env={})

    assert code == 0
    assert out.startswith("source '")
    assert Path(out.removeprefix("source '").removesuffix("'\n")).is_file()
    assert quoted("it's") == "'it'\\''s'"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("config", "set", "", "x"), "efr: <key> is empty"),
        (("config", "set", "model.name", "a\udcff"), "efr: the value is not valid UTF-8"),
        (("history", ""), "efr: <id> is empty"),
        (("conversation", "delete", ""), "efr: <id> is empty"),
        (("project", "remove", ""), "efr: <path> is empty"),
        (("compact", "--conversation="), "efr: --conversation is empty"),
        (("diff", "--turn="), "efr: --turn is empty"),
        (("config", "check", "x" * 300), f"efr: {'x' * 300}: cannot read"),
    ],
)
def test_an_argument_that_names_nothing(
    run: Run, tmp_path: Path, args: tuple[str, ...], told: str
) -> None:
    code, _, err = run(*args, env={"EFR_HOME": str(tmp_path), "EFR_RUNTIME_DIR": str(tmp_path)})
    assert code == (1 if "check" in args else 2)
    assert err.startswith(told)


def test_an_argument_that_is_no_text(answered: Run) -> None:
    told = answered("history", "--cursor=\udcff", answers=[])

    assert told == (2, "", "efr: an argument is not valid UTF-8\n")


@pytest.mark.parametrize("word", ["stop", "close"])
def test_a_shell_that_nobody_named_is_left_alone(answered: Run, word: str) -> None:
    told = answered("shell", word, answers=[])  # no terminal, so no conversation of its own

    fix = f"efr shell {word} --conversation=ID"
    assert told == (1, "", f"efr: this terminal has no conversation\n     {fix}\n")


def test_a_list_on_a_terminal_has_one_row_for_each(fake: FakeDaemon, start: Start) -> None:
    terminal = start("history", env=fake.env, columns=70)
    peer = fake.accept()
    peer.hello()
    peer.expect("conversations.list")
    page = {"conversations": [summary(CONVERSATION, "中" * 40), summary(CONVERSATION_2, "short")]}
    peer.answer("conversations.list", page)

    assert terminal.read_to_end() == 0
    first, second = terminal.text.splitlines()
    assert first.endswith("中…")
    assert second.endswith("  short")


def test_paths_that_nobody_may_look_at(run: Run, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "data").mkdir(parents=True)
    env = {"EFR_HOME": str(closed), "EFR_RUNTIME_DIR": str(closed / "r")}
    assert run("paths", env=env)[0] == 0  # and everything is loaded
    closed.chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # root may look everywhere
    try:
        code, out, err = run("paths", env=env)
        as_json = json.loads(run("paths", "--json", env=env)[1])
    finally:
        os.seteuid(user)
        closed.chmod(0o700)
    assert (code, err) == (0, "")
    assert [line.rpartition("  ")[2] for line in out.splitlines()] == ["no access"] * 8
    assert as_json["data"]["exists"] is False


def test_the_start_of_a_turn_id_drives_no_terminal(answered: Run) -> None:
    newest: Answer = (
        "conversations.list",
        {"limit": 1},
        {"conversations": [summary(CONVERSATION, "t")]},
    )
    for given, told in (
        ("\x1b[2J", "'␛[2J' is no turn id"),
        ("ab", "'ab' is too short for a turn"),
    ):
        code, _, err = answered("diff", f"--turn={given}", answers=[newest])
        assert (code, "\x1b" in err) == (2, False)
        assert told in err
