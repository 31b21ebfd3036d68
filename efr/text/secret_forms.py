"""What a secret looks like: the tables behind `efr.text.redact`.

Pure data, and the questions about a name that the tables answer. A change of what these tables
hide needs a new REDACTION_VERSION. Sources: the key formats that the services publish; the
manual page of each program in PASSWORD_OPTIONS.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

REDACTION_VERSION: Final = 4  # raise it with every change of what is hidden: the index is rebuilt

# Names of variables, options, headers and members whose value is hidden. `*` is any text; dashes
# and dots read as underscores, accessKey as ACCESS_KEY.
SECRET_NAMES: Final = (
    "*TOKEN*",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*_PASS",
    "*_PWD",
    "*API_KEY*",
    "*APIKEY*",
    "*_KEY",
    "*_KEY_ID",
    "*CREDENTIAL*",
    "*_PAT",
    "*SESSION_ID*",
    "AWS_*",
    "AZURE_*",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "PASS",
    "PASSCODE",
    "*_PW",
    "PW",
    "_AUTH",
    "*_JWT",
    "JWT",
    "BEARER",
    "*AUTHKEY",
    "REDISCLI_AUTH",
    "*_PSK",
    *("DBPASS", "SSHPASS", "SMTPPASS", "IMAPPASS", "MAILPASS", "FTPPASS", "MYSQLPASS", "PGPASS"),
    *("USERPASS", "ROOTPASS", "ADMINPASS", "KEYPASS", "STOREPASS", "REQUIREPASS", "MASTERAUTH"),
)

# A number of tokens is no secret: these words, or the plural, beside a plain number.
COUNT_WORDS: Final = re.compile(
    r"(?:^|_)(?:MAX|MIN|NUM|COUNTS?|LIMIT|TOTAL|BUDGET|SIZE|LENGTH|LEN|TTL|TIMEOUT|TOKENS)(?:_|$)"
)

# Options that take no secret themselves although their name has such a word.
SAFE_OPTION: Final = re.compile(
    r"(?:^|_)(?:STDIN|FILE|PATH|FD|ENV|PROMPT|NO|WITH|USE|SHOW|LIST)(?:_|$)"
)

# Headers that are hidden wherever they stand; others need a secret name and a header's place.
SECRET_HEADERS: Final = re.compile(r"(?:PROXY_)?AUTHORIZATION|(?:SET_)?COOKIE")

# The word before the secret in a header; it stays readable.
SCHEME: Final = re.compile(
    r"(?:Bearer|Basic|Digest|Token|Negotiate|NTLM|Api-?Key|Key|Bot|JWT|OAuth|Hawk|DPoP|SSWS|GenieKey"
    r"|GoogleLogin|PrivateToken|Splunk|vapid|AWS4-HMAC-SHA256|AWS4-ECDSA-P256-SHA256)[ \t]+",
    re.IGNORECASE,
)

# Every name that is hidden holds one of these, in any case; so does every header that is.
NAME_STEMS: Final = (
    *("token", "secret", "pass", "pw", "key", "credential", "pat", "session", "aws", "azure"),
    *("auth", "cookie", "bearer", "jwt", "psk"),
)


class PasswordOption(NamedTuple):
    """Where one family of programs takes a password."""

    programs: str  # blank between names
    option: str  # a regular expression for what stands right before the value
    after: str = ""  # the value is what follows this sign in the word; "" is the whole word
    verb: str = ""  # only this subcommand reads the option so


PASSWORD_OPTIONS: Final = (
    PasswordOption(
        "mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mysqlpump mysqlsh mariadb"
        " mariadb-dump mariadb-admin mariadb-check mariadb-import mariadb-show",
        r"-p(?=\S)",
    ),
    PasswordOption("sshpass", r"-[ev]*p[ \t]*"),
    PasswordOption(
        "docker podman buildah skopeo nerdctl helm oras crane az oc cf conan",
        r"-p[ \t=]*",
        verb="login",
    ),
    PasswordOption("kubectl oc", r"--from-literal[ \t=]", "=", verb="secret"),
    PasswordOption("twine poetry", r"-p[ \t=]*", verb="(?:upload|publish)"),
    PasswordOption("fly flyctl", r"(?=[A-Za-z_]\w*=)", "=", verb="secrets[ \t]+(?:set|import)"),
    PasswordOption(
        "yt-dlp youtube-dl gallery-dl cqlsh rdesktop ncftpput ncftpget steghide mutool useradd"
        " usermod conan",
        r"-p[ \t]+",
    ),
    PasswordOption("pdftotext pdfinfo pdftoppm pdfimages", r"-[uo]pw[ \t]+"),
    PasswordOption("snmpwalk snmpget snmpset snmpbulkwalk snmptable", r"-[AXc][ \t]*"),
    PasswordOption("swaks", r"-ap[ \t]+"),
    PasswordOption("security", r"-w[ \t]+", verb="(?:add|set)-[a-z-]+"),
    PasswordOption("doctl", r"-t[ \t=]+"),
    PasswordOption("netlify surge", r"--(?:auth|token)[ \t=]"),
    PasswordOption("curl", r"(?:-[A-Za-z]*E[ \t]*|--cert[ \t=])", ":"),
    PasswordOption("wscat ab", r"(?:--auth[ \t=]|-A[ \t]*)", ":"),
    PasswordOption("transmission-remote", r"(?:-n[ \t]*|--auth[ \t=])", ":"),
    PasswordOption("etcdctl influx", r"--user[ \t=]", ":"),
    PasswordOption("sqlplus expdp impdp sqlldr rman", r"[\w$#]+/(?=[^\s@/.])"),
    PasswordOption("curl", r"(?:-[A-Za-z0#:]*[uU][ \t]*|--(?:proxy-)?user[ \t=])", ":"),
    PasswordOption("curl", r"--oauth2-bearer[ \t=]"),
    PasswordOption("curl", r"(?:-b[ \t]*|--cookie[ \t=])", "="),
    PasswordOption("http https xh xhs", r"(?:-[A-Za-z]*a[ \t]*|--auth[ \t=])", ":"),
    PasswordOption("redis-cli valkey-cli", r"-a[ \t]*"),
    PasswordOption(
        "ldapsearch ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami ldapcompare",
        r"-[A-Za-z]*w[ \t]*",
    ),
    PasswordOption("smbclient rpcclient net smbget", r"(?:-U[ \t]*|--user[ \t=])", "%"),
    PasswordOption("htpasswd", r"-[A-Za-z0-9]*b[A-Za-z0-9]*[ \t]+\S+[ \t]+\S+[ \t]+"),
    PasswordOption("zip unzip zipcloak", r"-P[ \t]*"),
    PasswordOption("7z 7za 7zr 7zz rar unrar", r"-h?p(?=\S)"),
    PasswordOption("openssl", r"-pass(?:in|out)?[ \t]+", ":"),
    PasswordOption("openssl", r"-[kK][ \t]+"),
    PasswordOption("ssh-keygen", r"-[NP][ \t]*"),
    PasswordOption("keytool jarsigner", r"-(?:src|dest)?(?:store|key)pass[ \t]+"),
    PasswordOption("lftp", r"-u[ \t]*", ","),
    PasswordOption("xfreerdp xfreerdp3 wlfreerdp", r"/(?:p|gp):"),
    PasswordOption("nmcli", r"password[ \t]+"),
    PasswordOption("gh", r"(?:-b[ \t]*|--body[ \t=])", verb="secret[ \t]+set"),
    PasswordOption("mongo mongosh mongodump mongorestore mongoexport mongoimport", r"-p[ \t]*"),
    PasswordOption("mosquitto_pub mosquitto_sub mosquitto_rr sqlcmd ipmitool", r"-P[ \t]*"),
)

_SECRET_NAME = re.compile(
    "|".join(re.escape(name).replace(r"\*", ".*") for name in SECRET_NAMES), re.DOTALL
)
# Cuts text, names a program, says how to log in: none of them is a secret.
_HARMLESS = re.compile(
    r"TOKENIZ(?:E|ER|ERS|ATION)(?=_|\Z)|CREDENTIAL_HELPER|(?:PASSWORD|TOKEN)_AUTHENTICATION"
)
_SWITCH: Final = frozenset(("yes", "no", "on", "off", "true", "false", "none", "null", "ask", ""))
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBER = re.compile(r"[\"']?\d[\d_.,]{0,11}[kKmM]?[\"']?")


def normal_name(name: str) -> str:
    """The name in the tables' form: API_KEY for `--api-key`, `x.apiKey` reads X_API_KEY."""
    spaced = name if name.isupper() else _CAMEL.sub("_", name)
    return spaced.strip("-").replace("-", "_").replace(".", "_").upper()


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is hidden."""
    return _SECRET_NAME.fullmatch(_HARMLESS.sub("", normal_name(name))) is not None


def is_switch(value: str) -> bool:
    """Whether a value says yes or no, or is empty: nobody's secret."""
    return value.strip("\"'").lower() in _SWITCH


def is_count(name: str, value: str) -> bool:
    """Whether this is a number of tokens, such as MAX_TOKENS=5 or TOKEN_COUNT=12k."""
    plain = normal_name(name)
    if not COUNT_WORDS.search(plain) or not _NUMBER.fullmatch(value):
        return False
    rest = (part for part in plain.split("_") if part not in {"TOKEN", "TOKENS"})
    return not is_secret_name("_".join(rest))
