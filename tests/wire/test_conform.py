"""The check of a folder of fixtures, run as a program would."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from efr.wire.conform import USAGE, difference, main
from tests.wire.bless import FIXTURES
from tests.wire.samples import files


def test_our_own_fixtures_conform() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "efr.wire.conform", str(FIXTURES)], capture_output=True, text=True
    )
    count = len(files())
    assert (done.stdout, done.stderr, done.returncode) == (
        f"{count} of {count} byte-identical\n",
        "",
        0,
    )


def test_each_file_that_differs_has_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(FIXTURES / "modes.json", tmp_path)
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "prompt_held.json").write_text('{"kind": "prompt_held"}')
    (tmp_path / "pty_resize_result.json").write_text('{\n  "size": {"cols": 1, "rows": 2}\n}\n')
    (tmp_path / "verses.json").write_text("[]\n")

    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "events/prompt_held.json: $: Object missing required field `turn_id`",
        'pty_resize_result.json: line 2: \'"size": {"cols": 1, "rows": 2}\' '
        "is written '\"size\": {'",
        "verses.json: no type has a fixture named verses",
        "1 of 4 byte-identical",
    ]


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("hello_params.json", b'{"method":"turn.steer","params":{}}', "$.method"),
        ("events/turn_cancelled.json", b'{"kind":"moon_rose"}', "$.kind"),
        ("frames/server_end.json", b'{"id":1,"end":false}', "end is always true"),
        ("modes.json", b'["brave"]', "$[0]"),
        ("modes.json", b'["auto"]', "line 1"),
        ("modes.json", b'[\n  "auto"\n]', "line feeds"),
        ("modes.json", b'[\n  "auto"\n]\n\n', "line 4"),
        ("hello.json", b"{}", "no type"),
        ("hello_item_x.json", b"{}", "no type"),
    ],
)
def test_a_difference_says_where(name: str, content: bytes, where: str) -> None:
    assert where in (difference(name, content) or "")


def test_a_vector_is_computed_again() -> None:
    for name in ("device_prove_message.json", "pairing_qr_url.json"):
        content = (FIXTURES / name).read_bytes()
        assert difference(name, content) is None
        forged = content.replace(b"000000000007", b"000000000017", 1)
        assert "$." in (difference(name, forged) or "")


def test_a_wrong_call_shows_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["a", "b"], ["/no/such/folder"]):
        assert main(arguments) == 2
    assert capsys.readouterr().err == f"{USAGE}\n" * 3
