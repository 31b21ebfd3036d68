"""What a prompt is sent with, and that the fast path's frames are those of the wire types."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.cli import dial, handover, prompt
from efr.cli.errors import UsageError
from efr.wire import frames
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.codec import decode, encode, to_builtins
from efr.wire.framing import pack
from tests.cli.fake_daemon import FakeDaemon

ID = "019a9b1c-3d00-7a10-8b20-000000000003"
PLACE = prompt.Place("/home/me", "/dev/pts/3")
FULL_CONTEXT = {
    "pwd": '/home/me/a "quoted" ü\n',
    "oldpwd": "/",
    "tty": "/dev/pts/3",
    "shell_pid": 4242,
    "last_status": -1,
    "shlvl": 1,
    "ssh_connection": "192.0.2.10 51234 192.0.2.20 22",
    "hostname": "desk",
    "desktop": {"wayland_display": "wayland-1", "display": None, "has_xauthority": True},
}
RECENT = [{"duration_ms": 12, "command": "ls 'ü'", "ended_at": "2026-10-03T12:00:00Z", "x": 1}]


def asked(given: handover.Handover, **args: Any) -> prompt.Asked:
    flags = {f"--{name.replace('_', '-')}": value for name, value in args.items()}
    return prompt.asked(flags, given, PLACE, hint="h")


def sent(params: dict[str, Any]) -> bytes:
    """The frame of the fast path."""
    return dial.frame(2, "prompt.send", params)


def of_the_wire(params: dict[str, Any]) -> bytes:
    """The same frame by the types of the protocol."""
    typed = decode(encode(params), m.PromptSendParams)
    return frames.request_frame(2, "prompt.send", encode(typed))


FULL = handover.Handover(
    context=json.dumps(FULL_CONTEXT),
    last_command="make 'ä'\n",
    recent_commands=json.dumps(RECENT),
    prompt='why\t"is" \\ it 🙂\x00\x7f\u2028',
    mode="auto",
    model="gpt-5.4",
    effort="high",
)


@pytest.mark.parametrize(
    ("given", "members"),
    [
        (FULL, {}),
        (FULL, {"conversation_id": ID}),
        (FULL, {"new": True}),
        (handover.Handover(prompt="x"), {}),
        (handover.Handover(prompt="x", mode="manual"), {"new": True}),
    ],
)
def test_the_fast_frames_are_those_of_the_wire(
    given: handover.Handover, members: dict[str, Any]
) -> None:
    params = asked(given).params(ID, **members)

    assert sent(params) == of_the_wire(params)


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))  # of paths


@settings(deadline=None)
@given(st.text(min_size=1).filter(lambda text: text.strip()), st.text(), NAMES)
def test_any_text_gives_the_same_frame(text: str, command: str, pwd: str) -> None:
    context = json.dumps({"pwd": pwd})
    params = asked(handover.Handover(context=context, prompt=text, last_command=command)).params(ID)

    assert sent(params) == of_the_wire(params)


@pytest.mark.parametrize(("origin", "tty"), [("cli", ""), ("shell", "/dev/pts/3")])
def test_the_fast_hello_is_that_of_the_wire(origin: str, tty: str) -> None:
    hello = dial.hello_params(origin, tty)
    typed = m.HelloParams(
        protocol=t.PROTOCOL_VERSION,
        origin=t.Origin(origin),
        client=hello["client"],
        tty=tty or None,
        pid=os.getpid(),
    )

    assert to_builtins(typed) == hello
    assert dial.frame(1, "hello", hello) == frames.request_frame(1, "hello", encode(typed))


def test_the_links_own_framing_is_that_of_the_wire() -> None:
    from efr.client import link

    assert link.pack(b"body" * 100) == pack(b"body" * 100)


def test_the_whole_context_and_settings() -> None:
    found = asked(FULL)

    assert found.origin == "shell"
    assert found.context["desktop"] == {"wayland_display": "wayland-1", "has_xauthority": True}
    assert list(found.context) == [*(name for name in FULL_CONTEXT if name != "desktop"), "desktop"]
    assert found.settings == {"mode": "auto", "model": "gpt-5.4", "effort": "high"}
    assert found.recent_commands == [
        {"command": "ls 'ü'", "ended_at": "2026-10-03T12:00:00Z", "duration_ms": 12}
    ]


def test_without_a_context_it_is_this_directory_and_terminal() -> None:
    found = asked(handover.Handover(prompt="x"))

    assert (found.origin, found.context) == ("cli", {"pwd": "/home/me", "tty": "/dev/pts/3"})
    assert found.tty == "/dev/pts/3"


CONTEXTS = [
    ('{"pwd":"/x","last_command":"secret","tty":null}', {"pwd": "/x"}),
    ('{"pwd":null}', {"pwd": "/home/me"}),
    ('{"pwd":"/x","shell_pid":"7","shlvl":true,"last_status":1.5}', {"pwd": "/x"}),
    ('{"pwd":"/x","shell_pid":4294967296}', {"pwd": "/x"}),
    ('{"pwd":"/x","desktop":{"has_xauthority":true}}', {"pwd": "/x"}),
    ('{"pwd":"/x","desktop":{"swaysock":"/s"}}', {"pwd": "/x", "desktop": {"swaysock": "/s"}}),
    ('{"pwd":"/\\ud800"}', {"pwd": "/\ufffd"}),
]


@pytest.mark.parametrize(("text", "context"), CONTEXTS)
def test_what_does_not_fit_the_context_is_left_out(text: str, context: dict[str, Any]) -> None:
    assert asked(handover.Handover(prompt="x", context=text)).context == context


@pytest.mark.parametrize("text", ["[]", "x", '"x"', "{"])
def test_a_context_that_is_no_object(text: str) -> None:
    with pytest.raises(UsageError, match="no JSON object"):
        asked(handover.Handover(prompt="x", context=text))


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("", []),
        ("{", []),
        ("{}", []),
        ('[1, {"command": ""}, {"status": 1}, {"command": "ls"}]', [{"command": "ls"}]),
        ('[{"command":"a","ended_at":"yesterday"}]', [{"command": "a"}]),
        ('[{"command":"a","status":null,"cwd":"/"}]', [{"command": "a", "cwd": "/"}]),
    ],
)
def test_recent_commands(text: str, entries: list[dict[str, Any]]) -> None:
    assert prompt.recent_commands(text) == entries


def test_a_flag_wins_over_its_variable() -> None:
    found = asked(FULL, mode="manual", last_command="ls", context_json='{"pwd":"/f"}')

    assert found.settings["mode"] == "manual"
    assert (found.last_command, found.context) == ("ls", {"pwd": "/f"})


def test_words_win_and_are_joined_with_single_blanks() -> None:
    args = {"<prompt>": ["why", "is  it"]}

    assert prompt.asked(args, FULL, PLACE, hint="h").text == "why is  it"


def test_an_unknown_mode_names_the_choices() -> None:
    with pytest.raises(UsageError) as caught:
        asked(handover.Handover(prompt="x", mode="yolo"))
    assert caught.value.fix == "choose manual, cautious, auto, full"


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_a_blank_prompt(text: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        asked(handover.Handover(prompt=text))


# --- the hand-over ------------------------------------------------------------------------------

VARIABLES = {
    "EFR_CONTEXT": "{}",
    "EFR_LAST_COMMAND": "ls",
    "EFR_RECENT_COMMANDS": "[]",
    "EFR_PROMPT": "hi",
    "EFR_MODE": "auto",
    "EFR_MODEL": "m",
    "EFR_EFFORT": "high",
    "EFR_DRAFT_FILE": "/d",
}


def test_the_variables_leave_the_environment() -> None:
    env = {**VARIABLES, "EFR_TERMINAL_BG": "dark", "PATH": "/bin"}

    assert handover.take(env) == handover.Handover(
        "{}", "ls", "[]", "hi", "auto", "m", "high", "/d"
    )
    assert env == {"EFR_TERMINAL_BG": "dark", "PATH": "/bin"}
    assert handover.take(env) == handover.Handover()


def test_the_prompts_file_is_read_and_removed_where_the_plugin_puts_it(tmp_path: Path) -> None:
    for folder, stays in ((tmp_path / "handover", False), (tmp_path / "notes", True)):
        folder.mkdir()
        path = folder / "prompt"
        path.write_bytes(b"big \xff prompt")
        env = {"EFR_PROMPT_FILE": str(path), "EFR_PROMPT": "", "EFR_RUNTIME_DIR": str(tmp_path)}

        assert handover.take(env).prompt == "big \ufffd prompt"
        assert path.exists() is stays


def test_a_prompts_file_that_is_none_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("x")
    (tmp_path / "link").symlink_to(target)
    for name in ("link", "missing", "."):
        with pytest.raises(UsageError):
            handover.take({"EFR_PROMPT_FILE": str(tmp_path / name)})
    assert target.exists()


# --- the fast path ------------------------------------------------------------------------------

HEAVY = ("msgspec", "orjson", "docopt", "dataclasses", "pathlib", "wcwidth", "markdown_it", "rich")
CONNECTING = """
import os, sys
sys.path.insert(0, {root!r})

