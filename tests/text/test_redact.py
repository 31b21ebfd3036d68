"""Redaction: what is hidden, what stays, and that it is never undone or slow."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from efr.text.redact import redact_command, redact_title
from efr.text.secret_forms import is_secret_name

KEY = "A1b2C3d4E5f6G7h8I9j0K1l2"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1g"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----"

# Written with `@` where `[redacted]` has to come out.
CASES = {
    # assignments
    "export API_TOKEN=abc; curl x": "export API_TOKEN=@; curl x",
    "export API_TOKEN=abc; curl -H 'Authorization: Bearer x'": (
        "export API_TOKEN=@; curl -H 'Authorization: Bearer @'"
    ),
    "MAX_TOKENS=5 docker run -p 8080:80": "MAX_TOKENS=5 docker run -p 8080:80",
    "TOKEN_COUNT=12k max_tokens=4096 run": "TOKEN_COUNT=12k max_tokens=4096 run",
    "MAX_TOKENS=hunter2 run": "MAX_TOKENS=@ run",
    "MAX_SECRET_TOKENS=55555 run": "MAX_SECRET_TOKENS=@ run",
    "db_password='a b' psql": "db_password=@ psql",
    'DB_PASSWORD="a \\" b" psql': "DB_PASSWORD=@ psql",
    "X_TOKEN=a'b c'\"d e\"f\\ g next": "X_TOKEN=@ next",
    "X_TOKEN=$'a\\'b' next": "X_TOKEN=@ next",
    "X_TOKEN+=abc": "X_TOKEN+=@",
    "X_TOKENS=(a b) next": "X_TOKENS=@ next",
    "tokens[API_KEY]=abc next": "tokens[API_KEY]=@ next",
    "TOKEN=$OTHER cmd": "TOKEN=$OTHER cmd",
    'TOKEN="$OTHER" cmd': 'TOKEN="$OTHER" cmd',
    "TOKEN=`pass show x` cmd": "TOKEN=`pass show x` cmd",
    "TOKEN=$(pass show x) cmd": "TOKEN=$(pass show x) cmd",
    "TOKEN=$(API_KEY=abc pass) cmd": "TOKEN=$(API_KEY=@ pass) cmd",
    "TOKEN='$literal' cmd": "TOKEN=@ cmd",
    "TOKEN= cmd": "TOKEN= cmd",
    'FOO="API_TOKEN=abc" run': 'FOO="API_TOKEN=@" run',
    "env 'X_TOKEN=a b' run": "env 'X_TOKEN=@' run",
    "bash -c 'export A_TOKEN=abc; run' tail": "bash -c 'export A_TOKEN=@; run' tail",
    'bash -c "export A_TOKEN=abc" "tail"': 'bash -c "export A_TOKEN=@" "tail"',
    'bash -c "export A_TOKEN=\\"a b\\"; c"': 'bash -c "export A_TOKEN=@; c"',
    "run --api-key=abc --x=1": "run --api-key=@ --x=1",
    "run --api-key abc --x=1": "run --api-key @ --x=1",
    "run --password 'a b' x": "run --password @ x",
    "run --password-stdin registry": "run --password-stdin registry",
    "run --no-session-id x --max-tokens 50": "run --no-session-id x --max-tokens 50",
    "run --token $TOKEN": "run --token $TOKEN",
    "GITHUB_PAT=abc AWS_REGION=eu x": "GITHUB_PAT=@ AWS_REGION=@ x",
    "SSH_KEY=abc ACCESS_KEY_ID=abc": "SSH_KEY=@ ACCESS_KEY_ID=@",
    "GOOGLE_APPLICATION_CREDENTIALS=/k.json x": "GOOGLE_APPLICATION_CREDENTIALS=@ x",
    "session_id=abc PHPSESSIONID=x": "session_id=@ PHPSESSIONID=x",
    "accessKey=abc": "accessKey=@",
    "aws_secret_access_key = abc": "aws_secret_access_key = @",
    "PWD=/x KEY=1 MONKEY=2 PATH=/bin": "PWD=/x KEY=1 MONKEY=2 PATH=/bin",
    "curl 'https://h.example/?a=1&api_key=abc&b=2'": (
        "curl 'https://h.example/?a=1&api_key=@&b=2'"
    ),
    # members
    'curl -d \'{"password": "a b", "n": 1}\' u': 'curl -d \'{"password": "@", "n": 1}\' u',
    'echo "{\\"token\\":\\"abc\\",\\"n\\":1}"': 'echo "{\\"token\\":\\"@\\",\\"n\\":1}"',
    "x = {'api_key': 'abc', 'max_tokens': 5}": "x = {'api_key': '@', 'max_tokens': 5}",
    '{"secret": 123, "token": null}': '{"secret": @, "token": null}',
    '{"tokens": ["abc", "def"]}': '{"tokens": @}',
    # words
    f"echo sk-ant-{KEY} sk-proj-{KEY}": "echo @ @",
    f"echo github_pat_{KEY} ghp_{KEY} gho_{KEY}": "echo @ @ @",
    f"printf 'a\\nsk-{KEY}'": "printf 'a\\n@'",
    "pip install sk-learn; disk-usage-of-the-machine-now": (
        "pip install sk-learn; disk-usage-of-the-machine-now"
    ),
    "npm_config_registry_of_the_house=x": "npm_config_registry_of_the_house=x",
    "use AKIAIOSFODNN7EXAMPLE now": "use @ now",
    f"use AIza{KEY}ABCDEFGHIJK now": "use @ now",
    f"echo {JWT} | x": "echo @ | x",
    f"echo '{PEM}' | x": "echo '@' | x",
    f"x {PEM.splitlines()[0]}\ncut off": "x @",
    # URLs
    "git clone https://u:pw@h.example/x": "git clone https://u:@@h.example/x",
    "psql postgres://u:p@ss@h/db": "psql postgres://u:@@h/db",
    "psql postgres://u:$PW@h/db": "psql postgres://u:$PW@h/db",
    "curl http://h.example:8080/a@b ssh://git@h.example:22/x": (
        "curl http://h.example:8080/a@b ssh://git@h.example:22/x"
    ),
    # headers
    'curl -H "Authorization: Basic dTpw" u': 'curl -H "Authorization: Basic @" u',
    'curl -H "Authorization: $A" u': 'curl -H "Authorization: $A" u',
    'curl -H "Authorization: Bearer $A" u': 'curl -H "Authorization: Bearer $A" u',
    "curl -sH 'Cookie: a=b; c=d' u": "curl -sH 'Cookie: @' u",
    "curl --header='X-Api-Key: a b' u": "curl --header='X-Api-Key: @' u",
    "curl -HX-Api-Key:abc u": "curl -HX-Api-Key:@ u",
    "curl -H X-Api-Key:abc u": "curl -H X-Api-Key:@ u",
    "curl -H token:abc u": "curl -H token:@ u",
    'bash -c "curl -H \\"Authorization: Bearer abc\\" u"': (
        'bash -c "curl -H \\"Authorization: Bearer @\\" u"'
    ),
    "http GET h.example token:abc a:b": "http GET h.example token:@ a:b",
    "xh h.example Authorization:'Bearer abc' a": "xh h.example Authorization:'Bearer @' a",
    "Authorization: Bearer abc def\nnext": "Authorization: Bearer @\nnext",
    "Proxy-Authorization: abc def\nnext": "Proxy-Authorization: @\nnext",
    "password: hunter2": "password: @",
    "HDR='Authorization: Bearer abc' run": "HDR='Authorization: Bearer @' run",
    "docker run -v my_token:/data x": "docker run -v my_token:/data x",
    "the word token: is fine": "the word token: is fine",
    # options of programs
    "mysql -u root -phunter2 db": "mysql -u root -p@ db",
    "mysql -u root -p db": "mysql -u root -p db",
    'mysql -p"$PW" db': 'mysql -p"$PW" db',
    "docker exec db mysql -psecret": "docker exec db mysql -p@",
    "sshpass -p 'a b' ssh h": "sshpass -p @ ssh h",
    "sshpass -pab ssh -p 2222 h": "sshpass -p@ ssh -p @ h",
    "docker login -u u -p pw r; docker run -p 80:80": (
        "docker login -u u -p @ r; docker run -p 80:80"
    ),
    "curl -u user:pw https://h": "curl -u user:@ https://h",
    "curl -su 'user:p w' https://h": "curl -su 'user:@' https://h",
    "curl --user=user:pw -u user https://h": "curl --user=user:@ -u user https://h",
    "curl -u $U:$P https://h": "curl -u $U:$P https://h",
    "http -a u:pw GET h": "http -a u:@ GET h",
    "redis-cli -a pw ping": "redis-cli -a @ ping",
    "smbclient -U u%pw //h/s": "smbclient -U u%@ //h/s",
    "htpasswd -bc f user pw": "htpasswd -bc f user @",
    "zip -P pw a.zip a; mkdir -p P": "zip -P @ a.zip a; mkdir -p P",
    "openssl rsa -passin pass:pw -in k": "openssl rsa -passin pass:@ -in k",
    "ssh -p 2222 h; mkdir -pv x": "ssh -p 2222 h; mkdir -pv x",
    # nothing
    "": "",
    "ls -la | grep key": "ls -la | grep key",
    "my password is hunter2": "my password is hunter2",
    "git commit -m 'fix: the token parser'": "git commit -m 'fix: the token parser'",
}


@pytest.mark.parametrize(("text", "marked"), CASES.items(), ids=range(len(CASES)))
def test_what_is_hidden(text: str, marked: str) -> None:
    expected = _with_mark(marked, "[redacted]")
    assert redact_command(text) == expected
    assert redact_command(expected) == expected
    assert redact_title(text) == _with_mark(marked, "[***]")


def _with_mark(marked: str, mark: str) -> str:
    """`@` is the mark, but not where an address keeps its own."""
    for plain in ("a@b", "git@h", "$PW@h"):
        marked = marked.replace(plain, plain.replace("@", "\0"))
    return marked.replace("@@h", "@\0h").replace("@", mark).replace("\0", "@")


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("API_TOKEN", True),
        ("api-token", True),
        ("X.password.y", True),
        ("clientSecret", True),
        ("AWS_REGION", True),
        ("my_pat", True),
        ("PATH", False),
        ("PATTERN", False),
        ("KEYBOARD", False),
        ("KEY", False),
        ("PWD", False),
        ("OLDPWD", False),
        ("COMPASS", False),
    ],
)
def test_names(name: str, secret: bool) -> None:
    assert is_secret_name(name) == secret


SECRETS = st.text(st.sampled_from("abcXYZ019-_."), min_size=6, max_size=12).map("zq".__add__)
PLACES = st.sampled_from(
    [
        "API_TOKEN={}",
        "export X_SECRET='{}'; x",
        'run --password="{}" y',
        "run --db-password {}",
        "curl -H 'Authorization: Bearer {}' u",
        'curl -H "X-Api-Key: {}" u',
        "https://u:{}@h/x",
        "mysql -p{} db",
        "sshpass -p {} ssh h",
        '{{"password":"{}"}}',
        "bash -c 'A_KEY={} run'",
    ]
)
AROUND = st.text(st.sampled_from("ab ;|&\n=:"), max_size=8)


@given(AROUND, PLACES, SECRETS, AROUND)
def test_a_secret_is_hidden_wherever_it_stands(
    before: str, place: str, secret: str, after: str
) -> None:
    text = f"{before} {place.format(secret)} {after}"
    assert secret not in redact_command(text)


PLAIN = "aT= ;|&$(){}[]:/@-_\n\té"
PIECES = st.sampled_from(["TOKEN", "=", ";", "x", " ", "--password ", "Cookie: ", "mysql -p"])


@given(st.text(st.sampled_from(PLAIN)) | st.lists(PIECES, max_size=30).map("".join))
def test_redacting_again_changes_nothing(text: str) -> None:
    """Quotes left out: a hidden unmatched quote moves what the ones after it enclose."""
    once = redact_command(text)
    assert redact_command(once) == once


HOSTILE = (
    *("a=", "TOKEN=", "x:", "Cookie:", "mysql ", "docker ", "'", '"', "\\", "://u:", "-p", "sk-"),
    *("eyJaaaaaaaaa.", "eyJaaaaaaaa-", "-----BEGIN PRIVATE KEY-----", "--token ", '"token":'),
    *("curl -u ", "- token:", "\n- token: ", "echo a | sudo ", "sudo -S <<< ", "IDENTIFIED WITH "),
    *("machine a login b ", "git config -a -b ", "?sig=", "/services/TAAAAAA/B", "MTA", "$6$a"),
    *("set -x A ", "jq --arg a b ", "composer config -a -b ", "rclone config ", "echo a; echo a "),
    *("bw login a ", "printf 'TOKEN=%s' ", "://a1", "yes a | ", "nmcli a ", "redis-cli -h h "),
    *("1:AA", "a.atlasv1.", "0f-us", "ops_eyJ", "\\nsk-", "gh secret set ", "nmcli password "),
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_time_grows_with_the_length_alone(piece: str) -> None:
    """A pattern that tried things twice would not come to an end here."""
    redact_title(piece * (60_000 // len(piece)))


def test_a_mebibyte_of_hostile_text_comes_to_an_end() -> None:
    pieces = " ".join(HOSTILE).replace("-----BEGIN PRIVATE KEY-----", "")  # which hides the rest
    redact_title(pieces * ((1 << 20) // len(pieces)))


@given(st.text(st.sampled_from(PLAIN + "'\"\\`")))
@example("TOKEN='")
@example('TOKEN="\\')
def test_what_stays_was_there(text: str) -> None:
    at = 0
    for part in redact_title(text).split("[***]"):
        at = text.index(part, at) + len(part)
