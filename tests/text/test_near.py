"""Looking near words gives what looking everywhere gives."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from efr.text import redact
from efr.text.near import lines_with, matches_at, places_of
from efr.text.quoted import Quoted
from efr.text.secret_forms import NAME_STEMS, PASSWORD_OPTIONS, SECRET_HEADERS, SECRET_NAMES
from efr.text.secret_places import handed_over, signatures, told
from efr.text.secret_words import secret_words

ROWS = tuple(map(redact._compiled, PASSWORD_OPTIONS))
KEY = "A1b2C3d4E5f6G7h8I9j0K1l2"


def test_places_of_words() -> None:
    assert places_of("abcabc", ["bc", "a", "x"]) == [0, 1, 3, 4]
    assert places_of("aaa", ["aa"]) == [0, 1]
    assert places_of("", ["a"]) == []


def test_matches_never_overlap() -> None:
    pattern = re.compile("a+")
    found = [m.span() for m in matches_at("aaxaa", pattern, [0, 1, 3, 4])]
    assert found == [(0, 2), (3, 5)]


def test_lines_with_a_word() -> None:
    text = "one\nTwo three\n\nfour two\ntwo"
    assert [text[a:b] for a, b in lines_with(text, ["two"])] == ["Two three\n", "four two\n", "two"]
    assert lines_with(text, ["five"]) == []


def test_a_letter_that_becomes_two_makes_every_line_count() -> None:
    text = "İ\nTOKEN=abc\n"
    assert [text[a:b] for a, b in lines_with(text, ["token"])] == ["İ\n", "TOKEN=abc\n"]


def test_every_secret_name_holds_a_stem() -> None:
    for name in SECRET_NAMES:
        assert any(stem in name.lower() for stem in NAME_STEMS), name
    for header in ("authorization", "proxy_authorization", "cookie", "set_cookie"):
        assert SECRET_HEADERS.fullmatch(header.upper())
        assert any(stem in header for stem in NAME_STEMS)


PIECES = [
    *("TOKEN", "=", ";", "x", " ", "\n", "--password ", "Cookie: ", "mysql -p", "'", '"', "\\"),
    *("sk-", f"sk-ant-{KEY}", f"12345678:AA{KEY}abcdefghi", "\\n", f"npm_{KEY}{KEY[:12]}"),
    *("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP", f"hf_{KEY}abcdef", f"hvs.{KEY}"),
    *("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", f"SG.{KEY}.{KEY}"),
    *("https://u:pw@h/", " -u a:b ", "curl", "docker login ", "-p ", "{", "}", ":", ",", "é", "İ"),
    *("api_key", "apiKey", "key", "--token", "Authorization: Bearer abc", "-H ", "(", ")", "$"),
    *("[", "]", "AKIAIOSFODNN7EXAMPLE", "`", "1", "\t", "pwd", "x-", "aws.region", "zip -P w"),
    *("echo ", "| sudo -S ", "<<< ", "PASSWORD 'x'", "?sig=", "git config a.token b", "$6$"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_redaction_near_words_is_redaction_everywhere(text: str) -> None:
    source = Quoted(text)
    everywhere = {found.span() for found in secret_words().finditer(text)}
    whole = [(0, len(text))]
    everywhere |= set(redact._values(source, redact._URL, redact._url_password, whole))
    everywhere |= {*handed_over(source), *told(source), *signatures(text)}
    for pattern, value, _ in redact._NAMED:
        everywhere |= set(redact._values(source, pattern, value, whole))
    calls = {(row, found.span()) for row in ROWS for found in row.command.finditer(text)}
    near_calls = {
        (row, found.span())
        for row in ROWS
        for found in matches_at(text, row.command, places_of(text, row.programs))
    }
    assert near_calls == calls
    options = set(redact._program_options(source))
    assert set(redact._spans(source)) - options == everywhere - options