def look(event, args):
    if event == "socket.connect":
        print([name for name in {heavy!r} if name in sys.modules])
        sys.stdout.flush()
        os._exit(0)

sys.addaudithook(look)
import efr_cli
efr_cli.run(["send"], os.environ)
"""


def test_nothing_large_is_loaded_when_it_connects_to_send(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[2])
    with FakeDaemon() as fake:
        done = subprocess.run(
            [sys.executable, "-c", CONNECTING.format(root=root, heavy=HEAVY)],
            env={"PATH": "/bin", "EFR_PROMPT": "hi", **fake.env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
        )

    assert (done.stdout, done.stderr) == ("[]\n", "")


# What the view of a turn needs later or never; a question, say, brings its own.
LATER = (
    "orjson",
    "dataclasses",
    "inspect",
    "pathlib",
    "urllib.parse",
    "tomllib",
    "markdown_it",
    "pygments",
    "efr.cli.render.lists",
    "efr.cli.render.highlight",
    "efr.wire.event.questions",
    "efr.wire.event.work",
    "efr.wire.shared.judging",
    "efr.wire.shared.undo",
)


def test_the_view_of_a_turn_loads_what_its_first_row_needs_and_then_what_an_answer_needs() -> None:
    # msgspec would load it, with `inspect`, where a program of the tests has brought it.
    code = "import sys; sys.modules['typing_extensions'] = None; import efr.cli.view.start\n"
    code += f"print([name for name in {LATER!r} if name in sys.modules]);"
    code += (
        "efr.cli.view.start.TerminalSurface.get_ready(None); print('markdown_it' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=20,
    )

    assert (done.stdout, done.stderr) == ("[]\nTrue\n", "")
